"""Classification of a protocol's guards and rules, so that each can be removed from the model and tried on Kafka."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from typing import Any, NamedTuple

from fencepost.explorers.program.removal import Guard
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import UsageError
from fencepost.model.language.interpreter import Interpreter, Step
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import Key


class Whose(StrEnum):
    KAFKA = "kafka"
    """A check in Kafka. Steps that the check blocks can be tried; Kafka must reject such a step or do nothing."""
    PHYSICAL = "physical"
    """A physical condition: a stopped process cannot act, and a message that does not exist cannot be handled."""
    BOUND = "bound"
    """A restriction of the model alone: a budget, a size, a step without effect, or an unexercised action."""


class Check(NamedTuple):
    """A check in Kafka: its location and the errors that it returns, or none if it blocks steps without an error."""

    where: str
    answers: tuple[str, ...] = ()


Sizes = Mapping[str, int]
"""Constants, by name, that override a version's constants."""
Place = tuple[str, str]
"""A guard, identified by its action and condition, so that new or changed guards are detected."""


@dataclass(frozen=True, kw_only=True)
class Ablation:
    kafkas: Mapping[Place, Check] = field(default_factory=dict)
    physical: Mapping[str, tuple[Place | str, ...]] = field(default_factory=dict)
    bounds: Mapping[str, tuple[Place | str, ...]]
    """The guards that only bound the model, by reason. A string is a pattern for conditions in any action."""
    not_driven: Mapping[str, str]
    rules: tuple[str, ...]
    unseen: Callable[[Constants], Mapping[str, str]]
    """The reason, for each `constant` or `constant=value` that has no visible effect when it is varied."""
    shadowed: Callable[[Constants], Mapping[Place, str]] = lambda _: {}
    """Checks that never block a step on their own, each with the reason."""
    needs: Mapping[str, Callable[..., bool]] = field(default_factory=dict)
    """Physical conditions in guards that are otherwise checks in Kafka; if a condition is false, no step is tried."""
    grounds: Callable[[Constants], tuple[Sizes, ...]]
    """Sets of constants to try, in this order, until a variant is detected."""
    compared: Callable[[Interpreter, Key], object]
    answers: Mapping[str, int] = field(default_factory=dict)
    """Actions that handle a message from a bag, with the path of the bag in the state."""
    has_room: Callable[[Any, Constants], bool] = lambda *_: True
    """Whether Kafka must execute a step that the model blocks only because its capacity is exhausted."""
    lost: tuple[Sizes, ...] = ()
    conditions: Mapping[str, Mapping[str, Callable[..., bool]]] = field(default_factory=dict)
    """The parts of combined checks and rules, by guard condition or `constant=value`. A predicate on the state and the
    arguments says whether the part alone blocks the step.
    """
    values: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def turned(self, constants: Constants) -> Iterator[tuple[str, int]]:
        for name in self.rules:
            declared = constants.declared()[name]
            for value in self.values.get(name, range(declared.low, declared.high + 1)):
                if value != int(constants.values[name]):
                    yield name, value

    def why_unseen(self, name: str, constants: Constants) -> str:
        """Return why varying a rule has no visible effect, or "" if it must have one."""
        known = self.unseen(constants)
        return known.get(name.partition("=")[0]) or known.get(name, "")

    def refused(self, at: Key, step: Step) -> tuple[Key, ...]:
        """Return Kafka's possible states after a rejected step; a message without effect may have been consumed."""
        place = self.answers.get(step.action.name)
        if place is None:
            return (at,)
        messages = list(at[place])
        messages.remove(step.args[0])
        return (at, (*at[:place], tuple(messages), *at[place + 1 :]))

    def whose(self, guard: Guard) -> Whose:
        key = guard.action, guard.condition
        if guard.action.replace("-", "_") in self.not_driven:
            return Whose.BOUND
        physical, bounds = chain(*self.physical.values()), chain(*self.bounds.values())
        found = [Whose.KAFKA] if key in self.kafkas else []
        for whose, places in ((Whose.PHYSICAL, physical), (Whose.BOUND, bounds)):
            if any(key == one or (isinstance(one, str) and re.fullmatch(one, guard.condition)) for one in places):
                found.append(whose)
        if len(found) != 1:
            raise UsageError(
                f"the guard `{guard.name}` ({guard.condition}) is not classified. Add the guard to the protocol's "
                "guards.toml: to `kafka` if Kafka rejects the step, to `physical` if the step is physically "
                "impossible, or to `bounds` if only the model rejects the step."
            )
        return found[0]


def read_sizes(*texts: str) -> tuple[Sizes, ...]:
    words = ((word.partition("=") for word in text.split()) for text in texts)
    return tuple({name: int(value) for name, _, value in line} for line in words)


def rules_as_built(machine: Machine, version: str, names: tuple[str, ...]) -> dict[str, int]:
    changed, declared = machine.version(version).values, machine.constants.declared()
    return {name: int(changed.get(name, declared[name].default)) for name in names}
