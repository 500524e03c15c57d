"""`fencepost sweep`: takes random walks on Spark for a grid of constants."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from click import argument, option
from fencepost.api.answers.as_json import Json
from fencepost.api.asking.constants import Value, axes_of
from fencepost.api.asking.quantities import counted, show_seconds
from fencepost.api.calls.sweep import WRONG
from fencepost.api.calls.sweep import sweep as swept
from fencepost.api.files import make_sure_folder, write_text
from fencepost.cli.commands import options
from fencepost.cli.commands.simulate import FOUND, walk_options, weight_of
from fencepost.cli.failures import require_kept
from fencepost.cli.status import Exit, exit_of, worst_exit
from fencepost.cli.views.console import called, print_bare, print_json, print_lines, render_page, results, styled

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


@options.command()
@argument("protocol", metavar="PROTOCOL_OR_FILE")
@option("--grid", multiple=True, metavar="NAME=V,V,...", help="Use each of these values; repeat to combine grids.")
@options.constants_options
@options.properties_option
@walk_options("Number of walks in each cell.")
@option(
    "--output", metavar="DIR", help="Save the walks as Parquet in this folder, or at a URL that all executors can read."
)
@option("--resume", is_flag=True, help="Add new walks to those in --output.")
@options.spark_options
@option("--budget", type=options.TIME, help="Start no more rounds after this much time, e.g. 10m.")
@options.normalize_option
@options.expect_option(FOUND)
@option(
    "--trace", metavar="DIR", help="Write a trace of each violated property, from its smallest cell, to this folder."
)
@option("--shrink/--no-shrink", "shrinks", default=True, help="Shorten the traces.  [default: on]")
@option("--html", type=options.Writable(), help="Write the report to this file, as an HTML page with a heat map.")
@option("--coverage", is_flag=True, help="Show how often each action was taken in each cell.")
@options.output_options
def sweep(**given: Any) -> Exit:
    """Take random walks through PROTOCOL with every combination of the grid's values, and report violations.

    Each combination is a cell. A cell's walks are the same as those of `fencepost simulate` with the same constants and
    seed. A cell without a violation is safe only as far as it was searched.

    Exit status: 0 if the result is as expected, 1 for a violation or an unexpected result, 2 for bad input, 3 if
    nothing was found, 4 for an internal error.
    """
    weights = dict(map(weight_of, given["weights"]))
    question = options.Target.from_options(given).question(given["properties"], walks=True)
    grid = axes_of(question.protocol.machine, given["grid"])
    cluster, expected = options.cluster_of(given["master"], given["conf"]), given["expect"]
    if given["trace"]:
        make_sure_folder(Path(given["trace"]))
    names = "walks depth seed output resume budget normalize shrinks"
    more = {"grid": grid, "weights": weights, "cluster": cluster, "traces": given["trace"]}
    made = called(given, swept, names, question, **more)
    data = made.to_dict()
    if given["json"]:
        print_json(data)
    else:
        print_sweep(results(), data, coverage=given["coverage"], output=given["output"])
    if given["html"]:
        write_text(given["html"], page(data))
    require_kept(made.problems)
    early = [] if made.complete else [Exit.UNDETERMINED]
    return worst_exit([exit_of(made.verdict, expected), *early])


FEW = 100
"""Minimum number of states for a meaningful estimate."""


def print_sweep(console: Console, data: Json, *, coverage: bool = False, output: str | None = None) -> None:
    print_lines(console, f"{data['protocol']}  {data['verdict']}")
    print_bare(console, _table(data))
    for left in data["refused"]:
        print_lines(console, f"{_setting(left['constants'])}: left out, because {left['why']}", style="dim")
    unsafe = [cell for cell in data["cells"] if cell.get("smallest_unsafe")]
    if unsafe:
        print_lines(console, "", "Frontier: the smallest cells in which a walk violated a property.")
    for cell in unsafe:
        for item in cell["violations"]:
            least = "" if item.get("is_shortest") else " at least"
            short = f", shortened to {item['shortened']}{least}" if "shortened" in item else ""
            file = f": {item['trace']}" if item.get("trace") else ""
            print_lines(
                console,
                f"{_setting(cell['constants'])}  {item['property']}: {counted(item['walks'], 'walk')}, "
                f"the shortest has {counted(item['length'], 'state')}{short}{file}",
                indent=2,
            )
    if coverage:
        print_bare(console, _coverage(data))
    walked = [cell["actions"] for cell in data["cells"] if cell["walks"]]
    never = sorted(set.intersection(*({item["name"] for item in actions if not item["fired"]} for actions in walked)))
    if never:
        print_lines(console, "", styled(f"never happened in any cell: {', '.join(never)}", "yellow"))
    rate = data["steps"] / data["seconds"] if data["walked_now"] and data["seconds"] else 0
    kept = f"; {data['walks'] - data['walked_now']:,} were already saved" if data["walks"] > data["walked_now"] else ""
    print_lines(
        console,
        "",
        f"walks  {counted(data['walked_now'], 'walk')} of up to {data['depth']} steps "
        f"in {show_seconds(data['seconds'])}{kept}, seed {data['seed']}"
        + (f"; {rate * data['walked_now'] / max(1, data['walks']):,.0f} steps per second" if rate else ""),
    )
    if not data["complete"]:
        rest = f"; the same command with {'' if output else '--output DIR, then '}--resume takes the remaining walks"
        words = f"ended early: {data['why_stopped']}{rest}"
        if data["why_stopped"].startswith(WRONG):
            words = data["why_stopped"]
        print_lines(console, words, style="yellow")
    print_lines(console, "A property that no walk violated is not-found: walks never prove that it holds.", style="dim")


def _table(data: Json) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in data["axes"]:
        table.add_column(name, justify="right")
    for name in ("verdict", "walks", "violated", "shortest", "states", "most faults"):
        table.add_column(name, justify="left" if name == "verdict" else "right")
    for cell in data["cells"]:
        values = [str(value) for value in cell["constants"].values()]
        lengths = [item["length"] for item in cell["violations"]]
        counts = f"{cell['walks']:,}", f"{cell.get('violated', 0):,}", str(min(lengths, default=""))
        rest = about(cell.get("distinct", 0)), str(cell.get("most_faults", ""))
        style = "red" if cell["verdict"] == "violated" else None
        table.add_row(*values, cell["verdict"], *counts, *rest, style=style)
    return table


def about(distinct: int) -> str:
    """Return, as text, the estimated number of distinct states, or an upper bound if the estimate is small."""
    return f"~{distinct:,}" if distinct >= FEW else f"< {FEW}"


def _coverage(data: Json) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, title="how often each action happened", title_justify="left")
    table.add_column("action")
    walked = [cell for cell in data["cells"] if cell["walks"]]
    for cell in walked:
        table.add_column(_setting(cell["constants"]) or "all", justify="right")
    for number, item in enumerate(walked[0]["actions"]):
        table.add_row(item["name"], *(f"{cell['actions'][number]['fired']:,}" for cell in walked))
    return table


def _setting(constants: Json) -> str:
    return " ".join(f"{name}={value}" for name, value in constants.items())


DARKEST = 0.85


class Square(NamedTuple):
    """A cell of a heat map. `shade` is the fraction of walks with a violation."""

    kind: str
    text: str
    title: str
    shade: float


class HeatMap(NamedTuple):
    """A heat map whose columns follow the grid's first axis and whose rows follow the second."""

    title: str
    across: str
    down: str
    columns: list[Value]
    rows: list[tuple[Value, list[Square]]]


def page(data: Json) -> str:
    return render_page("sweep.html", data=data, maps=maps_of(data), about=about)


def maps_of(data: Json) -> list[HeatMap]:
    """Return one heat map for each combination of values of the third and later axes."""
    axes = list(data["axes"].items())
    none: tuple[str, list[Value]] = ("", [""])
    (across, columns), (down, rows) = [*axes[:2], none, none][:2]
    known = {tuple(cell["constants"].values()): cell for cell in data["cells"]}
    refused = {tuple(item["constants"].values()): item["why"] for item in data["refused"]}
    rest: list[tuple[Any, ...]] = [()]
    for _, values in axes[2:]:
        rest = [(*one, value) for one in rest for value in values]
    found = []
    for others in rest:
        lines = []
        for row in rows:
            keys = [(*([column] if across else []), *([row] if down else []), *others) for column in columns]
            lines.append((row, [_square(known.get(key), refused.get(key, "")) for key in keys]))
        title = " ".join(f"{name}={value}" for (name, _), value in zip(axes[2:], others, strict=True))
        found.append(HeatMap(title, across, down, columns, lines))
    return found


def _square(cell: Json | None, why: str) -> Square:
    if cell is None:
        return Square("refused", "", why, 0.0)
    if not cell["walks"]:
        return Square("unknown", "?", "no walks yet", 0.0)
    kinds = (f"{it['property']}: {it['walks']:,} walks, shortest {it['length']} states" for it in cell["violations"])
    title = "\n".join([f"{cell['walks']:,} walks", *kinds])
    if not cell["violations"]:
        return Square("safe", "0", title, 0.0)
    share = cell["violated"] / cell["walks"]
    text = f"{share:.0%}" if share >= 0.01 else f"{cell['violated']:,} of {cell['walks']:,}"
    kind = "frontier" if cell["smallest_unsafe"] else "unsafe"
    return Square(kind, text, title, 0.25 + (DARKEST - 0.25) * share**0.5)
