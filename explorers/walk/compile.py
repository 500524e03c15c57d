"""The kernel that walks, compiled, and bound to the kernels of one machine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.explorers.native.llvm.libraries import library
from fencepost.explorers.native.llvm.unit import Unit
from fencepost.explorers.native.lower.machine import CODES

if TYPE_CHECKING:
    from fencepost.explorers.native.compile import Kernels
    from fencepost.explorers.native.llvm.libraries import Kernel


@cache
def walk_kernel() -> Kernel:
    """Return the kernel that walks any machine."""
    found, _ = library(Unit(Path(__file__).with_name("kernel.py").read_text(), codes=CODES))
    return found.kernels()["walk"]


@dataclass(frozen=True)
class WalkKernel:
    """What walks one machine."""

    kernels: Kernels

    def __call__(self, *arguments: Any) -> int:
        """Call `walk`; see explorers/walk/kernel.py for its arguments after the two that are given here."""
        module = self.kernels.module
        return int(walk_kernel()(module.expand, module.judge, *arguments))
