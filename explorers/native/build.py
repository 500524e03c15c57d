"""Compiles machines in processes of their own, several at a time: Numba compiles one thing at a time in a process."""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING

from fencepost.explorers.native.compile import is_cached, load
from fencepost.explorers.native.generate import Source, generate
from fencepost.invariants.protocols import protocol
from fencepost.model.language.errors import MismatchError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def source_of(name: str, values: Mapping[str, int], properties: tuple[str, ...], *, normalize: bool, compact: bool) -> Source:
    """Return the generated module of a named protocol."""
    found = protocol(name)
    constants = found.machine.set_constants(values)
    return generate(
        found.machine, constants, found.compiled_with(found.select(properties)), normalize=normalize, compact=compact
    )


def sources_of(job: Job) -> list[Source]:
    """Return every module that a run needs."""
    name, values, properties, normalize, compact = job
    return [source_of(name, values, properties, normalize=normalize, compact=compact), *graph_sources_of(job)]


def graph_sources_of(job: Job) -> tuple[Source, ...]:
    """Return the modules of the graph, if the run asks for a property of whole behaviours."""
    name, values, properties, normalize, compact = job
    found = protocol(name)
    behaviours = tuple(item for item in found.select(properties) if item.kind.over_behaviours)
    if not behaviours or compact:
        return ()
    from fencepost.explorers.liveness.generated import sources

    return sources(found.machine, found.machine.set_constants(values), behaviours, normalize=normalize)[:2]


POLL = 0.05
"""Seconds between two looks at the compilers."""

Job = tuple[str, dict[str, int], tuple[str, ...], bool, bool]
"""(protocol, constants, properties, normalize, compact)"""


def build_all(jobs: list[Job], workers: int, tell: Callable[[str, int, int], None] | None = None) -> None:
    """Compile what is not in the cache; `tell(protocol, done, all)` is called as each is finished."""
    different: dict[str, tuple[Job, int]] = {}
    for job in jobs:
        for place, source in enumerate(sources_of(job)):
            if not is_cached(source):
                different.setdefault(source.text, (job, place))
    waiting = list(different.values())
    if len(waiting) <= 1:
        return  # the caller compiles it in its own process, which it has to load anyway
    if tell is not None:
        tell("", 0, len(waiting))
    running: dict[subprocess.Popen[str], tuple[Job, int]] = {}
    done = 0
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                part = waiting.pop(0)
                running[_start(part)] = part
            for process in [item for item in running if item.poll() is not None]:
                part = running.pop(process)
                _finish(process, part)
                done += 1
                if tell is not None:
                    tell(part[0][0], done, len(different))
            time.sleep(POLL)
    finally:
        for process in running:
            process.terminate()


def _start(piece: tuple[Job, int]) -> subprocess.Popen[str]:
    text = b64encode(pickle.dumps(piece)).decode()
    command = [sys.executable, "-m", "fencepost.explorers.native.build", text]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)  # noqa: S603 (our own module)


def _finish(process: subprocess.Popen[str], piece: tuple[Job, int]) -> None:
    (name, *_), _ = piece
    _, errors = process.communicate()
    if process.returncode:
        last = (errors.strip().splitlines() or [f"status {process.returncode}"])[-1]
        raise MismatchError(f"protocol {name!r} could not be compiled: {last}")


def main(text: str) -> None:
    """Compile one module of a job; this is what a process of its own runs."""
    job, part = pickle.loads(b64decode(text))  # noqa: S301 (from our own parent process)
    name, values, *_ = job
    load(
        sources_of(job)[part], protocol(name).machine.set_constants(values), aside=False
    )  # its siblings keep the processors busy


if __name__ == "__main__":
    main(sys.argv[1])
