"""Protocols with their constants, versions, actions and properties."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fencepost.api.answers.as_json import FORMAT, pandas, pick, table
from fencepost.api.asking.arguments import call
from fencepost.api.asking.targets import find_protocol
from fencepost.invariants.protocols import PROTOCOLS, Protocol
from fencepost.model.language import Property
from fencepost.model.language.constants import Constant

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Protocols:
    """A list of protocols, each of them a machine with its properties."""

    protocols: tuple[Protocol, ...]

    def __repr__(self) -> str:
        return f"Protocols({', '.join(self.names)})"

    def __iter__(self) -> Iterator[Protocol]:
        return iter(self.protocols)

    def __len__(self) -> int:
        return len(self.protocols)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the protocols."""
        return tuple(item.name for item in self.protocols)

    def to_dict(self) -> dict[str, Any]:
        return {"format": FORMAT, "protocols": [protocol_data(item) for item in self.protocols]}

    def to_frame(self) -> pd.DataFrame:
        pd = pandas()
        rows = [
            {"protocol": item.name, "property": prop.name, "kind": str(prop.kind), "sentence": prop.sentence}
            for item in self.protocols
            for prop in item.every_property
        ]
        return pd.DataFrame(rows).set_index(["protocol", "property"])

    def _repr_html_(self) -> str:
        rows = [(item.name, item.machine.sentence) for item in self.protocols]
        return table("Protocols", ("name", "what it is"), rows)


@call
def list_protocols(name: str = "") -> Protocols:
    """Return all protocols, only the named protocol, or the protocol that a file defines."""
    return Protocols((find_protocol(name),) if name else tuple(PROTOCOLS.values()))


def protocol_data(item: Protocol) -> dict[str, Any]:
    machine = item.machine
    return {
        "name": item.name,
        **pick(machine, "sentence source"),
        "constants": [_constant_data(name, constant) for name, constant in machine.constants.declared().items()],
        "versions": [
            {"name": version.name, "sentence": version.sentence, "constants": _shown(item, version.values)}
            for version in (*machine.versions, *machine.patches())
        ],
        "actions": [
            {"name": action.label, "sentence": action.sentence, "parameters": [name for name, _ in action.params]}
            for action in machine.actions
        ],
        "properties": [_property_data(prop, on_request=prop in item.on_request) for prop in item.every_property],
    }


def _property_data(prop: Property, *, on_request: bool) -> dict[str, Any]:
    found = pick(prop, "name kind sentence") | ({"on_request": True} if on_request else {})
    if prop.eventual is None:
        return found
    about = prop.eventual
    return found | {
        "fairness": [str(item) for item in about.fair],
        "without": [item.label for item in about.without],
        "for": [name for name, _ in about.params],
    }


def _constant_data(name: str, constant: Constant[Any]) -> dict[str, Any]:
    found = {"name": name, "default": constant.show(constant.default), "meaning": constant.meaning}
    if constant.kind is bool:
        return {**found, "values": [False, True]}
    if constant.spellings():
        return {**found, "values": list(constant.spellings())}
    return {**found, "low": constant.low, "high": constant.high}


def _shown(item: Protocol, values: Any) -> dict[str, Any]:
    declared = item.machine.constants.declared()
    return {name: declared[name].show(value) for name, value in values.items()}
