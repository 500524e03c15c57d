"""Growth: the bounds of a check raised one after the other, to see how far its verdicts reach.

A bound that was reached is raised by one, alone, and the search made again; if it ends, the bound stays raised. That
goes on, round after round, until no bound is reached that can be raised, or the time is over. A bound of 0 leaves a
kind of step out on purpose, and is not raised.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fencepost.api.answers.as_json import OPTIONAL
from fencepost.explorers.verdict import Cause, Reason, Verdict, cause_of, ended_by_signal
from fencepost.model.language.errors import DomainError, ModelError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fencepost.api.asking.targets import Question
    from fencepost.explorers.verdict import Result

    Ask = Callable[[Question, float], Result]
    """Makes a search within so many seconds."""


@dataclass(frozen=True)
class Raise:
    """A bound that was raised: what the search with it found, and why it did not end."""

    constant: str
    value: int
    distinct: int
    seconds: float
    complete: bool
    why_stopped: str = ""
    changed: tuple[str, ...] = ()
    """The properties that have another verdict than before."""


@dataclass(frozen=True)
class Change:
    """The bound that gives a property another verdict, and that verdict."""

    constant: str
    value: int
    verdict: str


@dataclass(frozen=True)
class Stable:
    """A verdict that is the same up to these bounds, all of them at once."""

    name: str
    verdict: str
    stable_up_to: Mapping[str, int]
    changes: Change | None = field(default=None, metadata=OPTIONAL)


@dataclass(frozen=True)
class Growth:
    """All that raising the bounds of a check has shown.

    `bounds` are the greatest that were searched to the end, all at once. `settled` are those that are not reached
    there any more, `open` those that are, `switched_off` those that are 0 and stayed so. `why_stopped` is empty where
    nothing was left to raise. After a check that did not end nothing is `settled`, and there are no `properties`.
    """

    complete: bool
    why_stopped: str
    seconds: float
    bounds: Mapping[str, int]
    settled: tuple[str, ...]
    open: tuple[str, ...]
    switched_off: tuple[str, ...]
    properties: tuple[Stable, ...]
    steps: tuple[Raise, ...]


def grow(question: Question, first: Result, seconds: float, search: Ask, *, began: float) -> Growth:
    """Raise the bounds of a search that was made; `seconds` count from `began`, which is when that search began."""
    return Growing(question, first, began + seconds, search).run(began, seconds)


class Growing:
    """One growth."""

    def __init__(self, question: Question, first: Result, end: float, search: Ask) -> None:
        self.question, self.end, self.search = question, end, search
        self.newest = first
        """The search with the greatest bounds that ended."""
        self.steps: list[Raise] = []
        self.given_up: dict[str, str] = {}
        """The bounds that cannot be raised further, with the reason."""
        self.verdicts = {item.name: str(item.verdict) for item in first.properties}
        self.up_to = dict.fromkeys(self.verdicts, self.bounds())
        self.changes: dict[str, Change] = {}

    def bounds(self) -> dict[str, int]:
        """Return the bounds of the newest search."""
        return {item.constant: item.value for item in self.newest.bounds}

    def run(self, began: float, seconds: float) -> Growth:
        """Raise bounds until nothing is left to raise, or the time is over."""
        why = "" if self.newest.complete else f"the check itself did not end: {self.newest.why_stopped}"
        while not why and (waiting := self.waiting()):
            for place, name in enumerate(waiting):
                left = self.end - time.perf_counter()
                if left <= 0:
                    why = f"the {seconds:g} s for growth are over"
                    break
                why = self.raised(name, left / (len(waiting) - place))
                if why:
                    break
        reached = [item for item in self.newest.bounds if item.reached]
        beyond = [item for item in self.newest.bounds if not item.reached and self.newest.complete]
        verdicts = self.verdicts if self.newest.complete else {}
        if not why:
            why = self.why_not_further()
        return Growth(
            not why,
            why,
            round(time.perf_counter() - began, 4),
            self.bounds(),
            tuple(item.constant for item in beyond),
            tuple(item.constant for item in reached if item.value),
            tuple(item.constant for item in reached if not item.value),
            tuple(Stable(name, word, self.up_to[name], self.changes.get(name)) for name, word in verdicts.items()),
            tuple(self.steps),
        )

    def why_not_further(self) -> str:
        """Return why the bounds that were given up are not raised further, an empty string if they have no room."""
        values = {item.constant: item.value for item in self.steps}
        late = [name for name, reason in self.given_up.items() if reason and cause_of(reason) is not Cause.ERROR]
        wrong = [f"{name}={values[name]}" for name, reason in self.given_up.items() if reason and name not in late]
        told = [f"the model goes wrong with {' and with '.join(wrong)}"] if wrong else []
        if late:
            told.append(f"{', '.join(late)} could not be raised further in the time that was left")
        return "; ".join(told)

    def waiting(self) -> list[str]:
        """Return the bounds that are worth raising: they are reached, and have room."""
        declared = self.question.constants.declared()
        return [
            item.constant
            for item in self.newest.bounds
            if item.reached and item.constant not in self.given_up and 0 < item.value < declared[item.constant].high
        ]

    def raised(self, name: str, seconds: float) -> str:
        """Raise a bound by one within a time; return why no other can be raised any more, if that is so."""
        machine, value = self.question.protocol.machine, self.bounds()[name] + 1
        if not next(item.reached for item in self.newest.bounds if item.constant == name):
            return ""  # another bound that was raised meanwhile has made up for it
        try:
            constants = machine.set_constants({**self.question.constants.values, **self.bounds(), name: value})
        except UsageError:
            self.given_up[name] = ""
            return ""
        try:
            found = self.search(replace(self.question, constants=constants), seconds)
        except (DomainError, ModelError) as error:
            self.given_up[name] = Reason(f"the model goes wrong: {str(error).splitlines()[0]}", Cause.ERROR)
            self.steps.append(Raise(name, value, 0, 0.0, complete=False, why_stopped=self.given_up[name]))
            return ""
        changed = self.changed(name, value, found)
        if not found.complete:
            self.given_up[name] = found.why_stopped
            self.steps.append(_step(name, value, found, changed))
            return found.why_stopped if ended_by_signal(found.why_stopped) else ""
        self.newest = found
        self.steps.append(_step(name, value, found, changed))
        for item in found.properties:
            if item.name not in self.changes:
                self.up_to[item.name] = self.bounds()
        return ""

    def changed(self, name: str, value: int, found: Result) -> tuple[str, ...]:
        """Note and return the properties whose verdict a raised bound changes; an undecided one is no change."""
        made = []
        for item in found.properties:
            verdict = str(item.verdict)
            decided = item.verdict is not Verdict.UNDETERMINED
            if decided and item.name not in self.changes and verdict != self.verdicts[item.name]:
                self.changes[item.name] = Change(name, value, verdict)
                made.append(item.name)
        return tuple(made)


def _step(name: str, value: int, found: Result, changed: tuple[str, ...]) -> Raise:
    """Return a bound that was raised with what the search of it found."""
    seconds = round(found.seconds, 4)
    return Raise(
        name, value, found.distinct, seconds, found.complete, found.why_stopped if not found.complete else "", changed
    )
