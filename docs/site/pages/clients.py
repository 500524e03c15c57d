"""The tables of the page on clients: what `python -m benchmarks.figures.clients` recorded."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from fencepost.invariants.figures.store import load

if TYPE_CHECKING:
    from collections.abc import Iterable

Row = list[str]


def _rows(table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = load("clients").get(table, [])
    return found


def rules() -> tuple[Row, Iterable[Row]]:
    """Return in how many histories each client broke each rule, of those in which it could, and in how many it did so each time."""
    found = {(row["rule"], row["client"]): row for row in _rows("rules")}
    clients = list(dict.fromkeys(client for _, client in found))
    names = list(dict.fromkeys(rule for rule, _ in found))
    return ["rule", *clients], ([f"`{name}`", *(_cell(found[name, client]) for client in clients)] for name in names)


def _cell(row: dict[str, Any]) -> str:
    """Return broken of tried, and where it was broken how many of those that were played again showed it each time; nothing for a rule that was not tried."""
    if not row["histories"]:
        return ""
    shown = f"{row['broken']:,} of {row['histories']:,}"
    return f"**{shown}**; {row['steady']}/{row['played_again']}" if row["broken"] else shown


def runs() -> tuple[Row, Iterable[Row]]:
    """Return what was played with each client."""
    flaky = Counter(row["client"] for row in _rows("flaky"))
    head = [
        "client",
        "histories",
        "judged",
        "begun again",
        "not played",
        "a second",
        "load",
        "in time",
        "played twice",
        "of them judged otherwise",
        "flaky",
    ]
    return head, (
        [
            row["client"],
            f"{row['histories']:,}",
            f"{row['counted']:,}",
            _reasons(row["begun_again"]),
            _reasons(row["not_played"]),
            f"{row['rate']:.0f}",
            f"{row['load']:.0f}",
            f"{100 * row['in_time'] / max(1, row['waited_for']):.0f}%",
            f"{row['again']:,}",
            f"{row['changed']:,}",
            f"{flaky[row['client']]:,}",
        ]
        for row in _rows("runs")
    )


def _reasons(found: dict[str, int]) -> str:
    return ", ".join(f"{times:,}: {why}" for why, times in found.items()) or "0"


def stories() -> tuple[Row, Iterable[Row]]:
    """Return how often each story showed its defect: the rules, the clients that broke one, and those that kept them."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in _rows("stories"):
        groups.setdefault(row["story"], []).append(row)
    return ["story", "rules", "broken", "kept in as many plays"], (
        [
            f"`{name}`",
            ", ".join(_rule(rule) for rule in sorted({rule for row in rows for rule in row["rules"]})),
            ", ".join(f"{row['client']}: {row['broken']:,} of {row['plays']:,}" for row in rows if row["broken"]),
            ", ".join(row["client"] for row in rows if not row["broken"]),
        ]
        for name, rows in sorted(groups.items())
    )


def _rule(name: str) -> str:
    """Return a rule as it is shown; that the process died is no rule."""
    return name if " " in name else f"`{name}`"


def mutants() -> tuple[Row, Iterable[Row]]:
    """Return which mutants of our own client were caught."""
    head = ["mutant", "rule", "histories", "broken", "also broken"]
    return head, (
        [
            row["mutant"],
            f"`{row['rule']}`" if row["rule"] else "",
            f"{row['histories']:,}",
            f"{row['broken']:,}",
            ", ".join(f"`{name}`" for name in row["others"]),
        ]
        for row in _rows("mutants")
    )


def deviations() -> tuple[Row, Iterable[Row]]:
    """Return in which histories rules were broken: each time, and now and then, those first that showed it most often."""
    groups: dict[tuple[str, str], dict[str, list[str]]] = {}
    for table in ("steady", "flaky"):
        for row in sorted(_rows(table), key=lambda row: -row["again"]):
            found = groups.setdefault((row["client"], row["rule"]), {"steady": [], "flaky": []})
            found[table].append(row["history"])
    return ["client", "rule", "each time", "now and then"], (
        [client, f"`{rule}`", _some(found["steady"]), _some(found["flaky"])]
        for (client, rule), found in sorted(groups.items(), key=lambda item: item[0][0])
    )


def _some(names: list[str]) -> str:
    """Return a number with the first few names."""
    return f"{len(names):,}: {', '.join(names[:SHOWN])}" if names else ""


SHOWN = 3
"""Names of histories in a cell."""
