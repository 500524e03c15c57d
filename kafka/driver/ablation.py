"""Guards and rules of a protocol, classified so that each can be removed from the model and tried on Kafka."""

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
    """Reason for which a guard refuses."""

    KAFKA = "kafka"
    """A check in Kafka: the refused step can be tried, and Kafka must refuse it or do nothing."""
    PHYSICAL = "physical"
    """A physical condition: a process that is down does nothing, a missing message is not handled."""
    BOUND = "bound"
    """Only the model: a budget, a size, a step without effect, or an action that is not driven."""


class Check(NamedTuple):
    """A check of Kafka: its place and its answer; no answer means that nothing is done."""

    where: str
    answers: tuple[str, ...] = ()


Sizes = Mapping[str, int]
"""Constants by name that override those of a version."""
Place = tuple[str, str]
"""A guard, named by its action and condition, so that added or changed guards are reported."""


@dataclass(frozen=True)
class Ablation:
    """The classification of guards, the varied rules, and what a try needs to know about the protocol."""

    kafkas: Mapping[Place, Check]
    physical: Mapping[str, tuple[Place | str, ...]]
    bounds: Mapping[str, tuple[Place | str, ...]]
    """Guards by reason; a pattern stands for its conditions in any action."""
    not_driven: Mapping[str, str]
    rules: tuple[str, ...]
    """Kafka's rules among the constants."""
    unseen: Callable[[Constants], Mapping[str, str]]
    """By `constant` or `constant=value`, why a varied rule is not visible."""
    shadowed: Callable[[Constants], Mapping[Place, str]]
    """Checks that never refuse alone, and why."""
    needs: Mapping[str, Callable[..., bool]]
    """The physical part of guards that are otherwise Kafka's checks: without it, nothing can be tried."""
    grounds: Callable[[Constants], tuple[Sizes, ...]]
    """Constants under which variants are tried, in order, until a variant is noticed."""
    compared: Callable[[Interpreter, Key], object]
    """The part of a model state that is compared."""
    answers: Mapping[str, int]
    """The actions that handle a message of a bag, with the bag's place in a state."""
    has_room: Callable[[Any, Constants], bool] = lambda *_: True
    """Whether Kafka must take a step that the model refuses only for lack of capacity."""
    lost: tuple[Sizes, ...] = ()
    """Constants under which Kafka is known to differ, so that refusals are not tried there."""
    conditions: Mapping[str, Mapping[str, Callable[..., bool]]] = field(default_factory=dict)
    """Checks and rules of several conditions, by guard condition or by `constant=value`: each condition with the
    states in which it alone refuses, given also the step's arguments."""
    values: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The values of a rule that are tried, if not all of its domain."""

    def turned(self, constants: Constants) -> Iterator[tuple[str, int]]:
        for name in self.rules:
            declared = constants.declared()[name]
            for value in self.values.get(name, range(declared.low, declared.high + 1)):
                if value != int(constants.values[name]):
                    yield name, value

    def why_unseen(self, name: str, constants: Constants) -> str:
        """Return why a varied rule, as `constant=value`, is not visible; an empty string if it must be."""
        known = self.unseen(constants)
        return known.get(name.partition("=")[0]) or known.get(name, "")

    def refused(self, at: Key, step: Step) -> tuple[Key, ...]:
        """Return the states in which a refused step may leave Kafka: a message without effect may also be gone."""
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
                f"the guard `{guard.name}` ({guard.condition}) is not classified. Put it in one of KAFKAS, PHYSICAL "
                "and BOUNDS of the protocol's guards.py: depending on whether Kafka refuses, nothing else "
                "is physically possible, or only the model refuses."
            )
        return found[0]


def read_sizes(*texts: str) -> tuple[Sizes, ...]:
    """Return the constants of each line of a table, such as `brokers=2 crashes=1`."""
    words = ((word.partition("=") for word in text.split()) for text in texts)
    return tuple({name: int(value) for name, _, value in line} for line in words)


def rules_as_built(machine: Machine, version: str, names: tuple[str, ...]) -> dict[str, int]:
    changed, declared = machine.version(version).values, machine.constants.declared()
    return {name: int(changed.get(name, declared[name].default)) for name in names}


def set_otherwise(c: Constants, rules: Mapping[str, int]) -> str | None:
    """Return which constant is not as Kafka is built or driven; None if all are."""
    other = next((item for item in rules.items() if int(c.values[item[0]]) != item[1]), None)
    return other and f"{other[0]} is set otherwise than Kafka is built or driven ({other[0]}={other[1]})"
