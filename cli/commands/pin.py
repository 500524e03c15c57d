"""`fencepost check --pin`: what runs of the catalogue found is written into their files, for a person to look at as a diff."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from fencepost.api.asking.quantities import counted
from fencepost.api.calls.pins import Figures, pinned, with_figures
from fencepost.api.files import write_text
from fencepost.cli.status import Exit
from fencepost.invariants.catalogue import file_of, runs
from fencepost.invariants.figures import store
from fencepost.invariants.reached import NAME, with_reached

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fencepost.api.answers.contract import RunData
    from fencepost.invariants.catalogue import Run


def write_pins(done: Sequence[RunData], *, to_stderr: bool) -> Exit:
    """Write the figures of the runs that found the verdicts that they expect; say which files changed, and what is left."""
    by_name = {run.name: run for run in runs()}
    changed: dict[Path, dict[str, Figures]] = {}
    left = []
    for item in done:
        run = by_name[item["run"]]
        if not item["complete"] or not has_its_verdicts(run, item):
            left.append(item)
        elif with_figures(run, found := figures_of(item)) != run:
            changed.setdefault(file_of(run), {})[run.name] = found
    reached = with_reached(
        runs(), {item["run"]: reached_in(item) for item in done if item not in left and "bounds_reached" in item}
    )
    if reached != store.load(NAME):
        store.save(NAME, reached)
        click.echo(
            f"{store.file_of(NAME)}: the bounds that were reached. Review the diff before you keep it.", err=to_stderr
        )
    for file, figures in changed.items():
        write_text(file, pinned(file.name, file.read_text("utf-8"), figures))
        click.echo(f"{file}: pinned {counted(len(figures), 'run')}. Review the diff before you keep it.", err=to_stderr)
    for item in left:
        why = (
            "has other verdicts than it expects, and those are edited by hand" if item["complete"] else "did not finish"
        )
        click.echo(f"not pinned: {item['run']} {why}.", err=to_stderr)
    if any(item["complete"] for item in left):
        return Exit.FAILED
    return Exit.UNDETERMINED if left else Exit.AS_EXPECTED


def reached_in(item: RunData) -> tuple[str, ...]:
    """Return the bounds that a run reached, from its JSON."""
    return tuple(found["constant"] for found in item["bounds_reached"])


def has_its_verdicts(run: Run, item: RunData) -> bool:
    """Say whether a run found exactly the verdicts that it expects."""
    expected = dict.fromkeys(run.violated, "violated") | dict.fromkeys(run.unreached, "unreached")
    return all(found["verdict"] == expected.get(found["name"], "holds") for found in item["properties"])


def figures_of(item: RunData) -> Figures:
    """Return the figures that a run found, from its JSON."""
    lengths = {found["name"]: found["length"] for found in item["properties"] if found["verdict"] == "violated"}
    worst = {found["name"]: found["worst"] for found in item["properties"] if "worst" in found}
    return Figures(item["distinct"], item["depth"], lengths, worst)
