"""Writes what Numba compiles for the graph of a machine: its steps with their numbers, and the predicates of properties.

They are two modules: one for the machine, which takes long to compile and serves all properties, and one for properties.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from fencepost.explorers.liveness import kernels, ways
from fencepost.explorers.liveness.behaviours import Rows, Terms, analyse
from fencepost.explorers.liveness.codes import Codes, codes_of
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

_FIND = '''
@kernel
def find(words, hashes, order, first, last, table, stored, out, base):
    """Write the numbers of the states in order[first:last], `base` added; -1 for one that is not stored."""
    slots = np.uint64(table.shape[0])
    for position in range(first, last):
        if position + AHEAD < last:
            prefetch(table, home(hashes[order[position + AHEAD]], slots))
        n = order[position]
        tag = tagged(hashes[n], -1)
        slot = home(hashes[n], slots)
        out[n] = -1
        while table[slot] != 0:
            entry = table[slot]
            if entry & np.uint32(0xFF000000) == tag:
                index = np.int64(entry & np.uint32(0x00FFFFFF)) - 1
                same = True
                for word in range(WORDS):
                    if stored[index, word] != words[n, word]:
                        same = False
                        break
                if same:
                    out[n] = base + index
                    break
            slot += np.uint64(1)
            if slot == slots:
                slot = np.uint64(0)
'''


class Numbered(Module):
    """A module that writes the number of each step beside its successor, and finds successors among known states."""

    outputs = (*Module.outputs, "codes")

    def __init__(self, program: Program, checks: Checks, codes: Codes, *, normalize: bool) -> None:
        super().__init__(program, checks, (), normalize=normalize)
        self.codes = codes

    def more(self, item: Action, params: list[str]) -> list[str]:
        """Write the number of the step."""
        named = dict(zip((name for name, _ in item.params), params, strict=True))
        assert all(name == text for name, text in named.items())
        return [f"_codes[_n] = {self.codes.text(item)}"]

    def judge(self, states: list[tuple[Property, str]]) -> str:
        """Write the kernel that finds states, in the place of the one that judges them."""
        del states
        return _FIND

    def expand(self) -> str:
        """Write the kernels that compute successors, and the names of all that are to be compiled."""
        text = super().expand()
        names = [name.strip(" ,()") for name in text.rpartition("EXPANDS = ")[2].split(",") if name.strip(" ,()\n")]
        return f"{text}NAMES = {(*names, 'find', 'order_by_owner')}\n"


class Predicates(Module):
    """A module of the predicates of leads-to and at-most properties."""

    def text_of_predicates(self, properties: tuple[Property, ...]) -> str:
        """Return the kernels: `mark_k` writes 1 where `when` holds and 2 where `then` does, `cost_k` what steps cost."""
        names: list[str] = []
        kernels: list[str] = []
        for number, item in enumerate(properties):
            made = self.program.behaviours[item.name]
            args = "".join(f", args[{place}]" for place in range(len(item.behaviour.params)))
            when = f"{self.emitter.function(made.when)}(_e, s, c{args})" if made.when else "False"
            then = f"{self.emitter.function(made.then)}(_e, s, c{args})"
            names.append(f"mark_{number}")
            kernels.append(
                f"@kernel\ndef mark_{number}(_e, rows, first, last, c, args, out):\n    for n in range(first, last):\n"
                f"        s = rows[n]\n        found = 0\n        if {when}:\n            found += 1\n"
                f"        if {then}:\n            found += 2\n        out[n] = found\n"
                "        if _e[0] != 0:\n            _e[1] = n\n            return\n"
            )
            if made.cost:
                names.append(f"cost_{number}")
                kernels.append(
                    f"@kernel\ndef cost_{number}(_e, before, after, count, c, out):\n    for n in range(count):\n"
                    f"        out[n] = {self.emitter.function(made.cost)}(_e, before[n], after[n], c)\n"
                    "        if _e[0] != 0:\n            _e[1] = n\n            return\n"
                )
        return "\n\n".join([*self.emitter.texts, *kernels, f"NAMES = {tuple(names)}\n"])

    def body(self, kernels: str) -> str:
        """Return what stands below the head."""
        return "\n\n".join([kernels, self.text_of_predicates(self.properties)])


@dataclass(frozen=True)
class Compiled:
    """The compiled steps of a machine, and the compiled predicates of properties."""

    steps: Kernels
    predicates: Kernels
    codes: Codes
    seconds: float


def family(machine: Machine, properties: tuple[Property, ...]) -> tuple[Property, ...]:
    """Return the properties that are compiled together: all of a known protocol, so that asking for others compiles nothing."""
    known = PROTOCOLS.get(machine.name)
    if known is None or known.machine is not machine:
        return properties
    every = tuple(item for item in known.every_property if item.kind.over_behaviours)
    return every if all(item in every for item in properties) else properties


_WRITTEN: Shapes[tuple[Source, Source, Codes]] = Shapes()


def sources(
    machine: Machine, constants: Constants, properties: tuple[Property, ...], *, normalize: bool
) -> tuple[Source, Source, Codes]:
    """Return the two modules that judging these properties needs, and how steps are numbered."""
    properties = family(machine, properties)

    def write() -> tuple[Source, Source, Codes]:
        layout = layout_of(machine.state, constants)
        codes = codes_of(machine, properties, layout)
        program = check(machine, properties)
        steps = Numbered(program, Checks(program, layout.rooms, layout.lows), codes, normalize=normalize)
        predicates = Predicates(program, Checks(program, layout.rooms, layout.lows), properties, normalize=False)
        return source_of(steps, layout, compact=False), source_of(predicates, layout, compact=False), codes

    return _WRITTEN.get(machine, constants, properties, (normalize,), write)


def compiled(machine: Machine, constants: Constants, properties: tuple[Property, ...], *, normalize: bool) -> Compiled:
    """Return what judging these properties needs, from the cache or compiled now."""
    began = time.perf_counter()
    warm()
    steps, predicates, codes = sources(machine, constants, properties, normalize=normalize)
    return Compiled(load(steps, constants), load(predicates, constants), codes, time.perf_counter() - began)


@cache
def warm() -> None:
    """Compile what does not depend on a machine, by asking a graph of four states for every sort of answer.

    Numba keeps it beside the source, or in the user's cache if that may not be written.
    """
    rows = Rows(np.array([0, 2, 4, 4]), np.array([1, 2, 0, 2], np.int32), np.array([0, 1, 0, 1], np.int32))
    marks, begins, depth = np.array([1, 1, 2], np.uint8), np.zeros(1, np.int32), np.full(3, -1, np.int32)
    kernels.intern(
        np.zeros(1, np.int64), 0, np.zeros(1, np.int32), np.full(4, -1), np.zeros(4, np.int32), np.zeros(2, np.int64), 0
    )
    kernels.by_source(np.zeros(1, np.uint32), 0, 1, np.zeros(1, np.int64), np.zeros(1, np.int64))
    ways.depths(np.full(3, -1, np.int32), begins, depth)
    for promised, strong, costs in (((0, 0), 0, (0, 0)), ((1, 0), 0, (0, 0)), ((0, 1), 1, (0, 1)), ((0, 1), 1, (1, 0))):
        masks, strongs = np.array([[mask] for mask in promised], np.uint64), np.full(1, strong, np.uint64)
        analyse(rows, Terms(masks, strongs, np.ones(2, np.bool_), np.array(costs)), marks, begins, lambda _: depth)
