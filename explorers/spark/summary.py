"""Summary of a sweep's walks, computed in Spark SQL: violations, coverage, reached states, and safe settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fencepost.explorers.walk.walker import KEPT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PIECES = 10
VIOLATIONS = """
SELECT cell, property, count(*) AS walks, min(length) AS length, min_by(walk, struct(length, walk)) AS walk
FROM (SELECT cell, walk, inline(violations) FROM walks) GROUP BY cell, property ORDER BY cell, property
"""
CELLS = """
SELECT walked.*, :kept * coalesce(reached.kept, 0) AS distinct FROM (
  SELECT cell, count(*) AS walks, sum(steps) AS steps, count_if(verdict = 'violated') AS violated,
         max(faults) AS faults,
         max(deepest_log) AS deepest_log, count_if(ended = 'stuck') AS stuck, sum(seconds) AS seconds
  FROM walks GROUP BY cell
) AS walked LEFT JOIN (
  SELECT cell, hll_sketch_estimate(hll_sketch_agg(fingerprint, 12)) AS kept
  FROM (SELECT cell, explode(fingerprints) AS fingerprint FROM walks) GROUP BY cell
) AS reached ON walked.cell = reached.cell ORDER BY walked.cell
"""
COVERAGE = """
SELECT cell, position AS action, sum(times) AS fired
FROM (SELECT cell, posexplode(fired) AS (position, times) FROM walks) GROUP BY cell, position ORDER BY cell, position
"""
GROWTH = """
WITH pieces AS (
  SELECT cell, piece, hll_sketch_agg(fingerprint, 12) AS sketch
  FROM (
    SELECT cell, CAST(floor(:pieces * walk / (SELECT max(walk) + 1 FROM walks)) AS int) AS piece,
           explode(fingerprints) AS fingerprint
    FROM walks
  )
  GROUP BY cell, piece
)
SELECT upto.cell AS cell, upto.piece AS piece, :kept * hll_sketch_estimate(hll_union_agg(earlier.sketch)) AS distinct
FROM pieces AS upto JOIN pieces AS earlier ON upto.cell = earlier.cell AND earlier.piece <= upto.piece
GROUP BY upto.cell, upto.piece ORDER BY cell, piece
"""
SIGNATURES = """
SELECT property, signature, count(*) AS walks, count(DISTINCT cell) AS cells, min(length) AS length,
       min_by(cell, struct(length, cell, walk)) AS cell, min_by(walk, struct(length, cell, walk)) AS walk
FROM (
  SELECT cell, walk, inline(violations),
         transform(filter(sequence(0, size(fired) - 1), i -> fired[i] > 0), i -> CAST(i AS string)) AS signature
  FROM walks
) GROUP BY property, signature ORDER BY property, length, walks DESC, cell, walk
"""


@dataclass(frozen=True)
class Violation:
    cell: str
    property: str
    walks: int
    length: int
    walk: int


@dataclass(frozen=True)
class Cell:
    cell: str
    walks: int
    steps: int
    violated: int
    faults: int
    deepest_log: int
    stuck: int
    seconds: float
    distinct: int
    fired: tuple[int, ...]
    growth: tuple[int, ...]
    """Estimated number of distinct states in the first tenth of the walks, in the first two tenths, and so on."""


@dataclass(frozen=True)
class Signature:
    property: str
    actions: tuple[int, ...]
    walks: int
    cells: int
    length: int
    cell: str
    walk: int


@dataclass(frozen=True)
class Summary:
    cells: tuple[Cell, ...]
    violations: tuple[Violation, ...]
    signatures: tuple[Signature, ...]

    def violations_of(self, cell: str) -> tuple[Violation, ...]:
        return tuple(item for item in self.violations if item.cell == cell)


def summarise(spark: SparkSession, rows: DataFrame) -> Summary:
    rows.createOrReplaceTempView("walks")

    def ask(query: str) -> list[Any]:
        return list(spark.sql(query, {"kept": KEPT, "pieces": PIECES} if ":" in query else None).collect())

    fired: dict[str, list[int]] = {}
    for row in ask(COVERAGE):
        fired.setdefault(row["cell"], []).append(int(row["fired"]))
    growth: dict[str, list[int]] = {}
    for row in ask(GROWTH):
        growth.setdefault(row["cell"], []).append(int(row["distinct"]))
    cells = tuple(
        Cell(
            row["cell"], row["walks"], row["steps"], row["violated"], row["faults"], row["deepest_log"], row["stuck"],
            row["seconds"], int(row["distinct"]), tuple(fired.get(row["cell"], ())), tuple(growth.get(row["cell"], ())),
        )
        for row in ask(CELLS)
    )  # fmt: skip
    violations = tuple(Violation(**row.asDict()) for row in ask(VIOLATIONS))
    counts = "walks", "cells", "length", "cell", "walk"
    signatures = tuple(
        Signature(row["property"], tuple(map(int, row["signature"])), *map(row.__getitem__, counts))
        for row in ask(SIGNATURES)
    )
    return Summary(cells, violations, signatures)


@dataclass(frozen=True)
class Point:
    """A cell of the grid: its position on each axis, and whether any of its walks violated a property."""

    places: tuple[int, ...]
    unsafe: bool


def below(one: Sequence[int], other: Sequence[int]) -> bool:
    return tuple(one) != tuple(other) and all(a <= b for a, b in zip(one, other, strict=True))


def smallest_unsafe(points: Mapping[str, Point]) -> tuple[str, ...]:
    """Return the minimal unsafe cells: those with no unsafe cell below them. Values are compared by position."""
    unsafe = {name: point for name, point in points.items() if point.unsafe}
    return tuple(
        name
        for name, point in unsafe.items()
        if not any(below(other.places, point.places) for other in unsafe.values())
    )
