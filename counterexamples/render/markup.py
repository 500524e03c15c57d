"""A card as HTML: the state of one party, with logs as cells. All pages that show a state use it."""

from html import escape

from fencepost.counterexamples.render.pictures import DROPPED, Card, Entry, Log, Value

COLOURS = 8
"""Colours of epochs, used in turn."""
MARK, AT_START = '<span class="mark"></span>', '<span class="mark start"></span>'


def card_html(card: Card, *, marked: bool = True) -> str:
    """Return a card; `marked` highlights it if a step changed it."""
    changed = " changed" if marked and card.is_changed else ""
    title = escape(card.title)
    logs, values = "".join(map(_log, card.logs)), "".join(map(_value, card.values))
    return f'<div class="card{changed}" data-party="{title}">\n<h3>{title}</h3>\n{logs}<dl>\n{values}</dl>\n</div>'


def _value(value: Value) -> str:
    text = escape(value.text)
    if value.old is not None:
        text = f'<span class="old">{escape(value.old)}</span> → <span class="new">{text}</span>'
    return f'<dt>{escape(value.name)}</dt><dd class="mono">{text}</dd>\n'


def _log(log: Log) -> str:
    marked = " marked" if log.mark is not None else ""
    cells = "".join(_marked(log, place, entry) for place, entry in enumerate(log.entries))
    kept = sum(entry.kind != DROPPED for entry in log.entries)
    end = MARK if log.mark and kept <= log.mark else ""
    empty = "" if log.entries else f'{AT_START if log.mark == 0 else ""}<span class="empty">empty</span>'
    head = f'<div class="log{marked}" title="{escape(log.legend)}" data-log="{escape(log.name)}">'
    return f'{head}\n<span class="name">{escape(log.name)}</span>\n{cells}{end}{empty}\n</div>\n'


def _marked(log: Log, place: int, entry: Entry) -> str:
    """Return an entry, preceded by the high watermark if that is its offset."""
    if log.mark == 0 and not place:
        return AT_START + _entry(entry)
    here = log.mark is not None and place and entry.offset == str(log.mark) and entry.kind != DROPPED
    return (MARK if here else "") + _entry(entry)


def _entry(entry: Entry) -> str:
    colour = f" epoch-{int(entry.epoch) % COLOURS}" if entry.epoch else ""
    epoch = f'<span class="epoch">epoch {escape(entry.epoch)}</span>' if entry.epoch else ""
    offset, record = escape(entry.offset), escape(entry.text or "·")
    shown = f'<span class="offset">{offset}</span><span class="record mono">{record}</span>'
    return f'<span class="entry {entry.kind}{colour}">{shown}{epoch}</span>\n'
