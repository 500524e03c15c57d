"""Advice on a topic's settings from measured figures. Settings that were never searched are not called safe."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from fencepost.api.answers.as_json import FORMAT, Json, pick, table
from fencepost.api.answers.results import Answer, frame
from fencepost.api.asking.arguments import call
from fencepost.api.asking.quantities import counted, listed
from fencepost.api.topics.advice_words import ELR_SHOWN, KINDS, headline, in_sentences, row_of
from fencepost.api.topics.applying import findings_of, unrepaired
from fencepost.api.topics.measured import cell_of, cells, crashes_are_of, lost_with, machine_mark, outcome, released
from fencepost.api.topics.operations import (
    Settings,
    number_of,
    operation_named,
    operations,
    patch_with_own_rules,
    patches_read,
)
from fencepost.counterexamples.browser.links import differing, link
from fencepost.invariants.catalogue import entries
from fencepost.invariants.figures.store import load
from fencepost.invariants.protocols import protocol
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

PROTOCOL = "replication"
ACKS = ("all", "1", "0")
RELEASED_ON = 2
"""Number of brokers in searches of releases without fixes."""
LEAST_WORTH = 1
"""Settings are not recommended if this many crashes can lose a record."""
FIRST_ELR = (4, 0)


@dataclass(frozen=True, repr=False)
class AdviceResult(Answer):
    """Advice on settings: the measured cell, the fewest crashes that lose a record, findings, and operations."""

    settings: Settings
    point: Json | None
    """The settings' cell in the measured table, or None if these settings were not searched."""

    def __repr__(self) -> str:
        return f"AdviceResult({headline(self.to_dict())})"

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each operation, with its effect, its findings, the alternative, and the evidence."""
        names = "operation outcome findings instead after show measure"
        return frame(names, ([item[name] for name in names.split()] for item in self.to_dict()["operations"]))

    def _repr_html_(self) -> str:
        data = self.to_dict()
        return table(headline(data), ("operation", "what it does", "instead"), list(map(row_of, data["operations"])))

    @property
    def decided(self) -> bool:
        """Whether the searches for these settings finished."""
        return self.point is not None and not self.point["undetermined"]


@call
def advise(
    replicas: int = 3,
    min_isr: int = 1,
    *,
    kafka: str = "",
    acks: str = "all",
    elr: bool | None = None,
    unclean_election: bool = False,
    brokers: int | None = None,
) -> AdviceResult:
    """Return how a topic's settings affect its records; raise UsageError for invalid settings.

    `kafka` is a release, and defaults to the newest supported release. `elr` defaults to what new clusters of that
    release use. `brokers` is the number of brokers in the cluster. Moves need a broker without a replica.
    """
    version, named = _version(kafka), kafka.strip().lower().removeprefix("kafka-")
    release, has_elr = "" if f"kafka-{named}" == version else named, _usual_elr(version) if elr is None else elr
    settings = Settings(replicas, min_isr, version, acks, has_elr, unclean_election, release, brokers)
    _refuse_impossible(settings)
    point = _cell(settings)
    data: Json = {
        "format": FORMAT,
        "settings": _shown(settings),
        "assumed": [name for name, is_default in (("kafka", not kafka), ("elr", elr is None)) if is_default],
        "searched": point is not None,
        "why": _why(settings, point),
        "operations": operations(settings),
        "crashes": None if point is None else _crashes(settings.replicas, point),
        "released": _released(settings),
        "findings": findings_of(settings.version, settings.min_isr, elr=settings.elr),
        "changes": _changes(settings, point),
    }
    return AdviceResult(data, settings, point)


def _refuse_impossible(asked: Settings) -> None:
    if asked.replicas < 1 or asked.min_isr < 1:
        raise UsageError(
            f"{asked.replicas} replicas with min ISR {asked.min_isr} are impossible: both must be at least 1."
        )
    if asked.acks not in ACKS:
        raise UsageError(f"Kafka has no acks={asked.acks!r}: write one of {', '.join(ACKS)}.")
    if asked.brokers is not None and asked.brokers < asked.replicas:
        given = f"{counted(asked.replicas, 'replica')} and {counted(asked.brokers, 'broker')}"
        raise UsageError(f"{given} are impossible: write more `brokers=`.")
    if asked.elr and not may_have_elr(asked.version):
        raise UsageError(
            f"{asked.version.replace('kafka-', 'Kafka ')} has no eligible leader replicas, which were added in 4.0: "
            "leave ELR out, or name a later release."
        )


def _usual_elr(version: str) -> bool:
    return bool(protocol(PROTOCOL).machine.version(version).values.get("elr", 1))  # noqa: PD011 (no frame)


def versions() -> tuple[str, ...]:
    """Return the supported releases, which are named like the versions of the model."""
    return tuple(item.name for item in protocol(PROTOCOL).machine.versions)


def may_have_elr(version: str) -> bool:
    """Return whether a release supports eligible leader replicas, even if they are off by default."""
    return number_of(version) >= FIRST_ELR


def _version(kafka: str) -> str:
    """Return the model's version for a release such as `4.1`, `4.1.2` or `kafka-4.1`, by default the newest."""
    if not kafka:
        return versions()[-1]
    found = re.fullmatch(r"(?:kafka-)?(\d+\.\d+)(?:\.\d+)?", kafka.strip().lower())
    name = f"kafka-{found[1]}" if found else ""
    if name not in versions():
        known = ", ".join(item.removeprefix("kafka-") for item in versions())
        raise UsageError(f"Fencepost does not support Kafka {kafka!r}: write one of {known}.")
    return name


def _cell(it: Settings) -> Json | None:
    found = cell_of(it.replicas, it.min_isr, elr=it.elr, unclean_election=it.unclean_election)
    return found if it.acks == "all" else None


def _shown(settings: Settings) -> dict[str, Any]:
    return {
        **pick(settings, "replicas min_isr"),
        "kafka": settings.version,
        **pick(settings, "acks elr unclean_election brokers"),
        "release": settings.release or None,
        "read": patches_read(settings.version),
    }


def _why(settings: Settings, point: Json | None) -> str:
    if point is not None:
        return "; ".join(item["why"] for item in point["unknown"])
    if settings.acks != "all":
        return (
            f"with acks={settings.acks}, a record counts as written before all in-sync replicas have it, so one "
            "election may lose the record, and no search covers this"
        )
    if not cells(settings.replicas):
        known = " and ".join(sorted(load("faults")))
        return f"no search was made with {counted(settings.replicas, 'replica')}, only with {known}"
    if settings.min_isr > settings.replicas:
        return (
            f"no search was made with min ISR above the number of replicas ({settings.replicas}). Since 3.7, Kafka "
            f"caps min ISR at that number: request min ISR {settings.replicas}"
        )
    return "no search was made with these settings"


def _crashes(replicas: int, point: Json) -> Json:
    from fencepost.explorers.evidence.faults import fault_kinds

    machine, constants = protocol(PROTOCOL).machine, point["constants"]
    changed = differing(machine, constants)
    bounds = {name: bound for name, bound in fault_kinds(machine).items() if name not in point["kinds"]}
    return {
        "outcome": outcome(point),
        "property": load("faults")[str(replicas)]["property"],
        "counted": point["kinds"],
        **{name: point[name] for name in ("most", "least", "front")},
        "told": [in_sentences(item["steps"]) for item in point["front"]],
        "explore": [link(PROTOCOL, constants=changed, steps=item["steps"]) for item in point["front"]],
        "not_counted": {name: int(constants[bound]) for name, bound in bounds.items() if constants.get(bound)},
        "never": [KINDS[name][1] for name, bound in bounds.items() if not constants.get(bound)],
        **{name: point[name] for name in ("states", "omission", "constants")},
    }


def _released(settings: Settings) -> Json | None:
    """Return the losses in an unfixed release if disks survive crashes, or None if no search was made."""
    asked = settings.acks == "all" and settings.elr == _usual_elr(settings.version) and not settings.unclean_election
    row = released(settings.version, settings.min_isr) if asked else None
    if row is None:
        return None
    return {
        "brokers": RELEASED_ON,
        "outcome": lost_with(row),
        **{name: row[name] for name in ("most", "least", "front")},
        "undetermined": bool(row["unknown"]),
        "states": row["states"],
    }


def _changes(settings: Settings, point: Json | None) -> list[Json]:
    """Return changes of a single setting that let records survive more crashes, best first. A change that stops writes
    while any broker is down is omitted, unless it lets records survive more crashes than every other change.
    """
    found = sorted(
        _candidates(settings, point), key=lambda item: (-item[0], -item[1]["writes_go_on_with_brokers_down"])
    )
    may_stop = settings.min_isr >= settings.replicas
    going_on = [rank for rank, item in found if item["writes_go_on_with_brokers_down"]]
    return [
        item
        for rank, item in found
        if item["writes_go_on_with_brokers_down"]
        or may_stop
        or (rank > LEAST_WORTH and rank > max(going_on, default=0))
    ]


def _candidates(settings: Settings, point: Json | None) -> Iterator[tuple[int, Json]]:
    """Yield (crashes, change) for each change of one setting that raises the number of crashes that lose a record."""
    others: list[tuple[str, Any]] = [("acks", "all"), ("unclean_election", False)]
    others += [("elr", True)] if may_have_elr(settings.version) else []
    others += [("min_isr", number) for number in range(1, settings.replicas + 1) if cells(settings.replicas)]
    for name, value in others:
        changed = replace(settings, **{name: value})
        if changed == settings:
            continue
        found = _cell(changed)
        known = -1 if name == "acks" else LEAST_WORTH if point is None else _rank(point)
        if found is not None and not found["undetermined"] and _rank(found) > known:
            change: Json = {
                "setting": name,
                "value": value,
                "outcome": outcome(found),
                "least": found["least"],
                "writes_go_on_with_brokers_down": changed.replicas - changed.min_isr,
            }
            yield _rank(found), change


def _rank(point: Json) -> int:
    """Return the fewest crashes that lose a record, the number tried plus one if none do, or 0 if undecided."""
    if point["undetermined"]:
        return 0
    return int(sum(point["most"].values()) + 1 if point["least"] is None else point["least"])


def notes(settings: Settings, data: Json) -> Iterator[str]:
    crashes = data["crashes"]
    if crashes is not None:
        yield (
            f"The crashes were counted in a model in which {_without_findings(settings, data, crashes['constants'])}, "
            "every crash may lose the whole log, and at most "
            f"{counted(int(crashes['constants']['max_records']), 'record')} can be written. The searches visited "
            f"{crashes['states']:,} states{_missed(crashes['omission'])}."
        )
        if not _is_as_measured(settings.replicas):
            yield (
                "The installed model was edited. The crashes were counted in the original model, so the edit is not "
                "covered."
            )
        yield (
            "These events never happened in the searches, so the numbers above do not cover them: "
            f"{', '.join(crashes['never'])}."
        )
    yield from assumptions(settings, data)


def about(data: Json, operation: str) -> Json:
    """Return the advice about one operation, given by name or title; raise UsageError for an unknown operation."""
    name = operation_named(operation)
    rows = [item for item in data["operations"] if item["operation"] == name]
    if not rows:
        raise UsageError(f"these settings have no ELR, so {operation!r} does not apply: name another operation.")
    return {**data, "operations": rows}


def assumptions(settings: Settings, data: Json) -> Iterator[str]:
    """Yield notes on the patch release, on findings that no operation above covers, and on assumed defaults."""
    patches = patches_read(settings.version)
    read = " and ".join(patches)
    patch = patch_with_own_rules(settings.release)
    if patch is not None:
        yield f"Kafka {settings.release} is {patch.sentence}. This answer applies to {read}."
    elif settings.release and settings.release not in patches:
        yield (
            f"Kafka {settings.release} was not measured, and this answer applies to {read}. Patch releases fix losses, "
            f"so {settings.release} may not have all the findings listed, or may have others."
        )
    elif not settings.release and read:
        version = settings.version.replace("kafka-", "Kafka ")
        yield f"Statements about {version} apply to {read}: other patch releases may differ."
    named = {name for item in data["operations"] for name in item["findings"]}
    others = [item["id"] for item in data["findings"] if item["id"] not in named]
    if others:
        has = f"{settings.version.replace('kafka-', 'Kafka ')} also has {listed(others)}"
        yield f"{has}: none of these findings was seen to make an operation above lose an acknowledged record."
    if "elr" in data["assumed"]:
        is_on = "on" if settings.elr else "off"
        differs = f"; an upgraded cluster may differ. {ELR_SHOWN}" if may_have_elr(settings.version) else ""
        yield f"ELR is assumed to be {is_on}, as in new clusters of this release{differs}."
    if "kafka" in data["assumed"]:
        yield "No release was named, so this answer is about the newest release that Fencepost supports."


@cache
def _is_as_measured(replicas: int) -> bool:
    return crashes_are_of(replicas, machine_mark(protocol(PROTOCOL).machine))


def _without_findings(settings: Settings, data: Json, constants: Mapping[str, Any]) -> str:
    machine = protocol(PROTOCOL).machine
    repairs, newest = {item.finding for item in machine.repairs}, unrepaired(versions()[-1], elr=settings.elr)
    others = [item["id"] for item in data["findings"] if item["id"] not in repairs and item["group"] != "clusters"]

    def may_happen(name: str) -> bool:
        pairs = re.findall(r"(\w+)=([\w-]+)", entries()[name].switch.partition(";")[0])
        given = [(constant, machine.constant(constant), value) for constant, value in pairs]
        is_set = all(int(constants.get(name, item.default)) == item.parse(value) for name, item, value in given)
        return name in newest and is_set

    never = [name for name in others if not may_happen(name)]
    contained = [name for name in others if name not in never]
    found = "every finding below that the model can fix is fixed"
    if never:
        found += f", {listed(never)} cannot be triggered (the model has no fix)"
    return found + (f", {listed(contained)} can happen, as in this release" if contained else "")


def _missed(omission: float) -> str:
    """Return a clause about the probability that a search missed a state, or "" if states were stored in full."""
    if not omission:
        return ""
    digits = len(str(int(1 / omission))) - 1
    return f"; the chance that a state was missed is below 1 in {int(1 / omission) // 10**digits * 10**digits:,}"
