"""One question after the other, or several at a time in processes of their own: z3 thinks on one processor."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")
_ASK: dict[str, Callable[[int], Any]] = {}
"""What a process that was forked is asked: terms of z3 cannot be sent, numbers and answers can."""


def over(jobs: Sequence[int], ask: Callable[[int], T], workers: int, tell: Callable[[int, int], None] | None) -> list[T]:
    """Return the answers to all jobs, in their order; `tell(done, all)` is called as each is finished."""
    if workers < 2 or len(jobs) < 2 or "fork" not in multiprocessing.get_all_start_methods():
        found = []
        for number, job in enumerate(jobs, 1):
            found.append(ask(job))
            if tell is not None:
                tell(number, len(jobs))
        return found
    _ASK["job"] = ask
    context = multiprocessing.get_context("fork")
    done: dict[int, T] = {}
    with ProcessPoolExecutor(min(workers, len(jobs)), mp_context=context) as pool:
        futures = {pool.submit(_answer, job): job for job in jobs}
        try:
            for future in as_completed(futures):
                done[futures[future]] = future.result()
                if tell is not None:
                    tell(len(done), len(jobs))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [done[job] for job in jobs]


def _answer(job: int) -> Any:
    return _ASK["job"](job)
