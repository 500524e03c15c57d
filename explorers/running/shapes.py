"""Check of JSON that is read back: whether it has the shape that a dataclass or a TypedDict says."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import ModuleType, NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

LARGEST = 1 << 128
"""Numbers that we write are smaller; larger ones need not fit a float."""


def misfit(value: object, kind: Any, names: ModuleType | None = None, place: str = "") -> str:
    """Return where and how a value is not of a type, as one clause; an empty string if it is.

    A type is a dataclass or a TypedDict, a list, a dict or a union of types, a number, a text or a truth value;
    `Annotated[int, range(10)]` is a number in this range. `names` is the module that resolves names of annotations
    which are imported for type checkers alone.
    """
    origin, parts = get_origin(kind), get_args(kind)
    if kind is object:
        return ""
    if origin is NotRequired:
        return misfit(value, parts[0], names, place)
    if is_typeddict(kind) or is_dataclass(kind):
        return _object_misfit(value, kind, names, place)
    if origin is UnionType:
        found = [misfit(value, part, names, place) for part in parts]
        return found[-1] if all(found) else ""
    if origin is list and isinstance(value, list):
        return _first(misfit(item, parts[0], names, f"{place}[{number}]") for number, item in enumerate(value))
    if origin is dict and isinstance(value, dict):
        return _first(misfit(item, parts[1], names, _below(place, name)) for name, item in value.items())
    if origin is Literal:
        return "" if value in parts else _clause(place, " or ".join(map(repr, parts)), value)
    if origin is Annotated:
        inside = type(value) is parts[0] and value in parts[1]
        return "" if inside else _clause(place, f"{parts[1].start} to {parts[1].stop - 1}", value)
    is_of_kind = type(value) in {float: (float, int), None: (NoneType,)}.get(kind, (kind,))
    if is_of_kind and (not isinstance(value, int | float) or abs(value) < LARGEST):
        return ""
    return _clause(place, str(getattr(origin or kind, "__name__", kind)), value)


def _object_misfit(value: object, kind: Any, names: ModuleType | None, place: str) -> str:
    hints, needed = _keys(kind, names)
    if not isinstance(value, dict):
        return _clause(place, "object", value)
    wrong = [f"{_below(place, name)} is missing" for name in needed if name not in value]
    wrong += [f"{_below(place, name)} is unknown" for name in value if name not in hints]
    return _first(wrong) or _first(
        misfit(item, hints[name], names, _below(place, name)) for name, item in value.items()
    )


@cache
def _keys(kind: Any, names: ModuleType | None) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the type of each key of an object, and the keys that it must have."""
    hints = get_type_hints(kind, localns=vars(names) if names else None, include_extras=True)
    if is_typeddict(kind):
        needed = (name for name in sorted(kind.__required_keys__) if get_origin(hints[name]) is not NotRequired)
    else:
        needed = (item.name for item in fields(kind) if item.default is item.default_factory is MISSING)
    return hints, tuple(needed)


def _first(clauses: Any) -> str:
    return next(filter(None, clauses), "")


def _below(place: str, name: object) -> str:
    return f"{place}.{name}" if place else str(name)


def _clause(place: str, wanted: str, value: object) -> str:
    return f"{place or 'it'} must be {wanted}, and is {repr(value)[:40]}"
