"""Exhaustive breadth-first search on Spark: the native search until a level is worth sharing, then level by level.

A level is one job. Every partition expands its share of the level (a block of the store), sends each successor to the
partition that owns it, and every partition keeps what is new as its block of the next level. Between two jobs all that
counts is in the store and in the manifest: Spark's lineage is never longer than one level, a lost executor builds its
mapped partitions again from the blocks, and a new driver goes on from the manifest.
"""

from __future__ import annotations

import pickle
import shutil
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
from fencepost.explorers.interrupts import Signals
from fencepost.explorers.native.blame import blame, explain
from fencepost.explorers.native.expansion import still_counted
from fencepost.explorers.native.search import Search
from fencepost.explorers.native.store import Progress
from fencepost.explorers.spark.exchange import Exchange
from fencepost.explorers.spark.handover import hand_over
from fencepost.explorers.spark.manifest import Manifest, load, refuse_another, save
from fencepost.explorers.spark.metrics import Metrics
from fencepost.explorers.spark.outcome import result_of
from fencepost.explorers.spark.session import first_cause
from fencepost.explorers.spark.store import Store
from fencepost.explorers.spark.work import Expanded, Received, Work, partition_folders, receive, send
from fencepost.explorers.verdict import LEFT, VIOLATED, Cause, Reason, deep_enough, enough_states, out_of_time
from fencepost.model.language.actions import Kind
from fencepost.model.language.errors import DomainError, MismatchError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from fencepost.explorers.native.compile import Kernels
    from fencepost.explorers.spark.machines import Origin
    from fencepost.explorers.verdict import Options, Result
    from fencepost.model.language.actions import Property
    from fencepost.model.language.constants import Constants
    from fencepost.model.language.machine import Machine
    from pyspark import SparkContext


@dataclass
class Explore:
    """One exhaustive search on Spark."""

    machine: Machine
    constants: Constants
    properties: tuple[Property, ...]
    options: Options
    origin: Origin
    kernels: Kernels
    partitions: int
    handover: int
    tell: Callable[[Progress], None] | None = None
    level_metrics: list[Metrics] = field(default_factory=list)
    """For each level that Spark did, what it cost."""

    def run(self, start: Callable[[], AbstractContextManager[SparkContext]]) -> Result:
        """Search until everything is reached, or until a limit; return what was found. Spark is started when it is needed."""
        _look_at_kinds(self.properties)
        temporary = "" if self.options.checkpoint else tempfile.mkdtemp(prefix="fencepost-levels-")
        store = Store(self.options.checkpoint or temporary)
        try:
            return self._run(start, store)
        finally:
            if temporary:
                shutil.rmtree(temporary, ignore_errors=True)

    def _run(self, start: Callable[[], AbstractContextManager[SparkContext]], store: Store) -> Result:
        native = Search(
            self.machine, self.constants, self.properties,
            replace(self.options, checkpoint=None, resume=False, memory=None),
            kernels=self.kernels, tell=self.tell,
        )  # fmt: skip
        manifest = None
        if self.options.resume:
            manifest = load(store, native)
        else:
            refuse_another(store)
            native.pause_at = self.handover
            result = native.run()
            if not native.paused:
                note = "the search was over before a level was large enough for Spark: it ran on the driver alone"
                if self.options.checkpoint and not result.complete:
                    note = f"{note}, and no checkpoint was written"
                return replace(result, engine="spark", notes=(*result.notes, note))
        with start() as context:
            if manifest is None:
                manifest = hand_over(native, store, self.partitions or 2 * context.defaultParallelism)
                save(store, manifest, native)
            run = uuid4().hex[:12]
            try:
                with Signals(native._ask):
                    exchange = Exchange(context, manifest.partitions)
                    foreign = manifest.level if self.options.resume else 0
                    work = Work(
                        self.origin, run, store.url, manifest.partitions, manifest.level, manifest.base, (), foreign
                    )
                    why = self._levels(exchange, work, manifest, native)
            except DomainError as error:
                if self._violated(manifest):
                    error.found = self._result(native, store, manifest, LEFT, context.defaultParallelism)
                raise
            except UsageError as error:
                if not self._violated(manifest):
                    raise
                why = Reason(str(error).rstrip("."), Cause.ERROR)
            finally:
                _clean(context, run)
            workers = context.defaultParallelism
        return replace(self._result(native, store, manifest, why, workers), kept=bool(why and self.options.checkpoint))

    def _result(self, native: Search, store: Store, manifest: Manifest, why: str, workers: int) -> Result:
        try:
            return result_of(native, store, manifest, why, workers)
        except MismatchError as error:
            if not self.options.resume:
                raise
            raise UsageError(
                f"the checkpoint in {store.url} holds what no search of this model finds: {error} Start afresh without --resume."
            ) from error

    def _levels(self, exchange: Exchange, work: Work, manifest: Manifest, native: Search) -> str:
        store, began = Store(work.store), time.perf_counter() - manifest.seconds
        earlier = manifest.seconds if self.options.resume else 0.0
        advanced = not self.options.resume  # as on one machine: a small budget, often enough, comes to the end
        while manifest.levels[-1]:
            why = self._limit(manifest, native, time.perf_counter() - began - earlier if advanced else 0.0)
            if why:
                return why
            advanced = True
            waiting = tuple(item.name for item in self.properties if item.name not in manifest.found)
            counting = still_counted(native.kernels.source, manifest.refused)
            now = replace(work, level=manifest.level, waiting=waiting, counting=counting)
            with Metrics.of(exchange.context, manifest.level) as metrics:
                answers = self._level(exchange, now)
            manifest.seconds = time.perf_counter() - began
            self._take(manifest, answers, native)
            metrics.fresh = manifest.levels[-1] if manifest.level == now.level + 1 else 0
            metrics.received = sum(item.received for item in answers)
            metrics.block_bytes = sum(item.block[0] for item in answers)
            self.level_metrics.append(metrics)
            save(store, manifest, native)
            if self.tell is not None:
                self.tell(
                    Progress(
                        manifest.distinct,
                        manifest.generated,
                        manifest.depth,
                        manifest.levels[-1],
                        0,
                        manifest.seconds,
                        manifest.levels,
                    )
                )
        manifest.levels.pop()
        return ""

    def _level(self, exchange: Exchange, work: Work) -> list[Received]:
        try:
            return [pickle.loads(answer) for answer in exchange.run(partial(send, work), partial(receive, work))]  # noqa: S301 (from our own tasks)
        except Exception as error:
            kept = (
                f"What was searched before it is kept in {work.store}; --resume continues from there."
                if self.options.checkpoint
                else "With --checkpoint DIR what was searched before it would be kept."
            )
            raise UsageError(f"a Spark job failed at level {work.level}: {first_cause(str(error))} {kept}") from error

    def _take(self, manifest: Manifest, answers: list[Received], native: Search) -> None:
        """Add a level's answers to the manifest; raise the error that a partition met, which leaves the manifest as it was."""
        for answer in answers:
            if answer.message or answer.expanded.message:
                raise UsageError(answer.expanded.message or answer.message)
        shares: list[Expanded | Received] = [*(answer.expanded for answer in answers), *answers]
        for share in shares:
            if share.code:
                explain(native, np.frombuffer(share.failed, native.layout.dtype), {*manifest.found, *share.decided})
                blame(native, share.code)
        if sorted(answer.partition for answer in answers) != list(range(manifest.partitions)):
            raise MismatchError("a level of the search on Spark did not answer for every partition.")
        for answer in answers:
            expanded = answer.expanded
            manifest.fired = [one + other for one, other in zip(manifest.fired, expanded.fired, strict=True)]
            manifest.refused = [one + other for one, other in zip(manifest.refused, expanded.refused, strict=True)]
            manifest.deadlocks += expanded.ends
            if expanded.end >= 0 and manifest.deadlock is None:
                manifest.deadlock = [manifest.level, answer.partition, expanded.end]
            for name, state in expanded.found.items():
                manifest.found.setdefault(name, [manifest.level, answer.partition, state])
        manifest.level += 1
        for answer in answers:
            for name, state in answer.found.items():
                manifest.found.setdefault(name, [manifest.level, answer.partition, state])
        manifest.levels.append(sum(answer.fresh for answer in answers))
        manifest.blocks.append([list(answer.block) for answer in sorted(answers, key=lambda answer: answer.partition)])

    def _violated(self, manifest: Manifest) -> bool:
        return any(item.kind is not Kind.SOMETIMES and item.name in manifest.found for item in self.properties)

    def _limit(self, manifest: Manifest, native: Search, seconds: float) -> str:
        options = self.options
        if options.stop_on_violation and self._violated(manifest):
            return VIOLATED
        if options.max_depth is not None and manifest.level >= options.max_depth:
            return deep_enough(options.max_depth)
        if native.stop_asked:
            return native.stop_asked
        if options.budget is not None and seconds > options.budget:
            return out_of_time(options.budget)
        if options.max_states is not None and manifest.distinct >= options.max_states:
            return enough_states(options.max_states)
        return ""


def _look_at_kinds(properties: tuple[Property, ...]) -> None:
    """Raise UsageError for properties that need the graph of all states, which is nowhere in one piece."""
    far = [item.name for item in properties if item.kind not in (Kind.ALWAYS, Kind.STEP, Kind.SOMETIMES)]
    near = [item.name for item in properties if item.name not in far]
    if far:
        instead = " ".join(f"--property {name}" for name in near[:3])
        raise UsageError(
            f"the spark engine judges states and steps, and {', '.join(far)} is about whole behaviours: "
            f"use the native engine for it, and name the others here, such as {instead or '(there is none)'}."
        )


def _clean(context: SparkContext, run: str) -> None:
    """Remove the mapped partitions of a search from every host, as far as it can be reached."""

    def clean(numbers: Iterator[int]) -> Iterator[Any]:
        del numbers
        shutil.rmtree(partition_folders(run), ignore_errors=True)
        return iter(())

    shutil.rmtree(partition_folders(run), ignore_errors=True)
    with suppress(Exception):  # scratch files that a cluster manager removes with the executor
        context.parallelize(range(context.defaultParallelism), context.defaultParallelism).mapPartitions(clean).count()
