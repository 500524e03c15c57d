"""Traces rebuilt on the plain semantics: what another engine found is shown only after the definition agrees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fencepost.explorers.verdict import Path
from fencepost.model.language.actions import Kind
from fencepost.model.language.errors import MismatchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fencepost.model.language.actions import Property
    from fencepost.model.language.interpreter import Interpreter, Step, Transition
    from fencepost.model.language.records import Key


@dataclass(frozen=True)
class Found:
    """What a path is said to show: a property decided at its end (None: only the path itself)."""

    prop: Property | None


def confirm(plain: Interpreter, trail: Iterable[Callable[[Key], bool]], found: Found) -> Path:
    """Rebuild a path from tests that recognise its states, and check at its end what it is said to show.

    Raises MismatchError where the plain semantics does not take the same way or judges the end otherwise.
    """
    tests = iter(trail)
    first = next(tests)
    start = next((key for key in plain.initial_states() if first(key)), None)
    if start is None:
        raise MismatchError("a path was found whose first state is not an initial state of the plain semantics.")
    states: list[Key] = [start]
    steps: list[Step] = []
    for recognises in tests:
        taken = next((item for item in plain.transitions(states[-1]) if recognises(item.after)), None)
        if taken is None:
            raise MismatchError(
                f"a path was found whose step {len(states)} the plain semantics cannot take. Engines disagree: please report this."
            )
        steps.append(taken.step)
        states.append(taken.after)
    prop = found.prop
    if prop is None:
        return Path(start, tuple(steps), tuple(states))
    if prop.over_steps:
        last = _deciding_step(plain, prop, states[-1])
        return Path(start, (*steps, last.step), (*states, last.after))
    if plain.holds(prop, states[-1]) is not (prop.kind is Kind.SOMETIMES):
        raise MismatchError(f"property {prop.name!r}: the engine and the plain semantics judge the last state differently.")
    return Path(start, tuple(steps), tuple(states))


def _deciding_step(plain: Interpreter, prop: Property, state: Key) -> Transition:
    wanted = prop.kind is Kind.SOMETIMES
    for transition in plain.transitions(state):
        applies = prop.on is None or prop.on.name == transition.step.action.name
        if applies and plain.holds_step(prop, state, transition) is wanted:
            return transition
    raise MismatchError(f"property {prop.name!r}: the engine and the plain semantics judge the last step differently.")
