"""Exhaustive search on Spark gives the native counts on every kind of cluster, whichever process dies."""

import json
import os
import re
import shutil
import signal
import time
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import psutil
import pytest

pytest.importorskip("pyspark", reason="these tests have an environment of their own: tox -e spark")

import subprocess
from collections.abc import Iterator
from pathlib import Path

from fencepost.explorers.search import search
from fencepost.explorers.spark.explore import Explore
from fencepost.explorers.spark.session import Cluster, spark
from fencepost.explorers.spark.work import Origin
from fencepost.explorers.verdict import LEFT, CrossCheckError, Options, Result
from fencepost.invariants.catalogue import Run, runs_of
from fencepost.invariants.protocols import LINEAGE, protocol
from fencepost.model.language.errors import DomainError
from pyspark import SparkContext

from tests.helpers.blocks import whole
from tests.helpers.commands import start
from tests.helpers.reported import CASES, outcome_of, written
from tests.helpers.reported import found as reported
from tests.helpers.written import HEAD
from tests.random_machines import symmetric
from tests.spark.sparks import marks

pytestmark = marks("spark")
SIZES = [
    pytest.param(run, id=run.name, marks=[pytest.mark.long] * (not run.name.endswith((" 2/2/2/1", "kip320 3/2/2/1"))))
    for run in runs_of(*LINEAGE)
]
"""`tox -e spark-long` takes every size."""


@pytest.fixture(scope="module")
def context() -> Iterator[SparkContext]:
    with spark(Cluster("local[2]")) as found:
        yield found


def origin_of(name: str, text: str = "", names: tuple[str, ...] = (), **values: int) -> Origin:
    return Origin(name, ((f"{name}.py", text),) if text else (), tuple(values.items()), names, normalize=True)


@pytest.mark.parametrize(
    ("name", "text", "values"),
    [
        ("kip320", "", {"replicas": 3, "max_leader_epoch": 1}),
        ("drawn", symmetric.text_of(37), {"n": 3}),  # a property is violated
    ],
    ids=["kip320", "drawn"],
)
def test_with_symmetry_spark_finds_what_the_native_engine_finds(
    context: SparkContext, name: str, text: str, values: dict[str, int], tmp_path: Path
) -> None:
    origin = replace(origin_of(name, text, **values), symmetry=True)
    native = search(
        origin.machine(), origin.constants(), origin.protocol().properties, Options(workers=1, symmetry=True),
        kernels=origin.kernels(),
    )  # fmt: skip
    asked: Any = {"symmetry": True, "checkpoint": str(tmp_path)}
    assert not explored_from(context, origin, 3, 20, **asked, max_depth=8).complete
    found = explored_from(context, origin, 3, 20, **asked, resume=True, cross_check=200)
    assert (found.distinct, found.levels, found.symmetry) == (native.distinct, native.levels, native.symmetry)
    said = [[(it.verdict, it.path and len(it.path.states)) for it in by.properties] for by in (found, native)]
    assert said[0] == said[1]


def explored(context: SparkContext, name: str, values: dict[str, int], **options: Any) -> Result:
    partitions, handover = options.pop("partitions", 2), options.pop("handover", 40)
    return explored_from(context, origin_of(name, **values), partitions, handover, **options)


def explored_from(context: SparkContext, origin: Origin, partitions: int, handover: int, **options: Any) -> Result:
    found, chosen = origin.protocol(), Options(workers=1, **options)
    asked = found.select(origin.properties), chosen, origin, origin.kernels(), partitions, handover
    return Explore(found.machine, origin.constants(), *asked).run(lambda: nullcontext(context))


def test_stored_states_are_cross_checked(context: SparkContext, tmp_path: Path) -> None:
    """All of them, those that native and Spark stored, those of an earlier run and those of the next one."""
    found = explored(context, "kip320", {"replicas": 2}, cross_check=1 << 20)
    assert found.cross_check.states == found.cross_check.of == found.distinct
    half = {"checkpoint": str(tmp_path), "cross_check": 100}
    first = explored(context, "kip320", {"replicas": 2}, max_depth=9, **half)
    assert first.cross_check.states == 100 < first.cross_check.of == sum(first.levels[:-1])
    rest = explored(context, "kip320", {"replicas": 2}, resume=True, **half)
    assert rest.cross_check.of == rest.distinct == found.distinct


def test_states_have_the_digest_that_the_native_engine_gives_them(context: SparkContext) -> None:
    """By which a variant that does nothing is known."""
    origin = origin_of("kip320", replicas=2)
    machine, constants = origin.machine(), origin.constants()
    names = ("follower_fetch", machine.actions[0].name)
    native = search(machine, constants, kernels=origin.kernels(), summed=lambda _: names)
    assert native.digest is not None
    for handover in (1, 40, 1 << 20):
        asked = Explore(
            machine, constants, (), Options(workers=1), origin, origin.kernels(), 3, handover, summed=lambda _: names
        )
        assert asked.run(lambda: nullcontext(context)).digest == native.digest


PLANTED = HEAD + whole("""
class State(Record):
    x: Annotated[int, Range(0, 49)]
    y: Annotated[int, Range(0, 49)]
    even: bool
@action(v=Range(1, 49))
def leap(s, c, v):
    require(s.x == 0)
    s.x = v
@action(v=Range(1, 49))
def rise(s, c, v):
    require(s.y == 0)
    s.y = v
@action()
def turn(s, c):
    require(s.x != 37 or not s.y % 2)
    s.even = not s.even
""")
"""With an additional guard in one state of a hundred."""


def test_a_miscompilation_that_reaches_one_state_in_a_hundred_is_noticed(context: SparkContext) -> None:
    true_text = PLANTED.replace("    require(s.x != 37 or not s.y % 2)\n", "")
    origin, true = (origin_of("machine", text) for text in (PLANTED, true_text))
    options, constants = Options(workers=1, cross_check=1000), true.constants()
    asked = Explore(true.machine(), constants, (), options, origin, origin.kernels(), 2, 40)
    with pytest.raises(CrossCheckError, match="the engines disagree about a stored state") as caught:
        asked.run(lambda: nullcontext(context))
    assert caught.value.path is None or caught.value.path.states


def alike(one: Result, other: Result) -> None:
    """Assert that two engines have the same results, except for the choice of shortest traces."""
    for name in ("distinct", "generated", "depth", "levels", "deadlocks", "fired", "guards", "bounds", "complete"):
        assert getattr(one, name) == getattr(other, name), name
    assert lengths(one) == lengths(other)


def lengths(found: Result) -> list[tuple[Any, ...]]:
    return [(item.name, item.verdict, item.path and item.path.length) for item in found.properties]


@pytest.mark.parametrize("run", SIZES)
def test_spark_finds_what_the_native_engine_finds(context: SparkContext, run: Run) -> None:
    found = protocol(run.protocol)
    native = search(found.machine, found.machine.set_constants(run.constants), found.properties, Options(workers=1))
    handover = max(40, max(native.levels) // 3)
    made = explored(context, run.protocol, dict(run.constants), handover=handover)
    assert made.distinct == run.distinct
    alike(made, native)


@pytest.mark.parametrize(("claim", "outcome", "text"), CASES, ids=[claim for claim, _, _ in CASES])
def test_spark_finds_what_the_plain_engine_finds(
    context: SparkContext, claim: str, outcome: str, text: str, tmp_path: Path
) -> None:
    file = written(text, tmp_path)
    wanted = reported(file, engine="plain")
    assert wanted[0] == outcome, claim
    origin = origin_of("reported", file.read_text())
    assert outcome_of(lambda: explored_from(context, origin, 2, 1)) == wanted


GOES_WRONG = """
@action()
def go(s: State, c: C) -> None:
    \"\"\"One more, and eventually one too many.\"\"\"
    s.pc += 1
@action()
def turn(s: State, c: C) -> None:
    \"\"\"The other sign.\"\"\"
    s.x = 1 - s.x
@always
def is_early(s: State, c: C) -> bool:
    \"\"\"Violated before the model raises an error.\"\"\"
    return s.pc < 2
@always
def is_small(s: State, c: C) -> bool:
    \"\"\"Not decided when the model raises an error.\"\"\"
    return s.x < 2
"""


@pytest.mark.parametrize("handover", [1, 2])
def test_a_violation_is_told_if_the_model_goes_wrong_later(
    context: SparkContext, handover: int, tmp_path: Path
) -> None:
    origin = origin_of("reported", written(GOES_WRONG, tmp_path).read_text())
    machine, properties = origin.machine(), origin.protocol().properties
    native = search(machine, origin.constants(), properties, Options(workers=1), kernels=origin.kernels())
    kept = str(tmp_path / "kept")
    first = explored_from(context, origin, 2, handover, checkpoint=kept)
    resumed = explored_from(context, origin, 2, handover, checkpoint=kept, resume=True)
    for found in (first, resumed):
        assert found.problems == native.problems
        assert found.model_error is not None
        assert found.why_stopped == LEFT
        assert [str(item.verdict) for item in found.properties] == ["violated", "undetermined"]
        for name in ("distinct", "depth", "levels", "complete"):
            assert getattr(found, name) == getattr(native, name), name
        assert lengths(found) == lengths(native)


def test_an_error_alone_is_told_without_a_result(context: SparkContext, tmp_path: Path) -> None:
    origin = origin_of("reported", written(GOES_WRONG, tmp_path).read_text(), ("is-small",))
    with pytest.raises(DomainError):
        explored_from(context, origin, 2, 1)


def test_results_do_not_depend_on_the_number_of_partitions_nor_on_where_spark_begins(context: SparkContext) -> None:
    values = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1}
    first, *others = (
        explored(context, "kip320", values, partitions=partitions, handover=handover)
        for partitions, handover in ((1, 12), (7, 12), (4, 1), (2, 20))
    )
    for other in others:
        alike(first, other)


def test_a_search_that_ends_before_spark_says_that_nothing_is_kept(context: SparkContext, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    found = explored(context, "kip320", {"replicas": 2}, max_states=1, checkpoint=str(kept))
    assert (found.complete, found.kept) == (False, False)
    assert found.notes[-1].endswith("the whole search ran on the driver, and no checkpoint was written")
    assert not kept.exists()
    found = explored(context, "kip320", {"replicas": 2}, max_depth=12, checkpoint=str(kept))
    assert (found.kept, found.complete, found.depth, found.verdict) == (True, False, 12, "undetermined")


COMMAND = ["check", "kip320", "--set", "replicas=2", "--engine", "spark", "--json"]
APART = pytest.mark.xdist_group("spark-processes")
"""Group of tests that start Spark in separate processes, which need not wait for those of this one."""
CLUSTER = ["--master", "local-cluster[2,1,1024]", "--handover", "650"]
EXPECTED = {"distinct": 5973, "generated": 11733, "depth": 18, "complete": True, "verdict": "holds"}


def told(text: str) -> dict[str, Any]:
    found = json.loads(text)
    return {name: found[name] for name in EXPECTED}


@contextmanager
def started(folder: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Run a search in a separate process, and remove all of it afterwards."""
    with start(*COMMAND, *CLUSTER, "--checkpoint", str(folder), *options) as process:
        try:
            yield process
        finally:
            for child in psutil.Process(process.pid).children(recursive=True) if process.poll() is None else ():
                child.kill()
            process.kill()


def wait_for_level(folder: Path, level: int, process: subprocess.Popen[str]) -> None:
    """Wait until a search has finished a level on Spark."""
    until = time.monotonic() + 900
    while time.monotonic() < until and process.poll() is None:
        try:
            if json.loads((folder / "spark.json").read_text())["manifest"]["level"] >= level:
                return
        except (OSError, ValueError):
            pass
        time.sleep(0.02)
    said = process.stderr.read() if process.stderr and process.poll() is not None else ""
    pytest.fail(f"level {level} was never reached: {said}")


def is_executor(process: psutil.Process) -> bool:
    try:
        return "CoarseGrainedExecutorBackend" in " ".join(process.cmdline())
    except psutil.Error:
        return False


@APART
def test_real_executors_find_the_same_and_one_that_dies_costs_no_state(tmp_path: Path) -> None:
    with started(tmp_path / "kept", "--max-depth", "13") as process:
        wait_for_level(tmp_path / "kept", 11, process)
        executors = [child for child in psutil.Process(process.pid).children(recursive=True) if is_executor(child)]
        assert len(executors) >= 2
        executors[0].kill()
        out, err = process.communicate(timeout=400)
        assert process.returncode == 3, err
    cut = {"distinct": 4627, "generated": 8951, "depth": 13, "complete": False, "verdict": "undetermined"}
    assert told(out) == cut


@APART
def test_a_driver_that_was_killed_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    with started(folder) as process:
        wait_for_level(folder, 11, process)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    with start(*COMMAND, "--master", "local[2]", "--checkpoint", str(folder), "--resume") as again:
        out, err = again.communicate(timeout=400)
    assert again.returncode == 0, err
    assert told(out) == EXPECTED


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory, context: SparkContext) -> Path:
    folder = tmp_path_factory.mktemp("spark") / "kept"
    explored(context, "kip320", {"replicas": 2}, partitions=4, max_depth=10, checkpoint=str(folder))
    return folder


@pytest.fixture
def kept(stopped: Path, tmp_path: Path) -> Path:
    return shutil.copytree(stopped, tmp_path / "kept")


def resumed(context: SparkContext, folder: Path, values: dict[str, int] | None = None, **options: Any) -> Result:
    return explored(context, "kip320", values or {"replicas": 2}, checkpoint=str(folder), resume=True, **options)


def test_a_small_budget_often_enough_comes_to_the_end(context: SparkContext, kept: Path) -> None:
    for times in range(1, 10):
        found = resumed(context, kept, budget=0)
        if found.complete:
            break
        assert (found.depth, found.kept) == (10 + times, True)
    assert (found.complete, found.distinct, found.generated, found.depth) == (True, 5973, 11733, 18)


@pytest.mark.parametrize("name", ["level-0010/00001.block", "level-0009/00000.block", "spark.json"])
def test_a_damaged_file_is_refused_by_its_name(context: SparkContext, kept: Path, name: str) -> None:
    text = bytearray((kept / name).read_bytes())
    text[-20] ^= 1
    (kept / name).write_bytes(text)
    says = r": this checkpoint file is missing or damaged\. Start again"
    with pytest.raises(ValueError, match=re.escape(name) + says):
        resumed(context, kept)


def test_only_blocks_of_the_level_cut_short_are_removed(context: SparkContext, kept: Path) -> None:
    others = ("level-0011/notes.txt", "level-0012/00000.block", "level-0011/old/00000.block")
    for name in (*others, "level-0011/00000.block"):
        (kept / name).parent.mkdir(parents=True, exist_ok=True)
        (kept / name).write_text("mine")
    resumed(context, kept, max_depth=10)
    assert [(kept / name).read_text() for name in others] == ["mine"] * 3
    assert not (kept / "level-0011/00000.block").exists()


def test_a_checkpoint_serves_no_other_question_and_no_new_search(context: SparkContext, stopped: Path) -> None:
    with pytest.raises(ValueError, match="belongs to another search: "):
        resumed(context, stopped, {"replicas": 2, "log_size": 3})
    with pytest.raises(ValueError, match="contains the checkpoint of a search: write `resume=True`"):
        explored(context, "kip320", {"replicas": 2}, checkpoint=str(stopped))
