"""Every field is in the key: a change anywhere makes another state, on every engine."""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fencepost.explorers.native.kernels import hash_row
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language import Machine
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.language.records import ArrayOf, BagOf, FieldType, Key, Nested, Record, Scalar, Schema, fields

from tests.helpers.engines import layout_under
from tests.helpers.parameters import few
from tests.machines import faulty, id_sequence, lamps, mailbox

SMALL = tuple(item.MACHINE for item in (id_sequence, lamps, mailbox, faulty))
EVERYTHING = [pytest.param(item, id=item.name) for item in (*(known.machine for known in PROTOCOLS.values()), *SMALL)]
STATES = 60
WHOLE = 5  # states in which every field is flipped; in later ones only fields that were missing before


def some_states(plain: Interpreter, count: int) -> list[Key]:
    """Return different states of random walks from the start."""
    choose = random.Random(7)  # noqa: S311 (no secret)
    found = dict.fromkeys(plain.initial_states())
    key = next(iter(found))
    for _ in range(10 * count):
        after = [item.after for item in plain.transitions(key)]
        key = choose.choice(after) if after else plain.initial_states()[0]
        found[key] = None
        if len(found) >= count:
            break
    return list(found)


def flips(schema: Schema, field: FieldType, value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield (path, value) for the value with one scalar changed to another one of its domain, in every way."""
    if isinstance(field, Scalar):
        low, high = schema.bounds(field.domain)
        others = {low, high, (low + high) // 2, value - 1, value + 1} - {value}
        yield from ((path, other) for other in sorted(others) if low <= other <= high)
    elif isinstance(field, Nested):
        for position, (name, inner) in enumerate(fields(field.record)):
            for at, other in flips(schema, inner, value[position], f"{path}.{name}"):
                yield at, (*value[:position], other, *value[position + 1 :])
    else:
        element = field.element if isinstance(field, ArrayOf) else Nested(field.record)
        for position, item in enumerate(value):
            for at, other in flips(schema, element, item, f"{path}[{position}]"):
                changed = (*value[:position], other, *value[position + 1 :])
                yield at, tuple(sorted(changed)) if isinstance(field, BagOf) else changed
        if isinstance(field, BagOf) and value:
            yield f"{path} less one", value[1:]
            if len(value) < schema.length(field):
                yield f"{path} and an equal one", tuple(sorted((*value, value[0])))


def scalars(schema: Schema, record: type[Record], path: str = "") -> Iterator[str]:
    """Yield the path of every scalar of a record that has more than one value, without indices."""
    for name, field in fields(record):
        element = field.element if isinstance(field, ArrayOf) else field
        if not isinstance(element, Scalar):
            yield from scalars(schema, element.record, f"{path}.{name}")
        elif schema.bounds(element.domain)[0] < schema.bounds(element.domain)[1]:
            yield f"{path}.{name}"


def plain_hash(row: Any) -> int:
    """Return the hash of the native engine's kernels, run as plain Python."""
    with np.errstate(over="ignore"):
        return int(hash_row(row.view(np.uint64).reshape(1, -1), 0))


EVERY_FIELD = {
    "replication": {"brokers": 2, "late_answers": 2, "elections": 3, "expirations": 1},
    "quorum": {"late_fetches": 1, "fetch_timeouts": 1, "listeners": 1, "registration_timeouts": 1, "updates": 1},
    "controller-failover": {"resends": 2},
}
"""Constants under which a machine's states use every field, if the usual ones do not suffice."""


@pytest.mark.parametrize("machine", few(EVERYTHING, 6))
def test_another_value_in_any_field_makes_another_key_row_and_hash(machine: Machine) -> None:
    constants = machine.set_constants(EVERY_FIELD.get(machine.name, {}))
    plain, layout = Interpreter(machine, constants), layout_under(machine, constants)
    flipped = set()
    for number, key in enumerate(some_states(plain, STATES)):
        row = layout.encode([key])
        known = {key: plain_hash(row)}
        for path, other in flips(plain.schema, Nested(machine.state), key, ""):
            field = "".join(part.split("]")[-1] for part in path.split("["))
            if number > WHOLE and field in flipped:
                continue
            flipped.add(field)
            changed = layout.encode([other])
            assert other != key, path
            assert plain.schema.key(plain.schema.restore(other)) == other, path
            assert changed.tobytes() != row.tobytes(), path
            assert layout.decode(changed[0]) == other, path
            known[other] = plain_hash(changed)
        assert len(set(known.values())) == len(known)
    missing = set(scalars(plain.schema, machine.state)) - flipped
    assert not missing, f"no state has these fields to flip: {missing}"
