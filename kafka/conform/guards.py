"""Tests of the comparison with Kafka: variants of the model that lack a check or change a rule, and forbidden steps.

A variant without a check allows a step that Kafka rejects. In a variant with a changed rule, a step ends in a different
state. Kafka executes the step in the nearest state in which variant and model differ, and must agree with the model.

Forbidden steps are tried in states of the model without `normalize`, which would answer requests before they are
handled. Only steps blocked by Kafka's checks alone are tried, not steps that lack a process, message or budget.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from fencepost.explorers.program.removal import guards
from fencepost.kafka.conform.binding import FORMAT, Binding
from fencepost.kafka.driver.ablation import Ablation, Sizes, Whose
from fencepost.kafka.driver.chances import Ground, Trial, Variant, try_step
from fencepost.kafka.driver.execute import Execution
from fencepost.kafka.driver.process import Driver
from fencepost.kafka.driver.releases import Release
from fencepost.kafka.formatting import seconds
from fencepost.model.language.constants import Constants

MOST_STATES = 150_000
SHOWN = 8
"""Maximum number of forbidden steps in the summary. The JSON output contains all forbidden steps."""
MOST_TRIES = 4


class Sight(StrEnum):
    DEPARTS = "departs"
    """Kafka's result matched neither the model nor the variant, or Kafka reported a different error."""
    NOTICED = "noticed"
    """Kafka's result matched the model, not the variant."""
    TOGETHER = "noticed-with-others"
    """Like NOTICED, but only when the variant lacked all other checks of the action too."""
    UNNOTICED = "unnoticed"
    """Kafka's result matched the variant, not the model."""
    UNTRIED = "untried"
    NOWHERE = "nowhere"
    """No reachable state was found in which Kafka's behaviour could show a difference."""


@dataclass
class VariantRow:
    """A variant and the attempts to detect it. `where` names the rule, or the location of the check in Kafka."""

    variant: Variant
    where: str
    why: str
    """Why the variant is undetectable; empty if it must be detected."""
    tries: list[tuple[Sight, Trial]] = field(default_factory=list)

    @property
    def sight(self) -> Sight:
        found = [sight for sight, _ in self.tries]
        return next((item for item in Sight if item in found), Sight.NOWHERE)

    @property
    def shown(self) -> Trial | None:
        return next((item for sight, item in self.tries if sight is self.sight), None)

    @property
    def is_noticed(self) -> bool:
        return self.sight in (Sight.NOTICED, Sight.TOGETHER)

    @property
    def is_well(self) -> bool:
        """Whether the variant was detected, or cannot be detected for the stated reason."""
        return self.is_noticed or (self.sight is Sight.NOWHERE and bool(self.why))

    def data(self) -> dict[str, Any]:
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


def ground_of(bound: Binding, base: Constants, sizes: Sizes) -> Ground:
    machine = bound.machine
    return Ground(bound.ablation, machine, machine.set_constants({**base.values, **sizes}), MOST_STATES)


def variant_rows(bound: Binding, constants: Constants) -> list[VariantRow]:
    """Return a row for each guard that is a check in Kafka, and for each constant that is one of Kafka's rules."""
    rows = []
    ablation, shadowed = bound.ablation, bound.ablation.shadowed(constants)
    kafkas = [guard for guard in guards(bound.machine) if not guard.part and ablation.whose(guard) is Whose.KAFKA]
    for guard in kafkas:
        others = tuple(item for item in kafkas if item.action == guard.action and item != guard)
        key = guard.action, guard.condition
        rows.append(VariantRow(Variant(guard.name, guard, others), ablation.kafkas[key].where, shadowed.get(key, "")))
    for name, value in ablation.turned(constants):
        declared = constants.declared()[name]
        shown = declared.show(value)
        told = f"{name}={('off', 'on')[shown] if isinstance(shown, bool) else str(shown).replace('_', '-')}"
        why = ablation.why_unseen(told, constants)
        rows.append(VariantRow(Variant(told, None, (), name, value), declared.meaning, why))
    return [one for row in rows for one in _by_condition(ablation, row)]


def _by_condition(ablation: Ablation, row: VariantRow) -> Iterator[VariantRow]:
    of = row.variant
    conditions = ablation.conditions.get(of.guard.condition if of.guard is not None else of.name, {})
    for words, alone in conditions.items():
        yield VariantRow(replace(of, name=f"{of.name} ({words})", alone=alone), row.where, row.why)
    if not conditions:
        yield row


class VariantTrials:
    """Attempts to detect variants on a release, with several sets of constants."""

    def __init__(
        self, bound: Binding, release: Release, base: Constants, tell: Callable[[str], None] = lambda _: None
    ) -> None:
        self.bound, self.release, self.base, self.tell = bound, release, base, tell
        self.rows = variant_rows(bound, base)

    def only(self, names: Iterable[str]) -> "VariantTrials":
        kept = tuple(names)
        self.rows = [row for row in self.rows if row.variant.name.startswith(kept)]
        return self

    def look(self, grounds: Iterable[Sizes] | None = None) -> list[VariantRow]:
        with Driver(self.release) as driver:
            ablation = self.bound.ablation
            for sizes in (*ablation.grounds(self.base), *ablation.lost) if grounds is None else grounds:
                waiting = [row for row in self.rows if row.sight not in (Sight.DEPARTS, Sight.NOTICED)]
                if not waiting:
                    break
                ground = ground_of(self.bound, self.base, sizes)
                self.tell(f"searching {ground.space.states:,} states for {len(waiting)} checks and rules")
                execution = self.bound.follow(driver, ground.plain)
                for row in waiting:
                    self._look_at(row, ground, execution)
        return self.rows

    def _look_at(self, row: VariantRow, ground: Ground, execution: Execution) -> None:
        alone = replace(row.variant, others=())
        for variant in (alone, row.variant) if row.variant.others and row.sight is not Sight.TOGETHER else (alone,):
            for chance in ground.chances(variant, MOST_TRIES):
                found = try_step(ground.ablation, execution, chance)
                if found is not None:
                    row.tries.append((_judge_trial(self.bound.ablation, variant, found), found))
                if row.sight in (Sight.DEPARTS, Sight.NOTICED, Sight.TOGETHER) and row.sight is row.tries[-1][0]:
                    break
            if row.sight in (Sight.DEPARTS, Sight.NOTICED):
                return


def _judge_trial(ablation: Ablation, variant: Variant, found: Trial) -> Sight:
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


@dataclass
class Refusals:
    tries: int = 0
    answers: Counter[tuple[str, str]] = field(default_factory=Counter)
    untried: Counter[tuple[str, str]] = field(default_factory=Counter)
    forbidden: list[Trial] = field(default_factory=list)

    def data(self) -> dict[str, Any]:
        return {
            "tries": self.tries,
            "refused": _counted(self.answers, "answer"),
            "untried": _counted(self.untried, "why"),
            "forbidden": [
                {"answer": item.answer, "steps": list(item.steps), "constants": item.constants.shown}
                for item in self.forbidden
            ],
        }


def _counted(found: Counter[tuple[str, str]], name: str) -> list[dict[str, Any]]:
    return [{"action": action, name: what, "times": times} for (action, what), times in sorted(found.items())]


def groups(bound: Binding) -> list[Variant]:
    """Return, for each action, the model without Kafka's checks for that action."""
    found: dict[str, Variant] = {}
    for guard in guards(bound.machine):
        if not guard.part and bound.ablation.whose(guard) is Whose.KAFKA:
            known = found.get(guard.action)
            found[guard.action] = Variant(
                guard.action, guard, (*known.others, known.guard) if known and known.guard else ()
            )
    return list(found.values())


def try_refusals(
    bound: Binding,
    release: Release,
    base: Constants,
    number: int,
    seed: int,
    tell: Callable[[str], None] = lambda _: None,
    grounds: Iterable[Sizes] | None = None,
) -> Refusals:
    """Try about `number` random forbidden steps per set of constants, distributed evenly over the actions."""
    found = Refusals()
    variants = groups(bound)
    chance = random.Random(seed)  # noqa: S311 (no secret)
    sizes = list(bound.ablation.grounds(base) if grounds is None else grounds)
    with Driver(release) as driver:
        for place, values in enumerate(sizes):
            ground = ground_of(bound, base, values)
            left = number * (place + 1) // len(sizes) - found.tries
            tell(f"trying {left:,} forbidden steps in {ground.space.states:,} states")
            execution = bound.follow(driver, ground.plain)
            for variant in variants:
                _try(found, ground, execution, variant, left // len(variants) + 1, chance)
    return found


def _try(
    found: Refusals, ground: Ground, execution: Execution, variant: Variant, most: int, chance: random.Random
) -> None:
    for item in ground.refusals(variant, most, chance):
        outcome = try_step(ground.ablation, execution, item)
        if outcome is None:
            continue
        if outcome.did == "untried":
            found.untried[variant.name, outcome.why] += 1
            continue
        found.tries += 1
        if outcome.like_model:
            found.answers[variant.name, outcome.answer] += 1
        else:
            found.forbidden.append(outcome)


@dataclass
class GuardsReport:
    bound: Binding
    release: Release
    rows: list[VariantRow] = field(default_factory=list)
    refusals: Refusals | None = None
    seconds: float = 0.0

    @property
    def title(self) -> str:
        return f"{self.bound.protocol} on Kafka {self.release.version}"

    @property
    def noticed(self) -> int:
        return sum(row.is_noticed for row in self.rows)

    @property
    def drivable(self) -> int:
        return sum(not row.why or row.is_noticed for row in self.rows)

    @property
    def verdict(self) -> str:
        """`conforms` if every variant that could be detected was detected, and Kafka executed no forbidden step."""
        forbids = self.refusals is not None and bool(self.refusals.forbidden)
        return "conforms" if all(row.is_well for row in self.rows) and not forbids else "differs"

    def summary(self) -> Iterator[str]:
        if self.rows:
            yield f"{self.noticed} of {self.drivable} removed checks and changed rules are detected"
        for row in self.rows:
            if not row.is_well or row.why:
                yield f"  {row.variant.name}: {row.sight}{': ' if row.why else ''}{row.why}"
            if row.shown is not None and not row.is_well:
                yield f"    {row.shown.answer}, after {' / '.join(row.shown.steps)}"
        if self.refusals is not None:
            yield f"{self.refusals.tries:,} steps that the model rejects were tried"
            for (action, answer), times in sorted(self.refusals.answers.items()):
                yield f"  {action}: {answer} ({times:,})"
            for item in self.refusals.forbidden[:SHOWN]:
                yield (
                    f"  Kafka executes a step that the model does not allow: {item.answer}, after "
                    f"{' / '.join(item.steps)}"
                )
        yield f"in {seconds(round(1000 * self.seconds))}"

    def data(self) -> dict[str, Any]:
        classes = Counter(
            str(self.bound.ablation.whose(guard)) for guard in guards(self.bound.machine) if not guard.part
        )
        return {
            "format": FORMAT,
            "protocol": self.bound.protocol,
            "kafka": self.release.version,
            "model": self.release.model,
            "guards": dict(sorted(classes.items())),
            "noticed": self.noticed,
            "drivable": self.drivable,
            "ablated": [row.data() for row in self.rows],
            "refusals": self.refusals.data() if self.refusals is not None else None,
            "seconds": round(self.seconds, 3),
            "verdict": self.verdict,
        }


def conform_guards(
    bound: Binding, release: Release, refusals: int, seed: int, tell: Callable[[str], None], *, ablate: bool
) -> GuardsReport:
    machine = bound.machine
    base = bound.as_built(release.model, machine.set_constants(dict(machine.version(release.model).values)))
    bound.make_sure_drivable(release.model, base)
    report = GuardsReport(bound, release)
    began = time.monotonic()
    if ablate:
        report.rows = VariantTrials(bound, release, base, tell).look()
    if refusals:
        report.refusals = try_refusals(bound, release, base, refusals, seed, tell)
    report.seconds = time.monotonic() - began
    return report
