"""Evidence and stories: what belongs to each entry of the catalogue below it, and the stories about it."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from html import escape
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from fencepost.api.asking.quantities import counted
from fencepost.api.topics.evidence import cases_of
from fencepost.counterexamples.browser.links import link_of_story
from fencepost.counterexamples.browser.stories import Story, stories
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.invariants.catalogue import entries
from fencepost.site import places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.invariants.catalogue import Entry


def details(entry: Entry, page: str) -> str:
    """Return the evidence of an entry as an element that opens; empty without any."""
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
    properties = [(f"{prop} on {name}", places.of_property(name, prop)) for name, prop in places.asked_of(entry)]
    yield _list("Properties", properties, page)
    guards = [(name, places.of_guard(on, name)) for on, name in _guards(entry)]
    yield _list("Guards without which one of them is violated", guards, page)
    yield _list("Traces", [(file.removesuffix(".trace"), places.of_trace(file)) for file in _traces(entry)], page)
    for word in dict.fromkeys(case.expect for case in cases_of(entry)):
        runs = {case.run.name: places.of_run(case.run) for case in cases_of(entry) if case.expect == word}
        yield _list(f"Runs: {word}", list(runs.items()), page)
    said = [(f"{name} ({entries()[name].source})", places.of_entry(name)) for name in places.same().get(entry.id, ())]
    yield _list("Said by", said, page)
    yield _list("Decided by", [(name, places.of_entry(name)) for name in entry.same_as], page)
    refers = [name for name in entry.depends if name in entries()]
    yield _list("Refers to", [(name, places.of_entry(name)) for name in refers], page)


def _list(title: str, items: list[tuple[str, str]], page: str) -> str:
    """Return links under a title, on one line: no list is interrupted by it."""
    if not items:
        return ""
    links = ", ".join(f'<a href="{escape(places.rendered(place, page))}">{escape(text)}</a>' for text, place in items)
    return f"<p><b>{escape(title)}:</b> {links}.</p>"


def _traces(entry: Entry) -> list[str]:
    names = (case.run.traces[case.prop] for case in cases_of(entry) if case.expect == "violated")
    return [name for name in dict.fromkeys(names) if (ARCHIVE / name).is_file()]


def _guards(entry: Entry) -> list[tuple[str, str]]:
    if entry.kind in ("bug", "hypothesis"):
        return []
    return [(asked[0], name) for asked in places.asked_of(entry) for name in places.guards_by_property().get(asked, ())]


# -- stories: on the first page, on the page of a KIP or a finding, and below the entries that they are about

FIRST = "kip-903"
"""The story to begin with: a released bug that everybody who runs Kafka can follow."""


@cache
def all_stories() -> tuple[Story, ...]:
    """Return every story."""
    return tuple(stories())


@cache
def by_entry() -> dict[str, tuple[Story, ...]]:
    """Return the stories of an entry: those called after it, and those whose trace is evidence for it."""
    found: dict[str, dict[str, Story]] = {}
    for story in all_stories():
        about = [story.name.upper()] if story.name.upper() in entries() else []
        for name in (*about, *places.entries_by_trace().get(f"{story.data['trace']}.trace", ())):
            found.setdefault(name, {})[story.name] = story
    return {name: tuple(items.values()) for name, items in found.items()}


def card() -> str:
    """Return the links of the first page."""
    chosen = sorted(all_stories(), key=lambda item: item.name != FIRST)
    items = "".join(f'<li><a href="{escape(_place(item))}">{escape(item.title)}</a></li>' for item in chosen)
    begin = "<strong>Start with a story</strong>: how a bug comes about, a sentence a step, and its repair."
    return f'<div class="start"><p>{begin}</p><ul>{items}</ul></div>'


def with_stories(text: str, page: str) -> str:
    """Return a page with the stories of its subject below its title, and those of an entry below its heading."""
    subject = [story for story in all_stories() if story.name == PurePosixPath(page).stem]
    lines: list[str] = []
    for line in text.split("\n"):
        lines.append(line)
        heading = re.match(r"#{1,3} ([\w-]+)", line)
        if heading:
            for story in {item.name: item for item in (*by_entry().get(heading[1], ()), *subject)}.values():
                lines += ["", places.linked(f"Story, step by step: {story.title}", _place(story), page), ""]
            subject = []
    return "\n".join(lines)


def _place(story: Story) -> str:
    return places.EXPLORER + link_of_story(story.name)
