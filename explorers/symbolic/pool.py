"""Solvers for moves: one solver for all moves, or one in each of several processes, because z3 uses only one thread."""

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any, TypeVar, cast

import z3
from fencepost.explorers.running.interrupts import BY_KEYBOARD, Stopped
from fencepost.explorers.symbolic.terms import Flag, boolean
from fencepost.explorers.verdict import Cause, Reason

KEYBOARD = "interrupted from keyboard"
"""z3's reason for giving no answer after it handled an interrupt that Python did not receive."""


@dataclass
class Asking:
    timeout: float
    solver: Any = field(default_factory=z3.Solver)
    queries: int = 0
    seconds: float = 0.0
    left: float | None = None
    """Seconds left for several questions together, or None if each question has its own time limit."""

    def add(self, *flags: Flag) -> None:
        self.solver.add(*map(boolean, flags))

    @contextmanager
    def together(self) -> Iterator[None]:
        """Limit the total time of all questions inside the block to the time limit of one question."""
        self.left = self.timeout
        try:
            yield
        finally:
            self.left = None

    def ask(self, *flags: Flag) -> Any:
        """Return z3's answer (sat, unsat or unknown). Raise Stopped if Ctrl-C interrupted z3."""
        if any(flag is False for flag in flags):
            return z3.unsat
        if self.left is not None and self.left <= 0:
            return z3.unknown
        self.solver.set("timeout", max(1, int((self.timeout if self.left is None else self.left) * 1000)))
        began, clock = time.process_time(), time.monotonic()
        found = self.solver.check(*map(boolean, flags))
        self.seconds += time.process_time() - began
        self.queries += 1
        if self.left is not None:
            self.left -= time.monotonic() - clock
        if found == z3.unknown and self.solver.reason_unknown() == KEYBOARD:
            raise Stopped(BY_KEYBOARD)
        return found


T = TypeVar("T")
_ASK: dict[str, Callable[[int], Any]] = {}
"""The question for forked processes, which inherit it because z3 terms cannot be sent between processes."""
NO_MEMORY = Reason("memory ran out, or a z3 process was killed", Cause.MEMORY)


@contextmanager
def _out_of_memory() -> Iterator[None]:
    try:
        yield
    except (MemoryError, EOFError, BrokenProcessPool):
        raise Stopped(NO_MEMORY) from None


def over(
    jobs: Sequence[int],
    ask: Callable[[int], T],
    workers: int,
    tell: Callable[[int, int], None] | None,
    done: dict[int, T] | None = None,
) -> list[T]:
    """Return the answers to all jobs, in order. Call `tell(done, all)` after each job. `done` receives every answer as
    soon as it is available. If `ask` or `tell` fails, the processes are killed. Raises Stopped if memory runs out.
    """
    done = {} if done is None else done
    with _out_of_memory():
        if workers < 2 or len(jobs) < 2 or "fork" not in multiprocessing.get_all_start_methods():
            for number, job in enumerate(jobs, 1):
                done[job] = ask(job)
                if tell is not None:
                    tell(number, len(jobs))
            return [done[job] for job in jobs]
        _ASK["job"] = ask
        context = multiprocessing.get_context("fork")
        others = set(multiprocessing.active_children())
        with ProcessPoolExecutor(min(workers, len(jobs)), mp_context=context, initializer=_deaf) as pool:
            futures = {pool.submit(_answer, job): job for job in jobs}
            try:
                for future in as_completed(futures):
                    done[futures[future]] = future.result()
                    if tell is not None:
                        tell(len(done), len(jobs))
            except BaseException:
                for process in set(multiprocessing.active_children()) - others:
                    process.kill()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    return [done[job] for job in jobs]


def apart(ask: Callable[[Callable[[Any], None]], T], update: Callable[[Any], None]) -> T:
    """Return the result of `ask(tell)`, computed in a separate process. Call `update` to report progress.

    If `update` raises an exception, the process is killed, because z3 does not always respond to a request to stop.
    Raises Stopped if memory runs out.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        return ask(update)
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_think, args=(ask, there), daemon=True)
    try:
        with _out_of_memory():
            process.start()
            there.close()
            while True:
                kind, value = here.recv()
                if kind == "returned":
                    return cast("T", value)
                if kind == "raised":
                    raise value
                update(value)
    finally:
        if process.pid is not None:
            process.kill()
            process.join()
        here.close()


def _think(ask: Callable[[Callable[[Any], None]], Any], there: Connection) -> None:
    _deaf()
    try:
        there.send(("returned", ask(lambda found: there.send(("update", found)))))
    except BaseException as error:  # noqa: BLE001 (raised where it is waited for)
        there.send(("raised", error))


def _deaf() -> None:
    """Ignore Ctrl-C, which a terminal sends to all processes, because the parent process handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _answer(job: int) -> Any:
    return _ASK["job"](job)
