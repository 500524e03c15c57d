"""Numbers too large for engines are refused at their declaration, with one message, on every engine."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fencepost.model.language import bound, capacity, shape
from fencepost.model.language.errors import ModelError

from tests.helpers.blocks import whole
from tests.helpers.commands import KIP320, fencepost
from tests.helpers.written import HEAD

MODEL = HEAD + whole("""
HERE

class C(Constants):
    top = bound(2, low=0, high=TOP, meaning="top")

class State(Record):
    x: Annotated[int, Range(0, 3)]
    y: Annotated[int, DOMAIN]

@action(p=PARAM)
def go(s, c, p):
    require(s.x < VALUE)
    s.x = 1

@always
def fine(s, c):
    return s.x < 3
""")
LINE = MODEL[: MODEL.index("require(")].count("\n") + 1
USUAL = {"HERE": "BIG = 3", "TOP": "3", "DOMAIN": "Range(0, 3)", "PARAM": "Range(0, 1)", "VALUE": "BIG"}
ENGINES = ("plain", "native")


def refusal(tmp_path: Path, engine: str, **parts: str) -> str:
    text = MODEL
    for name, value in (USUAL | parts).items():
        text = text.replace(name, value)
    (tmp_path / "model.py").write_text(text)
    command = ["prove" if engine == "prove" else "check", str(tmp_path / "model.py")]
    result = fencepost(*command, *(["--engine", engine] if engine in ENGINES else []))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("fencepost:") == 1
    return result.stderr


@pytest.mark.parametrize("engine", [*ENGINES, "prove"])
@pytest.mark.parametrize("value", ["2**62", "-2**62", "2**63", "2**64 + 1", "-2**63 - 1", "2**70", "10**5000"])
def test_a_number_of_the_module_that_does_not_fit_is_refused_with_its_place(
    value: str, engine: str, tmp_path: Path
) -> None:
    if engine == "prove":
        pytest.importorskip("z3")
    said = refusal(tmp_path, engine, HERE=f"BIG = {value}")
    assert f"model.py:{LINE}: " in said
    assert "BIG is " in said
    assert "which is out of the range of numbers" in said
    assert "use -4611686018427387903 to 4611686018427387903" in said


@pytest.mark.parametrize("engine", ENGINES)
def test_a_member_of_an_enum_that_does_not_fit_is_refused_with_its_place(engine: str, tmp_path: Path) -> None:
    said = refusal(
        tmp_path, engine, HERE="from enum import IntEnum\nKind = IntEnum('Kind', {'big': 2**62})", VALUE="Kind.big"
    )
    assert f"model.py:{LINE + 1}: Kind.big is 4611686018427387904, which is out of the range of numbers" in said


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"TOP": "2**62"}, "a constant (top) has the high 4611686018427387904, which is out of the range of numbers"),
        ({"TOP": "2.5"}, "a constant (top) has the high 2.5: write a whole number"),
        (
            {"DOMAIN": "Range(0, 2**62)"},
            "State.y: its domain has a bound from 4611686018427387904 to 4611686018427387904, which",
        ),
        ({"DOMAIN": "Range(-(2**62), 0)"}, "State.y: its domain has a bound from -4611686018427387904 to"),
        ({"DOMAIN": "Range(0, C.top * 2**61)"}, "State.y: its domain has a bound from 0 to 6917529027641081856, which"),
        (
            {"DOMAIN": "BitSet(C.top + 60)"},
            "State.y: a set of up to 63 members does not fit in a number: use at most 62",
        ),
        (
            {"PARAM": "Range(2**62, 2**62)"},
            "parameter 'p' of action go: its domain has a bound from 4611686018427387904",
        ),
    ],
)
def test_a_constant_or_domain_that_does_not_fit_is_refused(
    parts: dict[str, str], says: str, engine: str, tmp_path: Path
) -> None:
    assert says in refusal(tmp_path, engine, **parts)


def test_the_largest_numbers_are_taken(tmp_path: Path) -> None:
    text = MODEL
    most = {"HERE": "BIG = 2**62 - 1", "DOMAIN": "Range(-(2**62) + 1, 2**62 - 1)", "TOP": "2**62 - 1"}
    for name, value in (USUAL | most).items():
        text = text.replace(name, value)
    (tmp_path / "model.py").write_text(text)
    assert (
        fencepost("check", str(tmp_path / "model.py"), "--engine", "plain", "--set", f"top={2**62 - 1}").exit_code == 0
    )


@pytest.mark.parametrize("make", [bound, shape, capacity])
def test_every_sort_of_constant_has_numbers_that_fit(make: Callable[..., Any]) -> None:
    for value in (1 << 62, -(1 << 62)):
        with pytest.raises(ModelError, match="is out of the range of numbers: use at most 4611686018427387903"):
            make(value, low=value, high=value, meaning="big")


@pytest.mark.parametrize(
    "value",
    ["4611686018427387904", "-4611686018427387905", "9" * 60, "9" * 4000, "9" * 5000, "1e3", "2.0", "x\x1b[31m"],
)
def test_a_constant_that_is_given_anything_is_taken_or_refused_in_one_short_message(value: str) -> None:
    result = fencepost(*KIP320, "--set", f"replicas={value}")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("fencepost: ")
    assert len(result.stderr) < 400
    assert "\x1b" not in result.stderr
