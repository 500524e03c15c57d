"""The plain semantics, which defines the steps of a machine from a state. All engines are tested against it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from fencepost.model.language.actions import Action, Kind, Property
from fencepost.model.language.bounds import refusing
from fencepost.model.language.constants import Constants
from fencepost.model.language.domains import NONE, Domain, InFlight
from fencepost.model.language.errors import (
    DisabledError,
    DomainError,
    FencepostError,
    MismatchError,
    ModelError,
    UsageError,
)
from fencepost.model.language.fairness import Fairness
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import Key, Schema, fields, key_of

if TYPE_CHECKING:
    from fencepost.model.language.symmetry import Symmetry


ARITHMETIC = (ValueError, OverflowError, MemoryError)
"""The errors that Python raises for a shift by a negative number or by too many bits."""

NO_ROOM = "a number has too many digits"

MOST_COMBINATIONS = 1 << 28
"""Maximum number of parameter combinations tried for an action."""


class Step(NamedTuple):
    """An action with its arguments: whole numbers, or the key of a message."""

    action: Action
    args: tuple[Any, ...]


class Transition(NamedTuple):
    """A step that was taken. `raw` is the state before `normalize`, on which step properties are evaluated."""

    step: Step
    raw: Key
    after: Key


@dataclass(frozen=True)
class Path:
    """An initial state and steps, each with its successor. `length` counts states.

    If `loop` is set to the index of a state in `states`, the path is infinite: the last state equals `states[loop]`,
    and the steps between the two repeat. If `loop` is the index of the last state, no further step happens.
    """

    start: Key
    steps: tuple[Step, ...]
    states: tuple[Key, ...]
    loop: int | None = None

    @cached_property
    def length(self) -> int:
        """Return the number of states, including the initial state and the state that closes a loop."""
        return len(self.states)


class Interpreter:
    """A machine with given constants, on plain strict records.

    If `bounded` is set, a step that would leave a domain is not taken; otherwise, such a step is an error. With
    `symmetry`, steps lead to the canonical forms of states, but returned paths are paths of the original machine.
    """

    def __init__(
        self,
        machine: Machine,
        constants: Constants,
        *,
        normalize: bool = True,
        bounded: bool = False,
        symmetry: Symmetry | None = None,
    ) -> None:
        self.machine, self.constants, self.bounded, self.symmetry = machine, constants, bounded, symmetry
        self.schema = Schema(machine.state, constants)
        self.normalize = machine.normalize if normalize else None
        self._recent: tuple[tuple[Key | None, Any], tuple[Key | None, Any]] = (None, None), (None, None)
        self._domains = {
            name: self.schema.bounds(domain)
            for item in (machine.initial, *machine.actions)
            for name, domain in ((f"{item.name}.{param}", domain) for param, domain in item.params)
            if isinstance(domain, Domain)
        }

    def initial_states(self) -> list[Key]:
        """Return the distinct initial states, ordered by the initial action's arguments."""
        found = {item.after: None for item in self._fire(self.machine.initial, self.zero)}
        if not found:
            raise ModelError(f"protocol {self.machine.name!r} has no initial state for {self.constants}.")
        return list(found)

    def begin(self, args: tuple[Any, ...]) -> Key:
        """Return the initial state for these arguments; raise DisabledError if a guard does not hold."""
        return self.apply(self.zero, Step(self.machine.initial, args)).after

    @cached_property
    def exact(self) -> Interpreter:
        """Return the machine without symmetry."""
        if self.symmetry is None:
            return self
        normalize = self.normalize is not None
        return Interpreter(self.machine, self.constants, normalize=normalize, bounded=self.bounded)

    @cached_property
    def alike(self) -> str:
        """Return a description of the interchangeable things, or an empty string if `symmetry` is None."""
        return "" if self.symmetry is None else self.symmetry.named(self.exact.initial_states())

    def canonical(self, key: Key) -> Key:
        """Return the canonical form of a state or, if `symmetry` is None, the state itself."""
        return key if self.symmetry is None else self.symmetry.canonical(key)

    @cached_property
    def zero(self) -> Key:
        """Return the state in which every field is 0, to which the initial action is applied."""
        return self.schema.key(self.schema.new())

    def transitions(self, before: Key) -> Iterator[Transition]:
        """Yield every transition from a state, action by action."""
        for item in self.machine.actions:
            yield from self._fire(item, before)

    def apply(self, before: Key, step: Step) -> Transition:
        """Take one step; raise DisabledError if a guard does not hold, or DomainError if a value leaves its domain."""
        return self._take(self.schema.restore(before), step)

    def apply_first(self, before: Key, steps: Iterable[Step]) -> Transition | None:
        """Take the first enabled step of `steps`; return None if all steps are disabled.

        A step that would leave a domain is treated as disabled.
        """
        tried = self._tried(before, steps, bounded=True)
        return next((found for _, found in tried if isinstance(found, Transition)), None)

    def refusing(self, before: Key, step: Step, guards: int) -> frozenset[str]:
        """Return the bounds that alone disable a step of an action with this number of guards."""
        state = self.schema.restore(before)
        args = [
            self.argument(state, domain, value)
            for (_, domain), value in zip(step.action.params, step.args, strict=True)
        ]
        return refusing(step.action, [state, self.constants, *args], guards)

    def _take(self, state: Any, step: Step) -> Transition:
        args = [
            self.argument(state, domain, value)
            for (_, domain), value in zip(step.action.params, step.args, strict=True)
        ]
        try:
            run = step.action if step.action.drawn else step.action.function
            run(state, self.constants, *args)
            raw = after = self.schema.key(state)
            if self.normalize is not None:
                self.normalize(state, self.constants)
                after = self.schema.key(state)
            return Transition(step, raw, self.canonical(after))
        except DisabledError:
            raise
        except FencepostError as error:
            raise type(error)(f"{self.show(step)}: {error}") from error
        except ARITHMETIC as error:
            raise DomainError(f"{self.show(step)}: {str(error) or NO_ROOM}") from error

    def holds(self, prop: Property, state: Key) -> bool:
        """Evaluate a predicate over states."""
        return self._ask(prop, self.read(state), self.constants)

    def read(self, key: Key) -> Any:
        """Return a read-only state, cached because two predicates are often evaluated on one state."""
        newest, other = self._recent
        if newest[0] is key:
            return newest[1]
        self._recent = (other if other[0] is key else (key, self.schema.restore(key))), newest
        return self._recent[0][1]

    def _ask(self, prop: Property, *args: Any) -> bool:
        if not prop.params:
            return bool(self._guarded(prop, prop.function, *args))
        answers = (bool(self._guarded(prop, prop.function, *args, *values)) for values in self.values_of(prop.params))
        return all(answers) if prop.kind.must_hold else any(answers)

    def holds_step(self, prop: Property, before: Key, transition: Transition) -> bool:
        """Evaluate a predicate over transitions. A predicate that is limited to another action counts as true."""
        step = transition.step
        if prop.on is not None and prop.on.name != step.action.name:
            return True
        state = self.read(before)
        args = ()
        if prop.on is not None:
            args = tuple(self.argument(state, d, v) for (_, d), v in zip(step.action.params, step.args, strict=True))
        return self._ask(prop, state, self.read(transition.raw), self.constants, *args)

    def retrace(self, way: Iterable[object], seen: Callable[[Key], object] | None = None) -> Path:
        """Return a path through these states (compared by `seen`, if given); raise MismatchError if no path exists."""
        if self.symmetry is not None:
            return self.exact.retrace(
                way, lambda key: self.canonical(key) if seen is None else seen(self.canonical(key))
            )
        wanted = iter(way)
        first = next(wanted)
        start = next((key for key in self.initial_states() if (key if seen is None else seen(key)) == first), None)
        if start is None:
            raise MismatchError("the first state of the path is not an initial state of the plain semantics.")
        states: list[Key] = [start]
        steps: list[Step] = []
        for mark in wanted:
            for taken in self.transitions(states[-1]):
                if (taken.after if seen is None else seen(taken.after)) == mark:
                    break
            else:
                raise MismatchError(
                    f"step {len(states)} of the path is impossible in the plain semantics. Engines "
                    "disagree: please report this."
                )
            steps.append(taken.step)
            states.append(taken.after)
        return Path(start, tuple(steps), tuple(states))

    def decided(self, path: Path, prop: Property) -> Path:
        """Return the path up to and including the step that decides a property.

        Raise MismatchError if the path does not decide the property.
        """
        if self.symmetry is not None:
            return self.exact.decided(path, prop)
        wanted, end = prop.kind is Kind.SOMETIMES, path.states[-1]
        if not prop.over_steps:
            if self.holds(prop, end) is not wanted:
                raise MismatchError(
                    f"property {prop.name!r}: the engine and the plain semantics disagree about the last state."
                )
            return path
        for last in self.transitions(end):
            applies = prop.on is None or prop.on.name == last.step.action.name
            if applies and self.holds_step(prop, end, last) is wanted:
                return Path(path.start, (*path.steps, last.step), (*path.states, last.after))
        raise MismatchError(f"property {prop.name!r}: the engine and the plain semantics disagree about the last step.")

    def says(self, prop: Property, predicate: Callable[..., bool] | None, state: Key, args: tuple[int, ...]) -> bool:
        """Evaluate a predicate of a property of behaviours. If the predicate is None, it never holds."""
        if predicate is None:
            return False
        return bool(self._guarded(prop, predicate, self.read(state), self.constants, *args))

    def cost(self, prop: Property, before: Key, transition: Transition) -> int:
        """Return the cost of a step for an at-most property."""
        costs = prop.behaviour.costs
        if callable(costs):
            states = (self.read(before), self.read(transition.after))
            found = int(self._guarded(prop, costs, *states, self.constants))
        else:
            name = transition.step.action.name
            found = next((cost.value(self.constants.values) for item, cost in costs or () if item == name), 0)
        if found < 0:
            raise DomainError(
                f"property {prop.name!r}: {self.show(transition.step)} costs {found}, but a cost must be 0 or more."
            )
        return found

    def arguments(self, prop: Property) -> list[tuple[int, ...]]:
        """Return every combination of values of a property's parameters."""
        return self.values_of(prop.behaviour.params)

    def values_of(self, params: Iterable[tuple[str, Domain]]) -> list[tuple[int, ...]]:
        """Return every combination of values of these parameters."""
        spans = [self.schema.bounds(domain) for _, domain in params]
        return list(product(*(range(max(low, 0) if low == NONE else low, high + 1) for low, high in spans)))

    def instance(self, fair: Fairness, step: Step) -> tuple[Any, ...] | None:
        """Return the values of `each` for which a step satisfies `fair`, or None if the step does not satisfy it."""
        if step.action.name not in [item.name for item in fair.actions]:
            return None
        found = []
        values = {name: (domain, value) for (name, domain), value in zip(step.action.params, step.args, strict=True)}
        for item in fair.each:
            param, _, field = item.partition(".")
            domain, value = values[param]
            if field:
                assert isinstance(domain, InFlight)  # only messages have fields
                names = [name for name, _ in fields(self.message_class(domain))]
                value = value[names.index(field)]
            found.append(value)
        return tuple(found)

    def _guarded(self, prop: Property, function: Callable[..., Any], *args: Any) -> Any:
        try:
            return function(*args)
        except FencepostError as error:
            raise type(error)(f"property {prop.name!r}: {error}") from error
        except ARITHMETIC as error:
            raise DomainError(f"property {prop.name!r}: {str(error) or NO_ROOM}") from error

    def steps(self, item: Action, before: Key) -> Iterator[Step]:
        """Yield the action with every combination of arguments, enabled or not."""
        choices = [self._values(item, name, domain, before) for name, domain in item.params]
        combinations = prod(map(len, choices))
        if combinations > MOST_COMBINATIONS:
            raise UsageError(
                f"protocol {self.machine.name!r}: the parameters of action {item.label!r} have {combinations:,} "
                f"combinations, but at most {MOST_COMBINATIONS:,} are tried. Give them smaller domains."
            )
        for args in product(*choices):
            yield Step(item, args)

    def show(self, step: Step) -> str:
        """Return a step in the form used in traces, such as `follower-fetch follower=1 leader=0`."""
        words = [step.action.label]
        for (name, domain), value in zip(step.action.params, step.args, strict=True):
            words.append(f"{name}={self.show_argument(domain, value)}")
        return " ".join(words)

    def show_argument(self, domain: Domain | InFlight, value: Any) -> str:
        """Return one argument in the form used in traces."""
        if isinstance(domain, Domain):
            return domain.show(value)
        from fencepost.model.language.printing import show_message

        return show_message(self.message_class(domain), value)

    def message_class(self, domain: InFlight) -> Any:
        """Return the record class of the messages in a bag."""
        from fencepost.model.language.records import BagOf, fields

        for name, field in fields(self.machine.state):
            if name == domain.bag and isinstance(field, BagOf):
                return field.record
        raise ModelError(f"InFlight({domain.bag!r}): the state has no bag of this name.")

    def attempts(self, item: Action, before: Key) -> Iterator[tuple[Step, Transition | DisabledError | DomainError]]:
        """Yield the action with every combination of arguments, and the resulting transition or error."""
        return self._tried(before, self.steps(item, before), bounded=self.bounded)

    def possible(self, before: Key, steps: Iterable[Step]) -> Iterator[Transition]:
        """Yield a transition for each enabled step among these."""
        for _, found in self._tried(before, steps, bounded=self.bounded):
            if isinstance(found, Transition):
                yield found

    def _fire(self, item: Action, before: Key) -> Iterator[Transition]:
        return self.possible(before, self.steps(item, before))

    def _tried(
        self, before: Key, steps: Iterable[Step], *, bounded: bool
    ) -> Iterator[tuple[Step, Transition | DisabledError | DomainError]]:
        state = None
        for step in steps:
            if state is None:
                state = self.schema.restore(before)
            found: Transition | DisabledError | DomainError
            try:
                found, state = self._take(state, step), None
            except DisabledError as error:
                found = error  # guards precede writes, so the state is unchanged and can be reused
            except DomainError as error:
                if not bounded:
                    raise
                found, state = error, None
            yield step, found

    def _values(self, item: Action, name: str, domain: Domain | InFlight, before: Key) -> Any:
        if isinstance(domain, InFlight):
            return list(dict.fromkeys(key_of(message) for message in getattr(self.read(before), domain.bag)))
        low, high = self._domains[f"{item.name}.{name}"]
        return range(max(low, 0) if low == -1 else low, high + 1)

    def argument(self, state: Any, domain: Domain | InFlight, value: Any) -> Any:
        """Return an action's argument: a number, or a copy of a message, which must be in flight."""
        if isinstance(domain, InFlight):
            for message in getattr(state, domain.bag):
                if key_of(message) == value:
                    return self.schema.message(self.message_class(domain), value)
            raise DisabledError
        return value


__all__ = ["DomainError", "Interpreter", "Path", "Step", "Transition"]
