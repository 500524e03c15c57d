"""Writes what is compiled for the graph of a machine: its steps with their numbers, and the predicates of properties.

They are two modules: one for the machine, which takes long to compile and serves all properties, and one for properties.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fencepost.explorers.liveness.transition_ids import TransitionIds, transition_ids_of
from fencepost.explorers.native.checks import Checks
from fencepost.explorers.native.compile import Kernels, load
from fencepost.explorers.native.generate import Module, Source, source_of
from fencepost.explorers.native.layout import layout_of
from fencepost.explorers.native.shapes import Shapes
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language.subset import check

if TYPE_CHECKING:
    from fencepost.model.language.actions import Action, Property
    from fencepost.model.language.constants import Constants
    from fencepost.model.language.machine import Machine
    from fencepost.model.language.subset import Program


class Numbered(Module):
    """A module that writes the number of each step beside its successor."""

    outputs = (*Module.outputs, "codes")

    def __init__(self, program: Program, checks: Checks, codes: TransitionIds, *, normalize: bool) -> None:
        super().__init__(program, checks, (), normalize=normalize)
        self.codes = codes

    def more(self, item: Action, params: list[str]) -> list[str]:
        """Write the number of the step."""
        named = dict(zip((name for name, _ in item.params), params, strict=True))
        assert all(name == text for name, text in named.items())
        return [f"_codes[_n] = {self.codes.text(item)}"]

    def judge(self, states: list[tuple[Property, str]]) -> str:
        """Write nothing: states are judged by the search."""
        del states
        return ""


class Predicates(Module):
    """A module of the predicates of leads-to and at-most properties."""

    def text_of_predicates(self, properties: tuple[Property, ...]) -> str:
        """Return the kernels: `mark_k` writes 1 where `when` holds and 2 where `then` does, `cost_k` what steps cost."""
        kernels: list[str] = []
        for number, item in enumerate(properties):
            made = self.program.behaviours[item.name]
            args = "".join(f", args[{place}]" for place in range(len(item.behaviour.params)))
            when = f"{self.emitter.function(made.when)}(_e, s, c{args})" if made.when else "False"
            then = f"{self.emitter.function(made.then)}(_e, s, c{args})"
            kernels.append(
                f"@kernel\ndef mark_{number}(\n    _e: Checks, rows: Rows, first: I64, last: I64, c: Constants, args: I64p, out: U8p\n"
                ") -> None:\n    for n in range(first, last):\n"
                f"        s = rows[n]\n        found = 0\n        if {when}:\n            found += 1\n"
                f"        if {then}:\n            found += 2\n        out[n] = found\n"
                "        if _e[0] != 0:\n            _e[1] = n\n            return\n"
            )
            if made.cost:
                kernels.append(
                    f"@kernel\ndef cost_{number}(\n    _e: Checks, before: Rows, after: Rows, count: I64, c: Constants, out: I64p\n"
                    ") -> None:\n    for n in range(count):\n"
                    f"        out[n] = {self.emitter.function(made.cost)}(_e, before[n], after[n], c)\n"
                    "        if _e[0] != 0:\n            _e[1] = n\n            return\n"
                )
        return "\n\n".join([*self.emitter.texts, *kernels])

    def body(self) -> str:
        """Return what stands below the head."""
        return self.text_of_predicates(self.properties)


@dataclass(frozen=True)
class Compiled:
    """The compiled steps of a machine, and the compiled predicates of properties."""

    steps: Kernels
    predicates: Kernels
    codes: TransitionIds
    seconds: float


def family(machine: Machine, properties: tuple[Property, ...]) -> tuple[Property, ...]:
    """Return the properties that are compiled together: all of a known protocol, so that asking for others compiles nothing."""
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
        program = check(machine, properties)
        steps = Numbered(program, Checks(program, layout.rooms, layout.lows), codes, normalize=normalize)
        predicates = Predicates(program, Checks(program, layout.rooms, layout.lows), properties, normalize=False)
        return source_of(steps, layout), source_of(predicates, layout), codes

    return _WRITTEN.get(machine, constants, properties, (normalize,), write)


def compiled(machine: Machine, constants: Constants, properties: tuple[Property, ...], *, normalize: bool) -> Compiled:
    """Return what judging these properties needs, from the cache or compiled now."""
    began = time.perf_counter()
    steps, predicates, codes = sources(machine, constants, properties, normalize=normalize)
    return Compiled(load(steps), load(predicates), codes, time.perf_counter() - began)
