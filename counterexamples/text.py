"""A trace as text for readers: its finding, then each step with its sentence and its changes.

Replicas, and other records with logs, are shown as a table after each step that changes one of them, with leader and
followers side by side. Every other change is shown on its own line. Lines and tables fit any terminal, without breaks
inside names or values.
"""

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from fencepost.counterexamples.folding import cut
from fencepost.counterexamples.history import folded, transitions
from fencepost.counterexamples.promises import kept
from fencepost.counterexamples.states import GAP, Cell, Change, Part, changes, merged, parts, pieces, tables
from fencepost.counterexamples.trace import WORST, Trace, promises_of
from fencepost.counterexamples.violating_binding import violated_for
from fencepost.model.language.actions import Property
from fencepost.model.language.interpreter import Path, Transition
from fencepost.model.language.records import Key
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

HANG = 2


@dataclass(frozen=True)
class Folded:
    """A line that folds between changes, words or fields of a message, but not inside a change, a word or a field."""

    text: Text

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        for start, end in cut(self.text.plain, options.max_width, options.max_width - HANG):
            part = self.text[start:end]
            part.rstrip()
            yield Text.assemble(" " * HANG if start else "", part)


@dataclass(frozen=True)
class Sheet:
    """A table whose titles fold between words. A wide table is split into several, each with the first column."""

    header: Sequence[str]
    rows: Sequence[tuple[Sequence[Text], str]]
    header_style: str = ""

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        for columns, widths in _pieces(self.widths(whole=True), self.widths(whole=False), options.max_width):
            table = Table(box=None, padding=(0, GAP, 0, 0), header_style=self.header_style, pad_edge=False)
            for place, width in zip(columns, widths, strict=True):
                table.add_column(Text(self.header[place]), overflow="fold", width=width, vertical="bottom")
            for cells, style in self.rows:
                table.add_row(*(cells[place] for place in columns), style=style)
            yield table

    def widths(self, *, whole: bool) -> list[int]:
        return [
            max(
                *(len(word) for word in ([title] if whole else title.split())),
                *(cells[place].cell_len for cells, _ in self.rows),
            )
            for place, title in enumerate(self.header)
        ]


def _pieces(whole: list[int], least: list[int], room: int) -> Iterator[tuple[list[int], list[int]]]:
    gaps = GAP * (len(whole) - 1)
    if sum(whole) + gaps > room >= sum(least) + gaps:
        yield list(range(len(whole))), least
        return
    for columns in pieces(whole, room):
        widths = [whole[place] for place in columns]
        widths[-1] = max(1, min(widths[-1], room - sum(GAP + width for width in widths[:-1])))
        yield columns, widths


ARROW = " → "
OLD, NEW, QUIET, NAME = "red", "bold green", "dim", "cyan"
INDENT = 5
MANY = 8
PROGRESS = ("end", "log_end_offset", "high_watermark", "leader_epoch", "leader", "isr")
FOLDING = (
    '"folded" marks changes made by the model\'s `normalize` after a step: it merges states without an observable '
    "difference."
)


def render(trace: Trace, path: Path) -> RenderableType:
    record = trace.protocol.machine.state
    promises = kept(trace, path)
    shown: list[RenderableType] = [*_header(trace, explained=bool(promises)), Text()]
    shown += [Text("Initial state", "bold"), *_initial(parts(record, path.start))]
    plain, told = trace.interpreter(), False
    for number, (before, happened) in enumerate(zip(path.states, transitions(trace, path), strict=False), 1):
        if path.loop == number - 1:
            shown += [Text(), Text("From here on, forever", "bold")]
        shown += [Text(), _title(number, plain.show(happened.step)), *_step(trace, before, happened)]
        if happened.raw != happened.after and not told:
            told = True
            shown.append(_indented(Text(FOLDING, f"italic {QUIET}")))
    if path.loop is not None:
        closing = f"and so on, as after step {path.loop}" if path.loop < len(path.steps) else "Nothing happens any more"
        shown += [Text(), Text(closing, "bold")]
        if promises:
            shown += [Text("The loop is fair:"), *(_indented(Text(line)) for line in promises)]
    return Group(*shown, Text(), *_end(trace, path))


def _header(trace: Trace, *, explained: bool) -> Iterator[RenderableType]:
    yield Text(trace.title, "bold")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style=QUIET)
    grid.add_column(overflow="fold")
    for name, value in (
        ("protocol", f"{trace.protocol.name}: {trace.protocol.machine.sentence}"),
        ("version", trace.version),
        ("constants", trace.constants_text),
        ("normalize", "" if trace.normalize else "off"),
        ("for", trace.args_told),
        *(item for item in promises_of(trace.prop) if not explained or item[0] != "fairness"),
        ("removed", f"{trace.removed.name}: {trace.removed.condition}" if trace.removed else ""),
        ("source", trace.source),
        ("why", trace.why),
    ):
        if value:
            grid.add_row(Text(name), Text(value))
    yield grid


def _title(number: int, action: str) -> RenderableType:
    label, _, parameters = action.partition(" ")
    grid = Table.grid(padding=0)
    grid.add_column(width=INDENT, style=QUIET)
    grid.add_column()
    grid.add_row(Text(f"{number:>3}"), Folded(Text.assemble((label, "bold"), " ", (parameters, NAME))))
    return grid


def _initial(state: list[Part]) -> Iterator[RenderableType]:
    yield from _own(state[0].cells)
    for name, rows in tables(state):
        shown = [([Text(index), *(Text(cell.text) for cell in cells)], "") for index, cells in merged(rows)]
        yield _indented(_sheet([name, *(cell.title for cell in rows[0].cells)], shown))
    yield from _own(state[-1].cells)


def _own(cells: Sequence[Cell]) -> Iterator[RenderableType]:
    words = [f"{_words(cell.name)} {cell.text}" for cell in cells if cell.messages is None]
    if words:
        yield _indented(Folded(Text(", ".join(words))))
    for cell in cells:
        for text in cell.messages or ():
            yield _indented(Folded(Text(f"{_words(cell.name)} {text}")))


def _step(trace: Trace, before: Key, happened: Transition) -> Iterator[RenderableType]:
    yield _indented(Text(happened.step.action.sentence, f"italic {QUIET}"))
    record, after = trace.protocol.machine.state, happened.raw
    was, now = parts(record, before), parts(record, after)
    with_log = [name for name, rows in tables(now) if any(cell.legend for cell in rows[0].cells)]
    labels = {part.label for part in now if part.table in with_log}
    found = changes(record, before, after)
    for label, group in groupby(
        (item for item in found if item.label not in labels and not item.is_message and not item.is_aside),
        lambda item: item.label,
    ):
        yield _indented(Folded(_line(label, list(group))))
    for change in found:
        if change.is_message:
            yield _indented(Folded(_message(change)))
    touched = {change.label for change in found}
    for name in with_log:
        pairs = [(old, new) for old, new in zip(was, now, strict=True) if new.table == name]
        if touched & {new.label for _, new in pairs}:
            yield _indented(_compared(name, pairs))
    aside = [item for item in found if item.is_aside and not item.is_message]
    if aside:
        yield _indented(Folded(_line("", aside)))
    if not found:
        yield _indented(Text("nothing changes", QUIET))
    clause = folded(record, happened.raw, happened.after)
    if clause:
        yield _indented(Folded(Text(f"folded: {_words(clause)}".replace(" -> ", ARROW), QUIET)))


def _line(label: str, group: list[Change]) -> Text:
    line = Text(", ").join(
        Text.assemble(f"{_words(item.name)} ", (item.old, OLD), ARROW, (item.new, NEW)) for item in group
    )
    return Text.assemble((f"{_words(label)}: ", NAME), line) if label else line


def _message(change: Change) -> Text:
    return Text.assemble(
        f"{_words(change.name)} ", (f"- {change.old}", OLD) if change.old else (f"+ {change.new}", NEW)
    )


def _compared(name: str, pairs: list[tuple[Part, Part]]) -> Sheet:
    """Return a table of the state after a step, with unchanged rows dimmed and changes in other rows highlighted. If
    there are many columns, only changed columns and columns about a replica's progress are shown.
    """
    cells = pairs[0][1].cells
    kept = [
        place
        for place, cell in enumerate(cells)
        if len(cells) <= MANY
        or cell.legend
        or cell.name in PROGRESS
        or any(old.cells[place] != new.cells[place] for old, new in pairs)
    ]
    rows = [
        (
            [Text(".".join(map(str, new.place))), *(_cell(old.cells[place], new.cells[place]) for place in kept)],
            QUIET if old == new else "",
        )
        for old, new in pairs
    ]
    return _sheet([name, *(cells[place].title for place in kept)], rows)


def _cell(before: Cell, after: Cell) -> Text:
    if before.text == after.text:
        return Text(after.text)
    if after.legend:
        return _log(before.text, after.text)
    return Text.assemble((before.text, OLD), ARROW, (after.text, NEW))


def _log(before: str, after: str) -> Text:
    """Return a changed log: unchanged records, then `-` with each dropped record and `+` with each appended record."""
    old, new = before[1:-1].split(), after[1:-1].split()
    same = next(
        (index for index, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), min(len(old), len(new))
    )
    marked = [Text(item) for item in new[:same]]
    marked += [Text(f"-{item}", OLD) for item in old[same:]] + [Text(f"+{item}", NEW) for item in new[same:]]
    return Text.assemble("[", Text(" ").join(marked), "]")


def _end(trace: Trace, path: Path) -> Iterator[RenderableType]:
    count = "1 state" if path.length == 1 else f"{path.length} states"
    reached = trace.verdict in ("reached", WORST)
    yield Text(f"{violated_for(trace, path)}: {count}", "bold green" if reached else "bold red")
    for paragraph in _sentences(trace.prop):
        yield Text(paragraph, "italic")


def _sentences(prop: Property | None) -> list[str]:
    if prop is not None and prop.eventual is not None:
        return [prop.sentence]
    text = (inspect.getdoc(prop.function) or "") if prop else ""
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")[:2] if paragraph.strip()]


def _sheet(header: Sequence[str], rows: Sequence[tuple[Sequence[Text], str]]) -> Sheet:
    return Sheet([_words(title) for title in header], rows, QUIET)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _indented(what: RenderableType) -> Padding:
    return Padding(what, (0, 0, 0, INDENT), expand=False)
