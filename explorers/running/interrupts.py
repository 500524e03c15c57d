"""Cancellation of work by Ctrl-C, SIGTERM or the caller: after a round (`Signals`) or at once (`interruptible`)."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from fencepost.explorers.verdict import Cause, Reason

AGAIN = 0.02
"""Seconds after which an interrupt is sent again, in case the first one was lost. An LLVM callback takes less time."""
POLL = 0.05
"""Seconds between two checks for cancellation by the caller."""
CANCELLED = Reason("it was cancelled", Cause.CANCELLED)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
BY_KEYBOARD = Reason("SIGINT was received", Cause.SIGNAL)

_CANCEL: ContextVar[Callable[[], bool] | None] = ContextVar("_CANCEL", default=None)


class Stopped(KeyboardInterrupt):
    """Raised when work is cancelled from outside. `why` gives the cause and names the interrupted work."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@contextmanager
def cancelled_by(cancel: Callable[[], bool] | None) -> Iterator[None]:
    """Stop the block once `cancel` returns true. The block may run in any thread."""
    token = _CANCEL.set(cancel)
    try:
        yield
    finally:
        _CANCEL.reset(token)


def stop_if_cancelled(doing: str = "") -> None:
    cancel = _CANCEL.get()
    if cancel is not None and cancel():
        raise Stopped(_during(CANCELLED, doing))


def _during(why: Reason, doing: str) -> Reason:
    return why.on(f" while {doing}") if doing else why


class Stoppable:
    stop_asked = ""

    def ask(self, why: str) -> bool:
        first = not self.stop_asked
        self.stop_asked = self.stop_asked or why
        return first


class Signals:
    """Signal handlers: a signal or the caller stops work after a round, and a second signal stops it at once."""

    def __init__(self, ask: Callable[[str], bool], numbers: Iterable[signal.Signals] = SIGNALS) -> None:
        self.ask, self.numbers = ask, numbers
        self.earlier: dict[int, Any] = {}
        self.over = threading.Event()

    def __enter__(self) -> None:
        cancel = _CANCEL.get()
        if cancel is not None:
            if cancel():
                self.ask(CANCELLED)
            else:
                threading.Thread(target=self._poll, args=(cancel,), daemon=True).start()
        if threading.current_thread() is threading.main_thread():
            for number in self.numbers:
                if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # ignored under nohup
                    self.earlier[number] = signal.signal(number, self.take)

    def __exit__(self, *error: object) -> None:
        self.over.set()
        for number, handler in self.earlier.items():
            signal.signal(number, handler)

    def take(self, number: int, frame: object) -> None:
        del frame
        if not self.ask(Reason(f"{signal.Signals(number).name} was received", Cause.SIGNAL)):
            raise KeyboardInterrupt

    def _poll(self, cancel: Callable[[], bool]) -> None:
        while not self.over.wait(POLL):
            if cancel():
                self.ask(CANCELLED)
                return


@contextmanager
def interruptible(doing: str = "") -> Iterator[None]:
    """Inside the block, make Ctrl-C raise Stopped with the name of the work.

    Child processes forked inside the block ignore Ctrl-C. An exception in a destructor or an LLVM callback would be
    lost, so it is raised afterwards. If the caller cancels, the main thread is interrupted; other threads check only
    before the block. After the earlier handler is restored, no signal is sent, because it would interrupt other work.
    """
    stop_if_cancelled(doing)
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    owner, cancel, over, sending = os.getpid(), _CANCEL.get(), threading.Event(), threading.Lock()
    late: list[int] = []

    def take(number: int, frame: FrameType | None) -> None:
        if os.getpid() != owner:
            return
        if not (over.is_set() or _would_be_lost(frame)):
            stop()
        late.append(number)
        threading.Timer(AGAIN, send).start()

    def send() -> None:
        with sending:
            if not over.is_set():
                _send(signal.SIGINT)

    def stop() -> NoReturn:
        why = CANCELLED if cancel is not None and cancel() else BY_KEYBOARD
        raise Stopped(_during(why, doing))

    def poll() -> None:
        while cancel is not None and not over.wait(POLL):
            if cancel():
                send()
                return

    earlier = signal.signal(signal.SIGINT, take)
    if cancel is not None:
        threading.Thread(target=poll, daemon=True).start()
    try:
        yield
    finally:
        over.set()
        with sending:
            signal.signal(signal.SIGINT, earlier)
    if late:
        stop()


def _send(number: int) -> None:
    """Send a signal to the main thread, because only a signal to that thread interrupts its blocking calls."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        signal.raise_signal(number)


def _would_be_lost(frame: FrameType | None) -> bool:
    """Return whether an exception would only be printed, as in a destructor (of z3 terms) or in an LLVM callback."""
    at = frame
    while at is not None:
        code = at.f_code
        if code.co_name == "__del__" or (
            "llvmlite" in code.co_filename and code.co_name.startswith("_raw_object_cache")
        ):
            return True
        at = at.f_back
    return False


UNIT = 1 if sys.platform == "darwin" else 1024
"""Unit, in bytes, in which the system reports memory."""
DEFAULT_SHARE = 0.8
"""Fraction of the available memory that a search may use by default."""


def peak_memory() -> int:
    """Return this process's peak memory in bytes, or 0 on systems that do not report it, such as WebAssembly."""
    try:
        import resource
    except ModuleNotFoundError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT


def default_memory() -> int:
    import psutil

    available = int(psutil.virtual_memory().available)
    limit = _control_group_rest()
    return int(DEFAULT_SHARE * (available if limit is None else min(available, limit)))


def _control_group_rest() -> int | None:
    """Return the memory left below a container's limit, which the system's figure ignores, or None without a limit."""
    folder = Path("/sys/fs/cgroup")
    try:
        return int((folder / "memory.max").read_text()) - int((folder / "memory.current").read_text())
    except (OSError, ValueError):  # no such file, or "max"
        return None
