"""Guards and rules of a protocol, classified so that each can be removed from the model and tried on Kafka."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from fencepost.explorers.program.removal import Guard
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import UsageError
from fencepost.model.language.interpreter import Interpreter, Step
from fencepost.model.language.records import Key


class Whose(StrEnum):
    """Who refuses where a guard does."""

    KAFKA = "kafka"
    """A class of Kafka: what the guard refuses can be tried, and Kafka must refuse it or do nothing."""
    PHYSICAL = "physical"
    """The nature of things: a process that is down does nothing, a message that is not there is not handled."""
    BOUND = "bound"
    """The model alone: a budget, a size, a step that would change nothing, or an action that is not driven."""


class Check(NamedTuple):
    """A check of Kafka: where it is, and what it answers; no answer means that nothing is done."""

    where: str
    answers: tuple[str, ...] = ()


Sizes = Mapping[str, int]
"""Constants by name that are set on top of those of a version."""
Place = tuple[str, str]
"""A guard by its action and what it asks for, so that one that is added or changed is missed by name."""


@dataclass(frozen=True)
class Ablation:
    """Whose each guard is, which rules are turned, and what a try needs to know of the protocol."""

    kafkas: Mapping[Place, Check]
    physical: Mapping[str, tuple[Place, ...]]
    bounds: Mapping[str, tuple[Place, ...]]
    """By reason."""
    not_driven: Mapping[str, str]
    rules: Callable[[Constants], Mapping[str, tuple[int, ...]]]
    """Kafka's rules among the constants, with the values that each is set to."""
    unseen: Callable[[str, Constants], str]
    """Why a rule that is turned shows nowhere, an empty string if it must; by `constant=value`."""
    shadowed: Callable[[Constants], Mapping[Place, str]]
    """Checks that refuse nothing at their place, and why."""
    needs: Mapping[str, Callable[..., bool]]
    """The physical part of guards that are otherwise Kafka's checks: without it nothing can be tried."""
    grounds: Callable[[Constants], tuple[Sizes, ...]]
    """Constants under which variants are sought out, one after the other until a variant is noticed."""
    compared: Callable[[Interpreter, Key], object]
    """The part of a model state that is compared."""
    refused: Callable[[Key, Step], tuple[Key, ...]]
    """The states in which a step leaves Kafka that it refuses."""
    has_room: Callable[[Any, Constants], bool] = lambda *_: True
    """Whether Kafka must take a step that the model refuses only because its own room is bounded."""
    lost: tuple[Sizes, ...] = ()
    """More of them, in which what Kafka does otherwise is known: refusals are not tried there."""
    conditions: Mapping[str, Mapping[str, Callable[..., bool]]] = field(default_factory=dict)
    """Checks and rules of several conditions, by what a guard asks for or by `constant=value`: each condition with the
    states in which it alone refuses, of which the arguments of the step follow."""
    room: frozenset[str] = frozenset()
    """Conditions that are a bound wherever they stand."""

    def whose(self, guard: Guard) -> Whose:
        """Return who refuses where a guard does; raise UsageError if that is not written down."""
        key = guard.action, guard.condition
        if guard.action.replace("-", "_") in self.not_driven or guard.condition in self.room:
            return Whose.BOUND
        known = {Whose.KAFKA: [self.kafkas], Whose.PHYSICAL: self.physical.values(), Whose.BOUND: self.bounds.values()}
        found = [whose for whose, groups in known.items() if any(key in places for places in groups)]
        if len(found) != 1:
            raise UsageError(
                f"the guard `{guard.name}` ({guard.condition}) is not classified. Put it in one of KAFKAS, PHYSICAL "
                "and BOUNDS of the protocol's guards.py: whether Kafka refuses there, nothing else can be, or the "
                "model alone says so."
            )
        return found[0]


def read_sizes(*texts: str) -> tuple[Sizes, ...]:
    """Return the constants of each line of a table, such as `brokers=2 crashes=1`."""
    words = ((word.partition("=") for word in text.split()) for text in texts)
    return tuple({name: int(value) for name, _, value in line} for line in words)


def with_and_without(at: Key, place: int, message: Key) -> tuple[Key, ...]:
    """Return a state, and the same without a message of the bag at this place.

    A message that was handled in vain may be there or gone.
    """
    messages = list(at[place])
    messages.remove(message)
    return (at, (*at[:place], tuple(messages), *at[place + 1 :]))
