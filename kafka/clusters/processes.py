"""Processes that this one starts: each in a group of its own, and none outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import IO


class Process:
    """A process that is started in a group of its own, so that Ctrl-C reaches us alone and we end it by its group.

    Its standard input is a pipe that we hold. It ends with us, and our programs end with it, even if we are killed.
    """

    def __init__(self, command: Sequence[str], log: Path, *, answers: bool = False) -> None:
        with log.open("ab") as written:
            self._process = subprocess.Popen(  # noqa: S603 (our own command)
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if answers else written,
                stderr=written,
                start_new_session=True,
                env={**os.environ, "LC_ALL": "C.UTF-8"},
            )

    @property
    def pid(self) -> int:
        """The process's id, which is its group's too."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    @property
    def status(self) -> int | None:
        """The status it ended with; None if it has not ended yet."""
        return self._process.poll()

    @property
    def asked(self) -> IO[bytes]:
        """Its standard input."""
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def answers(self) -> IO[bytes]:
        """Its standard output, if it `answers`."""
        assert self._process.stdout is not None
        return self._process.stdout

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to it and to whatever it started, unless it has ended."""
        if self.running:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    def wait(self, seconds: float) -> bool:
        """Wait for its end; return whether it came."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def close(self) -> None:
        """End it now."""
        self.signal(signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
