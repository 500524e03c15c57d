"""Tools for agents, served over the Model Context Protocol. They return short JSON, or one message under `error`."""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Callable
from inspect import signature
from typing import Any

from fencepost.api.answers.results import CheckResult
from fencepost.api.asking.arguments import call
from fencepost.api.asking.quantities import counted
from fencepost.api.asking.targets import ask
from fencepost.api.calls.audit import audit as audited
from fencepost.api.calls.check import check as checked
from fencepost.api.calls.compare import compare as compared
from fencepost.api.calls.in_hand import in_hand
from fencepost.api.topics.advice_words import answer_of, headline, lines_of, row_of
from fencepost.api.topics.advising import about, assumptions, may_have_elr, versions
from fencepost.api.topics.advising import advise as advised
from fencepost.api.topics.applying import findings_of
from fencepost.api.topics.claims import left_out
from fencepost.api.topics.evidence import finding_of, guarantees
from fencepost.api.topics.operations import AFTER
from fencepost.explorers.verdict import Verdict
from fencepost.invariants.catalogue import entries, evidence
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.kafka.audit.findings import SORTS
from fencepost.model.language.actions import Kind
from fencepost.model.language.errors import FencepostError, UsageError, require_known

SECONDS, MOST_SECONDS = 20.0, 120.0
"""Default and maximum duration of a search, in seconds."""
MOST_STATES = 2_000_000
"""Maximum number of states of each model in a comparison, which needs complete state spaces."""
MOST_STEPS = 60
"""Maximum number of steps shown per history."""
INSTRUCTIONS = """Fencepost checks Kafka's replication protocol. `advise` says which operations lose a topic's records,
and whether an operator may perform an `operation` now. `explain` explains a finding, guarantee, bug, question (HYP-17,
G-S2, KAFKA-15221) or property. `check` searches a protocol (replication, kip320, quorum, ...) at small constants.
`why_not` says why a step is not enabled. `compare` finds the first difference between two models. `audit` says whether
records were lost, given copies of a cluster's files. `evidence` states the basis of an answer. Nothing is called safe
unless the search was complete."""


def check(
    protocol: str,
    version: str = "",
    constants: dict[str, Any] | None = None,
    properties: list[str] | None = None,
    seconds: float = SECONDS,
) -> dict[str, Any]:
    """Search all states of a protocol, such as replication at version kafka-4.1, for violations of its properties."""
    asked = {"protocol": protocol, "version": version or None, "constants": constants or {}}
    question = ask(protocol, version=version, constants=constants or {}, only=properties or ())
    made = checked(
        question,
        budget=min(max(seconds, 1.0), MOST_SECONDS),
        compact=not any(item.kind.over_behaviours for item in question.properties),
        cross_check=0,
    )
    by: dict[str, list[str]] = {}
    for item in made.properties:
        word = "reached" if item.verdict is Verdict.HOLDS and item.kind is Kind.SOMETIMES else str(item.verdict)
        by.setdefault(word, []).append(item.name)
    whole = ", all of them" if made.complete else ""
    return {
        **asked,
        "verdict": str(made.verdict),
        **by,
        "shortest": _shortest(made),
        "evidence": f"{made.distinct:,} states searched{whole}{left_out(made.omission)}",
        "bounds_reached": {item.constant: item.value for item in made.bounds_reached},
        "warnings": [item.text for item in made.warnings],
        "bounded": made.why_stopped or None,
    }


def _shortest(made: CheckResult) -> dict[str, Any] | None:
    if not made.violated:
        return None
    item = made.violated[0]
    steps = made.traces[item.name].texts
    prop = next(one for one in made.question.protocol.properties if one.name == item.name)
    return {"property": item.name, "sentence": prop.sentence, "steps": [*steps[:MOST_STEPS]], "length": len(steps)}


def explain(name: str) -> dict[str, Any]:
    """Explain a Kafka issue, a property, an audit rule, or (by its id) a finding, guarantee, bug, question or claim."""
    if sort := SORTS.get(name.strip()):
        picked = ("name", "severity", "about", "rule", "sentence", "look", "page")
        return {"rule_of": "audit", **{key: getattr(sort, key) for key in picked}}
    for item in PROTOCOLS.values():
        for prop in item.properties:
            if prop.name == name.strip().replace("_", "-"):
                return {"property": prop.name, "protocol": item.name, "sentence": prop.sentence, "kind": str(prop.kind)}
    data = guarantees(name.strip()).to_dict()
    kinds = ("guarantees", "bugs", "questions", "hypotheses", "claims")
    return {"entries": [_entry(kind, item) for kind in kinds for item in data[kind]]}


def _entry(kind: str, item: dict[str, Any]) -> dict[str, Any]:
    known, seen = evidence().get(item["id"]), finding_of(entries()[item["id"]])
    picked = ("id", "protocol", "sentence", "source", "status", "standing", "verdict", "answer")
    runs = [
        {"run": case["protocol"], "property": case["property"], "verdict": case["expect"], "length": case["length"]}
        for case in item["cases"]
    ]
    return {
        "kind": kind.removesuffix("s").replace("hypothese", "finding"),
        **{name: item[name] for name in picked if item.get(name)},
        "releases": list(known.releases if known else ()) or _releases_with(item["id"]) or None,
        "avoid": (known.avoid or None) if known else None,
        "broken_by": [found["id"] for found in item.get("findings", ())],
        "classes": seen.classes,
        "clusters": seen.clusters,
        "evidence": runs[:8],
        "runs": len(runs),
    }


def _releases_with(name: str) -> list[str]:
    found = []
    for item in versions():
        with_and_without = (findings_of(item, 1, elr=elr) for elr in {False, may_have_elr(item)})
        if any(one["id"] == name for findings in with_and_without for one in findings):
            found.append(item.removeprefix("kafka-"))
    return found


def why_not(
    protocol: str,
    action: str,
    steps: list[str] | None = None,
    version: str = "",
    constants: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Explain why an action such as `leader-appends leader=0` is not enabled after some steps, or what it changes."""
    hand = in_hand(protocol, version=version, constants=constants or {})
    state = hand.initial()[0]
    for step in steps or []:
        state = hand.take(state, step)
    refused = hand.why_not(state, action)
    changes = [] if refused else state.changes_to(hand.take(state, action))
    enabled = hand.steps(state)
    return {
        "action": action,
        "enabled": not refused,
        "why_not": refused or None,
        "changes": changes,
        "instead": enabled[:20],
        "evidence": f"the plain semantics of {protocol} after {len(steps or [])} steps; {len(enabled)} steps enabled",
    }


def compare(a: str, b: str, constants: dict[str, Any] | None = None, seconds: float = SECONDS) -> dict[str, Any]:
    """Compare two models, such as `kip320` and `kip279`, or `replication version=kafka-4.1` and `kip320`."""
    ends = time.monotonic() + min(max(seconds, 1.0), MOST_SECONDS)
    try:
        made = compared(a, b, constants=constants or {}, max_states=MOST_STATES, cancel=lambda: time.monotonic() > ends)
    except KeyboardInterrupt:
        return {"a": a, "b": b, "verdict": "undetermined", "bounded": f"not compared within {seconds:g} s"}
    data = made.to_dict()
    sides = {name: data[name]["distinct"] for name in ("a", "b")}
    found = next((item[one] for item in data["compared"] for one in ("state", "behaviour") if item[one]), None)
    guards = {item["action"]: {one: item[one] for one in ("only_a", "only_b")} for item in data["actions"]["changed"]}
    return {
        "a": a,
        "b": b,
        "verdict": data["verdict"],
        "actions": {**{name: data["actions"][name] for name in ("only_a", "only_b")}, "guards": guards},
        "constants": data["constants"],
        "guarantees": data["guarantees"],
        "first": found
        and {**{name: found[name] for name in ("side", "sentence")}, "steps": found["steps"][:MOST_STEPS]},
        "evidence": f"all {sides['a']:,} states of a and all {sides['b']:,} states of b",
        "bounded": next((item["why"] for item in data["compared"] if item["same"] is None), None),
    }


def advise(
    replicas: int = 3,
    min_isr: int = 2,
    kafka: str = "",
    *,
    acks: str = "all",
    elr: bool | None = None,
    unclean_election: bool = False,
    brokers: int | None = None,
    operation: str = "",
) -> dict[str, Any]:
    """Explain what operations do to a topic's records. For one operation, such as `restart`, also advise what to do."""
    made = advised(
        replicas, min_isr, kafka=kafka, acks=acks, elr=elr, unclean_election=unclean_election, brokers=brokers
    )
    data = made.to_dict()
    said = {key: data[key] for key in ("settings", "assumed")} | {"notes": list(assumptions(made.settings, data))}
    if operation:
        (item,) = about(data, operation)["operations"]
        picked = ("operation", "outcome", "findings", "instead", "avoid", "after", "show", "measure", "unmodelled")
        own = {key: item[key] for key in picked}
        return {"answer": answer_of(data, item), **own, "evidence": lines_of(item)[:-1], **said}
    rows = [
        {
            **{key: item[key] for key in ("operation", "outcome", "findings", "instead")},
            "in_short": row_of(item)[1],
            "evidence": lines_of(item)[0],
        }
        for item in data["operations"]
    ]
    return {"answer": headline(data), "operations": rows, "after": AFTER["lost"], "more": "name an `operation`", **said}


def audit(paths: list[str], kafka: str = "", min_isr: int = 1, seconds: float = MOST_SECONDS) -> dict[str, Any]:
    """Report whether records were lost, given __cluster_metadata-0 folders, disk copies, or kafka-dump-log output."""
    ends = time.monotonic() + min(max(seconds, 1.0), MOST_SECONDS)
    try:
        made = audited(*paths, kafka=kafka or None, min_isr=min_isr, cancel=lambda: time.monotonic() > ends)
    except KeyboardInterrupt:
        return {"paths": paths, "verdict": "undetermined", "bounded": f"not read within {seconds:g} s"}
    names, data = ("sort", "severity", "about", "topic", "partition", "offset", "brokers", "text"), made.to_dict()
    worst = [{name: item.get(name) for name in names} for item in made.findings[:10]]
    return {
        "paths": paths,
        "answer": made.answer,
        "verdict": made.verdict,
        "findings": worst,
        "found": len(made.findings),
        "to_do": {item["sort"]: item["look"] for item in data["sorts"]},
        "release": data["release"],
        "evidence": f"{counted(data['changes'] - data['unjudged'], 'change')}, judged by "
        f"{counted(len(data['looked_for']), 'rule')}"
        f"; {'; '.join(data['warnings']) or 'all read'}",
        "bounded": None,
    }


TOOLS: tuple[Callable[..., dict[str, Any]], ...] = (check, explain, why_not, compare, advise, audit)


def answer(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return a tool's answer. Every error becomes one message under `error`."""
    try:
        return _tool(name, given)(**given)
    except FencepostError as error:
        return {"error": " ".join(str(error).split())}
    except Exception as error:  # noqa: BLE001 (an agent gets a message, never a traceback)
        return {"error": f"{name} failed: {type(error).__name__}: {' '.join(str(error).split())[:300]}"}


def _tool(name: str, given: dict[str, Any]) -> Callable[..., dict[str, Any]]:
    known = {tool.__name__: tool for tool in TOOLS}
    require_known((name,), known, "there is no tool", "Tools are")
    wanted = signature(known[name]).parameters
    for item, value in given.items():
        require_known((item,), wanted, f"{name} has no argument", "Arguments are")
        kind = str(wanted[item].annotation).removesuffix(" | None")
        classes, words = KINDS[kind.partition("[")[0]]
        optional = value is None and wanted[item].default is None
        if not optional and (not isinstance(value, classes) or (isinstance(value, bool) and kind != "bool")):
            raise UsageError(f"{name}: {item} cannot be {value!r}: expected {words}.")
    missing = [item.name for item in wanted.values() if item.default is item.empty and item.name not in given]
    if missing:
        raise UsageError(f"{name} needs {missing[0]}: write {', '.join(missing)}.")
    return known[name]


KINDS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "str": (str, "text"),
    "int": (int, "a whole number"),
    "float": ((int, float), "a number"),
    "bool": (bool, "true or false"),
    "list": (list, "a list of strings"),
    "dict": (dict, "an object of names and values"),
}
"""JSON types of arguments, by annotation."""


@call
def mcp() -> None:
    """Serve the tools over stdio until the client closes the streams; raise UsageError if the library is missing."""
    if importlib.util.find_spec("mcp") is None:
        raise UsageError("serving agents needs the mcp library: run `pip install 'fencepost[mcp]'`.")
    from anyio.to_thread import run_sync
    from mcp.server import MCPServer
    from mcp.types import CallToolResult, TextContent

    class Served(MCPServer):  # type: ignore[misc]
        """The MCP server. It validates arguments, because the library's own messages take several lines each."""

        async def call_tool(
            self,
            name: str,
            arguments: dict[str, Any],
            context: Any = None,  # noqa: ARG002 (the library's signature)
        ) -> CallToolResult:
            """Answer a request in a thread, because searches take seconds."""
            found = await run_sync(answer, name, arguments)
            text = TextContent(type="text", text=json.dumps(found))
            return CallToolResult(content=[text], structured_content=found, is_error="error" in found)

    server = Served("fencepost", instructions=" ".join(INSTRUCTIONS.split()), log_level="ERROR")
    for tool in TOOLS:
        server.tool()(tool)
    server.run("stdio")
