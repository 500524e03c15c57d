"""Conversion of states and messages to text: names, values, and the differences between two states."""

from collections.abc import Iterator
from typing import Any

from fencepost.model.language.records import ArrayOf, BagOf, Key, Nested, Record, Scalar, fields


def show_message(record: type[Record], key: Key) -> str:
    """Return a message as `{field=value,...}` without spaces, as in traces."""
    parts = (f"{name}={_compact(field, value)}" for (name, field), value in zip(fields(record), key, strict=True))
    return "{" + ",".join(parts) + "}"


def _compact(field: Any, value: Any) -> str:
    if isinstance(field, Scalar):
        return field.domain.show(value)
    if isinstance(field, Nested):
        return show_message(field.record, value)
    element = Nested(field.record) if isinstance(field, BagOf) else field.element
    return "[" + ",".join(_compact(element, item) for item in value) + "]"


def leaves(record: type[Record], key: Key, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path, value as text) for every scalar of a record. A bag is a single leaf."""
    for (name, field), value in zip(fields(record), key, strict=True):
        path = f"{prefix}{name}"
        if isinstance(field, Scalar):
            yield path, field.domain.show(value)
        elif isinstance(field, Nested):
            yield from leaves(field.record, value, f"{path}.")
        elif isinstance(field, BagOf):
            yield path, " ".join(show_message(field.record, item) for item in value) or "empty"
        elif isinstance(field, ArrayOf):
            yield from _array_leaves(field, value, path)


def _array_leaves(field: ArrayOf, value: Any, path: str) -> Iterator[tuple[str, str]]:
    for index, item in enumerate(value):
        if isinstance(field.element, Scalar):
            yield f"{path}[{index}]", field.element.domain.show(item)
        else:
            yield from leaves(field.element.record, item, f"{path}[{index}].")


def changes(record: type[Record], before: Key, after: Key) -> list[tuple[str, str, str]]:
    """Return (path, old, new) for every leaf that differs."""
    pairs = zip(leaves(record, before), leaves(record, after), strict=True)
    return [(path, old, new) for (path, old), (_, new) in pairs if old != new]
