"""Comparison of a variant, made by `Machine.replacing`, with its base.

If a variant's change never takes effect, the variant has the verdicts of its base, which say nothing about the change.
Two complete searches with the same constants count as equal if three things agree: the number of states in each level,
the number of steps of each action, and the hash sums of all states and of all steps (with arguments) of replaced
actions. States have the same layout, because the schema and the constants are the same. Each action is matched with the
action that it replaces.
"""

import ast
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fencepost.api.answers.results import Base
from fencepost.api.asking.quantities import counted, show_seconds
from fencepost.api.asking.targets import Question
from fencepost.api.asking.watching import Watch
from fencepost.api.topics.claims import Same
from fencepost.api.topics.version_notes import placed_in, replaced_in
from fencepost.explorers.program.subset.kinds import Function, Rec
from fencepost.explorers.program.subset.places import Scope
from fencepost.explorers.program.subset.program import Program, is_require
from fencepost.explorers.program.subset.program import check as read
from fencepost.explorers.verdict import Options, Result, Summed
from fencepost.invariants.catalogue import runs_of, values_of
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language.actions import Action
from fencepost.model.language.errors import FencepostError
from fencepost.model.language.machine import Machine
from fencepost.model.language.own_names import path_shown

if TYPE_CHECKING:
    from fencepost.explorers.native.search import Search

LEAST_SECONDS = 5.0
TIMES = 1.5
"""Time limit for searching the base, as a multiple of the variant's search time."""
SHOWN = 2
"""Maximum number of guards listed for an action that is never enabled: those that block it most often."""


@dataclass(frozen=True)
class Compared:
    """The result of comparing a variant with its base, and notes for the user."""

    outcome: Base
    notes: tuple[str, ...] = ()


def base_of(question: Question) -> Machine | None:
    """Return the base of a user's variant, or None for built-in protocols and for machines without a base."""
    machine = question.protocol.machine
    base = machine.base
    if base is None or _is_ours(machine) or (base.state, base.constants) != (machine.state, machine.constants):
        return None
    return base


def compare(question: Question, options: Options, found: Result, watch: Watch) -> Compared | None:
    """Compare a finished search of a variant with its base; return None if the machine is not a variant."""
    base = base_of(question)
    if base is None:
        return None
    if not found.complete:
        return Compared(Base.NOT_COMPARED)

    def not_compared(why: str) -> Compared:
        return Compared(Base.NOT_COMPARED, (f"not compared with the base {base.name}{why}.",))

    if options.compact or options.symmetry:
        return not_compared(": states are stored as fingerprints" if options.compact else ": `symmetry=True` was used")
    pinned = _pinned(question, base, options, found)
    if pinned:
        return Compared(Base.DIFFERS, (pinned,))
    machine = question.protocol.machine
    same = machine.normalize is base.normalize and machine.initial is base.initial
    if same and not replaced_in(machine, base):
        return not_compared(
            ": the variant replaces no action, and a helper that is changed in its module is changed in both machines"
        )
    changed = _changed_in(base)
    if changed:
        return not_compared(f": {changed} was replaced in its module in this process")
    try:
        other = _search(question, base, options, found, watch)
    except FencepostError as error:
        first, _, _ = str(error).partition("\n")
        return not_compared(f", which ended in an error: {first.rstrip('.')}")
    except KeyboardInterrupt:
        return not_compared(": interrupted")
    if not other.complete and other.distinct <= found.distinct:
        return not_compared(f": {other.why_stopped}")
    if not are_same(found, other, placed_in(machine, base)):
        many = f"{counted(other.distinct, 'state')}{'' if other.complete else ' or more'}"
        told = f"the base {base.name} was searched too ({show_seconds(other.seconds)}), and differs: {many}"
        more = " reached by other steps" if other.distinct == found.distinct else f", and {found.distinct:,} here"
        return Compared(Base.DIFFERS, (f"{told}{more}.",))
    because = " ".join(reasons(machine, base, found, other, normalize=options.normalize))
    told = (
        f"{Same(base.name, found.distinct).sentence} {because} So the verdict is that of {base.name}, and says nothing "
        f"about the change. (The base was searched too, in {show_seconds(other.seconds)}.)"
    )
    return Compared(Base.SAME, (told,))


def _is_ours(machine: Machine) -> bool:
    ours = PROTOCOLS.get(machine.name)
    return ours is not None and ours.machine is machine


def _changed_in(base: Machine) -> str:
    """Return the helper that a user replaced in a built-in machine, with its module, or an empty string."""
    if not _is_ours(base):
        return ""
    others = (item for item in read(base).functions if not item.__module__.startswith("fencepost."))
    return next((f"{item.__qualname__} ({_place(item)})" for item in others), "")


def summed(question: Question, options: Options) -> Summed | None:
    """Return the actions that a variant replaces (all if it replaces `normalize`), or None if no digest is needed."""
    base = base_of(question)
    if base is None or options.compact or options.symmetry:
        return None
    names = tuple(new.name for _, new in _pairs(question.protocol.machine, base, options))
    return lambda found: None if _pinned(question, base, options, found) else names


def _pairs(machine: Machine, base: Machine, options: Options) -> list[tuple[Action, Action]]:
    alike = not options.normalize or machine.normalize is base.normalize
    placed = replaced_in(machine, base) if alike else placed_in(machine, base)
    return [(old, new) for old, new in placed if new is not None]


def _pinned(question: Question, base: Machine, options: Options, found: Result) -> str:
    if not _is_ours(base) or not options.normalize:
        return ""
    for run in runs_of(base.name):
        if run.distinct is None or run.depth is None:
            continue
        if base.constants(**values_of(run)).values != question.constants.values:
            continue
        if (run.distinct, run.depth) != (found.distinct, found.depth):
            return (
                f"the variant differs from its base {base.name}, which has {counted(run.distinct, 'state')} and depth "
                f"{run.depth} under these constants (catalogue run `{run.name}`)."
            )
        return ""
    return ""


def _search(question: Question, base: Machine, options: Options, found: Result, watch: Watch) -> Result:
    from fencepost.explorers import plain
    from fencepost.explorers.search import search

    seconds = max(LEAST_SECONDS, TIMES * found.seconds)
    if options.budget is not None:
        seconds = max(0.0, min(seconds, options.budget - found.seconds))
    chosen = replace(further(options, seconds), max_states=found.distinct, max_depth=None)
    machine = question.protocol.machine
    placed, names = placed_in(machine, base), tuple(old.name for old, _ in _pairs(machine, base, options))

    def wanted(other: Result) -> tuple[str, ...] | None:
        return names if count_alike(found, other, placed) else None

    if found.engine == "plain":
        with watch.busy(f"{base.name} (the base): searching with the plain engine"):
            return plain.search(base, question.constants, (), chosen, summed=wanted)
    usual = _compiled_before(question, base, options)
    tell = watch.telling(f"{base.name} (the base)")
    return search(base, question.constants, (), chosen, usual=usual, watch=watch, tell=tell, summed=wanted)


def further(options: Options, seconds: float) -> Options:
    """Return options for a second search, which has a time limit, writes no files, and continues past violations."""
    return replace(
        options, budget=seconds, checkpoint=None, resume=False, cross_check=0, deadlock=False, stop_on_violation=False
    )


def _compiled_before(question: Question, base: Machine, options: Options) -> tuple[Any, ...]:
    from fencepost.explorers.native.compile import generate, is_ready

    usual = (PROTOCOLS[base.name] if _is_ours(base) else question.protocol).properties
    try:
        source = generate(base, question.constants, usual, normalize=options.normalize)
    except FencepostError:
        return ()
    return usual if is_ready(source) else ()


Placed = tuple[tuple[Action, Action | None], ...]
"""Actions of the base, each with the action that replaces it."""


def count_alike(one: Result, other: Result, placed: Placed) -> bool:
    """Return whether a variant and its base have equal numbers of states in each level, and of steps of each action."""
    return (one.levels, one.generated) == (other.levels, other.generated) and all(
        other.fired[old.label] == (one.fired[new.label] if new is not None else 0) for old, new in placed
    )


def are_same(one: Result, other: Result, placed: Placed) -> bool:
    return other.complete and count_alike(one, other, placed) and one.digest == other.digest


def searched_the_same(variant: "Search", base: "Search", results: tuple[Result, Result]) -> bool:
    from fencepost.explorers.search import digested

    placed = placed_in(variant.machine, base.machine)
    if variant.constants.values != base.constants.values or not count_alike(*results, placed):
        return False
    pairs = _pairs(variant.machine, base.machine, variant.options)
    new, old = (tuple(pair[side].name for pair in pairs) for side in (1, 0))
    one = digested(variant, results[0], lambda _: new)
    return are_same(one, digested(base, results[1], lambda _: old), placed)


def reasons(machine: Machine, base: Machine, found: Result, other: Result, *, normalize: bool) -> Iterator[str]:
    """Yield the reasons why replaced parts make no difference, if the models' text and the counts show them."""
    program, before = read(machine), read(base)
    if machine.normalize is not base.normalize and normalize:
        yield f"`normalize`, which {machine.name} replaces, leads to the same states as in {base.name}."
    for old, new in replaced_in(machine, base):
        ahead = _ahead(program, before, old, new) if normalize else []
        times = other.fired[old.label] if new is None else found.fired[new.label]
        if not times:
            where = " in the base either" if new is None else ""
            yield from never_enabled((new or old).label, other if new is None else found, where)
        if ahead:
            places = " and ".join(f"{item.__name__} ({_place(item)})" for item in ahead)
            yield (
                f"`normalize` runs before {old.label} and calls {places}, which tests a condition that {old.label} of "
                f"{base.name} also tests. The new action does not test it, so `normalize` may already have removed "
                "what the new action would accept. Search with `normalize=False` and larger capacities, or replace "
                "`normalize` too, by `replacing(normalize=...)`."
            )
        elif times:
            yield (
                f"{(new or old).label} happened {counted(times, 'time')}, and each time {base.name} also had a step "
                "to the same state."
            )


def never_enabled(label: str, result: Result, where: str = "") -> Iterator[str]:
    """Yield a sentence about an action that was never enabled, with the guards that blocked it most often."""
    guards = sorted((item for item in result.guards if item.action == label), key=lambda item: -item.refused)
    refusing = [f"`require({item.condition})` refused {item.refused:,} times" for item in guards if item.refused]
    why = f": {', '.join(refusing[:SHOWN])}" if refusing else ": no state offered values for its parameters"
    yield f"{label} was never enabled{where}{why}."


def _ahead(program: Program, before: Program, old: Action, new: Action | None) -> list[Callable[..., Any]]:
    """Return helpers of `normalize` with a condition that the replaced action tests and the new action does not.

    Either the replaced action calls the helper, or a guard that the new action lacks makes the same comparison. If
    helpers call each other, only the outermost one that the base also calls is returned.
    """
    normalize = program.machine.normalize
    if normalize is None or new is None:
        return []
    helpers = _reached(program, normalize) - {normalize}
    shared = (helpers & _reached(before, old.function)) - _reached(program, new.function)
    kept = set(_guards(program.functions[new.function]))
    left = [guard for text, guard in _guards(before.functions[old.function]).items() if text not in kept]
    gone = {text for guard in left for text in _compared(before.functions[old.function], guard)}
    made = {item: program.functions[item] for item in helpers}
    shared |= {item for item in helpers if gone & set(_compared(made[item], made[item].node))}
    acting = {inner for item in before.machine.actions for inner in _reached(before, item.function)}
    outer = {item for item in helpers & acting if _reached(program, item) & shared} | shared
    called = {inner for item in outer for inner in _reached(program, item) if inner is not item}
    return sorted(outer - called, key=lambda item: item.__qualname__)


def _guards(made: Function) -> dict[str, ast.AST]:
    return {ast.unparse(item): item for item in made.node.body[: made.guards] if is_require(made.python, item)}


def _compared(made: Function, node: ast.AST) -> Iterator[str]:
    for item in ast.walk(node):
        if isinstance(item, ast.Compare) and any(isinstance(inner, ast.Attribute) for inner in ast.walk(item)):
            shown = deepcopy(item)
            for inner, copied in zip(ast.walk(item), ast.walk(shown), strict=True):
                kind = made.types.get(inner) if isinstance(inner, ast.Name) else None
                if isinstance(copied, ast.Name) and isinstance(kind, Rec):
                    copied.id = kind.record.__name__
            yield ast.unparse(shown)


def _reached(program: Program, python: Callable[..., Any]) -> set[Callable[..., Any]]:
    found = {python}
    waiting = [python]
    while waiting:
        made = program.functions.get(waiting.pop())
        if made is None:
            continue
        scope = Scope(program, made)
        for node in ast.walk(made.node):
            item = scope.global_of(node) if isinstance(node, ast.Name | ast.Attribute) else None
            if callable(item) and item in program.functions and item not in found:
                found.add(item)
                waiting.append(item)
    return found


def _place(item: Callable[..., Any]) -> str:
    code = item.__code__
    return f"{path_shown(code.co_filename)}:{code.co_firstlineno}"
