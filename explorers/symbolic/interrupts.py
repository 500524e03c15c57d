"""Ctrl-C in a proof: it ends what is asked at once, and what was decided by then is told."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fencepost.explorers.verdict import SIGNALLED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

AGAIN = 0.02
"""Seconds until an interrupt is tried again: z3's terms are given back in less."""
KEYBOARD = "interrupted from keyboard"
"""Why z3 knows nothing where it took the signal itself, which Python then never hears of."""
BY_KEYBOARD = f"SIGINT {SIGNALLED}"


class Stopped(KeyboardInterrupt):
    """A signal ended a proof; the message is why it stopped."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C raise Stopped in what is inside. A process that is forked there does not hear it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    owner = os.getpid()

    def take(number: int, frame: FrameType | None) -> None:
        if os.getpid() != owner:
            return
        if _in_destructor(frame):
            threading.Timer(AGAIN, _send, (number,)).start()
            return
        raise Stopped(BY_KEYBOARD)

    earlier = signal.signal(signal.SIGINT, take)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, earlier)


def _send(number: int) -> None:
    """Send a signal to the main thread: what it waits for would go on if another thread got it."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        signal.raise_signal(number)


def _in_destructor(frame: FrameType | None) -> bool:
    """Say whether an exception would be lost: what is raised in a destructor, such as those of z3's terms, is printed only."""
    at = frame
    while at is not None:
        if at.f_code.co_name == "__del__":
            return True
        at = at.f_back
    return False
