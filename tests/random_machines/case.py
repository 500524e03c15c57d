"""One random machine for every engine: first the plain search, whose results the others are compared with."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fencepost.explorers.liveness.reference import with_behaviours
from fencepost.explorers.native.compile import Kernels, load, lowered
from fencepost.explorers.native.llvm.objects import CHEAP
from fencepost.explorers.plain import PlainSearch
from fencepost.explorers.program.ir.translate import translate
from fencepost.explorers.verdict import Options, PropertyResult, Result, deep_enough, ended_by_signal, require_no_error
from fencepost.model.language import Constants, Machine, Property
from fencepost.model.language.errors import DomainError, FencepostError, MismatchError, ModelError
from fencepost.model.language.interpreter import Transition
from fencepost.model.language.records import Key

ENOUGH = 205  # most states before the last expanded level
MORE = 350  # the same with a property of behaviours, which needs a whole graph
ENOUGH_STEPS = 5_000
"""Most steps before the last expanded level: a machine with more than twenty per state shows little more."""
UNFIT = "not fit in "  # text in the error of an engine with bounded numbers


class Recorded(PlainSearch):
    """A plain search that records every successor, and ends after the level with enough states."""

    enough = ENOUGH

    def __init__(
        self, machine: Machine, constants: Constants, properties: tuple[Property, ...], options: Options
    ) -> None:
        super().__init__(machine, constants, properties, options)
        self.successors: dict[Key, list[Key]] = {}

    def transitions(self, state: Key) -> Iterator[Transition]:
        found = []
        for transition in super().transitions(state):
            found.append(transition.after)
            yield transition
        self.successors[state] = found

    def expand(self, level: list[Key], began: float) -> tuple[list[Key], str]:
        """Return the states of the next level, or none if there are enough."""
        many = len(self.parents) >= self.enough or sum(map(len, self.successors.values())) >= ENOUGH_STEPS
        if many and self.options.max_depth is None:
            return [], deep_enough(len(self.levels))
        return super().expand(level, began)


@dataclass
class Case:
    machine: Machine
    properties: tuple[Property, ...]
    constants: Constants
    seed: int = 0
    compared: int = 0  # number of successors that were compared one by one
    notes: set[str] = field(default_factory=set)  # events on the way: the errors met, the comparisons made

    @cached_property
    def plain(self) -> Recorded:
        found = Recorded(self.machine, self.constants, self.of_states, Options(workers=1, deadlock=True))
        found.enough = ENOUGH if self.of_states == self.properties else MORE
        return found

    @cached_property
    def expected(self) -> dict[str, Any]:
        return said(lambda: with_behaviours(self.plain.run(), self.properties, self.plain.behaviour))

    @cached_property
    def options(self) -> Options:
        depth = None if self.expected.get("complete", True) else len(self.plain.levels)
        return Options(workers=1, deadlock=True, max_depth=depth)

    @cached_property
    def kernels(self) -> Kernels:
        return load(lowered(translate(self.machine, self.of_states), self.constants, normalize=True), CHEAP)

    @cached_property
    def of_states(self) -> tuple[Property, ...]:
        return tuple(item for item in self.properties if not item.kind.over_behaviours)

    def differs(self, found: dict[str, Any], expected: dict[str, Any] | None = None) -> str:
        """Return how an answer differs from the expected one, or an empty string."""
        expected, error = expected or self.expected, found.get("error", "")
        if self.is_unfit(error):
            return ""
        if either(found, expected):
            return self.untrue(found["raised"]) if error else ""
        if "error" in expected and error:
            return self.untrue(found["raised"])
        names = [name for name in expected if name != "raised" and expected[name] != found.get(name)]
        return "; ".join(
            f"{name}: plain {expected[name]}, other {found.get(name, found.get('error', found.get('mismatch')))}"
            for name in names
        )

    def is_unfit(self, error: str) -> bool:
        """Return whether an error is that of an engine with bounded numbers; record it if so."""
        found = any(text in error for text in (UNFIT, "too many to distinguish its steps", "cannot add up in 64 bits"))
        self.notes |= {"unfit"} if found else set()
        return found

    def untrue(self, error: DomainError) -> str:
        """Return why an error is not one of the plain semantics, at the end of its path; or an empty string."""
        plain, text = self.plain.plain, str(error)
        of_behaviours = [f"property {item.name!r}" for item in self.properties if item not in self.of_states]
        expected = self.expected.get("error", "")
        if text == expected or any(text.startswith(name) and expected.startswith(name) for name in of_behaviours):
            return ""
        if not error.states:
            return "" if text in self.errors_at_start() else f"an error that no initial state has: {text}"
        if error.states[0] not in plain.initial_states() and len(error.states) > 1:
            return f"an error after a state that is not initial: {text}"
        for before, after in zip(error.states, error.states[1:], strict=False):
            if not self.leads(before, after):
                return f"an error after a step that does not happen: {text}"
        return "" if text in self.errors_at(error.states[-1], len(error.states)) else f"an error that is none: {text}"

    def leads(self, before: Key, after: Key) -> bool:
        """Return whether a step leads from a state to another; other steps from it may raise errors."""
        plain = self.plain.plain
        for action in self.machine.actions:
            for step in plain.steps(action, before):
                try:
                    if plain.apply(before, step).after == after:
                        return True
                except FencepostError:
                    continue
        return False

    def errors_at_start(self) -> set[str]:
        plain, found = self.plain.plain, set[str]()
        for step in plain.steps(self.machine.initial, plain.zero):
            asked(found, lambda step=step: plain.apply(plain.zero, step))
        return found

    def errors_at(self, state: Key, level: int) -> set[str]:
        """Return every error of a step from a state, and of a property there that no earlier level decides."""
        plain, found = self.plain.plain, set[str]()
        judged = [item for item in self.of_states if self.decided_in(item) >= level]
        for action in self.machine.actions:
            for step in plain.steps(action, state):
                done = asked(found, lambda step=step: plain.apply(state, step))
                for prop in judged if done is not None else ():
                    if prop.over_steps:
                        asked(found, lambda prop=prop, done=done: plain.holds_step(prop, state, done))
        for prop in judged:
            if not prop.over_steps:
                asked(found, lambda prop=prop: plain.holds(prop, state))
        return found

    def decided_in(self, prop: Property) -> int:
        """Return the level in which the plain search decides a property; beyond all levels if it does not."""
        if prop.name not in self.plain.decided:
            return 1 << 62
        return self.plain.path(self.plain.decided[prop.name][0], None).length


def asked(errors: set[str], question: Callable[[], Any]) -> Any:
    """Return the answer of the plain semantics; after an error of the model return None, and record the error."""
    try:
        return question()
    except DomainError as error:
        errors.add(str(error))
    except FencepostError:
        pass
    return None


def either(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether, in one level, one answer has an error and the other decides: the order of states is open."""
    told, found = (one, other) if "error" in one else (other, one)
    if "error" not in told or "properties" not in found or not isinstance(told["raised"], DomainError):
        return False
    length = len(told["raised"].states)
    steps = (length, length + 1)  # of a step property's history the last state is the one after the step
    return any(
        told["error"].startswith(f"property {name!r}:") and decided in steps
        for name, _, decided, _ in found["properties"]
    )


def said(search: Callable[[], Result]) -> dict[str, Any]:
    """Return the results of a whole search, without their order; or its error."""
    try:
        found = require_no_error(search())
    except (DomainError, ModelError) as error:
        return {"error": str(error), "raised": error}
    except MismatchError as error:
        return {"mismatch": str(error)}
    if ended_by_signal(found.why_stopped):
        raise KeyboardInterrupt
    names = ("complete", "distinct", "generated", "depth", "levels", "bounds", "deadlocks")
    return {name: getattr(found, name) for name in names} | {
        "fired": dict(found.fired),
        "guards": [(item.action, item.condition, item.refused) for item in found.guards],
        "properties": [(item.name, item.verdict, length(item), item.cost) for item in found.properties],
    }


def length(item: PropertyResult) -> int | None:
    """Return the length of a path, which is only determined for properties of states and steps."""
    return item.path.length if item.path and not item.kind.over_behaviours else None
