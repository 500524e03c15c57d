"""Models on which engines once differed: plain, native, compact and symbolic engine now find the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fencepost.api as f
import pytest

from tests.reported import CASES, HEADER, found, written

if TYPE_CHECKING:
    from pathlib import Path

IDS = [claim for claim, _, _ in CASES]


@pytest.mark.parametrize(("claim", "outcome", "text"), CASES, ids=IDS)
def test_searches_find_the_same(claim: str, outcome: str, text: str, tmp_path: Path) -> None:
    file = written(text, tmp_path)
    wanted = found(file, engine="plain")
    assert wanted[0] == outcome, claim
    assert found(file, workers=1) == wanted
    assert found(file, workers=2) == wanted
    assert found(file, compact=True) == wanted


@pytest.mark.parametrize(("claim", "outcome", "text"), CASES, ids=IDS)
def test_proofs_agree_with_searches(claim: str, outcome: str, text: str, tmp_path: Path) -> None:
    file = written(text, tmp_path)
    verdicts = []
    for depth in (None, 5):
        try:
            verdicts.append(f.prove(file, depth=depth).verdict.value)
        except f.FencepostError as error:
            verdicts.append(str(error))
    word = outcome.split(maxsplit=1)[0]
    if word == "violated":
        assert verdicts == ["violated", "violated"], claim
    elif word == "holds":
        assert verdicts == ["proved", "not-found"], claim
    else:
        assert verdicts == [outcome, outcome], claim


@pytest.mark.parametrize("engine", ["plain", "native"])
def test_a_domain_that_does_not_fit_a_number_is_refused(engine: str, tmp_path: Path) -> None:
    _, _, text = CASES[0]
    file = written(text, tmp_path, HEADER.replace("Range(-1000, 1000)", "Range(-(1 << 63), (1 << 63) - 1)"))
    assert "which does not fit a number" in found(file, engine=engine)[0]
