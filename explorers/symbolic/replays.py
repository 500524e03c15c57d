"""Replays of z3's findings under the plain semantics, step by step. Any error during a replay is raised."""

from __future__ import annotations

import re
import sys
import typing
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fencepost.explorers.paths import values_of
from fencepost.model.language.actions import Property
from fencepost.model.language.constants import SHAPE
from fencepost.model.language.domains import BitSet, Extreme, Index, InFlight, Range, domain_of, linear
from fencepost.model.language.errors import DisabledError, DomainError, MismatchError, UsageError, nearest
from fencepost.model.language.interpreter import Interpreter, Path, Step
from fencepost.model.language.machine import Machine

if TYPE_CHECKING:
    from fencepost.explorers.symbolic.unroll import History


def replay(machine: Machine, history: History, properties: tuple[Property, ...]) -> Path:
    """Return the path of a run that violates a property. If the run ends with an error instead, raise that DomainError,
    with the states and steps before it. Raise MismatchError if the run does not show the finding.
    """
    plain = Interpreter(machine, machine.set_constants(history.constants))
    for name, args in history.steps:
        require_tried_arguments(plain, Step(machine.action(name), args))
    require_tried_arguments(plain, Step(machine.initial, history.first))
    try:
        initially = plain.begin(history.first) == history.start  # raises any error in the initial state
    except DisabledError:
        initially = False
    if not initially:
        raise MismatchError(
            "z3 found a run from a state that is not initial under the plain semantics. Please report this."
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
                "z3 found a run that ends with an error, but under the plain semantics it does not. Please report this."
            )
        holds = plain.holds_step(prop, states[-2], last) if prop.over_steps and last else plain.holds(prop, states[-1])
    except DomainError as error:
        error.states, error.steps = tuple(states), tuple(steps)
        raise
    if holds:
        raise MismatchError(
            f"z3 found a run that violates {prop.name!r}, but under the plain semantics it does not. Please report "
            "this."
        )
    return Path(history.start, tuple(steps), tuple(states))


def require_tried_arguments(plain: Interpreter, step: Step) -> None:
    """Raise MismatchError if the plain semantics never tries a step's arguments. Messages are not checked."""
    for (name, domain), value in zip(step.action.params, step.args, strict=True):
        if not isinstance(domain, InFlight) and value not in values_of(plain.schema, domain):
            raise MismatchError(
                f"z3 found a step with {name}={domain.show(value)}, which is out of its domain. Please report this."
            )


def lifted_names(machine: Machine, given: Iterable[str], option: str) -> list[str]:
    declared = machine.constants.declared()
    domains = domains_of(machine)
    found: dict[str, None] = {}
    for word in (part.strip() for text in given for part in text.split(",") if part.strip()):
        name = word.replace("-", "_").lower()
        names = [name] if name in declared else domains.get(name)
        if names is None:
            known = [*declared, *domains]
            raise UsageError(
                f"{option} names {word!r}, which is neither a constant nor a domain of "
                f"{machine.name!r}.{nearest(name, known)} The domains are: {', '.join(domains) or 'none'}; the "
                f"constants are: {', '.join(declared)}."
            )
        for item in names:
            if declared[item].sort == SHAPE or declared[item].spellings():
                what = "a size" if declared[item].sort == SHAPE else "a switch or a choice"
                raise UsageError(
                    f"{option} names {word!r}: constant {item!r} is {what}, which has a fixed value in a proof: write "
                    f"`{item}=VALUE`."
                )
        found |= dict.fromkeys(names)
    return list(found)


def domains_of(machine: Machine) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    module = sys.modules.get(machine.state.__module__)
    for alias, item in vars(module).items() if module else ():
        if typing.get_origin(item) is not typing.Annotated:
            continue
        domain = domain_of(item)
        if isinstance(domain, Range) and not isinstance(domain, Index | BitSet):
            terms = linear(domain.high).terms
            names = [one for name in terms for one in (sorted(name.names) if isinstance(name, Extreme) else [name])]
            if names:
                found[re.sub(r"(?<=[a-z])(?=[A-Z])", "_", alias).lower()] = names
    return found
