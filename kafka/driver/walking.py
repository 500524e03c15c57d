"""Random walks of the model, on the plain semantics."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fencepost.model.language.interpreter import Interpreter, Step, Transition
    from fencepost.model.language.records import Key


def walks(plain: Interpreter, number: int, depth: int, seed: int) -> Iterator[Iterator[Transition]]:
    """Yield walks of at most `depth` steps; each is given by the seed and its number alone."""
    initial = plain.initial_states()[0]
    for place in range(number):
        yield walk(plain, initial, depth, random.Random(f"{seed} {place}"))  # noqa: S311 (no secret)


def walk(plain: Interpreter, initial: Key, depth: int, chance: random.Random) -> Iterator[Transition]:
    """Yield one walk: each step is of an action that is drawn, then of values that are drawn, until one can happen."""
    at = initial
    for _ in range(depth):
        taken = _step(plain, at, chance)
        if taken is None:
            return
        yield taken
        at = taken.after


def _step(plain: Interpreter, at: Key, chance: random.Random) -> Transition | None:
    actions = list(plain.machine.actions)
    chance.shuffle(actions)
    return plain.apply_first(at, (step for action in actions for step in _shuffled(plain.steps(action, at), chance)))


def _shuffled(steps: Iterable[Step], chance: random.Random) -> list[Step]:
    found = list(steps)
    chance.shuffle(found)
    return found
