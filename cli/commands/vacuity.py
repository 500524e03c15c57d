"""`fencepost vacuity`: properties never violated, actions never taken, guards never needed. Nothing is searched for it.

It is read off the runs of the catalogue and the measured matrices. With `--row` it shows one row of a matrix.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.api.answers.results import FORMAT
from fencepost.api.answers.suspicions import SUSPICIONS
from fencepost.api.asking.model_files import make_sure_file
from fencepost.api.asking.quantities import counted
from fencepost.api.files import write_text
from fencepost.cli.commands.options import Target, command_line
from fencepost.cli.status import Exit
from fencepost.cli.views.console import heading, print_json, print_lines, print_rows, results, styled
from fencepost.explorers.program.removal import guards
from fencepost.invariants.protocols import PROTOCOLS, protocol
from fencepost.model.language.errors import UsageError, nearest
from fencepost.site.pages.histories import history
from fencepost.site.pages.matrices import best_of, measured, stale
from fencepost.site.pages.vacuity import TELLS, report

if TYPE_CHECKING:
    from fencepost.site.pages.matrices import Found
    from rich.console import Console


@click.command()
@click.argument("names", metavar="[PROTOCOL]...", nargs=-1)
@click.option(
    "--row", metavar="GUARD", help="Show what was measured without this guard, or with a setting such as elr=off."
)
@click.option("--trace", metavar="FILE", help="With --row: write its shortest history there, as a trace.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--quiet", is_flag=True, help="Print only protocols of which there is something to say.")
@click.option("--set", "settings", multiple=True, hidden=True)
@click.option("--version", hidden=True)
@click.option("--with", "with_", multiple=True, hidden=True)
@click.option("--without", multiple=True, hidden=True)
def vacuity(
    names: tuple[str, ...],
    row: str | None,
    trace: str | None,
    as_json: bool,  # noqa: FBT001 (as click calls it)
    quiet: bool,  # noqa: FBT001 (as click calls it)
    **constants: Any,
) -> Exit:
    """List for each PROTOCOL (all if none is named) properties that no variant violates and guards that nothing depends on.

    It lists properties that no run of the catalogue and no row of a measured matrix violates, witnesses that no run reaches,
    actions that never happen, and guards that no property depends on. Nothing is searched: for other constants, or a protocol
    of your own, `fencepost ablate` reports the same of one matrix.

    \b
    Exit status: 0 every guarantee that holds was seen to fail in some variant, 1 one was not, 2 bad input,
    3 a matrix is stale: the protocol has changed since.
    """  # noqa: D301 (\b is the mark by which click keeps lines)
    refuse_constants(names, constants)
    for name in names:
        if name.endswith(".py") or "/" in name:
            make_sure_file(Path(name))
            raise UsageError(
                f"no matrix is kept for {name}: `fencepost ablate {name}` makes one, and reports what is suspicious."
            )
    if row is not None:
        return show_row(names, row, trace, as_json=as_json)
    if trace:
        raise UsageError(
            "--trace was given without --row, and only a row has a history: write --row GUARD --trace FILE."
        )
    reports = [report(protocol(name)) for name in names or PROTOCOLS]
    old = [name for name in stale() if name in (names or PROTOCOLS)]
    if as_json:
        print_json({"format": FORMAT, "stale": old, "protocols": reports})
    else:
        for data in reports:
            if quiet and data["protocol"] not in old and not any(data[kind] for kind in SUSPICIONS):
                continue
            _print(results(), data, old=data["protocol"] in old)
    if any(data["guarantees"] for data in reports):
        return Exit.FAILED
    return Exit.UNDETERMINED if old else Exit.AS_EXPECTED


def refuse_constants(names: tuple[str, ...], given: dict[str, Any]) -> None:
    """Raise UsageError for constants, which other commands take: here everything was measured at some before."""
    target = Target(
        names[0] if names else "PROTOCOL", given["settings"], given["version"], given["with_"], given["without"]
    )
    if len(target.words) > 1:
        raise UsageError(
            f"vacuity was given {' '.join(target.words[1:])}, and it searches nothing: it reports what was measured, at the constants that it "
            f"names. `{command_line('ablate', *target.words)}` reports the same at others; --row shows a row such as elr=off."
        )


def show_row(names: tuple[str, ...], row: str, trace: str | None, *, as_json: bool) -> Exit:
    """Show one row of the matrices of one protocol at each set of constants, and its shortest history."""
    if len(names) != 1 or names[0] not in measured():
        raise UsageError(
            f"--row was given with {' '.join(names) or 'no protocol'}, and a row is one of one measured protocol: "
            f"write one of {', '.join(measured())}."
        )
    (name,) = names
    data = measured()[name]
    known = list(best_of(data))
    if row not in known:
        raise UsageError(
            f"no row {row!r} was measured of {name}.{nearest(row, known)} `fencepost ablate {name}` makes any row."
        )
    found = [(item, base) for base in data["bases"] for item in base["rows"] if item["row"] == row]
    shown = next((history(name, pair) for pair in found if "steps" in pair[0]), None)
    if trace:
        if shown is None:
            raise UsageError(f"{row!r} of {name} has no history, as nothing was violated: leave --trace out.")
        write_text(Path(trace), shown.text)
    if as_json:
        rows = [{"run": base["run"], "constants": base["constants"], **item} for item, base in found]
        print_json({"format": FORMAT, "protocol": name, "row": row, "rows": rows})
    else:
        print_row(results(), name, row, found)
    return Exit.AS_EXPECTED


def print_row(console: Console, name: str, row: str, found: list[Found]) -> None:
    """Print a row at each set of constants, and the steps of its history."""
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
    where = (
        f"{counted(len(data['bases']), 'matrix', 'matrices')} ({'; '.join(data['bases'])})"
        if data["bases"]
        else "no matrix: guards were not examined"
    )
    print_lines(console, styled(f"{counted(data['runs'], 'run')} of the catalogue, {where}", "dim"), indent=2)
    if old:
        print_lines(
            console,
            styled("The figures are stale: the protocol has changed since they were measured.", "bold yellow"),
            indent=2,
        )
    for name, text in {**SUSPICIONS, "guarantees": "guarantees that hold, and that nothing was seen to break"}.items():
        label = TELLS.get(name, text)
        looked_at = data["bases"] if name in ("dead", "idle") else data["runs"] or name != "unreached"
        shown = ", ".join(data[name]) or ("none" if looked_at else "not examined")
        print_lines(console, styled(f"{label}: {shown}", "yellow" if data[name] else ""), indent=2)
    console.print()
