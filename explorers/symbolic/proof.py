"""Proofs: what induction, or a bounded search by z3, says of the properties of a machine."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import z3
from fencepost.explorers.running.interrupts import Stopped, interruptible
from fencepost.explorers.symbolic.asking import Asking
from fencepost.explorers.symbolic.induction import MoveAnswer, consecution, initiation, state_properties
from fencepost.explorers.symbolic.pool import apart, over
from fencepost.explorers.symbolic.replays import replay
from fencepost.explorers.symbolic.system import System
from fencepost.explorers.symbolic.terms import negate
from fencepost.explorers.symbolic.unroll import History, PropertyFailure, Reached, bounded, error_at_start, over_steps
from fencepost.explorers.verdict import Verdict, refuse_behaviours, worst
from fencepost.model.language.actions import Kind
from fencepost.model.language.errors import DomainError, UsageError
from fencepost.model.language.interpreter import Interpreter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fencepost.explorers.symbolic.models import Pair
    from fencepost.model.language.actions import Property
    from fencepost.model.language.constants import Constants
    from fencepost.model.language.machine import Machine


@dataclass(frozen=True)
class Settings:
    """How to prove.

    `lifted` names the constants that have no fixed value, each with its greatest value or None. With `k` above 1 the
    properties may be kept over k steps together; with `depth` only that many steps from the initial states are looked
    at. `timeout` is in seconds, for one question to z3.
    """

    lifted: Mapping[str, int | None] = field(default_factory=dict)
    k: int = 1
    depth: int | None = None
    everywhere: bool = False
    """Whether the properties are asked of every state of the domains, and no steps are looked at."""
    timeout: float = 60.0
    workers: int = 1
    explain: bool = True
    """Whether a counterexample is made plain, and as small as can be."""
    havoc_loops: bool = False
    """Whether loops without an end may leave anything in what they write, instead of being refused."""


@dataclass(frozen=True)
class Finding:
    """The verdict on one property, and why it is not better."""

    name: str
    kind: Kind
    verdict: Verdict
    why: str = ""


@dataclass(frozen=True)
class Proof:
    """A proof: the properties proved, and those not."""

    protocol: str
    method: str
    findings: tuple[Finding, ...]
    moves: int = 0
    """Actions with their parameters, each one question at least."""
    branches: int = 0
    """Branches that were followed both ways at once."""
    queries: int = 0
    solver_seconds: float = 0.0
    seconds: float = 0.0
    broken: tuple[MoveAnswer, ...] = ()
    """The moves that break a property, those with the smallest counterexample first."""
    cuts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By action: the bounds that the invariant does not exclude it from leaving; such steps end with an error."""
    forgotten: tuple[str, ...] = ()
    """The functions with loops without an end that may leave anything."""
    pair: Pair | None = None
    history: History | None = None
    depth: int = 0
    gave_up: bool = False
    """Whether z3 could not answer a question in time."""
    why_stopped: str = ""
    """Why a signal ended the proof, if one did: what is not decided by then is undetermined."""
    cached: bool = False

    @property
    def verdict(self) -> Verdict:
        return worst([item.verdict for item in self.findings], complete=True)

    def of(self, name: str) -> Finding:
        return next(item for item in self.findings if item.name == name)


def prove(
    machine: Machine,
    constants: Constants,
    properties: tuple[Property, ...],
    settings: Settings,
    tell: Callable[[int, int], None] | None = None,
) -> Proof:
    """Prove properties of a machine, or say where the proof fails. Raises UsageError for a property of another kind.

    Ctrl-C ends this with what was decided so far.
    """
    refuse_behaviours(properties, "induction is about states and single steps")
    for item in properties:
        if settings.everywhere and item.kind is Kind.STEP:
            raise UsageError(
                f"{item.name!r} is about steps, and `every_state=True` looks at no steps: leave one of them out."
            )
        if not item.kind.must_hold:
            raise UsageError(
                f"{item.name!r} says {item.kind}, and a proof is about what always holds, of states or of steps. "
                f"Ask about it with `fencepost.check({machine.name!r}, only=[{item.name!r}])`."
            )
    if not properties:
        raise UsageError(
            f"{machine.name!r} was given no property that must hold in every state or of every step, so there is "
            "nothing to prove: write `fencepost check`, or add a property to its PROPERTIES."
        )
    began = time.perf_counter()
    try:
        with interruptible():
            if settings.everywhere:
                made = _everywhere(machine, constants, properties, settings)
            elif settings.depth is not None:
                made = _bounded(machine, constants, properties, settings)
            elif settings.k > 1:
                made = _over_steps(machine, constants, properties, settings)
            else:
                made = _inductive(machine, constants, properties, settings, tell)
    except Stopped as signal:
        made = _undecided(machine, properties, signal.why)
    return replace(made, seconds=time.perf_counter() - began)


def _undecided(machine: Machine, properties: tuple[Property, ...], why: str) -> Proof:
    """Return the proof that a signal ended before anything was decided."""
    findings = tuple(Finding(item.name, item.kind, Verdict.UNDETERMINED, why) for item in properties)
    return Proof(machine.name, "none yet", findings, gave_up=True, why_stopped=why)


def _inductive(
    machine: Machine,
    constants: Constants,
    properties: tuple[Property, ...],
    settings: Settings,
    tell: Callable[[int, int], None] | None,
) -> Proof:
    """Find the largest part of a conjunction that is inductive: what a step breaks is left
    out, until nothing is broken.

    What is left at the end was asked of all constants, and with all of it that an earlier answer took for granted.
    """
    left = properties
    dropped: dict[str, Finding] = {}
    broken: list[MoveAnswer] = []
    answers: list[MoveAnswer] = []
    total = Totals()
    rounds = 0
    stopped = ""
    if settings.lifted:
        System(machine, constants, properties, settings.lifted, havoc_loops=settings.havoc_loops).require_known()
    _require_a_start(machine, constants, settings)
    while True:
        rounds += 1
        system = System(machine, constants, left, settings.lifted, havoc_loops=settings.havoc_loops)
        answers = initiation(system, settings.timeout)
        fails = _initial_failures(system, answers, settings)
        if not fails:
            said: dict[int, MoveAnswer] = {}
            try:
                _consecution(system, settings, tell, said)
            except Stopped as signal:
                stopped = signal.why
            answers += [said[number] for number in sorted(said)]
            fails = _failures(left, answers)
            if rounds == 1:
                broken = [item for item in answers if item.broken]
        total.add(answers)
        dropped |= fails
        if stopped:
            dropped |= {
                item.name: Finding(item.name, item.kind, Verdict.UNDETERMINED, stopped)
                for item in left
                if item.name not in fails
            }
            left = ()
            break
        inductive = {item.name for item in state_properties(left)}
        left = tuple(item for item in left if item.name not in fails)
        if not fails.keys() & inductive and not any(item.small for item in answers):
            break
    proved = {item.name: Finding(item.name, item.kind, Verdict.PROVED) for item in left}
    for item in broken:
        for name in item.broken:
            if name in dropped and dropped[name].verdict is Verdict.UNDETERMINED:
                others = [answer.move for answer in broken if name in answer.broken]
                dropped[name] = replace(dropped[name], why=f"no induction: {_listed(others)} may break it")
    broken.sort(key=lambda item: item.pair.size if item.pair else 1 << 30)
    return Proof(
        protocol=machine.name,
        method="induction",
        findings=tuple((proved | dropped)[item.name] for item in properties),
        moves=len(system.moves),
        branches=sum(item.branches for item in answers),
        queries=total.queries,
        solver_seconds=total.seconds,
        broken=tuple(broken),
        cuts=_cuts(answers),
        forgotten=tuple(sorted({name for item in answers for name in item.forgotten})),
        pair=broken[0].pair if broken else None,
        gave_up=total.gave_up or bool(stopped),
        why_stopped=stopped,
    )


def _require_a_start(machine: Machine, constants: Constants, settings: Settings) -> None:
    """Raise what the plain semantics does if there is no initial state, or if one ends with an error."""
    system = System(machine, constants)
    starts = False
    for found in system.starts():
        asking = Asking(settings.timeout)
        starts |= asking.ask(found.happens) != z3.unsat
        if found.cut is not False and asking.ask(found.cut) == z3.sat:
            replay(machine, error_at_start(system, asking.solver.model(), found), ())
    if not starts:
        Interpreter(machine, constants).initial_states()


def _initial_failures(system: System, answers: list[MoveAnswer], settings: Settings) -> dict[str, Finding]:
    """Return what fails initially: violated if under the given constants, not only for other values."""
    found: dict[str, Finding] = {}
    broken = {name for item in answers for name in item.broken}
    shown: set[str] = set()
    if broken:
        small = System(system.machine, system.constants, system.properties)
        shown = {item.name for item in _runs(small, 0, settings.timeout).failures}
    for name in broken:
        violated = name in shown
        why = "fails initially"
        if not violated:
            why += (
                " for some value of the constants that have any"
                if settings.lifted
                else ", as z3 says without showing how"
            )
        found[name] = Finding(
            name, _kind(system.properties, name), Verdict.VIOLATED if violated else Verdict.UNDETERMINED, why
        )
    for name in {name for item in answers for name in item.unknown}:
        why = "z3 cannot say of the initial states"
        found[name] = Finding(name, _kind(system.properties, name), Verdict.UNDETERMINED, why)
    return found


def _consecution(
    system: System, settings: Settings, tell: Callable[[int, int], None] | None, said: dict[int, MoveAnswer]
) -> None:
    """Ask about every move: first with all constants as they are, where a counterexample is found
    soon, then with some lifted.

    Answers are put into `said` by the number of the move, each as soon as there is one.
    """
    small = System(system.machine, system.constants, system.properties) if settings.lifted else system

    def ask(number: int) -> MoveAnswer:
        first = consecution(small, small.moves[number], settings.timeout, explain=settings.explain)
        if small is system or first.broken:
            return replace(first, small=small is not system)
        then = consecution(system, system.moves[number], settings.timeout, explain=settings.explain)
        cuts = tuple(dict.fromkeys([*first.cuts, *then.cuts]))  # what is lifted cuts no step
        return replace(then, cuts=cuts, queries=first.queries + then.queries, seconds=first.seconds + then.seconds)

    over(range(len(system.moves)), ask, settings.workers, tell, said)


class Totals:
    """Totals over all rounds."""

    def __init__(self) -> None:
        self.queries, self.seconds, self.gave_up = 0, 0.0, False

    def add(self, answers: list[MoveAnswer]) -> None:
        self.queries += sum(item.queries for item in answers)
        self.seconds += sum(item.seconds for item in answers)
        self.gave_up = self.gave_up or any(item.unknown for item in answers)


def _kind(properties: tuple[Property, ...], name: str) -> Kind:
    return next(item.kind for item in properties if item.name == name)


def _failures(properties: tuple[Property, ...], answers: list[MoveAnswer]) -> dict[str, Finding]:
    found: dict[str, Finding] = {}
    for item in answers:
        for name in item.unknown:
            why = f"z3 cannot say whether {item.move} keeps it, within the time limit"
            found[name] = Finding(name, _kind(properties, name), Verdict.UNDETERMINED, why)
    for item in answers:
        for name in item.broken:
            found[name] = Finding(
                name, _kind(properties, name), Verdict.UNDETERMINED, f"no induction: {item.move} may break it"
            )
    return found


def _cuts(answers: list[MoveAnswer]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for item in answers:
        if item.cuts:
            found.setdefault(item.action, {}).update(dict.fromkeys(item.cuts))
    return {name: tuple(whats) for name, whats in found.items()}


def _listed(names: list[str]) -> str:
    first, rest = names[:2], len(names) - 2
    more = f" and {rest} more" if rest > 0 else ""
    return ", ".join(first) + more


def _everywhere(machine: Machine, constants: Constants, properties: tuple[Property, ...], settings: Settings) -> Proof:
    """Prove properties of every state of the domains, reachable or not."""
    answers: list[tuple[str, int, float]] = []
    stopped = ""
    try:
        apart(
            lambda tell: _ask_everywhere(System(machine, constants, properties, settings.lifted), settings, tell),
            answers.append,
        )
    except Stopped as signal:
        stopped = signal.why
    whys = {
        "sat": "fails in some state, which need not be reachable",
        "unknown": "z3 cannot say, within the time limit",
        "": stopped,
    }
    said = [answer for answer, _, _ in answers] + [""] * (len(properties) - len(answers))
    return Proof(
        machine.name,
        "every state of the domains",
        tuple(
            Finding(
                item.name,
                item.kind,
                Verdict.PROVED if answer == "unsat" else Verdict.UNDETERMINED,
                whys.get(answer, ""),
            )
            for item, answer in zip(properties, said, strict=True)
        ),
        queries=answers[-1][1] if answers else 0,
        solver_seconds=answers[-1][2] if answers else 0.0,
        gave_up="unknown" in said or bool(stopped),
        why_stopped=stopped,
    )


def _ask_everywhere(system: System, settings: Settings, tell: Callable[[tuple[str, int, float]], None]) -> None:
    """Tell for each property whether it can fail, with the questions and the seconds so far."""
    state = system.state("s.")
    asking = Asking(settings.timeout)
    goals = [system.holds(item, state) for item in system.properties]
    asking.add(system.typed(state))
    for goal in goals:
        tell((str(asking.ask(negate(goal))), asking.queries, asking.seconds))


def _bounded(machine: Machine, constants: Constants, properties: tuple[Property, ...], settings: Settings) -> Proof:
    assert settings.depth is not None
    _require_a_start(machine, constants, settings)
    system = System(machine, constants, properties, settings.lifted)
    return _of_runs(system, _runs(system, settings.depth, settings.timeout), f"every run of {settings.depth} steps")


def _runs(system: System, depth: int, timeout: float) -> Reached:
    """Return what runs of so many steps say, every one that z3 found replayed on the plain semantics.

    Raises DomainError if one of them ends with an error there, in a step or in a property, unless another one violates
    a property: then both are told. Where constants are lifted, their bounds are too, so runs under the constants as
    they are come first, and what those violate counts whatever is said of others.
    """
    first = Reached(-1)
    if system.lifting.names:
        system.require_known()  # refuses before z3 is asked anything
        first = _runs(System(system.machine, system.constants, system.properties), depth, timeout)
        if first.why_stopped:
            return replace(first, depth=-1)
        if first.wrong:
            return first
    reached = _replayed(system, bounded(system, depth, timeout), first.failures)
    return replace(reached, queries=first.queries + reached.queries, seconds=first.seconds + reached.seconds)


def _replayed(system: System, reached: Reached, known: tuple[PropertyFailure, ...]) -> Reached:
    """Return what was reached and what is known to fail, each run replayed.

    Raises DomainError where one ends with an error and none violates anything.
    """
    sure, errors = [], []
    for item in (*reached.failures, reached.error):
        history = item.history if isinstance(item, PropertyFailure) else item
        try:
            if history is not None:
                replay(system.machine, history, system.properties)
        except DomainError as error:
            errors.append(_with_constants(system, history, error))
        else:
            sure += [item] if isinstance(item, PropertyFailure) else []
    shown = {item.name: item for item in (*known, *sure) if item.history}
    if errors and not shown:
        raise errors[-1]
    failures = {item.name: item for item in sure} | shown
    return replace(
        reached,
        failures=tuple(failures.values()),
        unknown={name: depth for name, depth in reached.unknown.items() if name not in shown},
        wrong=goes_wrong(errors[-1]) if errors else "",
    )


def _with_constants(system: System, history: History | None, error: DomainError) -> DomainError:
    """Return an error of a run that says which constants have other values there than they were given."""
    given = system.constants.values
    others = [
        f"{name}={value}" for name, value in (history.constants if history else {}).items() if value != given[name]
    ]
    if not others:
        return error
    told = DomainError(f"with {' '.join(others)}, {error}")
    told.states, told.steps, told.__cause__ = error.states, error.steps, error
    return told


def goes_wrong(error: DomainError) -> str:
    """Return why nothing is said of a property where the model goes wrong."""
    return f"goes wrong after {_steps(len(error.steps))}: {str(error).splitlines()[0].rstrip('.')}"


def _of_runs(system: System, reached: Reached, method: str) -> Proof:
    """Return what runs from the initial states say of the properties."""
    found = []
    failures = {item.name: item for item in reached.failures}
    far = f"no violation within {_steps(reached.depth)} of an initial state"
    for item in system.properties:
        failure = failures.get(item.name)
        if failure is not None and failure.history is not None:
            found.append(Finding(item.name, item.kind, Verdict.VIOLATED, f"fails after {_steps(failure.depth)}"))
        elif failure is not None:
            why = f"fails after {_steps(failure.depth)}, but only with constants beyond their ranges"
            found.append(Finding(item.name, item.kind, Verdict.UNDETERMINED, why))
        elif reached.wrong:
            found.append(Finding(item.name, item.kind, Verdict.UNDETERMINED, reached.wrong))
        elif reached.why_stopped:
            why = f"{far}; {reached.why_stopped}" if reached.depth >= 0 else reached.why_stopped
            found.append(Finding(item.name, item.kind, Verdict.UNDETERMINED, why))
        elif item.name in reached.unknown:
            why = f"z3 cannot say what holds after {_steps(reached.unknown[item.name])}, within the time limit"
            found.append(Finding(item.name, item.kind, Verdict.UNDETERMINED, why))
        else:
            found.append(Finding(item.name, item.kind, Verdict.NOT_FOUND, far))
    return _proof_of(system, method, tuple(found), reached)


def _steps(number: int) -> str:
    return f"{number} step{'' if number == 1 else 's'}"


def _over_steps(machine: Machine, constants: Constants, properties: tuple[Property, ...], settings: Settings) -> Proof:
    """Prove a conjunction by induction over k steps: the first k states first, then any k states in a row."""
    _require_a_start(machine, constants, settings)
    system = System(machine, constants, properties, settings.lifted)
    first = _runs(system, settings.k - 1, settings.timeout)
    if first.failures or first.unknown or first.why_stopped:
        return _of_runs(system, first, f"induction over {settings.k} steps")
    then = over_steps(system, settings.k, settings.timeout)
    conjunction_fails = {item.name for item in state_properties(properties)} & set(then.broken)
    unsure = {item.name for item in state_properties(properties)} & set(then.unknown)
    found = []
    for item in properties:
        if item.name in then.broken:
            why = f"no induction over {settings.k} steps: it may fail after {settings.k} states in which all hold"
            found.append(Finding(item.name, item.kind, Verdict.UNDETERMINED, why))
        elif then.why_stopped or unsure or item.name in then.unknown:
            why = then.why_stopped or "z3 cannot say, within the time limit"
            found.append(Finding(item.name, item.kind, Verdict.UNDETERMINED, why))
        elif conjunction_fails:
            why = f"it follows only together with {', '.join(sorted(conjunction_fails))}"
            found.append(Finding(item.name, item.kind, Verdict.UNDETERMINED, why))
        else:
            found.append(Finding(item.name, item.kind, Verdict.PROVED))
    small = System(machine, constants, properties) if settings.lifted else None
    bounded = (
        [consecution(small, move, settings.timeout, explain=False) for move in small.moves] if small is not None else []
    )
    total = Totals()
    total.add(bounded)
    both = replace(
        then,
        cuts=tuple(dict.fromkeys([*first.cuts, *then.cuts, *(what for item in bounded for what in item.cuts)])),
        queries=first.queries + then.queries + total.queries,
        seconds=first.seconds + then.seconds + total.seconds,
    )
    return _proof_of(system, f"induction over {settings.k} steps", tuple(found), both)


def _proof_of(system: System, method: str, findings: tuple[Finding, ...], reached: Reached) -> Proof:
    return Proof(
        protocol=system.machine.name,
        method=method,
        findings=findings,
        moves=len(system.moves),
        queries=reached.queries,
        solver_seconds=reached.seconds,
        cuts={"": reached.cuts} if reached.cuts else {},
        history=reached.history,
        depth=reached.depth,
        gave_up=bool(reached.unknown or reached.why_stopped),
        why_stopped=reached.why_stopped,
    )
