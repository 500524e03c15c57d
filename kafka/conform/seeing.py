"""Does the comparison see? Each of Kafka's checks is taken out of the model, each of its rules set otherwise, and tried on Kafka.

A model without a check allows a step that Kafka refuses; one with another rule ends a step in another state. Kafka is led to the
nearest state at which such a variant departs from the model, and does the step: it must not come out as in the variant.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from fencepost.explorers.program.removal import guards
from fencepost.kafka.driver.ablation import Whose
from fencepost.kafka.driver.chances import Ground, Variant
from fencepost.kafka.driver.process import Driver
from fencepost.kafka.driver.trying import Tried, tried

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fencepost.kafka.conform.binding import Binding
    from fencepost.kafka.driver.ablation import Ablation
    from fencepost.kafka.driver.execute import Execution
    from fencepost.kafka.driver.releases import Release
    from fencepost.model.language.constants import Constants

MOST_STATES = 150_000
MOST_TRIES = 4
"""Differences of one variant that are tried under one set of constants."""


class Sight(StrEnum):
    """What became of a variant."""

    DEPARTS = "departs"
    """Kafka did what neither the model nor the variant does, or gave another error than this check gives."""
    NOTICED = "noticed"
    """Kafka did what the model does, and not what the variant does."""
    TOGETHER = "noticed-with-others"
    """The same, of a check that refuses only where others of its action refuse too: all of these were taken out."""
    UNNOTICED = "unnoticed"
    """Kafka did what the variant does."""
    UNTRIED = "untried"
    """The driver could not do the step: nothing of Kafka was asked."""
    NOWHERE = "nowhere"
    """No state that was reached shows a difference that can be seen in Kafka."""


@dataclass
class Row:
    """One variant, and what was tried of it. `where` says where the check is, or what the rule is."""

    variant: Variant
    where: str
    why: str
    """Why it cannot be noticed; an empty string if it must be."""
    tries: list[tuple[Sight, Tried]] = field(default_factory=list)

    @property
    def sight(self) -> Sight:
        """The verdict: one departure is too many, one notice is enough."""
        found = [sight for sight, _ in self.tries]
        return next((item for item in Sight if item in found), Sight.NOWHERE)

    @property
    def shown(self) -> Tried | None:
        """The try that the verdict is about."""
        return next((item for sight, item in self.tries if sight is self.sight), None)

    @property
    def is_noticed(self) -> bool:
        """Whether the comparison sees that the check or the rule is gone."""
        return self.sight in (Sight.NOTICED, Sight.TOGETHER)

    @property
    def is_well(self) -> bool:
        """Whether the row needs no explanation: it was noticed, or its reason is named and nothing speaks against it."""
        return self.is_noticed or (self.sight is Sight.NOWHERE and bool(self.why))

    def data(self) -> dict[str, Any]:
        """Return the row in the words of the contract."""
        shown = self.shown
        return {
            "name": self.variant.name,
            "kind": "check" if self.variant.guard is not None else "rule",
            "condition": self.variant.guard.condition if self.variant.guard is not None else "",
            "where": self.where,
            "seen": str(self.sight),
            "why": self.why if not self.is_noticed else "",
            "answer": shown.answer if shown is not None else "",
            "steps": list(shown.steps) if shown is not None else [],
            "constants": shown.constants.shown if shown is not None else {},
        }


def ground_of(bound: Binding, base: Constants, text: str) -> Ground:
    """Return the states under some constants that are given as text, on top of those of a version."""
    sizes = {name: int(value) for name, _, value in (word.partition("=") for word in text.split())}
    machine = bound.machine
    return Ground(bound.ablation, machine, machine.set_constants({**base.values, **sizes}), MOST_STATES)


def rows_of(bound: Binding, constants: Constants) -> list[Row]:
    """Return a row for each of Kafka's checks among the guards, and for each of its rules among the constants."""
    rows = []
    ablation, shadowed = bound.ablation, bound.ablation.shadowed(constants)
    kafkas = [guard for guard in guards(bound.machine) if not guard.part and ablation.whose(guard) is Whose.KAFKA]
    for guard in kafkas:
        others = tuple(item for item in kafkas if item.action == guard.action and item != guard)
        key = guard.action, guard.condition
        rows.append(Row(Variant(guard.name, guard, others), ablation.kafkas[key].where, shadowed.get(key, "")))
    for name, values in ablation.rules(constants).items():
        declared = constants.declared()[name]
        for value in values:
            told = f"{name}={_shown(declared.show(value))}"
            rows.append(Row(Variant(told, None, (), name, value), declared.meaning, ablation.unseen(told, constants)))
    return rows


def _shown(value: object) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value).replace("_", "-")


class Seeing:
    """Variants tried on one release, each under the constants of one ground after the other."""

    def __init__(
        self, bound: Binding, release: Release, base: Constants, tell: Callable[[str], None] = lambda _: None
    ) -> None:
        self.bound, self.release, self.base, self.tell = bound, release, base, tell
        self.rows = rows_of(bound, base)

    def only(self, names: Iterable[str]) -> Seeing:
        """Keep the rows whose names begin with one of these."""
        kept = tuple(names)
        self.rows = [row for row in self.rows if row.variant.name.startswith(kept)]
        return self

    def look(self, grounds: Iterable[str] | None = None) -> list[Row]:
        """Try every variant; return the rows."""
        with Driver(self.release) as driver:
            ablation = self.bound.ablation
            for sizes in (*ablation.grounds(self.base), *ablation.lost) if grounds is None else grounds:
                waiting = [row for row in self.rows if row.sight not in (Sight.DEPARTS, Sight.NOTICED)]
                if not waiting:
                    break
                ground = ground_of(self.bound, self.base, sizes)
                self.tell(f"{len(waiting)} checks and rules are sought out in {ground.space.states:,} states")
                execution = self.bound.follow(driver, ground.plain)
                for row in waiting:
                    self._look_at(row, ground, execution)
        return self.rows

    def _look_at(self, row: Row, ground: Ground, execution: Execution) -> None:
        alone = replace(row.variant, others=())
        for variant in (alone, row.variant) if row.variant.others and row.sight is not Sight.TOGETHER else (alone,):
            for chance in ground.chances(variant, MOST_TRIES):
                found = tried(ground.ablation, execution, chance)
                if found is not None:
                    row.tries.append((_judged(self.bound.ablation, variant, found), found))
                if row.sight in (Sight.DEPARTS, Sight.NOTICED, Sight.TOGETHER) and row.sight is row.tries[-1][0]:
                    break
            if row.sight in (Sight.DEPARTS, Sight.NOTICED):
                return


def _judged(ablation: Ablation, variant: Variant, found: Tried) -> Sight:
    if found.did == "untried":
        return Sight.UNTRIED
    if found.like_variant:
        return Sight.UNNOTICED
    if not found.like_model:
        return Sight.DEPARTS
    if variant.others:
        return Sight.TOGETHER
    if variant.guard is not None:
        expected = ablation.kafkas[variant.guard.action, variant.guard.condition].answers or ("",)
        return Sight.NOTICED if found.why in expected else Sight.DEPARTS
    return Sight.NOTICED
