"""Machines that are compiled for a question: taken from the cache, or compiled now."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fencepost.api.asking.targets import Question
    from fencepost.api.asking.watching import Watch
    from fencepost.explorers.native.compile import Kernels
    from fencepost.explorers.native.generate import Source
    from fencepost.explorers.verdict import Options


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
