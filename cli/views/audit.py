"""What an audit found, for a reader who operates Kafka and has never heard of the model."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from fencepost.cli.views.console import heading, print_hanging, print_lines, print_rows, styled

if TYPE_CHECKING:
    from fencepost.api.contract import AuditData, AuditFinding, AuditHistory, AuditStep, AuditTrace
    from rich.console import Console

STYLES = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "dim"}
EACH = 3
"""Findings of a sort that are shown; all are in the JSON and in the Parquet files."""
LEGEND = (
    "Times are UTC. ISR: the replicas in sync. ELR: eligible leader replicas, who may lead without loss though they are not in sync. "
    "Min ISR: how many must be in sync for acks=all."
)
VERDICTS = {
    "violated": "the controller broke a rule that it must keep",
    "exposed": "the cluster passed through states from which records may be lost, or were",
    "undetermined": "nothing was found, and parts of the log could not be read",
    "nothing-found": "nothing was found",
}


def print_audit(console: Console, data: AuditData) -> None:
    """Print the report."""
    console.print(styled(f"audit: {data['verdict']}: {VERDICTS[data['verdict']]}", _style(data)))
    reach = "" if data["first"] is None else f", offsets {data['first']:,} to {data['last']:,}"
    print_lines(
        console,
        f"{data['records']:,} records{reach}; {data['topics']:,} topics, {data['partitions']:,} partitions, {data['changes']:,} changes of "
        f"them, {data['elections']:,} elections. {data['seconds']:.0f} s.",
    )
    if data["sorts"]:
        console.print()
        _overview(console, data)
    for sort in data["sorts"]:
        of_it = [item for item in data["findings"] if (item["sort"], item["severity"]) == (sort["sort"], sort["severity"])]
        if of_it:
            console.print()
            _sort(console, data, of_it)
    for history in data["histories"]:
        console.print()
        _history(console, history, [item for item in data["findings"] if _same(item, history)])
    if data["histories"]:
        console.print()
        print_lines(console, LEGEND, indent=2)
    if data["trace"]:
        console.print()
        _trace(console, data["trace"])
    _rest(console, data)


def when(milliseconds: int) -> str:
    """Return a time of the log."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _style(data: AuditData) -> str:
    return STYLES[data["sorts"][0]["severity"]] if data["sorts"] else "bold green"


def _overview(console: Console, data: AuditData) -> None:
    console.print(heading("What was found (times are UTC)"))
    rows = [("severity", "finding", "times", "partitions", "first", "last")]
    rows += [
        (
            item["severity"],
            item["sort"],
            f"{item['count']:,}",
            f"{item['partitions']:,}",
            when(item["first"]),
            when(item["last"]),
        )
        for item in data["sorts"]
    ]
    print_rows(console, rows, indent=2)


def _sort(console: Console, data: AuditData, found: list[AuditFinding]) -> None:
    item = found[0]
    sort = next(one for one in data["sorts"] if one["sort"] == item["sort"])
    head = f"{item['severity'].upper()} {item['kind']}: {sort['sentence']}"
    print_lines(console, styled(head, STYLES[item["severity"]]))
    for one in found[:EACH]:
        place = f"  {when(one['time'])}  {one['topic']}-{one['partition']}  offset {one['offset']:,}  "
        print_hanging(console, styled(place, ""), styled(one["text"], ""))
    if len(found) > EACH or sort["count"] > len(found):
        print_lines(console, f"... and {sort['count'] - min(EACH, len(found)):,} more", indent=2)
    print_hanging(console, styled("  What to do: ", "bold"), styled(sort["look"], ""))
    print_hanging(console, styled("  Read: ", "bold"), styled(f"{sort['page']} ({sort['about']})", ""))


def _same(item: AuditFinding, history: AuditHistory) -> bool:
    return (item["topic"], item["partition"]) == (history["topic"], history["partition"])


def _history(console: Console, history: AuditHistory, found: list[AuditFinding]) -> None:
    console.print(heading(f"What happened to {history['topic']}-{history['partition']}"))
    marks = {item["offset"]: item["sort"] for item in reversed(found)}
    rows = [("time", "offset", "leader", "replicas", "ISR", "ELR", "min ISR", "")]
    before: AuditStep | None = None
    for step in history["steps"]:
        leader = "nobody" if step["leader"] < 0 else str(step["leader"])
        rows.append(
            (when(step["time"])[11:], f"{step['offset']:,}", leader, listed(step["replicas"]), listed(step["isr"]), listed(step["elr"]),
             str(step["min_isr"]), told_of(before, step, marks.get(step["offset"], "")))
        )  # fmt: skip
        before = step
    print_rows(console, rows, indent=2)


def told_of(before: AuditStep | None, step: AuditStep, mark: str) -> str:
    """Say in words what a change did."""
    told = []
    if before is None:
        told.append({"created": "created", "snapshot": "as a snapshot has it"}.get(step["election"], ""))
    else:
        if step["replicas"] != before["replicas"] or step["adding"] != before["adding"]:
            under_way = step["adding"] or step["removing"]
            cancelled = not under_way and not set(before["adding"]) & set(step["replicas"])
            doing = f"adding {listed(step['adding'])}, removing {listed(step['removing'])}" if under_way else ""
            told.append(f"reassignment: {doing}" if doing else f"the reassignment {'is cancelled' if cancelled else 'ends'}")
        left = [broker for broker in before["isr"] if broker not in step["isr"]]
        joined = [broker for broker in step["isr"] if broker not in before["isr"]]
        told += [f"{listed(left)} left the ISR"] if left else []
        told += [f"{listed(joined)} joined the ISR"] if joined else []
        if step["leader"] != before["leader"]:
            how = {"elr": " from the ELR", "unclean": " uncleanly", "last-known": " as the last known leader"}.get(
                step["election"], ""
            )
            told.append("nobody leads" if step["leader"] < 0 else f"{step['leader']} elected{how}")
    return "; ".join([*(item for item in told if item), *([f"<- {mark}"] if mark else [])])


def listed(brokers: list[int]) -> str:
    """Return brokers, or a dash for none."""
    return ",".join(map(str, brokers)) or "-"


def _trace(console: Console, trace: AuditTrace) -> None:
    """Say what became of a history in the model."""
    console.print(heading(f"{trace['partition']} in the model"))
    told = (
        f"What was recorded from offset {trace['first']:,} to {trace['last']:,} can happen by the rules of {trace['version']}"
    )
    searched = (
        f"with what brokers did in between, found by search, {trace['states']} states ({trace['searched']:,} were looked at)"
    )
    print_lines(console, f"{told}: {trace['recorded']} states of the controller, {searched}.", indent=2)
    if trace["left_out"]:
        print_lines(console, f"What was before is left out: {trace['left_out']}.", indent=2)
    if trace["next"] is not None:
        told = f"No way goes on to offset {trace['next']:,} among them: the brokers did what was not tried, or the model has no such thing."
        print_lines(console, f"{told} The trace ends before it.", indent=2)
    for item in trace["broken"]:
        told = f"{item['sentence']} ({item['property']})"
        print_hanging(console, styled(f"  not so from step {item['step']} on: ", "bold"), styled(told, ""))
    print_lines(console, f"See it with: fencepost show {trace['file']}", indent=2)


def _rest(console: Console, data: AuditData) -> None:
    """Print who is concerned most, and what could not be read."""
    if data["by_topic"] and len(data["findings"]) > 1:
        console.print()
        print_hanging(
            console,
            styled("Topics: ", "bold"),
            styled(", ".join(f"{row['topic']} {row['count']:,}" for row in data["by_topic"]), ""),
        )
    if data["by_broker"] and len(data["findings"]) > 1:
        told = ", ".join(f"{row['broker']} {row['count']:,}" for row in data["by_broker"])
        print_hanging(console, styled("Brokers: ", "bold"), styled(told, ""))
    lines = [note["text"] for note in data["notes"]]
    lines += [f"offsets {first:,} to {last:,} are in no file" for first, last in data["gaps"]]
    if data["disagreements"]["count"]:
        lines.append(
            f"files disagree about {data['disagreements']['count']:,} offsets, the first {data['disagreements']['offset']:,}: the newer epoch counts"
        )
    if data["unjudged"]:
        lines.append(f"{data['unjudged']:,} changes are of partitions whose beginning is in no file: they were not judged")
    if lines:
        console.print()
        console.print(heading("The log itself"))
        print_lines(console, *lines, indent=2)
