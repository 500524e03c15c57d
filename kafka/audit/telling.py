"""What is told of a partition: its changes around the worst finding and to the end of the log, and what to do as it stands there."""

from __future__ import annotations

from typing import Any

from fencepost.kafka.audit.history import NO_LEADER
from fencepost.kafka.audit.words import clock

BEFORE, AFTER = 8, 20
"""Changes that are shown: the last ones up to the worst finding, and the first ones after it; the newest is shown always."""
STEP = (
    "offset",
    "time",
    "leader",
    "leader_epoch",
    "replicas",
    "isr",
    "elr",
    "adding",
    "removing",
    "min_isr",
    "election",
    "why",
)
LOSING = ("removed-replica-elected", "late-min-isr-elected", "stale-elr-elected", "unclean-election")
"""Elections after which the leader before may be the only one that has the records."""
Told = dict[str, Any]


def told(rows: list[Told], found: list[Told], gaps: list[tuple[int, int]], end: tuple[int, int]) -> Told:
    """Return the history of a partition for a report.

    Rows are its changes in their order, each with how many there are on its side of the finding (`of`) and whether it is up to it
    (`earlier`). `end` is the offset and the time at which the log ends.
    """
    steps = [{name: row[name] for name in STEP} for row in rows]
    first = rows[0]
    earlier = sum(row["earlier"] for row in rows)
    later = next((row["of"] for row in rows if not row["earlier"]), 0)
    advice = [one for item in found if item["sort"] in LOSING and (one := _advice(item, steps, end))]
    return {
        "topic": first["topic"],
        "partition": first["partition"],
        "steps": steps,
        "earlier": (first["of"] if first["earlier"] else 0) - earlier,
        "left_out": later - (len(rows) - earlier),
        "gaps": [list(gap) for gap in gaps if steps[0]["offset"] < gap[0] <= end[0]],
        "end": {"offset": end[0], "time": end[1]},
        "advice": advice,
    }


def _advice(item: Told, steps: list[Told], end: tuple[int, int]) -> str:
    """Say what to do about an election, by what became of the leader before it."""
    at = item["offset"]
    former = next(
        (step["leader"] for step in reversed(steps) if step["offset"] < at and step["leader"] != NO_LEADER), NO_LEADER
    )
    after = [step for step in steps if step["offset"] > at]
    known = [step for step in after if step["election"] not in ("unjudged", "deleted")]
    name, began = f"{item['topic']}-{item['partition']}", clock(item["time"])
    if former == NO_LEADER or former in item["brokers"]:
        return ""
    who = f"Broker {former} led before the election at offset {at:,} ({began})."
    if after and after[-1]["election"] == "deleted":
        return f"{who} The topic was deleted at offset {after[-1]['offset']:,}: there is nothing left to compare."
    back = next((step for step in known if former in step["isr"]), None)
    if back is not None:
        return (
            f"{who} It joined the ISR again at offset {back['offset']:,} ({clock(back['time'])}): its log is that of the new leader now, and what "
            f"only it had is gone. Search its log for 'Truncating partition {name}' between {began} and {clock(back['time'])}: the line says "
            "from which offset. Producers must send those records again, or you from a copy of its disk of before."
        )
    if known and former not in known[-1]["replicas"]:
        return (
            f"{who} It is no replica any more since offset {_since(known, former):,}: stop it before it deletes the folder (a minute, by default), or look for "
            f"a folder {name}.*-delete on its disk, and copy it."
        )
    return (
        f"{who} It has not joined the ISR again when the log ends (offset {end[0]:,}, {clock(end[1])}). If it is down keep it down, and copy the folder {name} "
        f"from its disk before it starts: it may have the only copy of the records. If it runs, search its log for "
        f"'Truncating partition {name}' since {began}."
    )


def _since(steps: list[Told], broker: int) -> int:
    """Return the offset from which on a broker has no replica."""
    last = max((number for number, step in enumerate(steps) if broker in step["replicas"]), default=-1)
    return int(steps[last + 1]["offset"])
