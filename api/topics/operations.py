"""Operations on a cluster and their measured outcomes with given settings, one row for each operation.

A row lists what was observed with the given settings on clusters, with Kafka's classes or in the model. Observations
with other settings are listed separately, each with the differences. No observation is inferred from another.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from fencepost.api.answers.as_json import Json
from fencepost.api.asking.constants import read_values
from fencepost.api.topics.applying import LOSING, PROTOCOL, findings_of, measured_on
from fencepost.api.topics.evidence import cases_of, constants_of
from fencepost.api.topics.measured import cells
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.invariants.catalogue import entries, evidence
from fencepost.invariants.figures.store import load
from fencepost.invariants.protocols import protocol
from fencepost.kafka.clusters.scenario import Scenario
from fencepost.model.language.errors import UsageError, nearest
from fencepost.model.language.machine import Version

LOSS = LOSING[0]
COMMON = "loss=none max_records=1 max_leader_epoch=8 crashes=0 fences=0 shrinks=0 lags=0"
"""Constants that exclude events unless an operation requires them. Metadata may be delayed in every search."""
MOST_BROKERS = 4
"""Maximum number of replicas in a search. Larger searches did not finish within minutes (25 million states)."""
ELR_ALONE = ("unclean_shutdown", "last_known_leader", "last_known_leader_check")
"""Constants without an effect if ELR is off."""
HARMFUL = ("lost", "vanished", "leaderless", "out", "behind", "misassigned", "returned")
OUTCOMES = (*HARMFUL, "not-measured", "kept", "safe", "impossible")
"""Outcomes of operations, from worst to best. `kept` was observed on clusters, and `safe` was proved by a search."""
SAFE = {"lost": "loses no records", "returned": "shows no deleted record again"}
"""A description, for each outcome, of a model in which no history has this outcome."""
PLACES = ("clusters", "classes", "model")


@dataclass(frozen=True)
class Settings:
    """The settings of a topic, with the release of its cluster."""

    replicas: int
    min_isr: int
    version: str
    acks: str
    elr: bool
    unclean_election: bool
    release: str = ""
    """The patch release, such as `4.1.2`, if one was named."""
    brokers: int | None = None
    """Number of brokers in the cluster, or None if unknown."""


@dataclass(frozen=True)
class Operation:
    """An action of an operator or an event in a cluster; `operations.toml` documents its fields."""

    name: str
    title: str
    instead: str
    against: Mapping[str, str] = field(default_factory=dict)
    constants: str = ""
    three: str = ""
    props: Mapping[str, str] = field(default_factory=lambda: {LOSS: "lost"})
    kinds: tuple[str, ...] = ()
    elr: bool = False
    unclean: bool | None = None
    unmodelled: str = ""
    scenarios: Mapping[str, Sequence[int]] = field(default_factory=dict)
    traces: tuple[str, ...] = ()
    searched: Mapping[str, str] = field(default_factory=dict)
    alone: tuple[str, ...] = ()
    only_replica: str = ""

    def takes_part(self, history: Mapping[str, Any]) -> bool:
        """Return whether a history has a fault that the operation requires."""
        return any(history["faults"].get(name) for name in self.kinds)

    @property
    def moves(self) -> bool:
        """Whether the operation reassigns replicas."""
        return "reassignments" in self.constants


_FILE: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
AFTER: dict[str, str] = {name: " ".join(text.split()) for name, text in _FILE["after"].items()}
OPERATIONS = tuple(Operation(**item) for item in _FILE["operation"])


# searches in the model


def question(operation: Operation, version: str, replicas: int, min_isr: int, *, elr: bool) -> dict[str, int]:
    """Return the constants of an operation's searches. Constants without an effect keep their declared values."""
    machine = protocol(PROTOCOL).machine
    own = _own(operation, replicas, min_isr)
    values = {name: int(value) for name, value in {**machine.version(version).values, "elr": elr, **own}.items()}
    unused = ("log_start_flushed", *(() if operation.moves else ("completion",)))
    unused += () if elr and "directories" in own else ("assignment_keeps_elr",)
    for name in (*unused, *(() if elr else ELR_ALONE)):
        values.pop(name, None)
    return values


def repairs(values: Mapping[str, int], findings: Sequence[str]) -> dict[str, int]:
    """Return the constants that fix these findings, except constants that already have the right values."""
    lacking = [item for item in protocol(PROTOCOL).machine.missing(values) if item.finding in findings]
    return {name: int(value) for item in lacking for name, value in item.values.items()}


def _own(operation: Operation, replicas: int, min_isr: int) -> Mapping[str, int]:
    sizes = {"replicas": replicas, "fewer": replicas - 1, "more": replicas + 1}
    constants = f"{operation.constants} {operation.three if replicas > 2 else ''}".format(**sizes)
    return dict(_read(f"{COMMON} {constants} min_isr={min_isr}"))


@cache
def _read(settings: str) -> Mapping[str, int]:
    return read_values(protocol(PROTOCOL).machine, dict(word.split("=") for word in settings.split()))


# observations


def operation_named(name: str) -> str:
    """Return the name of an operation, given its name or title; raise UsageError for an unknown operation."""
    by = {word: item.name for item in OPERATIONS for word in (item.title, item.name)}
    if name.strip().lower() not in by:
        raise UsageError(
            f"there is no operation {name!r}.{nearest(name, [item.name for item in OPERATIONS], 'Write one of:')}"
        )
    return by[name.strip().lower()]


def operations(asked: Settings) -> list[Json]:
    """Return a row for each operation, worst outcomes first."""
    rows = [_row(item, asked) for item in OPERATIONS if asked.elr or not item.elr]
    return sorted(rows, key=_rank)


def _rank(row: Json) -> tuple[int, int, int]:
    shown = row["evidence"] or row["elsewhere"]
    unknown = row["outcome"] == "not-measured" and row["elsewhere"]
    here = OUTCOMES.index(row["elsewhere"][0]["outcome"] if unknown else row["outcome"])
    first = shown[0] if shown else None
    place = PLACES.index(first["seen"]) * 2 + first["late"] if first else len(OUTCOMES)
    return here * 2 + bool(unknown), place, -((first and first["lost"]) or 0)


def _row(operation: Operation, asked: Settings) -> Json:
    found = sorted(map(_without_bystanders, _seen(operation, asked)), key=lambda item: _worse(item, asked))
    exact = [item for item in found if not item["differs"]]
    others = [item for item in found if item["differs"] and item["outcome"] in HARMFUL]
    outcome = exact[0]["outcome"] if exact else "not-measured"
    if "spare=" in operation.constants and asked.brokers is not None and asked.brokers <= asked.replicas:
        exact, others, outcome = [], [], "impossible"
    covered = {item.finding for item in protocol(PROTOCOL).machine.repairs}  # others need more than searches do
    apart = [name for item in others for name in item["findings"] if outcome == "safe" and name not in covered]
    if apart:
        outcome = "not-measured"
        others.sort(key=lambda item: apart[0] not in item["findings"])
    shown = [item for item in exact if item["outcome"] == outcome != "not-measured"] or others
    only = operation.only_replica if asked.replicas == 1 else ""
    outcome, shown = ("lost", []) if only else (outcome, shown)
    names = list(dict.fromkeys(name for item in (*exact, *others) for name in item["findings"]))
    cause = shown[0]["findings"] if shown else names
    instead = next((operation.against[name] for name in cause if name in operation.against), operation.instead)
    avoided = [(name, evidence()[name].avoid) for name in names if name in evidence()]
    harm = shown[0]["outcome"] if shown else ""
    unsearched = _unsearched(operation, asked) if exact else ""
    outcome = "not-measured" if unsearched and outcome == "safe" else outcome
    after = AFTER["lost"] if harm == "lost" else next((AFTER[name] for name in names if name in AFTER), None)
    return {
        "operation": operation.name,
        "title": operation.title,
        "outcome": outcome,
        "findings": names,
        "evidence": exact,
        "elsewhere": others,
        "instead": "add a broker first" if outcome == "impossible" else only or instead,
        "avoid": [f"{name}: {text}" for name, text in avoided if text],
        "after": after if harm in HARMFUL else None,
        "show": shown[0]["show"] if shown else None,
        "page": f"docs/kafka/findings/{names[0].lower()}.md" if names and names[0].startswith("HYP-") else None,
        "measure": (
            None
            if not unsearched and (exact or outcome == "impossible")
            else _measure(operation, asked, unsearched or LOSS)
        ),
        "unmodelled": (
            "the disk has the only log of the partition, so every record is lost"
            if only
            else f"whether it {SAFE[operation.props[unsearched]]}"
            if unsearched
            else f"its search lacks {apart[0]}"
            if apart
            else _unmodelled(operation, asked)
        ),
    }


def _without_bystanders(item: Json) -> Json:
    """Return an observation; harm counts for any number of brokers, because more brokers do not restore records."""
    few = item["outcome"] in HARMFUL and item["brokers"] == item["replicas"]
    return {**item, "differs": [name for name in item["differs"] if name != "brokers"]} if few else item


def _unsearched(operation: Operation, asked: Settings) -> str:
    """Return a property that no search with these settings decided, although a search decided another property."""
    mine = {"operation": operation.name, "replicas": asked.replicas, "min_isr": asked.min_isr, "elr": asked.elr}
    rows = [row for row in load("operations").get("rows", ()) if row.items() >= mine.items()]
    rows = [row for row in rows if asked.version in row["versions"] and not row["undetermined"]]
    found = {row.get("prop", LOSS) for row in rows if not row["front"] or any(map(operation.takes_part, row["front"]))}
    return next((prop for prop in operation.props if found and prop not in found), "")


def _unmodelled(operation: Operation, asked: Settings) -> str | None:
    if asked.acks != "all":
        return "all searches and all stories on clusters use acks=all"
    if asked.replicas > MOST_BROKERS and operation.constants:
        return f"no search of more than {MOST_BROKERS} brokers finished"
    return operation.unmodelled or None


def _worse(item: Json, asked: Settings) -> tuple[int, bool, bool, int, int]:
    line, differs = number_of(item["release"]) != number_of(asked.version), item["differs"]
    return OUTCOMES.index(item["outcome"]), line, differs != ["release"], PLACES.index(item["seen"]), len(differs)


def _seen(operation: Operation, asked: Settings) -> Iterator[Json]:
    """Yield an operation's observations, with any settings, on releases in which the operation has the same effect."""
    yield from _on_clusters(operation, asked)
    yield from _on_classes(operation, asked)
    yield from _in_model(operation, asked)
    yield from _by_version(operation, asked)
    yield from _alone(operation, asked)
    if operation.unclean is not None:
        yield from _in_table(operation, asked)


def _on_clusters(operation: Operation, asked: Settings) -> Iterator[Json]:
    """Yield the observations of scenarios on clusters by release, if the requested release has the same finding."""
    number, known = number_of(asked.version), _known(asked)
    for scenario in scenarios():
        if scenario.name not in operation.scenarios or (scenario.elr is not None and scenario.elr != asked.elr):
            continue
        replicas, min_isr = operation.scenarios[scenario.name]
        for release, runs in _played(scenario.name).items():
            elr = scenario.elr if scenario.elr is not None else number_of(release) >= (4, 1)
            here = number_of(release) == number and elr == asked.elr
            expected = scenario.expected(number_of(release))
            by = {verdict: [run for run in runs if run["verdict"] == verdict] for verdict in ("kept", expected)}
            times = by[expected] or by["kept"]
            causes = [item for item in scenario.causes if number >= item.since or item.since <= scenario.since]
            names = [name for item in causes if (name := item.repair.upper()) in known and _has(name, release)]
            mine = names if times and times[0]["verdict"] != "kept" else []
            if not times or not (here or mine):
                continue
            sizes = {"replicas": replicas, "min_isr": min_isr, "brokers": len(scenario.brokers)}
            yield {
                **_blank("clusters", release, asked, operation, elr=elr, **sizes),
                "outcome": times[0]["verdict"],
                "findings": mine,
                "run": scenario.name,
                "story": scenario.title,
                "times": len(times),
                "of": len([run for run in runs if run["verdict"] != "undetermined"]),
                "lost": max(run["lost"] for run in times),
                "acknowledged": max(run["acknowledged"] for run in times),
                "late": scenario.delays,
                "show": f'`fencepost.reproduce("{scenario.name}", kafka="{release}")`',
            }


def _known(asked: Settings) -> dict[str, Json]:
    return {item["id"]: item for item in findings_of(asked.version, asked.min_isr, elr=asked.elr)}


def _has(finding: str, release: str) -> bool:
    major, minor = number_of(release)
    known = evidence()[finding].releases
    return not known or f"{major}.{minor}" in known


def _on_classes(operation: Operation, asked: Settings) -> Iterator[Json]:
    for row in load("releases").get("settled", ()):
        if row["trace"] in operation.traces and number_of(row["kafka"]) == number_of(asked.version):
            values, words = _constants_of(row["trace"]), row["trace"].upper().split("-")[1:]
            name = "-".join(words[: 2 if words[0] == "HYP" else 1])
            if row["verdict"] != "confirmed" or int(values["elr"]) > asked.elr or name not in _known(asked):
                continue
            sizes = {
                "replicas": values["brokers"] - values["spare"],
                **{name: values[name] for name in ("min_isr", "brokers")},
            }
            yield {
                **_blank("classes", row["kafka"], asked, operation, elr=bool(values["elr"]), **sizes),
                "outcome": "lost",
                "findings": [name],
                "run": row["trace"],
                "show": f'`fencepost.replay("counterexamples/archive/{row["trace"]}.trace")`',
            }


def _in_model(operation: Operation, asked: Settings) -> Iterator[Json]:
    for row in load("operations").get("rows", ()):
        if row["operation"] != operation.name or asked.version not in row["versions"] or row["elr"] != asked.elr:
            continue
        front, prop = list(filter(operation.takes_part, row["front"])), row.get("prop", LOSS)
        values = question(operation, asked.version, row["replicas"], row["min_isr"], elr=row["elr"])
        own = _own(operation, row["replicas"], row["min_isr"])
        sizes = {"replicas": row["replicas"], "min_isr": row["min_isr"], "brokers": values["brokers"]}
        made: Json = {
            **_blank("model", asked.version, asked, operation, elr=row["elr"], **sizes),
            "states": row["states"],
            "late": True,
            "repaired": row.get("repaired", []),
            "show": _search(
                asked.version, {"elr": row["elr"], **own, **repairs(values, row.get("repaired", ()))}, prop
            ),
        }
        if not row["front"] and not row["undetermined"]:
            yield {**made, "outcome": "safe", "faults": row["most"], "story": SAFE[operation.props[prop]]}
        for item in front:
            found = _lost(made, item, [name for name in item["by"] if name in _known(asked)])
            yield {**found, "outcome": operation.props[prop]}


def _by_version(operation: Operation, asked: Settings) -> Iterator[Json]:
    column = measured_on(asked.version, elr=asked.elr)
    for row in load("versions").get("findings", ()):
        cell = row["by"].get(column, {})
        if row["entry"] in operation.searched and cell.get("verdict") == "violated":
            case = next(item for item in cases_of(entries()[row["entry"]]) if item.run.name == row["run"])
            values = constants_of(case.run)
            sizes = {"replicas": int(values["brokers"]), **{name: int(values[name]) for name in ("brokers", "min_isr")}}
            yield {
                **_blank("model", asked.version, asked, operation, elr=asked.elr, **sizes),
                "outcome": operation.searched[row["entry"]],
                "findings": [row["entry"]],
                "run": row["run"],
                "steps": cell["length"] - 1,
                "show": f'`fencepost.guarantees("{row["entry"]}")`',
            }


def _alone(operation: Operation, asked: Settings) -> Iterator[Json]:
    """Yield, for each finding of this release, the shortest known loss of a record with all other findings fixed."""
    for name, item in _known(asked).items():
        if name not in operation.alone:
            continue
        points = load("finding-faults").get("findings", {}).get(name, {}).get("grid", ())
        for point in points:
            made = _by_constants(operation, asked, point["constants"])
            made = {**made, "states": point["states"], "show": _search("", point["constants"])}
            for history in point["front"]:
                yield _lost(made, history, [name])
        if item["loses"] and not points:
            case = next(one for one in cases_of(entries()[name]) if one.run.name == item["loses"]["run"])
            made = _by_constants(operation, asked, constants_of(case.run))
            made["show"] = f'`fencepost.guarantees("{name}")`'
            yield _lost(made, {"faults": None, "length": item["loses"]["length"], "steps": [case.run.name]}, [name])


def _by_constants(operation: Operation, asked: Settings, values: Mapping[str, Any]) -> Json:
    sizes = {"replicas": int(values["brokers"]) - int(values["spare"]), "brokers": int(values["brokers"])}
    sizes["min_isr"] = int(values["min_isr"])
    return {**_blank("model", asked.version, asked, operation, elr=bool(values["elr"]), **sizes), "late": True}


def _lost(made: Json, item: Mapping[str, Any], findings: list[str]) -> Json:
    run, steps = "; ".join(item["steps"]), item["length"] - 1
    return {**made, "faults": item["faults"], "steps": steps, "run": run, "outcome": "lost", "findings": findings}


def _in_table(operation: Operation, asked: Settings) -> Iterator[Json]:
    for replicas in (2, 3):
        for point in cells(replicas):
            setting = point["setting"]
            if (setting["elr"], setting["unclean_election"]) != (asked.elr, operation.unclean):
                continue
            sizes = {"replicas": replicas, "min_isr": int(setting["min_isr"]), "brokers": replicas}
            settings = replace(asked, unclean_election=False)
            made = _blank("model", asked.version, settings, operation, elr=bool(setting["elr"]), **sizes)
            least = point["least"]
            cheapest = min(point["front"], key=lambda item: item["cost"], default=None)
            yield {
                **made,
                "outcome": "not-measured" if point["undetermined"] else "safe" if least is None else "lost",
                "faults": point["most"] if cheapest is None else {**cheapest["faults"], **cheapest["free"]},
                "steps": None if least is None else min(item["length"] for item in point["front"]) - 1,
                "states": point["states"],
                "show": _search("", point["constants"]),
            }


def _blank(seen: str, release: str, asked: Settings, operation: Operation, *, elr: bool, **sizes: int) -> Json:
    spare, has_spare = sizes["brokers"] > sizes["replicas"], asked.brokers is None or asked.brokers > asked.replicas
    known = (release,) if seen != "model" else patches_read(asked.version)
    pairs = (
        *((name, sizes[name] == getattr(asked, name)) for name in ("replicas", "min_isr")),
        ("elr", elr == asked.elr),
        ("brokers", not operation.moves or asked.brokers is None or spare == has_spare),
        ("acks", asked.acks == "all"),
        ("unclean_election", not asked.unclean_election),
        ("release", asked.release in known if asked.release else number_of(release) == number_of(asked.version)),
    )
    return {
        "seen": seen,
        "outcome": "kept",
        "findings": [],
        "release": release,
        **{name: sizes[name] for name in ("replicas", "min_isr", "brokers")},
        "elr": elr,
        "differs": [name for name, same in pairs if not same],
        **dict.fromkeys(("run", "story"), ""),
        **dict.fromkeys(("times", "of", "lost", "acknowledged", "faults", "steps", "states")),
        "late": False,
        "repaired": [],
        "show": "",
    }


def _measure(operation: Operation, asked: Settings, prop: str) -> str | None:
    sizes, release = [asked.replicas, asked.min_isr], asked.release or patches_read(asked.version)[0]
    story = next((name for name, own in operation.scenarios.items() if own == sizes), None)
    if story and not operation.constants and asked.acks == "all":
        return f'`fencepost.reproduce("{story}", kafka="{release}")`'
    brokers = asked.replicas + ("{more}" in operation.constants)
    if (
        asked.acks != "all"
        or not operation.constants
        or not 2 <= brokers <= MOST_BROKERS
        or asked.min_isr > asked.replicas
    ):
        return None
    own = _own(operation, asked.replicas, asked.min_isr)
    return _search(asked.version, {"elr": asked.elr, **own, "unclean_election": asked.unclean_election}, prop)


def _search(version: str, given: Mapping[str, Any], prop: str = LOSS) -> str:
    machine = protocol(PROTOCOL).machine
    declared = machine.constants.declared()
    usual = machine.version(version).values if version else {}
    shown = [f'version="{version}"'] if version else []
    for name, value in given.items():
        number = declared[name].parse(value) if isinstance(value, str) else int(value)
        if name in ("brokers", "min_isr") or number != int(usual.get(name, declared[name].default)):
            text = declared[name].show(number)
            shown.append(f"{name}={text if isinstance(text, bool | int) else repr(str(text))}")
    return f'`fencepost.faults("{PROTOCOL}", prop="{prop}", {", ".join(shown)})`'


def patches_read(version: str) -> list[str]:
    """Return the patch releases of a release, such as `4.1.2`, whose sources or classes were examined."""
    sentence = protocol(PROTOCOL).machine.version(version).sentence
    return re.findall(rf"\b{re.escape(version.removeprefix('kafka-'))}\.\d+", sentence)


def patch_with_own_rules(release: str) -> Version | None:
    """Return the model's version for a patch release with rules of its own, such as `3.9.0`, or None."""
    patches = protocol(PROTOCOL).machine.patches()
    return next((item for item in patches if item.name == f"kafka-{release}"), None)


@cache
def scenarios() -> tuple[Scenario, ...]:
    from fencepost.kafka.clusters.reproduce import SCENARIOS

    return SCENARIOS


@cache
def _played(name: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for run in load("clusters").get("runs", ()):
        if (run["finding"], run["mode"]) == (name, "played"):
            found.setdefault(run["kafka"], []).append(run)
    return found


@cache
def _constants_of(trace: str) -> dict[str, int]:
    found = read(ARCHIVE / f"{trace}.trace").trace
    return {name: int(value) for name, value in found.constants.values.items()}


def number_of(release: str) -> tuple[int, int]:
    major, minor = release.removeprefix("kafka-").split(".")[:2]
    return int(major), int(minor)
