"""`fencepost sweep`: random walks over a grid of constants, on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from fencepost.api.calls.grids import axes_of
from fencepost.api.files import make_sure_folder, write_text
from fencepost.cli.commands.options import (
    Expected,
    Target,
    Time,
    Writable,
    cluster_of,
    constants_options,
    normalize_option,
    output_options,
    properties_option,
    spark_options,
)
from fencepost.cli.commands.simulate import weight_of
from fencepost.cli.failures import as_far_as_kept
from fencepost.cli.status import Exit, exit_of, worst_exit
from fencepost.cli.views.console import print_json, results
from fencepost.cli.views.display import Display


@click.command()
@click.argument("protocol", metavar="PROTOCOL_OR_FILE")
@click.option(
    "--grid", multiple=True, metavar="NAME=V,V,...", help="Walk with each of these values; several are combined."
)
@constants_options
@properties_option
@click.option(
    "--walks", type=click.IntRange(1), default=10_000, show_default=True, metavar="N", help="Walks in each cell."
)
@click.option(
    "--depth",
    type=click.IntRange(1, 1_000_000),
    default=100,
    show_default=True,
    metavar="N",
    help="Maximum steps of a walk.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, metavar="N", help="Seed of the random walks."
)
@click.option(
    "--weight", "weights", multiple=True, metavar="ACTION=W", help="Choose actions by weight; the default weight is 1."
)
@click.option(
    "--output", metavar="DIR", help="Keep the walks there, as Parquet: a folder, or a URL that all executors see."
)
@click.option("--resume", is_flag=True, help="Add to the walks in --output: those that are there are not walked again.")
@spark_options
@click.option("--budget", type=Time(), metavar="TIME", help="Start no further round after this time, such as 10m.")
@normalize_option
@click.option(
    "--expect", type=Expected(), metavar="VERDICT", help="Succeed if this is the verdict: not-found, violated."
)
@click.option(
    "--trace", metavar="DIR", help="Write a trace there for each property that is violated, from its smallest cell."
)
@click.option("--shrink/--no-shrink", "shrinks", default=True, help="Shorten the traces.  [default: on]")
@click.option("--html", type=Writable(), metavar="FILE", help="Write the report there, as a page with a heat map.")
@click.option("--coverage", is_flag=True, help="Show how often each action fired in each cell.")
@output_options
def sweep(**given: Any) -> Exit:
    """Take random walks through PROTOCOL with every combination of the grid's values, and report violations.

    The walks of a cell are those of `fencepost simulate` with its constants and the same seed. A cell in which no walk
    violated anything is safe as far as was searched, and no further.

    \b
    Exit status: 0 as expected, 1 violated or not as expected, 2 bad input,
    3 nothing was found, 4 internal error.
    """  # noqa: D301 (\b is the mark by which click keeps lines)
    from fencepost.api.calls.sweep import sweep as swept

    weights = dict(map(weight_of, given["weights"]))
    question = Target.taken(given).question(given["properties"], walks=True)
    grid = axes_of(question.protocol.machine, given["grid"])
    cluster, expected = cluster_of(given["master"], given["conf"]), given["expect"]
    if given["trace"]:
        make_sure_folder(Path(given["trace"]))
    names = ("walks", "depth", "seed", "output", "resume", "normalize", "shrinks")
    with Display(quiet=given["quiet"]) as display:
        made, unkept = as_far_as_kept(
            swept,
            question,
            grid=grid,
            weights=weights,
            cluster=cluster,
            budget=given["budget"],
            traces=given["trace"],
            progress=display,
            **{name: given[name] for name in names},
        )
    data = made.to_dict()
    if given["json"]:
        print_json(data)
    else:
        from fencepost.cli.views.sweep import print_sweep

        print_sweep(results(), data, coverage=given["coverage"], output=given["output"])
    if given["html"]:
        from fencepost.cli.views.sweep_page import page as page_of

        write_text(given["html"], page_of(data))
    if unkept is not None:
        raise unkept
    early = [] if made.complete else [Exit.UNDETERMINED]
    return worst_exit([exit_of(made.verdict, expected), *early])
