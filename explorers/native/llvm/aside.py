"""Compilation in helper processes. The library llvmlite never frees the passes that it creates for a module (some 50
kB), so a helper process is replaced after compiling a limited number of modules.
"""

import atexit
import os
import pickle
import struct
import subprocess
import sys
import tempfile
import threading
from typing import Any

from fencepost.explorers.native.llvm.objects import LEVEL, CompileError, Object, compiled
from fencepost.explorers.native.llvm.types import Lowered, Unit

MOST = 64
_COMMAND = [sys.executable, "-m", "fencepost.explorers.native.llvm.aside"]
_LENGTH = struct.Struct("<Q")
_lock = threading.Lock()
_process: subprocess.Popen[bytes] | None = None
_here = _there = 0


def compiled_somewhere(unit: Unit | Lowered, level: int = LEVEL) -> Object:
    global _here  # noqa: PLW0603 (of this process)
    with _lock:
        if _here < MOST:
            _here += 1
            return compiled(unit, level=level)
        return _asked(unit, level)


def _asked(unit: Unit | Lowered, level: int) -> Object:
    global _process, _there  # noqa: PLW0603 (of this process)
    if _process is not None and (_there == MOST or _process.poll() is not None):
        _end()
    if _process is None:
        _process = subprocess.Popen(_COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603 (our module)
        _there = 0
    _there += 1
    try:
        _send(_process.stdin, (unit, level))
        found = _received(_process.stdout)
    except BaseException:
        _end()  # the pipe may contain half an answer
        raise
    return _object(found)


def _object(found: Object | str | None) -> Object:
    if isinstance(found, Object):
        return found
    raise CompileError(found or "the compiling process has ended")


class Meanwhile:
    """A unit that another process compiles. Data pass through files, so that neither process waits for the other."""

    def __init__(self, unit: Unit | Lowered, level: int) -> None:
        with tempfile.TemporaryFile() as given:
            _send(given, (unit, level))
            given.seek(0)
            self._made = tempfile.TemporaryFile()  # noqa: SIM115 (until the object is taken)
            self._process = subprocess.Popen(  # noqa: S603 (our own module)
                _COMMAND, stdin=given, stdout=self._made, stderr=subprocess.DEVNULL
            )

    def taken(self) -> Object | None:
        if self._process.poll() is None:
            return None
        with self._made as made:
            made.seek(0)
            return _object(_received(made))

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._made.close()


def _forget() -> None:
    global _process, _lock
    _process, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)


@atexit.register
def _end() -> None:
    global _process  # noqa: PLW0603 (of this process)
    if _process is not None:
        _process.kill()
        _process.communicate()
        _process = None


def _send(pipe: Any, content: object) -> None:
    text = pickle.dumps(content)
    pipe.write(_LENGTH.pack(len(text)) + text)
    pipe.flush()


def _received(pipe: Any) -> Any:
    head = pipe.read(_LENGTH.size)
    return pickle.loads(pipe.read(*_LENGTH.unpack(head))) if head else None  # noqa: S301 (from our own process)


def main() -> None:
    """Compile the units on standard input, in a helper process, until the input ends."""
    while (asked := _received(sys.stdin.buffer)) is not None:
        unit, level = asked
        try:
            made: Object | str = compiled(unit, level=level)
        except CompileError as error:
            made = str(error)
        _send(sys.stdout.buffer, made)


if __name__ == "__main__":
    main()
