"""Random walks as rows: what an executor does with its share of a sweep."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from fencepost.explorers.verdict import Verdict
from fencepost.explorers.walk.measures import deepest_log
from fencepost.explorers.walk.walker import End, Walker
from fencepost.model.language.actions import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from fencepost.explorers.spark.machines import Origin
    from fencepost.explorers.walk.walker import Walks

SCHEMA = (
    "cell string, block long, walk long, verdict string, property string, length int, steps int, ended string, "
    "faults int, deepest_log int, fired array<int>, fingerprints array<long>, seconds double, "
    "violations array<struct<property:string,length:int>>"
)
"""A row of a sweep. `cell` are the constants as JSON; `property` is the one whose violation is the shortest, and `length` counts its
states, 0 without one; `violations` has every property that is violated, with the states until then; `fired` how often each action happened; `fingerprints` are hashes of states, one state of 16; `seconds` a share of its block's."""
NEVER = 1 << 30
ERROR = "error"
"""How a walk ended in which the model goes wrong."""


@dataclass(frozen=True)
class Sweep:
    """What every walk of a sweep has in common."""

    origins: tuple[tuple[str, Origin], ...]
    """The machine of each cell."""
    seed: int
    depth: int
    weights: tuple[tuple[str, int], ...]

    @property
    def by_cell(self) -> dict[str, Origin]:
        """The machine of each cell."""
        return dict(self.origins)


def cell_of(constants: dict[str, Any]) -> str:
    """Return constants as the name of a cell."""
    return json.dumps(constants, sort_keys=True, separators=(",", ":"))


@cache
def walker_of(origin: Origin) -> Walker:
    """Return what walks the machine of a cell, once in a process."""
    found = origin.protocol()
    kernels = origin.kernels()
    return Walker(
        found.machine, origin.constants(), found.select(origin.properties), normalize=origin.normalize, kernels=kernels
    )


def walk_blocks(sweep: Sweep, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Walk blocks of walks, given as rows (cell, block, first, last); yield a row for each walk."""
    for batch in batches:
        for row in batch.to_pylist():
            walker = walker_of(sweep.by_cell[row["cell"]])
            weights, at = walker.weights(dict(sweep.weights)), row["first"]
            while at < row["last"]:
                began = time.perf_counter()
                made = walker.walk(
                    at, row["last"], seed=sweep.seed, depth=sweep.depth, weights=weights, keep=True, broken=True
                )
                yield rows_of(walker, made, row["cell"], row["block"], time.perf_counter() - began)
                at += len(made.steps)


def rows_of(walker: Walker, made: Walks, cell: str, block: int, seconds: float) -> pa.RecordBatch:
    """Return a batch of walks as rows."""
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
