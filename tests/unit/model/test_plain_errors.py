"""The plain semantics is strict: whatever is outside the schema raises an error with field, value and bound."""

from typing import Annotated, Any

import pytest
from fencepost.model.language import NONE, Range, Record
from fencepost.model.language.errors import DomainError, ModelError
from fencepost.model.language.records import Schema

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
State.values: NONE used as an index: it has 3 elements, numbered from 0.
s.replica[NONE]
State.replica: NONE used as an index: it has 2 elements, numbered from 0.
s.values[3]
State.values: index 3 is outside the array: it has 3 elements, numbered from 0.
s.replica[1].log[3] = s.replica[0].log[0]
Replica.log: index 3 is outside the array: it has 3 elements, numbered from 0.
s.values[-2]
State.values: index -2 is outside the array: it has 3 elements, numbered from 0.
s.values[0:2]
State.values: index slice(0, 2, None) is outside the array: it has 3 elements, numbered from 0.
s.values[0:2] = [1, 1]
State.values: index slice(0, 2, None) is outside the array: it has 3 elements, numbered from 0.
for number in range(4): s.box.add(number=number)
State.box: the bag is full (3 in flight). Raise the bound that sizes it.
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


def test_a_field_that_does_not_exist_is_not_read(s: Any) -> None:
    with pytest.raises(ModelError) as caught:
        s.replica[0].edn  # noqa: B018 (reading is the test)
    assert str(caught.value) == "record Replica has no field 'edn'. Did you mean 'end'?"


def test_a_field_that_does_not_exist_is_not_written(s: Any) -> None:
    with pytest.raises(ModelError) as caught:
        s.cuont = 1
    assert str(caught.value) == "record State has no field 'cuont'. Did you mean 'count'?"


@pytest.mark.parametrize("name", ["values", "box"])
def test_a_whole_array_or_bag_is_not_assigned(s: Any, name: str) -> None:
    with pytest.raises(ModelError) as caught:
        setattr(s, name, [])
    assert str(caught.value) == f"State.{name} is an array or a bag: change its elements, not the whole."


def test_a_domain_without_zero_is_refused() -> None:
    record = type("Wrong", (Record,), {"__annotations__": {"field": Annotated[int, Range(1, 3)]}})
    with pytest.raises(ModelError) as caught:
        Schema(record, C)
    assert "Wrong.field: its domain 1..3 excludes 0, which cleared records contain: start it at 0." in str(caught.value)


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
