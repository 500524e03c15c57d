"""Claims beside verdicts of random machines are true, and each kind of false one is refuted."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from fencepost.api.answers import growing, results
from fencepost.api.topics.claims import Needed, Tolerates
from fencepost.explorers.evidence import faults

from tests.random_machines import claims

if TYPE_CHECKING:
    from collections.abc import Callable

SEEDS = (23, 24, 25, 26)
ask = cache(claims.ask)


def with_all_bounds(patch: pytest.MonkeyPatch) -> None:
    """Take every bound for one of which a larger value only adds steps."""
    patch.setattr(growing, "growing_bounds", lambda program: frozenset(program.bounds))


def with_fewer_covered(patch: pytest.MonkeyPatch) -> None:
    """Take fewer faults to break nothing where more do not."""
    patch.setattr(faults, "why_fewer_matter", lambda *_, **__: "")


def with_a_fault_more(patch: pytest.MonkeyPatch) -> None:
    """Count a fault more than is tolerated."""
    true = Tolerates.of

    def more(point: Any) -> Tolerates | None:
        found = true(point)
        return found if found is None or found.faults is None else replace(found, faults=found.faults + 1)

    patch.setattr(Tolerates, "of", more)


def with_nothing_read(patch: pytest.MonkeyPatch) -> None:
    """Take every bound for one that only its guards read."""
    patch.setattr(results, "unshared_bounds", lambda program: frozenset(program.bounds))


def with_every_guard_needed(patch: pytest.MonkeyPatch) -> None:
    """Take every guard to be needed for every property."""
    patch.setattr(Needed, "of", lambda row: Needed(row["row"], tuple(row["cells"])) if row["kind"] == "guard" else None)


def with_everything_prevented(patch: pytest.MonkeyPatch) -> None:
    """Take every setting to prevent every history."""
    patch.setattr(claims, "is_prevented", lambda *_, **__: True)


READING = """
class C(Constants):
    n = bound(1, low=0, high=3, meaning="n")
    m = bound(1, low=0, high=3, meaning="m")
    crashes = bound(2, low=0, high=3, meaning="crashes")
    spare = bound(2, low=0, high=3, meaning="spare")
    fast = switch(default=False, meaning="faster")

class Budget(Record):
    crashes: Annotated[int, Range(0, C.crashes)]

class State(Record):
    budget: Budget
    x: Annotated[int, Range(0, 9)]
    y: Annotated[int, Range(0, 9)]

@action()
def initial(s: State, c: C) -> None:
    "It starts."
    s.budget.crashes = c.crashes

@action()
def by_n(s: State, c: C) -> None:
    "It acts."
    require(s.x < c.n, bound=C.n)
    s.x += 1

@action()
def by_m(s: State, c: C) -> None:
    "It acts."
    require(s.y < c.m, bound=C.m)
    s.y += 1

@action()
def crash(s: State, c: C) -> None:
    "It acts."
    require(s.budget.crashes > 0, bound=C.crashes)
    s.budget.crashes -= 1

@action()
def by_spare(s: State, c: C) -> None:
    "It acts, and how far depends on a bound that it does not reach."
    require(s.y < c.spare, bound=C.spare)
    require(s.y == 8)
    s.y = 9

@action()
def jump(s: State, c: C) -> None:
    "It acts."
    require(s.x == 0 and c.spare == 3)
    s.x = 9

@always
def no_more(s: State, c: C) -> bool:
    "It is so."
    return s.y <= c.n

@always
def quiet(s: State, c: C) -> bool:
    "It is so."
    return s.x == 0 or c.crashes > 0

MACHINE = Machine("m", "m", State, C, initial, (by_n, by_m, crash, by_spare, jump))
PROPERTIES = (no_more, quiet)
"""
PLANTED: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None], int, str]] = {
    "all bounds only add steps": ("stable", with_all_bounds, 1, claims.HEADER + READING),
    "fewer faults are covered": ("tolerates", with_fewer_covered, 1, claims.HEADER + READING),
    "a fault more": ("tolerates", with_a_fault_more, 9, ""),
    "nothing reads bounds": ("never matters", with_nothing_read, 1, claims.HEADER + READING),
    "every guard is needed": ("needed", with_every_guard_needed, 12, ""),
    "everything is prevented": ("prevents", with_everything_prevented, 3, ""),
}
"""False claims: their kind, how they are made, and a machine of which they are refuted."""


@pytest.mark.parametrize("seed", SEEDS)
def test_no_claim_is_refuted(seed: int) -> None:
    assert ask(seed).get("false", []) == []


@pytest.mark.parametrize("name", PLANTED)
def test_a_false_claim_is_refuted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, plant, seed, text = PLANTED[name]
    assert claims.ask(seed, (kind,), text)["false"] == []
    plant(monkeypatch)
    assert claims.ask(seed, (kind,), text)["false"]


def test_claims_of_every_kind_are_made_and_could_have_failed() -> None:
    found = claims.summary([ask(seed) for seed in SEEDS])
    for kind in claims.QUESTIONS:
        assert found[kind] > 0
        assert found[f"{kind}, could have failed"] > 0
    assert found["false"] == []
