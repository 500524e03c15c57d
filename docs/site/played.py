"""Tables about the model's histories when executed on real Kafka: the classes of releases, clients, and clusters."""

import re
from collections import Counter
from collections.abc import Iterator
from statistics import median

from fencepost.invariants.claim_files import HARMS
from fencepost.invariants.figures.store import load
from fencepost.kafka.clients.duties import RULES
from fencepost.kafka.clients.stories import STORIES
from fencepost.site.places import Column, Figures, Row, Table, grouped, table_of

# -- releases of Kafka

FINDINGS = ("hyp-", "q3", "b16", "b07", "b26")
"""Name prefixes for traces of findings and open questions. Other traces show known or planted bugs, or are examples."""
TRACES_OF_A_ROW = 5
ARCHIVE = "../counterexamples/archive/replication-"


CONFORMANCE = {
    "covers": "release|faults and changes|transitions executed|steps|set aside|differences|compared steps per second",
    "walks": "release|steps|histories|distinct pairs of state and step|set aside|differences",
    "moves": "release|brokers|steps|histories|distinct pairs|reassignments|cancellations|set aside|differences",
    "changes": "release|states|images|changes|changes that keep the replicas|differences",
    "others": "release|protocol|faults and changes|transitions executed|steps|set aside|differences",
    "seen": "release|protocol|checks noticed|only with others removed|refusals tried|accepted by Kafka",
}
"""Column titles for each part of the conformance figures, in the order in which the columns are stored."""


def conformance(part: str) -> Table:
    titles = CONFORMANCE[part].split("|")
    return titles, (list(row.values())[: len(titles)] for row in load("conformance").get(part, []))


def verdicts_on_findings() -> Table:
    found = _settled(of_findings=True)
    releases = list(next(iter(found.values()), {}))
    rows = ([f"[{name}]({ARCHIVE}{name}.trace)", *(by[one][0] for one in releases)] for name, by in found.items())
    return ["trace", *releases], rows


def reasons(*, of_findings: bool) -> Table:
    settled = _settled(of_findings=of_findings)
    alike = grouped((row, name) for name, by in settled.items() for row in _reasons_of(by))
    return ["releases", "verdict", "what the classes do", "traces"], (
        [*row, ", ".join(names[at : at + TRACES_OF_A_ROW])]
        for row, names in alike.items()
        for at in range(0, len(names), TRACES_OF_A_ROW)
    )


def _reasons_of(by: dict[str, tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    for (verdict, why), which in grouped((found, release) for release, found in by.items()).items():
        yield "all" if len(which) == len(by) else _span(list(which), list(by)), verdict, why


def _settled(*, of_findings: bool) -> dict[str, dict[str, tuple[str, str]]]:
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for row in load("releases").get("settled", []):
        name = row["trace"].removeprefix("replication-")
        if name.startswith(FINDINGS) == of_findings:
            found.setdefault(name, {})[row["kafka"]] = row["verdict"], row["why"]
    return found


def _span(which: Row, releases: Row) -> str:
    first = releases.index(which[0])
    together = releases[first : first + len(which)] == which
    return f"{which[0]} to {which[-1]}" if together and len(which) > 1 else ", ".join(which)


# -- real clients

SHOWN = 3


def _played(table: str) -> list[Figures]:
    found: list[Figures] = load("clients").get(table, [])
    return found


def client_rules(table: str = "rules") -> Table:
    found = {(row["rule"], row["client"]): row for row in _played(table)}
    clients = dict.fromkeys(client for _, client in found)
    names = dict.fromkeys(rule for rule, _ in found)
    rows = ([f"`{name}`", *(_broken(found[name, client]) for client in clients)] for name in names)
    return ["rule", *clients], rows


def _broken(row: Figures) -> str:
    if not row["histories"]:
        return ""
    shown = f"{row['broken']:,} of {row['histories']:,}"
    return f"**{shown}**; {row['steady']}/{row['played_again']}" if row["broken"] else shown


def client_releases() -> Table:
    columns: dict[str, Column] = {
        "release": "{client}",
        "histories": "{histories:,}",
        "broken": lambda row: ", ".join(f"`{rule}` {times:,}" for rule, times in sorted(row["broken"].items())),
        "deaths": "{deaths:,}",
    }
    return table_of(_played("releases"), columns)


def client_runs() -> Table:
    flaky = Counter(row["client"] for row in _played("flaky"))
    columns: dict[str, Column] = {
        "client": "{client}", "histories": "{histories:,}", "judged": "{counted:,}",
        "restarted": lambda row: _counts(row["begun_again"]), "not played": lambda row: _counts(row["not_played"]),
        "histories per second": "{rate:.0f}", "load": "{load:.0f}",
        "in time": lambda row: f"{100 * row['in_time'] / max(1, row['waited_for']):.0f}%", "played twice": "{again:,}",
        "judged otherwise": "{changed:,}", "flaky": lambda row: f"{flaky[row['client']]:,}",
    }  # fmt: skip
    return table_of(_played("runs"), columns)


def _counts(found: dict[str, int]) -> str:
    return ", ".join(f"{times:,}: {why}" for why, times in found.items()) or "0"


def client_stories() -> Table:
    told = {story.name: story for story in STORIES}
    groups: dict[str, list[Figures]] = {}
    for row in _played("stories"):
        groups.setdefault(row["story"], []).append(row)
    return ["story", "what happens", "report", "rules", "broken", "kept all rules"], (
        [
            f"`{name}`",
            told[name].sentence,
            REPORT.sub(r"[\g<0>](https://github.com/\1/issues/\2)", told[name].reference),
            ", ".join(_rule(rule) for rule in sorted({rule for row in rows for rule in row["rules"]})),
            ", ".join(f"{row['client']}: {row['broken']:,} of {row['plays']:,}" for row in rows if row["broken"]),
            ", ".join(row["client"] for row in rows if not row["broken"]),
        ]
        for name, rows in sorted(groups.items())
    )


REPORT = re.compile(r"([\w-]+/[\w.-]+)#(\d+)")


def _rule(name: str) -> str:
    """Return the displayed name of a rule. The death of a process is not a rule, so it is not shown as code."""
    return name if " " in name else f"`{name}`"


def client_duties() -> Table:
    columns = ["rule", "from", "sentence", "harm if it is violated"]
    return columns, ([f"`{rule.name}`", rule.source, rule.sentence, rule.cost] for rule in RULES)


def client_mutants() -> Table:
    columns: dict[str, Column] = {
        "mutant": "{mutant}", "rule": lambda row: f"`{row['rule']}`" if row["rule"] else "",
        "histories": "{histories:,}", "broken": "{broken:,}",
        "also broken": lambda row: ", ".join(f"`{name}`" for name in row["others"]),
    }  # fmt: skip
    return table_of(_played("mutants"), columns)


def client_brokers() -> Table:
    columns: dict[str, Column] = {
        "Kafka": "{client}", "requests": lambda row: f"{sum(row['asked'].values()):,}",
        "wrong answers": lambda row: _counts(row["wrong"]), "planted mistakes noticed": "{planted} of {of}",
    }  # fmt: skip
    return table_of(_played("brokers"), columns)


def client_deviations() -> Table:
    groups: dict[tuple[str, str], dict[str, list[Figures]]] = {}
    for table in ("steady", "flaky"):
        for row in sorted(_played(table), key=lambda row: -row.get("again", 0)):
            found = groups.setdefault((row["client"], row["rule"]), {"steady": [], "flaky": []})
            found[table].append(row)
    return ["client", "rule", "every time", "sometimes", "replays without the violation"], (
        [client, f"`{rule}`", *map(_some, found.values()), _why(found["flaky"])]
        for (client, rule), found in sorted(groups.items(), key=lambda item: item[0][0])
    )


def _why(flaky: list[Figures]) -> str:
    kept = sum((Counter(row["kept"]) for row in flaky), Counter[str]())
    return ", ".join(f"{why}: {times:,}" for why, times in kept.most_common())


def _some(rows: list[Figures]) -> str:
    return f"{len(rows):,}: {', '.join(row['history'] for row in rows[:SHOWN])}" if rows else ""


# -- clusters


def clusters(*, as_they_are: bool) -> Table:
    groups: dict[tuple[str, str, str], list[Figures]] = {}
    for run in load("clusters").get("runs", []):
        if (run["mode"] == "played") == as_they_are:
            groups.setdefault((run["finding"], run["mode"], run["kafka"]), []).append(run)
    mode: dict[str, Column] = {"mode": lambda row: row["mode"].replace("repaired-", "only fixed: ")}
    columns: dict[str, Column] = {
        "finding": "{finding}",
        **({} if as_they_are else mode),
        "Kafka": "{kafka}",
        "expected": "{expected}",
        "runs": lambda row: str(len(row["runs"])),
        "harmful": lambda row: str(sum(_ended(row, harm) for harm in HARMS)),
        "kept all records": lambda row: str(_ended(row, "kept")),
        "undetermined": lambda row: str(_ended(row, "undetermined")),
        "acknowledged": lambda row: _from_to(row, "acknowledged"),
        "lost": lambda row: _from_to(row, "lost"),
        "seconds": lambda row: f"{median(run['seconds'] for run in row['runs']):.0f}",
    }
    return table_of(({**own[0], "runs": own} for own in groups.values()), columns)


def _ended(row: Figures, verdict: str) -> int:
    return sum(run["verdict"] == verdict for run in row["runs"])


def _from_to(row: Figures, name: str) -> str:
    numbers = [run[name] for run in row["runs"] if run["verdict"] != "undetermined"]
    if not numbers:
        return ""
    least, greatest = min(numbers), max(numbers)
    return f"{least:,}" if least == greatest else f"{least:,} to {greatest:,}"
