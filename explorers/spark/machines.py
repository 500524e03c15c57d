"""How an executor gets the machine of a search: by the protocol's name, or from the text of a user's own file."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, cast

from fencepost.explorers.model_files import load_sent
from fencepost.invariants.protocols import Protocol, protocol

if TYPE_CHECKING:
    from fencepost.explorers.model_files import Files
    from fencepost.explorers.native.compile import Kernels
    from fencepost.model.language.constants import Constants
    from fencepost.model.language.machine import Machine


@dataclass(frozen=True)
class Origin:
    """A machine and its constants, in a form that can be sent and compared."""

    name: str
    files: Files
    """The files that define the protocol; none for one of ours."""
    values: tuple[tuple[str, int], ...]
    properties: tuple[str, ...]
    """Those that are judged; all of the protocol's if empty. Our own protocols are compiled with all in any case."""
    normalize: bool

    def protocol(self) -> Protocol:
        """Return the machine with its properties."""
        return _found(self)

    def machine(self) -> Machine:
        """Return the machine."""
        return _found(self).machine

    def constants(self) -> Constants:
        """Return the constants."""
        return self.machine().set_constants(dict(self.values))

    def kernels(self) -> Kernels:
        """Return the compiled machine, once in a process."""
        return _kernels(self)


@cache
def _kernels(origin: Origin) -> Kernels:
    from fencepost.explorers.native.compile import compiled

    found = _found(origin)
    chosen = found.compiled_with(found.select(origin.properties))
    made = compiled(found.machine, origin.constants(), chosen, normalize=origin.normalize)
    gc.freeze()  # PySpark collects garbage after every task, and would look at all of this each time
    return made


@cache
def _found(origin: Origin) -> Protocol:
    if not origin.files:
        return protocol(origin.name)
    module = load_sent(origin.files)
    return Protocol(cast("Machine", module.MACHINE), tuple(module.PROPERTIES))
