"""Places on the site: paths from its root before rendering, such as `protocols/kip320.md#follower-fetch-1`."""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

from fencepost.api.topics.evidence import cases_of
from fencepost.api.topics.matrices import best_of, measured
from fencepost.counterexamples.browser.links import differing, link
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.invariants.catalogue import Entry, Run, entries, sections
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.invariants.run import Case
from fencepost.model.language.machine import Machine

Row = list[str]
Table = tuple[Row, Iterable[Row]]
Figures = dict[str, Any]
Column = str | Callable[[Figures], str]
"""A format string for a row's figures, or a function that returns a cell."""
_NUMBER = re.compile(r"\**[\d.,]*\**")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    found = list(rows)
    columns = list(zip(*found, strict=True)) or [("-",)] * len(head)
    yield row(head)
    yield row(["--:" if all(map(_NUMBER.fullmatch, column)) else "---" for column in columns])
    yield from map(row, found)


def row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def text_of(lines: Iterable[str]) -> str:
    return "\n".join(lines).rstrip("\n") + "\n"


def table_of(rows: Iterable[Figures], columns: dict[str, Column]) -> Table:
    return list(columns), (
        [made.format(**row) if isinstance(made, str) else made(row) for made in columns.values()] for row in rows
    )


EXPLORER = "explore/index.html"
PAGES = {
    "lineage": ("The published models", ("published models",)),
    "replication": ("Replication", ("Global", "across KIPs")),
    "controller-failover": ("Fail-over of the active controller", ("active controller",)),
    "kraft": ("The metadata quorum", ("KRaft base",)),
    "kip-903": ("KIP-903: stale broker epochs", ("KIP-903",)),
    "kip-392": ("KIP-392: fetching from followers", ("KIP-392",)),
    "kip-951": ("KIP-951: leader discovery", ("KIP-951",)),
    "kip-1166": ("KIP-1166: the high watermark in the fetch request", ("KIP-1166",)),
    "consistency-tokens": ("Consistency tokens", ("onsistency token",)),
    "bugs": ("Historic bugs", ("Historic bugs",)),
    "hypotheses": ("Hypotheses", ("Hypotheses",)),
}


@cache
def page_of() -> dict[str, str]:
    """Return the page of each entry, by id. Entries without a page of their own are on the replication page."""
    found: dict[str, str] = {}
    for title, ids in sections().items():
        page = next((name for name, (_, words) in PAGES.items() if any(word in title for word in words)), "replication")
        found |= dict.fromkeys(ids, page)
    return found


def slug(text: str) -> str:
    """Return the anchor that GitHub generates for a heading, for links between pages of docs/."""
    return re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")


def of_protocol(name: str) -> str:
    return f"protocols/{name}.md"


def of_action(protocol: str, label: str) -> str:
    return f"{of_protocol(protocol)}#{slug(label)}"


def of_guard(protocol: str, name: str) -> str:
    return f"{of_protocol(protocol)}#guard-{slug(name)}"


def of_property(protocol: str, name: str) -> str:
    return f"{of_protocol(protocol)}#property-{slug(name)}"


def of_constant(protocol: str, name: str) -> str:
    return f"{of_protocol(protocol)}#constant-{name}"


def of_run(run: Run) -> str:
    return f"runs/{run.protocol}.md#run-" + re.sub(r"[^a-z0-9.]+", "-", run.short_name.lower()).strip("-")


def of_entry(name: str) -> str:
    return f"guarantees/{page_of()[name]}.md#{name.lower()}"


def of_trace(file: str) -> str:
    return f"traces/{file.rpartition('/')[2].removesuffix('.trace')}.html"


def traces() -> tuple[str, ...]:
    return tuple(file.stem for file in sorted(ARCHIVE.glob("*.trace")))


def in_explorer(
    machine: Machine, constants: Mapping[str, object], steps: Iterable[str], removed: Iterable[str] = ()
) -> str:
    return EXPLORER + link(machine.name, constants=differing(machine, constants), removed=removed, steps=steps)


def around_explorer() -> dict[str, Any]:
    names = {
        name: {"page": rendered(of_protocol(name), EXPLORER), "property": rendered(of_property(name, ""), EXPLORER)}
        for name in PROTOCOLS
    }
    return {"home": rendered("index.md", EXPLORER), "protocols": names}


def relative(place: str, page: str) -> str:
    path, mark, anchor = place.partition("#")
    return posixpath.relpath(path, posixpath.dirname(page) or ".") + mark + anchor


def linked(text: str, place: str, page: str) -> str:
    return f"[{text}]({relative(place, page)})"


def links_to_entries(names: Iterable[str], page: str) -> str:
    return ", ".join(linked(name, of_entry(name), page) for name in names)


def mark(place: str) -> str:
    return f'<a id="{place.partition("#")[2]}"></a>'


def rendered(place: str, page: str) -> str:
    path, mark, anchor = relative(place, page).partition("#")
    return (path.removesuffix(".md") + ".html" if path.endswith(".md") else path) + mark + anchor


# relations between entries, the properties that decide them, runs, traces and guards

Key = TypeVar("Key")
Asked = tuple[str, str]


@cache
def entries_by_property() -> dict[Asked, tuple[str, ...]]:
    return _entries_by(lambda case: (case.run.protocol, case.prop))


@cache
def entries_by_run() -> dict[str, tuple[str, ...]]:
    return _entries_by(lambda case: case.run.name)


@cache
def entries_by_trace() -> dict[str, tuple[str, ...]]:
    return _entries_by(lambda case: case.run.traces[case.prop] if case.expect == "violated" else None)


def _entries_by(key: Callable[[Case], Key | None]) -> dict[Key, tuple[str, ...]]:
    cases = ((case, name) for name, entry in entries().items() for case in cases_of(entry))
    return grouped((having, name) for case, name in cases if (having := key(case)) is not None)


def grouped(pairs: Iterable[tuple[Key, str]]) -> dict[Key, tuple[str, ...]]:
    found: dict[Key, dict[str, None]] = {}
    for having, name in pairs:
        found.setdefault(having, {})[name] = None
    return {having: tuple(names) for having, names in found.items()}


@cache
def guards_by_property() -> dict[Asked, tuple[str, ...]]:
    rows = ((name, guard, row) for name, data in measured().items() for guard, (row, _) in best_of(data).items())
    return grouped(
        ((name, prop), guard) for name, guard, row in rows if row["kind"] == "guard" for prop in row["broken"]
    )


@cache
def same() -> dict[str, tuple[str, ...]]:
    return grouped((other, name) for name, entry in entries().items() for other in entry.same_as)


def asked_of(entry: Entry) -> tuple[Asked, ...]:
    return tuple(dict.fromkeys((case.run.protocol, case.prop) for case in cases_of(entry)))
