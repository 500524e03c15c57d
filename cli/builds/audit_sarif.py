"""The findings of an audit as SARIF 2.1.0, for dashboards: a rule for each kind of finding, and the partition as its logical place."""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fencepost.cli.builds.sarif import SCHEMA

if TYPE_CHECKING:
    from fencepost.api.answers.contract import AuditData, AuditFinding, AuditSort

LEVELS = {"critical": "error", "high": "error", "medium": "warning", "low": "note"}


def sarif(data: AuditData) -> str:
    """Return the log as JSON text."""
    rules = list({item["sort"]: _rule(item) for item in data["sorts"]}.values())
    places = {rule["id"]: number for number, rule in enumerate(rules)}
    unread = [{"level": "error", "message": {"text": note["text"]}} for note in data["notes"] if note["unread"]]
    run = {
        "tool": {"driver": {"name": "Fencepost", "version": version("fencepost"), "rules": rules}},
        "invocations": [
            {"executionSuccessful": not unread, **({"toolExecutionNotifications": unread} if unread else {})}
        ],
        "results": [_result(item, places[item["sort"]]) for item in data["findings"]],
        "columnKind": "unicodeCodePoints",
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _rule(item: AuditSort) -> dict[str, Any]:
    return {
        "id": item["sort"],
        "name": item["sort"],
        "shortDescription": {"text": item["sentence"]},
        "fullDescription": {"text": f"{item['sentence']} {item['look']}"},
        "help": {"text": item["look"]},
        "defaultConfiguration": {"level": LEVELS[item["severity"]]},
        "properties": {"tags": [item["kind"], item["about"]], "page": item["page"]},
    }


def _result(item: AuditFinding, rule: int) -> dict[str, Any]:
    name = f"{item['topic']}-{item['partition']}"
    print_of = hashlib.sha256(f"{name} {item['sort']} {item['offset']}".encode()).hexdigest()[:32]
    return {
        "ruleId": item["sort"],
        "ruleIndex": rule,
        "level": LEVELS[item["severity"]],
        "message": {"text": f"{name}, offset {item['offset']}: {item['text']}."},
        "locations": [{"logicalLocations": [{"fullyQualifiedName": name, "kind": "resource"}]}],
        "partialFingerprints": {"finding/v1": print_of},
        "properties": {
            "severity": item["severity"],
            "time": item["time"],
            "offset": item["offset"],
            "brokers": item["brokers"],
        },
    }
