"""Growing bounds: a check is repeated with larger bounds, to see whether its verdicts are stable.

Each round raises one reached bound by one and repeats the search. If the search finishes, the bound stays raised. The
rounds end when no reached bound can be raised, or when time runs out. A bound of 0 is not raised, because it
deliberately excludes a kind of step. Values that the machine rejects are skipped.

A combination of bounds is called a cell. A box is the set of all cells between the first and the last searched cell.
After the rounds, a few more cells of the box are searched, unless the verdicts there follow from other cells. A verdict
is stable in the box if it is known to be the same in every cell.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from fencepost.api.answers.as_json import OPTIONAL
from fencepost.api.asking.targets import Question
from fencepost.explorers.program.ir.monotone import growing_bounds
from fencepost.explorers.program.ir.translate import translate
from fencepost.explorers.verdict import BoundCount, Cause, Reason, Result, Verdict, cause_of, ended_by_signal
from fencepost.model.language import Constants, Property
from fencepost.model.language.errors import DomainError, ModelError, UsageError

Ask = Callable[[Question, float], Result]
"""A function that runs one search with a time limit in seconds."""


BESIDE = 32
"""Maximum number of extra cells to search."""
MANY_CELLS = 4096
"""Only the verdicts of boxes with at most this many cells are compared."""


@dataclass(frozen=True)
class Raise:
    """A raised bound and the verdicts found with it, or the reason why the search did not finish."""

    constant: str
    value: int
    distinct: int
    seconds: float
    complete: bool
    why_stopped: str = ""
    changed: tuple[str, ...] = ()
    cell: Mapping[str, int] = field(default_factory=dict)
    """All bounds of the search."""


@dataclass(frozen=True)
class Change:
    """A bound that changes a property's verdict, and the new verdict. `cell` contains all bounds of the search."""

    constant: str
    value: int
    verdict: str
    cell: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class StableVerdict:
    """A verdict that is the same in all `cells`, the last of which is `stable_up_to`. `box` says whether every cell
    between the first and the last has this verdict, not counting cells that the machine rejects.
    """

    name: str
    verdict: str
    stable_up_to: Mapping[str, int]
    changes: Change | None = field(default=None, metadata=OPTIONAL)
    cells: tuple[Mapping[str, int], ...] = ()
    box: bool = False


@dataclass(frozen=True)
class Growth:
    """The results of raising the bounds of a check.

    `bounds` are the bounds of the largest finished search. This search reached the `open` bounds and the `switched_off`
    bounds (which are 0), but not the `settled` bounds. `why_stopped` is empty if no bound remains to be raised. After
    an unfinished check, `settled` and `properties` are empty.
    """

    complete: bool
    why_stopped: str
    seconds: float
    bounds: Mapping[str, int]
    settled: tuple[str, ...]
    open: tuple[str, ...]
    switched_off: tuple[str, ...]
    properties: tuple[StableVerdict, ...]
    steps: tuple[Raise, ...]
    not_raised: Mapping[str, str] = field(default_factory=dict)
    """The bounds that searches still reach, each with the reason why it is not raised further."""

    @property
    def violated(self) -> dict[str, Change]:
        """Properties that are violated only with larger bounds."""
        return {
            item.name: item.changes
            for item in self.properties
            if item.changes is not None and item.changes.verdict == Verdict.VIOLATED
        }


def grow(question: Question, first: Result, seconds: float, search: Ask, *, began: float) -> Growth:
    """Raise the bounds of a finished search until `seconds` have passed since `began`, when that search started."""
    return Growing(question, first, began + seconds, search).run(began, seconds)


class Growing:
    def __init__(self, question: Question, first: Result, end: float, search: Ask) -> None:
        self.question, self.end, self.search = question, end, search
        self.newest = first
        """The finished search with the largest bounds."""
        self.steps: list[Raise] = []
        self.given_up: dict[str, str] = {}
        """Raised bounds for which the search did not finish, each with the reason."""
        self.refused: dict[str, str] = {}
        """Bounds whose larger values the machine rejects, with the reasons."""
        self.verdicts = {item.name: str(item.verdict) for item in first.properties}
        self.up_to = dict.fromkeys(self.verdicts, self.bounds())
        self.changes: dict[str, Change] = {}
        self.found = [(self.bounds(), dict(self.verdicts))] if first.complete else []
        """Cells whose search finished, with their verdicts."""

    def bounds(self) -> dict[str, int]:
        return {item.constant: item.value for item in self.newest.bounds}

    def run(self, began: float, seconds: float) -> Growth:
        """Raise bounds until none is left to raise or time runs out."""
        why = "" if self.newest.complete else f"the check did not finish: {self.newest.why_stopped}"
        while not why and (waiting := self.waiting()):
            for place, name in enumerate(waiting):
                left = self.end - time.perf_counter()
                if left <= 0:
                    why = f"the time limit of {seconds:g} s for growth was reached"
                    break
                why = self.raised(name, left / (len(waiting) - place))
                if why:
                    break
        boxes = self.boxes(why) if self.newest.complete else {}
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
            tuple(self.stable(name, word, boxes) for name, word in verdicts.items()),
            tuple(self.steps),
            {item.constant: self.why_not_raised(item) for item in reached if item.value and self.newest.complete},
        )

    def stable(self, name: str, verdict: str, boxes: Mapping[str, bool]) -> StableVerdict:
        """Return the finished cells in which a property has the given verdict."""
        change = self.changes.get(name)
        cells = tuple(cell for cell, verdicts in self.found if verdicts[name] == verdict)
        cells = (*(cell for cell in cells if cell != self.up_to[name]), self.up_to[name])
        return StableVerdict(name, verdict, self.up_to[name], change, cells, change is None and boxes[name])

    def why_not_raised(self, item: BoundCount) -> str:
        name = item.constant
        if item.value < 0:
            return "negative bounds are not raised"
        if item.value >= self.question.constants.declared()[name].high:
            return "the bound has its largest declared value"
        return self.refused.get(name) or self.given_up.get(name) or "time ran out"

    def why_not_further(self) -> str:
        values = {item.constant: item.value for item in self.steps}
        late = [name for name, reason in self.given_up.items() if reason and cause_of(reason) is not Cause.ERROR]
        wrong = [f"{name}={values[name]}" for name, reason in self.given_up.items() if reason and name not in late]
        told = [f"the model raises an error with {' and with '.join(wrong)}"] if wrong else []
        if late:
            told.append(f"there was no time left to raise {', '.join(late)} further")
        return "; ".join(told)

    def waiting(self) -> list[str]:
        """Return the bounds to raise: those that were reached and are below their maximum."""
        declared = self.question.constants.declared()
        out = self.given_up.keys() | self.refused.keys()
        return [
            item.constant
            for item in self.newest.bounds
            if item.reached and item.constant not in out and 0 < item.value < declared[item.constant].high
        ]

    def constants(self, cell: Mapping[str, int]) -> Constants:
        """Return the constants of a cell; raise UsageError if the machine rejects them."""
        return self.question.protocol.machine.set_constants({**self.question.constants.values, **cell})

    def next_value(self, name: str) -> tuple[int, Constants | None]:
        value = self.bounds()[name] + 1
        passed = []
        for larger in range(value, int(self.question.constants.declared()[name].high) + 1):
            cell = {**self.bounds(), name: larger}
            try:
                constants = self.constants(cell)
            except UsageError as error:
                why = Reason(f"refused by the machine: {str(error).rpartition(': ')[2]}", Cause.ERROR)
                passed.append(Raise(name, larger, 0, 0.0, complete=False, why_stopped=why, cell=cell))
                continue
            self.steps += passed
            return larger, constants
        self.refused[name] = f"{name}={value} is {passed[0].why_stopped}" if passed else ""
        return value, None

    def raised(self, name: str, seconds: float) -> str:
        """Raise a bound within a time limit. If a signal ended the search, return the reason."""
        if not next(item.reached for item in self.newest.bounds if item.constant == name):
            return ""  # raising another bound has settled this one in the meantime
        value, constants = self.next_value(name)
        if constants is None:
            return ""
        cell = {**self.bounds(), name: value}
        found = self.searched(name, value, cell, constants, seconds)
        if isinstance(found, str):
            self.given_up[name] = found
            return found if ended_by_signal(found) else ""
        self.newest = found
        self.refused.clear()  # a rejected value may be accepted once another bound is larger
        for item in found.properties:
            if item.name not in self.changes:
                self.up_to[item.name] = self.bounds()
        return ""

    def searched(
        self, name: str, value: int, cell: Mapping[str, int], constants: Constants, seconds: float
    ) -> Result | str:
        """Search a cell and store the verdicts; return the reason if the search did not finish."""
        try:
            found = self.search(replace(self.question, constants=constants), seconds)
        except (DomainError, ModelError) as error:
            why = Reason(f"the model raises an error: {str(error).splitlines()[0]}", Cause.ERROR)
            self.steps.append(Raise(name, value, 0, 0.0, complete=False, why_stopped=why, cell=dict(cell)))
            return why
        changed = self.changed(name, value, cell, found)
        ended = "" if found.complete else found.why_stopped
        seconds = round(found.seconds, 4)
        self.steps.append(Raise(name, value, found.distinct, seconds, found.complete, ended, changed, dict(cell)))
        if not found.complete:
            return found.why_stopped
        self.found.append((dict(cell), {item.name: str(item.verdict) for item in found.properties}))
        return found

    def changed(self, name: str, value: int, cell: Mapping[str, int], found: Result) -> tuple[str, ...]:
        """Record and return the properties for which a raised bound gives a different, decided verdict."""
        made = []
        for item in found.properties:
            verdict = str(item.verdict)
            decided = item.verdict is not Verdict.UNDETERMINED
            if decided and item.name not in self.changes and verdict != self.verdicts[item.name]:
                self.changes[item.name] = Change(name, value, verdict, dict(cell))
                made.append(item.name)
        return tuple(made)

    def boxes(self, why: str) -> dict[str, bool]:
        """Search a few more cells of the box. Return whether the verdict of each property is known in every cell."""
        first, last = self.found[0][0], self.bounds()
        if math.prod(last[name] - first[name] + 1 for name in first) > MANY_CELLS:
            return dict.fromkeys(self.verdicts, False)
        searched = [cell for cell, _ in self.found]
        ranges = (range(first[name], last[name] + 1) for name in first)
        between = (dict(zip(first, values, strict=True)) for values in product(*ranges))
        beside = sorted((cell for cell in between if cell not in searched), key=lambda cell: sum(cell.values()))
        beside = [cell for cell in beside if self.is_allowed(cell)]
        if not beside:
            return dict.fromkeys(self.verdicts, True)
        growing = {item.name: self.growing(item) for item in self.question.properties}
        uncovered: dict[str, bool] = dict.fromkeys(self.verdicts, False)
        tries = 0
        for cell in beside:
            open_ones = [
                name
                for name in self.verdicts
                if name not in self.changes and not self.is_covered(name, cell, growing[name])
            ]
            if not open_ones:
                continue
            left = self.end - time.perf_counter()
            if tries < BESIDE and left > 0 and not ended_by_signal(why):
                tries += 1
                name = next(name for name in reversed(first) if cell[name] > first[name])
                found = self.searched(name, cell[name], cell, self.constants(cell), left)
                for changed in self.steps[-1].changed:
                    below = [one for one in searched if any(one[bound] < cell[bound] for bound in cell)]
                    self.up_to[changed] = below[-1]
                if not isinstance(found, str):
                    continue
                why = found if ended_by_signal(found) else why
            uncovered |= dict.fromkeys(open_ones, True)
        return {name: not is_open for name, is_open in uncovered.items()}

    def is_allowed(self, cell: Mapping[str, int]) -> bool:
        try:
            self.constants(cell)
        except UsageError:
            return False
        return True

    def growing(self, prop: Property) -> frozenset[str]:
        """Return the bounds that only add steps when raised, and change nothing that a property reads."""
        if prop.kind.over_behaviours:
            return frozenset()
        return growing_bounds(translate(self.question.protocol.machine, (prop,)))

    def is_covered(self, name: str, cell: Mapping[str, int], growing: frozenset[str]) -> bool:
        """Return whether a property's verdict in a cell follows from the cells already searched.

        If a cell does not reach a state, no smaller cell does. If a cell reaches a state, every larger cell does,
        unless the model raises an error there. A cell has no error if the search of a larger cell finished.
        """

        def is_within(small: Mapping[str, int], large: Mapping[str, int]) -> bool:
            return all(small[one] <= large[one] if one in growing else small[one] == large[one] for one in cell)

        prop = next(item for item in self.question.properties if item.name == name)
        unreached = self.verdicts[name] == str(Verdict.HOLDS if prop.kind.must_hold else Verdict.UNREACHED)
        alike = [other for other, verdicts in self.found if verdicts[name] == self.verdicts[name]]
        if unreached:
            return any(is_within(cell, other) for other in alike)
        ends = any(is_within(cell, other) for other, _ in self.found)
        return ends and any(is_within(other, cell) for other in alike)
