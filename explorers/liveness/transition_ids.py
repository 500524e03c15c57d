"""Steps as numbers: the action with the values of its parameters, so that a graph can keep one number for each edge.

A message is identified by those of its fields that some promise of fairness is about, `each="m"` by all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from fencepost.explorers.native.llvm.types import Struct, number
from fencepost.explorers.native.memory_layout import ends_of, extent
from fencepost.model.language.domains import NONE, InFlight
from fencepost.model.language.errors import ModelError
from fencepost.model.language.records import ArrayOf, BagOf, Nested, Scalar, fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fencepost.explorers.native.layout import Layout
    from fencepost.explorers.native.llvm.builder import Builder
    from fencepost.explorers.native.llvm.types import Memory, Value
    from fencepost.explorers.native.lower.module import Module
    from fencepost.explorers.program.ir.nodes import Slot
    from fencepost.explorers.program.ir.program import Action
    from fencepost.model.language.actions import Property
    from fencepost.model.language.domains import Domain
    from fencepost.model.language.interpreter import Step
    from fencepost.model.language.machine import Machine
    from fencepost.model.language.records import Record

MOST = 1 << 62


class Part(NamedTuple):
    """One value in a number: its name, the path to it in a message, its least value, how many."""

    param: str
    text: str
    way: tuple[int, ...] | None
    low: int
    radix: int


class StepMeaning(NamedTuple):
    """The meaning of a number: an action, and by parameter or message field its value."""

    action: str
    values: Mapping[str, int]

    def of(self, name: str) -> tuple[int, ...]:
        """Return the value of a parameter or message field, or those of all fields of a message."""
        if name in self.values:
            return (self.values[name],)
        return tuple(value for key, value in self.values.items() if key.startswith(f"{name}."))


@dataclass(frozen=True)
class TransitionIds:
    """How the steps of a machine are numbered."""

    parts: Mapping[str, tuple[Part, ...]]
    """By action."""
    first: Mapping[str, int]
    """The least number of each action."""

    def value(self, build: Builder, module: Module, action: Action, values: Mapping[Slot, Value]) -> Value:
        """Return the number of a step in compiled code, from the values of the action's parameters."""
        slots = {slot.name: slot for slot in module.program.of(action).parameters}
        found = number(0)
        for part in self.parts[action.name]:
            value = values[slots[part.param]]
            for place in part.way or ():
                value = build.read(*_inner(build, value, place))
            found = build.wrapped(
                "+", build.wrapped("*", found, number(part.radix)), build.wrapped("-", value, number(part.low))
            )
        return build.wrapped("+", number(self.first[action.name]), found)

    def decoded(self, code: int) -> StepMeaning:
        name = max((name for name, first in self.first.items() if first <= code), key=lambda name: self.first[name])
        rest, found = code - self.first[name], dict[str, int]()
        for part in reversed(self.parts[name]):
            rest, value = divmod(rest, part.radix)
            found[part.text] = value + part.low
        return StepMeaning(name, dict(reversed(found.items())))

    def of(self, step: Step) -> int:
        values = dict(zip((name for name, _ in step.action.params), step.args, strict=True))
        code = 0
        for part in self.parts[step.action.name]:
            code = code * part.radix + _at(values[part.param], part.way or ()) - part.low
        return self.first[step.action.name] + code


def transition_ids_of(machine: Machine, properties: tuple[Property, ...], layout: Layout) -> TransitionIds:
    """Return how the steps of a machine are numbered, so that these properties can distinguish them."""
    parts: dict[str, tuple[Part, ...]] = {}
    first: dict[str, int] = {}
    total = 0
    wanted = {
        (item.name, name)
        for prop in properties
        for fair in prop.behaviour.fair
        for item in fair.actions
        for name in fair.each
    }
    for item in machine.actions:
        found: list[Part] = []
        for name, domain in item.params:
            if isinstance(domain, InFlight):
                record = dict(fields(machine.state))[domain.bag]
                assert isinstance(record, BagOf)
                names = {
                    each.partition(".")[2]
                    for action, each in wanted
                    if action == item.name and each.partition(".")[0] == name
                }
                found += [
                    part
                    for part in _leaves(name, record.record, layout)
                    if "" in names or part.text.split(".")[1] in names
                ]
            else:
                found.append(_part(name, name, None, domain, layout))
        parts[item.name], first[item.name] = tuple(found), total
        count = 1
        for part in found:
            count *= part.radix
        total += count
        if total > MOST:
            raise ModelError(
                f"action {item.label}: its parameters and messages have more than 2**62 values, too many to tell its "
                "steps apart for fairness: name the fields of the message that matter, as in each='m.to'."
            )
    return TransitionIds(parts, first)


def _inner(build: Builder, value: Value, place: int) -> tuple[str, Memory]:
    """Return the address and the type of a part of a message, by its place."""
    if isinstance(value.type, Struct):
        return build.field(value, list(value.type.fields)[place])
    return build.element(value, number(place))


def _at(value: Any, way: tuple[int, ...]) -> int:
    """Return the number at the end of a way through a message; 0 beyond the end of an array, as compiled code reads."""
    for place in way:
        if place >= len(value):
            return 0
        value = value[place]
    return int(value)


def _part(param: str, text: str, way: tuple[int, ...] | None, domain: Domain, layout: Layout) -> Part:
    (low, _), (_, high) = ends_of(domain, layout.rooms, layout.lows)
    if way is None and low == NONE:
        low = 0
    return Part(param, text, way, low, max(1, high - low + 1))


def _leaves(
    param: str, record: type[Record], layout: Layout, text: str = "", way: tuple[int, ...] = ()
) -> Iterator[Part]:
    for place, (name, field) in enumerate(fields(record)):
        label, here = f"{text or param}.{name}", (*way, place)
        if isinstance(field, Scalar):
            yield _part(param, label, here, field.domain, layout)
        elif isinstance(field, Nested):
            yield from _leaves(param, field.record, layout, label, here)
        elif isinstance(field, ArrayOf):
            for index in range(extent(field.length, layout.rooms, layout.lows)[1]):
                if isinstance(field.element, Scalar):
                    yield _part(param, f"{label}[{index}]", (*here, index), field.element.domain, layout)
                else:
                    yield from _leaves(param, field.element.record, layout, f"{label}[{index}]", (*here, index))
