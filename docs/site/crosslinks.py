"""Words that name something become links to it, on every page: entries of the catalogue, actions, guards, properties, constants, traces."""

from __future__ import annotations

import re
from functools import cache
from html import escape, unescape
from typing import TYPE_CHECKING

from fencepost.explorers.program.removal import guards
from fencepost.invariants.catalogue import entries
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.site.places import (
    of_action,
    of_constant,
    of_entry,
    of_guard,
    of_property,
    of_protocol,
    of_trace,
    rendered,
)
from fencepost.site.traces import names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_TAG = re.compile(r"(<[^>]*>)")
_ISSUE = re.compile(r"\bKAFKA-\d+")
"""Issues of Kafka itself, whose addresses follow from their names; those of KIPs do not."""
_ARTICLE = re.compile(r"(<article[^>]*>)(.*?)(</article>)", re.DOTALL)
CLOSED = ("a", "pre", "script", "style", "summary", "svg", "h1", "h2", "h3", "h4", "select", "label", "button")
"""Elements in which words stay as they are."""


def linked(html: str, page: str, protocol: str = "") -> str:
    """Return a page with links in its article; names that several protocols have belong to `protocol`, if that has them."""
    return _ARTICLE.sub(lambda found: found[1] + "".join(_pieces(found[2], page, protocol)) + found[3], html, count=1)


def _pieces(html: str, page: str, protocol: str) -> Iterator[str]:
    closed: list[str] = []
    in_code = False
    for piece in _TAG.split(html):
        tag = re.match(r"<(/?)([a-z0-9]+)", piece)
        if tag:
            in_code = tag[2] == "code" and not tag[1] if tag[2] == "code" else in_code
            if tag[1] and tag[2] in closed:
                closed.remove(tag[2])
            elif not tag[1] and tag[2] in CLOSED and not piece.endswith("/>"):
                closed.append(tag[2])
            yield piece
        elif closed or not piece.strip():
            yield piece
        elif in_code:
            place = _named(unescape(piece), protocol)
            yield _anchor(place, page, piece) if place else piece
        else:
            yield _entries().sub(lambda found: _anchor(of_entry(found[0]), page, found[0]), _ISSUE.sub(_issue, piece))


def _issue(found: re.Match[str]) -> str:
    return f'<a class="known" href="https://issues.apache.org/jira/browse/{found[0]}">{found[0]}</a>'


def _anchor(place: str, page: str, text: str) -> str:
    return f'<a class="known" href="{escape(rendered(place, page))}">{text}</a>'


@cache
def _entries() -> re.Pattern[str]:
    """Return what the ids of entries look like in a text."""
    ids = "|".join(sorted(map(re.escape, entries()), key=len, reverse=True))
    return re.compile(rf"(?<![\w-])(?:{ids})(?![\w-])")


def _named(text: str, protocol: str) -> str:
    """Return the place of what a word in code names; empty if it names nothing, or one of several things."""
    places = _names().get(text, {})
    if protocol in places:
        return places[protocol]
    return next(iter(places.values())) if len(places) == 1 else ""


@cache
def _names() -> dict[str, dict[str, str]]:
    """Return the places of each name, by the protocol that it belongs to."""
    found: dict[str, dict[str, str]] = {}
    for name, known in PROTOCOLS.items():
        found.setdefault(name, {})[name] = of_protocol(name)
        _add(found, name, ((item.label, of_action(name, item.label)) for item in known.machine.actions))
        _add(found, name, ((item.name, of_property(name, item.name)) for item in known.every_property))
        _add(found, name, ((item.name, of_guard(name, item.name)) for item in guards(known.machine)))
        _add(found, name, ((item, of_constant(name, item)) for item in known.machine.constants.declared()))
    _add(found, "", ((name, of_trace(name)) for name in names()))
    return found


def _add(found: dict[str, dict[str, str]], protocol: str, places: Iterable[tuple[str, str]]) -> None:
    for name, place in places:
        found.setdefault(name, {}).setdefault(protocol, place)
