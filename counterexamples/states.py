"""The states of a path as small tables: the whole initial state, then the changes made by each step.

The code works with any schema. An array of records is a table with one row for each element. An array with a sibling
field for its end is a log, written as `[offset:epoch/id ...]` up to that end.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from fencepost.counterexamples.trace import WIDTH
from fencepost.model.language.domains import BitSet, Linear, Range, linear
from fencepost.model.language.printing import leaves, show_message
from fencepost.model.language.records import ArrayOf, BagOf, Key, Nested, Record, Scalar, fields

GAP = 2


class Cell(NamedTuple):
    """A field of a record, or of a record inside it (`quorum.leader`), with its value as text. A bag has `messages` and
    an empty text. The `legend` of a log lists the fields of its entries.
    """

    name: str
    text: str
    messages: tuple[str, ...] | None = None
    legend: str = ""

    @property
    def title(self) -> str:
        return f"{self.name} {self.legend}" if self.legend else self.name


class Part(NamedTuple):
    """A part of a state: the fields of the state itself (if `table` is empty), or one element of an array of records,
    which is a row of the array's table. Ghost variables and budgets form the last part, which has no table.
    """

    table: str
    place: tuple[int, ...]
    label: str
    cells: tuple[Cell, ...]


class Change(NamedTuple):
    """A field that differs between two states. For a message in a bag, the old or the new text is empty."""

    label: str
    name: str
    old: str
    new: str

    def __str__(self) -> str:
        if self.old and self.new:
            return f"{self.name} {self.old} -> {self.new}"
        return f"{self.name} - {self.old}" if self.old else f"{self.name} + {self.new}"

    @property
    def whole(self) -> str:
        """The change, and the part of the state that it belongs to."""
        return f"{self.label}.{self}" if self.label else str(self)

    @property
    def is_message(self) -> bool:
        return not (self.old and self.new)

    @property
    def is_aside(self) -> bool:
        """Return whether the field is a ghost variable or a budget, which follow the protocol's own fields."""
        return not self.label and is_aside(self.name)


def is_aside(name: str) -> bool:
    return name.startswith(("ghost_", "budget"))


def parts(record: type[Record], key: Key, known: frozenset[str] | None = None) -> list[Part]:
    """Return a state as parts: its own fields, each array of records by element, then ghost variables and budgets. If
    `known` names a file's constants, fields whose size depends only on newer constants are omitted.
    """
    found: list[Part] = []
    _collect(found, Part("", (), "", ()), record, key, known)
    own = found[0].cells
    found[0] = found[0]._replace(cells=tuple(cell for cell in own if not is_aside(cell.name)))
    return [*found, Part("", (), "", tuple(cell for cell in own if is_aside(cell.name)))]


def changes(record: type[Record], before: Key, after: Key) -> list[Change]:
    found: list[Change] = []
    for old, new in zip(parts(record, before), parts(record, after), strict=True):
        for was, now in zip(old.cells, new.cells, strict=True):
            if was.messages is not None and now.messages is not None:
                gone, come = difference(was.messages, now.messages)
                found += [Change(old.label, was.name, text, "") for text in gone]
                found += [Change(old.label, was.name, "", text) for text in come]
            elif was.text != now.text:
                found.append(Change(old.label, was.name, was.text, now.text))
    return found


def difference(before: Iterable[Any], after: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    old, new = Counter(before), Counter(after)
    return list((old - new).elements()), list((new - old).elements())


def merged(rows: Iterable[Part]) -> list[tuple[str, tuple[Cell, ...]]]:
    """Return the rows of a table with their index as text. Equal adjacent rows share an index such as `0..2`."""
    found = []
    for (prefix, cells), same in groupby(rows, key=lambda part: (part.place[:-1], part.cells)):
        last = [part.place[-1] for part in same]
        span = str(last[0]) if len(last) == 1 else f"{last[0]}..{last[-1]}"
        found.append((".".join([*map(str, prefix), span]), cells))
    return found


def tables(state: list[Part]) -> Iterator[tuple[str, list[Part]]]:
    names = dict.fromkeys(part.table for part in state if part.table)
    for name in names:
        yield name, [part for part in state if part.table == name]


def log_ends(record: type[Record]) -> dict[str, str]:
    """Return, for each array field that is a log, the sibling field that contains the log's end. The sibling field is
    called `<array>_end`, or `end` or `log_end_offset` for an array of records, and ranges from 0 to the array's length.
    """
    scalars = {name: field.domain for name, field in fields(record) if isinstance(field, Scalar)}
    found: dict[str, str] = {}
    for name, field in fields(record):
        if isinstance(field, ArrayOf):
            names = (f"{name}_end", "end", "log_end_offset") if isinstance(field.element, Nested) else (f"{name}_end",)
            for end in names:
                domain = scalars.get(end)
                if isinstance(domain, Range) and _spans(domain, field):
                    found.setdefault(name, end)
    return found


def pieces(widths: Sequence[int], room: int) -> Iterator[list[int]]:
    start = 1
    while start < max(2, len(widths)):
        end, used = start + 1, sum(GAP + width for width in widths[start : start + 1])
        while end < len(widths) and widths[0] + used + GAP + widths[end] <= room:
            used += GAP + widths[end]
            end += 1
        yield [0, *range(start, min(end, len(widths)))]
        start = end


def blocks(rows: Sequence[Sequence[str]], width: int = WIDTH) -> Iterator[list[list[str]]]:
    for columns in pieces([max(map(len, column)) for column in zip(*rows, strict=True)], width):
        yield [[row[place] for place in columns] for row in rows]


def _spans(domain: Range, array: ArrayOf) -> bool:
    low, high = linear(domain.low), linear(domain.high)
    return (low.terms, low.offset, high.terms, high.offset) == ({}, 0, array.length.terms, array.length.offset)


def _is_newer(field: object, known: frozenset[str] | None) -> bool:
    if known is None:
        return False
    sizes: tuple[Linear | int, ...] = ()
    if isinstance(field, BagOf):
        sizes = (field.room,)
    elif isinstance(field, Scalar) and isinstance(field.domain, Range):
        sizes = (field.domain.low, field.domain.high)
    elif isinstance(field, Scalar) and isinstance(field.domain, BitSet):
        sizes = (field.domain.count,)
    names = {name for size in sizes for name in linear(size).names}
    return bool(names) and names.isdisjoint(known)


def _collect(found: list[Part], part: Part, record: type[Record], key: Key, known: frozenset[str] | None) -> None:
    cells: list[Cell] = []
    inner: list[tuple[str, type[Record], Key]] = []
    _flatten(cells, inner, record, key, "", known)
    found.append(part._replace(cells=tuple(cells)))
    for name, element, items in inner:
        table = f"{part.table}.{name}" if part.table else name
        for index, item in enumerate(items):
            label = f"{part.label}.{name}[{index}]" if part.label else f"{name}[{index}]"
            _collect(found, Part(table, (*part.place, index), label, ()), element, item, known)


def _flatten(
    cells: list[Cell],
    inner: list[tuple[str, type[Record], Key]],
    record: type[Record],
    key: Key,
    prefix: str,
    known: frozenset[str] | None,
) -> None:
    ends, names = log_ends(record), [name for name, _ in fields(record)]
    for (plain_name, field), value in zip(fields(record), key, strict=True):
        name = f"{prefix}{plain_name}"
        if _is_newer(field, known):
            continue
        if isinstance(field, Scalar):
            cells.append(Cell(name, field.domain.show(value)))
        elif isinstance(field, Nested):
            _flatten(cells, inner, field.record, value, f"{name}.", known)
        elif isinstance(field, BagOf):
            cells.append(Cell(name, "", tuple(show_message(field.record, item) for item in value)))
        elif plain_name in ends:
            end = key[names.index(ends[plain_name])]
            cells.append(Cell(name, _log(field, value, end), legend=_legend(field, value)))
        elif isinstance(field.element, Scalar):
            domain = field.element.domain
            cells.append(Cell(name, "[" + ",".join(domain.show(item) for item in value) + "]"))
        else:
            inner.append((name, field.element.record, value))


def _log(field: ArrayOf, value: Key, end: int) -> str:
    """Return a log such as `[0:2/0 1:2/1]`. Slots beyond the end follow after `|`, unless they contain only zeros."""
    shown = [f"{offset}:{_entry(field, item)}" for offset, item in enumerate(value)]
    stray = [shown[offset] for offset in range(end, len(value)) if is_set(value[offset])]
    return "[" + " ".join([*shown[:end], *(["|", *stray] if stray else [])]) + "]"


def is_set(value: Any) -> bool:
    return any(map(is_set, value)) if isinstance(value, tuple) else bool(value)


def _entry(field: ArrayOf, value: Any) -> str:
    if isinstance(field.element, Scalar):
        return field.element.domain.show(value)
    return "/".join(text for _, text in _ordered(field.element.record, value))


def _legend(field: ArrayOf, value: Key) -> str:
    if isinstance(field.element, Scalar) or not value:
        return "offset:value"
    return "offset:" + "/".join(name for name, _ in _ordered(field.element.record, value[0]))


def _ordered(record: type[Record], value: Key) -> list[tuple[str, str]]:
    return sorted(leaves(record, value), key=lambda leaf: "epoch" not in leaf[0])


def matrix(name: str, rows: list[Part]) -> list[list[str]]:
    header = [name, *(cell.title for cell in rows[0].cells)]
    return [header, *([index, *(cell.text for cell in cells)] for index, cells in merged(rows))]
