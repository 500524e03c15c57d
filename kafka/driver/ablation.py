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
    physical: Mapping[str, tuple[Place, ...]]
    bounds: Mapping[str, tuple[Place, ...]]
    """Guards by reason."""
    not_driven: Mapping[str, str]
    rules: Callable[[Constants], Mapping[str, tuple[int, ...]]]
    """Kafka's rules among the constants, with the values to try."""
    unseen: Callable[[str, Constants], str]
    """By `constant=value`, why a varied rule is not visible; an empty string if it must be."""
    shadowed: Callable[[Constants], Mapping[Place, str]]
    """Checks that never refuse alone, and why."""
    needs: Mapping[str, Callable[..., bool]]
    """The physical part of guards that are otherwise Kafka's checks: without it, nothing can be tried."""
    grounds: Callable[[Constants], tuple[Sizes, ...]]
    """Constants under which variants are tried, in order, until a variant is noticed."""
    compared: Callable[[Interpreter, Key], object]
    """The part of a model state that is compared."""
    refused: Callable[[Key, Step], tuple[Key, ...]]
    """Return the states in which a refused step may leave Kafka."""
    has_room: Callable[[Any, Constants], bool] = lambda *_: True
    """Whether Kafka must take a step that the model refuses only for lack of capacity."""
    lost: tuple[Sizes, ...] = ()
    """Constants under which Kafka is known to differ, so that refusals are not tried there."""
    conditions: Mapping[str, Mapping[str, Callable[..., bool]]] = field(default_factory=dict)
    """Checks and rules of several conditions, by guard condition or by `constant=value`: each condition with the
    states in which it alone refuses, given also the step's arguments."""
    room: frozenset[str] = frozenset()
    """Conditions that are always bounds."""

    def whose(self, guard: Guard) -> Whose:
        """Return why a guard refuses; raise UsageError if it is not classified."""
        key = guard.action, guard.condition
        if guard.action.replace("-", "_") in self.not_driven or guard.condition in self.room:
            return Whose.BOUND
        known = {Whose.KAFKA: [self.kafkas], Whose.PHYSICAL: self.physical.values(), Whose.BOUND: self.bounds.values()}
        found = [whose for whose, groups in known.items() if any(key in places for places in groups)]
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


def with_and_without(at: Key, place: int, message: Key) -> tuple[Key, ...]:
    """Return a state with and without a message of the bag at this place.

    A message that was handled without effect may be present or gone.
    """
    messages = list(at[place])
    messages.remove(message)
    return (at, (*at[:place], tuple(messages), *at[place + 1 :]))
