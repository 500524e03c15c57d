"""Several steps in a row: bounded model checking from the initial states, and induction over k steps.

A step is an action and then `normalize`, as the plain carrier takes it. Each state has variables of its own, tied to
what the chosen move makes of the state before.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import z3
from fencepost.explorers.symbolic.induction import Asking, state_properties, step_properties
from fencepost.explorers.symbolic.interrupts import Stopped
from fencepost.explorers.symbolic.models import arguments, number_under, strict, value_under
from fencepost.explorers.symbolic.places import Rec, agree, key_under
from fencepost.explorers.symbolic.pool import apart
from fencepost.explorers.symbolic.terms import Flag, boolean, both, either, negate

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.explorers.symbolic.system import Happening, System
    from fencepost.model.language.records import Key


@dataclass(frozen=True)
class History:
    """A run that z3 found, plain: the constants, the first state and the steps by action name with their arguments."""

    constants: dict[str, int]
    start: Key
    steps: tuple[tuple[str, tuple[Any, ...]], ...]


@dataclass(frozen=True)
class Reached:
    """How far a question about several steps got.

    `depth` steps were looked at in full. `broken` names what fails after them, `cuts` what may leave its bounds; `unknown`
    says that z3 gave up there.
    """

    depth: int
    broken: tuple[str, ...] = ()
    cuts: tuple[str, ...] = ()
    unknown: bool = False
    why_stopped: str = ""
    """Why a signal ended this, if one did: nothing is known of what was asked then."""
    history: History | None = None
    queries: int = 0
    seconds: float = 0.0


@dataclass
class Chain:
    """States in a row, the steps between them, and a solver that knows both."""

    system: System
    asking: Asking
    states: list[Rec] = field(default_factory=list)
    steps: list[list[Happening]] = field(default_factory=list)
    choices: list[Any] = field(default_factory=list)

    def begin(self, *, initially: bool) -> None:
        """Add the first state: an initial one, or any."""
        state = self.system.state("s0.")
        self.states.append(state)
        if initially:
            starts = [both(found.happens, agree(state, found.after)) for found in self._starts()]
            self.asking.add(either(*starts))
        self.asking.add(self.system.typed(state))

    def _starts(self) -> list[Happening]:
        return [self._normalized(found) for found in self.system.initial()]

    def grow(self) -> None:
        """Add a step and the state after it."""
        number = len(self.states)
        before, after = self.states[-1], self.system.state(f"s{number}.")
        choice = z3.Int(f"choice{number}")
        found = [
            self._normalized(self.system.happening(before, move, f"a{number}."))
            for move in self.system.moves
            if move.action is not None
        ]
        self.asking.add(choice >= 0, choice < len(found))
        for index, item in enumerate(found):
            self.asking.add(z3.Implies(choice == index, boolean(both(item.happens, agree(after, item.after)))))
        self.states.append(after)
        self.steps.append(found)
        self.choices.append(choice)
        self.asking.add(self.system.typed(after))

    def _normalized(self, found: Happening) -> Happening:
        """Return a happening that leads to the normalized state; `raw` is what step properties judge."""
        if self.system.normalize is None:
            return found
        then = self.system.happening(found.after, self.system.moves[-1])
        return replace(found, after=then.after, checks=found.checks + then.checks, raw=found.after)

    def fails(self, number: int) -> dict[str, Flag]:
        """Return by property that it fails in a state, or of the step that leads there."""
        state = self.states[number]
        found = {item.name: negate(self.system.holds(item, state)) for item in state_properties(self.system.properties)}
        for item in step_properties(self.system.properties):
            if number:
                before, choice = self.states[number - 1], self.choices[number - 1]
                found[item.name] = either(
                    *(
                        both(choice == index, negate(self.system.holds_step(item, before, happened)))
                        for index, happened in enumerate(self.steps[number - 1])
                    )
                )
        return found

    def know(self) -> None:
        """Assume that what was read of the states, by now, is in its domain."""
        self.asking.add(*(self.system.typed(state) for state in self.states))

    def holds(self, number: int) -> Flag:
        """Return that every property over states holds in a state."""
        return both(*(self.system.holds(item, self.states[number]) for item in state_properties(self.system.properties)))

    def model(self, flag: Flag) -> tuple[Any, bool]:
        """Return a model of what was just found possible, and whether its constants are in their ranges, as for the plain carrier."""
        model = self.asking.solver.model()
        ranges = [strict(self.system, state) for state in self.states]
        if self.asking.ask(flag, *ranges) == z3.sat:
            return self.asking.solver.model(), True
        return model, False

    def history(self, model: Any, length: int) -> History:
        """Return the first `length` states of a model."""
        value_of, number_of = value_under(model), number_under(model)
        steps = []
        for number in range(length - 1):
            found = self.steps[number][value_of(self.choices[number])]
            assert found.move.action is not None
            steps.append((found.move.action.name, arguments(model, self.states[number], found)))
        constants = {name: number_of(value) for name, value in self.system.lifting.values.items()}
        return History(constants, key_under(self.states[0], value_of, number_of), tuple(steps))


def bounded(system: System, depth: int, timeout: float) -> Reached:
    """Ask step by step whether a property can fail within `depth` steps of an initial state; Ctrl-C ends it where it is."""
    latest = [Reached(-1)]
    try:
        return apart(lambda tell: _deeper(system, depth, timeout, tell), latest.append)
    except Stopped as signal:
        return replace(latest[-1], unknown=True, why_stopped=str(signal))


def _deeper(system: System, depth: int, timeout: float, tell: Callable[[Reached], None]) -> Reached:
    """Look at one step more after the other, and tell how far that came."""
    chain = Chain(system, Asking(timeout))
    chain.begin(initially=True)
    cuts: dict[str, None] = {}
    found = Reached(-1)
    for number in range(depth + 1):
        failed = _grown(chain, number, cuts)
        if failed is not None:
            return failed
        found = Reached(number, (), tuple(cuts), queries=chain.asking.queries, seconds=chain.asking.seconds)
        tell(found)
    return found


def _grown(chain: Chain, number: int, cuts: dict[str, None]) -> Reached | None:
    """Look at one more state, and add to `cuts`; return what ended the search, None if nothing failed there."""
    if number:
        cuts |= dict.fromkeys(_cuts(chain))
        chain.grow()
    fails = chain.fails(number)
    chain.know()
    said = chain.asking.ask(either(*fails.values()))
    if said == z3.sat:
        model, is_plain = chain.model(either(*fails.values()))
        value_of = value_under(model)
        broken = tuple(name for name, flag in fails.items() if flag is True or (flag is not False and value_of(flag)))
        history = chain.history(model, number + 1) if is_plain else None
        return Reached(number, broken, tuple(cuts), history=history, queries=chain.asking.queries, seconds=chain.asking.seconds)
    if said == z3.unknown:
        return Reached(number - 1, (), tuple(cuts), unknown=True, queries=chain.asking.queries, seconds=chain.asking.seconds)
    return None


def _cuts(chain: Chain) -> list[str]:
    """Return what a step out of the last state may leave the bounds with."""
    before = chain.states[-1]
    found = []
    for move in chain.system.moves:
        if move.action is not None:
            happened = chain.system.happening(before, move, "cut.")
            if happened.passes is not True and chain.asking.ask(happened.cut) != z3.unsat:
                found += [
                    item.what for item in happened.checks if chain.asking.ask(happened.present, negate(item.passes)) != z3.unsat
                ]
    return found


def over_steps(system: System, k: int, timeout: float) -> Reached:
    """Ask whether a property can fail after `k` steps if all hold in the `k` states before; Ctrl-C ends it where it is."""
    latest = [Reached(k)]
    try:
        return apart(lambda tell: _one_more(system, k, timeout, tell), latest.append)
    except Stopped as signal:
        return replace(latest[-1], unknown=True, why_stopped=str(signal))


def _one_more(system: System, k: int, timeout: float, tell: Callable[[Reached], None]) -> Reached:
    chain = Chain(system, Asking(timeout))
    chain.begin(initially=False)
    for _ in range(k):
        chain.asking.add(chain.holds(len(chain.states) - 1))
        chain.grow()
    fails = chain.fails(k)
    chain.know()
    found = Reached(k)
    for name, flag in fails.items():
        said = chain.asking.ask(flag)
        broken = (*found.broken, *([name] if said == z3.sat else []))
        unknown = found.unknown or said == z3.unknown
        found = Reached(k, broken, (), unknown=unknown, queries=chain.asking.queries, seconds=chain.asking.seconds)
        tell(found)
    return found
