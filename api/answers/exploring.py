"""Links into the explorer for what was found: with the constants that are not as declared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.counterexamples.browser.links import differing, link

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fencepost.model.language.machine import Machine


def opened(
    machine: Machine, constants: Mapping[str, object], steps: Iterable[str] = (), removed: Iterable[str] = ()
) -> str:
    """Return the part of an address behind `explore/` that opens a machine at constants (as in JSON), after steps."""
    return link(machine.name, constants=differing(machine, constants), removed=removed, steps=steps)
