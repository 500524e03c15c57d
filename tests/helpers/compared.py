"""A machine under the plain semantics and as its typed program, compared in every reachable state."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fencepost.explorers.program.subset.program import check, guards_of
from fencepost.model.language import Constants, Machine, Property
from fencepost.model.language.errors import DisabledError, DomainError
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.language.records import Key

from tests.helpers.typed import NumberError, Seen, Typed

NUMBER = "NUMBER"


@dataclass
class Compared:
    """Result of a comparison: the number of states, and how often each thing happened."""

    states: int = 0
    steps: int = 0
    refused: dict[tuple[str, int], int] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    numbers: int = 0
    """Whether only the typed program refused a number that leaves 64 bits."""
    judged: int = 0


class Comparison:
    def __init__(
        self, machine: Machine, constants: Constants, properties: tuple[Property, ...] = (), *, normalize: bool = True
    ) -> None:
        self.machine = machine
        self.properties = tuple(item for item in properties if not item.kind.over_behaviours)
        self.behaviours = tuple(item for item in properties if item.kind.over_behaviours)
        self.plain = Interpreter(machine, constants, normalize=normalize)
        self.typed = Typed(machine, constants, properties, normalize=normalize)
        self.guards = guards_of(check(machine, properties))
        self.found = Compared()

    def run(self, most: int = 300) -> Compared:
        """Compare reachable states breadth first, at most this many."""
        starts, error = attempt(self.plain.initial_states)
        ours, other = attempt(self.typed.initial_states)
        if other == NUMBER:
            self.found.numbers += 1
            return self.found
        assert (starts, error) == (ours, other), "the initial states differ"
        if starts is None:
            self.found.errors.append(error)
            return self.found
        waiting, known = list(starts), set(starts)
        while waiting and self.found.states < most:
            state = waiting.pop(0)
            self.found.states += 1
            for after in self.state(state):
                if after not in known:
                    known.add(after)
                    waiting.append(after)
        return self.found

    def state(self, key: Key) -> list[Key]:
        expected, seen = self.expected(key), self.typed.seen(key)
        seen.error = told(seen.error)
        if seen.error == NUMBER:
            self.found.numbers += 1
            return []
        assert seen == expected, f"in {key}"
        if expected.error:
            self.found.errors.append(expected.error)
            return []
        self.found.steps += len(expected.steps)
        for guard, count in expected.refused.items():
            self.found.refused[guard] = self.found.refused.get(guard, 0) + count
        self.judge(key, expected)
        self.behave(key)
        return [after for _, _, after in expected.steps]

    def expected(self, key: Key) -> Seen:
        found = Seen([], {})
        try:
            for item in self.machine.actions:
                for step in self.plain.steps(item, key):
                    try:
                        done = self.plain.apply(key, step)
                        found.steps.append((step, done.raw, done.after))
                    except DisabledError as error:
                        guard = item.name, self.guards.refused(item, error)
                        found.refused[guard] = found.refused.get(guard, 0) + 1
        except DomainError as error:
            found.error = told(error)
        return found

    def judge(self, key: Key, expected: Seen) -> None:
        for prop in self.properties:
            if not prop.over_steps:
                self.agree(lambda prop=prop: self.plain.holds(prop, key), lambda prop=prop: self.typed.holds(prop, key))
                continue
            for step, _, _ in expected.steps:
                done = self.plain.apply(key, step)
                self.agree(
                    lambda prop=prop, done=done: self.plain.holds_step(prop, key, done),
                    lambda prop=prop, done=done: self.typed.holds_step(prop, key, done.step, done.raw),
                )

    def behave(self, key: Key) -> None:
        for prop in self.behaviours:
            made = self.typed.program.behaviours[prop.name]
            for args in self.plain.arguments(prop):
                for predicate, number in ((prop.behaviour.when, made.when), (prop.behaviour.then, made.then)):
                    if number is not None:
                        self.agree(
                            lambda prop=prop, predicate=predicate, args=args: self.plain.says(
                                prop, predicate, key, args
                            ),
                            lambda prop=prop, number=number, args=args: self.typed.says(prop, number, key, args),
                        )

    def agree(self, plain: Callable[[], bool], typed: Callable[[], bool]) -> None:
        self.found.judged += 1
        ours = attempt(typed)
        if ours[1] == NUMBER:
            self.found.numbers += 1
            return
        assert ours == attempt(plain)


def told(error: object) -> str:
    """Return an error as text, for a channel as engines see it: an array and a number."""
    return re.sub(r"Channel\.items.*", "a channel is full, empty, or has no such message", str(error))


def attempt(question: Callable[[], Any]) -> tuple[Any, str]:
    try:
        return question(), ""
    except NumberError:
        return None, NUMBER
    except DomainError as error:
        return None, told(error)
