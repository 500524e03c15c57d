"""Compiles a machine with Numba and keeps the result on disk, so that the next start takes a fraction of a second."""

from __future__ import annotations

import hashlib
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from fencepost.explorers.cache_folder import cache_folder
from fencepost.explorers.native.generate import Source, generate
from fencepost.explorers.native.warm import Sample, import_kernels, names_of, warm, warm_aside
from fencepost.model.language.errors import MismatchError

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

    def must_judge(self, properties: tuple[Property, ...]) -> None:
        """Raise MismatchError if one of these is not among the compiled properties: it would never be evaluated, and hold."""
        missing = [item.name for item in properties if item not in self.source.state_properties + self.source.step_properties]
        if missing:
            raise MismatchError(
                f"{', '.join(missing)} was not compiled, and cannot be judged. This is a defect of Fencepost: please report it."
            )


def is_cached(source: Source) -> bool:
    """Say whether this module was compiled before, by this Python and Numba on this kind of machine."""
    return (_folder(source) / "compiled").exists()


def compiled(
    machine: Machine,
    constants: Constants,
    properties: tuple[Property, ...],
    *,
    normalize: bool = True,
    compact: bool = False,
    masked: bool = False,
) -> Kernels:
    """Return the kernels of a machine, from the cache or compiled now; `masked`: its guards can be turned off."""
    return load(generate(machine, constants, properties, normalize=normalize, compact=compact, masked=masked), constants)


def load(source: Source, constants: Constants, *, aside: bool = True) -> Kernels:
    """Import the generated module and make sure that every kernel is compiled, half of them `aside`, in a process of its own."""
    began = time.perf_counter()
    folder = _folder(source)
    fresh = not is_cached(source)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"fencepost_native_{folder.name}.py"
    if not path.exists():
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, suffix=".tmp") as file:
            file.write(source.text)
        Path(file.name).replace(path)
    values = [int(value) for value in constants.values.values()]
    sample = Sample(
        source.layout.dtype, len(source.guards), len(source.step_properties), values, source.checks.values(constants.values)
    )
    module = import_kernels(path)
    if fresh and aside:
        warm_aside(path, module, sample)
    warm(module, sample, names_of(module))
    (folder / "compiled").touch()
    return Kernels(source, folder.name, module, time.perf_counter() - began, fresh)


def _folder(source: Source) -> Path:
    import numba

    mark = f"{numba.__version__} {sys.version_info[:3]} {np.__version__}\n{source.text}"
    return cache_folder() / hashlib.sha256(mark.encode()).hexdigest()[:20]
