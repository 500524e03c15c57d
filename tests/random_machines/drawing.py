"""Machines drawn at random, as the text of a model file: `numbered(seed)` always returns the same one."""

from tests.random_machines.choices import Choices
from tests.random_machines.machines import machine_text

__all__ = ["Choices", "machine_text", "numbered"]


def numbered(seed: int) -> str:
    return machine_text(Choices(seed=seed))
