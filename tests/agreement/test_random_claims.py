"""Claims beside verdicts of random machines are true, and each kind of false one is refuted."""

from functools import cache
from typing import Any

import pytest

from tests.helpers.parameters import few
from tests.random_machines import claims

SEEDS = (60, 120, 300104)
GOES_WRONG = 240
"""A machine that raises an error in some cells beside those in which a search reaches its witness."""
OTHER_ARGUMENTS = claims.ARGUED + 230
SHOWS = {
    "all bounds only add steps": 6, "every cell beside is covered": 6, "every verdict is that of every cell": 0,
    "no verdict changes": 6, "fewer faults are covered": 23, "a fault more is tolerated": 16,
    "nothing else reads a bound": 8, "no bound is reached": 4, "every guard is needed": 0, "no guard is needed": 0,
    "everything is prevented": 0, "all machines are the one that was driven": 1, "all constants were driven": 0,
    "all were driven together": 52, "counts alike are the same steps": 0, "every violation is allowed": 0,
    "a bound cuts a state more": 1,
}  # fmt: skip
"""For each planted mistake a machine about which it makes false claims."""


@cache
def ask(seed: int) -> dict[str, Any]:
    return claims.ask(seed, plants=False)


@pytest.mark.xdist_group("claims")
@pytest.mark.parametrize("seed", few([*SEEDS, GOES_WRONG, OTHER_ARGUMENTS], 3))
def test_no_claim_is_refuted(seed: int) -> None:
    assert ask(seed)["false"] == []


@pytest.mark.parametrize("name", few(claims.PLANTS, 2))
def test_a_false_claim_is_refuted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, where, what, instead = claims.PLANTS[name]
    assert claims.ask(SHOWS[name], (kind,))["false"] == []
    monkeypatch.setattr(where, what, instead)
    assert claims.ask(SHOWS[name], (kind,))["false"]


@pytest.mark.xdist_group("claims")
def test_claims_of_every_kind_are_made_and_could_have_failed() -> None:
    found = claims.summary([ask(seed) for seed in SEEDS])
    for kind in claims.QUESTIONS:
        assert found[f"{kind}, could have failed"] > 0
    assert found["false"] == []


@pytest.mark.long
def test_every_planted_false_claim_is_refuted() -> None:
    found = claims.summary([claims.ask(SEEDS[0], plants=True)])
    planted = {name: number for name, number in found.items() if name.endswith(": false")}
    assert planted
    for name, number in planted.items():
        assert found[name.replace(": false", ": refuted")] == number
