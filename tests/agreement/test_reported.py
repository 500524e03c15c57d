"""Models on which engines once differed: plain, native, compact and symbolic engine now agree."""

from pathlib import Path

import fencepost.api as f
import pytest

from tests.helpers.reported import CASES, HEADER, found, written

IDS = [claim for claim, _, _ in CASES]


@pytest.mark.parametrize(("claim", "outcome", "text"), CASES, ids=IDS)
def test_searches_find_the_same(claim: str, outcome: str, text: str, tmp_path: Path) -> None:
    file = written(text, tmp_path)
    wanted = found(file, engine="plain")
    assert wanted[0] == outcome, claim
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
    assert "which is out of range" in found(file, engine=engine)[0]


DECLARATIONS = [
    (
        "Small], Size(C.n)]",
        "Small], Size(C.n - 4)]",
        "State.cells: its size is -1 under these constants, but must be 0 or more.",
    ),
    (
        "[Message], Size(3)",
        "[Message], Size(0 * C.n - 1)",
        "State.box: its size is -1 under these constants, but must be 0 or more.",
    ),
    (
        "BitSet(0)",
        "BitSet(C.n - 4)",
        "a set has room for -1 members under these constants: the number must be 0 or more.",
    ),
    (
        "Range(0, 3)",
        "Range(1, 3)",
        "State.pc: its domain 1..3 excludes 0, which cleared records contain: start it at 0.",
    ),
]


@pytest.mark.parametrize(("there", "written_instead", "says"), DECLARATIONS, ids=[item[1] for item in DECLARATIONS])
def test_a_declaration_that_these_constants_make_impossible_is_refused_by_every_engine(
    there: str, written_instead: str, says: str, tmp_path: Path
) -> None:
    _, _, text = CASES[0]
    file = written(text, tmp_path, HEADER.replace(there, written_instead, 1))
    assert all(says in found(file, engine=engine)[0] for engine in ("plain", "native"))
    with pytest.raises(f.FencepostError) as refused:
        f.prove(file)
    assert says in str(refused.value)


def test_sizes_may_be_impossible_under_constants_that_are_not_those_of_the_run(tmp_path: Path) -> None:
    _, _, text = CASES[0]
    header = HEADER.replace("BitSet(0)", "BitSet(C.n - 2)").replace("Small], Size(C.n)]", "Small], Size(C.n - 2)]")
    file = written(text, tmp_path, header)
    assert found(file, engine="plain") == found(file, workers=1) == found(file, compact=True)
    assert found(file)[0] == "violated 2"
