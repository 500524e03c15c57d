"""What becomes of a machine on its way to compiled code, stage by stage, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.api.calls.engines import source_of
from fencepost.explorers.verdict import Options
from fencepost.model.language.errors import UsageError, nearest

if TYPE_CHECKING:
    from fencepost.api.asking.targets import Question

STAGES = {
    "ir": "the typed program, as docs/ir.md has it",
    "llvm": "what LLVM gets",
    "asm": "the optimized code of this processor",
}


def dump(question: Question, stage: str, *, normalize: bool = True) -> str:
    """Return a stage of the machine of a question, with its properties; raise UsageError if there is none."""
    from fencepost.explorers.native.llvm.objects import assembly, native, translated
    from fencepost.explorers.program.ir.text import text
    from fencepost.explorers.program.ir.translate import translate

    if stage not in STAGES:
        listed = "; ".join(f"{name} ({meaning})" for name, meaning in STAGES.items())
        raise UsageError(f"there is no stage {stage!r}.{nearest(stage, list(STAGES))} Stages are: {listed}.")
    if stage == "ir":
        found = question.protocol
        return text(translate(found.machine, found.compiled_with(question.properties)))
    unit = source_of(question, Options(normalize=normalize)).unit
    return translated(unit, native())[0] if stage == "llvm" else assembly(unit)
