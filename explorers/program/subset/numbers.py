"""Whether every number that a machine declares fits what all engines have: 62 bits and a sign."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.model.language.constants import MOST
from fencepost.model.language.domains import BitSet, Domain, Range, linear
from fencepost.model.language.errors import ModelError
from fencepost.model.language.records import ArrayOf, BagOf, Nested, Record, Scalar, fields

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.model.language.domains import Linear
    from fencepost.model.language.machine import Machine

BITS = MOST.bit_length()


def require_numbers(machine: Machine) -> None:
    """Raise ModelError for a domain that reaches beyond what a number is, for some values of the constants."""
    ends = {name: (int(item.low), int(item.high)) for name, item in machine.constants.declared().items()}
    for label, domain in (*domains_of(machine.state).items(), *_parameters(machine)):
        if isinstance(domain, BitSet):
            most = ends_of(domain.count, ends)[1]
            if most > BITS:
                raise ModelError(f"{label}: a set of up to {most} things does not fit a number: have {BITS} at most.")
            continue
        sums = [domain.low, domain.high] if isinstance(domain, Range) else list(domain.bounds({}))
        for end in sums:
            low, high = ends_of(end, ends)
            if low < -MOST or high > MOST:
                raise ModelError(
                    f"{label}: its domain has an end from {low} to {high}, which does not fit a number: numbers go "
                    f"from {-MOST} to {MOST}. Give its constants smaller ranges."
                )


def ends_of(value: Linear | int, ends: dict[str, tuple[int, int]]) -> tuple[int, int]:
    """Return the least and the greatest value of a sum, whatever the constants are."""
    lows, highs = ({name: pair[side] for name, pair in ends.items()} for side in (0, 1))
    return linear(value).span(lows, highs)


def domains_of(record: type[Record]) -> dict[str, Domain]:
    """Return the domains of the scalars of a record, and of the records inside it, by class and field."""
    found: dict[str, Domain] = {}
    for name, field in fields(record):
        item = field.element if isinstance(field, ArrayOf) else field
        if isinstance(item, Scalar):
            found[f"{record.__name__}.{name}"] = item.domain
        elif isinstance(item, Nested | BagOf):
            found |= domains_of(item.record)
    return found


def _parameters(machine: Machine) -> Iterator[tuple[str, Domain]]:
    for item in (machine.initial, *machine.actions):
        for name, domain in item.params:
            if isinstance(domain, Domain):
                yield f"parameter {name!r} of action {item.label}", domain
