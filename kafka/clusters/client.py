"""Kafka's own clients in one process: records sent, acknowledged and readable."""

import json
import threading
from collections.abc import Sequence
from typing import Any, Self

from fencepost.kafka.clusters.cluster import Cluster, ClusterError, Process

PATIENCE = 40.0
"""The seconds after which a call is given up; the clients' own limits are shorter."""


class Client:
    """Admin, producers and a consumer, driven by lines of JSON."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self.topic = topic
        self.sent: list[str] = []
        self.acknowledged: dict[str, int] = {}
        self.failed: dict[str, str] = {}
        self._answers: dict[int, dict[str, Any]] = {}
        self._garbage = b""
        self._number = 0
        self._change = threading.Condition()
        command = cluster.kit.java("fencepost.clusters.Client", cluster.servers)
        self._process = Process(command, cluster.folder / "client.log", answers=True)
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.close()

    def ask(self, do: str, **more: Any) -> dict[str, Any]:
        """Send a command; return the answer, which has `refused` if Kafka or the client refused."""
        self._number += 1
        number = self._number
        line = json.dumps({"number": number, "do": do, "topic": self.topic, **more})
        try:
            self._process.asked.write(line.encode("ascii") + b"\n")
            self._process.asked.flush()
        except OSError as error:
            raise ClusterError(f"the client has died with status {self._process.status}.") from error
        with self._change:
            self._change.wait_for(
                lambda: number in self._answers or self._garbage or not self._process.running, PATIENCE
            )
            if number in self._answers:
                return self._answers.pop(number)
        if self._garbage:
            raise ClusterError(f"the client answered {do!r} with garbage: {self._garbage[:200]!r}.")
        if self._process.running:
            raise ClusterError(f"the client did not answer {do!r} within {PATIENCE:g} s.")
        raise ClusterError(f"the client has died at {do!r} with status {self._process.status}.")

    def send(self, keys: Sequence[str], size: int) -> None:
        """Send a record for each key without waiting."""
        self.sent += keys
        self.ask("send", keys=list(keys), size=size)

    def settled(self, keys: Sequence[str], seconds: float) -> bool:
        """Wait until each of these records is acknowledged or failed; return whether all are."""
        with self._change:
            return self._change.wait_for(
                lambda: all(key in self.acknowledged or key in self.failed for key in keys), seconds
            )

    def _listen(self) -> None:
        for line in self._process.answers:
            with self._change:
                try:
                    told = json.loads(line)
                except ValueError:
                    self._garbage = self._garbage or line
                    self._change.notify_all()
                    continue
                if "answers" in told:
                    self._answers[told["answers"]] = told
                elif "failed" in told:
                    self.failed[told["key"]] = told["failed"]
                else:
                    self.acknowledged[told["key"]] = told["offset"]
                self._change.notify_all()
        self._process.wait(PATIENCE)  # its output ends before it does, but waiters must find it dead
        with self._change:
            self._change.notify_all()
