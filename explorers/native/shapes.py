"""Generated modules by shape of a machine, kept for the next request in the same process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.model.language.actions import Property
    from fencepost.model.language.constants import Constants
    from fencepost.model.language.machine import Machine

MOST = 64
"""Shapes that are remembered: a catalogue asks for the same ones again and again, and writing one takes a fifth of a second."""

Made = TypeVar("Made")


class Shapes(Generic[Made]):
    """The newest things that were made, by the identity of machine and properties, the shape, and what else matters."""

    def __init__(self) -> None:
        self._kept: dict[tuple[object, ...], tuple[Made, Machine, tuple[Property, ...]]] = {}
        """Machine and properties are kept too, so that no other object takes the number of one of them."""

    def get(
        self,
        machine: Machine,
        constants: Constants,
        properties: tuple[Property, ...],
        flags: tuple[bool, ...],
        make: Callable[[], Made],
    ) -> Made:
        """Return what was made for this shape, or what `make` makes now."""
        asked = (id(machine), tuple(map(id, properties)), tuple(constants.rooms().items()), flags)
        if asked not in self._kept:
            made = make()
            while len(self._kept) >= MOST:
                del self._kept[next(iter(self._kept))]
            self._kept[asked] = (made, machine, properties)
        return self._kept[asked][0]
