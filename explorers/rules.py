"""A machine as plain rules of Hypothesis, one for each action: slower than schedules, easy to debug."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.explorers.parameters import values_of
from fencepost.explorers.stateful import ViolatedError, hypothesis
from fencepost.explorers.verdict import refuse_behaviours
from fencepost.model.language.actions import Kind
from fencepost.model.language.domains import Domain, InFlight
from fencepost.model.language.errors import DisabledError
from fencepost.model.language.interpreter import Interpreter, Step
from fencepost.model.language.records import key_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.model.language.actions import Action, Property
    from fencepost.model.language.constants import Constants
    from fencepost.model.language.machine import Machine

MOST_MESSAGES = 1 << 16
OURS = "do_"
"""Stands before the names of actions and parameters, so that none means something to Hypothesis."""


def rule_machine(machine: Machine, constants: Constants, properties: tuple[Property, ...]) -> Any:
    """Return a RuleBasedStateMachine: rules draw an action's parameters, and do nothing where a guard refuses.

    Its class attributes `calls` and `steps` count the rules that were run, and those of them that did something. Raises
    UsageError for a property of whole behaviours.
    """
    hypothesis()
    refuse_behaviours(properties, "a run of rules has an end")
    from hypothesis import stateful

    plain = Interpreter(machine, constants)
    must = [item for item in properties if item.kind is not Kind.SOMETIMES]
    starts = plain.initial_states()

    def begin(self: Any, number: int) -> None:
        self.state = starts[number % len(starts)]

    def holds(self: Any) -> None:
        for prop in must:
            if not prop.over_steps and not plain.holds(prop, self.state):
                raise ViolatedError(prop, b"")

    strategies = hypothesis().strategies
    content: dict[str, Any] = {
        "calls": 0,
        "steps": 0,
        "begin": stateful.initialize(number=strategies.integers(0, len(starts) - 1))(begin),
        "holds": stateful.invariant()(holds),
    }
    rule: Callable[..., Callable[[Callable[..., None]], Callable[..., None]]] = stateful.rule
    for item in machine.actions:
        drawn = {name: _strategy(plain, domain) for name, domain in item.params}
        if None not in drawn.values():
            content[f"{OURS}{item.name}"] = rule(**{f"{OURS}{name}": drawn[name] for name in drawn})(
                _rule(plain, item, must)
            )
    content["__doc__"] = machine.sentence
    return type(machine.name.title().replace("-", ""), (stateful.RuleBasedStateMachine,), content)


def _strategy(plain: Interpreter, domain: Domain | InFlight) -> Any:
    """Return what draws a parameter, None if it has no values; for a message, its number in flight."""
    strategies = hypothesis().strategies
    if isinstance(domain, InFlight):
        return strategies.integers(0, MOST_MESSAGES - 1)
    values = values_of(plain.schema, domain)
    return strategies.integers(values.start, values.stop - 1) if values else None


def _rule(plain: Interpreter, item: Action, must: list[Property]) -> Callable[..., None]:
    def rule(self: Any, /, **drawn: int) -> None:
        kind = type(self)
        kind.calls += 1
        arguments: list[Any] = []
        for name, domain in item.params:
            value = drawn[f"{OURS}{name}"]
            if isinstance(domain, InFlight):
                bag = [key_of(message) for message in getattr(plain.schema.restore(self.state), domain.bag)]
                if not bag:
                    return
                arguments.append(bag[value % len(bag)])
            else:
                arguments.append(value)
        try:
            happened = plain.apply(self.state, Step(item, tuple(arguments)))
        except DisabledError:
            return
        kind.steps += 1
        for prop in must:
            if prop.over_steps and not plain.holds_step(prop, self.state, happened):
                raise ViolatedError(prop, b"")
        self.state = happened.after

    rule.__name__ = item.name
    return rule
