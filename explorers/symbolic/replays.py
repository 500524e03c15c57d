"""What z3 found, on the plain semantics: runs are taken step by step, and what they end with is raised."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.explorers.parameters import values_of
from fencepost.model.language.domains import InFlight
from fencepost.model.language.errors import DisabledError, DomainError, MismatchError
from fencepost.model.language.interpreter import Interpreter, Path, Step

if TYPE_CHECKING:
    from fencepost.explorers.symbolic.unroll import History
    from fencepost.model.language.actions import Property
    from fencepost.model.language.machine import Machine


def replay(machine: Machine, history: History, properties: tuple[Property, ...]) -> Path:
    """Return a run that violates a property. One that violates none ends with an error.

    Raises DomainError, with the states and steps before it, if a step or the property ends with one, and MismatchError
    if the run does not show what it should.
    """
    plain = Interpreter(machine, machine.set_constants(history.constants))
    for name, args in history.steps:
        look_at_arguments(plain, Step(machine.action(name), args))
    look_at_arguments(plain, Step(machine.initial, history.first))
    try:
        initially = plain.begin(history.first) == history.start  # raises what a start ends with
    except DisabledError:
        initially = False
    if not initially:
        raise MismatchError(
            "z3 found a run from a state that is not initial on the plain semantics. Please report this."
        )
    prop = next((item for item in properties if item.name == history.violates), None)
    states, steps, last = [history.start], [], None
    try:
        for name, args in history.steps:
            step = Step(machine.action(name), args)
            last = plain.apply(states[-1], step)
            steps.append(step)
            states.append(last.after)
        if prop is None or (prop.over_steps and last is None):
            raise MismatchError(
                "z3 found a run that ends with an error, and on the plain semantics it does not. Please report this."
            )
        holds = plain.holds_step(prop, states[-2], last) if prop.over_steps and last else plain.holds(prop, states[-1])
    except DomainError as error:
        error.states, error.steps = tuple(states), tuple(steps)
        raise
    if holds:
        raise MismatchError(
            f"z3 found a run that violates {prop.name!r}, and on the plain semantics it does not. Please report this."
        )
    return Path(history.start, tuple(steps), tuple(states))


def look_at_arguments(plain: Interpreter, step: Step) -> None:
    """Raise MismatchError if the plain semantics never tries a step with these numbers, messages aside."""
    for (name, domain), value in zip(step.action.params, step.args, strict=True):
        if not isinstance(domain, InFlight) and value not in values_of(plain.schema, domain):
            raise MismatchError(
                f"z3 found a step with {name}={domain.show(value)}, which is out of its domain. Please report this."
            )
