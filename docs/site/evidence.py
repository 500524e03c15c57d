"""Below each entry of the catalogue: its runs, its traces, the guards that keep it, and the claims that say the same."""

from __future__ import annotations

import re
from collections import Counter
from html import escape
from typing import TYPE_CHECKING

from fencepost.api.asking.quantities import counted
from fencepost.api.topics.evidence import cases_of
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.invariants.catalogue import entries
from fencepost.site.knowledge import asked_of, guards_by_property, same
from fencepost.site.places import of_entry, of_guard, of_property, of_run, of_trace, rendered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.invariants.catalogue import Entry


def with_evidence(text: str, page: str) -> str:
    """Return a page of entries with what belongs to each of them below it."""
    lines = text.split("\n")
    found: list[str] = []
    waiting = ""
    for line in lines:
        if waiting and line.startswith("#"):
            found += [waiting, ""]
            waiting = ""
        heading = re.fullmatch(r"### (\S+)", line)
        claim = re.match(r'- <a id="([^"]+)"></a>\*\*(\S+)\*\*', line)
        if heading and heading[1] in entries():
            waiting = details(entries()[heading[1]], page)
        found.append(line + " " + details(entries()[claim[2]], page) if claim and claim[2] in entries() else line)
    return "\n".join([*found, waiting]).rstrip("\n") + "\n"


def details(entry: Entry, page: str) -> str:
    """Return what belongs to an entry as an element that opens; empty if nothing does."""
    parts = [part for part in _parts(entry, page) if part]
    if not parts:
        return ""
    return f'<details class="evidence"><summary>{_summary(entry)}</summary>{"".join(parts)}</details>'


def _summary(entry: Entry) -> str:
    count = Counter(case.expect for case in cases_of(entry))
    runs = counted(len({case.run.name for case in cases_of(entry)}), "run")
    judged = ", ".join(f"{count[word]} {word}" for word in count)
    words = [f"{runs} with {counted(count.total(), 'verdict')}, one for each property ({judged})"] if count else []
    traces = len(_traces(entry))
    words += [counted(traces, "trace")] if traces else []
    guards = len(_guards(entry))
    words += [counted(guards, "guard")] if guards else []
    return f"Evidence for {entry.id}: {', '.join(words)}" if words else f"What belongs to {entry.id}"


def _parts(entry: Entry, page: str) -> Iterator[str]:
    properties = [(f"{prop} on {name}", of_property(name, prop)) for name, prop in asked_of(entry)]
    yield _list("Properties", properties, page)
    yield _list(
        "Guards without which one of them is violated",
        [(name, of_guard(on, name)) for on, name in _guards(entry)],
        page,
    )
    yield _list("Traces", [(file.removesuffix(".trace"), of_trace(file)) for file in _traces(entry)], page)
    for word in dict.fromkeys(case.expect for case in cases_of(entry)):
        runs = {case.run.name: of_run(case.run) for case in cases_of(entry) if case.expect == word}
        yield _list(f"Runs: {word}", list(runs.items()), page)
    yield _list(
        "Said by", [(f"{name} ({entries()[name].source})", of_entry(name)) for name in same().get(entry.id, ())], page
    )
    yield _list("Decided by", [(name, of_entry(name)) for name in entry.same_as], page)
    refers = [name for name in entry.depends if name in entries()]
    yield _list("Refers to", [(name, of_entry(name)) for name in refers], page)


def _list(title: str, items: list[tuple[str, str]], page: str) -> str:
    """Return links under a title, on one line: no list is interrupted by it."""
    if not items:
        return ""
    links = ", ".join(f'<a href="{escape(rendered(place, page))}">{escape(text)}</a>' for text, place in items)
    return f"<p><b>{escape(title)}:</b> {links}.</p>"


def _traces(entry: Entry) -> list[str]:
    names = (case.run.traces[case.prop] for case in cases_of(entry) if case.expect == "violated")
    return [name for name in dict.fromkeys(names) if (ARCHIVE / name).is_file()]


def _guards(entry: Entry) -> list[tuple[str, str]]:
    if entry.kind in ("bug", "hypothesis"):
        return []
    return [(asked[0], name) for asked in asked_of(entry) for name in guards_by_property().get(asked, ())]
