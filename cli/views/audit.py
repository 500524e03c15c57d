"""The report of an audit, written for Kafka operators who do not know the model."""

from __future__ import annotations

import importlib.util
from datetime import datetime
from os.path import commonpath
from typing import TYPE_CHECKING, Any

from fencepost.api.asking.quantities import counted
from fencepost.api.calls.audit import VERDICTS, headline, named
from fencepost.cli.views.console import heading, print_hanging, print_lines, print_rows, render_page, styled
from fencepost.cli.views.screen import print_answer, print_steps
from fencepost.kafka.audit.findings import SEVERITIES
from fencepost.kafka.audit.records import span
from fencepost.kafka.formatting import clock, moment, when
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

STYLES = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "dim"}
EACH = 3
"""Maximum number of findings shown per severity. The JSON and Parquet files contain all findings."""
LEGEND = (
    "Times are in UTC. ISR: in-sync replicas. ELR: eligible leader replicas, which are not in sync but can become "
    "leader without losing records. Min ISR: the number of replicas that must be in sync for acks=all. Epoch: the "
    "leader epoch, which increases with each election."
)
KINDS = (
    "A violation means that the controller broke one of its own rules. An exposure is a state that Kafka's rules "
    "allow, but in which records can be lost, or were lost."
)
LIMITS = (
    "The audit cannot see what the metadata log does not contain: replica logs (unless copies are given), rejected "
    "requests, disk failures, and anything before its first offset and oldest snapshot."
)
ELECTED = {"elr": " from the ELR", "unclean": " uncleanly", "last-known": " as the last known leader"}
SORTS = 5
PARTITIONS = 20


def print_screen(console: Console, data: dict[str, Any]) -> None:
    sentence = headline(data)
    print_lines(console, f"{sentence[0].upper()}{sentence[1:]}.", style=_style(data))
    print_lines(console, *data["warnings"], style="bold yellow")
    sorts = data["sorts"]
    facts = [
        ("" if number else "found", f"{it['sort']}  {it['count']:,} in {counted(it['partitions'], 'partition')}")
        for number, it in enumerate(sorts[:SORTS])
    ]
    for it in [one for one in data["findings"] if one["sort"] == sorts[0]["sort"]][:1]:
        facts[0] = ("found", f"{facts[0][1]}: {named(it)}, {clock(it['time'])}, {it['text']}")
    if len(sorts) > SORTS:
        facts.append(("", f"and {counted(len(sorts) - SORTS, 'more kind')} of findings"))
    lost = [text for it in data["replicas"] for text in lost_of(it)]
    facts += [("" if number else "lost", text) for number, text in enumerate(lost[:EACH])]
    if len(lost) > EACH:
        facts.append(("", f"and {counted(len(lost) - EACH, 'more range')} of offsets"))
    if sorts:
        advice = [text for it in data["histories"][:1] for text in it["advice"]]
        advice = [it["look"] for it in sorts if lost and it["sort"].startswith("records-")] or advice
        facts.append(("to do", advice[0] if advice else sorts[0]["look"]))
    else:
        facts.append(("looked for", "broken rules of the controller, and states in which its rules allow record loss"))
        facts.append(("not seen", LIMITS.partition(": ")[2]))
    facts += [("unread" if note["unread"] else "note", note["text"]) for note in data["notes"][:2]]
    facts.append(("reach", describe_coverage(data)))
    print_answer(console, facts, hint="all findings, histories, and notes on the log")
    for history in data["histories"][:1]:
        lines = [f"offset {it['offset']:,}  {it['told']}" for it in lines_of(history)]
        print_steps(console, lines, f"what happened to {named(history)}")
    if data["histories"]:
        print_lines(console, "", f"{sentence[0].upper()}{sentence[1:]}.", style=_style(data))


def print_audit(console: Console, data: dict[str, Any]) -> None:
    console.print(styled(f"audit: {headline(data)}", _style(data)))
    print_lines(console, *(styled(text, "bold yellow") for text in data["warnings"]))
    verdict = f"Verdict: {data['verdict']} ({VERDICTS[data['verdict']]})."
    print_lines(console, f"{verdict} {describe_coverage(data)} {data['seconds']:.0f} s.")
    if not data["findings"]:
        print_lines(console, LIMITS)
    if data["sorts"] or data["unjudged"]:
        print_lines(console, "", heading("Findings (times are in UTC)"))
        rows = [("severity", "finding", "times", "partitions", "first", "last")]
        for item in data["sorts"]:
            counts = f"{item['count']:,}", f"{item['partitions']:,}"
            rows.append((item["severity"], item["sort"], *counts, when(item["first"]), when(item["last"])))
        if data["unjudged"]:
            counts = f"{data['unjudged']:,}", f"{data['unjudged_partitions']:,}"
            rows.append(("unknown", "not judged; see the second line", *counts, "", ""))
        print_rows(console, rows, indent=2)
    for sort in data["sorts"]:
        if of_it := _found(data, sort):
            console.print()
            _sort(console, data, of_it)
    for replicas in data["replicas"][:PARTITIONS]:
        if replicas["parts"] or replicas["lost"] or len(data["replicas"]) == 1:
            console.print()
            _replicas(console, replicas)
    for history in data["histories"]:
        console.print()
        _history(console, data, history)
    if data["histories"]:
        console.print()
        print_lines(console, LEGEND, indent=2)
    if data["sorts"]:
        print_lines(console, KINDS, LIMITS, indent=2)
    if data["trace"]:
        console.print()
        _trace(console, data["trace"])
    console.print()
    _looked_for(console, data)
    _rest(console, data)


def describe_coverage(data: dict[str, Any]) -> str:
    names = [item["path"] for item in data["inputs"]]
    files = names[0] if len(names) == 1 else f"{len(names)} files in {commonpath(names)}"
    reach = "" if data["first"] is None else f", offsets {data['first']:,} to {data['last']:,}"
    times = ""
    if data["began"] is not None and data["until"] is not None:
        times = f", {when(data['began'])} to {when(data['until'])} UTC"
    return (
        f"Read: {files}: {counted(data['records'], 'record')}{reach}{times}. Judged: "
        f"{counted(data['changes'] - data['unjudged'], 'change')} of {counted(data['partitions'], 'partition')} of "
        f"{counted(data['topics'], 'topic')}, {counted(data['elections'], 'election')}."
    )


def ranked(data: dict[str, Any]) -> list[str]:
    topics = [
        f"{row['topic']} ({counted(row['count'], 'finding')} in {counted(row['partitions'], 'partition')})"
        for row in data["by_topic"]
    ]
    brokers = [f"broker {row['broker']} ({counted(row['count'], 'finding')})" for row in data["by_broker"]]
    named_by = {"topic": topics, "broker": brokers}
    return [f"Most findings by {what}: {', '.join(found)}." for what, found in named_by.items() if found]


def _style(data: dict[str, Any]) -> str:
    return STYLES[data["sorts"][0]["severity"]] if data["sorts"] else "yellow" if data["warnings"] else "bold green"


def _sort(console: Console, data: dict[str, Any], found: list[dict[str, Any]]) -> None:
    item = found[0]
    sort = next(one for one in data["sorts"] if one["sort"] == item["sort"])
    head = f"{item['severity'].upper()} {item['kind']}: {sort['sentence']}"
    print_lines(console, head, style=STYLES[item["severity"]])
    for one in found[:EACH]:
        place = f"  {when(one['time'])}  {one['topic']}-{one['partition']}  offset {one['offset']:,}  "
        print_hanging(console, place, one["text"])
    if len(found) > EACH or sort["count"] > len(found):
        print_lines(console, f"... and {sort['count'] - min(EACH, len(found)):,} more", indent=2)
    print_hanging(console, styled(f"  Rule of {data['release']['version']}: ", "bold"), sort["rule"])
    print_hanging(console, styled("  What to do: ", "bold"), sort["look"])
    print_hanging(console, styled("  Read: ", "bold"), f"{sort['page']} ({sort['about']})")


def lost_of(item: dict[str, Any]) -> list[str]:
    made = []
    for one in item["lost"]:
        who = ", ".join(f"broker {broker}" for broker in one["brokers"]) or "copies"
        how = "acknowledged" if one["acknowledged"] else "perhaps acknowledged"
        what = f"{named(item)}: {span(one['first'], one['last'])} of epoch {one['epoch']}, {how}, "
        made.append(f"{what}{when(one['began'])} to {clock(one['ended'])}: on {who} ({one['copies'][0]})")
    return made


def _replicas(console: Console, item: dict[str, Any]) -> None:
    console.print(heading(f"What happened to the records of {named(item)}"))
    rows = [("copy", "broker", "offsets", "high watermark", "epochs from")]
    for copy in item["copies"]:
        epochs = ", ".join(f"{epoch}: {start:,}" for epoch, start in copy["epochs"])
        has = f"{copy['first']:,} to {copy['end'] - 1:,}" if copy["end"] > copy["first"] else "none"
        mark = f"{copy['high_watermark']:,}" if copy["high_watermark"] >= 0 else "?"
        leads = " (leads)" if copy["path"] == item["reference"] else ""
        rows.append((copy["path"], f"{copy['broker'] if copy['broker'] >= 0 else '?'}{leads}", has, mark, epochs))
    print_rows(console, rows, indent=2)
    for one in item["acknowledged"]:
        sure, latest = one["surely"], f"up to offset {one['latest']:,}"
        upto = "" if sure is None else f"acknowledged up to offset {sure:,}, and "
        text = f"acknowledged {latest}" if sure == one["latest"] else f"{upto}perhaps acknowledged {latest}"
        text = f"epoch {one['epoch']}, from offset {one['first']:,}: {text}, on {listed(one['brokers'])}"
        print_lines(console, text, indent=2)
    for one in item["parts"]:
        where = f"  not on all copies: {span(one['first'], one['last'])}: "
        print_hanging(console, where, ", ".join(one["copies"]))
    for text in lost_of(item):
        print_hanging(console, styled("  the leader lacks: ", "bold"), text)


def _looked_for(console: Console, data: dict[str, Any]) -> None:
    release = data["release"]
    elr = {True: "was on", False: "was never on", None: "not known"}[release["elr"]]
    known = [(release["supported"], "controllers support metadata.version"), (release["metadata_version"], "it is at")]
    levels = "".join(f", {words} {level}" for level, words in known if level is not None)
    console.print(heading(f"Checked rules (rules of {release['version']}{levels}; ELR {elr})"))
    for it in data["looked_for"]:
        found = f"found {it['count']:,}" if it["count"] else it["why_not"] or "not found"
        head = styled(f"  {found}  ", "bold" if it["count"] else "")
        print_hanging(console, head, f"{it['sort']}: {it['rule']}")


def _history(console: Console, data: dict[str, Any], history: dict[str, Any]) -> None:
    console.print(heading(f"What happened to {named(history)}"))
    for text in history["advice"]:
        print_hanging(console, styled("  What to do now: ", "bold"), text)
    rows = [("time", "offset", "leader", "epoch", "replicas", "ISR", "ELR", "min ISR", "")]
    for line in _marked_lines(data, history):
        told = f"{line['told']}; <- {line['mark']}" if line["mark"] else line["told"]
        rows.append((clock(line["time"]), f"{line['offset']:,}", *line["state"], told))
    print_rows(console, rows, indent=2)


def lines_of(history: dict[str, Any]) -> list[dict[str, Any]]:
    made = []
    gaps = [tuple(gap) for gap in history["gaps"]]
    before: dict[str, Any] | None = None
    for number, step in enumerate(history["steps"]):
        words = describe_step(before, step)
        if number == 0 and history["earlier"]:
            words = f"({counted(history['earlier'], 'earlier change')} not shown) {words}"
        if number == len(history["steps"]) - 1 and history["left_out"]:
            words = f"({counted(history['left_out'], 'change')} before this one not shown) {words}"
        while gaps and gaps[0][0] < step["offset"]:
            made.append(_gap(step, *gaps.pop(0)))
        made.append(
            {"time": step["time"], "offset": step["offset"], "state": _state(step), "told": words, "marked": True}
        )
        before = step
    assert before is not None
    made += [_gap({**before, "time": history["end"]["time"]}, *gap) for gap in gaps]
    end = history["end"]
    known = not gaps and before["election"] not in ("unjudged", "deleted")
    words = "at the end of the log" if known else "the topic is deleted"
    if not known and (gaps or before["election"] == "unjudged"):
        words = "at the end of the log: unknown"
    made.append({**end, "state": _state(before) if known else ("",) * 6, "told": words, "marked": False})
    return made


def _gap(step: dict[str, Any], first: int, last: int) -> dict[str, Any]:
    which = f"offset {first:,} is" if first == last else f"offsets {first:,} to {last:,} are"
    words = f"{which} damaged or missing: changes there are unknown"
    return {"time": step["time"], "offset": first, "state": ("?",) * 6, "told": words, "marked": False}


def _state(step: dict[str, Any]) -> tuple[str, ...]:
    if step["election"] in ("unjudged", "deleted"):
        return ("?" if step["election"] == "unjudged" else "-",) * 6
    leader = "none" if step["leader"] < 0 else str(step["leader"])
    brokers = (listed(step[name]) for name in ("replicas", "isr", "elr"))
    return leader, str(step["leader_epoch"]), *brokers, str(step["min_isr"])


def describe_step(before: dict[str, Any] | None, step: dict[str, Any]) -> str:
    if step["election"] in ("unjudged", "deleted"):
        has = f"; the record itself has {step['why']}" if step["why"] else ""
        return f"not judged: the previous state is unknown{has}" if step["election"] == "unjudged" else "deleted"
    words = []
    if before is None:
        words.append({"created": "created", "snapshot": "as in a snapshot"}.get(step["election"], ""))
    else:
        if step["replicas"] != before["replicas"] or step["adding"] != before["adding"]:
            under_way = step["adding"] or step["removing"]
            cancelled = not under_way and not set(before["adding"]) & set(step["replicas"])
            doing = f"adding {listed(step['adding'])}, removing {listed(step['removing'])}" if under_way else ""
            end = f"the reassignment {'is cancelled' if cancelled else 'ends'}"
            words.append(f"reassignment: {doing}" if doing else end)
        left = [broker for broker in before["isr"] if broker not in step["isr"]]
        joined = [broker for broker in step["isr"] if broker not in before["isr"]]
        words += [f"{listed(left)} left the ISR{_reason(left, step['why'])}"] if left else []
        words += [f"{listed(joined)} joined the ISR"] if joined else []
        if step["leader"] != before["leader"]:
            how = ELECTED.get(step["election"], "")
            words.append("no leader" if step["leader"] < 0 else f"{step['leader']} elected{how}")
        gone = [broker for broker in before["elr"] if broker not in step["elr"]]
        words += [f"{listed(gone)} left the ELR"] if gone and not words else []
    return "; ".join(item for item in words if item)


def _reason(left: list[int], why: str | None) -> str:
    """Return, in parentheses, why brokers left. If all left for the same reason, the brokers are not named."""
    if not why:
        return ""
    mine = f"{listed(left)}: "
    return f" ({why.removeprefix(mine) if why.count(': ') <= 2 and why.startswith(mine) else why})"


def listed(brokers: list[int]) -> str:
    return ",".join(map(str, brokers)) or "-"


def _trace(console: Console, trace: dict[str, Any]) -> None:
    console.print(heading(f"{trace['partition']} in the model"))
    print_lines(
        console,
        f"The rules of {trace['version']} allow the records from offset {trace['first']:,} to {trace['last']:,}, "
        f"which contain {trace['recorded']} states of the controller. A search found broker steps between these "
        f"states; the trace has {trace['states']} states ({trace['searched']:,} were examined).",
        indent=2,
    )
    if trace["left_out"]:
        print_lines(console, f"Earlier history is omitted: {trace['left_out']}.", indent=2)
    if trace["next"] is not None:
        print_lines(
            console,
            f"No path leads to offset {trace['next']:,}: the brokers took a step that the search did not try, or that "
            "the model lacks. The trace ends before that offset.",
            indent=2,
        )
    brokers = ", ".join(f"{number} is broker {broker}" for number, broker in enumerate(trace["brokers"]))
    print_lines(console, f"In the trace, brokers are numbered from 0: {brokers}.", indent=2)
    steps = ", ".join(f"{item['step']} (offset {item['offset']:,}, {clock(item['time'])})" for item in trace["steps"])
    print_hanging(console, styled("  Recorded steps: ", "bold"), f"{steps or 'none'}. All others are assumed.")
    if trace["broken"]:
        print_lines(
            console,
            "Other histories may be possible too: the controller's steps are recorded, but the steps of brokers and "
            "clients between them are assumed. In this one:",
            indent=2,
        )
    for item in trace["broken"]:
        words = f"{item['sentence']} ({item['property']})"
        print_hanging(console, styled(f"  violated from step {item['step']} on: ", "bold"), words)
    print_lines(console, f"To show the trace, run: fencepost show {trace['file']}", indent=2)


def _rest(console: Console, data: dict[str, Any]) -> None:
    if len(data["findings"]) > 1:
        print_lines(console, "", *ranked(data))
    lines = [note["text"] for note in data["notes"]]
    lines += [f"no file contains offsets {first:,} to {last:,}" for first, last in data["gaps"]]
    differ, unjudged = data["disagreements"], data["unjudged"]
    if differ["count"]:
        first = f"the first is {differ['offset']:,}, and the file that begins earliest was used"
        lines.append(f"files differ at {counted(differ['count'], 'offset')}, {first}")
    if unjudged:
        lines.append(
            f"not judged: {counted(unjudged, 'change')} to partitions whose previous state is missing from the files"
        )
    if lines:
        print_lines(console, "", heading("The log itself"))
        print_lines(console, *lines, indent=2)


COLOURS = {"critical": "#b71c1c", "high": "#e65100", "medium": "#f9a825", "low": "#90a4ae"}
LINES = 40


def look_for_plotly() -> None:
    if importlib.util.find_spec("plotly") is None:
        raise UsageError("--html needs Plotly, which is not installed: run `pip install 'fencepost[audit]'`.")


def page(data: dict[str, Any]) -> str:
    return render_page(
        "audit.html",
        when=when,
        partition=named,
        data=data,
        headline=headline(data),
        looked_at=describe_coverage(data),
        verdict=VERDICTS[data["verdict"]],
        words=(KINDS, LEGEND, LIMITS),
        timeline=timeline(data),
        lost=[text for item in data["replicas"] for text in lost_of(item)],
        colours=COLOURS,
        sorts=[
            {**item, "found": found, "more": item["count"] - len(found)}
            for item, found in ((item, _found(data, item)[:EACH]) for item in data["sorts"])
        ],
        histories=[{**history, "lines": _marked_lines(data, history)} for history in data["histories"]],
        ranked=ranked(data) if len(data["findings"]) > 1 else [],
    )


def _found(data: dict[str, Any], sort: dict[str, Any]) -> list[dict[str, Any]]:
    return [item for item in data["findings"] if (item["sort"], item["severity"]) == (sort["sort"], sort["severity"])]


def timeline(data: dict[str, Any]) -> str:
    import plotly.graph_objects as go

    if not data["findings"]:
        return ""
    names = list(dict.fromkeys(named(item) for item in data["findings"]))
    shown = set(names[:LINES])
    figure = go.Figure()
    for severity in reversed(SEVERITIES):  # the worst are drawn last, on top
        found = [item for item in data["findings"] if item["severity"] == severity and named(item) in shown]
        if not found:
            continue
        symbol = "diamond" if severity in SEVERITIES[:2] else "circle"
        style = {"color": COLOURS[severity], "size": 11, "symbol": symbol}
        marks = go.Scatter(
            x=[_time(item["time"]) for item in found],
            y=[named(item) for item in found],
            text=[f"{item['sort']}, offset {item['offset']}: {item['text']}" for item in found],
            mode="markers",
            name=severity,
            legendgroup=severity,
            marker=style,
            hovertemplate="%{x}<br>%{y}<br>%{text}<extra></extra>",
        )
        figure.add_trace(marks)
        figure.add_trace(_lasting(found, severity))
    figure.update_layout(
        height=240 + 28 * len(shown),
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "traceorder": "reversed"},
        margin={"l": 10, "r": 10, "t": 40, "b": 60},
        xaxis={"rangeslider": {"visible": True}, "title": "UTC", "automargin": True},
        yaxis={"autorange": "reversed", "automargin": True, "fixedrange": False},
        template="plotly_white",
    )
    config = {"scrollZoom": True, "displaylogo": False}
    return str(figure.to_html(full_html=False, include_plotlyjs="inline", config=config))


def _lasting(found: list[dict[str, Any]], severity: str) -> Any:
    import plotly.graph_objects as go

    along: list[datetime | None] = []
    names: list[str | None] = []
    for item in found:
        if item["lasted"] > 0:
            along += [_time(item["time"]), _time(item["time"] + item["lasted"]), None]
            names += [named(item), named(item), None]
    line = {"color": COLOURS[severity], "width": 5}
    more = {"mode": "lines", "legendgroup": severity, "showlegend": False, "hoverinfo": "skip"}
    return go.Scatter(x=along, y=names, line=line, **more)


def _marked_lines(data: dict[str, Any], history: dict[str, Any]) -> list[dict[str, Any]]:
    marks = {item["offset"]: item for item in reversed(data["findings"]) if named(item) == named(history)}
    made = []
    for line in lines_of(history):
        mark = marks.get(line["offset"]) if line["marked"] else None
        made.append({**line, "mark": mark["sort"] if mark else "", "severity": mark["severity"] if mark else ""})
    return made


def _time(milliseconds: int) -> datetime:
    return moment(milliseconds).replace(tzinfo=None)
