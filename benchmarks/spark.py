"""The cost of Spark, compared with the native engine in the same run: `python -m benchmarks.spark [PART ...]`.

Parts: `search` (a search of tens of millions of states on local[2]), `levels` (the fixed cost of a level), `executors`
(one and two executors in separate processes), `sweep` (steps per second of random walks). Times exclude compilation and
the start of a session, which is printed. Writes invariants/figures/spark.json, which docs/use/spark.md reads.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

from fencepost.explorers.native.compile import compiled
from fencepost.explorers.native.search import Search
from fencepost.explorers.search import values_of
from fencepost.explorers.spark.explore import Explore
from fencepost.explorers.spark.session import Cluster, spark
from fencepost.explorers.spark.sweep import Sweep, cell_of, prepare
from fencepost.explorers.spark.sweep import run as run_sweep
from fencepost.explorers.spark.work import Origin
from fencepost.explorers.verdict import Options
from fencepost.explorers.walk.sample import Plan, sample
from fencepost.explorers.walk.walker import Walker
from fencepost.invariants.catalogue import runs
from fencepost.invariants.figures.store import load, save
from fencepost.invariants.protocols import protocol
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.explorers.spark.session import Exchange
    from fencepost.explorers.spark.work import Received, Work
    from fencepost.explorers.verdict import Result
    from fencepost.model.language.constants import Constants
    from pyspark import SparkContext


@dataclass
class Cost:
    """One level: the job's time in seconds, its tasks, its shuffled bytes, and its numbers of moved and new states."""

    level: int
    seconds: float = 0.0
    tasks: int = 0
    shuffle_written: int = 0
    shuffle_read: int = 0
    received: int = 0
    fresh: int = 0
    block_bytes: int = 0

    @staticmethod
    @contextmanager
    def of(context: SparkContext, level: int) -> Iterator[Cost]:
        found, group = Cost(level), f"fencepost level {level}"
        context.setJobGroup(group, f"Fencepost: level {level}")
        began = time.perf_counter()
        yield found
        found.seconds = time.perf_counter() - began
        tracker, store = context.statusTracker(), context._jsc.sc().statusStore()
        context._jsc.sc().listenerBus().waitUntilEmpty()  # Spark's status is updated only after the job has ended
        for job in tracker.getJobIdsForGroup(group):
            info = tracker.getJobInfo(job)
            for stage in info.stageIds if info else ():
                data = store.lastStageAttempt(stage)
                found.tasks += data.numCompleteTasks()
                found.shuffle_written += data.shuffleWriteBytes()
                found.shuffle_read += data.shuffleReadBytes()


@dataclass
class _Measured(Explore):
    costs: list[Cost] = field(default_factory=list)

    def _level(self, exchange: Exchange, work: Work) -> list[Received]:
        with Cost.of(exchange.context, work.level) as cost:
            answers = super()._level(exchange, work)
        cost.fresh = sum(item.fresh for item in answers)
        cost.received = sum(item.received for item in answers)
        cost.block_bytes = sum(item.block[0] for item in answers)
        self.costs.append(cost)
        return answers


LARGE = "replication kafka-4.1 3 brokers and two records"
MIDDLE = "replication kafka-4.1 3 brokers and two records, repaired, fenced first"
SMALL = "kip320 3/2/2/1"
SMALL_LEVEL = 5_000
"""If a level has fewer states than this, its time counts as the fixed cost of a level."""
WALKS = {"brokers": 5, "crashes": 1}
PARTITIONS = (4, 64)
MEMORY = ("spark.driver.memory", "4g")
CONSOLE = Console(width=120, highlight=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parts = {"search": _search, "levels": _levels, "executors": _executors, "sweep": _sweep}
    parser.add_argument("parts", nargs="*", default=list(parts), metavar="PART", help=f"parts: {', '.join(parts)}")
    parser.add_argument("--large", default=LARGE, help="the catalogue run for `search`")
    parser.add_argument("--middle", default=MIDDLE, help="the catalogue run for `executors`")
    given = parser.parse_args()
    if set(given.parts) - set(parts):
        parser.error(f"{given.parts} contains an unknown part: write some of {', '.join(parts)}")
    measured = dict(load("spark"))
    for part in given.parts:
        measured[part] = parts[part](given)
        save("spark", dict(sorted(measured.items())))


class Searches:
    def __init__(self, name: str) -> None:
        found = {run.name: run for run in runs()}
        if name not in found:
            message = f"there is no run {name!r} in the catalogue."
            raise SystemExit(message)
        self.name, run = name, found[name]
        self.found = protocol(run.protocol)
        self.constants: Constants = self.found.machine.set_constants(values_of(run))
        self.properties = self.found.properties
        self.kernels = compiled(self.found.machine, self.constants, self.found.properties)

    def native(self, workers: int) -> Result:
        search = Search(
            self.found.machine, self.constants, self.found.properties, Options(workers=workers), kernels=self.kernels
        )
        return search.run()

    def on_spark(self, cluster: Cluster, partitions: int = 0, handover: int = 100_000) -> dict[str, Any]:
        values = tuple((name, int(value)) for name, value in self.constants.values.items())
        origin = Origin(
            self.found.machine.name, "", values, tuple(item.name for item in self.properties), normalize=True
        )
        search = _Measured(
            self.found.machine, self.constants, self.properties, Options(), origin, self.kernels, partitions, handover
        )  # fmt: skip
        start: list[float] = []
        result = search.run(lambda: _timed(cluster, start))
        return {
            "distinct": result.distinct,
            "generated": result.generated,
            "depth": result.depth,
            "seconds": round(result.seconds, 1),
            "session_seconds": round(sum(start), 1),
            "row_bytes": self.kernels.source.layout.dtype.itemsize,
            "levels": [asdict(item) | {"seconds": round(item.seconds, 2)} for item in search.costs],
        }


@contextmanager
def _timed(cluster: Cluster, start: list[float]) -> Iterator[SparkContext]:
    began = time.perf_counter()
    with spark(cluster) as context:
        start.append(time.perf_counter() - began)
        yield context


def _search(given: argparse.Namespace) -> dict[str, Any]:
    searches = Searches(given.large)
    native = searches.native(2)
    there = searches.on_spark(Cluster("local[2]", (MEMORY,)))
    if (native.distinct, native.depth, native.generated) != (there["distinct"], there["depth"], there["generated"]):
        message = f"{searches.name}: Spark found {there['distinct']:,} states, the native engine {native.distinct:,}."
        raise SystemExit(message)
    CONSOLE.print(
        f"{searches.name}: {native.distinct:,} states; native, two workers {native.seconds:.0f} s; Spark on local[2] "
        f"{there['seconds']:.0f} s, {there['seconds'] / native.seconds:.2f} times as long (goal: at most 4); its "
        f"session took {there['session_seconds']:.1f} s to start"
    )
    _print_levels(there)
    return {"run": searches.name, "native_seconds": round(native.seconds, 1), "spark": there}


def _print_levels(there: dict[str, Any]) -> None:
    table = Table(title="The levels searched by Spark", title_justify="left")
    for column in ("level", "new states", "moved successors", "shuffle written, MB", "bytes per successor", "seconds"):
        table.add_column(column, justify="right")
    for item in there["levels"]:
        moved = max(1, item["received"])
        table.add_row(
            str(item["level"]), f"{item['fresh']:,}", f"{item['received']:,}", f"{item['shuffle_written'] / 1e6:,.1f}",
            f"{item['shuffle_written'] / moved:.1f}", f"{item['seconds']:.2f}",
        )  # fmt: skip
    CONSOLE.print(table)


def _levels(given: argparse.Namespace) -> dict[str, Any]:
    """Measure the fixed cost of a level, with few and with many partitions, on a small machine whose whole search runs
    on Spark.
    """
    del given
    searches, found = Searches(SMALL), {}
    for partitions in PARTITIONS:
        there = searches.on_spark(Cluster("local[2]"), partitions, handover=1)
        small = [item["seconds"] for item in there["levels"] if item["fresh"] < SMALL_LEVEL][2:]
        found[partitions] = {
            "median_seconds": round(median(small), 3),
            "most_seconds": max(small),
            "levels": len(small),
        }
        CONSOLE.print(
            f"{SMALL}, every level on Spark, {partitions} partitions: {median(small):.2f} s per level (median of "
            f"{len(small)}), {max(small):.2f} s at most, without the first two, which start Python (goal with 4 "
            "partitions: below 1.5 s)"
        )
    return {"run": SMALL, "partitions": found}


def _executors(given: argparse.Namespace) -> dict[str, Any]:
    searches = Searches(given.middle)
    conf = (("spark.executor.memory", "2g"),)
    found = {
        count: searches.on_spark(Cluster(f"local-cluster[{count},1,2048]", conf), partitions=4) for count in (1, 2)
    }
    one, two = found[1]["seconds"], found[2]["seconds"]
    CONSOLE.print(
        f"{searches.name}: {found[1]['distinct']:,} states; one executor {one:.0f} s, two {two:.0f} s, "
        f"{one / two:.2f} times as fast"
    )
    return {"run": searches.name, "one": found[1], "two": found[2]}


def _sweep(given: argparse.Namespace) -> dict[str, Any]:
    del given
    found = protocol("replication")
    constants = found.machine.set_constants(WALKS)
    names = tuple(item.name for item in found.properties)
    kernels = compiled(found.machine, constants, found.properties)
    walker = Walker(found.machine, constants, found.properties, kernels=kernels)
    depth, walks = 100, 200_000
    sample(walker, Plan(walks=2_000, depth=depth, workers=2))
    taken = sample(walker, Plan(walks=walks, depth=depth, workers=2))
    native = taken.steps / taken.seconds
    cell = cell_of(dict(constants.shown))
    values = tuple((name, int(value)) for name, value in constants.values.items())
    sweep = Sweep(((cell, Origin("replication", "", values, names, normalize=True)),), 0, depth, ())
    folder = tempfile.mkdtemp(prefix="fencepost-benchmark-")
    try:
        with spark(Cluster("local[2]", (MEMORY,))) as context:
            from pyspark.sql import SparkSession
            from pyspark.sql.functions import sum as total

            session = SparkSession(context)
            run_sweep_once(session, sweep, 4_000, f"{folder}/warm")
            swept = run_sweep_once(session, sweep, walks, f"{folder}/walks")
            steps = session.read.parquet(f"{folder}/walks/walks.parquet").agg(total("steps")).first()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert steps is not None
    there = steps[0] / swept
    CONSOLE.print(
        f"walks of replication with {WALKS}: {native:,.0f} steps/s on two threads, {there:,.0f} in a sweep on "
        f"local[2]: {there / native:.0%} (goal: at least 70 %)"
    )
    return {"constants": WALKS, "walks": walks, "native_steps": round(native), "sweep_steps": round(there)}


def run_sweep_once(session: Any, sweep: Sweep, walks: int, folder: str) -> float:
    prepare(folder, sweep, resume=False)
    return run_sweep(session, sweep, walks, folder).seconds


if __name__ == "__main__":
    main()
