"""Modules whose guards can be turned off at run time, so that one compilation serves every guard.

Without a guard, a step may leave a domain. The domain then refuses the step, so the step is not taken, and the first
state with a refused step is recorded. `Interpreter(bounded=True)` is the definition.
"""

from fencepost.explorers.native.llvm.builder import Builder, only_if
from fencepost.explorers.native.llvm.checks import RARE, too_long
from fencepost.explorers.native.llvm.types import Value, number
from fencepost.explorers.native.lower.module import Module
from fencepost.explorers.native.lower.shape import ERROR


class Masks:
    """Slots of the check array: a switch for each guard and each part of a guard, and records of steps that left a
    domain.

    `slots[guard][part]` is 1 if a part of a guard is turned off, where part 0 is the whole guard. `first` is the row,
    counted from 1, of the first state with a step that leaves a domain; `times` is the number of such steps. `hard` is
    the code of an error that does not count as a refusal: an error in a property, or a number of more than 64 bits. If
    such an error prevented the evaluation of a guard, `unsure` is set to its code too.
    """

    def __init__(self, module: Module) -> None:
        reserve = module.shape.reserve
        self.slots = [[reserve() for _ in range(1 + len(guard.parts))] for guard in module.program.guards]
        module.switches.update(
            {(n, part): slot for n, slots in enumerate(self.slots) for part, slot in enumerate(slots)}
        )
        self.first, self.times, self.hard, self.unsure = reserve(), reserve(), reserve(), reserve()

    def leave(self, module: Module, build: Builder, e: Value, row: Value, times: Value) -> None:
        code = module.cell(build, e, ERROR)
        with only_if(build, too_long(build, code), RARE):
            module.note(build, e, self.hard, code)
        module.note(build, e, ERROR, number(0))
        with only_if(build, build.compared("==", module.cell(build, e, self.first), number(0))):
            module.note(build, e, self.first, build.wrapped("+", row, number(1)))
        module.note(build, e, self.times, build.wrapped("+", module.cell(build, e, self.times), times))

    def unevaluated(self, module: Module, build: Builder, e: Value) -> None:
        code = module.cell(build, e, ERROR)
        with only_if(build, too_long(build, code), RARE):
            module.note(build, e, self.unsure, code)

    def broken(self, module: Module, build: Builder, e: Value, code: Value) -> None:
        """Record the code of an error in a property (0: no error), which never counts as a refusal by a domain."""
        with only_if(build, build.compared("!=", code, number(0)), RARE):
            module.note(build, e, self.hard, code)
