"""Claims that say more than a verdict (tests try to refute them), and the wording of fault tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fencepost.api.answers.as_json import Json
from fencepost.api.answers.matrix import MEANING
from fencepost.api.asking.quantities import counted, in_values
from fencepost.explorers.verdict import BoundCount

if TYPE_CHECKING:
    from fencepost.api.answers.growing import Growth
    from fencepost.api.asking.constants import Value


FEW_CELLS = 4
"""Maximum number of cells that a sentence lists individually."""


@dataclass(frozen=True)
class Stable:
    """The claim that properties have the same verdict in some cells, or in all cells between the first and the last. A
    cell maps each bound to a value. A cell that the machine rejects has no verdict.
    """

    properties: str
    cells: tuple[Mapping[str, int], ...]
    box: bool

    @property
    def sentence(self) -> str:
        last, first = self.cells[-1], self.cells[0]
        if self.box:
            return f"{self.properties}, up to {in_values(last)}"
        raised = [name for name in last if any(cell[name] != first[name] for cell in self.cells)]
        where = f"the {len(self.cells)} cells that were searched, the last of them {in_values(last)}"
        if len(self.cells) <= FEW_CELLS:
            where = f"{'; '.join(in_values({name: cell[name] for name in raised}) for cell in self.cells)}"
        return f"{self.properties}, with {where}; other smaller cells were not searched"


@dataclass(frozen=True)
class Tolerates:
    """The claim that up to `faults` faults of the counted kinds (at most `most` of each) do not violate the property.
    If `faults` is missing, the claim is about all faults within `most`. The cheapest violating faults cost `least`.
    """

    faults: int | None
    most: Mapping[str, int]
    least: int | None = None
    weighted: bool = False

    @property
    def sentence(self) -> str:
        if self.faults is None:
            return f"all that were tried ({faults_in_words(self.most)})"
        cost = f"; the cheapest faults that violate the property cost {self.least}" if self.weighted else ""
        return f"{counted(self.faults, 'fault')}{cost}"

    @classmethod
    def of(cls, point: Json) -> Tolerates | None:
        """Return the claim about a setting; None if it is undetermined, or the property is violated without faults."""
        if point["undetermined"]:
            return None
        if not point["front"]:
            return cls(None, point["most"])
        fewest = min(sum(item["faults"].values()) for item in point["front"])
        return cls(fewest - 1, point["most"], point["least"], is_weighted(point)) if fewest else None


@dataclass(frozen=True)
class Needed:
    """The claim that properties are violated without a guard, although they hold with it."""

    guard: str
    properties: tuple[str, ...]

    @property
    def sentence(self) -> str:
        return f"{', '.join(self.properties)}: violated without {self.guard}"

    @classmethod
    def of(cls, row: Json) -> Needed | None:
        """Return the claim about a guard's row, or None if no property needs the guard."""
        is_needed = row["kind"] == "guard" and row["purpose"] == "needed"
        return cls(row["row"], tuple(row["broken"])) if is_needed else None


@dataclass(frozen=True)
class Unneeded:
    """The claim that every property still holds without a guard, with the guard's purpose as the reason."""

    guard: str
    purpose: str

    @property
    def sentence(self) -> str:
        return f"{self.guard}: {MEANING[self.purpose]}"

    @classmethod
    def of(cls, row: Json) -> Unneeded | None:
        """Return the claim about a guard's row, or None if a property needs the guard or this is undecided."""
        is_other = row["kind"] != "guard" or row["purpose"] in ("needed", "liveness", "undetermined")
        return None if is_other else cls(row["row"], row["purpose"])


@dataclass(frozen=True)
class Same:
    """The claim that a variant has the same states and steps as its base: the same actions with the same arguments."""

    base: str
    states: int

    @property
    def sentence(self) -> str:
        return (
            f"this variant has no effect under these constants: it reaches the same {counted(self.states, 'state')} "
            f"as its base {self.base}, by the same steps."
        )


@dataclass(frozen=True)
class Allows:
    """The claim that a variant violates properties on paths its base excludes or on which they hold in its base."""

    base: str
    properties: tuple[str, ...]

    @property
    def sentence(self) -> str:
        return (
            f"{self.base} itself does not allow the shortest history that violates {', '.join(self.properties)} under "
            "the same constants: only the changes of this variant allow it."
        )


@dataclass(frozen=True)
class Cuts:
    """The claim that a bound, on its own, blocked a step or suppressed one of the step's effects in some states."""

    found: BoundCount

    @property
    def sentence(self) -> str:
        item = self.found
        if item.together:
            return f"{item.constant}={item.value}, only together with others"
        least = "at least " if item.at_least else ""
        return f"{item.constant}={item.value} in {least}{counted(item.states, 'state')}"


@dataclass(frozen=True)
class Prevents:
    """The claim that a setting prevents a path: a step is blocked, or the property is not violated at the end."""

    setting: str
    history: str

    @property
    def sentence(self) -> str:
        return f"{self.setting} prevents {self.history}"


@dataclass(frozen=True)
class Executed:
    """The claim that steps of a machine with these constants were executed on Kafka's own classes of a release."""

    steps: int
    release: str
    differences: int
    aside: int
    """The number of abandoned histories."""
    together: bool = True
    """Whether a single history used all of these constants."""

    @property
    def sentence(self) -> str:
        """Return the claim as a sentence, with the differences and the histories that were not compared."""
        found = f"{self.differences:,} differences" if self.differences else "no difference"
        aside = f"{self.aside:,} histories were abandoned, and are not part of the comparison"
        return (
            f"{f'{self.steps:,} of its' if self.steps else 'Its'} steps were executed on Kafka {self.release}'s "
            f"own classes{'' if self.together else ', with each of these values but never with all of them'}, with "
            f"{found}{f'; {aside}' if self.aside else ''} (docs/kafka/conformance.md)."
        )


@dataclass(frozen=True)
class NeverMatters:
    """The claim that larger values of some bounds add no states."""

    bounds: Sequence[str]

    @property
    def sentence(self) -> str:
        return f"{', '.join(self.bounds)}: larger values add no states"


def stable_claims(growth: Growth) -> list[Stable]:
    """Return the claims about stable verdicts: one claim for all properties that were searched in the same cells."""
    same = [item for item in growth.properties if item.changes is None]
    groups: dict[tuple[int, bool], list[str]] = {}
    cells = {}
    for item in same:
        key = (len(item.cells), item.box)
        groups.setdefault(key, []).append(item.name)
        cells[key] = item.cells
    return [
        Stable("every verdict" if len(names) == len(growth.properties) else ", ".join(names), cells[key], key[1])
        for key, names in groups.items()
        if cells[key] and cells[key][0]
    ]


def raised_in(growth: Growth) -> list[str]:
    return [name for name in growth.bounds if any(name == item.constant for item in growth.steps)]


def is_weighted(point: Json) -> bool:
    return any(cost != 1 for cost in point.get("costs", {}).values())


def faults_in_words(used: Mapping[str, int]) -> str:
    """Return faults in words, such as `crashes 2, fences 0`."""
    shown = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in used.items())
    return shown if any(used.values()) else "no fault"


BY_OPERATOR = {
    "reassignments": "a reassignment",
    "cancels": "a reassignment",
    "raises": "a change of min ISR",
    "lowers": "a change of min ISR",
    "elr_disables": "ELR turned off",
}
"""Operators' actions in words, by the names of their budgets."""


def tolerated(point: Json) -> str:
    if point["undetermined"]:
        return "undetermined"
    claim = Tolerates.of(point)
    if claim is not None:
        return claim.sentence
    without_any = any(item.get("free") == {} for item in point["front"] if not any(item["faults"].values()))
    kinds = "" if without_any or not point["kinds"] else f" {either(point['kinds'])}"
    return f"none: the property is violated without any{kinds}"


def breaks_with(point: Json) -> str:
    """Return every minimal set of faults that violates the property, with its trace's length and the uncounted faults.
    Costs are added if a fault costs more than 1.
    """
    weighted = is_weighted(point)
    return "; ".join(_broken(item, point["kinds"], weighted=weighted) for item in point["front"])


def _broken(item: Json, kinds: list[str], *, weighted: bool) -> str:
    free = item.get("free")
    shown = words_of(item["faults"], [] if free == {} else kinds)
    shown += f", cost {item['cost']}" if weighted else ""
    return f"{shown}{f', not counted: {words_of(free)}' if free else ''} ({counted(item['length'], 'state')})"


def words_of(used: dict[str, int], kinds: list[str] | tuple[str, ...] = ()) -> str:
    """Return faults in words, such as `crashes 2, fences 1`; if there are none, name `kinds`: `no crash or fence`."""
    return faults_in_words(used) if any(used.values()) or not kinds else f"no {either(kinds)}"


def either(kinds: list[str] | tuple[str, ...]) -> str:
    """Return kinds of faults as alternatives, such as `crash or fence`."""
    *first, last = [one_of(name) for name in kinds]
    return f"{', '.join(first)} or {last}" if first else last


def one_of(kind: str) -> str:
    """Return the name of a single fault of a kind, such as `unclean election` for the kind `unclean_elections`."""
    words = kind.replace("_", " ")
    return words.removesuffix("es") if words.endswith(("sses", "shes", "ches", "xes")) else words.removesuffix("s")


def name_of(shown: Mapping[str, Value]) -> str:
    """Return a setting in a few words, in the spelling of the command line."""
    return " ".join(f"{name}={str(value).lower()}" for name, value in shown.items()) or "as set"


def left_out(omission: float) -> str:
    """Return a clause about the probability that a state was missed, or "" if states were stored in full."""
    missed = f"a state was missed with a probability of at most {omission:.1g}"
    return f", stored as fingerprints: {missed}" if omission else ""
