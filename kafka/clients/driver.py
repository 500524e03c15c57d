"""A driver: a process that runs many clients of one kind, asked by lines of JSON."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

START = 40.0
"""Seconds that a driver may take to start."""
LINE = 1 << 20


class Driver:
    """The process. It is in a group of its own, which is ended as a whole."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self.command, self.environment = command, dict(environment or {})
        self.hears: dict[int, Callable[[dict[str, Any]], None]] = {}
        self.number = 0
        self.ready = asyncio.Event()
        self.is_ready = self.is_over = False

    async def __aenter__(self) -> Self:
        self.process = await asyncio.create_subprocess_exec(
            *self.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={**os.environ, **self.environment},
            start_new_session=True,
            limit=LINE,
        )
        self.listening = asyncio.create_task(self._listen())
        try:
            await asyncio.wait_for(self.ready.wait(), START)
        except TimeoutError as error:
            await self.__aexit__()
            raise UsageError(
                f"the driver did not start within {START:g} s: `{' '.join(self.command[:3])} ...`."
            ) from error
        if not self.is_ready:
            await self.__aexit__()
            raise UsageError(f"the driver ended before it was ready: `{' '.join(self.command[:3])} ...`.")
        return self

    async def __aexit__(self, *error: object) -> None:
        if self.process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        await self.process.wait()
        self.listening.cancel()
        with suppress(asyncio.CancelledError):
            await self.listening

    async def _listen(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            with suppress(ValueError):
                told = json.loads(line)
                if told["event"] == "ready":
                    self.is_ready = True
                    self.ready.set()
                elif hear := self.hears.get(told.get("id", -1)):
                    hear(told)
        self.is_over = True
        self.ready.set()
        code = await self.process.wait()
        by = signal.Signals(-code).name if code < 0 else f"exit {code}"
        for hear in list(self.hears.values()):
            hear({"event": "died", "error": f"the process of the client died ({by})"})

    def say(self, command: dict[str, Any]) -> None:
        """Send a command."""
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.write(json.dumps(command).encode() + b"\n")

    def session(self) -> Client:
        """Return a new client in this process."""
        self.number += 1
        return Client(self, self.number)


class Client:
    """One client in a driver."""

    def __init__(self, driver: Driver, number: int) -> None:
        self.driver, self.number = driver, number
        self.stopped = asyncio.Event()

    async def start(self, command: dict[str, Any], hear: Callable[[dict[str, Any]], None]) -> None:
        """Start it."""

        def heard(told: dict[str, Any]) -> None:
            if told["event"] != "stopped" and not self.stopped.is_set():
                hear(told)
            if told["event"] in ("stopped", "died"):
                self.stopped.set()

        self.driver.hears[self.number] = heard
        servers = ",".join(command["bootstrap"])
        self.driver.say({**command, "bootstrap": servers, "id": self.number, "do": "start"})
        self.topic = command["topic"]

    def produce(self, partition: int, value: str) -> None:
        """Let it write a record."""
        told = {"id": self.number, "do": "produce", "topic": self.topic, "partition": partition, "value": value}
        self.driver.say(told)

    async def stop(self) -> None:
        """Stop it."""
        self.driver.say({"id": self.number, "do": "stop"})
        try:
            await self.stopped.wait()
        finally:
            self.stopped.set()
            self.driver.hears.pop(self.number, None)
