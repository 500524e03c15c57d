"""What belongs together: which entries a property decides, which guards keep it, and which runs judge it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, TypeVar

from fencepost.api.topics.evidence import cases_of
from fencepost.invariants.catalogue import entries
from fencepost.site.pages.matrices import best_of, measured

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.invariants.catalogue import Entry
    from fencepost.invariants.run import Case

Key = TypeVar("Key")
Asked = tuple[str, str]
"""A protocol, and one of its properties."""


@cache
def entries_by_property() -> dict[Asked, tuple[str, ...]]:
    """Return the entries that runs on a property decide."""
    return _entries_by(lambda case: (case.run.protocol, case.prop))


@cache
def entries_by_run() -> dict[str, tuple[str, ...]]:
    """Return the entries that a run is evidence for, by its name."""
    return _entries_by(lambda case: case.run.name)


@cache
def entries_by_trace() -> dict[str, tuple[str, ...]]:
    """Return the entries that an archived trace is evidence for, by the name of its file."""
    return _entries_by(lambda case: case.run.traces[case.prop] if case.expect == "violated" else None)


def _entries_by(key: Callable[[Case], Key | None]) -> dict[Key, tuple[str, ...]]:
    """Return the entries by what their cases have; those that have None are left out."""
    found: dict[Key, dict[str, None]] = {}
    for name, entry in entries().items():
        for case in cases_of(entry):
            having = key(case)
            if having is not None:
                found.setdefault(having, {})[name] = None
    return {having: tuple(names) for having, names in found.items()}


@cache
def guards_by_property() -> dict[Asked, tuple[str, ...]]:
    """Return the guards without which a property is violated that holds with them, as matrices found it."""
    found: dict[Asked, dict[str, None]] = {}
    for protocol, data in measured().items():
        for name, (row, _) in best_of(data).items():
            if row["kind"] == "guard":
                for prop in row["broken"]:
                    found.setdefault((protocol, prop), {})[name] = None
    return {asked: tuple(names) for asked, names in found.items()}


@cache
def same() -> dict[str, tuple[str, ...]]:
    """Return by entry the claims of KIPs that say the same, or a part of it."""
    found: dict[str, list[str]] = {}
    for name, entry in entries().items():
        for other in entry.same_as:
            found.setdefault(other, []).append(name)
    return {name: tuple(others) for name, others in found.items()}


def asked_of(entry: Entry) -> tuple[Asked, ...]:
    """Return the properties that decide an entry."""
    return tuple(dict.fromkeys((case.run.protocol, case.prop) for case in cases_of(entry)))
