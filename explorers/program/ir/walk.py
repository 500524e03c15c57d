"""Going through nodes: the parts of one, all that is inside it, and the same node with other parts."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, TypeVar

from fencepost.explorers.program.ir.nodes import Expression, Node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Kind = TypeVar("Kind", bound=Node)


_COMMON = {item.name for item in dataclasses.fields(Expression)}
_HOLDERS: dict[type[Node], tuple[str, ...]] = {}


def _holders(kind: type[Node]) -> tuple[str, ...]:
    """Return the names of the fields that may hold parts: those that a node or an expression has as such hold none."""
    if kind not in _HOLDERS:
        _HOLDERS[kind] = tuple(item.name for item in dataclasses.fields(kind) if item.name not in _COMMON)
    return _HOLDERS[kind]


def _nodes(value: Any) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _nodes(item)


def parts(node: Node) -> Iterator[Node]:
    """Yield the parts of a node, in the order of their evaluation where that is the order of its fields."""
    for name in _holders(type(node)):
        yield from _nodes(getattr(node, name))


def inside(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield these nodes and all that is inside them, each before its parts."""
    for node in nodes:
        yield node
        yield from inside(parts(node))


def rebuilt(node: Kind, change: Callable[[Node], Node], **values: Any) -> Kind:
    """Return a node with each of its parts changed, and with these values; the same node where nothing is different."""
    for name in _holders(type(node)):
        old = getattr(node, name)
        new = _changed(old, change)
        if new is not old:
            values[name] = new
    return dataclasses.replace(node, **values) if values else node


def _changed(value: Any, change: Callable[[Node], Node]) -> Any:
    if isinstance(value, Node):
        return change(value)
    if isinstance(value, tuple):
        items = tuple(_changed(item, change) for item in value)
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
    return value
