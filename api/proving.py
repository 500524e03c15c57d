"""Results of a proof for people, for scripts and as a file: verdicts, unbounded constants, and steps that break an induction."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fencepost.api.places import errors_of_models
from fencepost.api.quantities import counted, show_seconds
from fencepost.api.results import FORMAT, table
from fencepost.api.targets import Question, ask, spelt
from fencepost.api.watching import Event, Watch, watched
from fencepost.explorers.interrupts import BY_KEYBOARD, Stopped, cancelled_by, interruptible, stop_if_cancelled
from fencepost.explorers.verdict import Path, Verdict, ended_by_signal
from fencepost.invariants.theorems import WIDEST, select
from fencepost.model.language.errors import DisabledError, DomainError, MismatchError, UsageError
from fencepost.model.language.interpreter import Interpreter, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path as File

    import pandas as pd
    from fencepost.counterexamples.trace import Trace
    from fencepost.explorers.symbolic.models import Pair
    from fencepost.explorers.symbolic.proof import Proof, Settings
    from fencepost.invariants.protocols import Protocol
    from fencepost.model.language import Constants, Machine, Property
    from fencepost.model.language.records import Key

FIRST_STATES = 500
"""States that are gone through for a step that ends with an error."""
ANY_STATE = "any state"
"""What the state before a step that breaks an induction is called: it need not be initial, nor reachable."""


@dataclass(frozen=True)
class ProveResult:
    """A proof with what it is about, and what the exhaustive engine says of the state that breaks an induction.

    `lemmas` are the conjuncts that were found to make it inductive, in words.
    """

    found: Protocol
    constants: Constants
    properties: tuple[Property, ...]
    settings: Settings
    proof: Proof
    reachable: str = ""
    lemmas: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """What the counterexample shows, as a clause."""
        if self.proof.history is not None:
            return f"{self.proof.history.violates} is violated"
        return f"{self.proof.broken[0].move} breaks the induction" if self.proof.broken else ""

    @property
    def verdict(self) -> Verdict:
        """The worst of the verdicts."""
        return self.proof.verdict

    @cached_property
    def text(self) -> str:
        """The counterexample as a file: a run as a trace, a step that breaks the induction as two states; else nothing."""
        return report_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Return what `prove --json` prints."""
        return report_data(self)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each property."""
        import pandas as pd

        rows = [
            {"property": item.name, "kind": str(item.kind), "verdict": str(item.verdict), "why": item.why}
            for item in self.proof.findings
        ]
        return pd.DataFrame(rows).set_index("property")

    def _repr_html_(self) -> str:
        rows = [(item.name, item.verdict, item.why) for item in self.proof.findings]
        return table(f"{self.found.name}: {self.verdict} by {self.proof.method}", ("property", "verdict", "why"), rows)


def look_for_z3() -> None:
    """Raise UsageError where z3 is not installed."""
    if importlib.util.find_spec("z3") is None:
        raise UsageError(
            "proofs need z3, which is not installed: write `pip install 'fencepost[prove]'`, or explore with `fencepost check`."
        )


@errors_of_models()
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
    """Prove properties by induction: they hold initially, and every step keeps them.

    Constants that `unbounded` names have any value, those of `int64` any of 64 bits; all others keep theirs. `k` is an induction
    over so many steps, `depth` no induction but every run of so many steps, `every_state` no steps at all. `timeout` is in
    seconds for each question to z3, `reach` for the search of a state that breaks the induction; `strengthen` looks for lemmas.
    """
    look_for_z3()
    question = what if isinstance(what, Question) else ask(what, properties, constants=constants, version=version, more=more)
    found, watch = question.protocol, watched(progress)
    chosen = select(found, tuple(only))
    settings = _settings(
        found,
        tuple(unbounded),
        tuple(int64),
        k,
        depth,
        timeout,
        workers,
        every_state=every_state,
        havoc_loops=havoc_loops,
        strengthen=strengthen,
    )
    with cancelled_by(cancel):
        proof = proof_of(found.machine, question.constants, chosen, settings, watch, f"proving {found.name}", cache=cache)
        report = explain(ProveResult(found, question.constants, chosen, settings, proof), reach, watch)
        if strengthen:
            from fencepost.api.strengthening import strengthened

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
    """Return a proof, from the cache if the same text was proved before."""
    from fencepost.explorers.symbolic.cache import cached
    from fencepost.explorers.symbolic.proof import prove as proved

    def tell(done: int, of: int) -> None:
        stop_if_cancelled()
        watch.spin(f"{what}: {done} of {of} steps")

    with watch.busy(what):
        return (cached if cache else proved)(machine, constants, properties, settings, tell)


def _settings(
    found: Protocol,
    unbounded: tuple[str, ...],
    int64: tuple[str, ...],
    k: int,
    depth: int | None,
    timeout: float,
    workers: int,
    *,
    every_state: bool,
    havoc_loops: bool,
    strengthen: bool,
) -> Settings:
    """Return how to prove; raise UsageError for what cannot be meant."""
    from fencepost.explorers.native.crew import processors
    from fencepost.explorers.symbolic.lifting import lifted_names
    from fencepost.explorers.symbolic.proof import Settings

    ways = [name for name, given in (("--depth", depth is not None), ("--k", k > 1), ("--every-state", every_state)) if given]
    if len(ways) > 1:
        raise UsageError(f"{ways[0]} was given with {ways[1]}: these are different ways to prove. Write one of them.")
    if strengthen and ways:
        raise UsageError(
            f"--strengthen was given with {ways[0]}: lemmas are looked for that make an induction over one step, and this is "
            "another way to prove. Leave one of them out."
        )
    if havoc_loops and ways:
        raise UsageError(
            f"--havoc-loops was given with {ways[0]}: where a loop may leave anything, a run of several steps need not be one of "
            f"the model. Leave one of them out."
        )
    lifted: dict[str, int | None] = dict.fromkeys(lifted_names(found.machine, unbounded, "--unbounded"))
    lifted |= dict.fromkeys(lifted_names(found.machine, int64, "--int64"), WIDEST)
    return Settings(lifted, k, depth, every_state, timeout, workers or processors(), havoc_loops=havoc_loops and bool(lifted))


def explain(report: ProveResult, seconds: float, watch: Watch) -> ProveResult:
    """Confirm what z3 found on the plain semantics, and ask the exhaustive engine whether its first state can be reached."""
    if report.proof.history is not None:
        path_of_history(report)
        return report
    if report.proof.cuts:
        look_for_errors(report.found.machine, report.constants)
    pair = report.proof.pair
    if pair is None or not pair.action or report.proof.why_stopped:
        return report
    if report.proof.broken[0].forgotten and not is_confirmed(report, pair):
        why = f"{report.proof.broken[0].move} breaks the induction only if a loop without an end leaves what it may never leave"
        return replace(report, reachable=why, proof=replace(report.proof, pair=None))
    pair = replace(pair, after=confirm(report, pair))
    report = replace(report, proof=replace(report.proof, pair=pair))
    if seconds <= 0:
        return report
    constants = report.found.machine.set_constants(pair.constants)
    with watch.busy(f"searching {report.found.name} for the state that breaks the induction"):
        try:
            with interruptible():
                answer, violated, stopped = search_for(report.found, constants, pair.before, seconds, told_values(report))
        except KeyboardInterrupt as signal:
            answer, violated = "", {}
            stopped = signal.why if isinstance(signal, Stopped) else BY_KEYBOARD
    report = replace(report, proof=replace(report.proof, why_stopped=stopped))
    if violated is None:
        why = f"a reachable state breaks it: {report.proof.broken[0].move}"
        violated = dict.fromkeys(broken_from(report, pair, normalize=True), why)
    findings = tuple(
        replace(item, verdict=Verdict.VIOLATED, why=violated[item.name]) if item.name in violated else item
        for item in report.proof.findings
    )
    return replace(report, reachable=answer, proof=replace(report.proof, findings=findings))


def is_confirmed(report: ProveResult, pair: Pair) -> bool:
    """Say whether the step happens on the plain semantics and breaks what it should: after loops without an end it need not."""
    try:
        confirm(report, pair)
    except (MismatchError, DisabledError, DomainError):
        return False
    return True


def confirm(report: ProveResult, pair: Pair) -> Key:
    """Take the step on the plain semantics and return the state after: something kept before must fail. Raises MismatchError if not."""
    machine = report.found.machine
    plain = Interpreter(machine, machine.set_constants(pair.constants), normalize=False)
    step = Step(machine.action(pair.action), pair.args)
    if broken_from(report, pair, normalize=False):
        return plain.apply(pair.before, step).after
    raise MismatchError(
        f"z3 says that `{plain.show(step)}` breaks {', '.join(report.proof.broken[0].broken)}, and the plain semantics says that it "
        f"does not: {pair.before}."
    )


def broken_from(report: ProveResult, pair: Pair, *, normalize: bool) -> list[str]:
    """Return which of the properties that the step breaks somewhere it breaks here, as the plain semantics has it.

    Without `normalize`, which is a step of its own in a proof, one that ends with an error is broken; with it, the state before
    can be reached, and the error is raised.
    """
    machine = report.found.machine
    plain = Interpreter(machine, machine.set_constants(pair.constants), normalize=normalize)
    happened = plain.apply(pair.before, Step(machine.action(pair.action), pair.args))
    found = []
    for item in report.properties:
        if item.name in report.proof.broken[0].broken:
            try:
                holds = plain.holds_step(item, pair.before, happened) if item.over_steps else plain.holds(item, happened.after)
            except DomainError:
                if normalize:
                    raise
                holds = False
            found += [] if holds else [item.name]
    return found


def look_for_errors(machine: Machine, constants: Constants) -> None:
    """Take the first steps of a machine on the plain semantics: raises DomainError if one ends with an error.

    A proof says nothing of steps that end with one. Those that are found at once are told at once, as by `check`.
    """
    plain = Interpreter(machine, constants)
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


def path_of_history(report: ProveResult) -> Path:
    """Return the run that z3 found, replayed on the plain semantics. Raises MismatchError if it does not violate anything."""
    from fencepost.explorers.symbolic.replays import replay

    assert report.proof.history is not None
    return replay(report.found.machine, report.proof.history, report.properties)


def told_values(report: ProveResult) -> str:
    """Return what the constants that have any value are in the counterexample; nothing if there are none."""
    pair = report.proof.pair
    values = pair.constants if pair is not None else {}
    return " ".join(f"{name}={values[name]}" for name in report.settings.lifted if name in values)


def search_for(
    found: Protocol, constants: Constants, state: Key, seconds: float, told: str = ""
) -> tuple[str, dict[str, str] | None, str]:
    """Search exhaustively for a state; `told` are the constants of which the answer must speak.

    Returns what came of it, what is violated anyway (None if the state was reached), and the signal that ended it, if one did.
    """
    import numpy as np
    from fencepost.api.quantities import default_memory
    from fencepost.explorers.native.search import Search
    from fencepost.explorers.verdict import Options

    search = Search(found.machine, constants, found.properties, Options(workers=1, budget=seconds, memory=default_memory()))
    result = search.run()
    words = search.layout.words
    wanted = search.layout.encode([state], constants).view(np.uint64).reshape(1, words)
    reached = False
    for part in search.partitions:
        rows = part.rows[: part.count].view(np.uint64).reshape(part.count, words)
        reached = reached or bool((rows == wanted).all(axis=1).any())
    number = counted(result.distinct, "reachable state")
    stopped = result.why_stopped if ended_by_signal(result.why_stopped) else ""
    if reached:
        return f"it is one of {number}{f' with {told}' if told else ''}", None, stopped
    violated = {
        item.name: f"violated by a run of {item.path.length} states, which `fencepost check` shows"
        for item in result.properties
        if item.verdict is Verdict.VIOLATED and item.path is not None
    }
    if result.complete:
        where = f"with {told}" if told else "under these constants"
        return f"it is none of the {number} {where}, so this step violates nothing there", violated, ""
    return (
        f"it is none of the first {number}{f' with {told}' if told else ''}, and there are more ({result.why_stopped})",
        violated,
        stopped,
    )


def reach(report: ProveResult) -> Iterator[tuple[str, str]]:
    """Yield the lines that say how far the verdicts reach: (label, text)."""
    proof, settings = report.proof, report.settings
    yield "method", proof.method
    yield "unbounded", unbounded_of(settings)
    yield "bounded", bounded_of(report.constants, settings)
    steps = counted(proof.moves, "step")
    branches = f", {counted(proof.branches, 'branch', 'branches')} followed both ways" if proof.branches else ""
    yield "questions", f"{steps}{branches}, {counted(proof.queries, 'question')} to z3"
    kept = " (kept from before)" if proof.cached else ""
    yield "time", f"{show_seconds(proof.seconds)}, {show_seconds(proof.solver_seconds)} of processor time in z3{kept}"
    if proof.forgotten:
        yield "loops", f"of {', '.join(proof.forgotten)} have no end: what they write may hold anything after them"
    for action, whats in proof.cuts.items():
        where = f"{action}: " if action else ""
        yield "cut", f"{where}{'; '.join(whats)}: such steps end with an error, and nothing is said of runs with one"


def unbounded_of(settings: Settings) -> str:
    """Return which constants have any value, and the number of steps if the method is induction."""
    words = [name if most is None else f"{name} (64 bits)" for name, most in settings.lifted.items()]
    return (
        ", ".join([*([] if settings.depth is not None or settings.everywhere else ["the number of steps"]), *words])
        or "nothing"
    )


def bounded_of(constants: Constants, settings: Settings) -> str:
    """Return the numbers that stay as they are."""
    declared = constants.declared()
    kept = {
        name: value
        for name, value in constants.shown().items()
        if name not in settings.lifted
        and (not declared[name].spellings() or value != declared[name].show(declared[name].default))
    }
    return " ".join(f"{name}={str(spelt(value)).lower()}" for name, value in kept.items()) or "nothing"


# -- as a file


def trace_of(report: ProveResult) -> Trace:
    """Return the run that z3 found as a trace."""
    from fencepost.counterexamples.trace import Trace, from_start

    history, path = report.proof.history, path_of_history(report)
    assert history is not None
    prop = next(item for item in report.properties if item.name == history.violates)
    constants = report.found.machine.set_constants(history.constants)
    made = Trace(f"{report.found.name}: {report.told}", report.found, constants, prop, path.steps)
    return from_start(made, path)


def pair_trace(report: ProveResult) -> tuple[Trace, Path]:
    """Return the step that breaks an induction as a trace that starts anywhere."""
    from fencepost.counterexamples.trace import Trace

    pair = report.proof.pair
    assert pair is not None
    machine = report.found.machine
    step = Step(machine.action(pair.action), pair.args)
    name = report.proof.broken[0].broken[0]
    prop = next((item for item in report.properties if item.name == name), None)
    trace = Trace(report.told, report.found, machine.set_constants(pair.constants), prop, (step,), normalize=False)
    return trace, Path(pair.before, (step,), (pair.before, pair.after))


def report_text(report: ProveResult) -> str:
    """Return the counterexample as a file: a run as a trace, a step that breaks the induction as two states; else nothing."""
    from fencepost.counterexamples.history import states_text
    from fencepost.counterexamples.trace import RULE

    if report.proof.history is not None:
        from fencepost.counterexamples.replay import follow

        return follow(trace_of(report)).text
    if report.proof.pair is None or not report.proof.pair.action:
        return ""
    trace, path = pair_trace(report)
    plain = trace.interpreter()
    head = [
        "format: induction 1",
        f"title: {report.found.name}: {report.told}",
        f"protocol: {report.found.name}",
        f"constants: {trace.constants_told}",
        f"unbounded: {unbounded_of(report.settings)}",
        f"properties: {' '.join(item.name for item in report.properties)}",
        f"breaks: {' '.join(report.proof.broken[0].broken)}",
        f"reachable: {report.reachable or 'not asked'}",
    ]
    return "\n".join(
        [*head, RULE, plain.show(trace.steps[0]), RULE, states_text(trace, path, start=ANY_STATE, ending=report.told)]
    )


# -- for scripts


def report_data(report: ProveResult) -> dict[str, Any]:
    """Return the report as JSON."""
    proof, settings = report.proof, report.settings
    found: dict[str, Any] = {
        "format": FORMAT,
        "protocol": report.found.name,
        "constants": {name: spelt(value) for name, value in report.constants.shown().items() if name not in settings.lifted},
        "unbounded": {name: "any" if most is None else most for name, most in settings.lifted.items()},
        "method": proof.method,
        "verdict": str(proof.verdict),
        "properties": [
            {"name": item.name, "kind": str(item.kind), "verdict": str(item.verdict), "why": item.why}
            for item in proof.findings
        ],
        "steps": proof.moves,
        "branches": proof.branches,
        "questions": proof.queries,
        "seconds": round(proof.seconds, 3),
        "solver_seconds": round(proof.solver_seconds, 3),
        "cached": proof.cached,
        "why_stopped": proof.why_stopped,
        "cuts": {name: list(whats) for name, whats in proof.cuts.items()},
        "havoc_loops": list(proof.forgotten),
        "broken": [{"step": item.move, "properties": list(item.broken)} for item in proof.broken],
        "lemmas": list(report.lemmas),
    }
    if proof.pair is not None and proof.pair.action:
        found["counterexample"] = {"text": report_text(report), "reachable": report.reachable}
    if proof.history is not None:
        found["counterexample"] = {"text": report_text(report)}
    return found
