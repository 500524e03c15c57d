"""`fencepost vacuity`: lists properties never violated, actions never taken, and guards never needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from click import argument, command, option
from fencepost.api.answers.matrix import SUSPICIONS
from fencepost.api.asking.quantities import counted
from fencepost.api.calls.vacuity import TELLS, MeasuredRow, measured_row
from fencepost.api.calls.vacuity import vacuity as find_suspicions
from fencepost.api.files import write_text
from fencepost.cli.status import Exit
from fencepost.cli.views.console import heading, print_json, print_lines, print_rows, results, styled
from fencepost.explorers.program.removal import guards
from fencepost.invariants.protocols import protocol
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console


@command()
@argument("names", metavar="[PROTOCOL]...", nargs=-1)
@option("--row", metavar="GUARD", help="Show the measurements without this guard, or with a setting such as elr=off.")
@option("--trace", metavar="FILE", help="With --row: write the shortest history that violates a property to this file.")
@option("--json", "as_json", is_flag=True, help="Print JSON.")
@option("--quiet", is_flag=True, help="Print only protocols with something to report.")
def vacuity(names: tuple[str, ...], row: str | None, trace: str | None, as_json: bool, quiet: bool) -> Exit:
    """List properties that no variant violates and guards that no property needs, for each PROTOCOL (default: all).

    The list contains properties that are not violated in any run of the catalogue or row of a measured matrix,
    witnesses that no run reaches, actions that are never taken, and guards that no property depends on. The command
    does not search. `fencepost ablate` measures a matrix for other constants, or for your own protocol.

    Exit status: 0 if every guarantee that holds is violated in some variant, 1 if not, 2 for bad input, 3 if a matrix
    is stale because the protocol has changed.
    """
    if row is not None:
        return _show_row(measured_row(names, row), trace, as_json=as_json)
    if trace:
        raise UsageError("--trace needs --row, because only a row has a history: write --row GUARD --trace FILE.")
    found = find_suspicions(*names)
    if as_json:
        print_json(found.to_dict())
    else:
        for data in found.protocols:
            if not quiet or data["protocol"] in found.stale or any(data[kind] for kind in SUSPICIONS):
                _print(results(), data, old=data["protocol"] in found.stale)
    if not found.complete:
        return Exit.FAILED
    return Exit.UNDETERMINED if found.stale else Exit.AS_EXPECTED


def _show_row(found: MeasuredRow, trace: str | None, *, as_json: bool) -> Exit:
    if trace:
        history = found.history
        if history is None:
            raise UsageError(
                f"nothing was violated in {found.row!r} of {found.protocol}, so there is no history: leave out --trace."
            )
        write_text(Path(trace), history.text)
    if as_json:
        print_json(found.to_dict())
    else:
        _print_row(results(), found)
    return Exit.AS_EXPECTED


def _print_row(console: Console, shown: MeasuredRow) -> None:
    name, row, found = shown.protocol, shown.row, shown.found
    console.print(heading(f"{name} {row}"))
    asks = next((item for item in guards(protocol(name).machine) if item.name == row), None)
    if asks:
        print_lines(console, styled(asks.condition, "dim"), *([f"{asks.sentence}."] if asks.sentence else []), indent=2)
    rows = []
    for item, base in found:
        broken = ", ".join(f"{prop} {length}" for prop, length in item["broken"].items())
        rows.append((base["run"], item["purpose"], broken or item.get("departure") or item["why"]))
    print_rows(console, rows, indent=2)
    for item, base in found:
        if "steps" in item:
            console.print()
            print_lines(console, f"{next(iter(item['broken']))} is violated ({base['run']}):", indent=2)
            print_lines(console, *(f"{place:>2} {step}" for place, step in enumerate(item["steps"], 1)), indent=2)
    console.print()


def _print(console: Console, data: dict[str, Any], *, old: bool) -> None:
    console.print(heading(data["protocol"]))
    where = "no matrix: guards were not examined"
    if data["bases"]:
        where = f"{counted(len(data['bases']), 'matrix', 'matrices')} ({'; '.join(data['bases'])})"
    print_lines(console, f"{counted(data['runs'], 'run')} of the catalogue, {where}", style="dim", indent=2)
    if old:
        words = "The figures are stale: the protocol has changed since they were measured."
        print_lines(console, words, style="bold yellow", indent=2)
    for name, text in {**SUSPICIONS, "guarantees": "guarantees that hold and were never violated"}.items():
        label = TELLS.get(name, text)
        looked_at = data["bases"] if name in ("dead", "idle") else data["runs"] or name != "unreached"
        shown = ", ".join(data[name]) or ("none" if looked_at else "not examined")
        print_lines(console, f"{label}: {shown}", style="yellow" if data[name] else "", indent=2)
    console.print()
