"""Machines drawn at random, as the text of a model file: for tests of tools that work on models.

    from hypothesis import given
    from tests.random_machines.drawing import machines

    @given(machines())
    def test_my_tool(text: str) -> None:
        ...

Hypothesis makes a machine that fails small. `numbered(seed)` is the same machine whenever it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.random_machines.choices import Choices
from tests.random_machines.machines import machine_text

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

__all__ = ["Choices", "machine_text", "machines", "numbered"]


def numbered(seed: int) -> str:
    return machine_text(Choices(seed=seed))


def machines() -> SearchStrategy[str]:
    """Return a strategy that draws the text of a machine."""
    from hypothesis import strategies

    class Drawn(Choices):
        """Choices that Hypothesis makes, and makes small."""

        def __init__(self, draw: DrawFn) -> None:
            super().__init__()
            self.draw = draw

        def below(self, limit: int) -> int:
            return self.draw(strategies.integers(0, limit - 1))

    @strategies.composite
    def drawn(draw: DrawFn) -> str:
        return machine_text(Drawn(draw))

    return drawn()
