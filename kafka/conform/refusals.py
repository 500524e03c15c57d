"""What the model refuses, tried on Kafka: it must refuse it too, do nothing, or do what the model allows there.

States are those of the model without `normalize`, which answers requests before anyone has handled them. A step is tried where
nothing but checks of Kafka refuses it: where a process is down, a message is not there, or a budget is spent, nothing can be tried.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fencepost.explorers.program.removal import guards
from fencepost.kafka.conform.seeing import ground_of
from fencepost.kafka.driver.ablation import Whose
from fencepost.kafka.driver.chances import Ground, Variant
from fencepost.kafka.driver.process import Driver
from fencepost.kafka.driver.trying import Tried, tried

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fencepost.kafka.conform.binding import Binding
    from fencepost.kafka.driver.execute import Execution
    from fencepost.kafka.driver.releases import Release
    from fencepost.model.language.constants import Constants


@dataclass
class Refusals:
    """What was tried: by action what Kafka answered, and how often; and where it did what the model does not allow."""

    tries: int = 0
    answers: Counter[tuple[str, str]] = field(default_factory=Counter)
    untried: Counter[tuple[str, str]] = field(default_factory=Counter)
    forbidden: list[Tried] = field(default_factory=list)

    def data(self) -> dict[str, Any]:
        """Return this in the words of the contract."""
        return {
            "tries": self.tries,
            "refused": [
                {"action": action, "answer": answer, "times": times}
                for (action, answer), times in sorted(self.answers.items())
            ],
            "untried": [
                {"action": action, "why": why, "times": times} for (action, why), times in sorted(self.untried.items())
            ],
            "forbidden": [
                {"answer": item.answer, "steps": list(item.steps), "constants": item.constants.shown}
                for item in self.forbidden
            ],
        }


def groups(bound: Binding) -> list[Variant]:
    """Return for each action the model without any of Kafka's checks of it."""
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
    grounds: Iterable[str] | None = None,
) -> Refusals:
    """Try about `number` refusals, drawn from the states of each ground, each action as often as another."""
    found = Refusals()
    variants = groups(bound)
    chance = random.Random(seed)  # noqa: S311 (no secret)
    sizes = list(bound.ablation.grounds(base) if grounds is None else grounds)
    with Driver(release) as driver:
        for place, values in enumerate(sizes):
            ground = ground_of(bound, base, values)
            left = number * (place + 1) // len(sizes) - found.tries
            tell(f"{left:,} refusals in {ground.space.states:,} states")
            execution = bound.follow(driver, ground.plain)
            for variant in variants:
                _try(found, ground, execution, variant, left // len(variants) + 1, chance)
    return found


def _try(
    found: Refusals, ground: Ground, execution: Execution, variant: Variant, most: int, chance: random.Random
) -> None:
    for item in ground.refusals(variant, most, chance):
        outcome = tried(ground.ablation, execution, item)
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
