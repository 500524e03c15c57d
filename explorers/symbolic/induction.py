"""Induction: a conjunction of predicates holds initially, and every step preserves the conjunction.

The state before a step is any state in which the conjunction holds, reachable or not. A step that breaks the
conjunction is a counterexample to induction, but not necessarily a violation.
"""

from collections.abc import Callable
from dataclasses import dataclass

import z3
from fencepost.explorers.symbolic.models import OpenValueError, Pair, pair_of, smallest_model
from fencepost.explorers.symbolic.places import Rec
from fencepost.explorers.symbolic.pool import Asking
from fencepost.explorers.symbolic.system import Happening, Move, System
from fencepost.explorers.symbolic.terms import Flag, boolean, either, negate
from fencepost.model.language.actions import Kind, Property


@dataclass(frozen=True)
class MoveAnswer:
    move: str
    action: str
    broken: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    cuts: tuple[str, ...] = ()
    pair: Pair | None = None
    branches: int = 0
    seconds: float = 0.0
    queries: int = 0
    forgotten: tuple[str, ...] = ()
    """Functions whose unbounded loops were havocked, so a failed proof may show an impossible step."""
    small: bool = False


def state_properties(properties: tuple[Property, ...]) -> tuple[Property, ...]:
    return tuple(item for item in properties if item.kind is Kind.ALWAYS)


def step_properties(properties: tuple[Property, ...]) -> tuple[Property, ...]:
    """Return the predicates over steps; they must follow from the conjunction."""
    return tuple(item for item in properties if item.kind is Kind.STEP)


def initiation(system: System, timeout: float) -> list[MoveAnswer]:
    found = []
    for happened in system.starts():
        goals = {item.name: system.holds(item, happened.after) for item in state_properties(system.properties)}
        found.append(_answer(Asking(timeout), [system.lifting.domain()], happened, goals))
    return found


def consecution(system: System, move: Move, timeout: float, *, explain: bool = True) -> MoveAnswer:
    before, hypothesis = system.kept()
    happened = system.happening(before, move, "a.")
    goals = {item.name: system.holds(item, happened.after) for item in state_properties(system.properties)}
    goals |= {item.name: system.holds_step(item, before, happened) for item in step_properties(system.properties)}
    asking = Asking(timeout)

    def pair(broken: str) -> Pair | None:
        return _pair(system, asking, before, happened, negate(goals[broken]))

    return _answer(asking, [system.typed(before), hypothesis], happened, goals, pair if explain else None)


def _answer(
    asking: Asking,
    assumed: list[Flag],
    happened: Happening,
    goals: dict[str, Flag],
    pair: Callable[[str], Pair | None] | None = None,
) -> MoveAnswer:
    asking.add(*assumed)
    asking.solver.push()
    asking.add(happened.happens)
    broken, unknown = _undecided(asking, goals)
    shown = pair(broken[0]) if broken and pair is not None else None
    asking.solver.pop()
    cuts = () if happened.passes is True or asking.ask(happened.cut) == z3.unsat else open_cuts(asking, happened)
    move = happened.move
    return MoveAnswer(
        move.title, move.name, broken, unknown, cuts, shown,
        happened.branches, asking.seconds, asking.queries, happened.forgotten,
    )  # fmt: skip


def _undecided(asking: Asking, goals: dict[str, Flag]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the goals that do not follow, and those that z3 leaves undecided. One model may refute several goals."""
    left = {name: goal for name, goal in goals.items() if goal is not True}
    broken: list[str] = []
    while left:
        said = asking.ask(either(*(negate(goal) for goal in left.values())))
        if said == z3.unsat:
            break
        if said == z3.unknown:
            return _one_by_one(asking, left, broken)
        model = asking.solver.model()
        fails = [name for name, goal in left.items() if z3.is_false(model.eval(boolean(goal), model_completion=True))]
        if not fails:
            return _one_by_one(asking, left, broken)
        broken += fails
        left = {name: goal for name, goal in left.items() if name not in fails}
    return tuple(name for name in goals if name in broken), ()


def _one_by_one(asking: Asking, left: dict[str, Flag], broken: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    said = {name: asking.ask(negate(goal)) for name, goal in left.items()}
    unknown = tuple(name for name, found in said.items() if found == z3.unknown)
    return (*broken, *(name for name, found in said.items() if found == z3.sat)), unknown


def open_cuts(asking: Asking, happened: Happening) -> tuple[str, ...]:
    checks = (item for item in happened.checks if asking.ask(happened.present, negate(item.passes)) != z3.unsat)
    return tuple(dict.fromkeys(item.what for item in checks))


def _pair(system: System, asking: Asking, before: Rec, happened: Happening, fails: Flag) -> Pair | None:
    asking.solver.push()
    asking.add(fails)
    model = smallest_model(system, asking, before, happened)
    asking.solver.pop()
    try:
        return None if model is None else pair_of(system, model, before, happened)
    except OpenValueError:
        return None
