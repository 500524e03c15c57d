"""Processes that compile machines ahead of their use, in the order in which they are needed.

LLVM works on one thing at a time in a process. So this process compiles what it needs at once, and others what comes after.
"""

from __future__ import annotations

import contextlib
import pickle
import struct
import subprocess
import sys
import threading
from typing import IO, TYPE_CHECKING

from fencepost.explorers.native.generate import Source, generate
from fencepost.explorers.native.llvm.libraries import keep
from fencepost.invariants.protocols import protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Job = tuple[str, dict[str, int], tuple[str, ...], bool, bool]
"""(protocol, constants, properties, normalize, whether the graph is asked for properties of whole behaviours, too)"""
_LENGTH = struct.Struct("<Q")
_PATIENCE = 0.1
"""Seconds between two looks at a process that is waited for: Python hears signals only between them."""


def source_of(name: str, values: Mapping[str, int], properties: tuple[str, ...], *, normalize: bool) -> Source:
    """Return the generated module of a named protocol."""
    found = protocol(name)
    constants = found.machine.set_constants(values)
    return generate(found.machine, constants, found.compiled_with(found.select(properties)), normalize=normalize)


def sources_of(job: Job) -> list[Source]:
    """Return every module that a run needs."""
    name, values, properties, normalize, graph = job
    found = protocol(name)
    sources = [source_of(name, values, properties, normalize=normalize)]
    behaviours = tuple(item for item in found.select(properties) if item.kind.over_behaviours)
    if behaviours and graph:
        from fencepost.explorers.liveness.generated import sources as graph_sources

        sources += graph_sources(found.machine, found.machine.set_constants(values), behaviours, normalize=normalize)[:2]
    return sources


def shape_of(job: Job) -> tuple[object, ...]:
    """Return what jobs with the same modules have in common."""
    name, values, properties, normalize, graph = job
    found = protocol(name)
    chosen = found.select(properties)
    compiled = tuple(item.name for item in found.compiled_with(chosen))
    behaviours = graph and any(item.kind.over_behaviours for item in chosen)
    return name, tuple(found.machine.set_constants(values).rooms().items()), compiled, normalize, behaviours


class Ahead:
    """Compiles jobs in processes of their own, from `begin` to `end`."""

    def __init__(self, jobs: Sequence[Job], processes: int) -> None:
        self._waiting: dict[tuple[object, ...], Job] = {}
        for job in jobs:
            self._waiting.setdefault(shape_of(job), job)
        self._running: dict[tuple[object, ...], threading.Event] = {}
        self._lock = threading.Lock()
        self._most = processes
        self._processes: list[tuple[subprocess.Popen[bytes], threading.Thread]] = []

    def end(self) -> None:
        """End the processes; what nobody has begun is left undone."""
        with self._lock:
            self._waiting.clear()
        for process, _ in self._processes:
            process.kill()
        for process, feeder in self._processes:
            process.wait()
            feeder.join()

    def begin(self) -> None:
        """Start the processes, unless they are there."""
        command = [sys.executable, "-m", "fencepost.explorers.native.build"]
        for _ in range(min(self._most, len(self._waiting)) if not self._processes else 0):
            made = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # noqa: S603 (our own module)
            feeder = threading.Thread(target=self._feed, args=(made,), daemon=True)
            self._processes.append((made, feeder))
            feeder.start()

    def take(self, job: Job) -> None:
        """Return when a job is done, or at once if nobody has begun it: then it is the caller's."""
        shape = shape_of(job)
        with self._lock:
            self._waiting.pop(shape, None)
            event = self._running.get(shape)
        while event is not None and not event.wait(_PATIENCE):
            pass

    def _feed(self, process: subprocess.Popen[bytes]) -> None:
        """Give one process a job after the other. One that fails is compiled again by whoever needs it, who then says why."""
        assert process.stdin is not None
        assert process.stdout is not None
        alive = True
        while alive:
            with self._lock:
                if not self._waiting:
                    break
                shape = next(iter(self._waiting))
                job = self._waiting.pop(shape)
                done = self._running[shape] = threading.Event()
            try:
                _send(process.stdin, job)
                alive = bool(process.stdout.read(1))
            except OSError:
                alive = False
            done.set()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()


def _send(pipe: IO[bytes], job: Job) -> None:
    content = pickle.dumps(job)
    pipe.write(_LENGTH.pack(len(content)) + content)
    pipe.flush()


def main() -> None:
    """Compile the jobs that come in, and say when each is done; this is what a process of its own runs."""
    while head := sys.stdin.buffer.read(_LENGTH.size):
        job: Job = pickle.loads(sys.stdin.buffer.read(*_LENGTH.unpack(head)))  # noqa: S301 (from our own parent process)
        try:
            for source in sources_of(job):
                keep(source.unit)
        finally:
            sys.stdout.buffer.write(b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
