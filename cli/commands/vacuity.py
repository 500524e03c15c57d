"""`fencepost vacuity`: what of a protocol was never seen to fail, to happen, or to matter. Nothing is searched for it.

It is read off the runs of the catalogue and the matrices that were measured for the chapter of checks.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.api.data import FORMAT
from fencepost.api.quantities import counted
from fencepost.api.suspicions import TOLD
from fencepost.api.targets import make_sure_file
from fencepost.cli.status import Exit
from fencepost.cli.views.console import heading, print_json, print_lines, results, styled
from fencepost.invariants.protocols import PROTOCOLS, protocol
from fencepost.model.language.errors import UsageError
from fencepost.pages.matrices import MEASURED, stale
from fencepost.pages.vacuity import TELLS, report

if TYPE_CHECKING:
    from rich.console import Console


@click.command(short_help="Say what was never seen to fail, to happen, or to matter.")
@click.argument("names", metavar="[PROTOCOL]...", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def vacuity(names: tuple[str, ...], as_json: bool) -> Exit:  # noqa: FBT001 (as click calls it)
    """Say of each PROTOCOL (all if none is named) which properties no variant violates, and what nothing depends on.

    Told are properties that no run of the catalogue and no row of a measured matrix violates, witnesses that no run reaches,
    actions that never happen, and guards that no property depends on. Nothing is searched: for other constants, or a protocol
    of your own, `fencepost ablate` tells the same of one matrix.

    \b
    Exit status: 0 every guarantee that holds was seen to fail in some variant, 1 one was not, 2 bad input,
    3 a matrix is of an older state of the protocol.
    """  # noqa: D301 (\b is the mark by which click keeps lines)
    for name in names:
        if name.endswith(".py") or "/" in name:
            make_sure_file(Path(name))
            raise UsageError(
                f"no matrix is kept for {name}: `fencepost ablate {name}` makes one, and tells what is suspicious."
            )
    if not MEASURED.is_file():
        raise UsageError(f"{MEASURED} is missing: run this in a copy of the repository, or `fencepost ablate PROTOCOL`.")
    told = [report(protocol(name)) for name in names or PROTOCOLS]
    old = [name for name in stale() if name in (names or PROTOCOLS)]
    if as_json:
        print_json({"format": FORMAT, "stale": old, "protocols": told})
    else:
        for data in told:
            _print(results(), data, old=data["protocol"] in old)
    if any(data["guarantees"] for data in told):
        return Exit.FAILED
    return Exit.UNDETERMINED if old else Exit.AS_EXPECTED


def _print(console: Console, data: dict[str, Any], *, old: bool) -> None:
    console.print(heading(data["protocol"]))
    where = (
        f"{counted(len(data['bases']), 'matrix', 'matrices')} ({'; '.join(data['bases'])})"
        if data["bases"]
        else "no matrix: guards are not looked at"
    )
    print_lines(console, styled(f"{counted(data['runs'], 'run')} of the catalogue, {where}", "dim"), indent=2)
    if old:
        print_lines(
            console, styled("The matrices are of an older state of the protocol: measure them anew.", "bold yellow"), indent=2
        )
    for name, text in {**TOLD, "guarantees": "guarantees that hold, and that nothing was seen to break"}.items():
        told = TELLS.get(name, text)
        looked_at = data["bases"] if name in ("dead", "idle") else data["runs"] or name != "unreached"
        shown = ", ".join(data[name]) or ("none" if looked_at else "not looked at")
        print_lines(console, styled(f"{told}: {shown}", "yellow" if data[name] else ""), indent=2)
    console.print()
