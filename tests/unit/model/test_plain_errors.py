"""The plain semantics is strict: what is outside the schema raises an error with field, value and bound, and numbers
too large for engines are refused at their declaration.
"""

from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from fencepost.model.language import NONE
from fencepost.model.language.errors import DomainError, ModelError
from fencepost.model.language.records import Schema

from tests.helpers.blocks import whole
from tests.helpers.commands import KIP320, fencepost
from tests.helpers.written import HEAD
from tests.refusals import schema

C = schema.C()


@pytest.fixture
def s() -> Any:
    return Schema(schema.State, C).new()


REFUSED = """
s.count = 4
State.count: 4 is out of its domain 0..3.
s.maybe = -2
State.maybe: -2 is out of its domain -1..3.
s.flag = 2
State.flag: 2 is out of its domain 0..1.
s.phase = 2
State.phase: 2 is out of its domain 0..1.
s.values[1] = 4
State.values[1]: 4 is out of its domain 0..3.
s.replica[1].log[2].epoch = -1
Entry.epoch: -1 is out of its domain 0..3.
s.box.add(number=4)
Message.number: 4 is out of its domain 0..3.
s.values[NONE] = 1
State.values: NONE used as an index: the array has 3 elements, numbered from 0.
s.replica[NONE]
State.replica: NONE used as an index: the array has 2 elements, numbered from 0.
s.values[3]
State.values: index 3 is outside the array: the array has 3 elements, numbered from 0.
s.replica[1].log[3] = s.replica[0].log[0]
Replica.log: index 3 is outside the array: the array has 3 elements, numbered from 0.
s.values[-2]
State.values: index -2 is outside the array: the array has 3 elements, numbered from 0.
s.values[0:2]
State.values: index slice(0, 2, None) is outside the array: the array has 3 elements, numbered from 0.
s.values[0:2] = [1, 1]
State.values: index slice(0, 2, None) is outside the array: the array has 3 elements, numbered from 0.
for number in range(4): s.box.add(number=number)
State.box: the bag is full: it holds 3 messages. Raise its size.
m = s.box.add(number=1); m.seen[1] = 2; s.box.remove(m); s.box.remove(m)
State.box: there is no message Message(number=1, seen=[0, 2]) in flight to remove.
s.latest = s.replica[0]
State.latest: Replica(log=LOG, end=0, ghost_acked=0) was stored where a Message is expected.
s.replica[0] = 1
State.replica: 1 was stored where a Replica is expected.
""".replace("LOG", f"[{', '.join(['Entry(id=0, epoch=0)'] * 3)}]")
"""Statements, each followed by its message."""
LINES = REFUSED.strip().split("\n")


@pytest.mark.parametrize(("statement", "message"), list(zip(LINES[::2], LINES[1::2], strict=True)))
def test_a_value_outside_its_domain_or_array_is_an_error(s: Any, statement: str, message: str) -> None:
    with pytest.raises(DomainError) as caught:
        exec(statement, {"s": s, "NONE": NONE})  # noqa: S102 (our own)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("s.replica[0].edn", "record Replica has no field 'edn'. Did you mean 'end'?"),
        ("s.cuont = 1", "record State has no field 'cuont'. Did you mean 'count'?"),
        *(
            (f"s.{name} = []", f"State.{name} is an array or a bag: change its elements; do not replace it.")
            for name in ("values", "box")
        ),
    ],
)
def test_what_the_schema_lacks_is_neither_read_nor_written(s: Any, statement: str, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        exec(statement, {"s": s})  # noqa: S102 (our own)
    assert str(caught.value) == message


def test_a_failed_store_leaves_the_field_as_it_was(s: Any) -> None:
    s.count = 2
    with pytest.raises(DomainError):
        s.count = 9
    assert s.count == 2


def test_assigning_a_record_copies_it(s: Any) -> None:
    s.replica[0].log[1].id = 3
    s.replica[1] = s.replica[0]
    s.replica[0].log[1].id = 1
    assert (s.replica[1].log[1].id, s.replica[0].log[1].id) == (3, 1)


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


def ran(tmp_path: Path, engine: str, *more: str, **parts: str) -> Result:
    text = MODEL
    for name, value in (USUAL | parts).items():
        text = text.replace(name, value)
    (tmp_path / "model.py").write_text(text)
    command = ["prove"] if engine == "prove" else ["check", "--engine", engine]
    return fencepost(*command, str(tmp_path / "model.py"), *more)


def refusal(tmp_path: Path, engine: str, **parts: str) -> str:
    result = ran(tmp_path, engine, **parts)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("fencepost:") == 1
    return result.stderr


@pytest.mark.parametrize("engine", [*ENGINES, "prove"])
@pytest.mark.parametrize("value", ["2**62", "-2**62", "2**63", "2**64 + 1", "-2**63 - 1", "2**70", "10**5000"])
def test_a_number_of_the_module_too_large_is_refused_with_its_place(value: str, engine: str, tmp_path: Path) -> None:
    if engine == "prove":
        pytest.importorskip("z3")
    said = refusal(tmp_path, engine, HERE=f"BIG = {value}")
    assert f"model.py:{LINE}: " in said
    assert "BIG is " in said
    assert "which is out of range" in said
    assert "use -4611686018427387903 to 4611686018427387903" in said


@pytest.mark.parametrize("engine", ENGINES)
def test_a_member_of_an_enum_that_does_not_fit_is_refused_with_its_place(engine: str, tmp_path: Path) -> None:
    kind = "from enum import IntEnum\nKind = IntEnum('Kind', {'big': 2**62})"
    said = refusal(tmp_path, engine, HERE=kind, VALUE="Kind.big")
    assert f"model.py:{LINE + 1}: Kind.big is 4611686018427387904, which is out of range" in said


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"TOP": "2**62"}, "a constant (top) has the high 4611686018427387904, which is out of range"),
        ({"TOP": "2.5"}, "a constant (top) has the high 2.5: expected a whole number"),
        ({"DOMAIN": "Range(0, 2**62)"},
            "State.y: its domain has a bound from 4611686018427387904 to 4611686018427387904, which"),
        ({"DOMAIN": "Range(-(2**62), 0)"}, "State.y: its domain has a bound from -4611686018427387904 to"),
        ({"DOMAIN": "Range(0, C.top * 2**61)"}, "State.y: its domain has a bound from 0 to 6917529027641081856, which"),
        ({"DOMAIN": "BitSet(C.top + 60)"},
            "State.y: a set of up to 63 members does not fit in a number: use at most 62"),
        ({"PARAM": "Range(2**62, 2**62)"},
            "parameter 'p' of action go: its domain has a bound from 4611686018427387904"),
    ],
)  # fmt: skip
def test_constants_and_domains_must_fit_numbers(parts: dict[str, str], says: str, engine: str, tmp_path: Path) -> None:
    assert says in refusal(tmp_path, engine, **parts)


def test_the_largest_numbers_are_taken(tmp_path: Path) -> None:
    most = {"HERE": "BIG = 2**62 - 1", "DOMAIN": "Range(-(2**62) + 1, 2**62 - 1)", "TOP": "2**62 - 1"}
    assert ran(tmp_path, "plain", "--set", f"top={2**62 - 1}", **most).exit_code == 0


@pytest.mark.parametrize("value", ["4611686018427387904", "-4611686018427387905", "9" * 5000, "1e3", "x\x1b[31m"])
def test_a_constant_that_is_given_anything_is_refused_in_one_short_message(value: str) -> None:
    result = fencepost(*KIP320, "--set", f"replicas={value}")
    assert (result.exit_code, result.stdout, len(result.stderr) < 400) == (2, "", True)
    assert result.stderr.startswith("fencepost: ")
    assert "\x1b" not in result.stderr
