"""What a level cost, as Spark itself counts it."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark import SparkContext


@dataclass
class Metrics:
    """One level: the job's seconds, its tasks, bytes that its shuffle wrote and read, states that moved, states that were new."""

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
    def of(context: SparkContext, level: int) -> Iterator[Metrics]:
        """Run a level's job inside this, to get what it cost."""
        found, group = Metrics(level), f"fencepost level {level}"
        context.setJobGroup(group, f"Fencepost: level {level}")
        began = time.perf_counter()
        yield found
        found.seconds = time.perf_counter() - began
        tracker, store = context.statusTracker(), context._jsc.sc().statusStore()
        for job in tracker.getJobIdsForGroup(group):
            info = tracker.getJobInfo(job)
            for stage in info.stageIds if info else ():
                data = store.lastStageAttempt(stage)
                found.tasks += data.numCompleteTasks()
                found.shuffle_written += data.shuffleWriteBytes()
                found.shuffle_read += data.shuffleReadBytes()
