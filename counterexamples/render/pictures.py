"""A state as pictures: a card for each party, with its log as cells and the fields that show its progress. Appended
records, dropped records, and fields that the step changed are highlighted.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from itertools import zip_longest
from typing import NamedTuple

from fencepost.counterexamples.render.parties import Lane, Parties
from fencepost.counterexamples.states import Cell, Part, parts
from fencepost.model.language.records import Key

MANY = 10
"""If a state has at most this many fields, its cards show all of them; otherwise, they show only changed fields and
fields about a replica's progress.
"""
VITAL = (
    *("life", "leader", "leader_epoch", "isr", "high_watermark", "partition_epoch", "fenced", "stopping"),
    "broker_epoch",
)
KNOWN = ("leader", "leader_epoch")
ELEMENT = re.compile(r"\{[^}]*\}|[^,]+")
"""A pattern for an element in the text of an array. An element that is a set contains commas."""
SAME, ADDED, DROPPED, STRAY = "same", "added", "dropped", "stray"


class Entry(NamedTuple):
    """A record in a log: its offset, its epoch (if any), other fields, and whether the step added or dropped it."""

    offset: str
    epoch: str
    text: str
    kind: str


class Value(NamedTuple):
    name: str
    text: str
    old: str | None


@dataclass
class Log:
    """The log of a party. `mark` is its high watermark as an offset, or None if the party has none."""

    name: str
    legend: str
    entries: list[Entry]
    mark: int | None


@dataclass
class Card:
    """The state of one party. `lane` is empty for ghost variables, budgets and fields without an owner."""

    lane: Lane | None
    values: list[Value] = field(default_factory=list)
    logs: list[Log] = field(default_factory=list)
    is_changed: bool = False

    @property
    def title(self) -> str:
        return self.lane.title if self.lane else "the rest"


def cards(found: Parties, before: Key, after: Key) -> list[Card]:
    record, current = found.plain.machine.state, found.plain.machine.cast.current
    was, now = parts(record, before), parts(record, after)
    old_rows, new_rows = (
        {part.label: part for part in was if part.label},
        {part.label: part for part in now if part.label},
    )
    made: dict[Lane | None, Card] = {lane: Card(lane) for lane in found.lanes}
    made[None] = Card(None)
    for old, new in zip(was, now, strict=True):
        if new.label:
            if new.table not in current:
                _row(made[found.of_field(new.label, "")], old, new)
            continue
        for one, other in zip(old.cells, new.cells, strict=True):
            if other.messages is None and other.name not in current.values():
                _own_field(made, found, one, other)
    for new in now:
        for name, array in found.plain.machine.cast.views.items() if new.label else ():
            seen = [_seen(rows, new.label, name, array) for rows in (old_rows, new_rows)]
            for one, other in zip(*seen, strict=True):
                _value(made[found.of_field(new.label, "")], one, other, f"its {other.name}", shown=True)
    for array, pointer in current.items():
        old_row, new_row = (
            rows[f"{array}[{_own(state, pointer)}]"] for rows, state in ((old_rows, was), (new_rows, now))
        )
        _row(made[found.of_field(new_row.label, "")], old_row._replace(label=array), new_row._replace(label=array))
    return [card for card in made.values() if card.values or card.logs]


def _own_field(made: dict[Lane | None, Card], found: Parties, old: Cell, new: Cell) -> None:
    lanes = found.arrays.get(new.name, {})
    before, after = (ELEMENT.findall(cell.text[1:-1]) for cell in (old, new))
    if not new.legend and lanes and len(lanes) == len(after):
        for lane, one, other in zip(lanes.values(), before, after, strict=True):
            _value(made[lane], Cell(new.name, one), Cell(new.name, other), new.name, shown=True)
        return
    owner = found.of_field("", new.name)
    shown = owner is not None or not found.is_nobodys(new.name) or old.text != new.text
    _value(made[owner], old, new, new.name, shown=shown)


def _seen(rows: dict[str, Part], label: str, name: str, array: str) -> list[Cell]:
    index = next((cell.text for cell in rows[label].cells if cell.name == name), "none")
    part = rows.get(f"{array}[{index}]")
    return [cell for cell in part.cells if cell.name in KNOWN] if part else []


def _own(state: list[Part], name: str) -> str:
    return next(cell.text for part in state if not part.label for cell in part.cells if cell.name == name)


def _row(card: Card, old: Part, new: Part) -> None:
    head, _, inner = new.label.partition(".")
    owned = card.lane is not None and card.lane.title.endswith(f" {head.partition('[')[2].partition(']')[0]}")
    whole = owned and not inner
    prefix = "" if whole or "[" not in head else f"{inner}." if owned else f"{new.label}."
    shown = whole or "[" not in head
    for one, other in zip(old.cells, new.cells, strict=True):
        if other.legend:
            mark = next((cell.text for cell in new.cells if cell.name == "high_watermark"), "")
            card.logs.append(_log(f"{prefix}{other.name}", one, other, mark))
            card.is_changed |= one.text != other.text
        elif other.messages is None:
            vital = len(new.cells) <= MANY or other.name in VITAL
            _value(card, one, other, f"{prefix}{other.name}", shown=(shown and vital) or one.text != other.text)


def _value(card: Card, old: Cell, new: Cell, name: str, *, shown: bool) -> None:
    changed = old.text != new.text
    card.is_changed |= changed
    if shown:
        card.values.append(Value(name.replace("_", " "), new.text, old.text if changed else None))


def _log(name: str, old: Cell, new: Cell, mark: str) -> Log:
    was, now = old.text[1:-1].split(), new.text[1:-1].split()
    entries = list(_entries(was, now, has_epoch="epoch" in new.legend))
    return Log(name, new.legend, entries, int(mark) if mark.isdigit() else None)


def _entries(was: list[str], now: list[str], *, has_epoch: bool) -> Iterator[Entry]:
    kind = SAME
    for one, other in zip_longest(was, now):
        if kind == SAME and one != other:
            kind = ADDED
        if kind == ADDED and one is not None:
            yield _entry(one, DROPPED, has_epoch=has_epoch)
        if other == "|":
            kind = STRAY
        elif other is not None:
            yield _entry(other, kind, has_epoch=has_epoch)


def _entry(text: str, kind: str, *, has_epoch: bool) -> Entry:
    offset, _, rest = text.partition(":")
    epoch, _, more = rest.partition("/")
    return Entry(offset, epoch, more, kind) if has_epoch else Entry(offset, "", rest, kind)


COLOURS = 8
MARK, AT_START = '<span class="mark"></span>', '<span class="mark start"></span>'


def card_html(card: Card, *, marked: bool = True) -> str:
    changed = " changed" if marked and card.is_changed else ""
    title = escape(card.title)
    logs, values = "".join(map(_log_html, card.logs)), "".join(map(_value_html, card.values))
    return f'<div class="card{changed}" data-party="{title}">\n<h3>{title}</h3>\n{logs}<dl>\n{values}</dl>\n</div>'


def _value_html(value: Value) -> str:
    text = escape(value.text)
    if value.old is not None:
        text = f'<span class="old">{escape(value.old)}</span> → <span class="new">{text}</span>'
    return f'<dt>{escape(value.name)}</dt><dd class="mono">{text}</dd>\n'


def _log_html(log: Log) -> str:
    marked = " marked" if log.mark is not None else ""
    cells = "".join(_marked(log, place, entry) for place, entry in enumerate(log.entries))
    kept = sum(entry.kind != DROPPED for entry in log.entries)
    end = MARK if log.mark and kept <= log.mark else ""
    empty = "" if log.entries else f'{AT_START if log.mark == 0 else ""}<span class="empty">empty</span>'
    head = f'<div class="log{marked}" title="{escape(log.legend)}" data-log="{escape(log.name)}">'
    return f'{head}\n<span class="name">{escape(log.name)}</span>\n{cells}{end}{empty}\n</div>\n'


def _marked(log: Log, place: int, entry: Entry) -> str:
    if log.mark == 0 and not place:
        return AT_START + _entry_html(entry)
    here = log.mark is not None and place and entry.offset == str(log.mark) and entry.kind != DROPPED
    return (MARK if here else "") + _entry_html(entry)


def _entry_html(entry: Entry) -> str:
    colour = f" epoch-{int(entry.epoch) % COLOURS}" if entry.epoch else ""
    epoch = f'<span class="epoch">epoch {escape(entry.epoch)}</span>' if entry.epoch else ""
    offset, record = escape(entry.offset), escape(entry.text or "·")
    shown = f'<span class="offset">{offset}</span><span class="record mono">{record}</span>'
    return f'<span class="entry {entry.kind}{colour}">{shown}{epoch}</span>\n'
