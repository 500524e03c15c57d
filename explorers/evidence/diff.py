"""Comparison of two machines: their states, and their behaviours as seen by an observer of part of the state.

A behaviour is the sequence of observations along a path, without consecutive repetitions. Machine A has a behaviour
that B lacks if no path of B produces the same observations. A search explores both machines together. For each sequence
of observations, it keeps the states of A and the states of B that the sequence can lead to. A shortest behaviour that
one machine lacks ends with the first observation that only the other machine can produce.
"""

import ast
import inspect
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from fencepost.explorers.evidence.space import Space
from fencepost.explorers.program.removal import guards
from fencepost.model.language.actions import Action
from fencepost.model.language.interpreter import Path
from fencepost.model.language.machine import Machine
from fencepost.model.language.trees import definition_of

Array = np.ndarray[Any, Any]
SIDES = ("a", "b")


@dataclass(frozen=True)
class OnlyOne:
    """A behaviour that only one machine has, a shortest path that produces it, and its number of observations."""

    side: str
    path: Path
    sights: int


@dataclass(frozen=True)
class Difference:
    """Comparison of two machines by what one observer can see.

    `seen` counts the observations of A, of B, and of both. `state` is the path to an observation that only one machine
    produces. `behaviour` is a sequence that only one machine produces, although both produce each of its observations.
    If the comparison of behaviours is incomplete, `why` contains the reason.
    """

    seen: tuple[int, int, int]
    state: OnlyOne | None
    behaviour: OnlyOne | None
    why: str = ""

    @property
    def same(self) -> bool | None:
        return False if self.state or self.behaviour else None if self.why else True


def compare(spaces: tuple[Space, Space], sights: tuple[Array, Array], most_pairs: int) -> Difference:
    _, numbered = np.unique(np.concatenate(sights), return_inverse=True)
    cut = spaces[0].states
    seen = numbered[:cut], numbered[cut:]
    own = [np.unique(item) for item in seen]
    both = np.intersect1d(own[0], own[1], assume_unique=True)
    counts = len(own[0]), len(own[1]), len(both)
    state = _first_state(spaces, seen, both)
    if state is not None:
        return Difference(counts, state, None)
    watch = _Watch(spaces, seen, most_pairs)
    return Difference(counts, None, watch.run(), watch.why)


def _first_state(spaces: tuple[Space, Space], seen: tuple[Array, Array], both: Array) -> OnlyOne | None:
    found = []
    for place, (space, own) in enumerate(zip(spaces, seen, strict=True)):
        alone = np.flatnonzero(~np.isin(own, both))
        if len(alone):
            nearest = int(alone[np.argmin(space.depths[alone])])
            found.append((int(space.depths[nearest]), place, nearest))
    if not found:
        return None
    _, place, nearest = min(found)
    path = path_to(spaces[place], nearest)
    chain = _chain(spaces[place], nearest)
    return OnlyOne(SIDES[place], path, 1 + int(np.count_nonzero(np.diff(seen[place][chain]))))


def _chain(space: Space, state: int) -> Array:
    found = [state]
    while space.parents[found[-1]] >= 0:
        found.append(int(space.parents[found[-1]]))
    return np.array(found[::-1])


def path_to(space: Space, state: int) -> Path:
    return space.search.way_to(space.number(state))


class _Watch:
    def __init__(self, spaces: tuple[Space, Space], seen: tuple[Array, Array], most_pairs: int) -> None:
        self.spaces, self.seen, self.most_pairs = spaces, seen, most_pairs
        self.steps = [space.steps() for space in spaces]
        self.why = ""

    def run(self) -> OnlyOne | None:
        if all(len(np.unique(own)) == len(own) for own in self.seen):
            return self._one_by_one()
        starts = [self._split(side, np.flatnonzero(space.firsts)) for side, space in enumerate(self.spaces)]
        waiting: deque[tuple[tuple[Array, Array], tuple[int, ...]]] = deque()
        known: set[tuple[bytes, ...]] = set()
        found = self._meet(starts, (), waiting, known)
        while waiting and found is None:
            if len(known) > self.most_pairs:
                self.why = f"more than {self.most_pairs:,} pairs of state sets were explored"
                return None
            sets, behaviour = waiting.popleft()
            following = [self._split(side, self._next(side, own)) for side, own in enumerate(sets)]
            for split in following:
                split.pop(behaviour[-1], None)
            found = self._meet(following, behaviour, waiting, known)
        return found

    def _one_by_one(self) -> OnlyOne | None:
        """Compare paths step by step; each observation must identify a single state."""
        firsts = [np.flatnonzero(space.firsts) for space in self.spaces]
        for side, other in ((0, 1), (1, 0)):
            alone = firsts[side][~np.isin(self.seen[side][firsts[side]], self.seen[other][firsts[other]])]
            if len(alone):
                return OnlyOne(SIDES[side], self._path(side, [int(alone[0])]), 1)
        pairs = []
        for seen, (offsets, targets) in zip(self.seen, self.steps, strict=True):
            made = np.stack((np.repeat(seen, np.diff(offsets)), seen[targets]), axis=1).astype(np.int64)
            pairs.append(np.unique(made[made[:, 0] != made[:, 1]] @ np.array([1 << 32, 1])))
        found = []
        for side, other in ((0, 1), (1, 0)):
            alone = np.setdiff1d(pairs[side], pairs[other], assume_unique=True)
            if len(alone):
                place = np.empty(int(self.seen[side].max()) + 1, np.int64)
                place[self.seen[side]] = np.arange(len(self.seen[side]))
                sources, targets = place[alone >> 32], place[alone & 0xFFFFFFFF]
                nearest = int(np.argmin(self.spaces[side].depths[sources]))
                chain = [*_chain(self.spaces[side], int(sources[nearest])), int(targets[nearest])]
                found.append((len(chain), side, chain))
        if not found:
            return None
        length, side, chain = min(found)
        return OnlyOne(SIDES[side], self._path(side, [int(state) for state in chain]), length)

    def _meet(
        self,
        sides: list[dict[int, Array]],
        behaviour: tuple[int, ...],
        waiting: deque[tuple[tuple[Array, Array], tuple[int, ...]]],
        known: set[tuple[bytes, ...]],
    ) -> OnlyOne | None:
        for side, other in ((0, 1), (1, 0)):
            for sight in sorted(set(sides[side]) - set(sides[other])):
                return self._shown(side, (*behaviour, sight))
        for sight in sorted(sides[0]):
            sets = self._closed(0, sides[0][sight], sight), self._closed(1, sides[1][sight], sight)
            key = tuple(blake2b(own.tobytes(), digest_size=16).digest() for own in sets)
            if key not in known:
                known.add(key)
                waiting.append((sets, (*behaviour, sight)))
        return None

    def _split(self, side: int, states: Array) -> dict[int, Array]:
        sights = self.seen[side][states]
        return {int(sight): states[sights == sight] for sight in np.unique(sights)}

    def _next(self, side: int, states: Array) -> Array:
        offsets, targets = self.steps[side]
        first, count = offsets[states], offsets[states + 1] - offsets[states]
        within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
        return np.unique(targets[np.repeat(first, count) + within])

    def _closed(self, side: int, states: Array, sight: int) -> Array:
        found = fresh = np.unique(states)
        while len(fresh):
            following = self._next(side, fresh)
            following = following[self.seen[side][following] == sight]
            fresh = np.setdiff1d(following, found, assume_unique=True)
            found = np.union1d(found, fresh)
        return found

    def _shown(self, side: int, behaviour: tuple[int, ...]) -> OnlyOne:
        space, seen, (offsets, targets) = self.spaces[side], self.seen[side], self.steps[side]
        before: dict[tuple[int, int], tuple[int, int] | None] = {
            (int(state), 0): None for state in np.flatnonzero(space.firsts) if seen[state] == behaviour[0]
        }
        waiting = deque(before)
        while waiting:
            node = waiting.popleft()
            state, place = node
            if place == len(behaviour) - 1:
                return OnlyOne(SIDES[side], self._path(side, list(_back(before, node))), len(behaviour))
            for target in map(int, targets[offsets[state] : offsets[state + 1]]):
                reached = place if seen[target] == behaviour[place] else place + 1
                if seen[target] == behaviour[reached] and (target, reached) not in before:
                    before[target, reached] = node
                    waiting.append((target, reached))
        raise AssertionError("no path was found for a behaviour that only one side has")

    def _path(self, side: int, states: list[int]) -> Path:
        space = self.spaces[side]
        keys = [space.search.layout.decode(space.rows[state]) for state in states]
        return space.search.plain.retrace(keys)


def _back(before: dict[tuple[int, int], tuple[int, int] | None], node: tuple[int, int]) -> Iterator[int]:
    chain: list[int] = []
    at: tuple[int, int] | None = node
    while at is not None:
        chain.append(at[0])
        at = before[at]
    return reversed(chain)


@dataclass(frozen=True)
class Changed:
    action: str
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    effect: bool


@dataclass(frozen=True)
class Texts:
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    changed: tuple[Changed, ...]


def texts_of(a: Machine, b: Machine) -> Texts:
    """Return the differences between the actions of two machines. Helper functions are not compared."""
    mine, others = ({item.label: item for item in machine.actions} for machine in (a, b))
    conditions = [_conditions(machine) for machine in (a, b)]
    changed = []
    for label in [name for name in mine if name in others]:
        if mine[label].function is others[label].function:
            continue
        one, other = (known.get(label, []) for known in conditions)
        item = Changed(
            label,
            tuple(text for text in one if text not in other),
            tuple(text for text in other if text not in one),
            _effect(mine[label]) != _effect(others[label]),
        )
        if item.only_a or item.only_b or item.effect:
            changed.append(item)
    return Texts(
        tuple(name for name in mine if name not in others),
        tuple(name for name in others if name not in mine),
        tuple(changed),
    )


def _conditions(machine: Machine) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for item in guards(machine):
        if not item.part:
            found.setdefault(item.action, []).append(item.condition)
    return found


def _effect(item: Action) -> list[str]:
    kept = [text for text in map(ast.unparse, definition_of(item.function).body) if not text.startswith("require(")]
    return kept[1:] if inspect.getdoc(item.function) else kept
