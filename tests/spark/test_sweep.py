"""Sweeps have the walks of `simulate`, the same on any cluster, stored in Parquet and resumable."""

import json
import shutil
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="these tests have an environment of their own: tox -e spark")

from collections.abc import Iterator
from pathlib import Path

import fencepost.api as f
from fencepost.api.asking.constants import axes_of, settings_of
from fencepost.api.calls import on_spark
from fencepost.cli.commands.sweep import maps_of, page
from fencepost.explorers.running import sealed
from fencepost.explorers.spark import sweep as sweeping
from fencepost.explorers.spark.session import Cluster, first_cause, require_java, spark
from fencepost.explorers.spark.summary import Point, smallest_unsafe, summarise
from fencepost.explorers.spark.sweep import Sweep, cell_of, walker_of
from fencepost.explorers.spark.work import Origin
from fencepost.explorers.walk.sample import Plan, Sample, sample
from fencepost.invariants.protocols import protocol
from fencepost.model.language.errors import UsageError
from pyspark.sql import SparkSession

from tests.helpers.blocks import whole
from tests.helpers.written import HEAD
from tests.spark.sparks import marks

pytestmark = marks("spark-sweep")
DEPTH, WALKS = 60, 2500
GRID = ("replicas=2,3", "max_leader_epoch=1,2")


@pytest.fixture(scope="module")
def sql() -> Iterator[SparkSession]:
    with spark(Cluster("local[2]")) as context:
        from pyspark.sql import SparkSession

        yield SparkSession(context)


KIP279 = protocol("kip279").machine


def plan(**changed: Any) -> Sweep:
    settings = settings_of(KIP279, KIP279.set_constants({}), axes_of(KIP279, GRID))
    origins = tuple(
        (cell_of(setting.shown), Origin("kip279", (), tuple(setting.values.items()), (), normalize=True))
        for setting in settings
    )
    return Sweep(origins, **{"seed": 3, "depth": DEPTH, "weights": (), **changed})


def swept_to(folder: Path, sql: SparkSession, one: Sweep, walks: int = WALKS, **options: Any) -> Any:
    """Sweep, or go on with a sweep; return what was walked now."""
    sweeping.prepare(str(folder), one, resume=folder.exists())
    return sweeping.run(sql, one, walks, str(folder), **options)


def verdicts(sql: SparkSession, folder: Path) -> list[Any]:
    """Return every row but for its seconds, in order."""
    rows = sweeping.rows_of(sql, str(folder))
    return sorted(tuple(str(value) for value in row) for row in rows.drop("seconds").collect())


def violated(found: Sample) -> dict[str, Any]:
    bad = [item for item in found.properties if item.result.verdict == "violated"]
    return {item.result.name: (item.walks, item.path.length if item.path else 0, item.walk) for item in bad}


@pytest.fixture(scope="module")
def swept(sql: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep") / "walks"
    assert swept_to(folder, sql, plan()).complete
    return folder


def test_a_cells_walks_are_those_of_simulate(sql: SparkSession, swept: Path) -> None:
    rows = sweeping.rows_of(sql, str(swept))
    summary = summarise(sql, rows)
    assert len(summary.cells) == 4
    for cell, origin in plan().origins:
        one = sample(walker_of(origin), Plan(seed=3, walks=WALKS, depth=DEPTH, workers=1))
        found = next(item for item in summary.cells if item.cell == cell)
        assert (found.walks, found.steps, found.stuck) == (one.walks, one.steps, one.stuck)
        assert found.fired == tuple(one.fired.values())
        assert found.distinct == pytest.approx(one.distinct, rel=0.25)
        told = {item.property: (item.walks, item.length, item.walk) for item in summary.violations_of(cell)}
        assert told == violated(one)


STAIRS = HEAD + whole("""
class State(Record):
    at: Annotated[int, Range(0, C.n)]
    resting: bool
@action()
def climb(s, c):
    require(not s.resting)
    require(s.at < c.n)
    s.at += 1
@action()
def rest(s, c):
    require(not s.resting)
    s.resting = True
@always
def is_low(s, c):
    return s.at < 1
@always
def is_lower_than_the_top(s, c):
    return s.at < c.n
""")


def test_every_property_that_a_walk_violates_is_named_with_its_count(sql: SparkSession, tmp_path: Path) -> None:
    """Walks that violate one property go on, and some violate the next: `simulate` reports both."""
    folder, origin = tmp_path / "walks", Origin("stairs", (("stairs.py", STAIRS),), (), (), normalize=True)
    swept_to(folder, sql, Sweep((("{}", origin),), 3, DEPTH, ()))
    rows = sweeping.rows_of(sql, str(folder))
    several = 0
    for row in rows.select("verdict", "property", "length", "violations").collect():
        found = {item["property"]: item["length"] for item in row["violations"]}
        assert (row["verdict"] == "violated") == bool(found)
        assert (row["property"], row["length"]) in (found.items() or {("", 0)})
        assert row["length"] == min(found.values(), default=0)
        several += len(found) > 1
    assert several
    summary = summarise(sql, rows)
    told = {item.property: (item.walks, item.length, item.walk) for item in summary.violations}
    assert told == violated(sample(walker_of(origin), Plan(seed=3, walks=WALKS, depth=DEPTH, workers=1)))
    assert told["is-low"][0] > told["is-lower-than-the-top"][0] > 0
    assert [item.violated for item in summary.cells] == [rows.where("verdict = 'violated'").count()]
    for name, (walks, length, walk) in told.items():
        alike = [item for item in summary.signatures if item.property == name]
        assert sum(item.walks for item in alike) == walks
        assert min((item.length, item.walk) for item in alike) == (length, walk)


def test_rows_do_not_depend_on_rounds(
    sql: SparkSession, swept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "FIRST_ROUND", 1)
    swept_to(tmp_path / "walks", sql, plan())
    assert verdicts(sql, tmp_path / "walks") == verdicts(sql, swept)


def test_a_sweep_goes_on_without_walking_twice(sql: SparkSession, swept: Path, tmp_path: Path) -> None:
    early = swept_to(tmp_path / "walks", sql, plan(), budget=0.001)
    assert (early.complete, "budget" in early.why_stopped) == (False, True)
    rest = swept_to(tmp_path / "walks", sql, plan())
    assert rest.complete
    assert rest.found_done == early.done > 0
    assert early.walks + rest.walks == 4 * WALKS
    assert verdicts(sql, tmp_path / "walks") == verdicts(sql, swept)


def test_a_sweep_is_resumed_with_more_walks_than_before_and_none_counts_twice(
    sql: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks have 50 walks: of 70 walks the second block keeps 20."""
    monkeypatch.setattr(sweeping, "BLOCK_STEPS", 50 * DEPTH)
    one, grown, fresh = replace(plan(), origins=plan().origins[:1]), tmp_path / "grown", tmp_path / "fresh"
    walked = [swept_to(grown, sql, one, walks) for walks in (70, 100, 160, 120)]
    assert [(item.walks, item.found_done, item.done, item.complete) for item in walked] == [
        (70, 0, 2, True), (30, 1, 2, True), (60, 2, 4, True), (0, 3, 3, True),
    ]  # fmt: skip
    swept_to(fresh, sql, one, 160)
    assert verdicts(sql, grown) == verdicts(sql, fresh)
    assert len(verdicts(sql, grown)) == 160


def test_kept_walks_that_are_missing_or_there_twice_are_told(sql: SparkSession, tmp_path: Path) -> None:
    one, folder = replace(plan(), origins=plan().origins[:1]), tmp_path / "walks"
    swept_to(folder, sql, one, 20)
    file = next((folder / "walks.parquet").glob("*.parquet"))
    shutil.copy(file, file.with_name(f"again-{file.name}"))
    with pytest.raises(UsageError, match=r"are missing or stored twice .*: name another folder"):
        swept_to(folder, sql, one, 30)


@pytest.mark.parametrize("changed", [{"seed": 4}, {"depth": 61}, {"weights": (("follower-truncates", 2),)}])
def test_walks_of_another_sweep_are_not_added_to(swept: Path, changed: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=rf"has {next(iter(changed))} .* request the same value"):
        sweeping.prepare(str(swept), plan(**changed), resume=True)


def test_walks_of_another_model_are_not_added_to(swept: Path, tmp_path: Path) -> None:
    folder = tmp_path / "walks"
    shutil.copytree(swept, folder)
    kept = json.loads((folder / "sweep.json").read_text())
    kept["models"] = {cell: dict.fromkeys(model, "another") for cell, model in kept["models"].items()}
    (folder / "sweep.json").write_text(json.dumps(kept))
    with pytest.raises(UsageError, match=r"no readable sweep\.json"):
        sweeping.prepare(str(folder), plan(), resume=True)
    del kept["sum"]
    (folder / "sweep.json").write_bytes(sealed.seal(kept))
    with pytest.raises(UsageError, match="were run with a different version of the model"):
        sweeping.prepare(str(folder), plan(), resume=True)


BEGINS = HEAD + whole("""
class State(Record):
    b: Annotated[int, Range(0, 5)]
@action()
def initial(s, c):
    s.b = 0
@action()
def go(s, c):
    require(s.b < 2)
    s.b += 2
@always
def one(s, c):
    return s.b != 1
@always
def two(s, c):
    return s.b != 2
""")


def test_walks_that_judged_something_else_or_began_elsewhere_are_not_added_to(
    sql: SparkSession, tmp_path: Path
) -> None:
    def of(text: str, *names: str) -> Sweep:
        origin = Origin("m", (("m.py", text),), (("n", 1),), names, normalize=True)
        return Sweep(((cell_of({"n": 1}), origin),), 0, 5, ())

    folder = tmp_path / "walks"
    for _ in range(2):
        swept_to(folder, sql, of(BEGINS, "one"), 20)
    says = r"has properties \['one'\], and \[.*'two'\] was requested: request the same"
    for other in (("two",), ("one", "two"), ()):
        with pytest.raises(UsageError, match=says):
            sweeping.prepare(str(folder), of(BEGINS, *other), resume=True)
    with pytest.raises(UsageError, match="were run with a different version of the model"):
        sweeping.prepare(str(folder), of(BEGINS.replace("s.b = 0", "s.b = 1"), "one"), resume=True)


def test_a_folder_that_is_not_empty_is_refused(swept: Path, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("kept")
    for folder, resume, says in (
        (swept, False, "is not empty: write `resume=True`"),
        (tmp_path, False, r"contains no readable sweep\.json of a sweep"),
        (tmp_path / "other.txt", False, "is a file: name a folder"),
        (tmp_path / "new", True, r"there is no sweep in .* to continue"),
    ):
        with pytest.raises(UsageError, match=says):
            sweeping.prepare(str(folder), plan(), resume=resume)


SLOPE = HEAD + whole("""
class State(Record):
    height: Annotated[int, Range(0, 5)]
@action()
def climb(s, c):
    require(s.height < c.n, bound=C.n)
    s.height += 1
@always
def is_low(s, c):
    return s.height < 3
@always
def is_there(s, c):
    return s.height < 9
""")


@pytest.fixture
def slope(sql: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A model that raises an error above 5, and the session of this module in the place of another one."""
    monkeypatch.setattr(on_spark, "spark", lambda _: nullcontext(sql.sparkContext))
    (tmp_path / "slope.py").write_text(SLOPE)
    return str(tmp_path / "slope.py")


def test_a_job_that_fails_leaves_earlier_walks(slope: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walked = sweeping._round

    def failing(*given: Any) -> None:
        if rounds.pop():
            raise UsageError("a Spark job failed: an executor has no room.")
        walked(*given)

    monkeypatch.setattr(sweeping, "_round", failing)
    monkeypatch.setattr(sweeping, "FIRST_ROUND", 1)
    monkeypatch.setattr(sweeping, "BLOCK_STEPS", 90)
    rounds = [True, False]
    found = f.sweep(slope, grid={"n": [4]}, walks=50, depth=9, shrinks=False)
    assert (str(found.verdict), found.complete) == ("violated", False)
    assert found.why_stopped == "a Spark job failed: an executor has no room"
    assert found.cells[0].walks == 20
    rounds = [True]
    with pytest.raises(UsageError, match="an executor has no room"):
        f.sweep(slope, grid={"n": [4]}, walks=50, depth=9, shrinks=False)


def test_the_frontier_has_the_unsafe_cells_with_no_unsafe_one_below() -> None:
    unsafe = {(1, 0), (0, 2), (1, 2), (2, 0)}
    points = {f"{x}{y}": Point((x, y), (x, y) in unsafe) for x in range(3) for y in range(3)}
    assert smallest_unsafe(points) == ("02", "10")


def cell(verdict: str, *, smallest: bool, **constants: int) -> dict[str, Any]:
    violations = [{"property": "strong-isr", "walks": 3, "length": 9, "walk": 1}] if verdict == "violated" else []
    return {
        "constants": constants, "verdict": verdict, "walks": 10, "violated": 3 if violations else 0, "distinct": 5,
        "growth": [1, 5], "smallest_unsafe": smallest, "violations": violations,
    }  # fmt: skip


def test_the_page_has_a_map_with_the_frontier_framed() -> None:
    cells = [
        cell("not-found", smallest=False, replicas=2, epochs=1),
        cell("not-found", smallest=False, replicas=2, epochs=2),
        cell("violated", smallest=True, replicas=3, epochs=1),
    ]
    data = {
        "protocol": "kip279", "walks": 30, "depth": 9, "seed": 0, "complete": True, "why_stopped": "",
        "constants": {"log_size": 2}, "axes": {"replicas": [2, 3], "epochs": [1, 2]}, "cells": cells,
        "refused": [{"constants": {"replicas": 3, "epochs": 2}, "why": "it makes no sense"}],
        "signatures": [{"property": "strong-isr", "actions": ["a", "b"], "walks": 3, "cells": 1, "length": 9}],
    }  # fmt: skip
    (found,) = maps_of(data)
    kinds = [[square.kind for square in cells] for _, cells in found.rows]
    assert kinds == [["safe", "frontier"], ["safe", "refused"]]
    text = page(data)
    assert text.count('class="frontier"') == 1
    assert "30%" in text
    assert "it makes no sense" in text


def test_the_reason_is_found_in_what_java_says() -> None:
    said = "org.apache.spark.SparkException: Job aborted\n\tat org.apache.spark.Here\n"
    said += "Caused by: java.io.IOException: No space left\n\tat x.y"
    assert first_cause(said) == "Caused by: java.io.IOException: No space left."
    assert first_cause("") == "no reason was given."


def test_java_that_is_missing_or_too_old_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    says = r"Spark needs Java 17 or newer, and JAVA_HOME is .* contains no bin/java: install"
    with pytest.raises(UsageError, match=says):
        require_java()
    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin" / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    java.chmod(0o755)
    with pytest.raises(UsageError, match=r"is Java 11: install a newer version, or set JAVA_HOME"):
        require_java()
