"""What the manifest of a checkpoint must be before a search believes it: types, ranges, and what belongs together.

Its checksum finds what was damaged or edited by hand. These checks hold for a manifest that fits its checksum as well: it may
say what is not so, and it cannot make a search fail, read outside of an array, or run for ever.
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
from fencepost.explorers.native import store
from fencepost.explorers.native.compile import NO_PARENT
from fencepost.explorers.native.layout import BITS
from fencepost.explorers.native.store import Position
from fencepost.model.language.records import ArrayOf, BagOf, Nested, Record, Scalar
from fencepost.model.language.records import fields as fields_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fencepost.explorers.native.expansion import Expansion
    from fencepost.explorers.native.layout import Layout
    from fencepost.model.language.records import FieldType

PARTS = {"format", "question", "slot", "position", "bases", "files"}
LARGEST = 1 << 62
ROWS = 1 << 14
"""Rows that are looked at together: they fit a core's cache."""


class InvalidError(ValueError):
    """A manifest or a data file says what no search can have written."""


def position_in(manifest: dict[str, Any], search: Expansion) -> tuple[Position, list[list[int]]]:
    """Return the position, and (count, base, fresh base) of each owner; raise InvalidError for what cannot be."""
    _need(set(manifest) == PARTS)
    data, bases = manifest["position"], manifest["bases"]
    _need(isinstance(data, dict) and set(data) == {item.name for item in fields(Position)})
    owners = search.owners
    _need(isinstance(bases, list) and len(bases) == owners)
    for base in bases:
        _numbers(base, 3)
    counts = [count for count, _, _ in bases]
    _need(max(counts) <= store.MOST_STATES)
    _levels(data, counts)
    _bases(data, bases, compact=search.options.compact)
    _counts(data, search, sum(counts))
    _found(data, search, counts)
    return Position(**data), bases


def _levels(data: dict[str, Any], counts: list[int]) -> None:
    """Look at what says how far the levels go."""
    levels = data["levels"]
    _need(isinstance(levels, list) and bool(levels))
    _numbers(levels, len(levels))
    _need(all(levels[1:]) and _whole(data["depth"]) and data["depth"] == len(levels))
    for name in ("starts", "ends", "judged"):
        _numbers(data[name], len(counts))
    _need(all(start <= end <= count for start, end, count in zip(data["starts"], data["ends"], counts, strict=True)))
    _need(data["judged"] == data["ends"])
    _need(sum(data["ends"]) == sum(levels) and sum(data["starts"]) == sum(levels[:-1]))
    _need(_whole(data["next_round"]) and data["next_round"] <= levels[-1])


def _bases(data: dict[str, Any], bases: list[list[int]], *, compact: bool) -> None:
    """Look at which numbers the rows begin with."""
    for (_, base, fresh_base), start, end in zip(bases, data["starts"], data["ends"], strict=True):
        _need((base, fresh_base) == ((start, end) if compact else (0, 0)))


def _counts(data: dict[str, Any], search: Expansion, distinct: int) -> None:
    """Look at what was counted."""
    _numbers(data["fired"], len(search.machine.actions))
    _numbers(data["refused"], search.kernels.source.counters)
    _need(_whole(data["counting"]) and data["counting"] < 1 << len(search.kernels.source.bounds))
    _need(_whole(data["initial"]) and data["levels"][0] <= data["initial"])
    _need(data["initial"] + sum(data["fired"]) >= distinct)
    _need(_whole(data["deadlocks"]) and data["deadlocks"] <= distinct)
    seconds = data["seconds"]
    _need(type(seconds) in (int, float) and math.isfinite(seconds) and seconds >= 0)


def _found(data: dict[str, Any], search: Expansion, counts: list[int]) -> None:
    """Look at the states that decide something."""

    def is_state(number: object) -> bool:
        return _whole(number) and number // search.owners < counts[number % search.owners]  # type: ignore[operator]

    _need((data["deadlock"] == -1 and type(data["deadlock"]) is int) or is_state(data["deadlock"]))
    _need((data["deadlock"] == -1) == (data["deadlocks"] == 0))
    _need(isinstance(data["found"], dict) and set(data["found"]) <= {item.name for item in search.properties})
    _need(all(map(is_state, data["found"].values())))


def files_in(manifest: dict[str, Any], wanted: set[str]) -> dict[str, dict[str, Any]]:
    """Return size and checksum of each data file; raise InvalidError unless they are those that are wanted."""
    files = manifest["files"]
    _need(isinstance(files, dict) and set(files) == wanted)
    for data in files.values():
        _need(isinstance(data, dict) and set(data) == {"bytes", "sha256"})
        _need(_whole(data["bytes"]) and isinstance(data["sha256"], str))
    found: dict[str, dict[str, Any]] = files
    return found


def look_at_parents(parents: np.ndarray[Any, Any], data: Position, owners: int) -> None:
    """Raise InvalidError for a parent that is not an expanded state."""
    known = parents[parents != NO_PARENT].astype(np.int64)
    _need(bool((known // owners < np.array(data.ends, np.int64)[known % owners]).all()))


def look_at_rows(rows: np.ndarray[Any, Any], layout: Layout, values: Mapping[str, int]) -> None:
    """Raise InvalidError for rows that are not states: compiled code relies on the domains of fields."""
    for first in range(0, len(rows), ROWS):
        some = rows[first : first + ROWS]
        _record(layout.unpack(some), layout.state, values, np.ones(len(some), bool))
        unused = layout.words * BITS - layout.bits
        _need(
            not unused
            or not (some["words"][:, -1] >> np.uint64(BITS - unused) if unused < BITS else some["words"][:, -1]).any()
        )


def _record(rows: Any, record: type[Record], values: Mapping[str, int], there: np.ndarray[Any, Any]) -> None:
    """Look at the fields of records, (n,); those that are not `there` must be zero."""
    for name, field in fields_of(record):
        _field(rows[name], field, values, there)


def _field(column: Any, field: FieldType, values: Mapping[str, int], there: np.ndarray[Any, Any]) -> None:
    if isinstance(field, Scalar):
        low, high = field.domain.bounds(values)
        _need(bool((np.where(there, (column >= low) & (column <= high), column == 0)).all()))
    elif isinstance(field, Nested):
        _record(column, field.record, values, there)
    elif isinstance(field, ArrayOf):
        length = field.length.value(values)
        for index in range(column.shape[1]):
            _field(column[:, index], field.element, values, there & (index < length))
    else:
        _bag(column, field, values, there)


def _bag(column: Any, field: BagOf, values: Mapping[str, int], there: np.ndarray[Any, Any]) -> None:
    count, room = column["count"], field.room.value(values)
    _need(bool(np.where(there, (count >= 0) & (count <= room), count == 0).all()))
    for index in range(column["items"].shape[1]):
        _record(column["items"][:, index], field.record, values, there & (index < count))


def _whole(value: object) -> bool:
    """Say whether this is a whole number that a search can count to."""
    return type(value) is int and 0 <= value < LARGEST


def _numbers(values: object, length: int) -> None:
    _need(isinstance(values, list) and len(values) == length and all(map(_whole, values)))


def _need(holds: bool) -> None:  # noqa: FBT001 (a condition, like an assertion's)
    if not holds:
        raise InvalidError
