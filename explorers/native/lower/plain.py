"""Conditions that are short and can be evaluated anywhere: their parts need not wait for each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.walk import inside
from fencepost.explorers.program.subset.kinds import INT

if TYPE_CHECKING:
    from fencepost.explorers.program.ir.nodes import Expression
    from fencepost.explorers.program.ir.program import Function

MOST = 40
"""Nodes of a condition that are evaluated without need: in more of them a branch that is guessed wrong costs less."""
_SIMPLE = (
    nodes.Literal, nodes.Constant, nodes.Local, nodes.Field, nodes.Element, nodes.Unary, nodes.Binary, nodes.Compare,
    nodes.Not, nodes.Among, nodes.Extreme, nodes.Logic, nodes.Call,
)  # fmt: skip


class Plain:
    """Finds plain conditions: no check can fail in them, they have no loop, and they write nothing."""

    def __init__(self, functions: tuple[Function, ...]) -> None:
        self.functions = functions
        self._sizes: dict[Expression, int | None] = {}

    def is_plain(self, node: Expression) -> bool:
        """Say whether a condition is plain."""
        size = self.size(node)
        return size is not None and size <= MOST

    def size(self, node: Expression) -> int | None:
        """Return how many nodes an expression has, those of its helpers included; None where it is not plain."""
        if node not in self._sizes:
            self._sizes[node] = self._size(node)
        return self._sizes[node]

    def _size(self, node: Expression) -> int | None:
        total = 0
        for item in inside([node]):
            if not isinstance(item, _SIMPLE) or item.checks:
                return None
            if isinstance(item, nodes.Logic) and not all(_is_flag(value) for value in item.values):
                return None
            total += 1
            if isinstance(item, nodes.Call):
                more = self._size_of(self.functions[item.function])
                if more is None:
                    return None
                total += more
        return total

    def _size_of(self, function: Function) -> int | None:
        total = 0
        for statement in function.body:
            if not isinstance(statement, nodes.Assign | nodes.Return) or statement.value is None:
                return None
            size = self.size(statement.value)
            if size is None:
                return None
            total += size
        return total


def _is_flag(node: Expression) -> bool:
    return node.type == INT and node.low >= 0 and node.high <= 1
