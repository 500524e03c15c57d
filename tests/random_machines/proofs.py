"""What `prove` says of a random machine, compared with the plain search: never `proved` what is violated."""

import time
from collections.abc import Iterator
from typing import Any

from fencepost.explorers.symbolic.proof import Proof
from fencepost.explorers.verdict import Verdict
from fencepost.invariants.protocols import Protocol
from fencepost.model.language.constants import RUNTIME
from fencepost.model.language.errors import DomainError, ModelError, UsageError

from tests.random_machines.case import Case

WAYS: tuple[dict[str, Any], ...] = (
    {"depth": 3}, {"k": 2}, {"every_state": True}, {"unbounded": True}, {"depth": 2, "unbounded": True},
)  # fmt: skip
"""How properties are proved, beside a plain induction: one of these for each machine."""
PATIENCE = 0.5  # seconds that z3 has for a question
LONGEST = 4.0  # seconds of a processor after which a proof goes no further
WIDEST = 60  # numbers that the state of a machine has at most if something is proved of it
MOST = 3000  # steps that the plain search has seen of it at most


def proof(case: Case) -> str:
    """Compare proofs by induction, and in one other way."""
    asked = tuple(item for item in case.of_states if item.kind.must_hold)
    steps = sum(map(len, case.plain.successors.values()))
    if not asked or steps > MOST or len(case.kernels.source.layout.leaves) > WIDEST:
        return ""
    for way in ({}, WAYS[case.seed // 7 % len(WAYS)]):
        how = in_one_way(case, dict(way))
        if how:
            return f"{way}: {how}"
    return ""


def in_one_way(case: Case, way: dict[str, Any]) -> str:
    from fencepost.api.calls.prove import prove

    asked = [item for item in case.of_states if item.kind.must_hold]
    names = [item.name for item in asked if not (way.get("every_state") and item.over_steps)]
    lifted = [name for name, item in case.constants.declared().items() if item.sort == RUNTIME and item.kind is int]
    if not names or (way.get("unbounded") and not lifted):
        return ""
    if way.get("unbounded"):
        way["unbounded"] = lifted[:1]
    ends = time.process_time() + LONGEST
    given: dict[str, Any] = {"timeout": PATIENCE, "reach": 0, "workers": 1, "cache": False, **way}
    stops = {"cancel": lambda: time.process_time() > ends}
    protocol = Protocol(case.machine, case.properties)
    try:
        found = prove(protocol, constants=case.constants, only=names, **given, **stops).proof
    except DomainError as error:
        return "" if {"every_state", "unbounded"} & set(way) else case.untrue(error)
    except (ModelError, UsageError):
        return ""  # a term that z3 has not, or what is not asked in this way
    case.notes |= {f"{item.verdict}" for item in found.findings}
    return "; ".join(how for other in under(case, way) for how in false(other, found, way))


def under(case: Case, way: dict[str, Any]) -> Iterator[Case]:
    """Yield the machine under each value of the constant that was given none."""
    yield case
    for name in way.get("unbounded", ()):
        item = case.constants.declared()[name]
        for value in range(int(item.low), int(item.high) + 1):
            try:
                yield Case(case.machine, case.properties, case.constants.replace(**{name: value}), case.seed)
            except UsageError:  # the machine refuses it
                continue


def false(case: Case, found: Proof, way: dict[str, Any]) -> Iterator[str]:
    """Yield what is not so under these constants."""
    expected = case.expected
    error = expected.get("raised")
    least = {
        item.name: item.path.length - 1
        for item in case.plain.result("", 0.0).properties
        if item.verdict is Verdict.VIOLATED and item.path is not None
    }
    steps = len(error.steps) if isinstance(error, DomainError) else None
    of_step = steps is not None and not str(error).startswith("property ")
    for item in found.findings:
        first = least.get(item.name)
        if item.verdict is Verdict.PROVED:
            if first is not None:
                yield f"{item.name} is proved, and violated after {first} steps under {case.constants}"
            if str(error).startswith(f"property {item.name!r}"):
                yield f"{item.name} is proved, and goes wrong: {error}"
            if of_step and not way and not found.cuts:
                yield f"{item.name} is proved, and a step goes wrong: {error}"
        if item.verdict is Verdict.NOT_FOUND:
            if first is not None and first <= found.depth:
                yield f"{item.name} is not found, and violated after {first} steps under {case.constants}"
            if of_step and "unbounded" not in way and steps is not None and steps <= found.depth:
                yield f"{item.name} is not found, and a step goes wrong: {error}"
        if item.verdict is Verdict.VIOLATED and "unbounded" not in way:
            if first is None and expected.get("complete"):
                yield f"{item.name} is violated, and holds"
            said = int(item.why.split()[2]) if item.why.startswith("fails after") else first
            if first is not None and said is not None and (said < first or (said > first and error is None)):
                yield f"{item.name} {item.why}, and is violated after {first}"
