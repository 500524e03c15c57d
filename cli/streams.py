"""The streams of the command: all three are open, and work goes on without a reader of its notes."""

from __future__ import annotations

import io
import os
import sys
from typing import Any


class _Notes(io.TextIOWrapper):
    """Takes what is written to it, whether or not anybody gets it: the reader may be gone, or there may be no room.

    It has no buffer: if an interrupt came while one is flushed, its content would be written twice.
    """

    def write(self, text: str, /) -> int:
        """Write as far as that can be done."""
        try:
            return super().write(text)
        except OSError:
            return len(text)


def settle_streams() -> None:
    """Open streams that were closed, so that no file gets their numbers; a note that cannot be written ends nothing."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 (it stays open)
    if sys.stderr is None or sys.stderr is sys.__stderr__:
        encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
        unbuffered: Any = io.FileIO(2, "w", closefd=False)
        sys.stderr = _Notes(unbuffered, encoding, "backslashreplace", write_through=True)
