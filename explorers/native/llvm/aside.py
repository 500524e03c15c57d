"""Compilation in another process while this one searches."""

import pickle
import struct
import subprocess
import sys
import tempfile
from typing import Any

from fencepost.explorers.native.llvm.objects import CompileError, Object, compiled
from fencepost.explorers.native.llvm.types import Lowered, Unit

_COMMAND = [sys.executable, "-m", "fencepost.explorers.native.llvm.aside"]
_LENGTH = struct.Struct("<Q")


class Meanwhile:
    """A unit that another process compiles. Data passes through files, so that neither process waits for the other."""

    def __init__(self, unit: Unit | Lowered, level: int) -> None:
        with tempfile.TemporaryFile() as given:
            _send(given, (unit, level))
            given.seek(0)
            self._made = tempfile.TemporaryFile()  # noqa: SIM115 (until the object is taken)
            self._process = subprocess.Popen(  # noqa: S603 (our own module)
                _COMMAND, stdin=given, stdout=self._made, stderr=subprocess.DEVNULL
            )

    def taken(self) -> Object | None:
        """Return the object, or None if it is not ready yet. Raise CompileError if the unit cannot be compiled."""
        if self._process.poll() is None:
            return None
        with self._made as made:
            made.seek(0)
            found = _received(made)
        if isinstance(found, Object):
            return found
        raise CompileError(found or "the compiling process has ended")

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._made.close()


def _send(pipe: Any, content: object) -> None:
    text = pickle.dumps(content)
    pipe.write(_LENGTH.pack(len(text)) + text)
    pipe.flush()


def _received(pipe: Any) -> Any:
    head = pipe.read(_LENGTH.size)
    return pickle.loads(pipe.read(*_LENGTH.unpack(head))) if head else None  # noqa: S301 (from our own process)


def main() -> None:
    """Compile the unit on standard input, in a helper process."""
    unit, level = _received(sys.stdin.buffer)
    try:
        made: Object | str = compiled(unit, level=level)
    except CompileError as error:
        made = str(error)
    _send(sys.stdout.buffer, made)


if __name__ == "__main__":
    main()
