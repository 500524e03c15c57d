"""The text of a trace's path: each step, with the changes made by its action and by `normalize`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from fencepost.counterexamples.folding import fields_of, fold
from fencepost.counterexamples.states import Cell, Change, Part, blocks, changes, matrix, parts, tables
from fencepost.counterexamples.trace import WIDTH, Trace
from fencepost.model.language.interpreter import Path, Transition
from fencepost.model.language.records import Key, Record

FEW = 6
"""Maximum number of fields that a line about `normalize` lists. Further fields are only counted."""
UNDER_TITLE = " " * 6
ROUND = "loop: the following steps repeat forever"
STOP = "loop: nothing more happens"
FOLDED = "(what can no longer be read is skipped or dropped, and the rest is renumbered)"


def transitions(trace: Trace, path: Path) -> Iterator[Transition]:
    plain = trace.interpreter()
    for before, step in zip(path.states, path.steps, strict=False):
        yield plain.apply(before, step)


def folded(record: type[Record], raw: Key, after: Key) -> str:
    """Return the changes made by `normalize` as a clause, or an empty string. Long lists are abridged."""
    found = changes(record, raw, after)
    scalars = [item for item in found if not item.is_message]
    nth = Counter[str]()
    ranks: list[tuple[int, int]] = []
    for place, item in enumerate(scalars):
        ranks.append((nth[item.label], place))
        nth[item.label] += bool(item.label)
    shown = [scalars[place] for place in sorted(place for _, place in sorted(ranks)[:FEW])]
    words = [item.whole for item in shown]
    for name in dict.fromkeys(item.name for item in found if item.is_message):
        words += _folded_messages([item for item in found if item.is_message and item.name == name])
    rest = len(scalars) - len(shown)
    more = f", and {rest} more {'field' if rest == 1 else 'fields'}" if rest else ""
    return f"{', '.join(words)}{more}" if words else ""


def _folded_messages(found: list[Change]) -> list[str]:
    gone, come = [item for item in found if item.old], [item for item in found if item.new]
    if len(gone) != 1 or len(come) != 1:
        return [str(item) for item in found]
    pairs = zip(fields_of(gone[0].old), fields_of(come[0].new), strict=True)
    return [
        f"{gone[0].name}: {old.replace('=', ' ', 1)} -> {new.partition('=')[2]}" for old, new in pairs if old != new
    ]


def states_text(
    trace: Trace, path: Path, *, start: str = "initial", ending: str = "", known: frozenset[str] | None = None
) -> str:
    """Return the states of a trace file. `start` is the title of the first state, and `ending` the title at the end (by
    default, the trace's finding). If `known` is given, fields that depend only on constants outside it are omitted.
    """
    count = "1 state" if path.length == 1 else f"{path.length} states"
    last = fold(ending, WIDTH, more=UNDER_TITLE) if ending else fold(f"{trace.finding}: {count}", WIDTH)
    return "\n".join([*_lines(trace, path, start, known), "", *last]) + "\n"


def way_text(trace: Trace, path: Path) -> str:
    count = len(path.steps)
    lines = ["In the state", *_full(parts(trace.protocol.machine.state, path.states[-1]))]
    if count:
        lines += [f"after {'1 step' if count == 1 else f'{count} steps'}:", *_lines(trace, path)]
    return "\n".join(lines)


def _lines(trace: Trace, path: Path, start: str = "initial", known: frozenset[str] | None = None) -> list[str]:
    plain, record = trace.interpreter(), trace.protocol.machine.state
    lines = [start, *_full(parts(record, path.start, known))]
    for number, (before, happened) in enumerate(zip(path.states, transitions(trace, path), strict=False), 1):
        if path.loop == number - 1:
            lines += ["", ROUND]
        lines += ["", *fold(f"{number} {plain.show(happened.step)}", WIDTH, more=UNDER_TITLE)]
        lines += _difference(changes(record, before, happened.raw))
        clause = folded(record, happened.raw, happened.after)
        lines += fold(f"folded: {clause} {FOLDED}", WIDTH, "  ") if clause else []
    return [*lines, "", STOP] if path.loop == len(path.steps) else lines


def _full(state: list[Part]) -> list[str]:
    lines = _own(state[0].cells)
    for name, rows in tables(state):
        for block in blocks(matrix(name, rows), WIDTH - 2):
            lines += _aligned(block)
    return lines + _own(state[-1].cells)


def _own(cells: Iterable[Cell]) -> list[str]:
    values = " ".join(f"{cell.name}={cell.text}" for cell in cells if cell.messages is None)
    lines = fold(values, WIDTH, "  ") if values else []
    for cell in cells:
        for text in () if cell.messages is None else cell.messages or ("empty",):
            lines += fold(f"{cell.name}: {text}", WIDTH, "  ")
    return lines


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _difference(found: list[Change]) -> list[str]:
    if not found:
        return ["  nothing changes"]
    lines = []
    for label, group in groupby(
        (item for item in found if not item.is_message and not item.is_aside), lambda item: item.label
    ):
        text = ", ".join(map(str, group))
        lines += fold(f"{label}: {text}" if label else text, WIDTH, "  ")
    lines += [line for item in found if item.is_message for line in fold(str(item), WIDTH, "  ")]
    aside = ", ".join(str(item) for item in found if item.is_aside and not item.is_message)
    return lines + (fold(aside, WIDTH, "  ") if aside else [])
