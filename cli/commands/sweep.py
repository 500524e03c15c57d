"""`fencepost sweep`: random walks over a grid of constants, on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from fencepost.cli.status import Exit


@click.command(short_help="Walk at random over a grid of constants, on Spark.")
@click.argument("protocol", metavar="PROTOCOL_OR_FILE")
@click.option("--grid", multiple=True, metavar="NAME=V,V,...", help="Walk with each of these values; several are combined.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set a constant.")
@click.option("--version", metavar="NAME", help="Take the constants of a named version, such as a Kafka release.")
@click.option("--with", "with_", multiple=True, metavar="SWITCH", help="Turn a switch on.")
@click.option("--without", multiple=True, metavar="SWITCH", help="Turn a switch off.")
@click.option("--property", "properties", multiple=True, metavar="NAME", help="Judge this property, not all.")
@click.option("--walks", type=click.IntRange(1), default=10_000, show_default=True, metavar="N", help="Walks in each cell.")
@click.option(
    "--depth", type=click.IntRange(1, 1_000_000), default=100, show_default=True, metavar="N", help="Steps of each at most."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, metavar="N", help="Another seed, other walks.")
@click.option("--weight", "weights", multiple=True, metavar="ACTION=W", help="Choose an action by weight first; others have 1.")
@click.option("--output", metavar="DIR", help="Keep the walks there, as Parquet: a folder, or a URL that all executors see.")
@click.option("--resume", is_flag=True, help="Add to the walks in --output: those that are there are not walked again.")
@click.option("--master", metavar="URL", help="Where Spark runs: local[2], spark://host:port, ...  [default: local[*]]")
@click.option("--conf", multiple=True, metavar="NAME=VALUE", help="A setting of Spark, such as spark.executor.memory=4g.")
@click.option("--budget", metavar="TIME", help="Begin no further round after this time, such as 10m.")
@click.option("--normalize/--no-normalize", default=True, help="Drop what nobody can ever observe.  [default: on]")
@click.option("--expect", metavar="VERDICT", help="Succeed if this is the verdict: not-found, violated.")
@click.option("--trace", metavar="DIR", help="Write a trace there for each property that is violated, from its smallest cell.")
@click.option("--shrink/--no-shrink", "shrinks", default=True, help="Shorten the traces.  [default: on]")
@click.option("--html", metavar="FILE", help="Write the report there, as a page with a heat map.")
@click.option("--coverage", is_flag=True, help="Show how often each action fired in each cell.")
@click.option("--json", is_flag=True, help="Print JSON.")
@click.option("--quiet", is_flag=True, help="No notes and no progress, only results.")
def sweep(**given: Any) -> Exit:
    """Walk at random through PROTOCOL with every combination of the grid's values, and say where it is violated.

    The walks of a cell are those of `fencepost simulate` with its constants and the same seed. A cell in which no walk
    violated anything is safe as far as was searched, and no further.

    \b
    Exit status: 0 as expected, 1 violated or not as expected, 2 bad input,
    3 nothing was found, 4 Fencepost is wrong about itself.
    """  # noqa: D301 (\b is the mark by which click keeps lines)
    from fencepost.cli.commands.sweeping import run_sweep

    return run_sweep(given)
