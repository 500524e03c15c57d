"""Names under which protocols and properties are found before they are imported."""

from importlib import import_module

from fencepost.invariants import gravity
from fencepost.invariants.protocols import PROTOCOLS


def test_each_protocol_is_found_by_its_machines_name() -> None:
    assert [item.machine.name for item in PROTOCOLS.values()] == list(PROTOCOLS)


def test_each_consequence_belongs_to_a_property() -> None:
    for rank, (name, text) in enumerate(gravity._CONSEQUENCES.items()):
        module, function = name.split(".")
        found = getattr(import_module(f"fencepost.invariants.{module}"), function)
        assert (gravity.gravity(found), gravity.consequence(found)) == (rank, text)
