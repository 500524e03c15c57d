"""Suspicions about a verdict: properties that cannot fail, actions and guards without effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fencepost.api.answers.contract_evidence import MatrixData, RowData

IDLE_PURPOSES = ("implied", "not-exercised", "never-fires", "nothing-broke", "same-states", "undetermined")
"""Purposes of guards that no guarantee was seen to depend on; those that only bound the search are not suspicious."""


def suspicions(data: MatrixData) -> dict[str, list[str]]:
    """Return what is suspicious about a protocol, by its matrix.

    `never_violated`: properties that hold, and hold without each guard and with each setting. `unreached`: witnesses.
    `dead`: actions that never happen. `idle`: guards that no guarantee depends on.
    """
    broken = {name for row in data["rows"] for name, cell in row["cells"].items() if cell["verdict"] == "violated"}
    verdicts = {item["name"]: item["verdict"] for item in data["properties"]}
    return {
        "never_violated": [name for name in data["asked"] if verdicts[name] == "holds" and name not in broken],
        "unreached": [name for name, verdict in verdicts.items() if verdict == "unreached"],
        "dead": [item["name"] for item in data["actions"] if not item["fired"]],
        "idle": [
            row["row"]
            for row in data["rows"]
            if row["kind"] == "guard" and row["purpose"] in IDLE_PURPOSES and not _has_needed_part(row, data)
        ],
    }


def _has_needed_part(row: RowData, data: MatrixData) -> bool:
    own = (row["action"], row["number"])
    return any(
        (item.get("action"), item.get("number")) == own and item["purpose"] == "needed"
        for item in data["rows"]
        if item is not row
    )


SUSPICIONS = {
    "never_violated": "no guard and no setting that was tried makes this fail, so nothing shows that it can",
    "unreached": "witnesses that no state or step satisfies: the protocol does not do what they are about",
    "dead": "actions that never happen at these constants",
    "idle": "guards that no property was seen to depend on at these constants",
}
"""What each suspicion says."""
