"""Compiles machines in processes of their own, several at a time: Numba compiles one thing at a time in a process."""

from __future__ import annotations

import pickle
import subprocess
import sys
from base64 import b64decode, b64encode
from concurrent.futures import ThreadPoolExecutor, as_completed
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
    return generate(found.machine, constants, found.select(properties), normalize=normalize, compact=compact)


Job = tuple[str, dict[str, int], tuple[str, ...], bool, bool]
"""(protocol, constants, properties, normalize, compact)"""


def build_all(jobs: list[Job], workers: int, tell: Callable[[str, int, int], None] | None = None) -> None:
    """Compile what is not in the cache; `tell(protocol, done, all)` is called as each is finished."""
    different: dict[str, Job] = {}
    for job in jobs:
        name, values, properties, normalize, compact = job
        source = source_of(name, values, properties, normalize=normalize, compact=compact)
        if not is_cached(source):
            different.setdefault(source.text, job)
    waiting = list(different.values())
    if len(waiting) <= 1:
        return  # the caller compiles it in its own process, which it has to load anyway
    if tell is not None:
        tell("", 0, len(waiting))
    with ThreadPoolExecutor(workers) as pool:
        running = {pool.submit(_build, job): job for job in waiting}
        for done, future in enumerate(as_completed(running), start=1):
            future.result()
            if tell is not None:
                tell(running[future][0], done, len(waiting))


def _build(job: Job) -> None:
    text = b64encode(pickle.dumps(job)).decode()
    command = [sys.executable, "-m", "fencepost.explorers.native.build", text]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (our own interpreter and module)
    if done.returncode:
        raise MismatchError(f"protocol {job[0]!r} could not be compiled: {done.stderr.strip().splitlines()[-1:]}")


def main(text: str) -> None:
    """Compile one job; this is what a process of its own runs."""
    name, values, properties, normalize, compact = pickle.loads(b64decode(text))  # noqa: S301 (from our own parent process)
    source = source_of(name, values, properties, normalize=normalize, compact=compact)
    load(source, protocol(name).machine.set_constants(values))


if __name__ == "__main__":
    main(sys.argv[1])
