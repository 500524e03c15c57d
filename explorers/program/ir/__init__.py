"""The typed program: what the checker of the language makes of a machine, and what every engine is lowered from.

`docs/ir.md` is its definition. The plain semantics is that of the Python text, and does not use it.
"""

from fencepost.explorers.program.ir.nest import Compute, Guarded, Nest, Over, can_fail, nest
from fencepost.explorers.program.ir.program import (
    Action,
    Behaviour,
    Effects,
    Function,
    Guard,
    Parameter,
    Program,
)
from fencepost.explorers.program.ir.switches import with_switches
from fencepost.explorers.program.ir.text import text
from fencepost.explorers.program.ir.translate import translate

__all__ = [
    "Action",
    "Behaviour",
    "Compute",
    "Effects",
    "Function",
    "Guard",
    "Guarded",
    "Nest",
    "Over",
    "Parameter",
    "Program",
    "can_fail",
    "nest",
    "text",
    "translate",
    "with_switches",
]
