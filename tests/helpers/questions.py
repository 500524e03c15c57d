"""Questions to the searches: machines by name, and the parts of two results that must be equal."""

from dataclasses import fields
from typing import Any

import pytest
from fencepost.explorers.search import search as native
from fencepost.explorers.verdict import Options, Result
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language import Machine, Property
from fencepost.model.language.interpreter import Interpreter, Path

from tests.machines import LINEAGE, grid, id_sequence, mailbox

MACHINES: dict[str, tuple[Machine, tuple[Property, ...]]] = {
    **{item.MACHINE.name: (item.MACHINE, item.PROPERTIES) for item in (id_sequence, mailbox, grid)},
    **{name: (PROTOCOLS[name].machine, PROTOCOLS[name].properties) for name in LINEAGE},
}
DIFFERENT = {"seconds", "workers", "store_bytes", "peak_memory_bytes", "compiled", "cross_check"}
"""Parts of a result that may differ between runs of one question."""
ALONE = Options(workers=1, deadlock=True)


def ask(name: str, values: dict[str, int], options: Options = ALONE, search: Any = native, **more: Any) -> Result:
    machine, properties = MACHINES[name]
    return search(machine, machine.set_constants(values), properties, options, **more)


def shared(result: Result, but: set[str] = DIFFERENT) -> dict[str, Any]:
    """Return the parts that must be equal in every run of one question."""
    return {item.name: getattr(result, item.name) for item in fields(result) if item.name not in but}


def found(result: Result) -> dict[str, Any]:
    """Return the parts that must be equal on every engine: no choice of shortest trace, no digest of states."""
    same = shared(result, DIFFERENT | {"engine", "properties", "deadlock", "omission", "digest"})
    judged = {item.name: (item.verdict, item.path and item.path.length) for item in result.properties}
    return same | {"properties": judged, "deadlock": result.deadlock and result.deadlock.length}


def is_valid(name: str, values: dict[str, int], path: Path, *, normalize: bool = True) -> bool:
    machine, _ = MACHINES[name]
    interpreter = Interpreter(machine, machine.set_constants(values), normalize=normalize)
    states = list(path.states)
    steps = [interpreter.apply(before, step).after for before, step in zip(states, path.steps, strict=False)]
    return states[0] in interpreter.initial_states() and steps == states[1:] and path.start == states[0]


def case(name: str, values: dict[str, int]) -> Any:
    given = "/".join(f"{constant}={value}" for constant, value in values.items())
    return pytest.param(name, values, id=f"{name} {given}", marks=group(name, values))


def group(name: str, values: dict[str, int]) -> pytest.MarkDecorator:
    return pytest.mark.xdist_group(f"{name}-{values.get('replicas', '')}")
