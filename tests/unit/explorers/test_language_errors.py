"""Mistakes in a model are refused with the place, the cause, and what to write instead."""

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any

import fencepost.explorers.program.subset as language
import pytest
from fencepost.explorers.program.subset.program import check
from fencepost.model.language import Constants, Range, Record, action, always, bound, choice, step
from fencepost.model.language.domains import domain_of
from fencepost.model.language.errors import ModelError
from fencepost.model.language.records import fields

from tests import mistakes
from tests.helpers import refusal
from tests.refusals.schema import C, Small, State, machine


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


def holds(s: State, c: C) -> bool:
    return s.flag


def with_size(before: State, after: State, c: C, size: int) -> bool:
    return before.flag


def of_a_field(s: Any, c: C) -> bool:
    return max(x for x in range(s.replicas)) < 5


class Mood(IntEnum):
    CALM = 0
    BUSY = 1

    def __lt__(self, other: object) -> bool:
        return int(self) > int(other)


def record(name: str, **annotations: Any) -> Any:
    return type(name, (Record,), {"__annotations__": annotations})


def field(annotation: Any) -> Any:
    return lambda: fields(record("Wrong", field=annotation))


def spelt() -> None:
    check(replace(machine(), state=record("Spelt", replicas=Annotated[int, Range(0, 3)])), (always(of_a_field),))


OPERATORS = "enum Mood defines __lt__, but engines have only the operators of whole numbers: remove the definition."
Declare = Callable[[], object]
REFUSED: dict[str, tuple[Declare, str]] = {
    "a field spelt as a constant does not say how long a range is": (spelt, "*max() may be called without *"),
    "two actions have one name": (
        lambda: check(machine(one=action()(nothing), other=action()(nothing))),
        "two actions are named 'nothing': counts and traces distinguish them by name. Rename one.",
    ),
    "two properties have one name": (
        lambda: check(machine(), (always(holds), always(holds))),
        "two properties are named 'holds': *",
    ),
    "a field is annotated with anything": (
        field(Annotated[int, "anything"]),
        "Wrong.field: this is not a field type: write a domain alias, bool, an IntEnum, a record*",
    ),
    "an enum has operators of its own": (lambda: domain_of(Mood), OPERATORS),
    "a choice has operators of its own": (lambda: choice(Mood.CALM, meaning="how it goes"), OPERATORS),
    "the domain of a parameter is a type": (
        lambda: action(number=int)(with_number),
        (
            "action with_number: int is not a domain for parameter 'number': write an alias such as Annotated[int, "
            "Index(C.brokers)], Range(0, 3), bool, an IntEnum, or InFlight('...') for a message of that bag."
        ),
    ),
    "a step property takes other parameters than its action": (
        lambda: step(on=action(number=Small)(with_number))(with_size),
        (
            "property with_size takes size, but is given number: write @step(on=with_number, size=...), or "
            "change the function's parameters."
        ),
    ),
    "a constant has a name of the language": (
        lambda: type("C", (Constants,), {"values": bound(1, low=0, high=2, meaning="a name that is taken")}),
        "constants C: the name 'values' is taken by the language: use another name.",
    ),
    "this assigns to a constant": (
        lambda: setattr(C(), "limit", 2),
        "constant 'limit' cannot be assigned: constants are fixed for a run.",
    ),
}
REFUSED |= {
    f"a choice is an enum with {members}": (
        lambda members=members: choice(next(iter(IntEnum("Choice", members))), meaning="how it goes"),
        "enum Choice is a choice (how it goes): number its members from 0 without gaps.",
    )
    for members in ({"CALM": 0, "BUSY": 2}, {"BUSY": 1, "WILD": 2}, {"CALM": 0, "ODD": -1})
}


@pytest.mark.parametrize(("declare", "message"), REFUSED.values(), ids=REFUSED)
def test_a_declaration_is_refused_where(declare: Declare, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        declare()
    assert re.fullmatch(".*".join(map(re.escape, message.split("*"))), str(caught.value), re.DOTALL)


@pytest.mark.parametrize("item", mistakes.every(), ids=lambda item: item.title)
def test_the_whole_answer_to_a_mistake_is_as_written(item: mistakes.Mistake) -> None:
    assert mistakes.answer(item) == item.answer
