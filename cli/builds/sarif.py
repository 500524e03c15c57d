"""`--sarif FILE`: findings in the Static Analysis Results Interchange Format 2.1.0, for code scanning.

Each guarantee becomes a rule, and each finding becomes a result at the line of its property. The trace becomes the
result's code flow: each step points to the line of its action. Expected violations are not reported. An undetermined
property is a result of kind `open`.
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
from fencepost.counterexamples.sources import place_of, promises
from fencepost.invariants.protocols import Protocol
from fencepost.model.language.own_names import path_shown
from fencepost.model.language.trees import module_name

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(reports: Sequence[CheckedRun], not_run: Sequence[str] = (), why: str = "") -> str:
    found = [item for report in reports for item in outcomes(report)]
    rules = list({_rule_id(item): _rule(item) for item in found}.values())
    places = {rule["id"]: number for number, rule in enumerate(rules)}
    results = [_result(item, places[_rule_id(item)]) for item in found if item.end is not End.PASSED]
    unknown = [f"{item.report.name}: {item.message}" for item in found if item.end is End.ERROR]
    unknown += [f"{name} was not run: {why or 'the catalogue ended before this run'}" for name in not_run]
    return _log(rules, results, unknown, complete=not unknown)


def _log(
    rules: Sequence[dict[str, Any]], results: Sequence[dict[str, Any]], unknown: Sequence[str] = (), *, complete: bool
) -> str:
    notes = [{"level": "error", "message": {"text": text}} for text in unknown]
    invocation = {"executionSuccessful": complete, **({"toolExecutionNotifications": notes} if notes else {})}
    run = {
        "tool": {"driver": {"name": "Fencepost", "version": version("fencepost"), "rules": rules}},
        "invocations": [invocation],
        "results": results,
        "columnKind": "unicodeCodePoints",
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _rule_id(item: Outcome) -> str:
    return f"{item.report.found.name}/{item.prop.name if item.prop else item.name}"


def _rule(item: Outcome) -> dict[str, Any]:
    if item.prop is None:
        how = "produce their pinned results" if item.name == "figures" else "end as expected, without warnings"
        sentence = f"Runs of {item.report.found.name} {how}."
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
    name = path_shown(str(place.file))
    uri = place.file.as_uri() if Path(name).is_absolute() else quote(os.fsencode(name))
    found: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": place.line}},
        "logicalLocations": [
            {"fullyQualifiedName": f"{module_name(function)}.{function.__name__}", "kind": "function"}
        ],
    }
    return {**found, "message": {"text": message}} if message else found


def _fingerprint(item: Outcome) -> str:
    """Return a fingerprint of the run and the property; it changes if the run's constants change."""
    text = json.dumps([item.report.name, item.name, item.verdict, dict(item.report.data["constants"])], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


LEVELS = {"critical": "error", "high": "error", "medium": "warning", "low": "note"}


def audit_sarif(data: dict[str, Any]) -> str:
    rules = list({item["sort"]: _audit_rule(item) for item in data["sorts"]}.values())
    places = {rule["id"]: number for number, rule in enumerate(rules)}
    results = [_audit_result(item, places[item["sort"]]) for item in data["findings"]]
    return _log(rules, results, data["warnings"], complete=not data["warnings"])


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
        "properties": {key: item[key] for key in ("severity", "time", "offset", "brokers")},
    }


BUILD_RULES = {
    "builds-differ": ("error", "The two builds differ after a history that executes a changed method."),
    "not-exercised": ("warning", "No history executes this change."),
    "one-way": ("warning", "A changed condition has the same value in all histories."),
}


def compare_sarif(data: dict[str, Any]) -> str:
    """Return a report on two builds: changed methods that cause a difference, and changed lines that no history
    executes. File paths are relative to Kafka's source tree if the current folder is the tree's root.
    """
    names = list(BUILD_RULES)
    rules = [
        {"id": name, "name": name, "shortDescription": {"text": text}, "defaultConfiguration": {"level": level}}
        for name, (level, text) in BUILD_RULES.items()
    ]
    results = [
        {
            "ruleId": rule,
            "ruleIndex": names.index(rule),
            "level": BUILD_RULES[rule][0],
            "message": {"text": f"{method['owner']}.{method['name']}: {text}"},
            "locations": [_changed_place(method, lines)],
            "partialFingerprints": {"finding/v1": hashlib.sha256(f"{rule} {method} {text}".encode()).hexdigest()[:32]},
        }
        for rule, method, lines, text in _compared(data)
    ]
    return _log(rules, results, complete=data["complete"])


def _compared(data: dict[str, Any]) -> Iterable[tuple[str, dict[str, Any], Sequence[int], str]]:
    found = data["difference"] or data["drawn"] or {"steps": []}
    rows = "".join(f" {row['field']}: {row['a']} in A, {row['b']} in B." for row in found.get("rows", ()))
    methods = {f"{item['owner']}.{item['name']} {item['descriptor']}": item for item in data["methods"]}
    for method in (item for item in data["methods"] if item["driven"]):
        if data["verdict"] == "differs" and method["executed"]:
            text = f"the builds differ after {'; '.join(found['steps'])}.{rows}"
            yield "builds-differ", method, method["lines_b"], text
        elif not method["executed"] and method["change"] != "removed":
            yield "not-exercised", method, method["lines_b"], "no history executes this method."
    for name, lines in data["lines_not_executed"].items():
        yield "not-exercised", methods[name], lines, f"no history executes lines {', '.join(map(str, lines))}."
    for item in data["conditions_one_way"]:
        lines = [item["line"]] if "b" in item["sides"] else methods[item["method"]]["lines_b"]
        where = f"line {item['line']} of {' and '.join(map(str.upper, item['sides']))}"
        yield "one-way", methods[item["method"]], lines, f"{where}: {item['condition']} {item['went']}."


def _changed_place(method: dict[str, Any], lines: Sequence[int]) -> dict[str, Any]:
    path = Path(*method["owner"].split(".")[:-1], method["file"] or method["owner"].rpartition(".")[2])
    tree = Path("settings.gradle").is_file()
    places = list(Path().glob(f"**/src/main/*/{path.as_posix()}")) if tree else []
    physical: dict[str, Any] = {"artifactLocation": {"uri": quote((places or [path])[0].as_posix())}}
    if lines:
        physical["region"] = {"startLine": min(lines), "endLine": max(lines)}
    name = f"{method['owner']}.{method['name']}"
    return {"physicalLocation": physical, "logicalLocations": [{"fullyQualifiedName": name, "kind": "function"}]}
