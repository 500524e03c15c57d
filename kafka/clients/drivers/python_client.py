"""A driver for Python clients: it reads JSON commands from stdin, one per line, and writes events to stdout. It runs in
the client's own Python environment, so it imports only the client and the standard library.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import threading
import time
from typing import Any

LOCK = threading.Lock()
POLL = 0.02
FETCH_WAIT = 20
"""The clients' timeouts are all set to this value, in milliseconds."""


def tell(**event: Any) -> None:
    text = json.dumps(event)
    with LOCK:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def report_error(number: int, error: Exception) -> bool:
    """Write an event for a consumer's error, which may not name a partition; return whether it reports a truncation."""
    name = type(error).__name__
    is_truncation = name in ("LogTruncationError", "OffsetOutOfRangeError", "NoOffsetForPartitionError")
    tell(id=number, event="truncated" if is_truncation else "error", error=f"{name}: {error}")
    return is_truncation


class Librdkafka:
    def __init__(self, command: dict[str, Any]) -> None:
        import confluent_kafka

        self.kafka, self.command, self.number = confluent_kafka, command, command["id"]
        self.is_over = False
        backoff = command["backoff"]
        common = {
            "bootstrap.servers": command["bootstrap"], "retry.backoff.ms": backoff, "reconnect.backoff.ms": 5,
            "reconnect.backoff.max.ms": backoff, "topic.metadata.refresh.fast.interval.ms": backoff,
            "topic.metadata.refresh.interval.ms": 60000, "topic.metadata.propagation.max.ms": 500,
            "socket.timeout.ms": 5000, "log_level": 0,
        }  # fmt: skip
        if confluent_kafka.libversion()[1] >= 0x02040000:
            common["retry.backoff.max.ms"] = backoff
        if command["role"] == "producer":
            more = {
                "message.timeout.ms": command["timeout"],
                "max.in.flight": 5 if command["idempotent"] else 1,
                "enable.idempotence": bool(command["idempotent"]),
                "batch.num.messages": 1 if command["idempotent"] else 10000,
                "linger.ms": 0,
                "acks": "all",
                "retries": 10000,
            }
            self.client = confluent_kafka.Producer({**common, **more})
            work = self._poll_producer
        else:
            more = {
                "group.id": "g", "client.rack": command["rack"], "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "auto.offset.reset": "error" if command["reset"] == "none" else command["reset"],
                "fetch.wait.max.ms": FETCH_WAIT,
            }  # fmt: skip
            more |= {"fetch.error.backoff.ms": backoff, "enable.partition.eof": False}
            self.client = confluent_kafka.Consumer({**common, **more})
            topic, partitions = command["topic"], range(command["partitions"])
            start = confluent_kafka.OFFSET_STORED if command["resume"] else 0
            self.client.assign([confluent_kafka.TopicPartition(topic, partition, start) for partition in partitions])
            work = self._poll_consumer
        self.thread = threading.Thread(target=work, daemon=True)
        self.thread.start()

    def _poll_producer(self) -> None:
        while not self.is_over:
            self.client.poll(POLL)

    def _poll_consumer(self) -> None:
        while not self.is_over:
            got = self.client.poll(POLL)
            if got is None:
                continue
            error = got.error()
            if error is None:
                epoch = got.leader_epoch() if hasattr(got, "leader_epoch") else None
                value = got.value().decode()
                told = {"partition": got.partition(), "offset": got.offset(), "value": value, "epoch": epoch}
                tell(id=self.number, event="delivered", **told)
            else:
                names = ("_AUTO_OFFSET_RESET", "OFFSET_OUT_OF_RANGE", "_LOG_TRUNCATION")
                codes = [getattr(self.kafka.KafkaError, name, None) for name in names]
                kind = "truncated" if error.code() in codes else "error"
                partition = -1 if got.partition() is None else got.partition()
                tell(id=self.number, event=kind, partition=partition, error=error.str())
        self.client.close()

    def produce(self, partition: int, value: str) -> None:
        def done(error: Any, message: Any) -> None:
            told = {"partition": partition, "value": value}
            if error is None:
                tell(id=self.number, event="acked", offset=message.offset(), **told)
            else:
                tell(id=self.number, event="failed", error=error.str(), **told)

        self.client.produce(self.command["topic"], value=value.encode(), partition=partition, on_delivery=done)

    def commit(self, command: dict[str, Any]) -> None:
        """Store an offset and commit the stored offsets, as auto-commit does."""
        epoch = {} if command["epoch"] == -1 else {"leader_epoch": command["epoch"]}
        place = self.kafka.TopicPartition(command["topic"], command["partition"], command["offset"], **epoch)
        try:
            self.client.store_offsets(offsets=[place])
            self.client.commit(asynchronous=False)
            tell(id=self.number, event="committed")
        except self.kafka.KafkaException as error:
            tell(id=self.number, event="error", error=str(error))

    def stop(self) -> None:
        self.is_over = True
        if self.command["role"] == "producer":
            self.client.purge()
            self.client.poll(0)
        self.thread.join(3)


class KafkaPython:
    def __init__(self, command: dict[str, Any]) -> None:
        import kafka

        self.kafka, self.command, self.number = kafka, command, command["id"]
        self.is_over = False
        self.commits: list[dict[str, Any]] = []
        backoff = command["backoff"]
        common = {
            "bootstrap_servers": command["bootstrap"].split(","), "retry_backoff_ms": backoff,
            "reconnect_backoff_ms": 5, "reconnect_backoff_max_ms": backoff, "metadata_max_age_ms": command["max_age"],
        }  # fmt: skip
        if command["role"] == "producer":
            more = {
                "acks": "all", "retries": 10000,
                "max_in_flight_requests_per_connection": 5 if command["idempotent"] else 1,
                "batch_size": 1 if command["idempotent"] else 16384, "linger_ms": 0, "max_block_ms": 5000,
            }  # fmt: skip
            wanted = {
                "enable_idempotence": bool(command["idempotent"]),
                "delivery_timeout_ms": command["timeout"],
                "request_timeout_ms": 5000,
            }
            config = getattr(kafka.KafkaProducer, "DEFAULT_CONFIG", {})
            more |= {name: value for name, value in wanted.items() if name in config}
            self.client = kafka.KafkaProducer(**common, **more)
            return
        more = {
            "group_id": command["group"] or None, "enable_auto_commit": False, "auto_offset_reset": command["reset"],
            "fetch_max_wait_ms": FETCH_WAIT,
        }  # fmt: skip
        if command["rack"]:
            more["client_rack"] = command["rack"]
        self.client = kafka.KafkaConsumer(**common, **more)
        topic, partitions = command["topic"], range(command["partitions"])
        assigned = [kafka.TopicPartition(topic, partition) for partition in partitions]
        self.client.assign(assigned)
        for item in [] if command["resume"] else assigned:
            self.client.seek(item, 0)
        self.thread = threading.Thread(target=self._poll, daemon=True)
        self.thread.start()

    def _poll(self) -> None:
        while not self.is_over:
            try:
                while self.commits:
                    self._commit(self.commits.pop())
                for item, records in self.client.poll(timeout_ms=20).items():
                    for record in records:
                        told = {
                            "offset": record.offset,
                            "value": record.value.decode(),
                            "epoch": getattr(record, "leader_epoch", None),
                        }
                        tell(id=self.number, event="delivered", partition=item.partition, **told)
            except Exception as error:  # noqa: BLE001 (whatever the client reports is an event)
                if report_error(self.number, error):
                    break
                time.sleep(POLL)
        self.client.close()

    def commit(self, command: dict[str, Any]) -> None:
        self.commits.append(command)

    def _commit(self, command: dict[str, Any]) -> None:
        place = self.kafka.TopicPartition(command["topic"], command["partition"])
        self.client.commit({place: self.kafka.structs.OffsetAndMetadata(command["offset"], "", command["epoch"])})
        tell(id=self.number, event="committed")

    def produce(self, partition: int, value: str) -> None:
        told = {"partition": partition, "value": value}
        try:
            sent = self.client.send(self.command["topic"], value=value.encode(), partition=partition)
        except Exception as error:  # noqa: BLE001
            tell(id=self.number, event="failed", error=f"{type(error).__name__}: {error}", **told)
            return
        sent.add_callback(lambda meta: tell(id=self.number, event="acked", offset=meta.offset, **told))
        sent.add_errback(
            lambda error: tell(id=self.number, event="failed", error=f"{type(error).__name__}: {error}", **told)
        )

    def stop(self) -> None:
        self.is_over = True
        if self.command["role"] == "producer":
            self.client.close(timeout=0)
        else:
            self.thread.join(3)


LOOP = asyncio.new_event_loop()
"""Event loop of all aiokafka clients, which runs in its own thread."""


class Aiokafka:
    def __init__(self, command: dict[str, Any]) -> None:
        self.command, self.number = command, command["id"]
        self.ready = asyncio.Event()
        self.tasks: set[asyncio.Task[None]] = set()
        self.client: Any = None
        self._begin(self._produce_all() if command["role"] == "producer" else self._consume())

    def _begin(self, work: Any) -> None:
        LOOP.call_soon_threadsafe(lambda: self.tasks.add(LOOP.create_task(work)))

    async def _produce_all(self) -> None:
        import aiokafka

        backoff = self.command["backoff"]
        servers = self.command["bootstrap"].split(",")
        self.client = aiokafka.AIOKafkaProducer(
            bootstrap_servers=servers,
            retry_backoff_ms=backoff,
            acks="all",
            request_timeout_ms=self.command["timeout"],
            metadata_max_age_ms=60000,
        )
        await self.client.start()
        self.ready.set()

    async def _consume(self) -> None:
        import aiokafka

        backoff = self.command["backoff"]
        self.client = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=self.command["bootstrap"].split(","),
            retry_backoff_ms=backoff,
            auto_offset_reset="none",
            enable_auto_commit=False,
            fetch_max_wait_ms=FETCH_WAIT,
            metadata_max_age_ms=60000,
        )
        await self.client.start()
        assigned = [
            aiokafka.TopicPartition(self.command["topic"], partition) for partition in range(self.command["partitions"])
        ]
        self.client.assign(assigned)
        for item in assigned:
            self.client.seek(item, 0)
        while True:
            try:
                got = await self.client.getone()
                told = {"partition": got.partition, "offset": got.offset, "value": got.value.decode()}
                tell(id=self.number, event="delivered", **told)
            except asyncio.CancelledError:
                raise
            except Exception as error:  # noqa: BLE001 (whatever the client reports is an event)
                if report_error(self.number, error):
                    return
                await asyncio.sleep(POLL)

    def produce(self, partition: int, value: str) -> None:
        self._begin(self._produce(partition, value))

    async def _produce(self, partition: int, value: str) -> None:
        told = {"partition": partition, "value": value}
        try:
            await self.ready.wait()
            meta = await self.client.send_and_wait(self.command["topic"], value=value.encode(), partition=partition)
            tell(id=self.number, event="acked", offset=meta.offset, **told)
        except Exception as error:  # noqa: BLE001
            tell(id=self.number, event="failed", error=f"{type(error).__name__}: {error}", **told)

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), LOOP).result()

    async def _stop(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        if self.client is not None:
            if self.command["role"] == "producer":  # `close` would first send the pending records
                self.client._message_accumulator.close = _nothing
            try:
                await asyncio.wait_for(self.client.stop(), 2)
            except Exception as error:  # noqa: BLE001
                logging.getLogger(__name__).info("stop: %s", error)


async def _nothing() -> None:
    """Do nothing."""


KINDS: dict[str, Any] = {"librdkafka": Librdkafka, "kafka-python": KafkaPython, "aiokafka": Aiokafka}


def start(kind: Any, command: dict[str, Any], sessions: dict[int, Any]) -> None:
    try:
        sessions[command["id"]] = kind(command)
    except Exception as error:  # noqa: BLE001
        tell(id=command["id"], event="broken", error=f"{type(error).__name__}: {error}")


def do(session: Any, command: dict[str, Any]) -> None:
    work = getattr(session, command["do"], None)
    if work is None:
        tell(
            id=command["id"],
            event="broken",
            error=f"the driver of {type(session).__name__} does not support {command['do']!r}",
        )
    else:
        work(command)


def serve_commands(kind: Any) -> None:
    """Serve commands. Commands that may block run in a separate thread."""
    sessions: dict[int, Any] = {}
    queues: dict[int, list[dict[str, Any]]] = {}
    change = threading.Condition()

    def serve(number: int) -> None:
        while True:
            with change:
                change.wait_for(lambda: queues[number])
                command = queues[number].pop(0)
            session = sessions.get(number)
            if command["do"] == "start":
                start(kind, command, sessions)
            elif command["do"] == "produce" and session is not None:
                session.produce(command["partition"], command["value"])
            elif command["do"] != "stop" and session is not None:
                do(session, command)
            elif command["do"] == "stop":
                if session is not None:
                    session.stop()
                sessions.pop(number, None)
                queues.pop(number)
                tell(id=number, event="stopped")
                return

    tell(event="ready")
    for line in sys.stdin:
        command = json.loads(line)
        number = command["id"]
        with change:
            if command["do"] == "start":
                queues[number] = []
                threading.Thread(target=serve, args=(number,), daemon=True).start()
            if number in queues:
                queues[number].append(command)
                change.notify_all()


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    asked = sys.argv[1]
    if asked == "aiokafka":
        threading.Thread(target=LOOP.run_forever, daemon=True).start()
    serve_commands(KINDS[asked])
    os._exit(0)  # a client may wait forever for missing brokers
