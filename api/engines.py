"""Engines by name, and one way to run a search with any of them."""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.api.interrupts import heard
from fencepost.api.quantities import show_seconds
from fencepost.api.traces import way_of
from fencepost.explorers.verdict import Options, PropertyResult, Result, Verdict
from fencepost.invariants.protocols import Protocol
from fencepost.model.language.constants import SHAPE
from fencepost.model.language.errors import DomainError, UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.api.watching import Watch
    from fencepost.explorers.native.compile import Kernels
    from fencepost.explorers.native.generate import Source
    from fencepost.explorers.spark.session import Cluster
    from fencepost.model.language import Constants, Machine, Property
    from pyspark import SparkContext

ENGINES = {
    "native": "exhaustive breadth-first search in compiled code, on all processors",
    "plain": "the reference search in Python: the definition, and slow",
    "spark": "the native search spread over Apache Spark, for what one machine cannot hold",
}


@dataclass(frozen=True)
class Question:
    """What is asked: whether a machine, under these constants, has these properties."""

    machine: Machine
    constants: Constants
    properties: tuple[Property, ...]
    file: str = ""
    """The user's own file that defines the machine; empty for one of ours."""

    @property
    def name(self) -> str:
        """The protocol's name."""
        return self.machine.name

    @property
    def compiled_as(self) -> str:
        """The protocol with what its compiled code is sized for: `kip320 for 3 replicas`."""
        declared = self.constants.declared()
        sizes = [f"{value} {name}" for name, value in self.constants.rooms().items() if declared[name].sort == SHAPE]
        return f"{self.name} for {', '.join(sizes)}" if sizes else self.name


def choose_engine(name: str) -> str:
    """Return the engine's name; raise UsageError if this version has no such engine."""
    listed = "; ".join(f"{engine} ({meaning})" for engine, meaning in ENGINES.items())
    if name not in ENGINES:
        raise UsageError(f"there is no engine {name!r}.{nearest(name, list(ENGINES))} Engines are: {listed}.")
    return name


def explore(question: Question, engine: str, options: Options, display: Watch, cluster: Cluster | None = None) -> Result:
    """Search with the engine, showing what goes on; Ctrl-C gives a partial result, before the search begins an empty one."""
    began = time.perf_counter()
    doing = f"preparing {question.name}"
    try:
        if engine == "plain":
            from fencepost.explorers import plain

            with display.busy(f"{question.name}: searching with the plain engine"):
                return with_notes(
                    plain.search(question.machine, question.constants, question.properties, options),
                    question.machine,
                    question.constants,
                )
        _refuse_early(question, engine, options)
        source = source_of(question, options)
        if not is_ready(source):
            doing = f"compiling {question.compiled_as}"
        kernels = kernels_of(question, source, display)
        doing = f"compiling {question.compiled_as}"
        compile_behaviours(question, options, display)
        doing = f"preparing the search of {question.name}"
        if engine == "spark":
            assert cluster is not None
            found = _kept(options, _on_spark(question, options, kernels, display, cluster))
            return with_notes(found, question.machine, question.constants)
        from fencepost.explorers.native.search import search

        result = search(
            question.machine,
            question.constants,
            question.properties,
            options,
            kernels=kernels,
            tell=display.telling(question.name),
        )
        return with_notes(_kept(options, result), question.machine, question.constants)
    except DomainError as error:
        way = way_of(Protocol(question.machine, question.properties), question.constants, error, normalize=options.normalize)
        if way:
            error.add_note(way)
        raise
    except KeyboardInterrupt:
        return _interrupted(question, engine, options, doing, time.perf_counter() - began)
    finally:
        display.clear()


def _refuse_early(question: Question, engine: str, options: Options) -> None:
    """Raise UsageError for what the search would refuse too, before anything is compiled for it."""
    if engine != "native":
        return
    from fencepost.explorers.native.checkpoint import look_at_question
    from fencepost.explorers.native.search import refuse_compact_behaviours

    refuse_compact_behaviours(question.properties, options)
    if options.resume:
        look_at_question(question.machine, question.constants, question.properties, options)


def _kept(options: Options, result: Result) -> Result:
    """Return the result with what a reader must know of its checkpoint: that there is one, and what the time covers."""
    notes = []
    if options.checkpoint and not result.complete and result.distinct:
        notes.append(
            f"what was searched is kept in {options.checkpoint}: the same command with --resume goes on from there, with more time or room."
        )
    if options.resume:
        notes.append("the search went on from a checkpoint: states and time are those of all its parts together.")
    return replace(result, notes=(*result.notes, *notes))


def _on_spark(question: Question, options: Options, kernels: Kernels, display: Watch, cluster: Cluster) -> Result:
    """Search on Spark; a session is started for this search and stopped after it."""
    from fencepost.explorers.spark.explore import Explore
    from fencepost.explorers.spark.machines import Origin
    from fencepost.explorers.spark.session import look_for_java, spark

    values = tuple((name, int(value)) for name, value in question.constants.values.items())
    text = Path(question.file).read_text() if question.file else ""
    names = tuple(item.name for item in question.properties)
    origin = Origin(question.name, text, values, names, options.normalize)
    search = Explore(
        question.machine, question.constants, question.properties, options, origin, kernels,
        cluster.partitions, cluster.handover, display.telling(question.name),
    )  # fmt: skip

    @contextmanager
    def start() -> Iterator[SparkContext]:
        with ExitStack() as stack:
            with display.busy(f"{question.name}: starting Spark with master {cluster.shown}"):
                context = stack.enter_context(spark(cluster))
            yield context

    look_for_java()
    return search.run(start)


def with_notes(result: Result, machine: Machine, constants: Constants) -> Result:
    """Return the result with what the machine tells readers of it under these constants."""
    told = tuple(machine.notes(constants)) if machine.notes else ()
    return replace(result, notes=(*told, *result.notes))


def source_of(question: Question, options: Options) -> Source:
    """Return the text that is compiled for a question."""
    from fencepost.explorers.native.generate import generate
    from fencepost.invariants.protocols import PROTOCOLS

    known = PROTOCOLS.get(question.name)
    ours = known is not None and known.machine is question.machine
    properties = known.compiled_with(question.properties) if known is not None and ours else question.properties
    return generate(question.machine, question.constants, properties, normalize=options.normalize, compact=options.compact)


def is_ready(source: Source) -> bool:
    """Say whether a machine needs no compiling."""
    from fencepost.explorers.native.compile import is_cached

    return is_cached(source)


def kernels_of(question: Question, source: Source, display: Watch) -> Kernels:
    """Return the compiled machine; say so if it has to be compiled first, which takes seconds."""
    from fencepost.explorers.native.compile import load

    if is_ready(source):
        return load(source, question.constants)
    with display.busy(f"compiling {question.compiled_as} ... (kept for the next time)"), heard():
        kernels = load(source, question.constants)
    display.note(f"compiled {question.compiled_as} in {show_seconds(kernels.seconds)}")
    return kernels


def compile_behaviours(question: Question, options: Options, display: Watch) -> None:
    """Compile the steps and predicates that properties of whole behaviours need, and say so if that takes long."""
    asked = tuple(item for item in question.properties if item.kind.over_behaviours)
    if not asked or options.compact:
        return
    from fencepost.explorers.liveness.generated import sources, warm
    from fencepost.explorers.native.compile import load

    steps, predicates, _ = sources(question.machine, question.constants, asked, normalize=options.normalize)
    with display.busy("preparing the analysis of graphs ... (kept for the next time)"), heard():
        warm()
    for source in (steps, predicates):
        if not is_ready(source):
            with display.busy(f"compiling the graph of {question.compiled_as} ... (kept for the next time)"), heard():
                kernels = load(source, question.constants)
            display.note(f"compiled the graph of {question.compiled_as} in {show_seconds(kernels.seconds)}")


def _interrupted(question: Question, engine: str, options: Options, doing: str, seconds: float) -> Result:
    """Return the result of a search that was ended before it had counted anything."""
    kept = ", and no checkpoint was written" if options.checkpoint else ""
    return Result(
        protocol=question.name,
        constants=question.constants.shown(),
        engine=engine,
        workers=options.workers,
        complete=False,
        why_stopped=f"SIGINT was received while {doing}: nothing was searched{kept}",
        distinct=0,
        generated=0,
        depth=0,
        seconds=seconds,
        properties=tuple(PropertyResult(item.name, item.kind, Verdict.UNDETERMINED) for item in question.properties),
        fired={item.label: 0 for item in question.machine.actions},
        guards=(),
        deadlocks=0,
    )
