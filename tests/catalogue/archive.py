"""Helpers for tests of a protocol's runs."""

from fencepost.counterexamples.trace import ARCHIVE
from fencepost.invariants.catalogue import Run, values_of
from fencepost.invariants.protocols import protocol


def archived(name: str) -> set[str]:
    return {file.name for file in ARCHIVE.glob(f"{name}-*")}


def difference(one: Run, other: Run) -> set[str]:
    """Return the constants in which two runs of a protocol differ."""
    machine = protocol(one.protocol).machine
    left, right = (machine.set_constants(values_of(run)).shown for run in (one, other))
    return {name for name in left if left[name] != right[name]}
