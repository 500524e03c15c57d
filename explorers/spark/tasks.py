"""A handful of long tasks on Spark, each a job of its own, so that what one found is at hand as soon as it ends."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, TypeVar

from fencepost.explorers.interrupts import Signals
from fencepost.explorers.spark.session import first_cause
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark import SparkContext

Item = TypeVar("Item")
Found = TypeVar("Found")


def run_tasks(
    context: SparkContext, task: Callable[[Item], Found], items: Sequence[Item], done: Callable[[Item, Found], None]
) -> str:
    """Run `task` on executors for each item, as many at a time as there are processors, and return why it ended early.

    `done` is called in this thread, in the order of finishing. A signal ends what is running, and no further item is begun.
    An item whose executor is lost is run again elsewhere by Spark; raises UsageError where a task fails. What `done` raises ends all.
    """
    why = ""
    waiting = list(reversed(items))
    at_once = min(len(waiting), max(1, context.defaultParallelism))

    def ask(reason: str) -> bool:
        nonlocal why
        first, why = not why, why or reason
        if first:
            waiting.clear()
            context.cancelAllJobs()
        return first

    with ThreadPoolExecutor(max(1, at_once)) as pool, Signals(ask):
        running: dict[Future[Found], Item] = {}
        failed: Exception | None = None
        while running or (waiting and failed is None):
            while waiting and len(running) < at_once and failed is None:
                item = waiting.pop()
                running[pool.submit(_one, context, task, item)] = item
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                item, error = running.pop(future), future.exception()
                if error is None:
                    try:
                        done(item, future.result())
                    except UsageError:
                        context.cancelAllJobs()
                        raise
                elif not why:
                    failed = failed or UsageError(f"a Spark job failed: {first_cause(str(error))}")
        if failed is not None:
            raise failed
    return why


def _one(context: SparkContext, task: Callable[[Item], Found], item: Item) -> Found:
    """Run one task as a job."""
    found: Found = context.parallelize([item], 1).map(task).collect()[0]
    return found
