"""Makes Numba compile kernels by calling each once on nothing; half of the work goes to a process of its own.

Numba compiles one function at a time in a process, and keeps what it compiled on disk, one file per kernel. So another
process may compile the second half, and this one then loads it from there.
"""

from __future__ import annotations

import importlib.util
import pickle
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from fencepost.explorers.native.crew import processors

if TYPE_CHECKING:
    from types import ModuleType


@dataclass(frozen=True)
class Sample:
    """What the kernels of one module are called with, as far as types and lengths go."""

    dtype: np.dtype[Any]
    guards: int
    steps: int
    constants: list[int]
    checks: list[int]


def import_kernels(path: Path) -> ModuleType:
    """Import a generated module, once in a process."""
    name = path.stem
    module = sys.modules.get(name)
    if module is None:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return module


def names_of(module: ModuleType) -> list[str]:
    """Return the names of all kernels, those that take longest to compile first."""
    if hasattr(module, "NAMES"):
        return list(module.NAMES)
    expands = [f"expand_{number}" for number in range(len(module.EXPANDS))]
    return [*expands, "judge", "insert", "hash_rows", "order_by_owner", "close", "rebuild"]


def warm_aside(path: Path, module: ModuleType, sample: Sample) -> None:
    """Compile half of the kernels here and the other half in another process at the same time."""
    names = names_of(module)
    if len(getattr(module, "EXPANDS", ())) <= 1 or processors() == 1:
        return
    there, here = names[0 : len(module.EXPANDS) + 1 : 2], names[1 : len(module.EXPANDS) + 1 : 2]
    task = path.with_name(f"{path.stem}.task")
    task.write_bytes(pickle.dumps((str(path), sample, there)))
    command = [sys.executable, "-m", "fencepost.explorers.native.warm", str(task)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):  # noqa: S603 (our own interpreter and module)
        warm(module, sample, here)  # a failure of the other process shows when its half is compiled here


def warm(module: ModuleType, sample: Sample, names: list[str]) -> None:
    """Call kernels on nothing, which compiles them or loads them from the cache."""
    rows = np.zeros(1, sample.dtype)
    words = rows.view(np.uint64).reshape(1, -1)
    hashes, parents, table = np.zeros(1, np.uint64), np.zeros(1, np.uint32), np.zeros(8, np.uint32)
    order, counters = np.zeros(1, np.uint32), np.zeros(2, np.int64)
    starts = np.zeros((1, module.OWNERS + 1), np.int64)
    many = np.zeros(1 + sample.guards + sample.steps + 256, np.int64)
    alive = np.zeros(1, np.uint8)
    c, e = module.C(*sample.constants), np.array(sample.checks, np.int64)
    calls: dict[str, tuple[Any, ...]] = {
        "hash_rows": (words, hashes),
        "order_by_owner": (hashes, 0, starts[0], order),
        "insert": (
            words[None], hashes[None], parents[None], order[None], starts, 0, 0, counters, table,
            words, hashes, parents, counters, 1,
        ),
        "rebuild": (table, hashes, 0),
        "judge": (e, rows, 0, 0, c, many),
        "close": (alive, 0, 0, counters),
        "find": (words, hashes, order, 0, 0, table, words, counters, 0),
    }  # fmt: skip
    calls |= {name: (e, rows, 0, 0, c, many, alive) for name in names if name.startswith("mark_")}
    calls |= {name: (e, rows, rows, 0, c, many) for name in names if name.startswith("cost_")}
    outputs = (rows, words, hashes, parents, *((many,) if "find" in names_of(module) else ()))
    expand = (e, rows, words, 0, 0, 0, c, *outputs, 0, many, many, many, alive)
    for name in names:
        getattr(module, name)(*calls.get(name, expand))


def main(task: str) -> None:
    """Compile one half; this is what the other process runs."""
    path, sample, names = pickle.loads(Path(task).read_bytes())  # noqa: S301 (from our own parent process)
    warm(import_kernels(Path(path)), sample, names)


if __name__ == "__main__":
    main(sys.argv[1])
