"""Searches, rows of a matrix and random histories on Spark. Each call has its own session."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fencepost.api.answers.as_json import Json
from fencepost.api.answers.matrix import refuse_unfinished, row_data
from fencepost.api.asking.quantities import counted
from fencepost.api.asking.targets import Question
from fencepost.api.asking.watching import Watch
from fencepost.explorers.evidence.ablation import Ablation, Row
from fencepost.explorers.native.compile import Kernels, compiled
from fencepost.explorers.running.interrupts import default_memory
from fencepost.explorers.spark.explore import Explore
from fencepost.explorers.spark.session import Cluster, require_java, run_tasks, spark
from fencepost.explorers.spark.work import Origin
from fencepost.explorers.verdict import Options, Result, Summed
from fencepost.invariants.protocols import Protocol
from fencepost.kafka.fuzz.histories import Alarm, Fuzzer, Progress, fuzz_release

if TYPE_CHECKING:
    from pyspark import SparkContext


@contextmanager
def started(cluster: Cluster, watch: Watch, name: str = "") -> Iterator[SparkContext]:
    with ExitStack() as stack:
        with watch.busy(f"{name}{': ' if name else ''}starting Spark with master {cluster.shown}"):
            context = stack.enter_context(spark(cluster))
        yield context


def search_on(
    question: Question, options: Options, kernels: Kernels, watch: Watch, cluster: Cluster, *, summed: Summed | None
) -> Result:
    values = tuple((name, int(value)) for name, value in question.constants.values.items())
    names = tuple(item.name for item in question.properties)
    origin = Origin(question.name, question.protocol.files, values, names, options.normalize, options.symmetry)
    search = Explore(
        question.protocol.machine, question.constants, question.properties, options, origin, kernels,
        cluster.partitions, cluster.handover, watch.telling(question.name), summed=summed,
    )  # fmt: skip
    require_java()
    return search.run(partial(started, cluster, watch, question.name))


@dataclass(frozen=True)
class Plan:
    """The data that all rows of a matrix share. `memory` is bytes per row; 0 means an equal share."""

    origin: Origin
    budget: float | None
    max_states: int
    memory: int


def plan_of(question: Question, ablation: Ablation, memory: int) -> Plan:
    asked = tuple(item.name for item in question.properties)
    values = tuple((key, int(value)) for key, value in ablation.constants.values.items())
    options = ablation.options
    assert options.max_states is not None
    origin = Origin(question.name, question.protocol.files, values, asked, options.normalize)
    return Plan(origin, options.budget, options.max_states, memory)


@cache
def _ablation(plan: Plan) -> tuple[Protocol, Ablation]:
    """Return a matrix whose unmodified machine has been explored. Each process explores that machine once, because
    every row is compared with it. Raises UsageError if an executor has too little memory for the unmodified machine.
    """
    found, constants = plan.origin.protocol(), plan.origin.constants()
    asked = found.select(plan.origin.properties)
    kernels = compiled(
        found.machine, constants, found.compiled_with(asked), normalize=plan.origin.normalize, masked=True
    )
    memory = plan.memory or default_memory() // (os.cpu_count() or 1)
    options = Options(workers=1, normalize=plan.origin.normalize, budget=plan.budget, memory=memory)
    made = Ablation(found.machine, constants, asked, options, kernels)
    refuse_unfinished(found, made.explore_whole())
    made.options = replace(options, max_states=plan.max_states)
    return found, made


def row_there(plan: Plan, row: Row) -> Json:
    found, ablation = _ablation(plan)
    return row_data(found, ablation, ablation.explore(row))


def explore_on(
    cluster: Cluster, plan: Plan, rows: tuple[Row, ...], done: Callable[[Row, Json], None], display: Watch
) -> str:
    """Explore rows on Spark; return why the work ended early, or an empty string."""
    with (
        started(cluster, display, plan.origin.name) as context,
        display.busy(f"{plan.origin.name}: {counted(len(rows), 'row')} on {cluster.shown}"),
    ):
        return run_tasks(context, partial(row_there, plan), rows, done)


HISTORIES_PER_TASK, TASKS_PER_ROUND = 100, 16
"""Number of histories per task, and of tasks that each processor runs between two checks of the time limit."""


class Drawn(NamedTuple):
    """Random histories to run: the release, the profile, the first seed, the number, and a time limit in seconds."""

    kafka: str | None
    jars: Path | None
    profile: str
    first: int
    histories: int
    budget: float


@cache
def _fuzzer(kafka: str | None, jars: Path | None) -> Fuzzer:
    return Fuzzer(fuzz_release(kafka, jars, is_long=True))


def histories_there(drawn: Drawn, block: tuple[int, int]) -> list[Alarm | Progress]:
    """Run a block of histories in this worker's process. A block is a first seed and a number of histories."""
    return list(_fuzzer(drawn.kafka, drawn.jars).histories(drawn.profile, *block))


def draw_on(cluster: Cluster, drawn: Drawn, take: Callable[[list[Alarm | Progress]], None], watch: Watch) -> str:
    """Run random histories on Spark and process them in the order of their seeds; return why the run ended early."""
    began, total, at, last = time.monotonic(), Progress(0, 0, 0.0, "0"), drawn.first, drawn.first + drawn.histories
    waiting: dict[int, list[Alarm | Progress]] = {}

    def done(block: tuple[int, int], told: list[Alarm | Progress]) -> None:
        nonlocal at, total
        waiting[block[0]] = told
        while at in waiting:
            told = waiting.pop(at)
            steps = tuple(taken for item in told if isinstance(item, Progress) for taken in item.taken)
            assert isinstance(told[-1], Progress)
            at += told[-1].histories
            total = total.followed(told[-1]._replace(taken=steps), time.monotonic() - began)
            take([*(item for item in told if isinstance(item, Alarm)), total])

    with started(cluster, watch, f"Kafka {drawn.kafka or drawn.jars}") as context:
        why = ""
        while at < last and not why and not 0 < drawn.budget < time.monotonic() - began:
            end = min(last, at + HISTORIES_PER_TASK * TASKS_PER_ROUND * context.defaultParallelism)
            blocks = [(seed, min(HISTORIES_PER_TASK, end - seed)) for seed in range(at, end, HISTORIES_PER_TASK)]
            why = run_tasks(context, partial(histories_there, drawn), blocks, done)
    return why
