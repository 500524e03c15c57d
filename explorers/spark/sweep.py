"""Sweeps: random walks for each cell of a grid of constants, stored as Parquet rows. Later runs can add rows."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from fencepost.explorers.native.checkpoint import model_of
from fencepost.explorers.running import sealed
from fencepost.explorers.running.files import MOST
from fencepost.explorers.running.interrupts import Signals, Stoppable
from fencepost.explorers.running.sealed import DamagedError
from fencepost.explorers.spark.session import first_cause
from fencepost.explorers.spark.store import Store, folder_of
from fencepost.explorers.spark.work import Origin
from fencepost.explorers.verdict import Cause, Reason, Verdict, out_of_time
from fencepost.explorers.walk.measures import deepest_log
from fencepost.explorers.walk.walker import End, Walker, Walks
from fencepost.model.language.actions import Kind
from fencepost.model.language.errors import UsageError
from fencepost.model.language.interpreter import Interpreter

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

FORMAT = 4
MANIFEST = "sweep.json"
ROWS = "walks.parquet"
BLOCK_STEPS = 50_000
"""Total number of steps in the walks of a block. The walker is called once per block."""
FIRST_ROUND, ROUND_SECONDS = 4, 20.0
"""Blocks per processor in the first round, and target seconds for later rounds. Walks are saved after each round."""


@dataclass(frozen=True)
class Block:
    cell: str
    block: int
    first: int
    last: int


@dataclass
class Swept:
    folder: str
    blocks: int
    done: int
    walks: int
    found_done: int
    """Number of blocks that earlier runs finished."""
    seconds: float
    why_stopped: str = ""

    @property
    def complete(self) -> bool:
        return self.done == self.blocks


def blocks_of(sweep: Sweep, walks: int) -> list[Block]:
    """Return the blocks of a sweep, taking the cells in turn, so that all cells progress equally."""
    size = max(1, BLOCK_STEPS // max(1, sweep.depth))
    starts = range(0, walks, size)
    return [
        Block(cell, number, first, min(first + size, walks))
        for (number, first), (cell, _) in itertools.product(enumerate(starts), sweep.origins)
    ]


def question(sweep: Sweep) -> dict[str, Any]:
    names = {item.name for _, origin in sweep.origins for item in origin.protocol().select(origin.properties)}
    return {"seed": sweep.seed, "depth": sweep.depth, "weights": dict(sweep.weights), "properties": sorted(names)}


def prepare(folder: str, sweep: Sweep, *, resume: bool) -> None:
    from pyarrow.fs import FileType

    system, path = folder_of(folder)
    info = system.get_file_info(path)
    names = [item.base_name for item in _entries(system, path)] if info.type == FileType.Directory else []
    empty = info.type == FileType.NotFound or (info.type == FileType.Directory and not names)
    models = {cell: _model(origin) for cell, origin in sweep.origins}
    asked = question(sweep)
    if not empty and info.type != FileType.Directory:
        raise UsageError(f"`output={folder!r}` is a file: name a folder.")
    if empty:
        if resume:
            raise UsageError(f"there is no sweep in {folder} to continue: omit `resume=True`.")
    else:
        earlier = _manifest(folder)
        if resume:
            _refuse_other(folder, earlier, asked, models)
            models = {**earlier["models"], **models}
        elif names != [MANIFEST]:  # a sweep that could not start left only a manifest
            raise UsageError(
                f"{folder} is not empty: write `resume=True` to add to the sweep in it, or name another folder."
            )
    system.create_dir(path, recursive=True)
    Store(folder).write(MANIFEST, sealed.seal({"format": FORMAT, "question": asked, "models": models}))


def _refuse_other(
    folder: str, earlier: dict[str, Any], asked: dict[str, Any], models: dict[str, dict[str, str]]
) -> None:
    for name, value in asked.items():
        if earlier["question"].get(name) != value:
            raise UsageError(
                f"the sweep in {folder} has {name} {earlier['question'].get(name)!r}, and {value!r} was requested: "
                "request the same value, or name another folder."
            )
    for cell, model in earlier["models"].items():
        if models.get(cell, model) != model:
            raise UsageError(
                f"the walks in {folder} were run with a different version of the model (cell {cell}): "
                "name another folder."
            )


def _model(origin: Origin) -> dict[str, str]:
    return model_of(
        origin.kernels().source, Interpreter(origin.machine(), origin.constants(), normalize=origin.normalize)
    )


def _entries(system: Any, path: str) -> list[Any]:
    from pyarrow.fs import FileSelector

    return list(system.get_file_info(FileSelector(path)))


def _manifest(folder: str) -> dict[str, Any]:
    try:
        return sealed.read_sealed(Store(folder).read(MANIFEST, MOST), f"{folder}/{MANIFEST}", FORMAT)
    except DamagedError:
        raise UsageError(
            f"{folder} is not empty, but contains no readable {MANIFEST} of a sweep: name another folder."
        ) from None


def rows_of(spark: SparkSession, folder: str) -> DataFrame | None:
    system, path = folder_of(folder)
    if not system.get_file_info(f"{path}/{ROWS}").is_file and not _has_rows(system, f"{path}/{ROWS}"):
        return None
    return spark.read.schema(SCHEMA).parquet(_place(folder))


def _has_rows(system: Any, path: str) -> bool:
    from pyarrow.fs import FileType

    if system.get_file_info(path).type != FileType.Directory:
        return False
    return any(item.path.endswith(".parquet") for item in _entries(system, path))


def _place(folder: str) -> str:
    return f"{folder if '://' in folder else Path(folder).absolute()}/{ROWS}"


def missing(spark: SparkSession, folder: str, wanted: list[Block]) -> list[Block]:
    """Return the missing blocks, and the missing parts of blocks for which too few walks were saved."""
    from pyspark.sql import functions

    rows = rows_of(spark, folder)
    if rows is None:
        return wanted
    try:
        last_kept = functions.coalesce(functions.max("walk"), functions.lit(-1))
        counted = rows.groupBy("cell", "block").agg(functions.count("*"), last_kept).collect()
    except Exception as error:
        raise UsageError(
            f"the walks in {folder} cannot be read: {first_cause(str(error))} Name another folder."
        ) from error
    kept = {(cell, block): (count, last + 1) for cell, block, count, last in counted}
    left = []
    for item in wanted:
        count, last = kept.get((item.cell, item.block), (0, item.first))
        if last != item.first + count:
            raise UsageError(
                f"walks in {folder} are missing or stored twice (cell {item.cell}, block "
                f"{item.block}): name another folder."
            )
        if last < item.last:
            left.append(replace(item, first=last))
    return left


def run(
    spark: SparkSession,
    sweep: Sweep,
    walks: int,
    folder: str,
    *,
    budget: float | None = None,
    tell: Callable[[int, int, float], None] | None = None,
    kept: bool = True,
) -> Swept:
    """Run the missing walks of all blocks, and save the results after each round. If a job fails, the sweep ends, but
    earlier walks are kept. `kept` means that the folder outlives the run.
    """
    wanted = blocks_of(sweep, walks)
    waiting = missing(spark, folder, wanted)
    found_done = len(wanted) - len(waiting)
    swept = Swept(folder, len(wanted), found_done, 0, found_done, 0.0)
    began, parallel = time.perf_counter(), spark.sparkContext.defaultParallelism
    size, asked = FIRST_ROUND * parallel, Stoppable()
    with Signals(asked.ask):
        while waiting and not asked.stop_asked:
            chosen, waiting = waiting[:size], waiting[size:]
            before = time.perf_counter()
            try:
                _round(spark, sweep, chosen, folder if kept else "", _place(folder), parallel)
            except UsageError as error:
                if not swept.done:
                    raise
                waiting = [*chosen, *waiting]
                asked.stop_asked = Reason(str(error).rstrip("."), Cause.ERROR)
                break
            swept.done += len(chosen)
            swept.walks += sum(item.last - item.first for item in chosen)
            swept.seconds = time.perf_counter() - began
            size = max(
                FIRST_ROUND * parallel, min(8 * size, int(len(chosen) * ROUND_SECONDS / (time.perf_counter() - before)))
            )
            if tell is not None:
                tell(swept.walks, swept.walks * sweep.depth, swept.seconds)
            if budget is not None and swept.seconds > budget and waiting:
                asked.ask(out_of_time(budget))
    swept.why_stopped = asked.stop_asked if waiting else ""
    return swept


def wrong_walk(rows: DataFrame) -> tuple[str, int] | None:
    found = rows.where(rows["ended"] == ERROR).orderBy("cell", "walk").select("cell", "walk").first()
    return None if found is None else (found["cell"], found["walk"])


def _round(spark: SparkSession, sweep: Sweep, blocks: list[Block], kept: str, place: str, parallel: int) -> None:
    tasks = spark.sparkContext.parallelize(
        [(item.cell, item.block, item.first, item.last) for item in blocks], min(len(blocks), 4 * parallel)
    )
    try:
        frame = spark.createDataFrame(tasks, "cell string, block long, first long, last long")
        frame.mapInArrow(partial(walk_blocks, sweep), SCHEMA).write.mode("append").parquet(place)
    except Exception as error:
        where = f"The walks of earlier rounds are kept in {kept}; `resume=True` continues from there."
        said = where if kept else "`output=DIR` would have saved the walks of earlier rounds."
        raise UsageError(f"a Spark job failed: {first_cause(str(error))} {said}") from error


SCHEMA = (
    "cell string, block long, walk long, verdict string, property string, length int, steps int, ended string, "
    "faults int, deepest_log int, fired array<int>, fingerprints array<long>, seconds double, "
    "violations array<struct<property:string,length:int>>"
)
"""Schema of a sweep's rows.

`cell` contains the constants as JSON. `property` is the property with the shortest violation, and `length` is the
number of states in that violation (0 if none). `violations` contains every violated property with the number of
states of its trace. `fired` counts the steps of each action. `fingerprints` contains the hashes of about one state in
16. `seconds` is the walk's share of its block's time.
"""
NEVER = 1 << 30
ERROR = "error"


@dataclass(frozen=True)
class Sweep:
    origins: tuple[tuple[str, Origin], ...]
    seed: int
    depth: int
    weights: tuple[tuple[str, int], ...]

    @property
    def by_cell(self) -> dict[str, Origin]:
        return dict(self.origins)


def cell_of(constants: dict[str, Any]) -> str:
    return json.dumps(constants, sort_keys=True, separators=(",", ":"))


@cache
def walker_of(origin: Origin) -> Walker:
    found = origin.protocol()
    kernels = origin.kernels()
    return Walker(
        found.machine, origin.constants(), found.select(origin.properties), normalize=origin.normalize, kernels=kernels
    )


def walk_blocks(sweep: Sweep, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for row in batch.to_pylist():
            walker = walker_of(sweep.by_cell[row["cell"]])
            weights, at = walker.weights(dict(sweep.weights)), row["first"]
            while at < row["last"]:
                began = time.perf_counter()
                made = walker.walk(
                    at, row["last"], seed=sweep.seed, depth=sweep.depth, weights=weights, keep=True, broken=True
                )
                yield batch_of(walker, made, row["cell"], row["block"], time.perf_counter() - began)
                at += len(made.steps)


def batch_of(walker: Walker, made: Walks, cell: str, block: int, seconds: float) -> pa.RecordBatch:
    import pyarrow as pa

    count = len(made.steps)
    bad = np.array([item.kind is not Kind.SOMETIMES for item in walker.properties], bool)
    over_steps = np.array([item.over_steps for item in walker.properties], np.int64)
    lengths = np.where((made.decided >= 0) & bad, made.decided + 1 + over_steps, NEVER)
    first = lengths.argmin(axis=1) if len(walker.properties) else np.zeros(count, np.int64)
    shortest = lengths[np.arange(count), first] if len(walker.properties) else np.full(count, NEVER)
    violated = shortest < NEVER
    names = [item.name for item in walker.properties]
    ends = {int(end): end.name.lower() for end in End}
    ended = [ends[int(end)] for end in made.ends]
    if made.code:
        ended[-1] = ERROR
    kept = made.kept != 0
    hits = lengths < NEVER
    every = pa.StructArray.from_arrays(
        [
            pa.array([names[item] for item in hits.nonzero()[1].tolist()], pa.string()),
            pa.array(lengths[hits].astype(np.int32), pa.int32()),
        ],
        ["property", "length"],
    )
    columns = [
        pa.array([cell] * count, pa.string()),
        pa.array(np.full(count, block), pa.int64()),
        pa.array(np.arange(made.first, made.first + count), pa.int64()),
        pa.array([str(Verdict.VIOLATED if found else Verdict.NOT_FOUND) for found in violated.tolist()], pa.string()),
        pa.array(
            [names[item] if found else "" for item, found in zip(first.tolist(), violated.tolist(), strict=True)],
            pa.string(),
        ),
        pa.array(np.where(violated, shortest, 0), pa.int32()),
        pa.array(made.steps, pa.int32()),
        pa.array(ended, pa.string()),
        pa.array(walker.faults(made).astype(np.int32), pa.int32()),
        pa.array(deepest_log(walker.machine, walker.states(made.finals)).astype(np.int32), pa.int32()),
        _lists(pa.array(made.fired.astype(np.int32).ravel(), pa.int32()), np.full(count, made.fired.shape[1])),
        _lists(pa.array(made.kept[kept].view(np.int64), pa.int64()), kept.sum(axis=1)),
        pa.array(np.full(count, seconds / max(1, count)), pa.float64()),
        _lists(every, hits.sum(axis=1)),
    ]
    return pa.RecordBatch.from_arrays(columns, [part.split()[0] for part in SCHEMA.split(", ")])


def _lists(values: pa.Array, sizes: np.ndarray[Any, Any]) -> pa.ListArray:
    import pyarrow as pa

    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)
