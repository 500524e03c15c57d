"""Search for every finding on data replication in every version of the model, and store the verdicts.

`python -m benchmarks.figures.versions`.

The search for each finding uses the sizes and budgets of its smallest violating run and the rules of the version. All
other findings are fixed, so that this finding is the cause of any violation. This takes some minutes. The results are
in invariants/figures/versions.json, which docs/kafka/findings.md shows. `--losses` only measures what each release
loses if crashes preserve the disk, which docs/kafka/losing-data.md shows.
"""

import argparse
import re
import sys
import time
from typing import Any

from fencepost import api
from fencepost.explorers.verdict import Verdict
from fencepost.invariants.catalogue import Case, entries, evidence, values_of
from fencepost.invariants.figures.store import load, save
from fencepost.kafka.driver.ablation import rules_as_built
from fencepost.kafka.replication.mapping import AS_BUILT, AS_DRIVEN
from fencepost.model.cluster.constants import Judging
from fencepost.model.cluster.machine import MACHINE, VERSIONS
from fencepost.site.stale import DISK_STAYS, LOSS, losses_mark, versions_mark

REPAIRS: dict[str, int] = {
    "equal_partition_epoch_overwrites": 0,
    "reset_followers_on_reelection": 1,
    "fenced_epoch_check": 1,
    "fenced_before_registration": 1,
    "elr_within_replicas": 1,
    "elr_judged_by": int(Judging.HEARTBEATS),
    "leaderless_elr_is_cleared": 0,
    "stale_elr_elects": 0,
    "atomic_expansion": 1,
    "fetch_broker_epoch_check": 1,
    "high_watermark_needs_min_isr": 1,
    "wait_needs_eligibility": 1,
    "last_known_leader_check": 1,
    "answers_match_epoch": 1,
    "later_epochs_skipped": 1,
    "divergence_judged_apart": 0,
    "failed_directory_leaves_elr": 1,
    "fewer_directories_are_unclean": 1,
    "assignment_keeps_elr": 1,
    "offline_replica_is_ineligible": 1,
    "log_start_check": 1,
    "truncation_moves_checkpoint": 1,
}
OWN: dict[str, tuple[str, ...]] = {
    "HYP-2": ("fenced_before_registration",),
    "HYP-11": ("elr_judged_by",),
    "HYP-16": ("failed_directory_leaves_elr", "fewer_directories_are_unclean"),
    "HYP-17": ("assignment_keeps_elr",),
    "HYP-18": ("offline_replica_is_ineligible",),
    "HYP-22": ("log_start_check",),
    "HYP-23": ("truncation_moves_checkpoint",),
    "B10": ("atomic_expansion", "fetch_broker_epoch_check"),
    "B17": ("wait_needs_eligibility",),
    "B20": ("high_watermark_needs_min_isr",),
}
"""Constants of findings that differ from those in their entries."""
ABOUT_ELR = ("B20", "B21", "B22", "HYP-10", "HYP-11", "HYP-12", "HYP-14", "HYP-16", "HYP-17")
RUNS = {
    "HYP-11": "replication kafka-4.4 2 brokers, HYP-11, nothing asked for",
    "HYP-3": "replication 3 brokers, HYP-3",
    "B14": "replication 3 brokers, B14",
    "HYP-14": "replication kafka-4.4 2 brokers, HYP-14",
    "HYP-15": "replication 2 brokers, HYP-15",
    "HYP-18": "replication 2 brokers, HYP-18, in the end",
}
"""Runs to start from instead, if the smallest run shows too much or too little."""
BESIDES: dict[str, dict[str, int]] = {"B19": {"min_isr": 2}}
"""Additional constants, because with min ISR 1, a record may only ever have been on the last replica."""
EPOCHS = 6
"""The minimum number of leader epochs, because some versions start more epochs than others."""
ELR = "kafka-4.0 with ELR"
COLUMNS: dict[str, dict[str, int]] = {}
for _version in VERSIONS:
    COLUMNS[_version.name] = dict(_version.values)
    if _version.name == "kafka-4.0":
        COLUMNS[ELR] = {**_version.values, "elr": 1}
"""The settings of each column of the table: the versions, and 4.0 with the feature that is off by default."""


def smallest(entry: str) -> Case | None:
    cases = [
        case for case in evidence()[entry].cases if case.run.protocol == "replication" and case.expect == "violated"
    ]
    named = [case for case in cases if case.run.name == RUNS.get(entry, case.run.name)]
    return min(named, key=lambda case: (case.run.distinct or 0, case.length or 0), default=None)


def constants(entry: str, case: Case, column: str) -> dict[str, int]:
    """Return the constants of the search for an entry; operators' settings are the same in every version."""
    values = {name: int(value) for name, value in MACHINE.set_constants(values_of(case.run)).values.items()}
    own = {*re.findall(r"(\w+)=", entries()[entry].switch), *OWN.get(entry, ())}
    repaired = {name: value for name, value in REPAIRS.items() if name not in own}
    rules = {**AS_DRIVEN, **rules_as_built(MACHINE, column.partition(" ")[0], AS_BUILT), **COLUMNS[column]}
    found = {**values, **rules, **repaired, **BESIDES.get(entry, {})}
    found["completion"] = found["completion"] if found["reassignments"] else 0
    found["max_leader_epoch"] = max(found["max_leader_epoch"], EPOCHS)
    return found


def verdict(prop: str, given: dict[str, int]) -> dict[str, Any]:
    found = api.check("replication", constants=given, only=[prop], stop_on_violation=True, workers=1)
    (result,) = (item for item in found.properties if item.name == prop)
    if result.verdict is Verdict.VIOLATED:
        return {"verdict": "violated", "length": result.path.length if result.path else 0}
    return {"verdict": str(result.verdict), "distinct": found.distinct}


def row(entry: str, case: Case) -> dict[str, Any]:
    searched: dict[str, dict[str, Any]] = {}
    by = {}
    for column in COLUMNS:
        given = constants(entry, case, column)
        if entry in ABOUT_ELR and not given["elr"]:
            by[column] = {"verdict": "not expressible"}
            continue
        key = repr(given)
        if key not in searched:
            searched[key] = verdict(case.prop, given)
        by[column] = searched[key]
    return {"entry": entry, "run": case.run.name, "property": case.prop, "by": by}


def losses() -> list[dict[str, Any]]:
    """Return, for each release and min ISR, the fewest faults that lose an acknowledged record if disks survive."""
    rows = []
    for version in VERSIONS:
        for min_isr in (1, 2):
            found = api.faults(
                "replication",
                prop=LOSS,
                version=version.name,
                constants={**DISK_STAYS, "min_isr": min_isr},
                compact=True,
            )
            (point,) = found.to_dict()["grid"]
            asked = {name: point[name] for name in ("least", "most", "unknown", "states")}
            front = [
                {"faults": {kind: n for kind, n in item["faults"].items() if n}, "length": item["length"]}
                for item in point["front"]
            ]
            rows.append({"version": version.name, "min_isr": min_isr, **asked, "front": front})
            sys.stderr.write(f"{version.name}, min ISR {min_isr}: {front}, {asked}\n")
    return rows


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", action="append", metavar="ENTRY", help="only this entry; save nothing (repeatable)")
    options.add_argument(
        "--losses", action="store_true", help="only measure what each release loses if crashes preserve the disk"
    )
    given = options.parse_args()
    if given.losses:
        save("versions", {**load("versions"), "losses": {"mark": losses_mark(), "rows": losses()}})
        return
    rows = []
    for entry, item in entries().items():
        if item.kind not in ("hypothesis", "bug") or (given.only and entry not in given.only):
            continue
        case = smallest(entry) if entry in evidence() else None
        if case is None:  # no run of the model shows this finding
            continue
        begun = time.monotonic()
        rows.append(row(entry, case))
        sys.stderr.write(
            f"{entry} ({time.monotonic() - begun:.0f} s): {[one['verdict'] for one in rows[-1]['by'].values()]}\n"
        )
    if not given.only:
        save(
            "versions", {"mark": versions_mark(), "findings": rows, "losses": {"mark": losses_mark(), "rows": losses()}}
        )


if __name__ == "__main__":
    main()
