"""Checks: every reachable state of a protocol is explored to decide its properties."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.api.answers.counterexample import way_of
from fencepost.api.answers.growing import Growth
from fencepost.api.answers.growing import grow as grown
from fencepost.api.answers.results import Base, CheckResult
from fencepost.api.asking.arguments import call
from fencepost.api.asking.places import against, of_model, placed
from fencepost.api.asking.targets import Question, ask, kernels_of, source_of
from fencepost.api.asking.watching import Event, Watch, watched
from fencepost.api.calls.base import Compared, compare, further, summed
from fencepost.api.files import alone_in, keeps_search, make_sure_folder
from fencepost.api.topics.version_notes import background_notes
from fencepost.counterexamples.promises import hanging
from fencepost.explorers.program.subset.program import check as read
from fencepost.explorers.running import interrupts
from fencepost.explorers.verdict import (
    Cause,
    CrossCheckError,
    Options,
    Problem,
    PropertyResult,
    Result,
    Verdict,
    cause_of,
    extended,
    refuse_replacing,
)
from fencepost.invariants.protocols import Protocol
from fencepost.model.language import Constants, Machine, Property
from fencepost.model.language.errors import DomainError, FencepostError, UsageError, nearest
from fencepost.model.language.interpreter import Interpreter

if TYPE_CHECKING:
    from fencepost.explorers.spark.session import Cluster


ENGINES = {
    "native": "exhaustive breadth-first search in compiled code, on all processors",
    "plain": "the reference search in Python, which defines the semantics and is slow",
    "spark": "the native search distributed over Apache Spark, for state spaces too large for one machine",
}


@call
def check(
    what: Machine | Protocol | Question | str | Path,
    properties: Iterable[Property] | None = None,
    *,
    constants: Mapping[str, Any] | Constants | None = None,
    version: str = "",
    only: Iterable[str] = (),
    engine: str = "native",
    workers: int = 0,
    budget: float | None = None,
    memory: int | None = None,
    max_states: int | None = None,
    max_depth: int | None = None,
    compact: bool = False,
    normalize: bool = True,
    symmetry: bool = False,
    stop_on_violation: bool = False,
    deadlock: bool = False,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    spill: str | Path | None = None,
    grow: float | None = None,
    cross_check: int | None = None,
    cluster: Cluster | None = None,
    progress: Watch | Callable[[Event], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    **more: Any,
) -> CheckResult:
    """Explore every reachable state and return the result.

    `what` is the name of a protocol, a machine with its `properties`, or the path of a file that defines both.
    Constants are given by name, as `constants` or as further arguments, and are numbers, booleans or words. `only`
    limits the properties by name.

    `budget` is in seconds, and `memory` is in bytes, by default 80 % of the available memory. `workers=0` means all
    processors. `spill` is a folder for data that a search accesses sequentially: parents and unfinished levels. If
    `symmetry` is set, states that differ only by swapping interchangeable values count as one state. The model declares
    which values are interchangeable, and the declaration is verified. After the search, the bounds that were reached
    are raised one at a time, for `grow` seconds in total. The result's `growth` lists the bounds up to which each
    verdict is stable. `progress` is called with events while the search runs. If `cancel` returns true or the user
    presses Ctrl-C, the result is partial, and `why_stopped` gives the reason. The plain semantics, which defines the
    result, re-expands `cross_check` stored states. By default, it takes a tenth of the search time, or 0.1 s if that is
    longer; 0 turns this off. Raises MismatchError if the engines differ, and another FencepostError for bad arguments.
    """
    question = ask(what, properties, constants=constants, version=version, only=only, more=more)
    choose_engine(engine)
    options = Options(
        workers=workers, compact=compact, normalize=normalize, symmetry=symmetry, stop_on_violation=stop_on_violation,
        deadlock=deadlock, max_depth=max_depth, max_states=max_states, budget=budget,
        memory=interrupts.default_memory() if memory is None else memory,
        checkpoint=str(checkpoint) if checkpoint else None, resume=resume, spill=str(spill) if spill else None,
        cross_check=cross_check,
    )  # fmt: skip
    watch = watched(progress)
    growth = None
    if spill:
        if engine != "native":
            raise UsageError(f"`spill=` works only with the native engine, not with {engine}: leave one of them out.")
        make_sure_folder(Path(spill))
    if checkpoint and not resume and keeps_search(Path(checkpoint)):
        refuse_replacing(checkpoint)
    with interrupts.cancelled_by(cancel) if cancel else nullcontext(), alone_in(options.checkpoint):
        began = time.perf_counter()
        found = explore(question, engine, options, watch, cluster)
        if grow is not None:
            growth = grown(question, found, grow, partial(larger, engine, options, watch, cluster), began=began)
        compared = compare(question, options, found, watch)
        watch.clear()
    if memory is None:
        found = with_memory_explained(found)
    return answer(question, options, found, growth, compared)


def answer(
    question: Question, options: Options, found: Result, growth: Growth | None = None, compared: Compared | None = None
) -> CheckResult:
    parts = {name: getattr(found, name) for name in Result.__dataclass_fields__}
    background = tuple(background_notes(question, found, normalize=options.normalize))
    notes = (*_hanging(question, options, found), *background, *notes_on(options, found))
    base, told = (compared.outcome, compared.notes) if compared else (None, ())
    notes = (*told, *notes) if base is Base.SAME else (*notes, *told)
    return CheckResult(
        **{**parts, "notes": notes, "peak_memory_bytes": interrupts.peak_memory()}, question=question,
        normalize=options.normalize, background=background, growth=growth,
        verdict=Verdict.VIOLATED if growth and growth.violated else found.verdict,
        cause=cause_of(found.why_stopped), base=base,
    )  # fmt: skip


def larger(
    engine: str, options: Options, watch: Watch, cluster: Cluster | None, question: Question, seconds: float
) -> Result:
    """Return the search function for growing bounds. It has a time limit, and continues past violations."""
    budget = seconds if options.budget is None else min(seconds, options.budget)
    return explore(question, engine, further(options, budget), watch, cluster)


def choose_engine(name: str) -> None:
    if name not in ENGINES:
        listed = "; ".join(f"{engine} ({meaning})" for engine, meaning in ENGINES.items())
        raise UsageError(f"there is no engine {name!r}.{nearest(name, list(ENGINES))} The engines are: {listed}.")


def explore(question: Question, engine: str, options: Options, watch: Watch, cluster: Cluster | None = None) -> Result:
    """Search with the engine and show progress. Ctrl-C gives a partial result (empty before the search starts)."""
    began = time.perf_counter()
    try:
        return with_ways(question, options, _searched(question, engine, options, watch, cluster))
    except (DomainError, CrossCheckError) as error:
        note_way(question, error, normalize=options.normalize)
        raise
    except FencepostError:
        raise
    except Exception as error:
        raise of_model(error) from error
    except KeyboardInterrupt as signal:
        preparing = interrupts.BY_KEYBOARD.on(f" while preparing {question.name}")
        why = signal.why if isinstance(signal, interrupts.Stopped) else preparing
        return _interrupted(question, engine, options, why, time.perf_counter() - began)
    finally:
        watch.clear()


def note_way(question: Question, error: DomainError | CrossCheckError, *, normalize: bool) -> None:
    """Add to an error a note with the path to its state."""
    to = error if isinstance(error, DomainError) else error.path
    way = way_of(question.protocol, question.constants, to, normalize=normalize)
    if way:
        error.add_note(way)


def _searched(question: Question, engine: str, options: Options, watch: Watch, cluster: Cluster | None) -> Result:
    found, constants, name = question.protocol, question.constants, question.protocol.machine.name
    wanted = summed(question, options)
    if engine == "plain":
        from fencepost.explorers.plain import search as search_plainly

        read(found.machine, found.every_property)  # before anything is printed, as with the other engines
        with watch.busy(f"{name}: searching with the plain engine"):
            return search_plainly(found.machine, constants, question.properties, options, wanted)
    if engine == "spark":
        from fencepost.api.calls.on_spark import search_on
        from fencepost.explorers.spark.session import Cluster, require_spark

        require_spark()
        kernels = kernels_of(question, source_of(question, options), watch)
        return search_on(question, options, kernels, watch, cluster or Cluster(), summed=wanted)
    from fencepost.explorers.search import search

    asked, usual = question.properties, found.properties
    tell = watch.telling(name)
    return search(found.machine, constants, asked, options, usual=usual, watch=watch, tell=tell, summed=wanted)


def with_ways(question: Question, options: Options, result: Result) -> Result:
    """Return the result, whose problems now say where in the model an error occurred and which steps lead to it."""

    def placed_problem(item: Problem) -> Problem:
        if not isinstance(item.error, DomainError):
            return item
        way = way_of(question.protocol, question.constants, item.error, normalize=options.normalize)
        return replace(item, text=f"{placed(item.error, against(item.error))}\n{way}".rstrip())

    return replace(result, problems=tuple(map(placed_problem, result.problems)))


def _hanging(question: Question, options: Options, result: Result) -> Iterator[str]:
    """Yield a sentence for each violated property of behaviours whose verdict depends on a bound of the run."""
    plain = Interpreter(question.protocol.machine, question.constants, normalize=options.normalize)
    for item, prop in ((item, prop) for item in result.properties for prop in question.properties):
        if prop.name == item.name and item.verdict is Verdict.VIOLATED and item.path is not None:
            found = hanging(plain, prop, item.path)
            if found:
                yield f"{item.name}: {found}."


def notes_on(options: Options, result: Result) -> tuple[str, ...]:
    notes = [*result.notes]
    if result.kept and options.checkpoint:
        notes.append(
            f"the search so far is saved in {options.checkpoint}: the same search with `resume=True` continues from "
            "there, with more time or memory."
        )
    if options.resume:
        notes.append("the search continued from a checkpoint: states and time are totals over all parts of the search.")
    return tuple(notes)


def _interrupted(question: Question, engine: str, options: Options, why: str, seconds: float) -> Result:
    kept = ", and no checkpoint was written" if options.checkpoint else ""
    return Result(
        protocol=question.name, constants=question.constants.shown, engine=engine, workers=options.workers,
        complete=False, why_stopped=extended(why, f": nothing was searched{kept}"), distinct=0, generated=0, depth=0,
        seconds=seconds,
        properties=tuple(PropertyResult(item.name, item.kind, Verdict.UNDETERMINED) for item in question.properties),
        fired={item.label: 0 for item in question.protocol.machine.actions}, guards=(), deadlocks=0,
    )  # fmt: skip


def with_memory_explained(result: Result) -> Result:
    if result.why_stopped and cause_of(result.why_stopped) is Cause.MEMORY:
        where = f" ({interrupts.DEFAULT_SHARE:.0%} of the available memory; `memory=` sets another limit)"
        return replace(result, why_stopped=extended(result.why_stopped, where))
    return result
