"""What a caller hears of work that goes on: notes, what is being done, how far it is; and how a caller ends it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fencepost.explorers.native.position import Progress


class Watch:
    """Somebody who watches work go on. This one hears nothing; the command line's shows it on the terminal."""

    live = False
    """Whether what is spun is seen at once."""

    def note(self, text: str) -> None:
        """Take a line for the user's information."""

    def spin(self, text: str) -> None:
        """Take what is being done just now."""

    def clear(self) -> None:
        """Take notice that nothing is being done any more."""

    @contextmanager
    def busy(self, text: str) -> Iterator[None]:
        """Take what is being done for as long as it takes."""
        self.note(text)
        yield

    def telling(self, title: str) -> Callable[[Progress], None] | None:  # noqa: ARG002
        """Return what a search is to call while it runs, or None if nobody would see it."""
        return None

    def telling_walks(self, title: str, walks: int) -> Callable[[int, int, float], None] | None:  # noqa: ARG002
        """Return what random walks are to call while they go on, or None if nobody would see it."""
        return None
