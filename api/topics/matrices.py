"""Matrices measured by removing guards and flipping switches, with the constants of small runs."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from fencepost.api.answers.as_json import actions_of
from fencepost.api.files import digest
from fencepost.counterexamples.replay import Replay, replay_text
from fencepost.explorers.evidence.ablation import settings
from fencepost.explorers.program.fingerprint import texts
from fencepost.explorers.program.removal import find_guard
from fencepost.invariants.catalogue import Run, runs, values_of
from fencepost.invariants.figures.store import load
from fencepost.invariants.protocols import Protocol, protocol
from fencepost.model.language import Machine, Property

MORE: dict[str, dict[str, tuple[int, ...]]] = {"replication": {"alter_partition_version": (1, 2)}}
"""Constants varied in addition to the switches."""
LEAST_STATES, TIMES = 300_000, 3
"""Limits on the states of a row: a number, and a multiple of the unmodified machine's number of states."""


ORDER = (
    "needed", "nothing-broke", "same-states", "bound", "implied", "not-exercised", "never-fires", "refused",
    "undetermined",
)  # fmt: skip
"""Purposes by rank. If a row's purpose depends on the constants, the first purpose in this order is reported."""
Found = tuple[dict[str, Any], dict[str, Any]]
"""A row of a matrix, and the matrix to which it belongs."""


@cache
def bases() -> dict[str, list[str]]:
    """Return the runs that exercise each protocol as a whole. Their constants are used when guards are removed."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def base_run(name: str, title: str) -> Run:
    return next(run for run in runs() if run.name == f"{name} {title}")


_TEXTS: dict[tuple[int, ...], tuple[object, list[str]]] = {}
"""Cached strings for machines. The machines are stored too, because Python might otherwise reuse their ids."""


def texts_of(machine: Machine, properties: tuple[Property, ...]) -> list[str]:
    """Return the strings that represent a machine; they are cached, because several pages need them."""
    key = (id(machine), *map(id, properties))
    if key not in _TEXTS:
        _TEXTS[key] = (machine, properties), texts(machine, properties)
    return _TEXTS[key][1]


def mark_of(found: Protocol) -> str:
    """Return a digest of everything that the matrices depend on: functions, schema, properties, and constants."""
    asked = [(item.name, str(item.kind)) for item in found.properties]
    questions = [(title, *_question(found, title)) for title in bases()[found.name]]
    return digest(
        [*texts_of(found.machine, found.properties), repr(asked), repr(questions), repr((LEAST_STATES, TIMES))]
    )


def _question(found: Protocol, title: str) -> tuple[list[tuple[str, int]], list[str]]:
    constants = found.machine.set_constants(values_of(base_run(found.name, title)))
    values = [(name, int(value)) for name, value in constants.values.items()]
    return values, [row.name for row in settings(constants, MORE.get(found.name, {}))]


def stale() -> list[str]:
    known = measured()
    return [name for name in bases() if name not in known or known[name]["mark"] != mark_of(protocol(name))]


def measured() -> dict[str, Any]:
    """Return the measured matrices by protocol, in the JSON format of `fencepost ablate`."""
    for name in bases():
        data = load(f"matrices/{name}")
        if data and (name not in _READ or _READ[name][0] is not data):
            _READ[name] = data, {"mark": data["mark"], "bases": [_whole(base) for base in data["bases"]]}
    return {name: _READ[name][1] for name in bases() if load(f"matrices/{name}")}


_READ: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
"""The content of each protocol's file, and the matrices read from it."""


def _whole(base: dict[str, Any]) -> dict[str, Any]:
    return {
        **base,
        "properties": [{"name": name, "verdict": verdict} for name, verdict in base["properties"].items()],
        "actions": actions_of(base["fired"]),
        "rows": [_whole_row(row) for row in base["rows"]],
    }


def _whole_row(row: dict[str, Any]) -> dict[str, Any]:
    guard = re.fullmatch(r"(.+) (\d+)[a-z]*", row["row"])
    about: dict[str, Any] = {"kind": "setting", "constant": row["row"].partition("=")[0]}
    if guard:
        about = {"kind": "guard", "action": guard[1], "number": int(guard[2])}
    broken = row.get("broken", {})
    lengths = {**broken, **row.get("also", {})}
    cells = {name: {"verdict": "violated", "length": length} for name, length in lengths.items()}
    return {"why": "", **row, **about, "broken": broken, "cells": cells}


def best_of(data: dict[str, Any]) -> dict[str, Found]:
    """Return the best measurement of each row, by the rank of its purpose and then by the length of its trace."""
    found: dict[str, Found] = {}
    for base in data["bases"]:
        for row in base["rows"]:
            if row["row"] not in found or _rank(row) < _rank(found[row["row"]][0]):
                found[row["row"]] = row, base
    return found


def _rank(row: dict[str, Any]) -> tuple[int, int]:
    return ORDER.index(row["purpose"]), min(row["broken"].values(), default=0)


def history(name: str, found: Found) -> Replay:
    """Replay the path of a row; raise UsageError if the model does not allow the path or nothing is violated."""
    row, base = found
    prop = next(iter(row["broken"]))
    more, constants = {}, base["constants"]
    title = f"{name} with {row['row']}: {prop} is violated"
    if row["kind"] == "guard":
        guard = find_guard(protocol(name).machine, row["row"])
        title = f"{name} without guard {guard.name}: {prop} is violated"
        more = {"removed": f"{guard.name}: {guard.condition}"}
    else:
        constant, _, value = row["row"].partition("=")
        constants = {**constants, constant: value}
    return _replay(name, constants, prop, row["steps"], title, more)


def history_of_faults(data: Mapping[str, Any], point: Mapping[str, Any], item: Mapping[str, Any]) -> Replay:
    """Replay the path of a minimal set of faults in a fault table. Raises the same errors as `history`."""
    name, prop = data["protocol"], data["property"]["name"]
    return _replay(name, point["constants"], prop, item["steps"], f"{name}: {prop} is violated")


def _replay(
    name: str,
    constants: Mapping[str, Any],
    prop: str,
    steps: Iterable[str],
    title: str,
    more: Mapping[str, str] | None = None,
) -> Replay:
    header = {
        "format": "1", "title": title, "protocol": name,
        "constants": " ".join(f"{key}={str(value).lower()}" for key, value in constants.items()), **(more or {}),
        "property": prop, "verdict": "violated",
        "why": next(item.sentence for item in protocol(name).properties if item.name == prop),
    }  # fmt: skip
    lines = [f"{key}: {value}" for key, value in header.items()]
    return replay_text("\n".join([*lines, "----", *steps, "----"]) + "\n")


def histories(data: Mapping[str, Any]) -> Iterator[Found]:
    """Yield the rows of a protocol that have a path, each with the matrix to which it belongs."""
    for base in data["bases"]:
        for row in base["rows"]:
            if "steps" in row:
                yield row, base
