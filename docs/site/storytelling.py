"""Where stories are offered: on the first page, on the page of a KIP or a finding, and below entries whose history is told."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from pathlib import PurePosixPath

from fencepost.counterexamples.browser.links import link_of_story
from fencepost.counterexamples.browser.stories import Story, stories
from fencepost.invariants.catalogue import entries
from fencepost.site.knowledge import entries_by_trace
from fencepost.site.places import EXPLORER, relative

FIRST = "kip-903"
"""The story to begin with: a released bug that everybody who runs Kafka can follow."""


@cache
def told() -> tuple[Story, ...]:
    """Return every story."""
    return tuple(stories())


@cache
def by_entry() -> dict[str, tuple[Story, ...]]:
    """Return the stories of an entry: those called after it, and those whose trace is evidence for it."""
    found: dict[str, dict[str, Story]] = {}
    for story in told():
        about = [story.name.upper()] if story.name.upper() in entries() else []
        for name in (*about, *entries_by_trace().get(f"{story.data['trace']}.trace", ())):
            found.setdefault(name, {})[story.name] = story
    return {name: tuple(items.values()) for name, items in found.items()}


def card() -> str:
    """Return what the first page offers."""
    items = "".join(
        f'<li><a href="{escape(_place(story))}">{escape(story.title)}</a></li>'
        for story in sorted(told(), key=lambda item: item.name != FIRST)
    )
    begin = (
        "<strong>Start with a story</strong>: how a bug comes about, a sentence a step, and what the repair changes."
    )
    return f'<div class="start"><p>{begin}</p><ul>{items}</ul></div>'


def with_stories(text: str, page: str) -> str:
    """Return a page with the stories of its subject below its title, and those of an entry below the entry's heading."""
    stem = PurePosixPath(page).stem
    lines: list[str] = []
    is_first = True
    for line in text.split("\n"):
        lines.append(line)
        heading = re.match(r"#{1,3} ([\w-]+)", line)
        if not heading:
            continue
        offered = {story.name: story for story in by_entry().get(heading[1], ())}
        if is_first:
            offered |= {story.name: story for story in told() if story.name == stem}
        is_first = False
        for story in offered.values():
            lines += ["", f"[Story, step by step: {story.title}]({relative(_place(story), page)})", ""]
    return "\n".join(lines)


def _place(story: Story) -> str:
    return EXPLORER + link_of_story(story.name)
