"""Compilation of a question's machine: from the cache, or now; and each stage of it as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.explorers.verdict import Options
from fencepost.model.language.errors import UsageError, nearest

if TYPE_CHECKING:
    from fencepost.api.asking.targets import Question
    from fencepost.api.asking.watching import Watch
    from fencepost.explorers.native.compile import Kernels
    from fencepost.explorers.native.generate import Source


STAGES = {
    "ir": "the typed program, as docs/developing/program.md has it",
    "llvm": "what LLVM gets",
    "asm": "the optimized code of this processor",
}
"""Stages of a machine on its way to compiled code."""


def source_of(question: Question, options: Options, *, masked: bool = False) -> Source:
    """Return the text that is compiled for a question; `masked`: its guards can be turned off."""
    from fencepost.explorers.native.compile import generate

    found = question.protocol
    return generate(
        found.machine,
        question.constants,
        found.compiled_with(question.properties),
        normalize=options.normalize,
        masked=masked,
    )


def kernels_of(question: Question, source: Source, watch: Watch) -> Kernels:
    """Return the compiled machine; say so if it has to be compiled first, which takes seconds."""
    from fencepost.explorers.native.compile import compile_watched

    return compile_watched(question.name, question.constants, source, watch)


def dump(question: Question, stage: str, *, normalize: bool = True) -> str:
    """Return a stage of the machine of a question, with its properties; raise UsageError without one."""
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
