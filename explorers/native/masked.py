"""Search of a machine with one guard removed, in compiled code that works for every guard. It has the semantics of
`Interpreter(without(machine, guard), ..., bounded=True)`, which also reconstructs every trace.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from fencepost.explorers.native.blame import blame
from fencepost.explorers.native.compile import Kernels
from fencepost.explorers.native.expansion import Worker
from fencepost.explorers.native.lower.shape import ERROR
from fencepost.explorers.native.search import Search
from fencepost.explorers.program.removal import Guard, without
from fencepost.explorers.verdict import Options
from fencepost.model.language.actions import Kind, Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import DisabledError, DomainError, MismatchError
from fencepost.model.language.interpreter import Interpreter, Path, Step
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import Key

NOWHERE = -1


@dataclass(frozen=True)
class Departure:
    path: Path
    step: Step
    message: str


class MaskedSearch(Search):
    """An exhaustive search without one guard (or, for None, with all guards) that stores all states. Without a guard, a
    step that leaves a domain is refused; with all guards, such a step is an error. If `stop_on_violation` is set, the
    search ends after the level in which every property that can fail has failed.
    """

    def __init__(
        self,
        machine: Machine,
        constants: Constants,
        properties: tuple[Property, ...],
        options: Options,
        *,
        kernels: Kernels,
        guard: Guard | None = None,
    ) -> None:
        assert kernels.source.masks is not None, "the kernels have no masks"
        self.masks = kernels.source.masks
        self.numbers = _numbers(kernels)
        self.off = [] if guard is None else [self.slot(guard)]
        super().__init__(machine, constants, properties, options, kernels=kernels)
        self.changed = machine if guard is None else without(machine, guard)
        self.plain = Interpreter(self.changed, constants, normalize=options.normalize, bounded=guard is not None)
        self.left, self.left_steps = NOWHERE, 0
        self.watched = np.array([ERROR, self.masks.hard, self.masks.first], np.int64)
        self.fatal = self.watched if guard is None else self.watched[:2]

    def slot(self, guard: Guard) -> int:
        return self.masks.slots[self.numbers[guard.action, guard.number]][guard.part]

    def _worker(self) -> Worker:
        worker = super()._worker()
        worker.checks[self.off] = 1
        return worker

    def _is_enough(self) -> bool:
        can_fail = {item.name for item in self.properties if item.kind is not Kind.SOMETIMES}
        return can_fail <= set(self.position.found)

    def _expanded(self, worker: Worker, owner: int) -> None:
        masks, checks, part = self.masks, worker.checks, self.partitions[owner]
        if self.left == NOWHERE:
            self.left = owner + (int(checks[masks.first]) - 1 + part.base) * self.owners
        self.left_steps += int(checks[masks.times])
        checks[[masks.first, masks.times]] = 0

    def departure(self) -> Departure | None:
        if self.left == NOWHERE:
            return None
        path = self.way_to(self.left)
        strict = Interpreter(self.changed, self.constants, normalize=self.options.normalize)
        for item in self.changed.actions:
            for step in strict.steps(item, path.states[-1]):
                try:
                    strict.apply(path.states[-1], step)
                except DisabledError:
                    continue
                except DomainError as error:
                    return Departure(path, step, str(error))
        raise MismatchError(
            "compiled code refused a step that leaves a domain, but in the plain semantics no step leaves one."
        )

    def refusals(self, guards: Iterable[Guard]) -> dict[Guard, int]:
        """Return how often each guard refuses a step in the reached states, whether or not other guards also refuse it.

        A guard that cannot be evaluated because an earlier guard does not hold is not counted as refusing the step.
        Raise DomainError if a guard cannot be evaluated because compiled numbers are limited to 64 bits.
        """
        found: dict[Guard, int] = {}
        waiting = list(guards)
        while waiting:
            together = list({item.action: item for item in reversed(waiting)}.values())
            counts = self._refusals([slot for item in together for slot in self._others(item)])
            found |= {item: int(counts[self.numbers[item.action, item.number]]) for item in together}
            waiting = [item for item in waiting if item not in found]
        return found

    def _others(self, guard: Guard) -> list[int]:
        own = self.numbers[guard.action, guard.number]
        return [
            self.masks.slots[n][0] for (action, _), n in self.numbers.items() if action == guard.action and n != own
        ]

    def _refusals(self, off: list[int]) -> np.ndarray[Any, Any]:
        worker = self._worker()
        worker.checks[off] = 1
        for part in self.partitions:
            for first in range(0, part.count, self.batch):
                rows = part.read(slice(first, first + self.batch))
                worker.expand(self.module, rows, (0, len(rows)), self.c, self._buffers)
                if worker.checks[self.masks.unsure]:
                    blame(self, int(worker.checks[self.masks.unsure]))
        return worker.refused


def _numbers(kernels: Kernels) -> dict[tuple[str, int], int]:
    found: dict[tuple[str, int], int] = {}
    seen: dict[str, int] = {}
    for place, (action, _) in enumerate(kernels.source.guards):
        label = action.replace("_", "-")
        seen[label] = seen.get(label, 0) + 1
        found[label, seen[label]] = place
    return found


def same_states(one: Search, other: Search) -> bool:
    here, there = one.layout, other.layout
    if one.distinct != other.distinct:
        return False
    if here.wide != there.wide or here.lengths != there.lengths:
        known = set(_keys(other))
        return all(key in known for key in _keys(one))
    if here.leaves != there.leaves:
        return np.array_equal(_sorted(here.unpack(_rows(one))), _sorted(there.unpack(_rows(other))))
    return all(
        np.array_equal(_sorted(a.read()), _sorted(b.read()))
        for a, b in zip(one.partitions, other.partitions, strict=True)
    )


def _rows(search: Search) -> np.ndarray[Any, Any]:
    return np.concatenate([part.read() for part in search.partitions])


def _keys(search: Search) -> Iterator[Key]:
    return (search.layout.decode(row) for part in search.partitions for row in part.read())


def _sorted(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return rows as sorted byte strings. Equal states have equal strings, because padding is always zero."""
    return np.sort(rows.view(np.uint8).reshape(len(rows), rows.dtype.itemsize).view(f"S{rows.dtype.itemsize}").ravel())
