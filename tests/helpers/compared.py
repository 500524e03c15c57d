"""A machine under the plain semantics and as its typed program: every reachable state, compared."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fencepost.explorers.native.compile import with_switches
from fencepost.explorers.program.removal import without
from fencepost.explorers.program.subset.program import check, guards_of
from fencepost.model.language.errors import DisabledError, DomainError
from fencepost.model.language.interpreter import Interpreter, Step

from tests.helpers.typed import NumberError, Seen, Typed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fencepost.explorers.program.removal import Guard
    from fencepost.model.language import Constants, Machine, Property
    from fencepost.model.language.records import Key

NUMBER = "NUMBER"


@dataclass
class Compared:
    """What a comparison came to: states that were compared, how often each thing happened."""

    states: int = 0
    steps: int = 0
    refused: dict[tuple[str, int], int] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    numbers: int = 0
    """Where only the typed program refused a number that leaves 64 bits."""
    judged: int = 0


class Comparison:
    """A machine in both meanings."""

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
        self.states: list[Key] = []
        """Those that were compared."""

    def run(self, most: int = 300) -> Compared:
        """Compare all reachable states, at most so many, breadth first."""
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
            self.states.append(state)
            for after in self.state(state):
                if after not in known:
                    known.add(after)
                    waiting.append(after)
        return self.found

    def state(self, key: Key) -> list[Key]:
        """Compare one state; return its successors."""
        expected, seen, nested = self.expected(key), self.typed.seen(key), self.typed.seen(key, nests=True)
        seen.error = told(seen.error)
        if seen.error == NUMBER:
            self.found.numbers += 1
            return []
        assert seen == expected, f"in {key}"
        if expected.error:
            assert nested.error, f"in {key}"
            self.found.errors.append(expected.error)
            return []
        assert sorted(nested.steps, key=repr) == sorted(expected.steps, key=repr), f"in {key}"
        assert nested.refused == expected.refused, f"in {key}"
        self.found.steps += len(expected.steps)
        for guard, count in expected.refused.items():
            self.found.refused[guard] = self.found.refused.get(guard, 0) + count
        self.judge(key, expected)
        self.behave(key)
        return [after for _, _, after in expected.steps]

    def expected(self, key: Key) -> Seen:
        """Return what the plain semantics says of a state."""
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
        """Compare what the properties say of a state and of the steps out of it."""
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
        """Compare what the predicates of properties of whole behaviours say of a state."""
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

    def without_guards(self, guards: Iterable[Guard], states: Iterable[Key]) -> int:
        """Compare the machine without a guard, or a part of one, with the program in which that is switched off.

        Return how many steps were compared.
        """
        typed = Typed(self.machine, self.typed.constants)
        typed.program = typed.machinery.program = with_switches(typed.program)
        numbers = {
            (action.name.replace("_", "-"), place): guard.number
            for action in typed.program.actions
            for place, guard in enumerate(action.guards, 1)
        }
        count = 0
        for guard in guards:
            typed.machinery.off = {(numbers[guard.action, guard.number], guard.part)}
            changed = without(self.machine, guard)
            plain = Interpreter(changed, self.typed.constants, normalize=self.plain.normalize is not None)
            typed.normalize = None if plain.normalize is None else typed.program.normalize
            for state in states:
                for action, old, item in zip(typed.program.actions, self.machine.actions, changed.actions, strict=True):
                    for step in self.plain.steps(old, state):
                        count += 1
                        ours = attempt(lambda action=action, state=state, step=step: typed.take(action, state, step))
                        if ours[1] != NUMBER:
                            assert ours == attempt(
                                lambda plain=plain, state=state, step=step, item=item: taken(
                                    plain, state, Step(item, step.args)
                                )
                            ), guard.name
        return count

    def agree(self, plain: Callable[[], bool], typed: Callable[[], bool]) -> None:
        """Compare two answers."""
        self.found.judged += 1
        ours = attempt(typed)
        if ours[1] == NUMBER:
            self.found.numbers += 1
            return
        assert ours == attempt(plain)


def taken(plain: Interpreter, state: Key, step: Step) -> tuple[Key, Key] | None:
    """Take a step under the plain semantics; return the state before and after `normalize`, None if a guard refuses."""
    try:
        done = plain.apply(state, step)
    except DisabledError:
        return None
    return done.raw, done.after


def told(error: object) -> str:
    """Return an error as text; of a channel, which engines see as an array and a number, only the plain semantics says
    what is wrong."""
    return re.sub(r"Channel\.items.*", "a channel is full, empty, or has no such message", str(error))


def attempt(question: Callable[[], Any]) -> tuple[Any, str]:
    """Return an answer, or the message of an error."""
    try:
        return question(), ""
    except NumberError:
        return None, NUMBER
    except DomainError as error:
        return None, told(error)


def typed_search(machine: Machine, constants: Constants, properties: tuple[Property, ...]) -> dict[str, bool]:
    """Search a machine as its typed program has it; return for each property over states whether it holds
    everywhere."""
    typed = Typed(machine, constants, properties)
    waiting = typed.initial_states()
    known = set(waiting)
    holds = {item.name: True for item in properties}
    while waiting:
        state = waiting.pop()
        for item in properties:
            holds[item.name] &= typed.holds(item, state)
        for step in (step for item in machine.actions for step in typed.plain.steps(item, state)):
            action = next(item for item in typed.program.actions if item.name == step.action.name)
            done = typed.take(action, state, step)
            if done is not None and done[1] not in known:
                known.add(done[1])
                waiting.append(done[1])
    return holds
