"""The result of a sweep, printed: a row for each cell, then the frontier and the traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.api.asking.quantities import counted, show_seconds
from fencepost.api.calls.sweep import WRONG
from fencepost.cli.views.console import print_bare, print_lines, styled

if TYPE_CHECKING:
    from fencepost.api.answers.contract import SweepData, Values
    from rich.console import Console
    from rich.table import Table


FEW = 100
"""States below which an estimate says nothing."""


def print_sweep(console: Console, data: SweepData, *, coverage: bool, output: str | None = None) -> None:
    """Print a sweep; `output` is the folder that keeps its walks."""
    print_lines(console, f"{data['protocol']}  {data['verdict']}")
    print_bare(console, _table(data))
    for left in data["refused"]:
        print_lines(console, styled(f"{_setting(left['constants'])}: left out, {left['why']}", "dim"))
    unsafe = [cell for cell in data["cells"] if cell.get("smallest_unsafe")]
    if unsafe:
        print_lines(console, "", "Frontier: the smallest cells in which a walk violated a property.")
    for cell in unsafe:
        for item in cell["violations"]:
            short = (
                f", shortened to {item['shortened']}{'' if item['is_shortest'] else ' at least'}"
                if "shortened" in item
                else ""
            )
            file = f": {item['trace']}" if item.get("trace") else ""
            print_lines(
                console,
                f"{_setting(cell['constants'])}  {item['property']}: {counted(item['walks'], 'walk')}, "
                f"the shortest has {counted(item['length'], 'state')}{short}{file}",
                indent=2,
            )
    if coverage:
        print_bare(console, _coverage(data))
    never = sorted(
        set.intersection(
            *(
                {item["name"] for item in cell["actions"] if not item["fired"]}
                for cell in data["cells"]
                if cell["walks"]
            )
        )
    )
    if never:
        print_lines(console, "", styled(f"never happened in any cell: {', '.join(never)}", "yellow"))
    rate = data["steps"] / data["seconds"] if data["walked_now"] and data["seconds"] else 0
    kept = f"; {data['walks'] - data['walked_now']:,} were there before" if data["walks"] > data["walked_now"] else ""
    print_lines(
        console,
        "",
        f"walks  {counted(data['walked_now'], 'walk')} of up to {data['depth']} steps in {show_seconds(data['seconds'])}{kept}, seed {data['seed']}"
        + (f"; {rate * data['walked_now'] / max(1, data['walks']):,.0f} steps a second" if rate else ""),
    )
    if not data["complete"]:
        rest = f"; the same command with {'' if output else '--output DIR, then '}--resume walks the rest"
        told = (
            data["why_stopped"]
            if data["why_stopped"].startswith(WRONG)
            else f"ended early: {data['why_stopped']}{rest}"
        )
        print_lines(console, styled(told, "yellow"))
    print_lines(console, styled("What no walk violated is not-found: walks never show that something holds.", "dim"))


def _table(data: SweepData) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in data["axes"]:
        table.add_column(name, justify="right")
    for name in ("verdict", "walks", "violated", "shortest", "states", "most faults"):
        table.add_column(name, justify="left" if name == "verdict" else "right")
    for cell in data["cells"]:
        values = [str(value) for value in cell["constants"].values()]
        lengths = [item["length"] for item in cell["violations"]]
        rest = [
            f"{cell['walks']:,}",
            f"{cell.get('violated', 0):,}",
            str(min(lengths, default="")),
            about(cell.get("distinct", 0)),
            str(cell.get("most_faults", "")),
        ]
        table.add_row(*values, cell["verdict"], *rest, style="red" if cell["verdict"] == "violated" else None)
    return table


def about(distinct: int) -> str:
    """Return an estimate, which is of a sixteenth of what was seen, and says nothing of a few states."""
    return f"~{distinct:,}" if distinct >= FEW else f"< {FEW}"


def _coverage(data: SweepData) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, title="how often each action happened", title_justify="left")
    table.add_column("action")
    walked = [cell for cell in data["cells"] if cell["walks"]]
    for cell in walked:
        table.add_column(_setting(cell["constants"]) or "all", justify="right")
    for number, item in enumerate(walked[0]["actions"]):
        table.add_row(item["name"], *(f"{cell['actions'][number]['fired']:,}" for cell in walked))
    return table


def _setting(constants: Values) -> str:
    return " ".join(f"{name}={value}" for name, value in constants.items())
