"""Consoles: results go to stdout, in colour if supported. Progress goes to stderr, live only on a terminal."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

from fencepost.api.answers.counterexample import WIDTH, bare
from fencepost.api.asking.quantities import show_rate, show_seconds
from fencepost.api.asking.watching import Watch
from fencepost.cli.wording import reword, reword_data, reword_text
from fencepost.explorers.verdict import Verdict

if TYPE_CHECKING:
    from fencepost.counterexamples.trace import Trace
    from fencepost.explorers.native.store import Progress
    from fencepost.model.language.interpreter import Path
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.live import Live
    from rich.text import Text
    from rich.theme import Theme


R = TypeVar("R")
GAP = 2
"""Number of spaces between two columns."""
NARROWEST = 24
GLUE = "\ue000"
"""A character that is printed as a space, but at which lines never break."""
COLOURS = {"red": "color(160)", "green": "color(28)", "yellow": "color(130)", "cyan": "color(31)"}
"""Colours that look alike on all terminals and are readable on both black and white."""
_STYLES = {
    Verdict.HOLDS: "green", Verdict.PROVED: "green", Verdict.VIOLATED: "red", Verdict.UNREACHED: "yellow",
    Verdict.UNDETERMINED: "yellow", Verdict.NOT_FOUND: "yellow",
}  # fmt: skip


SCREEN = 80


def results(*, must_be_read: bool = False, narrow: bool = False) -> Console:
    """Return the console for results. If `narrow`, the console is at most 80 columns wide. Rich reads NO_COLOR itself.

    If the reader closes the output, the remaining output is discarded and the exit status does not change. With
    `must_be_read`, BrokenPipeError is raised instead.
    """
    from rich.console import Console

    fixed = None if sys.stdout.isatty() or os.environ.get("COLUMNS") else WIDTH
    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False, width=fixed, theme=theme())
    if narrow:
        console.width = min(console.width, SCREEN)
    console.on_broken_pipe = _reader_gone if must_be_read else close_stdout  # type: ignore[method-assign]
    return console


def theme() -> Theme:
    from rich.theme import Theme

    styles = {f"{weight}{name}": f"{weight}{colour}" for name, colour in COLOURS.items() for weight in ("", "bold ")}
    return Theme(styles)


def _reader_gone() -> NoReturn:
    """End the command as usual, because Rich would exit with the status of a violation."""
    raise BrokenPipeError


def close_stdout() -> None:
    """Discard the remaining output, because the interpreter would otherwise report an error when it exits."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_json(data: Mapping[str, object]) -> None:
    print_text(json.dumps(reword_data(data), indent=2, ensure_ascii=False) + "\n")


def print_text(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        close_stdout()


def print_lines(console: Console, *lines: Text | str, style: str = "", indent: int = 0) -> None:
    for line in lines:
        print_hanging(console, " " * indent, _text(line, style))


def print_rows(console: Console, rows: Sequence[Sequence[Text | str]], *, indent: int = 0) -> None:
    cells = [[_text(item) for item in row] for row in rows]
    widths = [max(item.cell_len for item in column) for column in zip(*cells, strict=True)]
    for *first, last in cells:
        head = styled(" " * indent)
        for item, width in zip(first, widths, strict=False):
            head += item + styled(" " * (width - item.cell_len + GAP))
        print_hanging(console, head, last)


def print_facts(console: Console, facts: Iterable[tuple[str, Text | str]], *, indent: int = 0) -> None:
    print_rows(console, [(styled(name, "dim"), text) for name, text in facts], indent=indent)


def render_page(template: str, **values: Any) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("fencepost.cli.views")
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, undefined=StrictUndefined)
    return environment.get_template(template).render(**{**values, "data": reword_data(values["data"])})


def print_hanging(console: Console, head: Text | str, body: Text | str) -> None:
    start = head = _text(head)
    for piece in reword_text(_text(body)).wrap(console, max(NARROWEST, console.width - head.cell_len)):
        line = start + piece
        line.rstrip()
        line.plain = line.plain.replace(GLUE, " ")
        console.print(line, soft_wrap=True)
        start = styled(" " * head.cell_len)


def unbroken(name: str) -> str:
    return name.replace(" ", GLUE) if len(name) <= 2 * NARROWEST else name


def print_bare(console: Console, content: RenderableType) -> None:
    print_text(bare(console, content))


def styled(text: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(text, style=style)


def _text(text: Text | str, style: str = "") -> Text:
    return styled(text, style) if isinstance(text, str) else text


def joined(*parts: Text | str | tuple[str, str]) -> Text:
    from rich.text import Text

    return Text.assemble(*parts)


def heading(text: str) -> Text:
    return styled(text, "bold")


def verdict_text(verdict: Verdict) -> Text:
    return styled(str(verdict), verdict_style(verdict))


def verdict_style(verdict: Verdict) -> str:
    return f"bold {_STYLES[verdict]}"


def print_trace(console: Console, trace: Trace, path: Path) -> None:
    from fencepost.counterexamples.text import render

    print_bare(console, render(trace, path))


PERIOD = 0.125
"""Minimum time between two updates, in seconds; faster updates would be unreadable."""
BARS = "▁▂▃▄▅▆▇█"
MOST_BARS = 40


class Display(Watch):
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
        if not self.quiet:
            self.clear()
            self._console().print(reword(text), style="dim", soft_wrap=True)

    def clear(self) -> None:
        if self._block is not None:
            self._block.stop()
            self._block = None

    def show(self, content: RenderableType) -> None:
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
        self._began = time.monotonic()
        if self.live:
            self.spin(text)
        else:
            self.note(text)
        yield
        self.clear()

    def spin(self, text: str) -> None:
        if self.live:
            self.show(Busy(text, self._began))

    def telling(self, title: str) -> Callable[[Progress], None] | None:
        return self._telling(lambda progress: progress_text(title, progress))

    def telling_walks(self, title: str, walks: int) -> Callable[[int, int, float], None] | None:
        return self._telling(lambda done, steps, seconds: walks_text(title, done, walks, steps, seconds))

    def _telling(self, draw: Callable[..., Text]) -> Callable[..., None] | None:
        def tell(*arguments: Any) -> None:
            now = time.monotonic()
            if now - self._last >= PERIOD:
                self._last = now
                self.show(draw(*arguments))

        return tell if self.live else None

    def _console(self) -> Console:
        from rich.console import Console

        return Console(file=sys.stderr, highlight=False, markup=False, emoji=False, theme=theme())


def called(given: Mapping[str, Any], call: Callable[..., R], names: str, *what: Any, **more: Any) -> R:
    with Display(quiet=given["quiet"]) as display:
        return call(*what, progress=display, **{name: given[name] for name in names.split()}, **more)


def show(given: Mapping[str, Any], made: Any, view: Callable[..., None], *of_json: Any, **more: Any) -> None:
    if given["json"]:
        print_json(made.to_dict(*of_json))
    else:
        view(results(narrow=not given["verbose"]), made, verbose=bool(given["verbose"]), **more)


class Busy:
    def __init__(self, text: str, began: float) -> None:
        from rich.spinner import Spinner

        self.text, self.began = text, began
        self.spinner = Spinner("line", style="dim")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.spinner.update(text=f"{self.text}  {time.monotonic() - self.began:.0f} s")
        yield self.spinner


def progress_text(title: str, progress: Progress) -> Text:
    levels = progress.levels
    growth = f"x{levels[-1] / levels[-2]:.2f}" if len(levels) > 1 else "x1"
    share = progress.expanded / max(1, progress.frontier)
    shown = levels[-MOST_BARS:]
    top = max(shown, default=0) or 1
    return joined(
        (title, "bold"),
        f"  {progress.distinct:,} states  {show_rate(progress.distinct, progress.seconds, 'states')}  "
        f"{show_seconds(progress.seconds)}\n",
        (f"depth {progress.depth}  frontier {progress.frontier:,} ({share:.0%} expanded)  growth {growth}  ", "dim"),
        ("".join(BARS[(len(BARS) - 1) * size // top] for size in shown), "cyan"),
    )


def walks_text(title: str, done: int, walks: int, steps: int, seconds: float) -> Text:
    rate = show_rate(steps, seconds, "steps")
    return joined((title, "bold"), f"  {done:,} of {walks:,} walks  {rate}  {show_seconds(seconds)}")
