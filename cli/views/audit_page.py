"""What an audit found as one page of HTML, with a timeline that can be zoomed; it needs nothing else."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from fencepost.cli.views.audit import (
    EACH,
    KINDS,
    LEGEND,
    LIMITS,
    VERDICTS,
    headline,
    lines_of,
    looked_at,
    named,
    ranked,
)
from fencepost.kafka.audit.findings import SEVERITIES
from fencepost.kafka.formatting import moment, when
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from datetime import datetime

    from fencepost.api.answers.contract import AuditData, AuditFinding, AuditHistory, AuditSort

COLOURS = {"critical": "#b71c1c", "high": "#e65100", "medium": "#f9a825", "low": "#90a4ae"}
LINES = 40
"""Partitions that have a line of their own; the worst come first."""


def look_for_plotly() -> None:
    """Raise UsageError where the library that draws is not installed."""
    if importlib.util.find_spec("plotly") is None:
        raise UsageError("--html needs Plotly, which is not installed: run `pip install 'fencepost[audit]'`.")


def page(data: AuditData) -> str:
    """Return the page."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("fencepost.cli.views"), autoescape=True, trim_blocks=True, undefined=StrictUndefined
    )
    environment.filters.update(when=when, partition=named)
    return environment.get_template("audit.html").render(
        data=data,
        headline=headline(data),
        looked_at=looked_at(data),
        verdict=VERDICTS[data["verdict"]],
        words=(KINDS, LEGEND, LIMITS),
        timeline=timeline(data),
        colours=COLOURS,
        sorts=[
            {**item, "found": _found(data, item)[:EACH], "more": item["count"] - min(EACH, len(_found(data, item)))}
            for item in data["sorts"]
        ],
        histories=_histories(data),
        ranked=ranked(data) if len(data["findings"]) > 1 else [],
    )


def _found(data: AuditData, sort: AuditSort) -> list[AuditFinding]:
    return [item for item in data["findings"] if (item["sort"], item["severity"]) == (sort["sort"], sort["severity"])]


def timeline(data: AuditData) -> str:
    """Return the timeline as HTML with the library in it: a line for each partition, a mark for each finding."""
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
        style = {
            "color": COLOURS[severity],
            "size": 11,
            "symbol": "diamond" if severity in SEVERITIES[:2] else "circle",
        }
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
    return str(
        figure.to_html(full_html=False, include_plotlyjs="inline", config={"scrollZoom": True, "displaylogo": False})
    )


def _lasting(found: list[AuditFinding], severity: str) -> Any:
    """Return lines for what lasted."""
    import plotly.graph_objects as go

    along: list[datetime | None] = []
    names: list[str | None] = []
    for item in found:
        if item["lasted"] > 0:
            along += [_time(item["time"]), _time(item["time"] + item["lasted"]), None]
            names += [named(item), named(item), None]
    line = {"color": COLOURS[severity], "width": 5}
    return go.Scatter(
        x=along, y=names, mode="lines", line=line, legendgroup=severity, showlegend=False, hoverinfo="skip"
    )


def _histories(data: AuditData) -> list[dict[str, Any]]:
    """Return what led to the worst, with what each change did in words."""
    return [{**history, "lines": _lines(data, history)} for history in data["histories"]]


def _lines(data: AuditData, history: AuditHistory) -> list[dict[str, Any]]:
    place = (history["topic"], history["partition"])
    marks = {item["offset"]: item for item in reversed(data["findings"]) if (item["topic"], item["partition"]) == place}
    made = []
    for line in lines_of(history):
        mark = marks.get(line["offset"]) if line["marked"] else None
        made.append({**line, "mark": mark["sort"] if mark else "", "severity": mark["severity"] if mark else ""})
    return made


def _time(milliseconds: int) -> datetime:
    return moment(milliseconds).replace(tzinfo=None)
