"""A page for the runs of each protocol: what was set, how much was searched, and what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.counterexamples.trace import ARCHIVE
from fencepost.invariants.catalogue import runs_of
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.site.knowledge import entries_by_run
from fencepost.site.pages.markdown import number, table
from fencepost.site.places import (
    anchor_of_run,
    in_explorer,
    of_entry,
    of_property,
    of_protocol,
    of_trace,
    relative,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.invariants.catalogue import Run

INTRODUCTION = (
    "Each run is one search of all reachable states at the constants that are given here; those that are not named are as declared. States, depths and "
    "the lengths of the shortest traces (in states) are pinned: `fencepost check --profile ci` fails if one of them differs. Every other property "
    "that a run was asked about holds."
)


def pages() -> dict[str, Iterator[str]]:
    """Return the lines of each page by its place."""
    return {f"runs/{name}.md": page(name) for name in PROTOCOLS if runs_of(name)}


def page(name: str) -> Iterator[str]:
    """Yield the lines of the page of a protocol's runs."""
    place = f"runs/{name}.md"
    yield from (f"# Runs of {name}", "", f"[The protocol]({relative(of_protocol(name), place)}). {INTRODUCTION}", "")
    head = ("run", "set", "states", "depth", "violated", "evidence for")
    yield from (*table(head, (_row(run, place) for run in runs_of(name)), numbers=(2, 3)), "")


def _row(run: Run, place: str) -> list[str]:
    machine = PROTOCOLS[run.protocol].machine
    declared = machine.constants.declared()
    given = {name: str(declared[name].show(value)).lower() for name, value in run.constants.items()}
    values = machine.version(run.version).values if run.version else {}
    shown = " ".join(f"`{name}={value}`" for name, value in given.items())
    everything = {name: declared[name].show(value) for name, value in {**values, **run.constants}.items()}
    there = relative(in_explorer(machine, everything, ()), place)
    return [
        f'<a id="{anchor_of_run(run)}"></a>[{run.short_name.replace("|", "/")}]({there})',
        shown,
        number(run.distinct),
        number(run.depth),
        ", ".join(_violation(run, prop, length, place) for prop, length in run.violated.items()) or "nothing",
        ", ".join(f"[{name}]({relative(of_entry(name), place)})" for name in entries_by_run().get(run.name, ()))
        or run.serves,
    ]


def _violation(run: Run, prop: str, length: int, place: str) -> str:
    """Return a property that fails in a run, with the length of its shortest trace, and the trace where it is archived."""
    file = run.traces[prop]
    told = f"[{prop}]({relative(of_property(run.protocol, prop), place)}) {length}"
    return f"{told} ([trace]({relative(of_trace(file), place)}))" if (ARCHIVE / file).is_file() else told
