"""The page that has the verdict of every entry: decided, a known gap, or open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.api.topics.evidence import KINDS, of_kind
from fencepost.invariants.catalogue import entries, evidence, sections, status
from fencepost.invariants.claim_files import CLASSES
from fencepost.site.pages.guarantees import STATUS, link_to
from fencepost.site.pages.markdown import NOTICE, number, table

if TYPE_CHECKING:
    from collections.abc import Iterator


def page() -> Iterator[str]:
    """Yield the lines of the page."""
    yield from ("# Coverage", "", NOTICE, "")
    yield (
        "Every guarantee, bug, hypothesis and question, and every claim that the KIPs make themselves, by verdict. What is open has "
        "no verdict yet, and what is not built is in no release. Each id leads to its sentence, its source and what decides it: runs, or "
        "the classes in Kafka's jars ([conformance](conformance.md#claims-that-no-state-machine-can-decide))."
    )
    yield ""
    yield from table(("kind", "entries", "decided", "not built", "known gap", "open"), _counts(), numbers=range(1, 6))
    yield ""
    yield f"Claims that Kafka's classes decide ({', '.join(CLASSES)}): {'; '.join(_by_release())}."
    yield ""
    for title, ids in sections().items():
        yield from (f"## {title}", "")
        for word, label in STATUS.items():
            mine = [name for name in ids if status(entries()[name]) == word]
            if mine:
                links = ", ".join(link_to(name, "guarantees/") for name in mine)
                yield f"- **{label.partition(':')[0]}** ({len(mine)}): {links}"
        yield ""


def _by_release() -> Iterator[str]:
    """Yield for each release how many claims hold, differ and are not built."""
    found = [item.classes for item in evidence().values() if item.classes]
    for release in dict.fromkeys(release for by in found for release in by):
        yield f"{release}: {', '.join(str(sum(by.get(release) == word for by in found)) for word in CLASSES)}"


def _counts() -> Iterator[list[str]]:
    total = [0] * 5
    for kind in KINDS:
        found = [status(entry) for entry in of_kind(kind)]
        others = [found.count(word) for word in ("not-built", "known-gap", "open")]
        row = [len(found), len(found) - sum(others), *others]
        total = [before + more for before, more in zip(total, row, strict=True)]
        yield [kind, *map(number, row)]
    yield ["**all**", *(f"**{number(count)}**" for count in total)]
