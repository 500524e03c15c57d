"""Compiles a machine with Numba and keeps the result on disk, so that the next start takes a fraction of a second."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from fencepost.explorers.native.generate import Source, generate

if TYPE_CHECKING:
    from fencepost.model.language.actions import Property
    from fencepost.model.language.constants import Constants
    from fencepost.model.language.machine import Machine

NO_PARENT = 0xFFFFFFFF


@dataclass(frozen=True)
class Kernels:
    """The compiled kernels of one machine and shape, callable with numpy arrays."""

    source: Source
    digest: str
    module: Any
    seconds: float
    fresh: bool

    def constants(self, constants: Constants) -> Any:
        """Return the constants as the named tuple that the kernels take."""
        return self.module.C(*(int(value) for value in constants.values.values()))

    def checks(self, constants: Constants) -> np.ndarray[Any, Any]:
        """Return a fresh check array for these constants."""
        return np.array(self.source.checks.values(constants.values), np.int64)


def cache_folder() -> Path:
    """Return the folder of compiled machines: FENCEPOST_CACHE, or the user's cache, or a temporary folder."""
    named = os.environ.get("FENCEPOST_CACHE")
    home = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fencepost"
    try:
        home.mkdir(parents=True, exist_ok=True)
        probe = home / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError:
        return Path(tempfile.gettempdir()) / f"fencepost-{os.getuid()}"
    return home


def is_cached(source: Source) -> bool:
    """Say whether this module was compiled before, by this Python and Numba on this kind of machine."""
    return (_folder(source) / "compiled").exists()


def compiled(
    machine: Machine, constants: Constants, properties: tuple[Property, ...], *, normalize: bool = True, compact: bool = False
) -> Kernels:
    """Return the kernels of a machine, from the cache or compiled now."""
    return load(generate(machine, constants, properties, normalize=normalize, compact=compact), constants)


def load(source: Source, constants: Constants) -> Kernels:
    """Import the generated module and make sure that every kernel is compiled."""
    began = time.perf_counter()
    folder = _folder(source)
    fresh = not is_cached(source)
    folder.mkdir(parents=True, exist_ok=True)
    name = f"fencepost_native_{folder.name}"
    path = folder / f"{name}.py"
    if not path.exists():
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, suffix=".tmp") as file:
            file.write(source.text)
        Path(file.name).replace(path)
    module = sys.modules.get(name)
    if module is None:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    kernels = Kernels(source, folder.name, module, 0.0, fresh)
    _warm(kernels, constants)
    (folder / "compiled").touch()
    return Kernels(source, folder.name, module, time.perf_counter() - began, fresh)


def _folder(source: Source) -> Path:
    import numba

    mark = f"{numba.__version__} {sys.version_info[:3]} {np.__version__}\n{source.text}"
    return cache_folder() / hashlib.sha256(mark.encode()).hexdigest()[:20]


def _warm(kernels: Kernels, constants: Constants) -> None:
    """Call every kernel once on nothing, which compiles it or loads it from the cache."""
    source, module = kernels.source, kernels.module
    words = source.layout.words
    rows = np.zeros(1, source.layout.dtype)
    view = rows.view(np.uint64).reshape(1, words)
    hashes, parents, table = np.zeros(1, np.uint64), np.zeros(1, np.uint32), np.zeros(8, np.uint32)
    order, counters = np.zeros(1, np.uint32), np.zeros(2, np.int64)
    starts = np.zeros((1, module.OWNERS + 1), np.int64)
    many = np.zeros(1 + len(source.guards) + len(source.step_properties) + 256, np.int64)
    alive = np.zeros(1, np.uint8)
    c, e = kernels.constants(constants), kernels.checks(constants)
    module.hash_rows(view, hashes)
    module.order_by_owner(hashes, 0, starts[0], order)
    module.insert(
        view[None], hashes[None], parents[None], order[None], starts, 0, 0, counters, table, view, hashes, parents, counters, 1
    )
    module.rebuild(table, hashes, 0)
    module.judge(e, rows, 0, 0, c, many)
    module.expand(e, rows, view, 0, 0, 0, c, rows, view, hashes, parents, many, many, many, alive, counters)
