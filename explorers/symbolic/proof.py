"""Proofs of a machine's properties, by induction or by bounded model checking with z3."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import z3
from fencepost.explorers.running.interrupts import Stopped, interruptible
from fencepost.explorers.symbolic.induction import MoveAnswer, consecution, initiation, state_properties
from fencepost.explorers.symbolic.models import Pair
from fencepost.explorers.symbolic.pool import Asking, apart, over
from fencepost.explorers.symbolic.replays import replay
from fencepost.explorers.symbolic.system import System
from fencepost.explorers.symbolic.terms import negate
from fencepost.explorers.symbolic.unroll import History, PropertyFailure, Reached, bounded, error_at_start, over_steps
from fencepost.explorers.verdict import Verdict, refuse_behaviours, worst
from fencepost.model.language.actions import Kind, Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import DomainError, UsageError
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.language.machine import Machine


@dataclass(frozen=True)
class Settings:
    """Settings of a proof.

    `lifted` maps each constant without a fixed value to its greatest value, or to None if unbounded. If `k` is above 1,
    the induction is over k steps. If `depth` is set, only that many steps from the initial states are examined.
    `timeout` is the limit for one question to z3, in seconds.
    """

    lifted: Mapping[str, int | None] = field(default_factory=dict)
    k: int = 1
    depth: int | None = None
    everywhere: bool = False
    timeout: float = 60.0
    workers: int = 1
    explain: bool = True
    havoc_loops: bool = False


@dataclass(frozen=True)
class Finding:
    name: str
    kind: Kind
    verdict: Verdict
    why: str = ""


@dataclass(frozen=True)
class Proof:
    protocol: str
    method: str
    findings: tuple[Finding, ...]
    moves: int = 0
    branches: int = 0
    queries: int = 0
    solver_seconds: float = 0.0
    seconds: float = 0.0
    broken: tuple[MoveAnswer, ...] = ()
    """Steps that break a property, smallest counterexample first."""
    cuts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For each action, the bounds that its steps may exceed (an error) from a state that satisfies the invariant."""
    forgotten: tuple[str, ...] = ()
    pair: Pair | None = None
    history: History | None = None
    depth: int = 0
    gave_up: bool = False
    why_stopped: str = ""
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
    """Prove properties of a machine, or report where the proof fails. After Ctrl-C, return the results so far."""
    refuse_behaviours(properties, "induction is about states and single steps")
    for item in properties:
        if settings.everywhere and item.kind is Kind.STEP:
            raise UsageError(
                f"{item.name!r} is about steps, but `every_state=True` examines no steps: omit one of the two."
            )
        if not item.kind.must_hold:
            raise UsageError(
                f"{item.name!r} is a property of kind {item.kind}, but proofs cover properties of all states or steps: "
                "check it with `fencepost check`."
            )
    if not properties:
        raise UsageError(
            f"{machine.name!r} has no requested property that must hold in every state or for every step, so there is "
            "nothing to prove: run `fencepost check`, or add a property to its PROPERTIES."
        )
    began = time.perf_counter()
    try:
        with interruptible():
            single = not settings.everywhere and settings.depth is None and settings.k == 1
            havoc = settings.havoc_loops and single  # runs of several steps are replayed, so they must be exact
            system = System(machine, constants, properties, settings.lifted, havoc_loops=havoc)
            if settings.everywhere:
                made = _everywhere(system, settings)
            elif settings.depth is not None:
                _require_a_start(system, settings)
                reached = _runs(system, settings.depth, settings.timeout)
                made = _of_runs(system, reached, f"every run of {settings.depth} steps")
            elif settings.k > 1:
                made = _over_steps(system, settings)
            else:
                made = _inductive(system, settings, tell)
    except Stopped as signal:
        findings = tuple(_finding(item, signal.why) for item in properties)
        made = Proof(machine.name, "none yet", findings, gave_up=True, why_stopped=signal.why)
    return replace(made, seconds=time.perf_counter() - began)


def _finding(item: Property, why: str = "", verdict: Verdict = Verdict.UNDETERMINED) -> Finding:
    return Finding(item.name, item.kind, verdict, why)


def _inductive(system: System, settings: Settings, tell: Callable[[int, int], None] | None) -> Proof:
    """Find the largest inductive subset: drop predicates that a step breaks, until the rest holds for all constants."""
    properties = left = system.properties
    dropped: dict[str, Finding] = {}
    broken: list[MoveAnswer] = []
    every: list[MoveAnswer] = []
    first, stopped = True, ""
    if settings.lifted:
        system.require_known()
    _require_a_start(system, settings)
    while True:
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
            if first:
                broken = [item for item in answers if item.broken]
        every += answers
        dropped |= fails
        if stopped:
            dropped |= {item.name: _finding(item, stopped) for item in left if item.name not in fails}
            left = ()
            break
        inductive = {item.name for item in state_properties(left)}
        left = tuple(item for item in left if item.name not in fails)
        if not fails.keys() & inductive and not any(item.small for item in answers):
            break
        first, system = False, system.about(left)
    proved = {item.name: _finding(item, verdict=Verdict.PROVED) for item in left}
    for name in {name for item in broken for name in item.broken if name in dropped}:
        if dropped[name].verdict is Verdict.UNDETERMINED:
            moves = [item.move for item in broken if name in item.broken]
            more = f" and {len(moves) - 2} more" if len(moves) > 2 else ""
            why = f"induction fails: {', '.join(moves[:2])}{more} may break the property"
            dropped[name] = replace(dropped[name], why=why)
    broken.sort(key=lambda item: item.pair.size if item.pair else 1 << 30)
    return Proof(
        protocol=system.machine.name,
        method="induction",
        findings=tuple((proved | dropped)[item.name] for item in properties),
        moves=len(system.moves),
        branches=sum(item.branches for item in answers),
        queries=sum(item.queries for item in every),
        solver_seconds=sum(item.seconds for item in every),
        broken=tuple(broken),
        cuts=_cuts(answers),
        forgotten=tuple(sorted({name for item in answers for name in item.forgotten})),
        pair=broken[0].pair if broken else None,
        gave_up=any(item.unknown for item in every) or bool(stopped),
        why_stopped=stopped,
    )


def _require_a_start(system: System, settings: Settings) -> None:
    plain = system.unlifted()
    starts = False
    for found in plain.starts():
        asking = Asking(settings.timeout)
        starts |= asking.ask(found.happens) != z3.unsat
        if found.cut is not False and asking.ask(found.cut) == z3.sat:
            replay(plain.machine, error_at_start(plain, asking.solver.model(), found), ())
    if not starts:
        Interpreter(plain.machine, plain.constants).initial_states()


def _initial_failures(system: System, answers: list[MoveAnswer], settings: Settings) -> dict[str, Finding]:
    """Return the properties that fail initially. Only a property that fails with the given constants is violated."""
    found: dict[str, Finding] = {}
    broken = {name for item in answers for name in item.broken}
    unknown = {name for item in answers for name in item.unknown}
    shown = {item.name for item in _runs(system.unlifted(), 0, settings.timeout).failures} if broken else set()
    other = " for some lifted constants" if settings.lifted else " without an example from z3"
    for item in system.properties:
        if item.name in unknown:
            found[item.name] = _finding(item, "z3 cannot decide the initial states")
        elif item.name in shown & broken:
            found[item.name] = _finding(item, "fails initially", Verdict.VIOLATED)
        elif item.name in broken:
            found[item.name] = _finding(item, f"fails initially{other}")
    return found


def _consecution(
    system: System, settings: Settings, tell: Callable[[int, int], None] | None, said: dict[int, MoveAnswer]
) -> None:
    """Ask about every move, first with the given constants (which give counterexamples quickly), then with lifted
    constants. `said` receives each answer, under its move's number, as soon as it arrives.
    """
    small = system.unlifted() if settings.lifted else system

    def ask(number: int) -> MoveAnswer:
        first = consecution(small, small.moves[number], settings.timeout, explain=settings.explain)
        if small is system or first.broken:
            return replace(first, small=small is not system)
        then = consecution(system, system.moves[number], settings.timeout, explain=settings.explain)
        cuts = tuple(dict.fromkeys([*first.cuts, *then.cuts]))  # lifted constants do not cut off any step
        return replace(then, cuts=cuts, queries=first.queries + then.queries, seconds=first.seconds + then.seconds)

    over(range(len(system.moves)), ask, settings.workers, tell, said)


def _failures(properties: tuple[Property, ...], answers: list[MoveAnswer]) -> dict[str, Finding]:
    found: dict[str, Finding] = {}
    for item in properties:
        for answer in answers:
            if item.name in answer.unknown:
                why = f"z3 cannot decide whether {answer.move} preserves the property, within the time limit"
                found[item.name] = _finding(item, why)
        for answer in answers:
            if item.name in answer.broken:
                found[item.name] = _finding(item, f"induction fails: {answer.move} may break the property")
    return found


def _cuts(answers: list[MoveAnswer]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for item in answers:
        if item.cuts:
            found.setdefault(item.action, {}).update(dict.fromkeys(item.cuts))
    return {name: tuple(whats) for name, whats in found.items()}


def _everywhere(system: System, settings: Settings) -> Proof:
    answers: list[tuple[str, int, float]] = []
    stopped = ""
    try:
        apart(lambda tell: _ask_everywhere(system, settings, tell), answers.append)
    except Stopped as signal:
        stopped = signal.why
    whys = {
        "unsat": "",
        "sat": "the property fails in some state, but that state may be unreachable",
        "unknown": "z3 cannot decide the property within the time limit",
        "": stopped,
    }
    said = [answer for answer, _, _ in answers] + [""] * (len(system.properties) - len(answers))
    verdicts = [Verdict.PROVED if answer == "unsat" else Verdict.UNDETERMINED for answer in said]
    return Proof(
        system.machine.name,
        "every state of the domains",
        tuple(
            _finding(item, whys[a], verdict) for item, a, verdict in zip(system.properties, said, verdicts, strict=True)
        ),
        queries=answers[-1][1] if answers else 0,
        solver_seconds=answers[-1][2] if answers else 0.0,
        gave_up="unknown" in said or bool(stopped),
        why_stopped=stopped,
    )


def _ask_everywhere(system: System, settings: Settings, tell: Callable[[tuple[str, int, float]], None]) -> None:
    state = system.state("s.")
    asking = Asking(settings.timeout)
    goals = [system.holds(item, state) for item in system.properties]
    asking.add(system.typed(state))
    for goal in goals:
        tell((str(asking.ask(negate(goal))), asking.queries, asking.seconds))


def _runs(system: System, depth: int, timeout: float) -> Reached:
    """Return the findings from runs of `depth` steps. Each run that z3 finds is replayed under the plain semantics.

    Raises DomainError if a run ends with an error, in a step or in a property, unless another run violates a property:
    then both runs are reported. Lifted constants also lift bounds, so runs with the given constants are examined first,
    and their violations are reported in any case.
    """
    first = Reached(-1)
    if system.lifting.names:
        system.require_known()  # rejects the model before z3 is asked
        first = _runs(system.unlifted(), depth, timeout)
        if first.why_stopped:
            return replace(first, depth=-1)
        if first.error_text:
            return first
    reached = _replayed(system, bounded(system, depth, timeout), first.failures)
    return replace(reached, queries=first.queries + reached.queries, seconds=first.seconds + reached.seconds)


def _replayed(system: System, reached: Reached, known: tuple[PropertyFailure, ...]) -> Reached:
    """Replay each run; return the result. Raises DomainError if a run ends with an error and none with a violation."""
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
        error_text=said_of(errors[-1]) if errors else "",
    )


def _with_constants(system: System, history: History | None, error: DomainError) -> DomainError:
    given = system.constants.values
    values = history.constants if history else {}
    others = [f"{name}={value}" for name, value in values.items() if value != given[name]]
    if not others:
        return error
    found = DomainError(f"with {' '.join(others)}, {error}")
    found.states, found.steps, found.__cause__ = error.states, error.steps, error
    return found


def said_of(error: DomainError) -> str:
    """Return why a property is undetermined, given the model's error."""
    return f"raises an error after {_steps(len(error.steps))}: {str(error).splitlines()[0].rstrip('.')}"


def _of_runs(system: System, reached: Reached, method: str) -> Proof:
    failures = {item.name: item for item in reached.failures}
    far = f"no violation within {_steps(reached.depth)} of an initial state"

    def said(item: Property) -> Finding:
        failure = failures.get(item.name)
        if failure is not None:
            after = f"fails after {_steps(failure.depth)}"
            if failure.history is not None:
                return _finding(item, after, Verdict.VIOLATED)
            return _finding(item, f"{after}, but not with constants in their ranges")
        if reached.error_text:
            return _finding(item, reached.error_text)
        if reached.why_stopped:
            return _finding(item, f"{far}; {reached.why_stopped}" if reached.depth >= 0 else reached.why_stopped)
        if item.name in reached.unknown:
            after = _steps(reached.unknown[item.name])
            return _finding(item, f"z3 cannot decide what holds after {after}, within the time limit")
        return _finding(item, far, Verdict.NOT_FOUND)

    return _proof_of(system, method, map(said, system.properties), reached)


def _steps(number: int) -> str:
    return f"{number} step{'' if number == 1 else 's'}"


def _over_steps(system: System, settings: Settings) -> Proof:
    _require_a_start(system, settings)
    method = f"induction over {settings.k} steps"
    first = _runs(system, settings.k - 1, settings.timeout)
    if first.failures or first.unknown or first.why_stopped:
        return _of_runs(system, first, method)
    then = over_steps(system, settings.k, settings.timeout)
    inductive = {item.name for item in state_properties(system.properties)}
    failing = ", ".join(sorted(inductive & set(then.broken)))

    def said(item: Property) -> Finding:
        if item.name in then.broken:
            why = f"{method} fails: the property may fail after {settings.k} states in which all properties hold"
            return _finding(item, why)
        if then.why_stopped or inductive & set(then.unknown) or item.name in then.unknown:
            return _finding(item, then.why_stopped or "z3 cannot decide the property within the time limit")
        if failing:
            return _finding(item, f"the property was proved only together with {failing}")
        return _finding(item, verdict=Verdict.PROVED)

    small = system.unlifted()
    moves = small.moves if settings.lifted else ()
    answers = [consecution(small, move, settings.timeout, explain=False) for move in moves]
    both = replace(
        then,
        cuts=tuple(dict.fromkeys([*first.cuts, *then.cuts, *(what for item in answers for what in item.cuts)])),
        queries=first.queries + then.queries + sum(item.queries for item in answers),
        seconds=first.seconds + then.seconds + sum(item.seconds for item in answers),
    )
    return _proof_of(system, method, map(said, system.properties), both)


def _proof_of(system: System, method: str, findings: Iterable[Finding], reached: Reached) -> Proof:
    return Proof(
        protocol=system.machine.name,
        method=method,
        findings=tuple(findings),
        moves=len(system.moves),
        queries=reached.queries,
        solver_seconds=reached.seconds,
        cuts={"": reached.cuts} if reached.cuts else {},
        history=reached.history,
        depth=reached.depth,
        gave_up=bool(reached.unknown or reached.why_stopped),
        why_stopped=reached.why_stopped,
    )
