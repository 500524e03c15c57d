"""Conversion of answers to and from JSON: each dataclass field becomes a key, in the order of the fields."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from html import escape
from importlib import import_module
from types import MappingProxyType
from typing import Any, get_args, get_origin, get_type_hints

from fencepost.model.language.errors import UsageError

FORMAT = 1
Json = dict[str, Any]
"""A JSON object in an answer; docs/use/json.md documents its keys."""
OPTIONAL, KEY = {"optional": True}, "key"
"""Metadata of a dataclass field that is omitted from the JSON if it is `None`, or has another name there."""


def as_json(value: Any) -> Any:
    """Return a value as JSON: dataclasses and mappings as objects, sequences as lists, and enums as their values."""
    if is_dataclass(value):
        shown = [(item, getattr(value, item.name)) for item in fields(value)]
        return {item.name: as_json(part) for item, part in shown if part is not None or "optional" not in item.metadata}
    if isinstance(value, Mapping):
        return {str(name): as_json(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [as_json(part) for part in value]
    return str(value) if isinstance(value, Enum) else value


def of_json(kind: Any, data: Any) -> Any:
    """Convert JSON to a value of the type `kind`. A dataclass field may have a different name in JSON, its `key`."""
    inner = get_args(kind)
    if isinstance(kind, type) and is_dataclass(kind):
        hints, keys = get_type_hints(kind), {item.name: item.metadata.get(KEY, item.name) for item in fields(kind)}
        return kind(**{name: of_json(hints[name], data[key]) for name, key in keys.items() if key in data})
    if get_origin(kind) is tuple:
        return tuple(of_json(inner[0], part) for part in data)
    if get_origin(kind) is Mapping:
        return MappingProxyType({name: of_json(inner[1], part) for name, part in data.items()})
    return kind(data) if isinstance(kind, type) and issubclass(kind, Enum) else data


def pick(source: Any, names: str) -> dict[str, Any]:
    """Return the named attributes of an object as JSON."""
    return {name: as_json(getattr(source, name)) for name in names.split()}


def actions_of(fired: Mapping[str, int]) -> list[Json]:
    """Return the number of times each action was taken, as JSON."""
    return [{"name": name, "fired": count} for name, count in fired.items()]


def judged(verdict: object, expected: object | None) -> dict[str, Any]:
    if expected is None:
        return {}
    return {"expected": {"verdict": str(expected)}, "as_expected": verdict is expected}


def pandas() -> Any:
    """Import pandas; raise UsageError if it is not installed."""
    try:
        return import_module("pandas")
    except ModuleNotFoundError:
        raise UsageError("to_frame() needs pandas, which is not installed: run `pip install pandas`.") from None


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    cells = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<p><b>{escape(title)}</b></p><table><tr>{''.join(f'<th>{name}</th>' for name in head)}</tr>{cells}</table>"


class Printed:
    """An answer that `print` shows as the first screen of the corresponding command."""

    def __str__(self) -> str:
        text: str = import_module("fencepost").first_screen(self)
        return text


class Answer(Printed):
    """The answer to a call, as a frozen dataclass."""

    def to_dict(self) -> dict[str, Any]:
        return {"format": FORMAT, **as_json(self)}
