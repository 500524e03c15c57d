"""The progress display of a search: on stderr, and live only on a terminal."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from fencepost.api.asking.quantities import show_rate, show_seconds
from fencepost.api.asking.watching import Watch
from fencepost.cli.views.console import theme
from fencepost.cli.wording import reword

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fencepost.explorers.native.store import Progress
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.live import Live
    from rich.text import Text

PERIOD = 0.125
"""Seconds between two updates: faster than this is not readable."""
BARS = "▁▂▃▄▅▆▇█"
MOST_BARS = 40


class Display(Watch):
    """Notes, and on a terminal one block of lines that is rewritten in place."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self.live = not quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._block: Live | None = None
        self._last = 0.0
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.clear()

    def note(self, text: str) -> None:
        """Print a line for the user's information."""
        if not self.quiet:
            self.clear()
            self._console().print(reword(text), style="dim", soft_wrap=True)

    def clear(self) -> None:
        """Take the live block off the screen, so that results can be printed."""
        if self._block is not None:
            self._block.stop()
            self._block = None

    def show(self, content: RenderableType) -> None:
        """Put this into the live block; nothing happens without a live block."""
        if not self.live:
            return
        if self._block is None:
            from rich.live import Live

            self._block = Live(
                console=self._console(),
                transient=True,
                refresh_per_second=1 / PERIOD,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._block.start()
        self._block.update(content)

    @contextmanager
    def busy(self, text: str) -> Iterator[None]:
        """Show an activity for as long as it lasts: with a spinner, or as a note."""
        self._began = time.monotonic()
        if self.live:
            self.spin(text)
        else:
            self.note(text)
        yield
        self.clear()

    def spin(self, text: str) -> None:
        """Show an activity and its duration; without a live block nothing happens."""
        if self.live:
            self.show(Busy(text, self._began))

    def telling(self, title: str) -> Callable[[Progress], None] | None:
        """Return the callback for a running search, or None without a live block."""
        return self._telling(lambda progress: progress_text(title, progress))

    def telling_walks(self, title: str, walks: int) -> Callable[[int, int, float], None] | None:
        """Return the callback for running walks, or None without a live block."""
        return self._telling(lambda done, steps, seconds: walks_text(title, done, walks, steps, seconds))

    def _telling(self, draw: Callable[..., Text]) -> Callable[..., None] | None:
        """Return a callback that shows what `draw` makes of its arguments, now and then; None without a live block."""

        def tell(*arguments: Any) -> None:
            now = time.monotonic()
            if now - self._last >= PERIOD:
                self._last = now
                self.show(draw(*arguments))

        return tell if self.live else None

    def _console(self) -> Console:
        from rich.console import Console

        return Console(file=sys.stderr, highlight=False, markup=False, emoji=False, theme=theme())


class Busy:
    """A spinner with the work that goes on, and since when: Rich draws it again several times a second."""

    def __init__(self, text: str, began: float) -> None:
        from rich.spinner import Spinner

        self.text, self.began = text, began
        self.spinner = Spinner("line", style="dim")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.spinner.update(text=f"{self.text}  {time.monotonic() - self.began:.0f} s")
        yield self.spinner


def progress_text(title: str, progress: Progress) -> Text:
    """Return the display of a running search: how far it is, how fast, and how its levels grow."""
    from rich.text import Text

    levels = progress.levels
    growth = f"x{levels[-1] / levels[-2]:.2f}" if len(levels) > 1 else "x1"
    share = progress.expanded / max(1, progress.frontier)
    return Text.assemble(
        (title, "bold"),
        f"  {progress.distinct:,} states  {show_rate(progress.distinct, progress.seconds, 'states')}  "
        f"{show_seconds(progress.seconds)}\n",
        (f"depth {progress.depth}  frontier {progress.frontier:,} ({share:.0%} expanded)  growth {growth}  ", "dim"),
        (sparkline(levels), "cyan"),
    )


def walks_text(title: str, done: int, walks: int, steps: int, seconds: float) -> Text:
    """Return the display of running walks: how many are done, and how fast."""
    from rich.text import Text

    rate = show_rate(steps, seconds, "steps")
    return Text.assemble((title, "bold"), f"  {done:,} of {walks:,} walks  {rate}  {show_seconds(seconds)}")


def sparkline(levels: list[int]) -> str:
    """Return one bar per level, the last levels if there are many, as high as the level is large."""
    shown = levels[-MOST_BARS:]
    top = max(shown, default=0) or 1
    return "".join(BARS[(len(BARS) - 1) * size // top] for size in shown)
