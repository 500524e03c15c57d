"""The plain semantics is strict: whatever is outside the schema is an error that names the field, the value and the
bound."""

from collections.abc import Callable
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


def store_high(s: Any) -> None:
    s.count = 4


def store_low(s: Any) -> None:
    s.maybe = -2


def store_flag(s: Any) -> None:
    s.flag = 2


def store_enum(s: Any) -> None:
    s.phase = 2


def store_element(s: Any) -> None:
    s.values[1] = 4


def store_nested(s: Any) -> None:
    s.replica[1].log[2].epoch = -1


def index_none(s: Any) -> None:
    s.values[NONE] = 1


def index_none_read(s: Any) -> Any:
    return s.replica[NONE]


def index_above(s: Any) -> Any:
    return s.values[3]


def index_above_store(s: Any) -> None:
    s.replica[1].log[3] = s.replica[0].log[0]


def index_below(s: Any) -> Any:
    return s.values[-2]


def index_slice(s: Any) -> Any:
    return s.values[0:2]


def index_slice_store(s: Any) -> None:
    s.values[0:2] = [1, 1]


def fill_bag(s: Any) -> None:
    for number in range(4):
        s.box.add(number=number)


def remove_absent(s: Any) -> None:
    m = s.box.add(number=1)
    m.seen[1] = 2
    s.box.remove(m)
    s.box.remove(m)


def store_message(s: Any) -> None:
    s.box.add(number=4)


def store_wrong_record(s: Any) -> None:
    s.latest = s.replica[0]


def store_number_for_record(s: Any) -> None:
    s.replica[0] = 1


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (store_high, "State.count: 4 is out of its domain 0..3."),
        (store_low, "State.maybe: -2 is out of its domain -1..3."),
        (store_flag, "State.flag: 2 is out of its domain 0..1."),
        (store_enum, "State.phase: 2 is out of its domain 0..1."),
        (store_element, "State.values[1]: 4 is out of its domain 0..3."),
        (store_nested, "Entry.epoch: -1 is out of its domain 0..3."),
        (store_message, "Message.number: 4 is out of its domain 0..3."),
        (index_none, "State.values: NONE used as an index: it has 3 elements, numbered from 0."),
        (index_none_read, "State.replica: NONE used as an index: it has 2 elements, numbered from 0."),
        (index_above, "State.values: index 3 is outside the array: it has 3 elements, numbered from 0."),
        (index_above_store, "Replica.log: index 3 is outside the array: it has 3 elements, numbered from 0."),
        (index_below, "State.values: index -2 is outside the array: it has 3 elements, numbered from 0."),
        (
            index_slice,
            "State.values: index slice(0, 2, None) is outside the array: it has 3 elements, numbered from 0.",
        ),
        (
            index_slice_store,
            "State.values: index slice(0, 2, None) is outside the array: it has 3 elements, numbered from 0.",
        ),
        (fill_bag, "State.box: the bag is full (3 in flight). Raise the bound that sizes it."),
        (remove_absent, "State.box: there is no message Message(number=1, seen=[0, 2]) in flight to remove."),
        (
            store_wrong_record,
            (
                "State.latest: Replica(log=[Entry(id=0, epoch=0), Entry(id=0, epoch=0), Entry(id=0, epoch=0)], end=0, "
                "ghost_acked=0) was stored where a Message belongs."
            ),
        ),
        (store_number_for_record, "State.replica: 1 was stored where a Replica belongs."),
    ],
    ids=lambda item: getattr(item, "__name__", ""),
)
def test_a_value_outside_its_domain_or_array_is_an_error(s: Any, act: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(DomainError) as caught:
        act(s)
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
    assert "Wrong.field: its domain 1..3 lacks 0, which cleared records hold: begin it at 0." in str(caught.value)


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
