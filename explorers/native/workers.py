"""The workers of a search: threads that share tasks while compiled code runs without Python's lock."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

WORTH_SHARING = 2048
"""Fewer states than this are done by one worker: waking another costs more."""


@dataclass
class Worker:
    """What one worker counts, and works in."""

    checks: np.ndarray[Any, Any]
    fired: np.ndarray[Any, Any]
    refused: np.ndarray[Any, Any]
    alive: np.ndarray[Any, Any]
    place: np.ndarray[Any, Any]
    """The owner whose states are being inserted, or -1, and how many batches there are."""
    queue: np.ndarray[Any, Any]
    """Room to insert states in."""


class WorkerPool:
    """Workers that share tasks. Use it as a context manager; a pool of one needs no thread."""

    def __init__(self, workers: list[Worker]) -> None:
        self.workers = workers
        self.resting = 0
        """Workers at the end that take no task just now."""
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        self._pool = ThreadPoolExecutor(len(self.workers) - 1) if len(self.workers) > 1 else None
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def share(self, tasks: int, work: Callable[[Worker, int], None], states: int) -> None:
        """Do tasks 0 to tasks - 1; each worker takes the next one when it is free.

        Of several tasks that fail the first one's error is raised, so that it does not depend on the number of workers.
        """
        queue = iter(range(tasks))
        failed: dict[int, Exception] = {}

        def drain(worker: Worker) -> None:
            while not failed:
                task = next(queue, None)
                if task is None:
                    return
                try:
                    work(worker, task)
                except Exception as error:  # noqa: BLE001 (raised below)
                    failed[task] = error

        self.each(drain, states if tasks > 1 else 0)
        if failed:
            raise failed[min(failed)]

    def each(self, work: Callable[[Worker], None], states: int) -> None:
        """Have every worker do its part of the work. Few states are left to one."""
        taking = self.workers[: len(self.workers) - self.resting]
        if self._pool is None or states < WORTH_SHARING:
            taking = taking[:1]
        others = [self._pool.submit(work, worker) for worker in taking[1:]] if self._pool is not None else []
        try:
            work(taking[0])
        finally:
            errors = [future.exception() for future in others]
        for error in errors:
            if error is not None:
                raise error


def processors() -> int:
    """Return how many processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
