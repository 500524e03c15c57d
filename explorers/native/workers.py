"""The workers of a search: threads that share tasks while compiled code runs without Python's lock."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from threading import Thread
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
        self._threads: list[Thread] = []
        self._asked: list[SimpleQueue[Callable[[], None] | None]] = [SimpleQueue() for _ in workers[1:]]
        self._ended: SimpleQueue[BaseException | None] = SimpleQueue()

    def __enter__(self) -> Self:
        self._threads = [Thread(target=_serve, args=(asked, self._ended), daemon=True) for asked in self._asked]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        for asked in self._asked:
            asked.put(None)
        for thread in self._threads:
            thread.join()
        self._threads = []

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
        if not self._threads or states < WORTH_SHARING:
            taking = taking[:1]
        for asked, worker in zip(self._asked, taking[1:], strict=False):
            asked.put(partial(work, worker))
        try:
            work(taking[0])
        finally:
            errors = [self._ended.get() for _ in taking[1:]]
        for error in errors:
            if error is not None:
                raise error


def _serve(asked: SimpleQueue[Callable[[], None] | None], ended: SimpleQueue[BaseException | None]) -> None:
    """Do what is asked for, one thing after the other. Queues wake a thread sooner than an executor's futures do."""
    while (work := asked.get()) is not None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 (raised by who asked)
            ended.put(error)
        else:
            ended.put(None)


def processors() -> int:
    """Return how many processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
