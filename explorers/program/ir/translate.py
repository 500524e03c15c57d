"""From a checked model to its typed program."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from fencepost.explorers.program.ir.effects import reads_of, with_effects
from fencepost.explorers.program.ir.expressions import kind_of_value, where
from fencepost.explorers.program.ir.lifted import Lifted, over_values
from fencepost.explorers.program.ir.nodes import Fold, FoldOp, Local, Logic, Require, Return
from fencepost.explorers.program.ir.program import Action, Behaviour, Function, Guard, Parameter, Program
from fencepost.explorers.program.ir.ranges import with_ranges
from fencepost.explorers.program.ir.statements import Statements
from fencepost.explorers.program.subset.kinds import INT, Several
from fencepost.explorers.program.subset.program import bounds_of, check, is_require

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from fencepost.explorers.program.ir.nodes import At, Block, Expression, Slot, Type
    from fencepost.explorers.program.subset.kinds import Function as SubsetFunction
    from fencepost.explorers.program.subset.program import Program as SubsetProgram
    from fencepost.model.language.actions import Action as ModelAction
    from fencepost.model.language.actions import Property
    from fencepost.model.language.machine import Machine


def translate(machine: Machine, properties: tuple[Property, ...] = ()) -> Program:
    """Return a machine and properties as a typed program; raise ModelError where the text is outside the language."""
    checked = check(machine, properties)
    translation = Translation(checked)
    actions = [translation.action(item, checked.actions[item.name]) for item in machine.actions]
    initial = translation.action(machine.initial, checked.initial)
    whole = Program(
        machine,
        properties,
        (),
        initial,
        tuple(actions),
        None if checked.normalize is None else translation.function(checked.normalize),
        {
            item.name: translation.property(item, checked.properties[item.name])
            for item in properties
            if item.eventual is None
        },
        {
            name: Behaviour(
                None if item.when is None else translation.function(item.when),
                translation.function(item.then),
                None if item.cost is None else translation.function(item.cost),
            )
            for name, item in checked.behaviours.items()
        },
        bounds_of(checked),
    )
    whole = with_effects(with_ranges(replace(whole, functions=tuple(translation.functions))))
    return with_guards(whole, {item.name: translation.texts[item.function] for item in (initial, *actions)})


class Translation:
    """One translation: the functions made so far, each after those that it calls."""

    def __init__(self, checked: SubsetProgram) -> None:
        self.checked = checked
        self.functions: list[Function] = []
        self.numbers: dict[object, int] = {}
        self.prefixes: dict[int, int] = {}
        """By function: how many of its statements are the guard part."""
        self.texts: dict[int, list[str]] = {}
        """By function: the conditions of its guards, as written."""

    def function(self, made: SubsetFunction, part: int | None = None) -> int:
        """Translate a function unless that was done, and return its number; `part` is one of its values."""
        key = made.python, part
        if key not in self.numbers:
            statements = Statements(self, made, part)
            body = statements.body()
            kind = made.returns.items[part] if isinstance(made.returns, Several) and part is not None else made.returns
            number = self.add(
                made.python, where(made.node), statements.parameters, tuple(statements.slots), body, kind_of_value(kind)
            )
            self.numbers[key] = number
            self.prefixes[number] = statements.prefix
            self.texts[number] = [
                ast.unparse(item.value.args[0])
                for item in made.node.body
                if isinstance(item, ast.Expr) and isinstance(item.value, ast.Call) and is_require(made, item)
            ]
        return self.numbers[key]

    def add(
        self,
        python: Callable[..., Any],
        at: At,
        parameters: int,
        slots: tuple[Slot, ...],
        body: Block,
        returns: Type | None,
    ) -> int:
        """Add a function whose first slots are its parameters, and return its number."""
        number = len(self.functions)
        self.functions.append(Function(number, python, at, slots[:parameters], slots, body, returns))
        return number

    def property(self, item: Property, made: SubsetFunction) -> int:
        """Translate a property of states or steps; with parameters it is about each of their values."""
        number = self.function(made)
        if not item.params:
            return number
        lifted = Lifted(self, made.python, where(made.node))
        inner = self.functions[number].parameters
        given = [
            lifted.read(lifted.given(Local(slot, at=lifted.at, type=slot.type))) for slot in inner[: -len(item.params)]
        ]
        found = over_values(lifted, number, given, item.params, every=item.kind.must_hold)
        slots = tuple(lifted.slots)
        return self.add(made.python, lifted.at, len(given), slots, (Return(found, at=lifted.at),), INT)

    def action(self, item: ModelAction, made: SubsetFunction) -> Action:
        """Return an action, its guards left out."""
        number = self.function(made)
        slots = self.functions[number].parameters[1:]
        parameters = tuple(Parameter(slot, domain) for slot, (_, domain) in zip(slots, item.params, strict=True))
        return Action(item.name, number, parameters, self.prefixes[number], ())


def with_guards(program: Program, texts: dict[str, list[str]]) -> Program:
    """Return a program whose actions know their guards, counted through all actions."""
    found = []
    first = 0
    for action in program.actions:
        prefix = program.of(action).body[: action.prefix]
        guards = tuple(
            Guard(
                first + item.number,
                action.name,
                texts[action.name][item.number],
                item.at,
                item.condition,
                parts_of(item.condition),
                reads_of(program, program.of(action), item.condition, prefix[: prefix.index(item)]),
                item.bound,
            )
            for item in prefix
            if isinstance(item, Require)
        )
        found.append(replace(action, guards=guards))
        first += len(guards)
    return replace(program, actions=tuple(found))


def parts_of(condition: Expression) -> tuple[Expression, ...]:
    """Return what a condition asks for, where that is several things at once: `a and b`, or `all(a and b for ...)`."""
    if isinstance(condition, Fold) and condition.operator is FoldOp.ALL:
        condition = condition.value
    return condition.values if isinstance(condition, Logic) and condition.conjunction else ()
