"""Whether JSON has the shape that a type of the contract says: what is read back may have been edited by anyone."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Any, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

import fencepost.api.answers.contract
from fencepost.api.answers.contract import RunData
from fencepost.api.answers.contract_evidence import PointData, RowData
from fencepost.explorers.verdict import Verdict
from fencepost.model.language.actions import Kind

VERDICTS, KINDS = frozenset(map(str, Verdict)), frozenset(map(str, Kind))
LARGEST = 1 << 128
"""No number of a row is as large; larger ones need not fit a float."""
OF_KINDS = {"guard": {"action", "number", "part"}, "setting": {"constant"}}
"""What a row says beside what all of them do."""


def is_row(found: Any) -> bool:
    """Say whether this may be a finished row of a matrix."""
    return (
        is_shaped(found, RowData)
        and all(cell["verdict"] in VERDICTS for cell in found["cells"].values())
        and all("length" in found["cells"].get(name, ()) for name in found["broken"])
        and (found["purpose"] != "liveness" or "liveness" in found)
        and OF_KINDS.get(found["kind"], {""}) <= set(found)
    )


def is_point(found: Any) -> bool:
    """Say whether this may be a finished setting of a table of faults."""
    return is_shaped(found, PointData)


def is_run(found: Any) -> bool:
    """Say whether this may be a finished run of the catalogue."""
    return (
        is_shaped(found, RunData)
        and all(item["verdict"] in VERDICTS for item in (found, *found["properties"]))
        and all(item["kind"] in KINDS for item in found["properties"])
        and all("length" in item for item in found["properties"] if item["verdict"] == Verdict.VIOLATED)
    )


def is_shaped(value: object, kind: Any) -> bool:
    """Say whether a value is one of a type: a TypedDict, a list, a dict, a union of some, or a number, text or truth value."""
    origin, parts = get_origin(kind), get_args(kind)
    if is_typeddict(kind):
        hints = get_type_hints(kind, localns=vars(fencepost.api.answers.contract), include_extras=True)
        needed = {name for name in kind.__required_keys__ if get_origin(hints[name]) is not NotRequired}
        return (
            isinstance(value, dict)
            and needed <= set(value) <= set(hints)
            and all(is_shaped(item, hints[name]) for name, item in value.items())
        )
    if origin is NotRequired:
        return is_shaped(value, parts[0])
    if origin is UnionType:
        return any(is_shaped(value, part) for part in parts)
    if origin is list:
        return isinstance(value, list) and all(is_shaped(item, parts[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(is_shaped(item, parts[1]) for item in value.values())
    is_of_kind = type(value) in {float: (float, int), None: (NoneType,)}.get(kind, (kind,))
    return is_of_kind and (not isinstance(value, int | float) or abs(value) < LARGEST)
