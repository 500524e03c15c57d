"""One state on both engines: successors, refusing guards and properties, compared."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from fencepost.explorers.native.compile import Kernels, compiled
from fencepost.explorers.native.expansion import count_bounds
from fencepost.explorers.native.layout import Layout, layout_of
from fencepost.explorers.native.search import bounds_reached
from fencepost.explorers.program.subset.program import check, guards_of
from fencepost.model.language import Constants, Kind, Machine, Property
from fencepost.model.language.bounds import DROPPED
from fencepost.model.language.domains import evaluated
from fencepost.model.language.errors import DisabledError
from fencepost.model.language.interpreter import Interpreter, Transition
from fencepost.model.language.records import Key

from tests.helpers.search import walk

UNDECIDED = 1 << 62
EVERY = 8
"""Of this many states on a walk one is also judged by the properties: on the plain semantics they cost the most."""


class Seen(NamedTuple):
    """An engine's answers about one state: its successors with repetition, in any order."""

    successors: tuple[bytes, ...]
    fired: tuple[int, ...]
    refused: tuple[int, ...]
    """By guard: the number of parameter values for which it was the first to refuse."""
    reached: tuple[tuple[str, ...], tuple[str, ...]]
    """The bounds reached in it: alone, and only together with others."""
    decided: tuple[str, ...]
    """The properties that the state, or a step from it, decides."""


class Engines:
    def __init__(
        self,
        machine: Machine,
        values: Mapping[str, int],
        properties: tuple[Property, ...] = (),
        *,
        normalize: bool = True,
        kernels: Kernels | None = None,
    ) -> None:
        self.machine, self.properties = machine, properties
        self.constants = machine.set_constants(values)
        self.plain = Interpreter(machine, self.constants, normalize=normalize)
        self.guards = guards_of(check(machine, properties))
        self.kernels = kernels or compiled(machine, self.constants, properties, normalize=normalize)
        source = self.kernels.source
        self.layout, self.room = self.kernels.layout(self.constants), max(1, source.most_successors)
        self.rows = np.empty(self.room, self.layout.dtype)
        self._checks, self._constants = self.kernels.checks(self.constants), self.kernels.constants(self.constants)
        self._encoded: dict[Key, bytes] = {}

    def native(self, key: Key, *, judge: bool = True) -> Seen:
        source, module = self.kernels.source, self.kernels.module
        checks, c = self._checks.copy(), self._constants
        row = np.frombuffer(self.row(key), self.layout.dtype).copy()
        count_bounds(source, checks, (1 << len(source.bounds)) - 1)
        fired, refused = (np.zeros(max(1, many), np.int64) for many in (len(self.machine.actions), source.counters))
        in_steps = np.full(max(1, len(source.step_properties)), UNDECIDED, np.int64)
        in_states = np.full(max(1, len(source.state_properties)), UNDECIDED, np.int64)
        hashes, parents, alive = np.empty(self.room, np.uint64), np.empty(self.room, np.uint32), np.zeros(1, np.uint8)
        count = module.expand(checks, row, 0, 1, 0, c, self.rows, hashes, parents, 0, fired, refused, in_steps, alive)
        if judge:
            module.judge(checks, row, 0, 1, c, in_states)
        assert not checks[0], f"a check failed in {key}"
        assert alive[0] == (count > 0)
        decided = [item.name for item, found in zip(source.step_properties, in_steps, strict=False) if found == 0]
        decided += [item.name for item, found in zip(source.state_properties, in_states, strict=False) if found == 0]
        found = self.rows[:count].tobytes()
        successors = sorted(found[at : at + row.nbytes] for at in range(0, len(found), row.nbytes))
        guards, bounds = len(source.guards), bounds_reached(source, self.constants, refused)
        assert all(item.states in (0, 1) for item in bounds), f"a bound was counted twice in {key}"
        alone, together = (
            tuple(item.constant for item in bounds if (item.states, item.together) == is_so)
            for is_so in ((1, False), (0, True))
        )
        return Seen(
            tuple(successors), tuple(map(int, fired)), tuple(map(int, refused[:guards])), (alone, together),
            tuple(sorted(decided)) if judge else (),
        )  # fmt: skip

    def ask_plain(self, key: Key, *, judge: bool = True) -> tuple[Seen, list[Key]]:
        transitions: list[Transition] = []
        fired: Counter[str] = Counter()
        refused: Counter[tuple[str, int]] = Counter()
        alone: set[str] = set()
        together: set[str] = set()
        state = self.plain.schema.restore(key)
        for item in self.machine.actions:
            for step in self.plain.steps(item, key):
                DROPPED.clear()
                try:
                    transitions.append(self.plain._take(state, step))
                    alone |= DROPPED
                    fired[item.name] += 1
                    state = self.plain.schema.restore(key)
                except DisabledError as error:
                    number = self.guards.refused(item, error)
                    refused[item.name, number] += 1
                    if self.guards.bounds[item.name][number] is not None:
                        refusing = self.plain.refusing(key, step, len(self.guards.bounds[item.name]))
                        (alone if len(refusing) == 1 else together).update(refusing)
        names = [(item.name, n) for item in self.machine.actions for n in range(len(self.guards.texts(item)))]
        keys = [item.after for item in transitions]
        return Seen(
            tuple(sorted(map(self.row, keys))),
            tuple(fired[item.name] for item in self.machine.actions),
            tuple(refused[name] for name in names),
            tuple(tuple(name for name in self.guards.declared if name in found) for found in (alone, together - alone)),
            tuple(sorted(self._decided(key, transitions))) if judge else (),
        ), keys

    def row(self, key: Key) -> bytes:
        if key not in self._encoded:
            self._encoded[key] = self.layout.encode([key]).tobytes()
        return self._encoded[key]

    def _decided(self, key: Key, transitions: list[Transition]) -> Iterator[str]:
        for prop in self.properties:
            wanted = prop.kind is Kind.SOMETIMES
            if not prop.over_steps:
                if self.plain.holds(prop, key) is wanted:
                    yield prop.name
            elif any(
                self.plain.holds_step(prop, key, item) is wanted
                for item in transitions
                if prop.on is None or prop.on.name == item.step.action.name
            ):
                yield prop.name

    def walk(self, steps: int, seed: int, longest: int = 200) -> int:
        """Walk at random and compare every state on the way; return the number of different ones."""

        def visit(key: Key, number: int) -> list[Key]:
            judge = number % EVERY == 0
            expected, following = self.ask_plain(key, judge=judge)
            assert self.native(key, judge=judge) == expected, f"the engines differ in {key}"
            return following

        return walk(self.plain.initial_states(), visit, steps, seed, longest)


def layout_under(machine: Machine, constants: Constants, shape: Constants | None = None) -> Layout:
    """Return the layout of states in a run, in a `shape` that may be that of larger constants."""
    layout = layout_of(machine.state, shape or constants)
    return layout.at(evaluated(layout.depends, constants.values))
