"""Proofs for any constants hold for each of them, and a violation exists for some of them."""

from pathlib import Path
from typing import Any

import pytest
from fencepost.api.answers.proof_report import ProveResult
from fencepost.api.calls.prove import prove
from fencepost.explorers.plain import search as plain
from fencepost.explorers.symbolic.replays import replay
from fencepost.explorers.symbolic.unroll import History
from fencepost.explorers.verdict import Options, Verdict
from fencepost.invariants.protocols import Protocol
from fencepost.model.language import Machine, Property
from fencepost.model.language.errors import DomainError, MismatchError, ModelError, UsageError

from tests.helpers.parameters import few
from tests.helpers.written import HEAD, texts
from tests.random_machines.engines import load

CASES = texts("any_constants.txt")
REFUSED = {title: text for title, text in CASES.items() if title.endswith(": refused")}
TAKEN = {title: text for title, text in CASES.items() if title not in REFUSED}
WAYS: tuple[dict[str, Any], ...] = ({}, {"havoc_loops": True}, {"k": 2}, {"depth": 6})


def each(machine: Machine, properties: tuple[Property, ...]) -> tuple[dict[str, int], bool]:
    """Return after how many steps properties are violated for some value of n, and whether one raises an error."""
    least: dict[str, int] = {}
    wrong = False
    for number in range(1, 10):
        constants = machine.constants(n=number)
        if machine.refuse is not None and machine.refuse(constants):
            continue
        try:
            found = plain(machine, constants, properties, Options(workers=1))
        except DomainError:
            wrong = True
            continue
        wrong = wrong or found.model_error is not None
        for item in found.properties:
            if item.path is not None:
                least[item.name] = min(item.path.length - 1, least.get(item.name, item.path.length))
    return least, wrong


def asked(machine: Machine, properties: tuple[Property, ...], **way: Any) -> ProveResult:
    return prove(Protocol(machine, properties), unbounded=["n"], cache=False, workers=1, **way)


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("text", few(TAKEN.values(), 3), ids=TAKEN)
def test_what_is_said_of_any_constants_is_so_of_each(text: str, way: dict[str, Any], tmp_path: Path) -> None:
    machine, properties = load(HEAD + text, tmp_path)
    least, wrong = each(machine, properties)
    try:
        proof = asked(machine, properties, **way).proof
    except DomainError:
        assert wrong
        return
    for item in proof.findings:
        if item.verdict is Verdict.PROVED:
            assert item.name not in least
            assert proof.cuts or not wrong
        elif item.verdict is Verdict.NOT_FOUND:
            assert least.get(item.name, proof.depth + 1) > proof.depth
        elif item.verdict is Verdict.VIOLATED:
            assert item.name in least


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_said_of_any_constants_is_refused(text: str, way: dict[str, Any], tmp_path: Path) -> None:
    machine, properties = load(HEAD + text, tmp_path)
    assert each(machine, properties)[0]
    with pytest.raises((ModelError, UsageError)):
        asked(machine, properties, **way)


def test_a_domain_that_ends_at_the_largest_of_two_is_named_like_any_other(tmp_path: Path) -> None:
    text = CASES["a field that ends at the largest of two: refused"]
    named = text.replace("class State", "Place = Annotated[int, Range(0, largest(C.n, 3))]\n\n\nclass State")
    machine, properties = load(HEAD + named, tmp_path)
    with pytest.raises(UsageError, match=r"of which the model takes largest\(n, three\): leave n bounded"):
        prove(Protocol(machine, properties), unbounded=["place"], cache=False)


@pytest.mark.parametrize(
    ("title", "never", "once"),
    [
        ("a parameter that begins below every constant", "a + c.n < 0", "a + c.n == 0"),
        ("a parameter that begins at none", "c.n == 1 and a < 0", "c.n == 2 and a < -1"),
        ("a field that begins below every constant", "s.x + c.n + 60 < 0", "s.x + c.n <= 0 and s.x < -4"),
        (
            "elements of an array without an end that end at its constant",
            "s.x[0] > c.n + 2",
            "s.x[0] == c.n and c.n > 4",
        ),
    ],
)
def test_the_ends_of_domains_are_reached(title: str, never: str, once: str, tmp_path: Path) -> None:
    machine, properties = load(HEAD + CASES[title].replace(never, once), tmp_path)
    assert asked(machine, properties, depth=2).proof.verdict is Verdict.VIOLATED
    assert asked(machine, properties).proof.verdict is Verdict.VIOLATED


def test_a_fold_inside_of_another_one_ends_at_what_decides(tmp_path: Path) -> None:
    text = CASES["properties that are decided before they would raise an error"]
    found = "any(s.a[i] <= k for i in range(c.n))"
    machine, properties = load(
        HEAD + text.replace("any(s.a[i] == 0 for i in range(c.n))", f"all({found} for k in range(c.n))"), tmp_path
    )
    assert asked(machine, properties, depth=2).proof.verdict is Verdict.NOT_FOUND


def test_constants_that_the_machine_refuses_are_not_those_of_an_answer(tmp_path: Path) -> None:
    machine, properties = load(HEAD + CASES["constants that do not go together"], tmp_path)
    found = asked(machine, properties, depth=6).proof
    assert (found.findings[0].why, found.history.constants["n"] > 6 if found.history else None) == (
        "fails after 5 steps",
        True,
    )
    pair = asked(machine, properties).proof.pair
    assert pair is not None
    assert pair.constants["n"] > 6


@pytest.mark.parametrize("way", [{"depth": 4}, {"k": 5}], ids=str)
def test_a_violation_is_reported_where_the_model_raises_an_error_under_other_constants(
    way: dict[str, Any], tmp_path: Path
) -> None:
    machine, properties = load(HEAD + CASES["an error under other constants than those that are given"], tmp_path)
    found = asked(machine, properties, **way).proof.findings[0]
    assert (found.verdict, found.why) == (Verdict.VIOLATED, "fails after 3 steps")
    with pytest.raises(DomainError, match=r"with n=5, go: State.a: index 3 is outside the array"):
        asked(machine, properties, depth=2)


def test_a_step_that_no_search_tries_is_no_violation(tmp_path: Path) -> None:
    machine, properties = load(HEAD + CASES["a parameter that begins at none"], tmp_path)
    history = History({"n": 1}, (), (0,), (("go", (-1,)),), properties[0].name)
    with pytest.raises(MismatchError, match="a step with a=-1, which is out of its domain"):
        replay(machine, history, properties)
