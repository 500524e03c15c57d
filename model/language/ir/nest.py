"""The loops over an action's parameters, with each guard as far out as what it reads allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fencepost.model.language.ir.nodes import Block, Require
    from fencepost.model.language.ir.program import Guard, Parameter


@dataclass(frozen=True, slots=True, eq=False)
class Over:
    """A loop over the values of a parameter: what follows is its body."""

    parameter: Parameter


@dataclass(frozen=True, slots=True, eq=False)
class Compute:
    """Statements of the guard part that come before what follows. They write nothing but slots."""

    statements: Block


@dataclass(frozen=True, slots=True, eq=False)
class Test:
    """A guard: where it does not hold, what follows does not happen, and it has refused.

    It has then refused once for each combination of values of the parameters that are not chosen yet.
    """

    guard: Guard
    statement: Require
    unchosen: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Nest:
    """How the guard part of an action is run in a state: its steps, each inside the one before it.

    They lead to `effect`, the whole body without its guards, which is run on a copy of the state. Nothing is run at all where a
    parameter has no value.
    """

    parameters: tuple[Parameter, ...]
    steps: tuple[Over | Compute | Test, ...]
    effect: Block
