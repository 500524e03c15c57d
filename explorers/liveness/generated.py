"""What is compiled for the graph of a machine: its steps with their numbers, and the predicates of properties.

They are two modules: one for the machine, which takes long to compile and serves all
properties, and one for properties.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fencepost.explorers.liveness.transition_ids import TransitionIds, transition_ids_of
from fencepost.explorers.native.compile import Kernels, Shapes, begin, told
from fencepost.explorers.native.generate import Source, source_of
from fencepost.explorers.native.layout import layout_of
from fencepost.explorers.native.lower.actions import Wanted
from fencepost.explorers.native.lower.machine import write_expand, write_marks
from fencepost.explorers.native.lower.module import Module
from fencepost.explorers.program.ir.translate import translate
from fencepost.invariants.protocols import PROTOCOLS

if TYPE_CHECKING:
    from fencepost.explorers.native.compile import Watching
    from fencepost.model.language.actions import Property
    from fencepost.model.language.constants import Constants
    from fencepost.model.language.machine import Machine


@dataclass(frozen=True)
class Compiled:
    """The compiled steps of a machine, and the compiled predicates of properties."""

    steps: Kernels
    predicates: Kernels
    codes: TransitionIds
    seconds: float


def family(machine: Machine, properties: tuple[Property, ...]) -> tuple[Property, ...]:
    """Return the properties that are compiled together: all of a known protocol's, so that others need no compiling."""
    known = PROTOCOLS.get(machine.name)
    if known is None or known.machine is not machine:
        return properties
    every = tuple(item for item in known.every_property if item.kind.over_behaviours)
    return every if all(item in every for item in properties) else properties


_WRITTEN: Shapes[tuple[Source, Source, TransitionIds]] = Shapes()


def sources(
    machine: Machine, constants: Constants, properties: tuple[Property, ...], *, normalize: bool
) -> tuple[Source, Source, TransitionIds]:
    """Return the two modules that judging these properties needs, and how steps are numbered."""
    properties = family(machine, properties)

    def write() -> tuple[Source, Source, TransitionIds]:
        layout = layout_of(machine.state, constants)
        codes = transition_ids_of(machine, properties, layout)
        program = translate(machine, properties)
        steps = Module(program, layout)
        write_expand(steps, Wanted(program.normalize if normalize else None, (), code=codes.value))
        predicates = Module(program, layout)
        write_marks(predicates, properties)
        return source_of(steps), source_of(predicates), codes

    return _WRITTEN.get(machine, constants, properties, (normalize,), write)


def prepare(
    machine: Machine, constants: Constants, properties: tuple[Property, ...], watch: Watching, *, normalize: bool
) -> None:
    """Compile what judging these properties needs, so that `compiled` takes no time after the search."""
    steps, predicates, _ = sources(machine, constants, properties, normalize=normalize)
    for what, source in (("the graph", steps), ("the conditions", predicates)):
        told(f"{what} of {machine.name}", constants, source, watch, begins=True)


def compiled(
    machine: Machine,
    constants: Constants,
    properties: tuple[Property, ...],
    *,
    normalize: bool,
    searched: float = math.inf,
) -> Compiled:
    """Return what judging these properties needs, cached or compiled now; `searched`: seconds of the search."""
    began = time.perf_counter()
    steps, predicates, codes = sources(machine, constants, properties, normalize=normalize)
    return Compiled(begin(steps, searched), begin(predicates, searched), codes, time.perf_counter() - began)
