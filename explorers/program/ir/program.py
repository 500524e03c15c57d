"""A whole machine as a typed program: functions, actions with their parameters and guards, properties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fencepost.explorers.program.ir.nodes import At, Block, Expression, Slot, Type
    from fencepost.model.language.actions import Property
    from fencepost.model.language.domains import Domain, InFlight
    from fencepost.model.language.machine import Machine

Paths = frozenset[tuple[int, str]]
"""Places as (parameter, path): `(0, "replica[].log[].epoch")` is in the record that the first parameter refers to."""


@dataclass(frozen=True, slots=True, eq=False)
class Effects:
    """Paths that a function reads and writes, helpers included.

    Paths are those of scalars. A bag has a path of its own too (`box`): which messages are in it, and in which
    order. `disorders` are the bags that may be out of canonical order afterwards, `gives` the places where a
    record that it returns may be.
    """

    reads: Paths = frozenset()
    writes: Paths = frozenset()
    disorders: Paths = frozenset()
    gives: Paths = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A checked function.

    `parameters` leaves out those that stand for the constants, which `Constant` reads anywhere. `slots` are all locals,
    parameters first, each at the place of its number. `calls` are the functions that it calls itself.
    """

    number: int
    python: Callable[..., Any]
    at: At
    parameters: tuple[Slot, ...]
    slots: tuple[Slot, ...]
    body: Block
    returns: Type | None
    calls: frozenset[int] = frozenset()
    can_fail: bool = True
    effects: Effects = Effects()

    @property
    def name(self) -> str:
        return self.python.__name__


@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """A parameter of an action: each value of a domain but NONE, or each of the different messages in a bag."""

    slot: Slot
    domain: Domain | InFlight


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """A `require` of an action: `number` counts the guards of the program, `text` is its condition as written.

    `parts` are what it asks for, where that is several things at once: what ablation turns off one by one. `reads` is
    all that it depends on, locals before it included.
    """

    number: int
    action: str
    text: str
    at: At
    condition: Expression
    parts: tuple[Expression, ...]
    reads: Paths
    bound: str | None = None
    """The constant that it stands for alone, None if it is a rule of the protocol."""


@dataclass(frozen=True, slots=True, eq=False)
class Action:
    """An action: `function` with its parameters, of which the state is the first.

    The first `prefix` statements of its body are those up to the last guard: they write nothing.
    """

    name: str
    function: int
    parameters: tuple[Parameter, ...]
    prefix: int
    guards: tuple[Guard, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Behaviour:
    """A leads-to or at-most property: `when` and `then` of (state, *parameters), `cost` of (before, after)."""

    when: int | None
    then: int
    cost: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A machine and properties. A function is at the place of its number, after those that it calls.

    `properties` has the function of each property over states or steps: of (state), or of (before, after) and then the
    parameters of the action that it is on.
    """

    machine: Machine
    asked: tuple[Property, ...]
    functions: tuple[Function, ...]
    initial: Action
    actions: tuple[Action, ...]
    normalize: int | None
    properties: Mapping[str, int]
    behaviours: Mapping[str, Behaviour]
    bounds: tuple[str, ...] = ()
    """The constants that guards or effects stand for, in the order of the constants."""

    @property
    def guards(self) -> tuple[Guard, ...]:
        """The guards of all actions, each at the place of its number."""
        return tuple(guard for action in self.actions for guard in action.guards)

    @property
    def roots(self) -> tuple[int, ...]:
        """The functions that are called from outside."""
        asked = [number for item in self.behaviours.values() for number in (item.when, item.then, item.cost)]
        acting = [item.function for item in (self.initial, *self.actions)]
        every = [*acting, self.normalize, *self.properties.values(), *asked]
        return tuple(number for number in every if number is not None)

    def of(self, action: Action) -> Function:
        return self.functions[action.function]
