"""A sweep: a grid of constants times random walks, as rows in Parquet, which can be gone on with."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.explorers import sealed
from fencepost.explorers.interrupts import Signals
from fencepost.explorers.native.checkpoint import model_of
from fencepost.explorers.spark.session import first_cause
from fencepost.explorers.spark.store import DamagedError, Store, folder_of
from fencepost.explorers.spark.walking import ERROR, SCHEMA, Sweep, walk_blocks
from fencepost.explorers.verdict import Cause, Reason, out_of_time
from fencepost.model.language.errors import UsageError
from fencepost.model.language.interpreter import Interpreter

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.explorers.spark.machines import Origin
    from pyspark.sql import DataFrame, SparkSession

FORMAT = 4
"""Manifests of format 3 name no properties and no initial states, walks of format 2 one property each, however many they violate."""
MANIFEST = "sweep.json"
ROWS = "walks.parquet"
BLOCK_STEPS = 50_000
"""Steps of the walks of a block: what one call of the walker does."""
FIRST_ROUND, ROUND_SECONDS = 4, 20.0
"""Blocks for each processor in the first round, and how long later ones should take: a round is kept when it is done."""


@dataclass(frozen=True)
class Block:
    """Walks first..last-1 of a cell."""

    cell: str
    block: int
    first: int
    last: int


@dataclass
class Swept:
    """How far a sweep went."""

    folder: str
    blocks: int
    done: int
    walks: int
    found_done: int
    """Blocks that an earlier run had finished."""
    seconds: float
    why_stopped: str = ""

    @property
    def complete(self) -> bool:
        """Whether all walks that were asked for were walked."""
        return self.done == self.blocks


def blocks_of(sweep: Sweep, walks: int) -> list[Block]:
    """Return the blocks of a sweep, cell after cell in turn, so that every cell grows alike."""
    size = max(1, BLOCK_STEPS // max(1, sweep.depth))
    starts = range(0, walks, size)
    return [
        Block(cell, number, first, min(first + size, walks))
        for (number, first), (cell, _) in itertools.product(enumerate(starts), sweep.origins)
    ]


def question(sweep: Sweep) -> dict[str, Any]:
    """Return what a folder of walks belongs to."""
    names = {item.name for _, origin in sweep.origins for item in origin.protocol().select(origin.properties)}
    return {"seed": sweep.seed, "depth": sweep.depth, "weights": dict(sweep.weights), "properties": sorted(names)}


def prepare(folder: str, sweep: Sweep, *, resume: bool) -> None:
    """Make a folder ready for walks; raise UsageError where it holds others, or some and `resume` was not asked for."""
    from pyarrow.fs import FileType

    system, path = folder_of(folder)
    info = system.get_file_info(path)
    names = [item.base_name for item in _entries(system, path)] if info.type == FileType.Directory else []
    empty = info.type == FileType.NotFound or (info.type == FileType.Directory and not names)
    models = {cell: _model(origin) for cell, origin in sweep.origins}
    asked = question(sweep)
    if not empty and info.type != FileType.Directory:
        raise UsageError(f"--output {folder} is a file: name a folder.")
    if empty:
        if resume:
            raise UsageError(f"there is no sweep in {folder} to continue: leave out --resume.")
    else:
        earlier = _manifest(folder)
        if resume:
            _refuse_other(folder, earlier, asked, models)
            models = {**earlier["models"], **models}
        elif names != [MANIFEST]:  # a sweep that could not start has walked nothing
            raise UsageError(
                f"{folder} is not empty: write --resume to add to the sweep in it, or name another folder."
            )
    system.create_dir(path, recursive=True)
    Store(folder).write(MANIFEST, sealed.sealed({"format": FORMAT, "question": asked, "models": models}))


def _refuse_other(
    folder: str, earlier: dict[str, Any], asked: dict[str, Any], models: dict[str, dict[str, str]]
) -> None:
    """Raise UsageError if the walks in a folder are of another question, or of another model than now."""
    for name, value in asked.items():
        if earlier["question"].get(name) != value:
            raise UsageError(
                f"the sweep in {folder} has {name} {earlier['question'].get(name)!r}, and {value!r} was asked for: "
                "ask for the same, or name another folder."
            )
    for cell, model in earlier["models"].items():
        if models.get(cell, model) != model:
            raise UsageError(f"the walks in {folder} are of another model than now (cell {cell}): name another folder.")


def _model(origin: Origin) -> dict[str, str]:
    return model_of(
        origin.kernels().source, Interpreter(origin.machine(), origin.constants(), normalize=origin.normalize)
    )


def _entries(system: Any, path: str) -> list[Any]:
    from pyarrow.fs import FileSelector

    return list(system.get_file_info(FileSelector(path)))


def _manifest(folder: str) -> dict[str, Any]:
    try:
        found = sealed.object_in(Store(folder).read(MANIFEST, sealed.MOST))
        if found.get("format") != FORMAT:
            raise UsageError(
                f"the sweep in {folder} has format {str(found.get('format', 1))[:20]}, and this version of Fencepost reads format "
                f"{FORMAT}: name another folder, or continue with the version that wrote it."
            )
        manifest = sealed.unsealed(found)
    except (DamagedError, sealed.BrokenSealError):
        manifest = {}
    question, models = manifest.get("question"), manifest.get("models")
    if not isinstance(question, dict) or not isinstance(models, dict):
        raise UsageError(
            f"{folder} is not empty, and there is no readable {MANIFEST} of a sweep in it: name another folder."
        )
    return {"question": question, "models": models}


def rows_of(spark: SparkSession, folder: str) -> DataFrame | None:
    """Return the walks that are kept in a folder; None if there are none yet."""
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
    """Return what is not kept of these blocks. A block that was walked for fewer walks has its first ones, and lacks the rest."""
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
                f"walks in {folder} are missing in the middle or there twice (cell {item.cell}, block {item.block}): name another folder."
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
    """Walk every block, or part of one, that is not kept yet, round after round; what a round walked is kept when the round is done.

    A job that fails ends the sweep after what was walked before. `kept` says whether the folder stays.
    """
    wanted = blocks_of(sweep, walks)
    waiting = missing(spark, folder, wanted)
    found_done = len(wanted) - len(waiting)
    swept = Swept(folder, len(wanted), found_done, 0, found_done, 0.0)
    began, parallel = time.perf_counter(), spark.sparkContext.defaultParallelism
    size = FIRST_ROUND * parallel

    def ask(why: str) -> bool:
        first = not swept.why_stopped
        swept.why_stopped = swept.why_stopped or why
        return first

    with Signals(ask):
        while waiting and not swept.why_stopped:
            chosen, waiting = waiting[:size], waiting[size:]
            before = time.perf_counter()
            try:
                _round(spark, sweep, chosen, folder if kept else "", _place(folder), parallel)
            except UsageError as error:
                if not swept.done:
                    raise
                waiting = [*chosen, *waiting]
                swept.why_stopped = Reason(str(error).rstrip("."), Cause.ERROR)
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
                swept.why_stopped = swept.why_stopped or out_of_time(budget)
    if not waiting:
        swept.why_stopped = ""
    return swept


def wrong_walk(rows: DataFrame) -> tuple[str, int] | None:
    """Return the cell and the number of the first walk in which the model goes wrong; None if there is none."""
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
        where = f"The walks of earlier rounds are kept in {kept}; --resume continues from there."
        said = where if kept else "With --output DIR the walks of earlier rounds would be kept."
        raise UsageError(f"a Spark job failed: {first_cause(str(error))} {said}") from error
