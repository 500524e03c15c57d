"""Guards that can be turned off while the program runs, one program serving all of them: a pass over a program."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fencepost.explorers.program.ir.nodes import Expression, Require, Switch
from fencepost.explorers.program.ir.walk import rebuilt

if TYPE_CHECKING:
    from fencepost.explorers.program.ir.nodes import Node
    from fencepost.explorers.program.ir.program import Action, Guard, Program


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
