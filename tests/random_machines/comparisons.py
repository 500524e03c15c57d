"""The comparisons of a random machine: each returns how an engine differs from the plain semantics, or nothing."""

import json
import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from fencepost.api.asking.targets import Question
from fencepost.api.calls import check as checking
from fencepost.counterexamples.replay import replay_text, write
from fencepost.counterexamples.trace import trace_of_path
from fencepost.explorers.native.compile import Kernels, compiled, load
from fencepost.explorers.native.expansion import Expansion
from fencepost.explorers.native.layout import Layout, Leaf
from fencepost.explorers.native.llvm import checks as codes
from fencepost.explorers.native.llvm.objects import CHEAP
from fencepost.explorers.native.masked import MaskedSearch
from fencepost.explorers.native.packed import OWNERS
from fencepost.explorers.native.search import Search
from fencepost.explorers.native.tiers import Tiers
from fencepost.explorers.plain import PlainSearch
from fencepost.explorers.program.removal import guards, without
from fencepost.explorers.search import search
from fencepost.explorers.verdict import Options, Verdict, deep_enough, require_no_error
from fencepost.explorers.walk.walker import Walker
from fencepost.invariants.protocols import Protocol
from fencepost.model.language import Constants
from fencepost.model.language.constants import RUNTIME, SHAPE
from fencepost.model.language.errors import DomainError, ModelError, UsageError
from fencepost.model.language.interpreter import Interpreter, Transition
from fencepost.model.language.records import Key

from tests.random_machines.case import UNFIT, Case, either, said
from tests.random_machines.engines import compare_symbolic
from tests.random_machines.proofs import proof

BLOCK = 64  # states that one call expands
MASKED = 2  # number of guards without which a machine is searched
OTHERS = 2  # constants under which code is compared that was compiled under others
FEW = 80  # most states of a machine without a guard before the last expanded level


def successors(case: Case) -> str:
    """Compare the successors of every state, one by one: rows of compiled code with states of the plain semantics."""
    graph = case.plain.successors
    if "error" in case.expected or not graph:
        return ""
    source, run = case.kernels.source, case.kernels.under(case.constants)
    room = max(1, source.most_successors) * BLOCK
    out, hashes, parents = np.empty(room, run.layout.dtype), np.empty(room, np.uint64), np.empty(room, np.uint32)
    fired, refused = (np.zeros(max(1, many), np.int64) for many in (len(case.machine.actions), source.counters))
    in_steps, alive = np.full(max(1, len(source.step_properties)), -1, np.int64), np.zeros(BLOCK, np.uint8)
    states, checks, size = list(graph), run.checks.copy(), run.layout.dtype.itemsize
    known = list(case.plain.parents)
    packed = {key: row.tobytes() for key, row in zip(known, run.layout.encode(known), strict=True)}
    for first in range(0, len(states), BLOCK):
        keys = states[first : first + BLOCK]
        rows = np.frombuffer(b"".join(packed[key] for key in keys), run.layout.dtype)
        if [run.layout.decode(row) for row in rows[:4]] != keys[:4]:
            return "a state is another one once it is packed"
        count = case.kernels.module.expand(
            checks, rows, 0, len(keys), 0, run.constants, out, hashes, parents, 0, fired, refused, in_steps, alive
        )
        if checks[0]:
            return "" if _is_unfit(case, int(checks[0])) else f"a check failed: {checks[0]}"
        found: list[list[bytes]] = [[] for _ in keys]
        reached = out[:count].tobytes()
        for place, parent in enumerate(parents[:count].tolist()):
            found[parent // OWNERS].append(reached[place * size : (place + 1) * size])
        for key, ours in zip(keys, found, strict=True):
            if sorted(ours) != sorted(packed[after] for after in graph[key]):
                return f"successors of {key} differ"
        case.compared += count
    return ""


def _is_unfit(case: Case, code: int) -> bool:
    found = code in (codes.NUMBER, codes.SUM)
    case.notes |= {"unfit"} if found else set()
    return found


def whole(
    case: Case, kernels: Kernels | None = None, options: Options | None = None, kind: type[Search] | None = None
) -> str:
    """Compare a search in compiled code; other kinds of search judge no behaviours."""
    given = kernels or case.kernels, options or case.options
    if kind is not None and goes_wrong_in_behaviours(case):
        return ""
    if kind is None:
        return case.differs(said(lambda: _searched(case, *given)))
    made = kind(case.machine, case.constants, case.of_states, given[1], kernels=given[0])
    return case.differs(said(made.run), of_states(case))


def _searched(case: Case, kernels: Kernels, options: Options) -> Any:
    return search(case.machine, case.constants, case.properties, options, kernels=kernels)


def goes_wrong_in_behaviours(case: Case) -> bool:
    """Return whether the error is that of a property of behaviours, which some engines do not judge."""
    names = (f"property {item.name!r}" for item in case.properties if item not in case.of_states)
    return str(case.expected.get("error", "")).startswith(tuple(names))


def of_states(case: Case) -> dict[str, Any]:
    """Return the results of the plain search, without properties of behaviours."""
    names = {item.name for item in case.of_states}
    found = case.expected
    return (
        found
        if "error" in found
        else {**found, "properties": [item for item in found["properties"] if item[0] in names]}
    )


class Bytes(Layout):
    """A layout for tests in which every number has whole bytes."""

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        return tuple(leaf._replace(bits=8 * leaf.bytes if leaf.bits else 0) for leaf in super().leaves)


class InBytes(Kernels):
    def layout(self, constants: Constants) -> Layout:
        found = super().layout(constants)
        return Bytes(**{name: getattr(found, name) for name in found.__dataclass_fields__})


def whole_bytes(case: Case) -> str:
    """Compare a search whose rows are not packed."""
    made = InBytes(**{name: getattr(case.kernels, name) for name in case.kernels.__dataclass_fields__})
    return whole(case, made, kind=Search)


def keys(case: Case) -> str:
    """Compare a search by two workers that uses keys from its first level on, of packed rows and of whole bytes."""
    before, Expansion.large = Expansion.large, 0
    try:
        return whole(case, options=replace(case.options, workers=2)) or whole_bytes(case)
    finally:
        Expansion.large = before


def optimized(case: Case) -> str:
    made = replace(case)
    known = {name: getattr(case, name) for name in ("plain", "expected", "options")}
    made.__dict__ |= {**known, "kernels": load(case.kernels.source)}
    return whole(case, made.kernels) or successors(made)


class Changing(Search):
    """A search that changes over between cheap and optimized code at every round."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        from fencepost.explorers.native.compile import Tier

        self.tiers = Tiers(self.kernels, self.constants, Tier.SWAP)


def changing(case: Case) -> str:
    """Compare a search whose code changes over at every round, and one by code for exactly its constants."""
    specialize = case.kernels.source.specialize
    return whole(case, kind=Changing) or whole(case, load(specialize(case.constants), CHEAP))


def resumed(case: Case) -> str:
    """Compare a search that is stopped in the middle, saved, and resumed by more workers."""
    middle = len(case.plain.parents) // 2
    if "error" in case.expected or not middle:
        return ""
    with tempfile.TemporaryDirectory() as folder:
        kept = replace(case.options, checkpoint=folder)
        first = said(lambda: _searched(case, case.kernels, replace(kept, max_states=middle)))
        if case.is_unfit(first.get("error", "")):
            return ""
        if first.get("complete", True):
            return case.differs(first)
        return whole(case, options=replace(kept, resume=True, workers=2))


def masks(case: Case) -> str:
    """Compare a machine with guards turned off to one whose text lacks them."""
    if "error" in case.expected:
        return ""
    kernels = compiled(case.machine, case.constants, case.of_states, masked=True)
    known = guards(case.machine)
    for guard in known[case.seed % 3 :: max(1, len(known) // MASKED)][:MASKED]:
        changed = without(case.machine, guard)
        plain = Lenient(changed, case.constants, case.of_states, Options(workers=1))
        plain.plain = Interpreter(changed, case.constants, bounded=True)
        expected = said(plain.run)
        depth = None if expected.get("complete", True) else len(plain.levels)
        options = Options(workers=1, max_depth=depth)
        found = said(
            lambda guard=guard, options=options: MaskedSearch(
                case.machine, case.constants, case.of_states, options, kernels=kernels, guard=guard
            ).run()
        )
        if ("error" in expected and "error" in found) or either(expected, found):
            continue
        for data in (expected, found):
            data.pop("guards", None)
            data.pop("bounds", None)
        how = case.differs(found, expected)
        if how:
            return f"without {guard.name}: {how}"
    return ""


class Lenient(PlainSearch):
    """A plain search of a machine without a guard, which ends once it has seen a few states."""

    def transitions(self, state: Key) -> Iterator[Transition]:
        self.at = state
        yield from self.plain.transitions(state)

    def expand(self, level: list[Key], began: float) -> tuple[list[Key], str]:
        if len(self.parents) >= FEW:
            return [], deep_enough(len(self.levels))
        return super().expand(level, began)


def constants(case: Case) -> str:
    """Compare code that was compiled for other, larger constants."""
    chosen = random.Random(case.seed)  # noqa: S311 (no secret)
    for _ in range(OTHERS):
        values = {}
        for name, item in case.constants.declared().items():
            most = item.high if item.sort == RUNTIME else case.kernels.source.layout.rooms[name]
            if item.sort != SHAPE:
                values[name] = chosen.randint(int(item.low), int(min(item.high, most)))
        try:
            other = case.machine.set_constants({**case.constants.values, **values})
        except UsageError:
            continue  # the machine refuses them
        made = Case(case.machine, case.properties, other, case.seed)
        made.__dict__["kernels"] = case.kernels
        how = whole(made) or successors(made) or whole_bytes(made)
        case.compared += made.compared
        if how:
            return f"under {made.constants}: {how}"
    return ""


def walks(case: Case) -> str:
    """Compare random walks: each of their steps is one of the plain semantics."""
    if "error" in case.expected or not case.plain.parents or not case.expected["complete"]:
        return ""
    try:
        walker = Walker(case.machine, case.constants, case.of_states, kernels=case.kernels)
        ways = [walker.way(number, seed=case.seed, steps=12) for number in range(4)]
        judged = walker.walk(0, 30, seed=case.seed, depth=40)
    except DomainError as error:
        return "" if UNFIT in str(error) else f"a walk ends with an error: {error}"
    starts = set(case.plain.plain.initial_states())
    for way in ways:
        if way[0] not in starts:
            return "a walk begins in a state that is not initial"
        for before, after in pairwise(way):
            if after not in case.plain.successors[before]:
                return f"a walk takes a step that does not happen, from {before}"
            case.compared += 1
    for column, prop in enumerate(walker.properties):
        decided = any(judged.decided[:, column] >= 0)
        verdict = next(found[1] for found in case.expected["properties"] if found[0] == prop.name)
        violated = verdict is Verdict.VIOLATED
        witnessed = verdict is Verdict.HOLDS and prop.kind.value == "sometimes"
        if decided and not (violated or witnessed):
            return f"walks decide {prop.name}, and the search does not"
    return ""


def symbolic(case: Case) -> str:
    return compare_symbolic(case.machine, case.properties)


def traces(case: Case) -> str:
    """Compare every path once it is written as a trace, read and replayed; and the answer once it is JSON."""
    if "error" in case.expected:
        return ""
    found = Protocol(case.machine, case.properties)
    try:
        result = require_no_error(_searched(case, case.kernels, case.options))
    except (DomainError, ModelError):
        return whole(case)  # it may report the error of a property that the plain search decides
    answer = checking.answer(Question(found, case.constants, case.properties), case.options, result)
    data = answer.to_dict()
    if json.loads(json.dumps(data)) != data:
        return "JSON is not what it was made of"
    with tempfile.TemporaryDirectory() as folder:
        for item in result.properties:
            if item.path is None or item.verdict is Verdict.HOLDS:
                continue
            trace = trace_of_path(found, case.constants, item.name, item.path, item=item)
            made = write(Path(folder) / "a.trace", trace)
            again = replay_text((Path(folder) / "a.trace").read_text("utf-8"), lambda _: found)
            if again.text != made.text or [step.args for step in again.trace.steps] != [
                step.args for step in item.path.steps
            ]:
                return f"the trace of {item.name} is another one once it is read"
    return ""


ALWAYS: dict[str, Callable[[Case], str]] = {
    "whole": whole, "successors": successors, "bytes": whole_bytes,
    "workers": lambda case: whole(case, options=replace(case.options, workers=2)), "keys": keys,
    "compact": lambda case: whole(case, options=replace(case.options, compact=True), kind=Search),
}  # fmt: skip
"""The comparisons of every machine."""
SOMETIMES: dict[str, tuple[int, Callable[[Case], str]]] = {
    "resumed": (20, resumed),
    "optimized": (16, optimized),
    "changing": (16, changing),
    "masks": (12, masks),
    "walks": (8, walks),
    "traces": (6, traces),
    "symbolic": (50, symbolic),
    "constants": (20, constants),
    "proof": (15, proof),
}
"""The comparisons of one machine in this many."""
