"""Test that renaming things commutes with every step of a machine and changes no property, state by state."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from fencepost.model.language import Constants, Machine, Property
from fencepost.model.language.errors import DomainError
from fencepost.model.language.interpreter import Interpreter, Transition
from fencepost.model.language.records import Key
from fencepost.model.language.symmetry import Symmetry


def distinguished(
    machine: Machine, properties: tuple[Property, ...], constants: Constants, most: int = 200
) -> tuple[str, int]:
    """Return what a permutation changes, or an empty string; and how many states were tried."""
    plain, symmetry = Interpreter(machine, constants), Symmetry(machine, constants)
    seen: dict[Key, Any] = {}
    waiting: Iterable[Key] = _renamed(symmetry, plain.initial_states())
    while waiting and len(seen) < most:
        seen |= {key: _looked(plain, properties, key) for key in waiting}
        after = {end for key in waiting for end in seen[key][0] if isinstance(end, tuple)}
        waiting = [key for key in _renamed(symmetry, after) if key not in seen]
    for key, (ends, said) in seen.items():
        renamed = [symmetry.renamed(key, to) for to in symmetry.permutations]
        if symmetry.canonical(key) != min(renamed, key=symmetry.order):
            return f"{key}: another permutation is less", len(seen)
        for to in symmetry.permutations:
            other = symmetry.renamed(key, to)
            if other in seen:
                moved = {symmetry.renamed(it, to) if isinstance(it, tuple) else it: n for it, n in ends.items()}
                if (Counter(moved), said) != seen[other]:
                    return f"{to}: {key} and {other}: {(moved, said)} is not {seen[other]}", len(seen)
    return "", len(seen)


def _renamed(symmetry: Symmetry, keys: Iterable[Key]) -> list[Key]:
    return list(dict.fromkeys(symmetry.renamed(key, to) for key in keys for to in symmetry.permutations))


def _looked(plain: Interpreter, properties: tuple[Property, ...], key: Key) -> tuple[Counter[Any], Any]:
    """Return where steps lead, or that one is an error, and what properties say of the state and of its steps."""
    ends: Counter[Any] = Counter()
    steps = []
    for item in plain.machine.actions:
        try:
            for _, found in plain.attempts(item, key):
                if isinstance(found, Transition):
                    ends[found.after] += 1
                    steps.append(found)
        except DomainError:
            ends[f"error in {item.name}"] = 1
            return ends, "an error"
    return ends, [_said(plain, item, key, steps) for item in properties if not item.kind.over_behaviours]


def _said(plain: Interpreter, item: Property, key: Key, steps: list[Transition]) -> Any:
    try:
        if item.over_steps:
            return Counter(plain.holds_step(item, key, step) for step in steps)
        return plain.holds(item, key)
    except DomainError:
        return "an error"
