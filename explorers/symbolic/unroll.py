"""Several consecutive steps, as under the plain semantics: bounded model checking, and induction over k steps."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import z3
from fencepost.explorers.running.interrupts import Stopped
from fencepost.explorers.symbolic import models
from fencepost.explorers.symbolic.induction import open_cuts, state_properties, step_properties
from fencepost.explorers.symbolic.places import Rec, agree, key_under
from fencepost.explorers.symbolic.pool import Asking, apart
from fencepost.explorers.symbolic.system import Happening, System
from fencepost.explorers.symbolic.terms import Flag, boolean, both, either, implies, negate
from fencepost.model.language.records import Key


@dataclass(frozen=True)
class History:
    constants: dict[str, int]
    first: tuple[Any, ...]
    """The arguments of the initial action."""
    start: Key
    steps: tuple[tuple[str, tuple[Any, ...]], ...]
    violates: str = ""
    """The property that the run violates; empty if the run ends with an error."""


@dataclass(frozen=True)
class PropertyFailure:
    """A property that can fail after `depth` steps; without `history`, it can fail only with constants out of range."""

    name: str
    depth: int
    history: History | None


@dataclass(frozen=True)
class Reached:
    """The result of a question about several steps.

    The search examined all runs of `depth` steps. `failures` contains each property that fails, with the smallest
    number of steps, and `unknown` maps each undecided property to the number of steps after which z3 gave up. `cuts`
    names values that may leave their bounds, and `error` is a run in whose last step a value leaves its bounds.
    `broken` contains the properties that an induction does not preserve.
    """

    depth: int
    failures: tuple[PropertyFailure, ...] = ()
    broken: tuple[str, ...] = ()
    cuts: tuple[str, ...] = ()
    unknown: Mapping[str, int] = field(default_factory=dict)
    why_stopped: str = ""
    error: History | None = None
    error_text: str = ""
    """If one run ends with an error and another violates a property: the error, and the number of steps before it."""
    queries: int = 0
    seconds: float = 0.0

    @property
    def history(self) -> History | None:
        found = (item.history for item in self.failures if item.history)
        return min(found, key=lambda item: len(item.steps), default=None)


_FIRST = z3.Int("choice0")


@dataclass
class Chain:
    """Consecutive states, the steps between them, and a solver. `inside` requires values to be in their domains."""

    system: System
    asking: Asking
    starts: list[Happening] = field(default_factory=list)
    states: list[Rec] = field(default_factory=list)
    steps: list[list[Happening]] = field(default_factory=list)
    choices: list[Any] = field(default_factory=list)
    inside: Flag = True
    walked: dict[int, list[Happening]] = field(default_factory=dict)

    def begin(self, *, initially: bool) -> History | None:
        """Add the first state, which is initial or arbitrary. Return an initial state that raises an error, if any."""
        if self.system.lifting.names:
            self.inside = z3.Bool("inside")
        state = self.system.state("s0.")
        self.states.append(state)
        error = None
        if initially:
            self.starts = self.system.starts()
            error = self._error_at_start()
            self._choose(_FIRST, self.starts, state)
        self._limit(state)
        return error

    def _choose(self, choice: Any, ways: list[Happening], after: Rec) -> None:
        self.asking.add(choice >= 0, choice < len(ways))
        for index, item in enumerate(ways):
            limit = implies(self.inside, both(*models.strict_arguments(self.system, item)))
            self.asking.add(z3.Implies(choice == index, boolean(both(item.happens, agree(after, item.after), limit))))

    def _error_at_start(self) -> History | None:
        constants = [self.system.lifting.domain(), *models.strict_constants(self.system)]
        for found in self.starts:
            limits = [*constants, *models.strict_arguments(self.system, found)]
            if found.cut is not False and self.ask_inside(found.cut, *limits) == z3.sat:
                return error_at_start(self.system, self.asking.solver.model(), found)
        return None

    def ask_inside(self, *flags: Flag) -> Any:
        return models.ask_allowed(self.system, self.asking, *flags, inside=self.inside)

    def _limit(self, state: Rec) -> None:
        self.asking.add(self.system.typed(state), implies(self.inside, models.strict(self.system, state)))

    def grow(self) -> None:
        number = len(self.states)
        before, after = self.states[-1], self.system.state(f"s{number}.")
        choice = z3.Int(f"choice{number}")
        found = self.ways()
        self._choose(choice, found, after)
        self.states.append(after)
        self.steps.append(found)
        self.choices.append(choice)
        self.asking.add(self.system.typed(before))
        self._limit(after)

    def ways(self) -> list[Happening]:
        number = len(self.states)
        if number not in self.walked:
            moves = [move for move in self.system.moves if move.action is not None]
            prefix = f"a{number}."
            found = [self.system.happening(self.states[-1], move, prefix) for move in moves]
            self.walked[number] = [self.system.normalized(item, prefix) for item in found]
        return self.walked[number]

    def fails(self, number: int) -> dict[str, Flag]:
        state = self.states[number]
        found = {item.name: negate(self.system.holds(item, state)) for item in state_properties(self.system.properties)}
        for item in step_properties(self.system.properties):
            if number:
                before, choice = self.states[number - 1], self.choices[number - 1]
                ways = enumerate(self.steps[number - 1])
                fails = (both(choice == at, negate(self.system.holds_step(item, before, way))) for at, way in ways)
                found[item.name] = either(*fails)
        return found

    def know(self) -> None:
        self.asking.add(*(self.system.typed(state) for state in self.states))

    def holds(self, number: int) -> Flag:
        state = self.states[number]
        return both(*(self.system.holds(item, state) for item in state_properties(self.system.properties)))

    def failure(self, name: str, flag: Flag, number: int) -> PropertyFailure | str:
        said = self.ask_inside(flag)
        if said == z3.sat:
            try:
                found = self.history(self.asking.solver.model(), number + 1)
            except models.OpenValueError:
                return str(z3.unknown)
            return PropertyFailure(name, number, replace(found, violates=name))
        if self.inside is not True and said == z3.unsat:
            said = self.asking.ask(flag)
        return PropertyFailure(name, number, None) if said == z3.sat else str(said)

    def history(self, model: Any, length: int, last: Happening | None = None) -> History:
        value_of, number_of = models.value_under(model), models.number_under(model)
        chosen = [self.steps[number][value_of(self.choices[number])] for number in range(length - 1)]
        steps = []
        for number, found in enumerate([*chosen, *([last] if last else [])]):
            assert found.move.action is not None
            steps.append((found.move.action.name, models.arguments(model, self.states[number], found)))
        constants = {name: number_of(value) for name, value in self.system.lifting.values.items()}
        first = tuple(map(number_of, self.starts[value_of(_FIRST)].args))
        return History(constants, first, key_under(self.states[0], value_of, number_of), tuple(steps))

    def cuts(self, error: bool = True) -> tuple[list[str], History | None]:  # noqa: FBT001, FBT002
        """Return which bounds a step from the last state may exceed, and a plain run that does so, if there is one."""
        found: list[str] = []
        for happened in self.ways():
            if happened.cut is False:
                continue
            limits = models.strict_arguments(self.system, happened)
            said = self.ask_inside(happened.cut, *limits) if error else self.asking.ask(happened.cut)
            if error and said == z3.sat:
                with suppress(models.OpenValueError):
                    return found, self.history(self.asking.solver.model(), len(self.states), happened)
            again = said == z3.unknown or self.inside is not True
            if said == z3.sat or (again and self.asking.ask(happened.cut) != z3.unsat):
                found += open_cuts(self.asking, happened)
        return found, None


def error_at_start(system: System, model: Any, found: Happening) -> History:
    number_of = models.number_under(model)
    constants = {name: number_of(value) for name, value in system.lifting.values.items()}
    return History(constants, tuple(map(number_of, found.args)), (), ())


def bounded(system: System, depth: int, timeout: float) -> Reached:
    """Ask, one step at a time, whether properties can fail within `depth` steps of an initial state, until Ctrl-C."""
    return _until_stopped(Reached(-1), lambda tell: _deeper(system, depth, timeout, tell))


def over_steps(system: System, k: int, timeout: float) -> Reached:
    """Ask whether a property can fail after `k` steps if all hold in the `k` previous states, until Ctrl-C."""
    return _until_stopped(Reached(k), lambda tell: _one_more(system, k, timeout, tell))


def _until_stopped(first: Reached, ask: Callable[[Callable[[Reached], None]], Reached]) -> Reached:
    latest = [first]
    try:
        return apart(ask, latest.append)
    except Stopped as signal:
        return replace(latest[-1], why_stopped=signal.why)


def _deeper(system: System, depth: int, timeout: float, tell: Callable[[Reached], None]) -> Reached:
    chain = Chain(system, Asking(timeout))
    found = Reached(-1, error=chain.begin(initially=True))
    failures: dict[str, PropertyFailure] = {}
    for number in range(depth + 1):
        if found.error is not None:
            return found
        if number:
            cuts, error = chain.cuts()
            found = replace(found, cuts=tuple(dict.fromkeys([*found.cuts, *cuts])), error=error)
            if error is not None:
                return found
            chain.grow()
        unknown = _judged(chain, number, failures, dict(found.unknown))
        found = replace(
            found,
            depth=number,
            failures=tuple(failures.values()),
            unknown=unknown,
            queries=chain.asking.queries,
            seconds=chain.asking.seconds,
        )
        tell(found)
        if all(_is_decided(item.name, failures, unknown) for item in system.properties):
            return found
    return found


def _judged(chain: Chain, number: int, failures: dict[str, PropertyFailure], unknown: dict[str, int]) -> dict[str, int]:
    fails = chain.fails(number)
    chain.know()
    left = {name: flag for name, flag in fails.items() if not _is_decided(name, failures, unknown)}
    if chain.asking.ask(either(*left.values())) == z3.unsat:
        return unknown
    for name, flag in left.items():
        said = chain.failure(name, flag, number)
        if isinstance(said, PropertyFailure) and (said.history or name not in failures):
            failures[name] = said
        if said == "unknown":
            unknown[name] = number
    return unknown


def _is_decided(name: str, failures: Mapping[str, PropertyFailure], unknown: Mapping[str, int]) -> bool:
    return name in unknown or (name in failures and failures[name].history is not None)


def _one_more(system: System, k: int, timeout: float, tell: Callable[[Reached], None]) -> Reached:
    chain = Chain(system, Asking(timeout))
    chain.begin(initially=False)
    cuts: dict[str, None] = {}
    for _ in range(k):
        chain.asking.add(chain.holds(len(chain.states) - 1))
        cuts |= dict.fromkeys(chain.cuts(error=False)[0])
        chain.grow()
    fails = chain.fails(k)
    chain.know()
    found = Reached(k, cuts=tuple(cuts))
    unknown: dict[str, int] = {}
    for name, flag in fails.items():
        said = chain.asking.ask(flag)
        if said == z3.unknown:
            unknown[name] = k
        broken = (*found.broken, *([name] if said == z3.sat else []))
        found = replace(
            found, broken=broken, unknown=dict(unknown), queries=chain.asking.queries, seconds=chain.asking.seconds
        )
        tell(found)
    return found
