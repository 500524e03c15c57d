"""Every value of a model can be written into traces and read again: walks over a machine of odd names and values."""

import json
import random
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.render import FORMATS, render
from fencepost.counterexamples.replay import replay, rewrite, write
from fencepost.counterexamples.trace import Trace, starting_points
from fencepost.explorers.program.removal import guards
from fencepost.invariants.protocols import Protocol
from fencepost.model.language.domains import BitSet, Flag, Member
from fencepost.model.language.errors import DisabledError, DomainError
from fencepost.model.language.interpreter import Step
from fencepost.model.language.records import ArrayOf, Key, Nested, Record, Scalar, fields

from tests.helpers.parameters import few
from tests.machines import dial, oddments

FOUND = Protocol(oddments.MACHINE, oddments.PROPERTIES)


def walked(seed: int, **changed: Any) -> Trace:
    draw = random.Random(seed)  # noqa: S311 (reproducible, not secret)
    values = {
        "plätze": draw.randint(1, 3), "none": draw.choice((0, 0, 2)), "lowest": draw.randint(-9, -2),
        "schalter": draw.random() < 0.5,
    }  # fmt: skip
    constants = oddments.MACHINE.set_constants(values)
    trace = Trace("Alles ist anders", FOUND, constants, None, (), recorded="t-0, offsets 1 to 9")
    trace = replace(trace, **changed)
    plain = trace.interpreter()
    start, state = draw.choice(list(starting_points(plain)))
    steps: list[Step] = []
    for _ in range(60):
        step = draw.choice(list(plain.steps(draw.choice(plain.machine.actions), state)) or [None])
        with suppress(DisabledError, DomainError):
            if step is not None:
                state = plain.apply(state, step).after
                steps.append(step)
    return replace(trace, steps=tuple(steps[:12]), initial=start.args)


def goes_round(trace: Trace, file: Path) -> None:
    """Assert that a trace survives writing and reading, with its states in every format."""
    made = write(file, trace)
    found = read(file, lambda _: FOUND).trace
    assert replace(found, steps=(), removed=trace.removed) == replace(trace, steps=())
    read_back, taken = ([(step.action.name, step.args) for step in steps] for steps in (found.steps, trace.steps))
    assert read_back == taken
    again = replay(file, lambda _: FOUND)
    assert (again.path.states, again.text) == (made.path.states, file.read_text(encoding="utf-8"))
    assert rewrite(file, lambda _: FOUND).text == made.text
    data = json.loads(render("itf", again))
    last = len(data["states"])
    schema = made.trace.interpreter().schema
    states = [from_itf(schema, oddments.Office, state) for state in data["states"]]
    assert states == list(made.path.states[:last])
    for form in FORMATS:
        assert render(form, again)


def from_itf(schema: Any, record: type[Record], data: Any) -> Key:
    return tuple(_value(schema, field, data[name]) for name, field in fields(record))


def _value(schema: Any, field: Any, data: Any) -> Any:
    match field:
        case Scalar(domain=Flag()):
            return int(data)
        case Scalar(domain=Member(enum=enum)):
            return next(int(item) for item in enum if Member(enum).show(item) == data)
        case Scalar(domain=BitSet()):
            return sum(1 << int(item["#bigint"]) for item in data["#set"])
        case Scalar():
            return int(data["#bigint"])
        case Nested():
            return from_itf(schema, field.record, data)
        case ArrayOf():
            found = [_value(schema, field.element, item) for item in data]
            clear = 0 if isinstance(field.element, Scalar) else schema.zero(field.element.record)
            return tuple(found + [clear] * (schema.length(field) - len(found)))
        case _:
            items = [(from_itf(schema, field.record, item), int(count["#bigint"])) for item, count in data["#map"]]
            return tuple(sorted(key for key, count in items for _ in range(count)))


@pytest.mark.parametrize("seed", few(range(12), 6))
def test_a_history_of_odd_names_and_values_goes_round(seed: int, tmp_path: Path) -> None:
    goes_round(walked(seed), tmp_path / "größe.trace")


@pytest.mark.long
def test_what_is_left_out_of_the_model_or_the_folding_goes_round_too(tmp_path: Path) -> None:
    for number, guard in enumerate(guards(oddments.MACHINE)):
        goes_round(walked(number, removed=guard, normalize=False), tmp_path / "x.trace")


def test_minus_one_is_a_number_where_a_range_begins_below_it_and_earlier_traces_say_none(tmp_path: Path) -> None:
    found, file = Protocol(dial.MACHINE, dial.PROPERTIES), tmp_path / "dial.trace"
    turns = Step(dial.turn, (-1,)), Step(dial.turn, (-2,))
    made = write(file, Trace("It is turned", found, dial.C(), dial.stays_near, turns))
    assert all(text in made.text for text in ("turn to=-1\n", "at 0 -> -1\n"))
    file.write_text(made.text.replace("-1", "none"))
    assert rewrite(file, lambda _: found).text == made.text
