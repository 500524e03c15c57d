"""The report of an audit: the part of the log that was checked, the worst findings, and the histories behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fencepost.kafka.audit.cluster_context import version_of
from fencepost.kafka.audit.findings import SEVERITIES, SORTS, Severity, Sort
from fencepost.kafka.audit.judging import NO_LEADER
from fencepost.kafka.audit.logs import File, Note
from fencepost.kafka.audit.pipeline import FINDINGS, FOUND, HISTORIES, Judged, MetadataLog, batches
from fencepost.kafka.audit.reading import arrow_schema
from fencepost.kafka.formatting import clock, many, when
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd


FORMAT = 1
SHOWN = 1000
"""Maximum number of findings in the report, worst first. The Parquet files also contain the `omitted` findings."""
TOLD = 5
GAPS = 3
SEEMS = 10
"""Logs that differ at more than one in SEEMS of their shared offsets are assumed to be from different clusters."""
TOP = 10
DAY = 86_400_000
ELECTIONS = ("isr", "elr", "unclean", "last-known", "none-of-them")


def report(log: MetadataLog, judged: Judged, severity: Severity) -> dict[str, Any]:
    reading, differ = log.reading, judged.differ
    taken = list(SEVERITIES[: SEVERITIES.index(severity) + 1])
    counts, release = _counts(log), log.context.release
    everything = log.kept(FINDINGS, "topic_id topic partition severity sort time lasted")
    frame = everything.to_pandas(strings_to_categorical=True)
    frame = frame.assign(place=frame.groupby(["topic_id", "partition"], observed=True).ngroup())
    every = _sorts(frame)
    sorts = [item for item in every if item["severity"] in taken]
    findings = _worst(log, taken)
    total = sum(item["count"] for item in sorts)
    of_copies = [Note("copy", text, unread=unread) for text, unread in judged.notes]
    notes = [asdict(note) for note in (*reading.every_note, *of_copies)]
    offsets = [run for item in reading.files if item.kind != "snapshot" for run in item.runs]
    missing, common = reading.coverage.gaps, reading.coverage.overlaps
    covered = max((item.end for item in reading.files if item.kind == "snapshot"), default=-1)
    shared = sum(last - first + 1 for first, last in common)
    try:
        warnings = warnings_of(counts, notes, missing, differ, shared, covered)
    except UsageError:
        reading.undo()
        raise
    return {
        "format": FORMAT,
        "verdict": _verdict(every, warnings),
        "warnings": warnings,
        "inputs": [_input(item) for item in reading.files],
        "began": log.times[0],
        "until": log.times[1],
        "severity": severity,
        "milder": sum(item["count"] for item in every) - total,
        "records": reading.records,
        "read_now": reading.added,
        "first": min((first for first, _ in offsets), default=None),
        "last": max((last for _, last in offsets), default=None),
        "files": len(reading.files),
        **counts,
        "release": release,
        "looked_for": _looked_for(every, release, copies=bool(log.copies)),
        "sorts": [
            _sort(item, release)
            for item in sorted(sorts, key=lambda item: (SEVERITIES.index(item["severity"]), item["sort"]))
        ],
        "findings": findings,
        "omitted": total - len(findings),
        "histories": _histories(log, findings, missing),
        "replicas": judged.records,
        "trace": None,
        **_places(log, frame[frame["severity"].isin(taken)], taken),
        "notes": notes,
        "gaps": [list(gap) for gap in missing],
        "overlaps": [list(one) for one in common],
        "disagreements": differ,
    }


def _counts(log: MetadataLog) -> dict[str, int]:
    place = ["topic_id", "partition"]
    rows = log.kept(HISTORIES, "topic_id partition election").to_pandas(strings_to_categorical=True)
    unjudged = rows[rows["election"] == "unjudged"]
    return {
        "changes": int((~rows["election"].isin(["end", "deleted"])).sum()),
        "topics": rows["topic_id"].nunique(),
        "partitions": len(rows[place].drop_duplicates()),
        "unjudged": len(unjudged),
        "unjudged_partitions": len(unjudged[place].drop_duplicates()),
        "elections": int(rows["election"].isin(ELECTIONS).sum()),
    }


def _sorts(found: pd.DataFrame) -> list[dict[str, Any]]:
    each = found.groupby(["sort", "severity"], observed=True)
    sums = each.agg(
        count=("place", "size"),
        partitions=("place", "nunique"),
        first=("time", "min"),
        last=("time", "max"),
        longest=("lasted", "max"),
    )
    return list(sums.reset_index().to_dict("records"))


def _places(log: MetadataLog, found: pd.DataFrame, taken: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    topics = found.groupby(["topic", "topic_id"], observed=True)
    topics = topics.agg(count=("place", "size"), partitions=("place", "nunique")).reset_index()
    topics = topics.astype({"topic": str}).sort_values(["count", "topic"], ascending=[False, True])
    brokers: Counter[int] = Counter()
    for batch in batches(log.reading.folder / FINDINGS, "brokers", [("severity", "in", taken)], FOUND):
        brokers.update(batch["brokers"].flatten().to_pylist())
    days = found.assign(day=found["time"] // DAY, severity=found["severity"].astype(str)).groupby(["day", "severity"])
    return {
        "by_topic": topics[["topic", "count", "partitions"]].head(TOP).to_dict("records"),
        "by_broker": [
            {"broker": broker, "count": count}
            for broker, count in sorted(brokers.items(), key=lambda item: (-item[1], item[0]))[:TOP]
        ],
        "by_day": [
            {"day": when(day * DAY)[:10], "severity": severity, "count": count}
            for (day, severity), count in days.size().items()
        ],
    }


def _worst(log: MetadataLog, taken: Sequence[str]) -> list[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    schema = arrow_schema(FOUND)
    worst, order = schema.empty_table(), ("rank", "time", "topic", "partition", "sort", "offset", "text")
    for batch in batches(log.reading.folder / FINDINGS, " ".join(schema.names), [("severity", "in", taken)], FOUND):
        both = pa.concat_tables([worst, pa.Table.from_batches([batch])])
        ranked = both.append_column("rank", pc.index_in(both["severity"], pa.array(SEVERITIES)))
        worst = both.take(pc.select_k_unstable(ranked, SHOWN, [(name, "ascending") for name in order]))
    return [_finding(item) for item in worst.to_pylist()]


def _input(item: File) -> dict[str, Any]:
    return {
        "path": item.path,
        "kind": item.kind,
        "records": item.records,
        "first": item.runs[0][0] if item.runs else None,
        "last": item.runs[-1][1] if item.runs else None,
    }


def _verdict(sorts: list[dict[str, Any]], warnings: list[str]) -> str:
    if any(SORTS[item["sort"]].violation for item in sorts):
        return "violated"
    if sorts:
        return "exposed"
    return "undetermined" if warnings else "nothing-found"


def _sort(item: dict[str, Any], release: dict[str, Any]) -> dict[str, Any]:
    sort, version = SORTS[item["sort"]], release["version"]
    more = {"about": sort.about, "page": sort.page, "rule": _rule(sort, release), "sentence": sort.sentence}
    return {**item, "kind": _kind(sort), **more, "look": sort.remedy(version if release["supported"] else "")}


def _looked_for(every: list[dict[str, Any]], release: dict[str, Any], *, copies: bool) -> list[dict[str, Any]]:
    made = []
    for sort in sorted(SORTS.values(), key=lambda sort: (SEVERITIES.index(sort.severity), sort.name)):
        count = sum(item["count"] for item in every if item["sort"] == sort.name)
        needs_elr = "elr" in sort.name or sort.name.startswith(("late-", "cleared-", "removed-"))
        why_not = "ELR was never on" if needs_elr and release["elr"] is False and not count else ""
        why_not = "no copies of brokers' logs" if sort.of_copies and not copies else why_not
        rule = {"sort": sort.name, "severity": sort.severity, "kind": _kind(sort), "about": sort.about}
        made.append({**rule, "rule": _rule(sort, release), "count": count, "why_not": why_not})
    return made


def _rule(sort: Sort, release: dict[str, Any]) -> str:
    return sort.rule_of(release["version"], version_of(release["metadata_version"]))


def _kind(sort: Sort) -> str:
    return "violation" if sort.violation else "exposure"


def _finding(item: dict[str, Any]) -> dict[str, Any]:
    del item["topic_id"]
    sort = SORTS[item["sort"]]
    return {**item, "kind": _kind(sort), "about": sort.about}


def _histories(
    log: MetadataLog, findings: list[dict[str, Any]], missing: list[tuple[int, int]]
) -> list[dict[str, Any]]:
    worst: dict[tuple[str, int], int] = {}
    for item in findings:
        if item["severity"] in ("critical", "high") and len(worst) < TOLD:
            worst.setdefault((item["topic"], item["partition"]), item["offset"])
    made = []
    for (topic, partition), offset in worst.items():
        own = [("topic", "==", topic), ("partition", "==", partition), ("election", "!=", "end")]
        rows = log.kept(HISTORIES, STEP, own).sort_by("offset")
        upto = int((rows["offset"].to_numpy() <= offset).sum())
        first, last = max(0, upto - BEFORE), min(upto + AFTER, rows.num_rows)
        steps = rows.slice(first, last - first).to_pylist()
        steps += rows.slice(rows.num_rows - 1).to_pylist() if last < rows.num_rows else []
        said = [item for item in findings if (item["topic"], item["partition"]) == (topic, partition)]
        story = partition_story(steps, said, missing, (max(log.context.end, 0), log.context.until))
        left_out = max(0, rows.num_rows - last - 1)
        made.append({"topic": topic, "partition": partition, "earlier": first, "left_out": left_out, **story})
    return made


def warnings_of(
    counts: dict[str, Any],
    notes: list[dict[str, Any]],
    missing: list[tuple[int, int]],
    differ: dict[str, int],
    common: int,
    covered: int,
) -> list[str]:
    """Return warnings about unchecked parts of the log; raise UsageError if logs are from different clusters. The start
    of a log may be missing if a snapshot covers it (up to offset `covered`).
    """
    found = []
    if differ["count"] * SEEMS > common:
        raise UsageError(
            f"these logs seem to come from different clusters: they differ in {differ['count']:,} of the {common:,} "
            "offsets that they share. Audit each log separately."
        )
    unread = [note for note in notes if note["unread"]]
    inner = [gap for gap in missing if gap[0] > 0 or counts["unjudged"] or gap[1] > covered]
    if unread or inner or counts["unjudged"]:
        spans = [
            f"offset {first:,} is" if first == last else f"offsets {first:,} to {last:,} are" for first, last in inner
        ]
        parts = (
            [f"{', '.join(spans[:GAPS])}{' and more' if len(spans) > GAPS else ''} damaged or missing"] if spans else []
        )
        parts += [] if spans else [unread[0]["text"]] if unread else []
        if counts["unjudged"]:
            changes, partitions = counts["unjudged"], counts["unjudged_partitions"]
            parts.append(
                f"{many(changes, 'later change')} of {many(partitions, 'partition')} "
                f"{'was' if changes == 1 else 'were'} not judged"
            )
        found.append(f"incomplete: {'; '.join(parts)}")
    return found


STEP = "offset time leader leader_epoch replicas isr elr adding removing min_isr election why"
BEFORE, AFTER = 8, 20
"""How many changes are shown before the worst finding, and how many after it. The last change is always shown."""
LOSING = ("removed-replica-elected", "late-min-isr-elected", "stale-elr-elected", "unclean-election")
"""Kinds of elections after which only the previous leader may have some records."""
Told = dict[str, Any]


def partition_story(steps: list[Told], found: list[Told], gaps: list[tuple[int, int]], end: tuple[int, int]) -> Told:
    """Return a partition's history for the report: its changes in order, up to the log's end (offset and time)."""
    advice = [one for item in found if item["sort"] in LOSING and (one := _advice(item, steps, end))]
    return {
        "steps": steps,
        "gaps": [list(gap) for gap in gaps if steps[0]["offset"] < gap[0] <= end[0]],
        "end": {"offset": end[0], "time": end[1]},
        "advice": advice,
    }


def _advice(item: Told, steps: list[Told], end: tuple[int, int]) -> str:
    at = item["offset"]
    former = next(
        (step["leader"] for step in reversed(steps) if step["offset"] < at and step["leader"] != NO_LEADER), NO_LEADER
    )
    after = [step for step in steps if step["offset"] > at]
    known = [step for step in after if step["election"] not in ("unjudged", "deleted")]
    name, began = f"{item['topic']}-{item['partition']}", clock(item["time"])
    if former == NO_LEADER or former in item["brokers"]:
        return ""
    who = f"Broker {former} was the leader before the election at offset {at:,} ({began})."
    if after and after[-1]["election"] == "deleted":
        return f"{who} The topic was deleted at offset {after[-1]['offset']:,}, so there are no logs to compare."
    back = next((step for step in known if former in step["isr"]), None)
    if back is not None:
        return (
            f"{who} That broker rejoined the ISR at offset {back['offset']:,} ({clock(back['time'])}), so it has "
            f"truncated records that only it had. Search its log for 'Truncating partition {name}' between {began} "
            f"and {clock(back['time'])}; it gives the offset from which records were removed. Resend those "
            "records from the producers, or from an earlier copy of the broker's disk."
        )
    if known and former not in known[-1]["replicas"]:
        return (
            f"{who} It has not been a replica since offset {_since(known, former):,}. Stop the broker before "
            f"it deletes the directory (after a minute by default), or look for a directory {name}.*-delete on its "
            "disk, and copy that directory."
        )
    return (
        f"{who} It had not rejoined the ISR by the end of the log (offset {end[0]:,}, {clock(end[1])}). If "
        f"the broker is down, keep it down, and copy the directory {name} from its disk, which may have the only "
        f"copy of the records. If the broker is running, search its log for 'Truncating partition {name}' since "
        f"{began}."
    )


def _since(steps: list[Told], broker: int) -> int:
    last = max((number for number, step in enumerate(steps) if broker in step["replicas"]), default=-1)
    return int(steps[last + 1]["offset"])
