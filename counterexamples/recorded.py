"""The states that a file recorded, compared with those of today's model, to say what changed since."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from fencepost.counterexamples.history import UNDER_TITLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fencepost.counterexamples.reader import TraceFile


class Difference(NamedTuple):
    """The first line at which recorded states differ from the model's; None where one of them has ended.

    `step` is the number of the step that stands there, where another step was taken, rather than another state reached; else 0.
    """

    place: str
    was: str | None
    now: str | None
    step: int = 0

    def __str__(self) -> str:
        if self.was is None:
            return f"{self.place}: the states end where the model continues with {(self.now or '').strip()!r}."
        if self.step:
            at = f"{self.place}: the steps differ from the recorded ones at step {self.step}"
            return f"{at}: recorded is {self.was.strip()!r}, and it is {(self.now or '').strip()!r} now."
        there = f"say {self.was.strip()!r}" if self.was.strip() else "have an empty line"
        here = (
            "has nothing more"
            if self.now is None
            else f"gives {self.now.strip()!r}"
            if self.now
            else "gives an empty line"
        )
        return f"{self.place}: the states {there} where the model {here}."


def first_difference(file: TraceFile, text: str, *, whole: bool = True) -> Difference | None:
    """Return where the recorded states and `text` part; unless `whole`, those that were recorded may go on."""
    recorded, given = "\n".join(file.recorded).rstrip().splitlines(), text.splitlines()
    for index, (was, now) in enumerate(zip_longest(recorded, given)):
        place = f"{file.path}:{file.states + index}"
        if now is None and not whole:
            return None
        if was is None:
            return Difference(place, None, next(line for line in given[index:] if line))
        if was != now:
            return Difference(
                place, was, now, 0 if now is None else _step_at(given, index) or _step_at(recorded, index)
            )
    return None


def _step_at(lines: Sequence[str], index: int) -> int:
    """Return the number of the step whose title, which may be folded, stands at a line; 0 if none does."""
    while index and lines[index].startswith(UNDER_TITLE):
        index -= 1
    found = re.match(r"(\d+) \S", lines[index])
    return int(found.group(1)) if found else 0


def changes_since(file: TraceFile | None, text: str, *, whole: bool) -> str:
    """Return a sentence on what changed since the states were recorded: steps, header or model."""
    if file is None or not any(file.recorded):
        return ""
    found = first_difference(file, text, whole=whole)
    if found is None and whole:
        return " The states are as they were recorded, so the header or the model has changed."
    if found is None:
        return " So it is recorded, so the header or the model has changed, or the step was edited in both places."
    if found.step:
        return f" The steps differ from the recorded ones at step {found.step}: {found.place} has {(found.was or '').strip()!r}."
    if found.was is None:
        return f" The file was cut or edited since the states were written: {found}"
    return f" The header was edited or the model has changed since the states were written: {found}"
