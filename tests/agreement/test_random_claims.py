"""Claims beside verdicts of random machines are true, and each kind of false one is refuted."""

from __future__ import annotations

from functools import cache

import pytest

from tests.random_machines import claims

SEEDS = (23, 24, 25, 26)
ask = cache(claims.ask)


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
MACHINES = {
    "all bounds only add steps": (1, claims.HEADER + READING),
    "fewer faults are covered": (1, claims.HEADER + READING),
    "a fault more is tolerated": (9, ""),
    "nothing else reads a bound": (1, claims.HEADER + READING),
    "every guard is needed": (12, ""),
    "everything is prevented": (3, ""),
}
"""For each planted mistake a machine of which it makes false claims."""


@pytest.mark.parametrize("seed", SEEDS)
def test_no_claim_is_refuted(seed: int) -> None:
    assert ask(seed).get("false", []) == []


@pytest.mark.parametrize("name", claims.PLANTS)
def test_a_false_claim_is_refuted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seed, text = MACHINES[name]
    kind, where, what, instead = claims.PLANTS[name]
    assert claims.ask(seed, (kind,), text)["false"] == []
    monkeypatch.setattr(where, what, instead)
    assert claims.ask(seed, (kind,), text)["false"]


def test_claims_of_every_kind_are_made_and_could_have_failed() -> None:
    found = claims.summary([ask(seed) for seed in SEEDS])
    for kind in claims.QUESTIONS:
        assert found[kind] > 0
        assert found[f"{kind}, could have failed"] > 0
    assert found["false"] == []
