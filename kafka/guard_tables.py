"""Tables of a protocol's guards, in a file `guards.toml` that documents its keys."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fencepost.kafka.driver.ablation import Check, Place, Sizes, read_sizes

Places = Mapping[str, tuple[Place | str, ...]]


class GuardTables(NamedTuple):
    kafka: Mapping[Place, Check]
    physical: Places
    bounds: Places
    shadowed: Mapping[Place, str]
    unseen: Mapping[str, str]
    grounds: tuple[Sizes, ...]


def guard_tables(module: str) -> GuardTables:
    """Return the tables for a module from the `.toml` file beside it."""
    data = tomllib.loads(Path(module).with_suffix(".toml").read_text("utf-8"))
    checks = {place: Check(where, tuple(errors)) for place, (where, *errors) in _by_place(data["kafka"]).items()}
    physical, bounds = (
        {why: tuple(tuple(one) if isinstance(one, list) else one for one in found) for why, found in data[name].items()}
        for name in ("physical", "bounds")
    )
    shadowed = _by_place(data.get("shadowed", {}))
    return GuardTables(checks, physical, bounds, shadowed, data["unseen"], read_sizes(*data["grounds"]))


def _by_place(table: Mapping[str, Mapping[str, Any]]) -> dict[Place, Any]:
    return {(action, condition): found for action, rows in table.items() for condition, found in rows.items()}
