"""Compiled machines: a model's kernels, and the kernels shared by all machines.

Each combination of machine and shape has one LLVM module, loaded from memory or disk or, failing that, compiled. If no
optimized code exists, a search starts with cheaply compiled code, and `tiers.py` replaces that code during the search.
"""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from fencepost.explorers.native.layout import Layout, layout_of
from fencepost.explorers.native.llvm.libraries import Kernel, Library, is_kept, library
from fencepost.explorers.native.llvm.objects import CHEAP, LEVEL, has_fast_bits
from fencepost.explorers.native.llvm.types import Lowered, Unit
from fencepost.explorers.native.lower.actions import Judged, Wanted
from fencepost.explorers.native.lower.bounds import Bounds
from fencepost.explorers.native.lower.machine import CODES, write_expand, write_judge
from fencepost.explorers.native.lower.module import Masks, Module
from fencepost.explorers.native.lower.shape import Shape
from fencepost.explorers.program.ir.nodes import Expression, Node, Require, Switch
from fencepost.explorers.program.ir.program import Action, Guard, Program, rebuilt
from fencepost.explorers.program.ir.ranges import with_ranges
from fencepost.explorers.program.ir.translate import translate
from fencepost.explorers.program.subset.program import Program as Checked
from fencepost.explorers.program.subset.program import check
from fencepost.explorers.running.interrupts import interruptible
from fencepost.model.language.actions import Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.domains import InFlight, evaluated
from fencepost.model.language.errors import MismatchError, UsageError
from fencepost.model.language.interpreter import MOST_COMBINATIONS
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import BagOf, fields
from fencepost.model.language.symmetry import Symmetry

MOST_SUCCESSORS = 1 << 28


@dataclass(frozen=True)
class Source:
    unit: Lowered
    layout: Layout
    shape: Shape
    rows: int
    """Position in the check array at which the data for rows begins."""
    guards: tuple[tuple[str, str], ...]
    """The action and the condition of every guard, in the order of the counters."""
    state_properties: tuple[Property, ...]
    step_properties: tuple[Property, ...]
    most_successors: int
    masks: Masks | None = None
    bounds: tuple[str, ...] = ()
    """Constants that are bounds. The counters for bounds follow those for guards: first those that count states, then
    those that count steps blocked by several bounds together.
    """
    counting: int | None = None
    """Position in the check array of the bit mask that selects the bounds to count."""
    general: "Source | None" = None
    """The general module that this module specializes, if this module is for one run's constants."""
    specialize: "Callable[[Constants], Source] | None" = None
    """Function that returns the module for one run's constants, with the same rows and counters."""

    @cached_property
    def counters(self) -> int:
        return len(self.guards) + 2 * len(self.bounds)

    @property
    def text(self) -> str:
        return self.unit.text

    def question(self, constants: Constants) -> str:
        layout = self.layout.at(evaluated(self.layout.depends, constants.values))
        return f"{self.text}\n{evaluated(self.shape.depends, constants.values)}\n{layout.leaves}"


def lowered(
    program: Program, constants: Constants, *, normalize: bool, masked: bool = False, symmetry: Symmetry | None = None
) -> Source:
    layout = layout_of(program.machine.state, constants)
    found = _lowered(program, layout, normalize=normalize, masked=masked, symmetry=symmetry)

    def specialize(given: Constants) -> Source:
        exact = layout_of(program.machine.state, given, exact=True)
        reachable = with_ranges(program, given.values, reachable=True)
        made = _lowered(reachable, exact, normalize=normalize, masked=False, symmetry=None)
        return replace(made, most_successors=found.most_successors, general=found)

    return found if masked or symmetry else replace(found, specialize=specialize)


def _lowered(program: Program, layout: Layout, *, normalize: bool, masked: bool, symmetry: Symmetry | None) -> Source:
    module = Module(with_switches(program) if masked else program, layout)
    masks = Masks(module) if masked else None
    bounds = module.bounds = Bounds(module) if program.bounds and masks is None else None
    steps = [item for item in program.asked if item.over_steps]
    judged = tuple(Judged(place, item, program.properties[item.name]) for place, item in enumerate(steps))
    canonical = ""
    if symmetry:
        from fencepost.explorers.native.lower.canonical import Canonical

        canonical = Canonical(module, symmetry).write()
    write_expand(module, Wanted(program.normalize if normalize else None, judged, masks, bounds, canonical))
    write_judge(module, [item for item in program.asked if not item.over_steps])
    return source_of(module, program.asked, masks, bounds)


def source_of(
    module: Module, properties: tuple[Property, ...] = (), masks: Masks | None = None, bounds: Bounds | None = None
) -> Source:
    return Source(
        module.lowered(),
        module.layout,
        module.shape,
        module.rows.place,
        tuple((guard.action, guard.text) for guard in module.program.guards),
        tuple(item for item in properties if not item.over_steps),
        tuple(item for item in properties if item.over_steps),
        most_successors(module),
        masks,
        () if bounds is None else module.program.bounds,
        None if bounds is None else bounds.counting,
    )


def most_successors(module: Module) -> int:
    """Return an upper bound on a state's number of successors; raise UsageError if it exceeds `MOST_SUCCESSORS`."""
    total = 0
    for action in module.program.actions:
        combinations = values = 1
        for parameter in action.parameters:
            if isinstance(parameter.domain, InFlight):
                field = dict(fields(module.program.machine.state))[parameter.domain.bag]
                assert isinstance(field, BagOf)
                combinations *= module.layout.extent(field.room)
            else:
                values *= module.shape.most(parameter.domain)
        combinations *= values
        total += combinations
        if total > MOST_SUCCESSORS:
            plain = ", or use `engine='plain'`" if values <= MOST_COMBINATIONS else ""
            raise UsageError(
                f"protocol {module.program.machine.name!r}: the parameters of action {action.name.replace('_', '-')!r} "
                f"have {combinations:,} combinations, but a compiled state has room for only {MOST_SUCCESSORS:,} "
                f"successors. Give them smaller domains{plain}."
            )
    return total


def with_switches(program: Program) -> Program:
    """Return a program with a `Switch` around every guard and every part of a guard. Actions that share a function need
    separate guards, so each action after the first gets a copy of the function.
    """
    functions = list(program.functions)
    actions: list[Action] = []
    for action in program.actions:
        function = program.of(action)
        if any(action.function == other.function for other in actions):
            function = replace(function, number=len(functions))
            functions.append(function)
        conditions = [switched(guard) for guard in action.guards]
        body = tuple(
            replace(item, condition=conditions[item.number]) if isinstance(item, Require) else item
            for item in function.body
        )
        functions[function.number] = replace(function, body=body)
        guards = (replace(guard, condition=made) for guard, made in zip(action.guards, conditions, strict=True))
        actions.append(replace(action, function=function.number, guards=tuple(guards)))
    return replace(program, functions=tuple(functions), actions=tuple(actions))


def switched(guard: Guard) -> Switch:
    numbers: dict[Node, int] = {part: number for number, part in enumerate(guard.parts, 1)}

    def change(node: Node) -> Node:
        inner = rebuilt(node, change)
        return _switch(guard, numbers[node], inner) if node in numbers and isinstance(inner, Expression) else inner

    return _switch(guard, 0, rebuilt(guard.condition, change))


def _switch(guard: Guard, part: int, condition: Expression) -> Switch:
    return Switch(
        guard.number, part, condition, at=condition.at, low=min(1, condition.low), high=max(1, condition.high)
    )


TEXTS = "packed", "nodes", "kernels"
"""Modules that `shared` compiles. Each module may call functions of the modules before it."""
MOST_SHAPES = 64
"""Maximum number of cached shapes. Without the cache, generating the code of a shape takes a fifth of a second."""
PER_CHARACTER = 2.7e-6
"""CPU seconds for optimizing a machine, per character of its IR (measured: 2.6 to 3.2 microseconds)."""
NAMED = "FENCEPOST_TIER"

NO_PARENT = 0xFFFFFFFF


class Run(NamedTuple):
    layout: Layout
    constants: np.ndarray[Any, Any]
    checks: np.ndarray[Any, Any]
    """The check array. Each worker has a copy."""


@dataclass(frozen=True)
class Kernels:
    source: Source
    module: Any
    level: int
    seconds: float
    memory: int
    """Peak memory, in bytes, of the process that compiled the code."""
    to_optimize: float
    """Estimated seconds to optimize the code."""

    @property
    def tier(self) -> str:
        return "cheap" if self.level == CHEAP else "exact" if self.source.general else "optimized"

    def under(self, constants: Constants) -> Run:
        return Run(self.layout(constants), self.constants(constants), self.checks(constants))

    def constants(self, constants: Constants) -> np.ndarray[Any, Any]:
        return np.array([int(value) for value in constants.values.values()], np.int64)

    def checks(self, constants: Constants) -> np.ndarray[Any, Any]:
        source = self.source
        found = np.array([0] * source.shape.FIRST + evaluated(source.shape.depends, constants.values), np.int64)
        data = self.layout(constants).packing(fast=has_fast_bits())
        found[source.rows : source.rows + len(data)] = data
        return found

    def serve(self, constants: Constants) -> bool:
        rooms = self.source.layout.rooms
        return all(int(value) <= rooms[name] for name, value in constants.values.items())

    def layout(self, constants: Constants) -> Layout:
        layout = self.source.layout
        if not self.serve(constants):
            raise MismatchError(
                f"the compiled code has room for {dict(layout.rooms)}, but the constants are {constants}. This is a "
                "bug in Fencepost: please report it."
            )
        return layout.at(evaluated(layout.depends, constants.values))

    def must_judge(self, properties: tuple[Property, ...]) -> None:
        missing = [
            item.name for item in properties if item not in self.source.state_properties + self.source.step_properties
        ]
        if missing:
            raise MismatchError(
                f"{', '.join(missing)} was not compiled and cannot be checked. This is a bug in Fencepost: please "
                "report it."
            )


Made = TypeVar("Made")


class Shapes(Generic[Made]):
    """A cache of code by machine, properties and shape. Code is valid until a name that it reads is rebound."""

    def __init__(self) -> None:
        self._kept: dict[tuple[object, ...], tuple[Made, Checked]] = {}
        """The checked program keeps its machine and properties alive, so that no other object can reuse their ids."""

    def get(
        self,
        machine: Machine,
        constants: Constants,
        properties: tuple[Property, ...],
        flags: tuple[int, ...],
        make: Callable[[], Made],
    ) -> Made:
        asked = (id(machine), tuple(map(id, properties)), tuple(constants.rooms.items()), flags)
        if asked not in self._kept or not self._kept[asked][1].is_current():
            made = make()
            while len(self._kept) >= MOST_SHAPES:
                del self._kept[next(iter(self._kept))]
            self._kept[asked] = made, check(machine, properties)
        return self._kept[asked][0]


_WRITTEN: Shapes[Source] = Shapes()


def generate(
    machine: Machine,
    constants: Constants,
    properties: tuple[Property, ...],
    *,
    normalize: bool,
    masked: bool = False,
    symmetry: bool = False,
) -> Source:
    """Return the module for a machine and the shape of these constants. If `masked`, the machine's guards can be turned
    off at run time. If `symmetry` is set, new states are canonicalized.
    """
    properties = tuple(item for item in properties if not item.kind.over_behaviours)

    def write() -> Source:
        program = translate(machine, properties)
        if renaming is not None:
            from fencepost.explorers.program.ir.interchange import require_interchangeable

            require_interchangeable(program, constants)
        return lowered(program, constants, normalize=normalize, masked=masked, symmetry=renaming)

    renaming = Symmetry(machine, constants) if symmetry else None
    return _WRITTEN.get(machine, constants, properties, (normalize, masked, renaming.count if renaming else 0), write)


@cache
def shared() -> dict[str, Kernel]:
    packed, nodes, kernels = (Path(__file__).with_name(f"{name}.py").read_text() for name in TEXTS)
    units = Unit(packed), Unit(nodes, packed), Unit(kernels, packed + nodes, codes=CODES)
    return {name: made for unit in units for name, made in library(unit)[0].kernels().items()}


def is_cached(source: Source) -> bool:
    return is_kept(source.unit)


def compiled(
    machine: Machine,
    constants: Constants,
    properties: tuple[Property, ...],
    *,
    normalize: bool = True,
    masked: bool = False,
) -> Kernels:
    return load(generate(machine, constants, properties, normalize=normalize, masked=masked))


def load(source: Source, level: int = LEVEL) -> Kernels:
    return bound(source, library(source.unit, level)[0], level)


def bound(source: Source, found: Library, level: int) -> Kernels:
    code = SimpleNamespace(**shared(), **found.kernels())
    return Kernels(source, code, level, found.seconds, found.memory, seconds_to_optimize(source))


class Tier(StrEnum):
    CHEAP = "cheap"
    OPTIMIZED = "optimized"
    EXACT = "exact"
    SWAP = "swap"


def forced() -> Tier | None:
    given = os.environ.get(NAMED, "")
    if given and given not in set(Tier):
        raise UsageError(f"{NAMED} is {given!r}, which is not a tier. The tiers are: {', '.join(Tier)}.")
    return Tier(given) if given else None


def is_ready(source: Source) -> bool:
    tier = forced()
    cheap = tier not in (Tier.OPTIMIZED, Tier.EXACT) and is_kept(source.unit, CHEAP)
    return cheap or (tier is not Tier.CHEAP and is_cached(source))


def begin(source: Source, seconds: float = 0.0) -> Kernels:
    """Return the first kernels of a search: optimized code if it exists, otherwise cheaply compiled code. If the search
    is expected to take longer (`seconds`) than optimizing its code, the code is optimized first.
    """
    tier = forced()
    if tier in (Tier.OPTIMIZED, Tier.EXACT) or (
        tier is None and (seconds > seconds_to_optimize(source) or is_cached(source))
    ):
        return load(source)
    return load(source, CHEAP)


def as_forced(kernels: Kernels, constants: Constants) -> Kernels:
    """Return code compiled for exactly these constants if the environment requests it, otherwise the given kernels."""
    specialize = kernels.source.specialize
    if forced() is not Tier.EXACT or specialize is None:
        return kernels
    return load(specialize(constants), LEVEL)


def seconds_to_optimize(source: Source) -> float:
    return len(source.unit.text) * PER_CHARACTER


class Watching(Protocol):
    def compiling(self, name: str) -> AbstractContextManager[None]: ...

    def compiled(self, name: str, seconds: float) -> None: ...

    def optimized(self, name: str, seconds: float) -> None: ...


def compile_watched(
    name: str, constants: Constants, source: Source, watch: Watching, *, begins: bool = False
) -> Kernels:
    """Return a module's kernels; notify the watcher before compiling. `begins` is true at the start of a search."""
    make: Callable[[Source], Kernels] = begin if begins else load
    if is_ready(source) if begins else is_cached(source):
        return make(source)
    sized = constants.sized(name)
    with watch.compiling(sized), interruptible(f"compiling {sized}"):
        made = make(source)
    watch.compiled(sized, made.seconds)
    return made
