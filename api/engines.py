"""Engines by name, and one way to run a search with any of them."""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.api.quantities import show_seconds
from fencepost.api.traces import way_of
from fencepost.explorers.interrupts import BY_KEYBOARD, Stopped, interruptible, stop_if_cancelled
from fencepost.explorers.verdict import PropertyResult, Result, Verdict, extended
from fencepost.model.language.errors import DomainError, UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.api.targets import Question
    from fencepost.api.watching import Watch
    from fencepost.explorers.native.compile import Kernels
    from fencepost.explorers.native.generate import Source
    from fencepost.explorers.spark.session import Cluster
    from fencepost.explorers.verdict import Options
    from pyspark import SparkContext

ENGINES = {
    "native": "exhaustive breadth-first search in compiled code, on all processors",
    "plain": "the reference search in Python: the definition, and slow",
    "spark": "the native search spread over Apache Spark, for what one machine cannot hold",
}


def choose_engine(name: str) -> str:
    """Return the engine's name; raise UsageError if this version has no such engine."""
    listed = "; ".join(f"{engine} ({meaning})" for engine, meaning in ENGINES.items())
    if name not in ENGINES:
        raise UsageError(f"there is no engine {name!r}.{nearest(name, list(ENGINES))} Engines are: {listed}.")
    return name


def explore(question: Question, engine: str, options: Options, watch: Watch, cluster: Cluster | None = None) -> Result:
    """Search with the engine, showing what goes on; Ctrl-C gives a partial result, before the search begins an empty one."""
    began = time.perf_counter()
    found, constants = question.protocol, question.constants
    doing = f"preparing {question.name}"

    def load() -> Kernels:
        nonlocal doing
        kernels = kernels_of(question, source_of(question, options), watch)
        compile_behaviours(question, options, watch)
        doing = f"preparing the search of {question.name}"
        stop_if_cancelled(doing)
        return kernels

    try:
        if engine == "plain":
            from fencepost.explorers import plain

            with watch.busy(f"{question.name}: searching with the plain engine"):
                result = plain.search(found.machine, constants, question.properties, options)
        elif engine == "spark":
            assert cluster is not None
            result = _on_spark(question, options, load(), watch, cluster)
        else:
            from fencepost.explorers.native.search import search

            tell = watch.telling(question.name)
            result = search(found.machine, constants, question.properties, options, kernels=load, tell=tell)
        return with_notes(question, options, result)
    except DomainError as error:
        way = way_of(found, constants, error, normalize=options.normalize)
        if way:
            error.add_note(way)
        raise
    except KeyboardInterrupt as signal:
        why = signal.why if isinstance(signal, Stopped) else BY_KEYBOARD.on(f" while {doing}")
        return _interrupted(question, engine, options, why, time.perf_counter() - began)
    finally:
        watch.clear()


def with_notes(question: Question, options: Options, result: Result) -> Result:
    """Return the result with what a reader must know: of the machine under these constants, and of its checkpoint."""
    machine = question.protocol.machine
    notes = [*(machine.notes(question.constants) if machine.notes else ()), *result.notes]
    if result.engine != "plain" and options.checkpoint and not result.complete and result.distinct:
        notes.append(
            f"what was searched is kept in {options.checkpoint}: the same command with --resume continues from there, with more time or memory."
        )
    if options.resume:
        notes.append("the search went on from a checkpoint: states and time are those of all its parts together.")
    return replace(result, notes=tuple(notes))


def _on_spark(question: Question, options: Options, kernels: Kernels, watch: Watch, cluster: Cluster) -> Result:
    """Search on Spark; a session is started for this search and stopped after it."""
    from fencepost.explorers.spark.explore import Explore
    from fencepost.explorers.spark.machines import Origin
    from fencepost.explorers.spark.session import look_for_java, spark

    values = tuple((name, int(value)) for name, value in question.constants.values.items())
    text = Path(question.file).read_text() if question.file else ""
    names = tuple(item.name for item in question.properties)
    origin = Origin(question.name, text, values, names, options.normalize)
    search = Explore(
        question.protocol.machine, question.constants, question.properties, options, origin, kernels,
        cluster.partitions, cluster.handover, watch.telling(question.name),
    )  # fmt: skip

    @contextmanager
    def start() -> Iterator[SparkContext]:
        with ExitStack() as stack:
            with watch.busy(f"{question.name}: starting Spark with master {cluster.shown}"):
                context = stack.enter_context(spark(cluster))
            yield context

    look_for_java()
    return search.run(start)


def source_of(question: Question, options: Options, *, masked: bool = False) -> Source:
    """Return the text that is compiled for a question; `masked`: its guards can be turned off."""
    from fencepost.explorers.native.generate import generate

    found = question.protocol
    return generate(
        found.machine,
        question.constants,
        found.compiled_with(question.properties),
        normalize=options.normalize,
        compact=options.compact,
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
        return load(source, question.constants)
    what = f"compiling {question.compiled_as}"
    with watch.busy(f"{what} ... (kept for the next time)"), interruptible(what):
        kernels = load(source, question.constants)
    watch.note(f"compiled {question.compiled_as} in {show_seconds(kernels.seconds)}")
    return kernels


def compile_behaviours(question: Question, options: Options, watch: Watch) -> None:
    """Compile the steps and predicates that properties of whole behaviours need, and say so if that takes long."""
    asked = tuple(item for item in question.properties if item.kind.over_behaviours)
    if not asked or options.compact:
        return
    from fencepost.explorers.liveness.generated import sources, warm
    from fencepost.explorers.native.compile import load

    what = f"compiling {question.compiled_as}"
    steps, predicates, _ = sources(question.protocol.machine, question.constants, asked, normalize=options.normalize)
    with watch.busy("preparing the analysis of graphs ... (kept for the next time)"), interruptible(what):
        warm()
    for source in (steps, predicates):
        if not is_ready(source):
            with watch.busy(f"compiling the graph of {question.compiled_as} ... (kept for the next time)"), interruptible(what):
                kernels = load(source, question.constants)
            watch.note(f"compiled the graph of {question.compiled_as} in {show_seconds(kernels.seconds)}")


def _interrupted(question: Question, engine: str, options: Options, why: str, seconds: float) -> Result:
    """Return the result of a search that was ended before it had counted anything."""
    kept = ", and no checkpoint was written" if options.checkpoint else ""
    return Result(
        protocol=question.name,
        constants=question.constants.shown(),
        engine=engine,
        workers=options.workers,
        complete=False,
        why_stopped=extended(why, f": nothing was searched{kept}"),
        distinct=0,
        generated=0,
        depth=0,
        seconds=seconds,
        properties=tuple(PropertyResult(item.name, item.kind, Verdict.UNDETERMINED) for item in question.properties),
        fired={item.label: 0 for item in question.protocol.machine.actions},
        guards=(),
        deadlocks=0,
    )
