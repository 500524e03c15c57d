"""A machine in one shape as what is compiled: a module of LLVM, and what its caller has to know of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from fencepost.explorers.native.layout import Layout, layout_of
from fencepost.explorers.native.lower.actions import Judged, Wanted
from fencepost.explorers.native.lower.bounds import Bounds
from fencepost.explorers.native.lower.machine import write_expand, write_judge
from fencepost.explorers.native.lower.masks import Masks
from fencepost.explorers.native.lower.module import Module
from fencepost.explorers.program.ir.nodes import Expression, Require, Switch
from fencepost.explorers.program.ir.walk import rebuilt
from fencepost.model.language.domains import InFlight, evaluated
from fencepost.model.language.errors import UsageError
from fencepost.model.language.interpreter import MOST_COMBINATIONS
from fencepost.model.language.records import BagOf, fields

if TYPE_CHECKING:
    from fencepost.explorers.native.llvm.unit import Lowered
    from fencepost.explorers.native.lower.shape import Shape
    from fencepost.explorers.program.ir.nodes import Node
    from fencepost.explorers.program.ir.program import Action, Guard, Program
    from fencepost.model.language.actions import Property
    from fencepost.model.language.constants import Constants


MOST_SUCCESSORS = 1 << 28
"""Successors of one state that there is room for."""


@dataclass(frozen=True)
class Source:
    """A module to compile and what its caller has to know of it."""

    unit: Lowered
    layout: Layout
    shape: Shape
    rows: int
    """Where the data of rows begin in the check array."""
    guards: tuple[tuple[str, str], ...]
    """(action, condition) of every guard, in the order of their counters."""
    state_properties: tuple[Property, ...]
    step_properties: tuple[Property, ...]
    most_successors: int
    masks: Masks | None = None
    """Where guards are turned off, in a module that was made for it."""
    bounds: tuple[str, ...] = ()
    """The constants whose bounds are counted, behind the guards: states for each, then refusals with others."""
    counting: int | None = None
    """The place in the check array that has those which are counted, as bits."""

    @cached_property
    def counters(self) -> int:
        """How many counters of refusals there are: of guards, and of bounds."""
        return len(self.guards) + 2 * len(self.bounds)

    @property
    def text(self) -> str:
        return self.unit.text

    def question(self, constants: Constants) -> str:
        """Return the whole model of a run: the module, and the ends of domains and sizes."""
        layout = self.layout.at(evaluated(self.layout.depends, constants.values))
        return f"{self.text}\n{evaluated(self.shape.depends, constants.values)}\n{layout.leaves}"


def lowered(program: Program, constants: Constants, *, normalize: bool, masked: bool = False) -> Source:
    """Return the module for a typed program in the shape of these constants."""
    layout = layout_of(program.machine.state, constants)
    module = Module(with_switches(program) if masked else program, layout)
    masks = Masks(module) if masked else None
    bounds = module.bounds = Bounds(module) if program.bounds and masks is None else None
    steps = [item for item in program.asked if item.over_steps]
    judged = tuple(Judged(place, item, program.properties[item.name]) for place, item in enumerate(steps))
    write_expand(module, Wanted(program.normalize if normalize else None, judged, masks, bounds))
    write_judge(module, [item for item in program.asked if not item.over_steps])
    return source_of(module, program.asked, masks, bounds)


def source_of(
    module: Module, properties: tuple[Property, ...] = (), masks: Masks | None = None, bounds: Bounds | None = None
) -> Source:
    """Return a module that is written, with what its caller has to know of it."""
    return Source(
        module.lowered(),
        module.layout,
        module.shape,
        module.rows.place,
        tuple((guard.action, guard.text) for guard in module.program.guards),
        tuple(item for item in properties if not item.over_steps),
        tuple(item for item in properties if item.over_steps),
        most_successors(module),
        masks,
        () if bounds is None else module.program.bounds,
        None if bounds is None else bounds.counting,
    )


def most_successors(module: Module) -> int:
    """Return how many successors a state may have: every action with every combination of its parameters.

    Raise UsageError for more than `MOST_SUCCESSORS`.
    """
    total = 0
    for action in module.program.actions:
        combinations = values = 1
        for parameter in action.parameters:
            if isinstance(parameter.domain, InFlight):
                field = dict(fields(module.program.machine.state))[parameter.domain.bag]
                assert isinstance(field, BagOf)
                combinations *= module.layout.extent(field.room)
            else:
                values *= module.shape.most(parameter.domain)
        combinations *= values
        total += combinations
        if total > MOST_SUCCESSORS:
            plain = ", or ask with `engine='plain'`" if values <= MOST_COMBINATIONS else ""
            raise UsageError(
                f"protocol {module.program.machine.name!r}: the parameters of action {action.name.replace('_', '-')!r} "
                f"have {combinations:,} combinations, and a compiled state has room for {MOST_SUCCESSORS:,} "
                f"successors. Give them smaller domains{plain}."
            )
    return total


def with_switches(program: Program) -> Program:
    """Return a program in which every guard, and every part of one, stands in a `Switch`.

    Actions that share a function have guards of their own, so that each but the first gets a function of its own.
    """
    functions = list(program.functions)
    actions: list[Action] = []
    for action in program.actions:
        function = program.of(action)
        if any(action.function == other.function for other in actions):
            function = replace(function, number=len(functions))
            functions.append(function)
        conditions = [switched(guard) for guard in action.guards]
        body = tuple(
            replace(item, condition=conditions[item.number]) if isinstance(item, Require) else item
            for item in function.body
        )
        functions[function.number] = replace(function, body=body)
        guards = (replace(guard, condition=made) for guard, made in zip(action.guards, conditions, strict=True))
        actions.append(replace(action, function=function.number, guards=tuple(guards)))
    return replace(program, functions=tuple(functions), actions=tuple(actions))


def switched(guard: Guard) -> Switch:
    """Return the condition of a guard with a switch around it, and around each of its parts."""
    numbers: dict[Node, int] = {part: number for number, part in enumerate(guard.parts, 1)}

    def change(node: Node) -> Node:
        inner = rebuilt(node, change)
        return _switch(guard, numbers[node], inner) if node in numbers and isinstance(inner, Expression) else inner

    return _switch(guard, 0, rebuilt(guard.condition, change))


def _switch(guard: Guard, part: int, condition: Expression) -> Switch:
    return Switch(
        guard.number, part, condition, at=condition.at, low=min(1, condition.low), high=max(1, condition.high)
    )
