"""Lemmas that make properties inductive: candidates that hold where one has looked, less those that some step breaks.

After Flanagan and Leino, Houdini: of a set of candidates the largest part that is inductive together is unique, and
found by dropping what is broken until nothing is.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from fencepost.explorers.symbolic.proof import Proof, Settings, prove
from fencepost.explorers.verdict import Verdict
from fencepost.model.language.interpreter import Interpreter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fencepost.model.language.actions import Property
    from fencepost.model.language.constants import Constants
    from fencepost.model.language.machine import Machine
    from fencepost.model.language.records import Key


def not_refuted(
    machine: Machine, constants: Constants, candidates: tuple[Property, ...], states: Iterable[Key]
) -> tuple[Property, ...]:
    """Return the candidates that hold in all of these states."""
    plain = Interpreter(machine, constants)
    left = list(candidates)
    for key in states:
        state = plain.schema.restore(key)
        left = [item for item in left if item.function(state, constants)]
    return tuple(left)


def strengthen(
    machine: Machine,
    constants: Constants,
    properties: tuple[Property, ...],
    candidates: tuple[Property, ...],
    settings: Settings,
    seconds: float,
    tell: Callable[[int, int], None] | None = None,
) -> tuple[Proof, tuple[Property, ...]]:
    """Prove properties together with candidates; return the proof and the lemmas that it needs.

    What can be left out is left out one by one, for as long as `seconds` last. Ctrl-C ends it
    with what was decided so far.
    """
    quick = replace(settings, explain=False)
    made = prove(machine, constants, (*properties, *candidates), quick, tell)
    if made.why_stopped:
        return made, ()
    kept = tuple(item for item in candidates if made.of(item.name).verdict is Verdict.PROVED)
    if not _proves(made, properties):
        return prove(machine, constants, (*properties, *kept), settings, tell), kept
    began = time.perf_counter()
    for item in kept:
        if time.perf_counter() - began > seconds:
            break
        fewer = tuple(other for other in kept if other is not item)
        tried = prove(machine, constants, (*properties, *fewer), quick)
        if tried.why_stopped:
            return replace(made, why_stopped=tried.why_stopped), kept
        if _proves(tried, (*properties, *fewer)):
            kept = fewer
    plain = prove(machine, constants, (*properties, *kept), settings, tell)
    return replace(made, why_stopped=plain.why_stopped) if plain.why_stopped else plain, kept


def _proves(made: Proof, properties: tuple[Property, ...]) -> bool:
    return all(made.of(item.name).verdict is Verdict.PROVED for item in properties)
