"""The sequence of whole numbers from which a machine is drawn, which can be recorded, replayed and shrunk.

A choice is a number below a limit; 0 is the simplest. A text drawn from smaller or fewer numbers is simpler, so a
failing machine is shrunk by shrinking its numbers.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
MOST = 2_000  # most texts that are tried to shrink a failing machine


class Choices:
    """Given choices, continued from a seed, or with zeros without one."""

    def __init__(self, given: Sequence[int] = (), seed: int | None = None) -> None:
        self.given = list(given)
        self.random = None if seed is None else random.Random(seed)  # noqa: S311 (no secret)
        self.made: list[int] = []

    def below(self, limit: int) -> int:
        place = len(self.made)
        if place < len(self.given):
            number = min(self.given[place], limit - 1)
        else:
            number = self.random.randrange(limit) if self.random else 0
        self.made.append(number)
        return number

    def pick(self, items: Sequence[T]) -> T:
        """Return one of several items, which are ordered by simplicity."""
        return items[self.below(len(items))]

    def chance(self, percent: int) -> bool:
        return self.below(100) >= 100 - percent


def shrink(choices: list[int], fails: Callable[[list[int]], bool], most: int = MOST) -> list[int]:
    """Return a shorter or smaller sequence that still fails, after at most this many tries."""
    tried = {tuple(choices)}
    better = True
    while better:
        better = False
        for candidate in _simpler(choices):
            if tuple(candidate) in tried:
                continue
            if len(tried) > most:
                return choices
            tried.add(tuple(candidate))
            if fails(candidate):
                choices, better = candidate, True
                break
    return choices


def _simpler(choices: list[int]) -> Iterator[list[int]]:
    size = max(1, len(choices) // 2)
    while size:
        for start in range(0, len(choices), size):
            yield choices[:start] + choices[start + size :]
        size //= 2
    for size in (8, 4, 2, 1):
        for start in range(0, len(choices), size):
            if any(choices[start : start + size]):
                yield choices[:start] + [0] * len(choices[start : start + size]) + choices[start + size :]
    for place, number in enumerate(choices):
        for smaller in (number // 2, number - 1):
            if 0 < smaller < number:
                yield [*choices[:place], smaller, *choices[place + 1 :]]
