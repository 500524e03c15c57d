"""Execution of a model's histories on Kafka's classes, which are compared with the model after each step."""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fencepost.counterexamples.states import changes
from fencepost.kafka.driver.process import Driver, FailedError
from fencepost.model.language.errors import UsageError
from fencepost.model.language.interpreter import Interpreter, Step, Transition
from fencepost.model.language.records import Key


@dataclass(frozen=True)
class Act:
    """A model action on Kafka's classes: `line` returns the driver's command, and `does` describes the command. Actions
    with the same command are one event to Kafka, which decides its outcome.
    """

    line: Callable[..., str]
    does: str


class SetAsideError(Exception):
    """Error for a step after which the model does not cover Kafka's behaviour, because of a known limit."""


@dataclass(frozen=True)
class Difference:
    """A difference between Kafka and the model after the last of `steps`, as rows of (part, model, Kafka)."""

    steps: tuple[Step, ...]
    rows: tuple[tuple[str, str, str], ...]

    @property
    def words(self) -> str:
        return "; ".join(f"{name}: {model} in the model, {kafka} in Kafka" for name, model, kafka in self.rows)

    @property
    def action(self) -> str:
        return self.steps[-1].action.label if self.steps else "initial"

    @property
    def kind(self) -> tuple[str, str]:
        """The kind of a difference: the action, and the field without the broker. Each kind is reported once."""
        return self.action, re.sub(r"[0-9]+", "", self.rows[0][0])


def acts_of(does: Mapping[str, str]) -> dict[str, Act]:
    """Return acts whose command is the action's label followed by the step's numbers; `does` describes each command."""

    def act(name: str) -> Act:
        return Act(lambda _, *numbers: " ".join(map(str, (name.replace("_", "-"), *numbers))), does[name])

    return {name: act(name) for name in does}


@dataclass
class Tally:
    histories: int = 0
    steps: int = 0
    compared: int = 0
    settled: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    aside: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Tally") -> None:
        self.histories += other.histories
        self.steps += other.steps
        self.compared += other.compared
        self.settled += other.settled
        self.actions.update(other.actions)
        self.aside.update(other.aside)


class Execution(ABC):
    """A Java process with Kafka's classes that executes histories. Subclasses define commands and observations."""

    acts: Mapping[str, Act]
    view: Callable[[], Any]
    asides: tuple[str, ...] = ()
    """Known limits of the model that explain why Kafka rejects a step that the model allows."""
    leaving: Collection[str] = ()
    """Actions that may leave late messages behind."""
    late: tuple[tuple[int, str, str], ...] = ()
    """Bags of late messages: path in the state, name in the driver's answer, and the command that drops a message."""

    def __init__(self, driver: Driver, plain: Interpreter) -> None:
        self.driver, self.plain = driver, plain
        self.tally = Tally()
        self.seen = self.look()
        self.why = ""
        self.at: Key = ()

    def look(self) -> Any:
        """Return an empty view of Kafka's state, which has `take`, `key` and `contradictions`."""
        return self.view()

    @abstractmethod
    def reset(self) -> str:
        """Return the command that brings Kafka to the model's initial state."""

    def settle(self, steps: tuple[Step, ...], transition: Transition) -> Difference | None:
        """Bring Kafka to the state that `normalize` assumes, and compare again."""
        return self.compare(steps, transition.after)

    def lose_late(self, expected: Key) -> None:
        for place, name, drops in self.late:
            for number in self.seen.flying(name).beyond(expected[place]):
                self.ask(f"{drops} {number}")

    def ignore(self, transition: Transition) -> None:  # noqa: B027 (nothing, usually)
        """Deliver messages that the model omits because their receiver ignores them."""

    def begin(self, initial: Key) -> Difference | None:
        self.seen = self.look()
        self.seen.take(self.driver.ask(self.reset())["state"])
        self.frame(initial)
        self.tally.histories += 1
        self.at = initial
        return self.compare((), initial)

    def frame(self, initial: Key) -> None:  # noqa: B027 (where a model counts from 0, nothing)
        """Record which values in Kafka's initial state correspond to 0 in the model."""

    def ask(self, line: str) -> str:
        """Send a command; return done, refused or untried, and store the reason in `why`."""
        answer = self.driver.ask(line)
        self.seen.take(answer["state"])
        self.why = answer["why"]
        return str(answer["did"])

    def line(self, step: Step) -> str:
        found = self.line_of(step)
        if not found:
            raise UsageError(
                f"the step `{self.plain.show(step)}` cannot be executed on Kafka: there is no command for its action."
            )
        return found

    def line_of(self, step: Step) -> str:
        act = self.acts.get(step.action.name)
        return act.line(self.seen, *step.args) if act is not None else ""

    def step(self, taken: Sequence[Step], transition: Transition) -> Difference | None:
        did = self.ask(self.line(transition.step))
        steps = (*taken, transition.step)
        self.tally.steps += 1
        if did == "refused" and self.why in self.asides:
            self.tally.aside[self.why] += 1
            raise SetAsideError(self.why)
        self.tally.actions[transition.step.action.label] += 1
        if transition.step.action.name in self.leaving:
            self.lose_late(transition.raw)
        self.ignore(transition)
        found = self.compare(steps, transition.raw)
        if found is not None and did != "done":
            found = Difference(steps, (("the step", "happens", f"{did}: {self.why}"), *found.rows))
        if found is None and transition.raw != transition.after:
            self.tally.settled += 1
            found = self.settle(steps, transition)
        self.at = transition.after
        if found is None:
            self.followed()
        return found

    def followed(self) -> None:  # noqa: B027 (nothing, usually)
        """Inspect Kafka after a step; by default, do nothing."""

    def compare(self, steps: tuple[Step, ...], expected: Key) -> Difference | None:
        told = self.seen.contradictions()
        if told:
            self.tally.compared += 1
            return Difference(steps, (("Kafka", "agrees with itself", "; ".join(told)),))
        return self.differs(steps, *self.projected(expected))

    def projected(self, expected: Key) -> tuple[Key, Key]:
        """Return the fields of a model state that are compared, and the same fields as read from Kafka."""
        return expected, self.seen.key(expected)

    def differs(self, steps: tuple[Step, ...], expected: Key, found: Key) -> Difference | None:
        self.tally.compared += 1
        if found == expected:
            return None
        rows = [
            (f"{item.label}.{item.name}".strip("."), item.old or "-", item.new or "-")
            for item in changes(self.plain.machine.state, expected, found)
        ]
        return Difference(steps, tuple(rows))

    def run(self, initial: Key, history: Iterable[Transition]) -> Difference | None:
        taken: list[Step] = []
        try:
            found = self.begin(initial)
            for transition in history:
                if found is not None:
                    break
                taken.append(transition.step)
                found = self.step(taken[:-1], transition)
        except SetAsideError:
            return None
        except FailedError as error:
            return Difference(tuple(taken), (("the step", "happens", error.why),))
        return found


@dataclass(kw_only=True)
class View:
    state: dict[str, Any] = field(default_factory=dict)

    def take(self, state: dict[str, Any]) -> None:
        self.state = state

    def contradictions(self) -> list[str]:
        return []

    def flying(self, name: str) -> "InFlight":
        return InFlight((tuple(rest), number) for number, *rest in self.state[name])


def with_fields(places: Mapping[str, int], key: Key, found: Mapping[str, Any]) -> Key:
    return tuple(found.get(name, was) for name, was in zip(places, key, strict=True))


UNKNOWN = -1
"""The number for a message that is not in flight in Kafka; the driver ignores it."""


class InFlight(dict["Key", list[int]]):
    """Numbers of the messages in flight, by their contents in the model."""

    def __init__(self, messages: Iterable[tuple[Key, int]]) -> None:
        super().__init__()
        for message, number in messages:
            self.setdefault(message, []).append(number)

    def bag(self) -> Key:
        return tuple(sorted(message for message, numbers in self.items() for _ in numbers))

    def number(self, message: Key) -> int:
        return self.get(message, [UNKNOWN])[0]

    def beyond(self, bag: Sequence[Key]) -> Iterator[int]:
        for message, numbers in self.items():
            yield from numbers[bag.count(message) :]
