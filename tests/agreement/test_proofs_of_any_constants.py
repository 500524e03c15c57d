"""Proofs for any constants hold for each of them, and a value in which z3 leaves a quantifier is closed or reported."""

from pathlib import Path
from typing import Any

import fencepost.api as f
import pytest
import z3
from fencepost.api.answers.proof_report import ProveResult
from fencepost.api.calls.prove import prove
from fencepost.explorers.plain import search as plain
from fencepost.explorers.symbolic.models import OpenValueError, value_under
from fencepost.explorers.symbolic.replays import replay
from fencepost.explorers.symbolic.unroll import History
from fencepost.explorers.verdict import Options, Verdict
from fencepost.invariants.protocols import Protocol
from fencepost.model.language import Machine, Property
from fencepost.model.language.errors import DomainError, MismatchError, ModelError, UsageError

from tests.helpers.parameters import few
from tests.helpers.written import HEAD, machine_of, texts
from tests.random_machines.engines import load

CASES = texts("any_constants.txt")
REFUSED = [title for title in CASES if title.endswith(": refused")]
TAKEN = [title for title in CASES if title not in REFUSED]
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


def made(title: str, folder: Path, *change: str) -> tuple[Machine, tuple[Property, ...]]:
    return load(HEAD + (CASES[title].replace(change[0], change[1]) if change else CASES[title]), folder)


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("title", few(TAKEN, 6))
def test_what_is_said_of_any_constants_is_so_of_each(title: str, way: dict[str, Any], tmp_path: Path) -> None:
    machine, properties = made(title, tmp_path)
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
@pytest.mark.parametrize("title", REFUSED)
def test_what_cannot_be_said_of_any_constants_is_refused(title: str, way: dict[str, Any], tmp_path: Path) -> None:
    machine, properties = made(title, tmp_path)
    assert each(machine, properties)[0]
    with pytest.raises((ModelError, UsageError)):
        asked(machine, properties, **way)


@pytest.mark.parametrize(
    ("title", "never", "once"),
    [
        ("a parameter that begins below every constant", "a + c.n < 0", "a + c.n == 0"),
        ("a parameter that begins at none", "c.n == 1 and a < 0", "c.n == 2 and a < -1"),
        ("a field that begins below every constant", "s.x + c.n + 60 < 0", "s.x + c.n <= 0 and s.x < -4"),
        ("elements of an array without an end that end at its constant", "s.x[0] > c.n + 2",
            "s.x[0] == c.n and c.n > 4"),
    ],
)  # fmt: skip
def test_the_ends_of_domains_are_reached(title: str, never: str, once: str, tmp_path: Path) -> None:
    found = made(title, tmp_path, never, once)
    assert asked(*found, depth=2).proof.verdict is asked(*found).proof.verdict is Verdict.VIOLATED


def test_constants_that_the_machine_refuses_are_not_those_of_an_answer(tmp_path: Path) -> None:
    made_of = made("constants that do not go together", tmp_path)
    found = asked(*made_of, depth=6).proof
    assert found.findings[0].why == "fails after 5 steps"
    for shown in (found.history, asked(*made_of).proof.pair):
        assert shown.constants["n"] > 6


@pytest.mark.parametrize("way", [{"depth": 4}, {"k": 5}], ids=str)
def test_a_violation_is_reported_beside_an_error_under_other_constants(way: dict[str, Any], tmp_path: Path) -> None:
    machine, properties = made("an error under other constants than those that are given", tmp_path)
    found = asked(machine, properties, **way).proof.findings[0]
    assert (found.verdict, found.why) == (Verdict.VIOLATED, "fails after 3 steps")
    with pytest.raises(DomainError, match=r"with n=5, go: State.a: index 3 is outside the array"):
        asked(machine, properties, depth=2)


def test_a_step_that_no_search_tries_is_no_violation(tmp_path: Path) -> None:
    machine, properties = made("a parameter that begins at none", tmp_path)
    history = History({"n": 1}, (), (0,), (("go", (-1,)),), properties[0].name)
    with pytest.raises(MismatchError, match="a step with a=-1, which is out of its domain"):
        replay(machine, history, properties)


SOME_ELEMENT = machine_of("""
class C(Constants):
    n = capacity(2, low=1, high=5, meaning="the largest number", room=3)
    h = bound(1, low=0, high=5, meaning="the last element")
class State(Record):
    x: Annotated[int, Range(0, 2 * C.n)]
    y: Annotated[int, Range(0, C.n)]
    a: Annotated[Array[Annotated[int, Range(0, 2)]], Size(C.h + 1)]
@action(v=Range(0, C.h))
def change(s, c, v):
    require(s.x < c.n)
    s.y = max(0, min(3, (3 if s.y >= 0 else s.y))) if any(s.a[i] == v for i in range(c.h + 1)) else s.y
    s.x = 0
@step()
def rises(before, after, c):
    return after.y >= before.y or after.x > 0
""")
"""An endless array with the question whether some element has a value, which z3 leaves in its models."""


ENGINES: list[dict[str, Any]] = [{"engine": "plain"}, {"workers": 1}, {"compact": True}]


@pytest.mark.parametrize("options", ENGINES, ids=str)
def test_searches_and_proofs_name_the_step_that_leaves_its_domain(options: dict[str, Any]) -> None:
    with pytest.raises(f.FencepostError, match=r"change v=0: State.y: 3 is out of its domain 0..2"):
        f.check(*SOME_ELEMENT, **options)


@pytest.mark.parametrize("options", [{}, {"depth": 2}], ids=str)
def test_a_proof_names_it_too(options: dict[str, int]) -> None:
    with pytest.raises(f.FencepostError, match=r"State.y: \d+ is out of its domain"):
        f.prove(*SOME_ELEMENT, unbounded=("n", "h"), **options)


def test_a_value_that_z3_cannot_say_is_said_to_be_open() -> None:
    solver = z3.Solver()
    assert solver.check() == z3.sat
    x, y, n = z3.Ints("x y n")
    fermat = z3.Exists([x, y, n], z3.And(x > 1, y > 1, n > 2, x * x * x * x + y * y * y * y == n * n * n * n))
    with pytest.raises(OpenValueError):
        value_under(solver.model())(z3.If(fermat, z3.IntVal(1), z3.IntVal(2)))
