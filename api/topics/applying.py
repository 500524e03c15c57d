"""Findings of a release with given settings: their conditions, observations, and workarounds."""

from functools import cache

from fencepost.api.answers.as_json import Json
from fencepost.api.topics.claims import BY_OPERATOR
from fencepost.api.topics.evidence import cases_of, constants_of, finding_of, trace_of_case
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.invariants.catalogue import Entry, entries, evidence
from fencepost.invariants.figures.store import load
from fencepost.invariants.protocols import protocol

PROTOCOL = "replication"
LOSING = ("leader-has-acknowledged", "acknowledged-survives", "leader-has-committed")
"""Properties whose violation means that an acknowledged or committed record is lost."""
WITH_ELR = " with ELR"
"""Suffix of a column of verdicts with ELR, for a release in which ELR is off by default."""


def findings_of(version: str, min_isr: int, *, elr: bool) -> list[Json]:
    """Return the findings of a release. Findings that lose records come first; ties keep catalogue order."""
    return list(_findings_of(version, min_isr, elr))


@cache
def _findings_of(version: str, min_isr: int, elr: bool) -> tuple[Json, ...]:  # noqa: FBT001 (cached)
    machine = protocol(PROTOCOL).machine
    lacking = {
        item.finding: item.sentence for item in machine.missing({**machine.version(version).values, "elr": int(elr)})
    }
    column, violated = measured_on(version, elr=elr), unrepaired(version, elr=elr)
    known = evidence()
    found = [
        _applies(item, lacking.get(name, ""), "" if name in lacking else column, min_isr)
        for name, item in entries().items()
        if (name in lacking or name in violated) and not (name in known and known[name].releases)
    ]
    found += (_on_kafka(item, elr=elr) for item in entries().values() if _is_on_kafka(item, version, elr=elr))
    return tuple(
        sorted(found, key=lambda item: (item["loses"] is None and item["harm"] != "lost", item["harm"] is not None))
    )


def unrepaired(version: str, *, elr: bool) -> list[str]:
    """Return the findings of a release that its model cannot fix."""
    repaired = {item.finding for item in protocol(PROTOCOL).machine.repairs}
    column = measured_on(version, elr=elr)
    return [
        row["entry"]
        for row in load("versions").get("findings", ())
        if row["entry"] not in repaired and row["by"].get(column, {}).get("verdict") == "violated"
    ]


def _is_on_kafka(entry: Entry, version: str, *, elr: bool) -> bool:
    found = evidence().get(entry.id)
    released = found is not None and version.removeprefix("kafka-") in found.releases
    return released and (elr or "elr" not in entry.depends)


def _on_kafka(entry: Entry, *, elr: bool) -> Json:
    found = evidence()[entry.id]
    harm = found.harm if elr else found.without_elr or found.harm
    made = _applies(entry, finding_of(entry).repair, "", 0)
    return {**made, "loses": None, "faults": None, "group": "clusters", "triggers": [], "crashes": None, "harm": harm}


def measured_on(version: str, *, elr: bool) -> str:
    """Return the newest measured column up to a release, with or without ELR as requested."""
    values = {item.name: item.values for item in protocol(PROTOCOL).machine.versions}
    rows = load("versions").get("findings", ())
    columns = list(dict.fromkeys(name for row in rows for name in row["by"]))
    order = list(values)
    line = version if version in values else version.rpartition(".")[0]
    fitting = [
        name
        for name in columns
        if (base := name.removesuffix(WITH_ELR)) in values
        and (name.endswith(WITH_ELR) or bool(values[base].get("elr", 1))) == elr
        and order.index(base) <= order.index(line)
    ]
    return fitting[-1] if fitting else ""


def _applies(entry: Entry, repair: str, column: str, min_isr: int) -> Json:
    known, found = finding_of(entry), evidence().get(entry.id)
    loses, needed, grid = _loss(entry), _faults(entry.id, min_isr), _grid(entry.id)
    kinds = grid[0]["kinds"] if grid else ()
    triggers = list(dict.fromkeys(BY_OPERATOR[name] for name in kinds if name in BY_OPERATOR))
    return {
        "id": entry.id,
        "sentence": entry.sentence.removeprefix("Conjecture: "),
        "repair": repair or None,
        "avoid": (found.avoid if found else "") or None,
        "classes": list(known.classes),
        "clusters": list(known.clusters),
        "measured_on": column or None,
        "loses": loses,
        "faults": needed,
        "group": "kept" if loses is None else "operator" if triggers else "itself",
        "triggers": triggers,
        "crashes": _crashes(needed, loses, min_isr),
        "harm": None,
    }


def _crashes(needed: Json | None, loses: Json | None, min_isr: int) -> int | None:
    if needed is not None:
        return min((item["faults"].get("crashes", 0) for item in needed["front"]), default=None)
    if loses is None or loses["min_isr"] != min_isr or not loses["trace"]:
        return None
    return _crashes_in(loses["trace"].rpartition("/")[2])


@cache
def _crashes_in(file: str) -> int:
    steps = read(ARCHIVE / file).trace.steps
    return sum(item.action.label == "broker-crashes" for item in steps)


@cache
def _loss(entry: Entry) -> Json | None:
    lost = [case for case in cases_of(entry) if case.run.protocol == PROTOCOL and case.prop in LOSING and case.length]
    if not lost:
        return None
    case = min(lost, key=lambda item: (not trace_of_case(item), item.length))
    constants = constants_of(case.run)
    return {
        "property": case.prop,
        "length": case.length or 0,
        "run": case.run.name,
        "trace": trace_of_case(case) or None,
        "brokers": int(constants["brokers"]),
        "min_isr": int(constants["min_isr"]),
    }


def _grid(name: str) -> list[Json]:
    found: list[Json] = load("finding-faults").get("findings", {}).get(name, {}).get("grid", [])
    return found


def _faults(name: str, min_isr: int) -> Json | None:
    point = next((item for item in _grid(name) if item["setting"] == {"min_isr": min_isr}), None)
    if point is None:
        return None
    names = ("kinds", "most", "least", "front", "undetermined", "constants")
    return {"brokers": int(point["constants"]["brokers"]), **{key: point[key] for key in names}}
