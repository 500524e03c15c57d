"""Proofs by induction, bounded proofs, and a search for lemmas. The plain semantics confirms the answers."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from math import prod
from pathlib import Path as File
from typing import TYPE_CHECKING, Any

from fencepost.api.answers.proof_report import ProveResult, path_of_history, values_text
from fencepost.api.asking.arguments import call
from fencepost.api.asking.quantities import counted
from fencepost.api.asking.targets import Question, ask
from fencepost.api.asking.watching import Event, Watch, watched
from fencepost.explorers.native.expansion import processors
from fencepost.explorers.native.search import Search
from fencepost.explorers.paths import holds_at_end, values_of
from fencepost.explorers.plain import PlainSearch
from fencepost.explorers.running import interrupts
from fencepost.explorers.symbolic.replays import lifted_names, require_tried_arguments
from fencepost.explorers.verdict import Options, Result, Verdict, ended_by_signal, extended
from fencepost.invariants.protocols import Protocol
from fencepost.invariants.theorems import WIDEST, select
from fencepost.model.language import Action, Constants, Machine, Property
from fencepost.model.language.domains import InFlight
from fencepost.model.language.errors import DisabledError, DomainError, MismatchError, ModelError, UsageError
from fencepost.model.language.interpreter import Interpreter, Step
from fencepost.model.language.records import Key

if TYPE_CHECKING:
    from fencepost.explorers.symbolic.models import Pair
    from fencepost.explorers.symbolic.proof import Proof, Settings


FIRST_STATES = 500
"""Maximum number of states whose steps are tried before a proof, to find steps that raise an error."""
MOST_VALUES = 100_000
"""Maximum number of parameter combinations to try for an action in one of these states."""


def look_for_z3() -> None:
    if importlib.util.find_spec("z3") is None:
        raise UsageError(
            'proofs need z3, which is not installed: run `pip install "fencepost[prove]"`, or use `fencepost check` '
            "instead."
        )


@call
def prove(
    what: Machine | Protocol | Question | str | File,
    properties: Iterable[Property] | None = None,
    *,
    constants: Mapping[str, Any] | Constants | None = None,
    version: str = "",
    only: Iterable[str] = (),
    unbounded: Iterable[str] = (),
    int64: Iterable[str] = (),
    havoc_loops: bool = False,
    k: int = 1,
    depth: int | None = None,
    every_state: bool = False,
    timeout: float = 60.0,
    reach: float = 30.0,
    strengthen: bool = False,
    workers: int = 0,
    cache: bool = True,
    progress: Watch | Callable[[Event], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    **more: Any,
) -> ProveResult:
    """Prove by induction that properties hold initially, and that every step preserves them.

    Constants in `unbounded` may have any value, and those in `int64` may have any 64-bit value; all others keep their
    values. `k` selects induction over `k` steps, `depth` selects a bounded proof for runs of that many steps, and
    `every_state` selects a proof for all states, without steps. `timeout` is the time limit of each z3 query, and
    `reach` is the time limit of the search for a reachable state that breaks the induction, both in seconds.
    `strengthen` adds a search for lemmas.
    """
    look_for_z3()
    from fencepost.explorers.symbolic.proof import Settings

    question = ask(what, properties, constants=constants, version=version, more=more)
    found, watch = question.protocol, watched(progress)
    chosen = select(found, tuple(only))
    given = {"`depth=`": depth is not None, "`k=`": k > 1, "`every_state=True`": every_state}
    ways = [name for name, is_given in given.items() if is_given]
    if len(ways) > 1:
        raise UsageError(f"{ways[0]} and {ways[1]} are different proof methods. Choose one of them.")
    if strengthen and ways:
        raise UsageError(
            f"`strengthen=True` cannot be combined with {ways[0]}, because it searches for lemmas for induction over "
            "one step. Leave one argument out."
        )
    if havoc_loops and ways:
        raise UsageError(
            f"`havoc_loops=True` cannot be combined with {ways[0]}: if a loop may write any value, a run of several "
            "steps may be impossible in the model. Leave one argument out."
        )
    lifted: dict[str, int | None] = dict.fromkeys(lifted_names(found.machine, tuple(unbounded), "`unbounded=`"))
    lifted |= dict.fromkeys(lifted_names(found.machine, tuple(int64), "`int64=`"), WIDEST)
    settings = Settings(
        lifted, k, depth, every_state, timeout, workers or processors(), havoc_loops=havoc_loops and bool(lifted)
    )
    with interrupts.cancelled_by(cancel):
        proof = proof_of(
            found.machine, question.constants, chosen, settings, watch, f"proving {found.name}", cache=cache
        )
        report = explain(ProveResult(found, question.constants, chosen, settings, proof), reach, watch)
        if strengthen:
            report = strengthened(report, reach, watch)
    return report


def proof_of(
    machine: Machine,
    constants: Constants,
    properties: tuple[Property, ...],
    settings: Settings,
    watch: Watch,
    what: str,
    *,
    cache: bool,
) -> Proof:
    """Return a proof, read from the cache if the same question was proved before."""
    from fencepost.explorers.symbolic.cache import cached
    from fencepost.explorers.symbolic.proof import prove as proved

    def tell(done: int, of: int) -> None:
        interrupts.stop_if_cancelled()
        watch.spin(f"{what}: {done} of {of} steps")

    with watch.busy(what):
        return (cached if cache else proved)(machine, constants, properties, settings, tell)


def explain(report: ProveResult, seconds: float, watch: Watch) -> ProveResult:
    """Confirm z3's counterexample under the plain semantics, and search for the state from which its step starts."""
    from fencepost.explorers.symbolic.proof import said_of

    if report.proof.history is not None:
        path_of_history(report)
        return report
    settings = report.settings
    looked = settings.everywhere or settings.depth is not None  # no steps, or all steps examined
    if report.proof.cuts or (settings.lifted and not looked):
        try:
            look_for_errors(report.found.machine, report.constants)
        except DomainError as error:
            return beside_error(report, error, None)
    pair = report.proof.pair
    if pair is None or not pair.action or report.proof.why_stopped:
        return report
    try:
        pair = replace(pair, after=confirm(report, pair))
    except (MismatchError, DisabledError, DomainError) as error:
        why = why_unconfirmed(report, error)
        if not why:
            raise
        return replace(report, reachable=why, proof=replace(report.proof, pair=None))
    report = replace(report, proof=replace(report.proof, pair=pair))
    if seconds <= 0:
        return report
    constants = report.found.machine.set_constants(pair.constants)
    violated: dict[str, str] | None
    with watch.busy(f"searching {report.found.name} for the state that breaks the induction"):
        try:
            with interrupts.interruptible():
                search, result, wrong = search_states(report, constants, seconds)
                if wrong is not None and constants.values == report.constants.values:
                    return beside_error(report, wrong, result)
                if wrong is not None:
                    with_values = values_text(report)
                    why = f"with {with_values} the model {said_of(wrong)}"
                    answer = f"the state is not known to be reachable, because {why}"
                    violated, stopped = violated_in(report, result), ""
                else:
                    assert result is not None
                    answer, violated, stopped = look_for(report, search, result, pair.before)
        except KeyboardInterrupt as signal:
            answer, violated = "", {}
            stopped = signal.why if isinstance(signal, interrupts.Stopped) else interrupts.BY_KEYBOARD
        except (ModelError, UsageError) as error:
            answer, violated, stopped = f"no search for the state is possible: {str(error).partition('. ')[0]}", {}, ""
    report = replace(report, proof=replace(report.proof, why_stopped=stopped))
    if violated is None:
        why = f"a step from a reachable state breaks the induction: {report.proof.broken[0].move}"
        violated = dict.fromkeys(broken_from(report, pair, normalize=True), why)
    return replace(report, reachable=answer, proof=with_violated(report.proof, violated))


def with_violated(proof: Proof, found: Mapping[str, str]) -> Proof:
    findings = tuple(
        replace(item, verdict=Verdict.VIOLATED, why=found[item.name]) if item.name in found else item
        for item in proof.findings
    )
    return replace(proof, findings=findings)


def beside_error(report: ProveResult, error: DomainError, result: Result | None) -> ProveResult:
    """Return the violations that were found although the model raises an error; other properties become undetermined.
    `result` is the result of the search that ended with the error. If no property is violated, the error is raised.
    """
    from fencepost.explorers.symbolic.proof import said_of

    known = {item.name: item.why for item in report.proof.findings if item.verdict is Verdict.VIOLATED}
    found = violated_in(report, result) | violated_on_the_way(report, error) | known
    if not found:
        raise error
    why = said_of(error)
    open_ones = tuple(replace(item, verdict=Verdict.UNDETERMINED, why=why) for item in report.proof.findings)
    return replace(report, proof=with_violated(replace(report.proof, findings=open_ones, pair=None), found))


def violated_on_the_way(report: ProveResult, error: DomainError) -> dict[str, str]:
    """Return the properties violated on the path to an error, each with the step of the violation."""
    plain = Interpreter(report.found.machine, report.constants)
    found: dict[str, str] = {}
    for number in range(len(error.states)):
        for prop in report.properties:
            with suppress(DomainError):
                taken = prop.over_steps and number
                last = plain.apply(error.states[number - 1], error.steps[number - 1]) if taken else None
                if holds_at_end(plain, prop, error.states[: number + 1], last) is False:
                    found.setdefault(prop.name, f"fails after {counted(number, 'step')}")
    return found


def violated_in(report: ProveResult, result: Result | None) -> dict[str, str]:
    """Return the properties that a search found violated, with the path's length and values of unbounded constants."""
    values = values_text(report)
    with_values = f" with {values}" if values else ""
    return {
        item.name: f"violated by a run of {item.path.length} states{with_values}, which `fencepost check` shows"
        for item in (result.properties if result else ())
        if item.verdict is Verdict.VIOLATED and item.path is not None
    }


def why_unconfirmed(report: ProveResult, error: Exception) -> str:
    """Return why the plain semantics may disagree with z3 about a step, or an empty string if that would be a bug."""
    first = report.proof.broken[0]
    if first.forgotten:
        return f"{first.move} breaks the induction only if an unbounded loop writes values that it cannot in fact write"
    if report.settings.lifted and isinstance(error, DomainError):
        return (
            f"{first.move} breaks the induction only if it exceeds, during the step, a bound that the proof leaves open"
        )
    return ""


def confirm(report: ProveResult, pair: Pair) -> Key:
    """Take a step under the plain semantics and return its successor; raise MismatchError if it violates nothing."""
    machine = report.found.machine
    plain = Interpreter(machine, machine.set_constants(pair.constants), normalize=False)
    step = Step(machine.action(pair.action), pair.args)
    require_tried_arguments(plain, step)
    if broken_from(report, pair, normalize=False):
        return plain.apply(pair.before, step).after
    raise MismatchError(
        f"z3 says that `{plain.show(step)}` breaks {', '.join(report.proof.broken[0].broken)}, but under the plain "
        f"semantics it does not: {pair.before}."
    )


def broken_from(report: ProveResult, pair: Pair, *, normalize: bool) -> list[str]:
    """Return the properties that a step violates under the plain semantics.

    A property that raises an error counts as violated. If `normalize` is set, the error is raised instead, because the
    state before the step is reachable.
    """
    machine = report.found.machine
    plain = Interpreter(machine, machine.set_constants(pair.constants), normalize=normalize)
    happened = plain.apply(pair.before, Step(machine.action(pair.action), pair.args))
    found = []
    for item in report.properties:
        if item.name in report.proof.broken[0].broken:
            try:
                holds = holds_at_end(plain, item, (pair.before, happened.after), happened)
            except DomainError:
                if normalize:
                    raise
                holds = False
            found += [] if holds else [item.name]
    return found


def look_for_errors(machine: Machine, constants: Constants) -> None:
    """Take the first steps under the plain semantics; raise DomainError for a model error, which proofs ignore."""
    plain = Interpreter(machine, constants)
    few = [item for item in (machine.initial, *machine.actions) if values_together(plain, item) <= MOST_VALUES]
    if machine.initial not in few:
        return
    plain = Interpreter(replace(machine, actions=tuple(few[1:])), constants)
    parents: dict[Key, tuple[Key, Step] | None] = dict.fromkeys(plain.initial_states())
    waiting = list(parents)
    for state in waiting:
        try:
            for item in plain.transitions(state):
                if item.after not in parents and len(parents) < FIRST_STATES:
                    parents[item.after] = (state, item.step)
                    waiting.append(item.after)
        except DomainError as error:
            states: list[Key] = [state]
            steps: list[Step] = []
            while (parent := parents[states[0]]) is not None:
                states.insert(0, parent[0])
                steps.insert(0, parent[1])
            error.states, error.steps = tuple(states), tuple(steps)
            raise


def values_together(plain: Interpreter, action: Action) -> int:
    """Return the number of combinations of an action's parameters, not counting messages."""
    ranges = [values_of(plain.schema, domain) for _, domain in action.params if not isinstance(domain, InFlight)]
    return prod(max(0, item.stop - item.start) for item in ranges)


def search_states(
    report: ProveResult, constants: Constants, seconds: float
) -> tuple[Search, Result | None, DomainError | None]:
    """Search exhaustively. Return the search, its result, and the model's error that ended the search, if any."""
    options = Options(workers=1, budget=seconds, memory=interrupts.default_memory())
    search = Search(report.found.machine, constants, report.properties, options)
    try:
        result = search.run()
    except DomainError as error:
        return search, None, error
    return search, result, result.model_error


def look_for(report: ProveResult, search: Search, result: Result, state: Key) -> tuple[str, dict[str, str] | None, str]:
    """Return text that says whether a search reached a state, and which values of unbounded constants it used.

    Also return the violated properties, or None if the state was reached, and the signal that ended the search, if any.
    """
    import numpy as np

    condition = values_text(report)
    words = search.layout.words
    encoded = search.layout.encode([state])
    wanted = encoded.view(np.uint64).reshape(1, words)
    reached = False
    for part in search.partitions:
        rows = part.read().view(np.uint64).reshape(part.count, words)
        reached = reached or bool((rows == wanted).all(axis=1).any())
    reached = reached and search.layout.decode(encoded[0]) == state
    number = counted(result.distinct, "reachable state")
    where = f" with {condition}" if condition else ""
    stopped = result.why_stopped if ended_by_signal(result.why_stopped) else ""
    if reached:
        return f"the state is one of {number}{where}", None, stopped
    violated = violated_in(report, result)
    if result.complete:
        where = where or " under these constants"
        there = "" if violated else ", so the step violates nothing there"
        return f"the state is not among the {number}{where}{there}", violated, ""
    more = f"and there are more ({result.why_stopped})"
    return f"the state is not among the first {number}{where}, {more}", violated, stopped


LOOKED_AT = 3_000
"""Number of states used to refute candidate lemmas before z3 checks the rest."""


def strengthened(report: ProveResult, seconds: float, watch: Watch) -> ProveResult:
    """Return the report with lemmas added to its proof. The verdicts then depend on these lemmas. After Ctrl-C, the
    report contains the results so far.
    """
    if report.proof.verdict is not Verdict.UNDETERMINED or report.proof.why_stopped:
        return report
    try:
        with interrupts.interruptible():
            return _with_lemmas(report, seconds, watch)
    except interrupts.Stopped as signal:
        return replace(
            report, proof=replace(report.proof, why_stopped=extended(signal.why, " while searching for lemmas"))
        )


def _with_lemmas(report: ProveResult, seconds: float, watch: Watch) -> ProveResult:
    from fencepost.explorers.symbolic.templates import candidates, not_refuted, strengthen

    machine, constants = report.found.machine, report.constants
    with watch.busy(f"strengthening {machine.name}: searching reachable states"):
        search = PlainSearch(machine, constants, (), Options(workers=1, max_states=LOOKED_AT))
        if ended_by_signal(search.run().why_stopped):
            raise interrupts.Stopped(interrupts.BY_KEYBOARD)
        every = candidates(machine, {item.name for item in report.properties})
        left = not_refuted(machine, constants, every, search.parents)
    watch.note(
        f"{counted(len(every), 'candidate')}, of which {len(left)} hold in "
        f"{counted(len(search.parents), 'reachable state')}"
    )

    def tell(done: int, of: int) -> None:
        watch.spin(f"strengthening {machine.name} with {len(left)} candidates: {done} of {of} steps")

    with watch.busy(f"strengthening {machine.name}"):
        proof, kept = strengthen(machine, constants, report.properties, left, report.settings, seconds, tell)
    names = {item.name for item in report.properties}
    own = tuple(item for item in proof.findings if item.name in names)
    return replace(report, proof=replace(proof, findings=own), lemmas=tuple(item.sentence for item in kept))
