"""Ctrl-C while something runs that would swallow it."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

AGAIN = 0.02
"""Seconds until an interrupt is tried again: a callback of LLVM takes less."""


@contextmanager
def heard() -> Iterator[None]:
    """Let Ctrl-C end what is inside: an exception in one of LLVM's callbacks is lost, so it is raised after that one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    earlier = signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, earlier)


def _interrupt(number: int, frame: FrameType | None) -> None:
    at = frame
    while at is not None:
        if "llvmlite" in at.f_code.co_filename and at.f_code.co_name.startswith("_raw_object_cache"):
            threading.Timer(AGAIN, signal.raise_signal, (number,)).start()
            return
        at = at.f_back
    raise KeyboardInterrupt
