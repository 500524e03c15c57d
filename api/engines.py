"""Machines that are compiled for a question: taken from the cache, or compiled now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.api.quantities import show_seconds
from fencepost.explorers.interrupts import interruptible

if TYPE_CHECKING:
    from fencepost.api.targets import Question
    from fencepost.api.watching import Watch
    from fencepost.explorers.native.compile import Kernels
    from fencepost.explorers.native.generate import Source
    from fencepost.explorers.verdict import Options


def source_of(question: Question, options: Options, *, masked: bool = False) -> Source:
    """Return the text that is compiled for a question; `masked`: its guards can be turned off."""
    from fencepost.explorers.native.generate import generate

    found = question.protocol
    return generate(
        found.machine,
        question.constants,
        found.compiled_with(question.properties),
        normalize=options.normalize,
        masked=masked,
    )


def is_ready(source: Source) -> bool:
    """Say whether a machine needs no compiling."""
    from fencepost.explorers.native.compile import is_cached

    return is_cached(source)


def kernels_of(question: Question, source: Source, watch: Watch) -> Kernels:
    """Return the compiled machine; say so if it has to be compiled first, which takes seconds."""
    from fencepost.explorers.native.compile import load

    if is_ready(source):
        return load(source)
    what = f"compiling {question.compiled_as}"
    with watch.busy(f"{what} ... (kept for the next time)"), interruptible(what):
        kernels = load(source)
    watch.note(f"compiled {question.compiled_as} in {show_seconds(kernels.seconds)}")
    return kernels


def compile_behaviours(question: Question, options: Options, watch: Watch) -> None:
    """Compile the steps and predicates that properties of whole behaviours need, and say so if that takes long."""
    asked = tuple(item for item in question.properties if item.kind.over_behaviours)
    if not asked or options.compact:
        return
    from fencepost.explorers.liveness.generated import sources
    from fencepost.explorers.native.compile import load

    what = f"compiling {question.compiled_as}"
    steps, predicates, _ = sources(question.protocol.machine, question.constants, asked, normalize=options.normalize)
    for source in (steps, predicates):
        if not is_ready(source):
            with watch.busy(f"compiling the graph of {question.compiled_as} ... (kept for the next time)"), interruptible(what):
                kernels = load(source)
            watch.note(f"compiled the graph of {question.compiled_as} in {show_seconds(kernels.seconds)}")
