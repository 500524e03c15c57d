"""Progress events of running work, and its cancellation by the caller."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fencepost.api.asking.quantities import show_seconds
from fencepost.explorers.running.cache import lasts

if TYPE_CHECKING:
    from fencepost.explorers.native.store import Progress

LONG = 2.0
"""Only compilations that take at least this many seconds are reported."""


@dataclass(frozen=True)
class Event:
    """Progress of running work: the states of a search, the steps of walks, or the z3 queries of a proof. Numbers that
    do not apply to the work are 0.
    """

    text: str
    done: int = 0
    of: int = 0
    distinct: int = 0
    depth: int = 0
    seconds: float = 0.0


class Watch:
    """A watch that ignores all events. The command line overrides its methods to print to the terminal."""

    live = False
    """Whether a spinner is shown immediately."""

    def note(self, text: str) -> None:
        """Handle a line of information for the user."""

    def spin(self, text: str) -> None:
        """Handle the start of an activity."""

    def clear(self) -> None:
        """Handle the end of the current activity."""

    @contextmanager
    def busy(self, text: str) -> Iterator[None]:
        """Return a context manager for an activity."""
        self.note(text)
        yield

    def compiling(self, name: str) -> AbstractContextManager[None]:
        """Return a context manager for the compilation of a machine with this name."""
        return self.busy(f"compiling {name} ...{' (cached for the next run)' if lasts() else ''}")

    def compiled(self, name: str, seconds: float) -> None:
        """Handle the end of a compilation, given its duration."""
        long = "; cached for the next run" if seconds > LONG and lasts() else ""
        self.note(f"compiled {name} in {show_seconds(seconds)}{long}")

    def optimized(self, name: str, seconds: float) -> None:
        """Handle the end of a background optimization, which is reported if it took a long time."""
        if seconds > LONG:
            self.compiled(name, seconds)

    def telling(self, title: str) -> Callable[[Progress], None] | None:  # noqa: ARG002
        """Return the progress callback for a search, or None if progress is not shown."""
        return None

    def telling_walks(self, title: str, walks: int) -> Callable[[int, int, float], None] | None:  # noqa: ARG002
        """Return the progress callback for walks, or None if progress is not shown."""
        return None


class Listener(Watch):
    live = True

    def __init__(self, listen: Callable[[Event], None]) -> None:
        self.listen = listen

    def note(self, text: str) -> None:
        self.listen(Event(text))

    spin = note

    def telling(self, title: str) -> Callable[[Progress], None]:
        return lambda at: self.listen(Event(title, at.expanded, at.frontier, at.distinct, at.depth, at.seconds))

    def telling_walks(self, title: str, walks: int) -> Callable[[int, int, float], None]:
        return lambda done, _, seconds: self.listen(Event(title, done, walks, seconds=seconds))


def watched(progress: Watch | Callable[[Event], None] | None) -> Watch:
    """Return the given watch, a watch that calls the given function, or a watch that ignores all events."""
    if progress is None:
        return Watch()
    return progress if isinstance(progress, Watch) else Listener(progress)
