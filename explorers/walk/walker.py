"""Walks of a machine in compiled code: scheduled walks, and random walks identified by a seed and a number."""

import pathlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from functools import cache, partial
from typing import Any

import numpy as np
from fencepost.explorers.native.blame import blame, explain
from fencepost.explorers.native.compile import Kernels, compiled
from fencepost.explorers.native.llvm.libraries import Kernel, library
from fencepost.explorers.native.llvm.types import Unit
from fencepost.explorers.native.lower.machine import CODES
from fencepost.explorers.verdict import refuse_behaviours
from fencepost.explorers.walk.measures import faults_used
from fencepost.model.language.actions import Kind, Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import DomainError, UsageError
from fencepost.model.language.interpreter import Interpreter, Path
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import Key

REGISTERS = 4096
"""Number of registers in the sketch that counts distinct states. The error is 1.04 / sqrt(4096) = 1.6 %."""
KEPT = 16
"""A power of two: if hashes are requested, the hash of one in this many distinct states is kept."""
MOST_STEPS = 1_000_000
"""Maximum number of steps in one walk; there is a limit because a recorded walk is kept in memory."""

NO_SCHEDULE: np.ndarray[Any, Any] = np.zeros((0, 0), np.uint64)


class End(IntEnum):
    """The reason why a walk ended, as a number that kernel.py uses."""

    DEPTH = 0
    STUCK = 1
    STOPPED = 2


@dataclass(frozen=True)
class Walks:
    """Arrays for the walks `first`, `first + 1`, ... Each array has one element or row per walk.

    `begins` (int64) is the number of the walk's initial state, `steps` (int32) the number of steps, `ends` (uint8) an
    `End`. `decided` (int32, one column per property) is the number of steps after which a property was violated or a
    witness reached, or -1. For a property over steps, the number includes the deciding step. `fired` (int32, one column
    per action) counts the steps of each action. `finals` contains the last states as rows. All walks share `sketch`
    (uint8), the registers of a HyperLogLog sketch of the reached states. To merge sketches, take the registers' maxima.
    """

    first: int
    begins: np.ndarray[Any, Any]
    steps: np.ndarray[Any, Any]
    ends: np.ndarray[Any, Any]
    decided: np.ndarray[Any, Any]
    fired: np.ndarray[Any, Any]
    finals: np.ndarray[Any, Any]
    sketch: np.ndarray[Any, Any]
    kept: np.ndarray[Any, Any]
    """For each walk, the state hashes (uint64) that are divisible by KEPT, padded with zeros, if requested."""
    code: int = 0
    """Code of the failed check that ended the last walk, or 0. See `Walker.error`."""

    def upto(self, count: int, code: int) -> "Walks":
        """Return the first `count` walks, with the sketch of all walks and the code of the last walk's error."""
        whole = ("first", "sketch", "code")
        parts = {item.name: getattr(self, item.name)[:count] for item in fields(self) if item.name not in whole}
        return replace(self, **parts, code=code)


class Walker:
    """A compiled machine with its properties; any number of threads may use it at the same time."""

    def __init__(
        self,
        machine: Machine,
        constants: Constants,
        properties: tuple[Property, ...],
        *,
        normalize: bool = True,
        kernels: Kernels | None = None,
    ) -> None:
        refuse_behaviours(properties, "every walk has an end")
        self.machine, self.constants, self.properties = machine, constants, properties
        self.kernels = kernels or compiled(machine, constants, properties, normalize=normalize)
        self.kernels.must_judge(properties)
        source = self.kernels.source
        self.module, self.layout = self.kernels.module, self.kernels.layout(constants)
        self.plain = Interpreter(machine, constants, normalize=normalize)
        self.initial = self.layout.encode(self.plain.initial_states())
        self._c, self._checks = self.kernels.constants(constants), self.kernels.checks(constants)
        self._of_states, self._of_steps = source.state_properties, source.step_properties
        self._asked_states, self._asked_steps = self._asked(self._of_states), self._asked(self._of_steps)
        places = {item.name: (False, place) for place, item in enumerate(self._of_states)}
        places |= {item.name: (True, place) for place, item in enumerate(self._of_steps)}
        self._columns = [places[item.name] for item in properties]
        """For each property, whether it is about steps, and its index in the kernel among properties of that kind."""
        self._kernel = partial(walk_kernel(), self.module.expand, self.module.judge)

    def walk(
        self,
        first: int,
        last: int,
        *,
        seed: int,
        depth: int,
        weights: Sequence[int] = (),
        keep: bool = False,
        broken: bool = False,
    ) -> Walks:
        """Run the random walks first..last-1 with `depth` steps each.

        Raises the DomainError that ends a walk; if `broken`, instead returns the walks up to and including the walk
        with the error. Every enabled step is equally likely. With `weights` (one per action), an action is drawn by
        weight, and then one of the action's enabled steps. The same seed and number always produce the same walk.
        """
        made = self._run(first, last, seed, depth, weights, NO_SCHEDULE, stop=False, keep=keep)[0]
        return made if broken else self._whole(made)

    def follow(self, schedules: np.ndarray[Any, Any]) -> Walks:
        """Run walks along schedules. Each schedule is a row of unsigned numbers.

        The first number selects the initial state. For each later number n, the walk takes the enabled step with index
        (n - 1) modulo the number of enabled steps or, if n is 0, no step. A walk ends when it violates a property.
        """
        return self._whole(
            self._run(0, len(schedules), 0, schedules.shape[1], (), schedules.astype(np.uint64), stop=True)[0]
        )

    def way(self, number: int, *, seed: int, steps: int, weights: Sequence[int] = ()) -> list[Key]:
        made = self._run(number, number + 1, seed, steps, weights, NO_SCHEDULE, stop=False, recorded=True)
        return self._states(*made, steps)

    def way_along(self, schedule: Sequence[int] | np.ndarray[Any, Any], *, steps: int = MOST_STEPS) -> list[Key]:
        """Return the states along a schedule, for at most the first `steps` steps."""
        row = np.asarray(schedule, np.uint64).reshape(1, -1)
        return self._states(*self._run(0, 1, 0, min(steps, row.shape[1]), (), row, stop=False, recorded=True), steps)

    def _states(self, walks: Walks, rows: np.ndarray[Any, Any], steps: int) -> list[Key]:
        taken = int(walks.steps[0])
        if taken < steps:
            self._whole(walks)
        return [self.layout.decode(row) for row in rows[: taken + 1]]

    def confirm(self, way: list[Key], prop: Property) -> Path:
        return self.plain.decided(self.plain.retrace(way), prop)

    def weights(self, given: Mapping[str, int]) -> tuple[int, ...]:
        return weights_of(self.machine, given)

    # -- the kernel's arguments

    def _run(
        self,
        first: int,
        last: int,
        seed: int,
        depth: int,
        weights: Sequence[int],
        schedule: np.ndarray[Any, Any],
        *,
        stop: bool,
        recorded: bool = False,
        keep: bool = False,
    ) -> tuple[Walks, np.ndarray[Any, Any]]:
        if depth > MOST_STEPS:
            raise UsageError(
                f"{depth:,} steps per walk were requested, which is too many: request at most {MOST_STEPS:,}."
            )
        source, count = self.kernels.source, last - first
        room = max(1, source.most_successors)
        states, steps = max(1, len(self._of_states)), max(1, len(self._of_steps))
        rows, out = np.zeros(1, self.layout.dtype), np.empty(room, self.layout.dtype)
        finals, way = np.zeros(count, self.layout.dtype), np.zeros(depth + 1 if recorded else 0, self.layout.dtype)
        checks = self._checks.copy()
        decided, decided_steps = np.full((count, states), -1, np.int32), np.full((count, steps), -1, np.int32)
        made = Walks(
            first,
            np.zeros(count, np.int64),
            np.zeros(count, np.int32),
            np.zeros(count, np.uint8),
            np.zeros((count, len(self.properties)), np.int32),
            np.zeros((count, len(self.machine.actions)), np.int32),
            finals,
            np.zeros(REGISTERS, np.uint8),
            np.zeros((count, depth if keep else 0), np.uint64),
        )
        done = self._kernel(
            checks, self._c, self._words(self.initial), first, last, np.uint64(seed % (1 << 64)), depth, stop,
            np.array(weights, np.int64), schedule, self._asked_states, self._asked_steps,
            rows, self._words(rows), out, self._words(out), np.empty(room, np.uint64), np.empty(room, np.uint32),
            np.zeros(1, np.uint8), np.zeros(len(self.machine.actions), np.int64),
            np.zeros(max(1, len(source.guards)), np.int64), np.zeros(states, np.int64), np.zeros(steps, np.int64),
            made.begins, made.steps, made.ends, decided, decided_steps, made.fired,
            self._words(finals), made.sketch, self._words(way), made.kept, np.uint64(KEPT - 1),
        )  # fmt: skip
        for column, (over_steps, place) in enumerate(self._columns):
            made.decided[:, column] = (decided_steps if over_steps else decided)[:, place]
        if done < count:
            finals[done] = rows[0]
            made = made.upto(done + 1, int(checks[0]))
        return made, way

    def error(self, walks: Walks) -> DomainError:
        decided = {item.name for item, at in zip(self.properties, walks.decided[-1], strict=True) if at >= 0}
        try:
            explain(self, walks.finals[-1:], decided)
            blame(self, walks.code)
        except DomainError as error:
            return error

    def _whole(self, walks: Walks) -> Walks:
        if walks.code:
            raise self.error(walks)
        return walks

    def faults(self, made: Walks) -> np.ndarray[Any, Any]:
        """Return, for each walk, the sum (int64) of all budgets that the walk spent."""
        return faults_used(self.machine, self.states(made.finals), self.states(self.initial[made.begins]))

    def states(self, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return self.layout.unpack(rows)

    def _words(self, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return rows.view(np.uint64).reshape(len(rows), self.layout.words)

    def _asked(self, compiled_properties: tuple[Property, ...]) -> np.ndarray[Any, Any]:
        """Return for each compiled property 0 (not checked), 1 (must hold) or 2 (a witness)."""
        names = {item.name for item in self.properties}
        codes = [(item.name in names) * (2 if item.kind is Kind.SOMETIMES else 1) for item in compiled_properties]
        return np.array(codes or [0], np.int64)


@cache
def walk_kernel() -> Kernel:
    found, _ = library(Unit(pathlib.Path(__file__).with_name("kernel.py").read_text(), codes=CODES))
    return found.kernels()["walk"]


def weights_of(machine: Machine, given: Mapping[str, int]) -> tuple[int, ...]:
    known = [item.label for item in machine.actions]
    if not known:
        raise UsageError(f"{machine.name!r} has no actions, so no walk can take a step: add an action to MACHINE.")
    chosen = {machine.action(name).label: weight for name, weight in given.items()}
    for name, weight in chosen.items():
        if not 0 <= weight < 1 << 16:
            raise UsageError(f"action {name!r} has the weight {weight}: expected a whole number from 0 to 65535.")
    found = tuple(chosen.get(name, 1) for name in known)
    if not any(found):
        raise UsageError(
            "every action has weight 0, so no walk could take a step: give at least one action a positive weight."
        )
    return found if chosen else ()
