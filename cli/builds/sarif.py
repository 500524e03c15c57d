"""`--sarif FILE`: the Static Analysis Results Interchange Format 2.1.0, as code scanning reads it.

A rule is a guarantee, a result is a finding at the line of the property, and its code flow is the trace, each step at
the line of its action. An expected verdict is not a result. An undetermined property is a result of kind `open`.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fencepost.cli.builds.outcomes import CheckedRun, End, Outcome, outcomes
from fencepost.counterexamples.sources import near, place_of, promises
from fencepost.invariants.protocols import Protocol
from fencepost.model.language.trees import module_name

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(reports: Sequence[CheckedRun], not_run: Sequence[str] = (), why: str = "") -> str:
    """Return the log as JSON text."""
    found = [item for report in reports for item in outcomes(report)]
    rules = list({_rule_id(item): _rule(item) for item in found}.values())
    places = {rule["id"]: number for number, rule in enumerate(rules)}
    complete = not not_run and all(item.end is not End.ERROR for item in found)
    data = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "Fencepost", "version": version("fencepost"), "rules": rules}},
                "invocations": [{"executionSuccessful": complete, **_notifications(found, not_run, why)}],
                "results": [_result(item, places[_rule_id(item)]) for item in found if item.end is not End.PASSED],
                "columnKind": "unicodeCodePoints",
            }
        ],
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _rule_id(item: Outcome) -> str:
    return f"{item.report.found.name}/{item.prop.name if item.prop else item.name}"


def _rule(item: Outcome) -> dict[str, Any]:
    """Return the rule of a guarantee: its sentence, where it is promised, and how it is known there."""
    if item.prop is None:
        sentence = f"Runs of {item.report.found.name} find the pinned results."
        return {"id": _rule_id(item), "name": item.name, "shortDescription": {"text": sentence}}
    entries = promises(item.prop)
    source = "; ".join(dict.fromkeys(entry.source for entry in entries)) or item.report.found.machine.source
    promised = " ".join(f"{entry.id}: {entry.sentence}" for entry in entries)
    notes = " ".join(part for part in (item.prop.sentence, promised, f"Source: {source}." if source else "") if part)
    return {
        "id": _rule_id(item),
        "name": item.prop.name,
        "shortDescription": {"text": item.prop.sentence},
        "fullDescription": {"text": notes},
        "help": {"text": notes},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": [str(item.prop.kind), *(entry.id for entry in entries)]},
    }


def _result(item: Outcome, rule: int) -> dict[str, Any]:
    undetermined = item.end is End.ERROR
    found: dict[str, Any] = {
        "ruleId": _rule_id(item),
        "ruleIndex": rule,
        "kind": "open" if undetermined else "fail",
        "level": "none" if undetermined else "error",
        "message": {"text": f"{item.report.name}: {item.message}."},
        "locations": [_location(item.prop.function if item.prop else item.report.found.machine.initial.function)],
        "partialFingerprints": {"finding/v1": _fingerprint(item)},
        "properties": {"verdict": item.verdict, "constants": dict(item.report.data["constants"])},
    }
    if item.steps:
        found["codeFlows"] = [{"threadFlows": [{"locations": list(_flow(item.report.found, item.steps))}]}]
    return found


def _flow(found: Protocol, steps: Iterable[str]) -> Iterable[dict[str, Any]]:
    first = found.machine.initial
    yield {"location": _location(first.function, f"initial: {first.sentence}"), "executionOrder": 1}
    for number, step in enumerate(steps, 1):
        item = found.machine.action(step.partition(" ")[0])
        where = _location(item.function, f"{number} {step}")
        yield {"location": where, "executionOrder": number + 1, "importance": "essential"}


def _location(function: Callable[..., Any], message: str = "") -> dict[str, Any]:
    place = place_of(function)
    name = near(place.file)
    uri = place.file.as_uri() if Path(name).is_absolute() else quote(os.fsencode(name))
    found: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": place.line}},
        "logicalLocations": [
            {"fullyQualifiedName": f"{module_name(function)}.{function.__name__}", "kind": "function"}
        ],
    }
    return {**found, "message": {"text": message}} if message else found


def _fingerprint(item: Outcome) -> str:
    """Return the identity of a finding over time: the run and the property, under the same constants."""
    text = json.dumps([item.report.name, item.name, item.verdict, dict(item.report.data["constants"])], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _notifications(found: Sequence[Outcome], not_run: Sequence[str], why: str) -> dict[str, Any]:
    """Return undetermined outcomes as the tool's own notifications."""
    texts = [f"{item.report.name}: {item.message}" for item in found if item.end is End.ERROR]
    texts += [f"{name} was not run: {why or 'the catalogue ended before'}" for name in not_run]
    notes = [{"level": "error", "message": {"text": text}} for text in texts]
    return {"toolExecutionNotifications": notes} if notes else {}


LEVELS = {"critical": "error", "high": "error", "medium": "warning", "low": "note"}


def audit_sarif(data: dict[str, Any]) -> str:
    """Return the findings of an audit: a rule for each kind, with the partition as logical location."""
    rules = list({item["sort"]: _audit_rule(item) for item in data["sorts"]}.values())
    places = {rule["id"]: number for number, rule in enumerate(rules)}
    unread = [{"level": "error", "message": {"text": note["text"]}} for note in data["notes"] if note["unread"]]
    run = {
        "tool": {"driver": {"name": "Fencepost", "version": version("fencepost"), "rules": rules}},
        "invocations": [
            {"executionSuccessful": not unread, **({"toolExecutionNotifications": unread} if unread else {})}
        ],
        "results": [_audit_result(item, places[item["sort"]]) for item in data["findings"]],
        "columnKind": "unicodeCodePoints",
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _audit_rule(item: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": item["sort"],
        "name": item["sort"],
        "shortDescription": {"text": item["sentence"]},
        "fullDescription": {"text": f"{item['sentence']} {item['look']}"},
        "help": {"text": item["look"]},
        "defaultConfiguration": {"level": LEVELS[item["severity"]]},
        "properties": {"tags": [item["kind"], item["about"]], "page": item["page"]},
    }


def _audit_result(item: dict[str, Any], rule: int) -> dict[str, Any]:
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
