"""Machines that are compiled for a question: taken from the cache, or compiled now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.api.quantities import show_seconds
from fencepost.explorers.interrupts import interruptible

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.api.targets import Question
    from fencepost.api.watching import Watch
    from fencepost.explorers.native.compile import Kernels
    from fencepost.explorers.native.generate import Source
    from fencepost.explorers.verdict import Compiled, Options, Result


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


LONG = 2.0
"""Seconds of compiling that are worth a word."""


def kernels_of(question: Question, source: Source, watch: Watch) -> Kernels:
    """Return the compiled machine; say so if it has to be compiled first, which takes seconds."""
    from fencepost.explorers.native.compile import is_cached, load

    return _compiled(question, source, watch, load, ready=is_cached(source))


def kernels_to_begin_with(question: Question, source: Source, watch: Watch) -> Kernels:
    """Return the machine as code that a search begins with: it is optimized while the search goes on."""
    from fencepost.explorers.native.tiers import begin, is_ready

    return _compiled(question, source, watch, begin, ready=is_ready(source))


def _compiled(question: Question, source: Source, watch: Watch, load: Callable[[Source], Kernels], *, ready: bool) -> Kernels:
    if ready:
        return load(source)
    name = question.compiled_as
    what = f"compiling {name}"
    with watch.busy(f"{what} ... (kept for the next time)"), interruptible(what):
        kernels = load(source)
    note_compiled(name, kernels.compiled, watch)
    return kernels


def note_compiled(name: str, compiled: Compiled, watch: Watch) -> None:
    """Say how long compiling took, and that it was long."""
    long = ", which is long: its code is kept, and is there at once the next time" if compiled.seconds > LONG else ""
    watch.note(f"compiled {name} in {show_seconds(compiled.seconds)}{long}")


def noted(question: Question, result: Result, watch: Watch) -> Result:
    """Return a result; say so if optimizing the code took long while it was found."""
    for item in result.compiled[1:]:
        if item.seconds > LONG:
            note_compiled(question.compiled_as, item, watch)
    return result


def compile_behaviours(question: Question, options: Options, watch: Watch) -> None:
    """Compile the steps and predicates that properties of whole behaviours need, and say so if that takes long."""
    asked = tuple(item for item in question.properties if item.kind.over_behaviours)
    if not asked or options.compact:
        return
    from fencepost.explorers.liveness.generated import sources
    from fencepost.explorers.native.tiers import begin, is_ready

    what = f"compiling {question.compiled_as}"
    steps, predicates, _ = sources(question.protocol.machine, question.constants, asked, normalize=options.normalize)
    for source in (steps, predicates):
        if not is_ready(source):
            with watch.busy(f"compiling the graph of {question.compiled_as} ... (kept for the next time)"), interruptible(what):
                kernels = begin(source)
            watch.note(f"compiled the graph of {question.compiled_as} in {show_seconds(kernels.compiled.seconds)}")
