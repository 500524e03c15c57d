"""`fencepost ablate --master`: the rows of a matrix on real executors are those that one process makes."""

from functools import partial
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="these tests have an environment of their own: tox -e spark")

from collections.abc import Iterator
from pathlib import Path

from fencepost.api.calls import on_spark
from fencepost.cli.commands import ablate as ablating
from fencepost.explorers.running.interrupts import BY_KEYBOARD
from fencepost.explorers.spark import session
from fencepost.explorers.spark.session import Cluster, run_tasks, spark
from fencepost.model.language.errors import UsageError
from pyspark import SparkContext

from tests.helpers.commands import data_of, fencepost, refused
from tests.helpers.parameters import words
from tests.helpers.places import MACHINES
from tests.spark.sparks import marks

pytestmark = marks("spark-sweep")
PLANTED = str(MACHINES / "planted.py")
KIP320 = ("kip320", "--set", "replicas=2", "--set", "max_leader_epoch=1")


def matrix(*asked: str) -> dict[str, Any]:
    """Return a matrix as data, without the parts that differ between runs."""
    found = data_of(fencepost("ablate", *asked, "--json", "--quiet"))
    return {**found, "seconds": 0, "rows": [{**row, "seconds": 0} for row in found["rows"]]}


@pytest.mark.parametrize("asked", [KIP320, (PLANTED, "--also", "seats=1")], ids=["kip320", "a user's own file"])
def test_rows_on_executors_are_those_of_one_process(asked: tuple[str, ...]) -> None:
    here, there = matrix(*asked, "--workers", "1"), matrix(*asked, "--master", "local[2]")
    assert there == here
    assert len(here["rows"]) > 10
    assert any("trace" in cell for row in there["rows"] for cell in row["cells"].values())


def test_properties_and_limits_reach_the_executors() -> None:
    asked = (PLANTED, "--property", "guests-have-seats", "--max-states", "5", "--guard", "sell 1", "--guard", "enter 4")
    here, there = matrix(*asked, "--workers", "1"), matrix(*asked, "--master", "local[2]")
    assert there == here
    assert there["asked"] == ["guests-have-seats"]
    assert "the limit of 5 states was reached" in {row["why"] for row in there["rows"]}


def test_a_matrix_that_one_process_began_is_finished_on_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = matrix(PLANTED, "--workers", "1", "--checkpoint", str(tmp_path))
    for file in list(tmp_path.glob("enter-*")):
        file.unlink()
    seen: list[str] = []
    explore_on = on_spark.explore_on

    def watched(cluster: Any, plan: Any, rows: Any, done: Any, display: Any) -> str:
        seen.extend(row.name for row in rows)
        return explore_on(cluster, plan, rows, done, display)

    monkeypatch.setattr(on_spark, "explore_on", watched)
    again = matrix(PLANTED, "--master", "local[2]", "--checkpoint", str(tmp_path), "--resume")
    assert again == whole
    assert {name.partition(" ")[0] for name in seen} == {"enter"}


REFUSED = {
    "--conf spark.executor.memory=1g": "--conf applies to Spark: add --master",
    "--master local[2] --workers 2": "--workers cannot be combined with --master",
    "--master local[2] --conf memory=1g": "expected a Spark setting",
}


@pytest.mark.parametrize(("arguments", "says"), REFUSED.items())
def test_what_cannot_be_meant_is_refused(arguments: str, says: str) -> None:
    assert says in refused("ablate", PLANTED, *words(arguments))


def test_a_matrix_interrupted_on_spark_says_so_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(cluster: Any, plan: Any, rows: Any, done: Any, display: Any) -> str:
        del cluster, display
        done(rows[0], on_spark.row_there(plan, rows[0]))
        return BY_KEYBOARD

    asked = ("ablate", PLANTED, "--json", "--quiet", "--master", "local[2]", "--checkpoint", str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(on_spark, "explore_on", cut)
        found = fencepost(*asked)
    assert found.exit_code == 3
    data = data_of(found)
    assert (len(data["rows"]), data["why_stopped"]) == (1, "SIGINT was received")
    assert len(data["not_run"]) > 10
    assert len(list(tmp_path.glob("*.json"))) == 1
    assert ablating.exit_of_matrix(data_of(fencepost(*asked, "--resume"))) == 0


def test_a_job_that_fails_leaves_the_rows_that_are_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(cluster: Any, plan: Any, rows: Any, done: Any, display: Any) -> str:
        del cluster, display
        for row in rows[:ended]:
            done(row, on_spark.row_there(plan, row))
        raise UsageError("a Spark job failed: an executor has no room.")

    monkeypatch.setattr(on_spark, "explore_on", broken)
    asked = ("ablate", PLANTED, "--json", "--quiet", "--master", "local[2]")
    ended = 2
    found = fencepost(*asked)
    data = data_of(found)
    assert (found.exit_code, len(data["rows"])) == (3, 2)
    assert data["why_stopped"] == "a Spark job failed: an executor has no room"
    ended = 0
    found = fencepost(*asked)
    assert (found.exit_code, found.stdout) == (2, "")
    assert "a Spark job failed: an executor has no room." in found.stderr


@pytest.fixture(scope="module")
def context() -> Iterator[SparkContext]:
    with spark(Cluster("local[2]")) as started:
        yield started


def doubled(item: int) -> int:
    return 2 * item


def broken_at(bad: int, item: int) -> int:
    if item == bad:
        raise ValueError("this one is broken")
    return item


def test_every_task_is_done_once(context: SparkContext) -> None:
    found: dict[int, int] = {}
    assert run_tasks(context, doubled, range(7), found.__setitem__) == ""
    assert found == {item: 2 * item for item in range(7)}
    assert run_tasks(context, doubled, (), found.__setitem__) == ""


def test_a_task_that_fails_is_told_and_what_was_done_before_is_kept(context: SparkContext) -> None:
    found: dict[int, int] = {}
    with pytest.raises(UsageError, match=r"a Spark job failed: .*this one is broken"):
        run_tasks(context, partial(broken_at, 3), range(50), found.__setitem__)
    assert {0, 1} <= set(found) < set(range(50))
    assert 3 not in found


def test_after_a_signal_no_further_task_is_begun(context: SparkContext, monkeypatch: pytest.MonkeyPatch) -> None:
    asks: list[Any] = []

    class Caught(session.Signals):
        def __enter__(self) -> None:
            asks.append(self.ask)

    monkeypatch.setattr(session, "Signals", Caught)
    found: dict[int, int] = {}

    def done(item: int, made: int) -> None:
        found[item] = made
        if len(found) == 2:
            assert asks[0](BY_KEYBOARD)

    assert run_tasks(context, doubled, range(40), done) == "SIGINT was received"
    assert 2 <= len(found) <= 4
