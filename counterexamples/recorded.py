"""The states that a file recorded, compared with those of today's model, to say what changed since."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fencepost.counterexamples.reader import TraceFile


class Difference(NamedTuple):
    """The first line at which recorded states differ from the model's; None where one of them has ended."""

    place: str
    was: str | None
    now: str | None

    @property
    def is_in_steps(self) -> bool:
        """Whether other steps were taken, rather than other states reached: titles of steps are not indented."""
        return not any(line is None or line.startswith(" ") or line == "initial" for line in (self.was, self.now))

    def __str__(self) -> str:
        if self.was is None:
            return f"{self.place}: the states end where the model goes on with {(self.now or '').strip()!r}."
        there = f"say {self.was.strip()!r}" if self.was.strip() else "have an empty line"
        here = "has nothing more" if self.now is None else f"gives {self.now.strip()!r}" if self.now else "gives an empty line"
        return f"{self.place}: the states {there} where the model {here}."


def first_difference(file: TraceFile, text: str, *, whole: bool = True) -> Difference | None:
    """Return where the recorded states and `text` part; unless `whole`, those that were recorded may go on."""
    recorded = "\n".join(file.recorded).rstrip().splitlines()
    for number, (was, now) in enumerate(zip_longest(recorded, text.splitlines()), file.states):
        if now is None and not whole:
            return None
        if was is None:
            rest = text.splitlines()[len(recorded) :]
            return Difference(f"{file.path}:{number}", None, next(line for line in rest if line))
        if was != now:
            return Difference(f"{file.path}:{number}", was, now)
    return None


def changes_since(file: TraceFile | None, text: str, *, whole: bool) -> str:
    """Return a sentence on what changed since the states were recorded: steps, header or model."""
    if file is None or not any(file.recorded):
        return ""
    found = first_difference(file, text, whole=whole)
    if found is None:
        return " The states are as they were recorded, so the header or the model has changed."
    if found.is_in_steps:
        return f" Steps or header were edited since the states were written: {found.place} has {found.was!r}."
    return f" The header was edited or the model has changed since the states were written: {found}"
