"""Graphs for liveness questions: step numbers, and calls to the compiled kernels with their working memory.

A step is an action together with its arguments. Steps are numbered, so that a graph stores one number per edge. A
message is identified by the fields that fairness constraints name, or by all fields for `each="m"`. See `kernels.py`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from fencepost.explorers.native.layout import Layout, ends_of, extent
from fencepost.explorers.native.llvm.builder import Builder
from fencepost.explorers.native.llvm.libraries import Kernel, address_of, library
from fencepost.explorers.native.llvm.types import Memory, Struct, Unit, Value, number
from fencepost.explorers.native.lower.module import Module
from fencepost.explorers.program.ir.nodes import Slot
from fencepost.explorers.program.ir.program import Action
from fencepost.model.language.actions import Property
from fencepost.model.language.domains import NONE, Domain, InFlight
from fencepost.model.language.errors import ModelError
from fencepost.model.language.interpreter import Step
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import ArrayOf, BagOf, Nested, Record, Scalar, fields

MOST = 1 << 62


class Part(NamedTuple):
    """A component of a step's number: its name, its path in a message, its least value, and its number of values."""

    param: str
    text: str
    way: tuple[int, ...] | None
    low: int
    radix: int


class StepMeaning(NamedTuple):
    action: str
    values: Mapping[str, int]

    def of(self, name: str) -> tuple[int, ...]:
        if name in self.values:
            return (self.values[name],)
        return tuple(value for key, value in self.values.items() if key.startswith(f"{name}."))


@dataclass(frozen=True)
class TransitionIds:
    parts: Mapping[str, tuple[Part, ...]]
    first: Mapping[str, int]
    """Smallest step number of each action."""

    def value(self, build: Builder, module: Module, action: Action, values: Mapping[Slot, Value]) -> Value:
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


ODD = 0x1E3779B97F4A7C15
RADIX = 0x2545F4914F6CDD1D


def hashed_ids_of(machine: Machine, layout: Layout) -> TransitionIds:
    """Return a numbering of a machine's steps that depends on the action's position and all arguments.

    The numbering does not depend on domains, so equal steps of machines with different domains have equal numbers.
    Steps with several arguments are hashed, so two steps can have the same number.
    """
    parts: dict[str, tuple[Part, ...]] = {}
    for item in machine.actions:
        found = [part for name, domain in item.params for part in _parts(machine, name, domain, layout)]
        parts[item.name] = tuple(part._replace(low=0, radix=RADIX) for part in found)
    return TransitionIds(parts, {item.name: place * ODD % MOST for place, item in enumerate(machine.actions)})


def _parts(machine: Machine, name: str, domain: Domain | InFlight, layout: Layout) -> list[Part]:
    if not isinstance(domain, InFlight):
        return [_part(name, name, None, domain, layout)]
    record = dict(fields(machine.state))[domain.bag]
    assert isinstance(record, BagOf)
    return list(_leaves(name, record.record, layout))


def transition_ids_of(machine: Machine, properties: tuple[Property, ...], layout: Layout) -> TransitionIds:
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
            names = {
                each.partition(".")[2]
                for action, each in wanted
                if action == item.name and each.partition(".")[0] == name
            }
            found += [
                part
                for part in _parts(machine, name, domain, layout)
                if part.way is None or "" in names or part.text.split(".")[1] in names
            ]
        parts[item.name], first[item.name] = tuple(found), total
        count = 1
        for part in found:
            count *= part.radix
        total += count
        if total > MOST:
            raise ModelError(
                f"action {item.label}: its parameters and messages have more than 2**62 values, too many to "
                "distinguish its steps for fairness: name the fields of the message that matter, as in each='m.to'."
            )
    return TransitionIds(parts, first)


def _inner(build: Builder, value: Value, place: int) -> tuple[str, Memory]:
    if isinstance(value.type, Struct):
        return build.field(value, list(value.type.fields)[place])
    return build.element(value, number(place))


def _at(value: Any, way: tuple[int, ...]) -> int:
    """Return the number at a path in a message; like compiled code, return 0 beyond the end of an array."""
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


Array = np.ndarray[Any, Any]


class Graph:
    """A graph and a question in the form that kernels expect: addresses of arrays, which this object keeps alive.

    Arrays `offsets` (with an extra last entry) and `marks` are indexed by state. Arrays `targets`, `classes` and, if
    not empty, `by_edge` are indexed by edge. Arrays `allowed` (flags) and `costs` are indexed by class.
    """

    def __init__(
        self, edges: tuple[Array, Array, Array], allowed: Array, marks: Array, costs: Array, by_edge: Array
    ) -> None:
        kinds = (np.int64, np.int32, np.int32, np.uint8, np.uint8, np.int64, np.int64)
        found = zip((*edges, allowed, marks, costs, by_edge), kinds, strict=True)
        self._held = [np.ascontiguousarray(array, kind) for array, kind in found]
        self.states, self.edges = len(edges[0]) - 1, len(edges[1])
        self.data = _addresses(self._held, len(by_edge))


@dataclass(frozen=True)
class Fairness:
    """Bit masks: constraints satisfied by a class of edges, strong constraints, and constraints enabled in a state."""

    masks: Array
    strong: Array
    enabled: Array


def _addresses(arrays: Iterable[Array], *numbers: int) -> Array:
    return np.array([*map(address_of, arrays), *numbers], np.int64)


@cache
def graph_kernels() -> dict[str, Kernel]:
    found, _ = library(Unit(Path(__file__).with_name("kernels.py").read_text()))
    return found.kernels()


def intern(
    codes: Array, done: int, out: Array, keys: Array, numbers: Array, known: Array, count: int
) -> tuple[int, int]:
    counts = np.array([count, done], np.int64)
    graph_kernels()["intern"](codes, done, out, keys, numbers, known, counts)
    return int(counts[0]), int(counts[1])


def by_source(parents: Array, first: int, count: int, degrees: Array, place: Array) -> None:
    starts = np.empty(len(degrees) + 1, np.int64)
    graph_kernels()["by_source"](parents, first, count, degrees, starts, place)


def reach(graph: Graph, fairness: Fairness, group: Array, queue: Array, count: int) -> int:
    kernel = graph_kernels()["reach"]
    return int(kernel(graph.data, fairness.masks, group, fairness.enabled, queue, count))


def components(graph: Graph, nodes: Array, group: Array, component: Array, order: Array) -> int:
    room, cursor = np.empty((3, len(nodes)), np.int32), np.empty(len(nodes), np.int64)
    return int(graph_kernels()["components"](graph.data, nodes, group, component, order, room, cursor))


def promises(
    graph: Graph, fairness: Fairness, nodes: Array, component: Array, group: Array, numbers: range, fair: Array
) -> int:
    masks, enabled, strong = (
        np.ascontiguousarray(item) for item in (fairness.masks, fairness.enabled, fairness.strong)
    )
    words, found = masks.shape[1], len(numbers)
    happens, somewhere = (np.zeros((found, words), np.uint64) for _ in range(2))
    everywhere, verdicts = np.full_like(happens, 0xFFFFFFFFFFFFFFFF), np.zeros(found, np.uint8)
    judging = _addresses((masks, enabled, strong, happens, somewhere, everywhere, verdicts), numbers.start, words)
    return int(graph_kernels()["promises"](graph.data, judging, nodes, component, group, found, fair))


def depths(parents: Array, wanted: Array, depth: Array) -> None:
    graph_kernels()["depths"](parents, wanted, depth, np.empty(len(parents), np.int32))


def stems(graph: Graph, inside: Array, begins: Array, depth: Array, distance: Array, via: Array) -> None:
    graph_kernels()["stems"](graph.data, inside, begins, depth, distance, via, np.empty(len(inside), np.int32))


def walk(graph: Graph, fairness: Fairness, part: Array, ends: tuple[int, int], pending: Array, via: Array) -> int:
    """Return the last edge of a shortest walk, or -1 if none exists. The walk starts at `ends[0]` and ends at `ends[1]`
    or, if `ends[1]` is -1, at an edge or state that satisfies a pending constraint.
    """
    queue = np.empty(max(2, len(part)), np.int32)
    queue[:2] = ends
    both = np.array([pending, ~fairness.strong])
    return int(graph_kernels()["walk"](graph.data, part, fairness.masks, fairness.enabled, both, via, queue))


def spin(graph: Graph, nodes: Array, component: Array, inside: Array, distance: Array) -> int:
    return int(graph_kernels()["spin"](graph.data, nodes, component, inside, distance))


def dearest(graph: Graph, nodes: Array, component: Array, worst: Array) -> None:
    graph_kernels()["dearest"](graph.data, nodes, component, worst)


def dear_way(graph: Graph, component: Array, worst: Array, start: int, via: Array) -> int:
    queue = np.empty(len(component), np.int32)
    return int(graph_kernels()["dear_way"](graph.data, component, worst, start, via, queue))


def cheapest(graph: Graph, begins: Array) -> int:
    room = len(begins) + graph.edges
    done, spent, states = np.zeros(graph.states, np.uint8), np.empty(room, np.int64), np.empty(room, np.int32)
    return int(graph_kernels()["cheapest"](graph.data, begins, done, spent, states))
