"""Whatever an engine would get wrong in silence is refused, with the place, the cause and what to write instead."""

from __future__ import annotations

import ast
from dataclasses import replace
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any

import fencepost.explorers.program.subset as language
import pytest
from fencepost.explorers.program.subset.program import check
from fencepost.model.language import (
    Array,
    Bag,
    Constants,
    InFlight,
    Per,
    Range,
    Record,
    Size,
    action,
    always,
    bound,
    choice,
    step,
)
from fencepost.model.language.domains import domain_of
from fencepost.model.language.errors import ModelError
from fencepost.model.language.records import fields

from tests.helpers import refusal
from tests.refusals.schema import C, Message, Small, State, machine


@pytest.mark.parametrize("item", refusal.all_refusals(), ids=lambda item: item.title)
def test_the_whole_message_of_a_refusal_is_as_written(item: refusal.Refusal) -> None:
    assert refusal.message_for(item.model)[0] == item.message


WAYS = {"refuse", "refuse_name"}


def test_every_refusal_of_the_subset_checker_is_shown() -> None:
    places = set()
    for item in refusal.all_refusals():
        places.update(refusal.message_for(item.model)[1])
    missing = []
    for path in sorted(Path(next(iter(language.__path__))).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):  # noqa: TID251 (one thread)
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in WAYS:
                continue
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            if not any(name == path.name and line in lines for name, line in places):
                missing.append(f"{path.name}:{node.lineno} {ast.unparse(node.args[1])}")
    assert missing == []


def nothing(s: State, c: C) -> None:
    """Nothing happens."""


def with_number(s: State, c: C, number: int) -> None:
    """Nothing happens."""


def test_the_state_must_have_the_bag_that_a_message_is_drawn_from() -> None:
    act = action(number=InFlight("boxx"))(with_number)
    with pytest.raises(ModelError) as caught:
        check(machine(act=act))
    assert str(caught.value) == (
        "tests/unit/explorers/test_language_errors.py:64: action with_number: "
        "InFlight('boxx') for 'number': the state has no such bag. "
        "Did you mean 'box'? Bags are: box, outbox.\n  def with_number(s: State, c: C, number: int) -> None:\n"
        f"  {'^' * 53}"
    )


def test_a_property_of_a_message_needs_its_bag_too() -> None:
    def judge(before: State, after: State, c: C, number: int) -> bool:
        return True

    with pytest.raises(
        ModelError, match=r"action with_number: InFlight\('count'\) for 'number': the state has no such bag\."
    ):
        check(machine(), (step(on=action(number=InFlight("count"))(with_number))(judge),))


def test_a_bag_inside_a_record_is_refused() -> None:
    inner = type("Inner", (Record,), {"__annotations__": {"box": Annotated[Bag[Message], Size(2)]}})
    outer = type("Outer", (Record,), {"__annotations__": {"inner": inner}})
    with pytest.raises(ModelError) as caught:
        check(replace(machine(), state=outer))
    assert str(caught.value) == (
        "Inner.box: a bag must be a field of the state itself: "
        "write one there, whose messages have a field such as `to`."
    )


def test_a_field_spelt_as_a_constant_does_not_say_how_long_a_range_is() -> None:
    def judge(s: Any, c: C) -> bool:
        return max(x for x in range(s.replicas)) < 5

    spelt = type("Spelt", (Record,), {"__annotations__": {"replicas": Annotated[int, Range(0, 3)]}})
    with pytest.raises(ModelError, match=r"max\(\) may have nothing to choose from"):
        check(replace(machine(), state=spelt), (always(judge),))


def test_two_actions_of_one_name_are_refused() -> None:
    with pytest.raises(ModelError) as caught:
        check(machine(one=action()(nothing), other=action()(nothing)))
    assert (
        str(caught.value) == "two actions are named 'nothing': counts and traces distinguish them by name. Rename one."
    )


def test_two_properties_of_one_name_are_refused() -> None:
    def judge(s: State, c: C) -> bool:
        return s.flag

    with pytest.raises(ModelError, match=r"^two properties are named 'judge': "):
        check(machine(), (always(judge), always(judge)))


@pytest.mark.parametrize(
    ("annotation", "says"),
    [
        (
            int,
            (
                "int is not a field type: give it its bounds, as in "
                "Annotated[int, Range(0, 3)] or Annotated[int, Index(C.brokers)]."
            ),
        ),
        (
            list[int],
            (
                "list[int] is not a field type: write Annotated[Array[element], "
                "Size(n)], of a fixed length, or Per(Broker) for"
            ),
        ),
        (Annotated[int, "anything"], "this is not a field type: write a domain alias, bool, an IntEnum, a record"),
        (
            Array[Message],
            "Array[tests.refusals.schema.Message] is not a field type: say how long it is: Annotated[Array[tests.",
        ),
    ],
    ids=str,
)
def test_a_field_without_a_domain_is_refused(annotation: Any, says: str) -> None:
    made = type("Wrong", (Record,), {"__annotations__": {"field": annotation}})
    with pytest.raises(ModelError) as caught:
        fields(made)
    assert str(caught.value).startswith(f"Wrong.field: {says}")


def test_an_enum_with_gaps_is_refused() -> None:
    made = type("Wrong", (Record,), {"__annotations__": {"field": IntEnum("Mood", {"CALM": 0, "BUSY": 2})}})
    with pytest.raises(ModelError) as caught:
        fields(made)
    assert str(caught.value) == "enum Mood has no member for 1: number its members without gaps."


@pytest.mark.parametrize("members", [{"CALM": 0, "BUSY": 2}, {"BUSY": 1, "WILD": 2}, {"CALM": 0, "ODD": -1}], ids=str)
def test_a_choice_whose_enum_is_not_numbered_from_0_is_refused(members: dict[str, int]) -> None:
    with pytest.raises(ModelError) as caught:
        choice(next(iter(IntEnum("Mood", members))), meaning="how it goes")
    assert str(caught.value) == "enum Mood is a choice (how it goes): number its members from 0 without gaps."


class Mood(IntEnum):
    CALM = 0
    BUSY = 1

    def __lt__(self, other: object) -> bool:
        return int(self) > int(other)


@pytest.mark.parametrize(
    "use", [lambda: domain_of(Mood), lambda: choice(Mood.CALM, meaning="how it goes")], ids=["domain", "choice"]
)
def test_an_enum_with_operators_of_its_own_is_refused(use: Any) -> None:
    with pytest.raises(ModelError) as caught:
        use()
    assert (
        str(caught.value)
        == "enum Mood defines __lt__, and engines have the operators of whole numbers alone: remove it."
    )


def test_a_model_file_with_postponed_annotations_is_refused() -> None:
    made = type("Wrong", (Record,), {"__annotations__": {"field": "bool"}})
    with pytest.raises(ModelError) as caught:
        fields(made)
    assert (
        str(caught.value) == "Wrong.field: a model file must not use `from __future__ import annotations`: take it out."
    )


def test_an_action_whose_parameters_have_no_domains_is_refused() -> None:
    with pytest.raises(ModelError) as caught:
        action(numbr=Small)(with_number)
    assert str(caught.value) == (
        "action with_number takes number, and @action() gives numbr a domain: write @action(number=...), "
        "the same parameters in the same order."
    )


def test_a_parameter_whose_domain_is_none_is_refused() -> None:
    with pytest.raises(ModelError) as caught:
        action(number=int)(with_number)
    assert str(caught.value) == (
        "action with_number: int is not a domain for parameter 'number': "
        "write an alias such as Annotated[int, Index(C.brokers)], "
        "Range(0, 3), bool, an IntEnum, or InFlight('...') for a message of that bag."
    )


def test_a_step_property_takes_two_states() -> None:
    def judge(s: State, c: C) -> bool:
        return s.flag

    with pytest.raises(ModelError) as caught:
        step()(judge)
    assert str(caught.value) == (
        "property judge: the first parameters must be ['before', "
        "'after'], not ['s', 'c']: write def judge(before, after, c), or "
        "@always for what must hold in each state."
    )


def test_a_state_property_takes_one_state() -> None:
    def judge(before: State, after: State, c: C) -> bool:
        return before.flag

    with pytest.raises(ModelError) as caught:
        always(judge)
    assert str(caught.value) == "property judge: it reads two states, so it is a step property: use @step()."


def test_a_step_property_takes_the_parameters_of_its_action() -> None:
    def judge(before: State, after: State, c: C, size: int) -> bool:
        return before.flag

    with pytest.raises(ModelError) as caught:
        step(on=action(number=Small)(with_number))(judge)
    assert str(caught.value) == (
        "property judge takes size, and is given number: write "
        "@step(on=with_number, size=...) for its parameters, or take those that "
        "it is given."
    )


def test_an_array_by_something_that_is_no_index_is_refused() -> None:
    with pytest.raises(ModelError) as caught:
        Per(Annotated[int, Range(0, 3)])
    assert str(caught.value) == (
        "Per() takes an alias of an Index, and was given a Range: write Size(n) for another length."
    )


def test_a_constant_named_as_something_of_the_language_is_refused() -> None:
    with pytest.raises(ModelError) as caught:
        type("C", (Constants,), {"values": bound(1, low=0, high=2, meaning="a name that is taken")})
    assert str(caught.value) == "constants C: the name 'values' is taken by the language: use another."


def test_constants_cannot_be_assigned() -> None:
    c = C()
    with pytest.raises(ModelError) as caught:
        c.limit = 2
    assert str(caught.value) == "constant 'limit' cannot be assigned: constants are fixed for a run."
