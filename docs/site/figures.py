"""Tables of measurements: speed and size, searches on Spark, proofs, and the records that each model version loses.
Each table shows a file in `invariants/figures/` that a program in `benchmarks/` wrote.
"""

import re
from collections.abc import Iterable
from itertools import accumulate

from fencepost.api.topics.advice_words import row_of
from fencepost.api.topics.advising import advise, versions
from fencepost.api.topics.claims import breaks_with
from fencepost.api.topics.measured import cells, lost_with, outcome
from fencepost.invariants.figures.store import load
from fencepost.invariants.theorems import THEOREMS
from fencepost.site.places import Column, Figures, Row, Table, grouped, table_of


def gigabytes(value: float) -> str:
    return f"{value / 1e9:.2f} GB"


# -- speed and size

MEASURED: dict[str, tuple[str, str, dict[str, Column]]] = {
    "audit-runs": (
        "audit", "rows",
        {"records": "{records:,}", "master": "{master}", "partitions": "{partitions:,}",
            "changes of one partition": lambda row: f"{row['hot']:,}" if row["hot"] else "", "seconds": "{seconds:.0f}",
            "reading": "{reading_seconds:.0f}", "memory": "{peak_gb:.1f} GB", "planted": "{planted}",
            "found": "{found}", "false findings": "{false}", "exposures planted, found": "{exposed}, {exposed_found}",
            "digest": "{digest:.8}", "load": "{load:.0f}"},
    ),
    "builds": (
        "builds",
        "rows",
        {
            "change": "{name}",
            "verdict": "{verdict}",
            "steps": lambda row: str(row.get("steps") or "-"),
            "seconds": "{seconds:.0f}",
        },
    ),
    "recalled": (
        "recall",
        "rows",
        {
            "defect": "{name}: {what}",
            "found in": "{release}",
            "profile": "{profile}",
            "first history": lambda row: f"{row['seed']:,}" if row["seed"] else "not found",
            "steps, shortened": "{steps}",
            "not found in": "{repaired}",
        },
    ),
    "explore": ("explore", "rows", {"figure": "{what}", "measured": "{measured}", "goal": "{wanted}"}),
    "moving": (
        "switches",
        "moving",
        {
            "search": "{what}",
            "stored as": "{kept}",
            "complete": lambda row: "yes" if row["complete"] else "no",
            "distinct": "{distinct:,}",
            "depth": "{depth}",
            "wall s": "{wall:.0f}",
            "states/s": lambda row: f"{row['distinct'] / row['wall']:,.0f}",
            "bytes per state": lambda row: f"{row['store_bytes'] / row['distinct']:.1f}",
            "store": lambda row: gigabytes(row["store_bytes"]),
            "peak": lambda row: gigabytes(row["peak_bytes"]),
        },
    ),
}  # fmt: skip
"""For each table whose rows come from a single figure: the figure's file, the key of the rows, and the columns."""


def measured(name: str) -> Table:
    file, key, columns = MEASURED[name]
    return table_of(load(file).get(key, ()), columns)


def releases_compared() -> Table:
    rows = load("releases-compared").get("rows", [])
    head = ["releases", "methods that differ", "histories executed", "what differs", "issue"]
    return head, (
        [
            f"{row['a']}, {row['b']}",
            f"{row['methods']:,}",
            f"{row['played']:,} of {row['of']:,}",
            row["what"] or "; ".join(f"`{kind}`" for kind in row["kinds"]) or "nothing",
            row["issue"] or "-",
        ]
        for row in rows
    )


def searches() -> Table:
    columns: dict[str, Column] = {
        "search": "{name}", "distinct": "{distinct:,}", "CPU s": "{processor:.2f}", "wall s": "{wall:.2f}",
        "CPU ns per state": lambda row: f"{row['processor'] / row['distinct'] * 1e9:,.0f}",
        "bytes per state": lambda row: f"{row['store_bytes'] / row['distinct']:.1f}",
    }  # fmt: skip
    return table_of(({"name": name, **row} for name, row in load("speed")["searches"].items()), columns)


def largest_search() -> Table:
    levels = load("speed").get("largest", {}).get("levels", [])
    steps = zip([{"states": 0, "seconds": 0.0}, *levels], levels, strict=False)
    return ["depth", "states", "seconds", "states per second"], (
        [
            str(level["depth"]),
            f"{level['states']:,}",
            f"{level['seconds']:,.0f}",
            f"{(level['states'] - before['states']) / (level['seconds'] - before['seconds']):,.0f}",
        ]
        for before, level in steps
        if level["seconds"] > before["seconds"]
    )


def switches_off() -> Table:
    rows = load("switches").get("off", ())
    columns: dict[str, Column] = {
        "model of": "{commit}", "distinct": "{distinct:,}", "depth": "{depth}", "states per CPU second": "{rate:,}",
        "relative rate": lambda row: f"{row['rate'] / rows[-1]['rate']:.2f}", "bytes per state": "{bytes_a_state}",
    }  # fmt: skip
    return table_of(rows, columns)


# searches on Spark, and predictions for larger clusters

EXECUTORS = (10, 100, 1000)
STATES = (10**9, 10**10, 10**11, 10**12)
LEVELS = 60
BANDWIDTH = 125e6
"""Bytes per second that an executor can send, if ten executors on one host share a 10 Gbit/s link."""
PARTITIONS_EACH = 2
DRIVER_TASKS = 500.0
"""Tasks that a driver starts per second. A level has two tasks per partition."""
MEASURED_CORES = 2


def spark_cost() -> Table:
    found = load("spark")
    search, spark, native = found["search"], found["search"]["spark"], found["search"]["native_seconds"]
    few, many = found["levels"]["partitions"].values()
    one, two = found["executors"]["one"], found["executors"]["two"]
    sweep, walker = found["sweep"]["sweep_steps"], found["sweep"]["native_steps"]
    rows = {
        f"a search of {spark['distinct']:,} states on `local[2]`, relative to the native engine with two workers": (
            "at most 4 times the time",
            f"{spark['seconds'] / native:.1f} times ({spark['seconds']:.0f} s, {search['native_seconds']:.0f} s)",
        ),
        "starting that Spark session": ("reported", f"{spark['session_seconds']:.1f} s"),
        "a small level, in 4 partitions": (
            "below 1.5 s",
            f"{few['median_seconds']:.2f} s, at most {few['most_seconds']:.2f} s",
        ),
        "a small level, in 64 partitions": ("reported", f"{many['median_seconds']:.2f} s"),
        f"two single-core executors relative to one ({one['distinct']:,} states)": (
            "reported",
            f"{one['seconds'] / two['seconds']:.2f} times as fast",
        ),
        "steps per second of a sweep on `local[2]`, relative to the walker on two threads": (
            "at least 70 %",
            f"{sweep / walker:.0%} ({sweep:,}, {walker:,})",
        ),
    }
    return ["figure", "goal", "measured"], ([what, *cells] for what, cells in rows.items())


def spark_levels() -> Table:
    """Return the levels of the large search on Spark, which sends only generated states, not visited ones."""
    levels = load("spark")["search"]["spark"]["levels"]
    visited = accumulate(item["fresh"] for item in levels)
    columns: dict[str, Column] = {
        "level": "{level}", "visited by Spark": "{visited:,}", "new": "{fresh:,}", "moved": "{received:,}",
        "shuffle written": lambda row: f"{row['shuffle_written'] / 1e6:,.1f} MB",
        "bytes each": lambda row: f"{row['shuffle_written'] / max(1, row['received']):.1f}", "seconds": "{seconds:.1f}",
    }  # fmt: skip
    return table_of(({**item, "visited": count} for item, count in zip(levels, visited, strict=True)), columns)


def unit() -> dict[str, float]:
    """Return the figures for predicting the time on larger clusters.

    `core` is the CPU time per state in seconds. `shuffle`, `kept` and `table` are bytes per state in the shuffle, in
    the blocks of the levels, and in the executors' tables. `level` is the time per level in seconds, and `partition` is
    the CPU time for one partition of a level in seconds. These two figures do not depend on the number of states.
    """
    found = load("spark")
    one = found["executors"]["one"]
    work = [item for item in one["levels"] if item["fresh"] > 0]
    fresh = sum(item["fresh"] for item in work)
    (fewer, few), (more, many) = (
        (int(count), item["median_seconds"]) for count, item in found["levels"]["partitions"].items()
    )
    each = (many - few) / (more - fewer) * MEASURED_CORES
    level = max(0.0, few - each * fewer / MEASURED_CORES)
    idle = min(item["seconds"] for item in work)
    return {
        "core": sum(item["seconds"] - idle for item in work) / fresh,
        "shuffle": sum(item["shuffle_written"] for item in work) / fresh,
        "kept": sum(item["block_bytes"] for item in work) / fresh,
        "table": one["row_bytes"] + 8,
        "level": level,
        "partition": each,
    }


def spark_figures() -> Table:
    found = unit()
    titles = {
        "CPU time per state": f"{found['core'] * 1e6:.1f} µs",
        "bytes per state in the shuffle": f"{found['shuffle']:.0f}",
        "bytes per state in the stored blocks": f"{found['kept']:.0f}",
        "bytes per state in an executor's tables": f"{found['table']:.0f}",
        "fixed time per level": f"{found['level']:.2f} s",
        "CPU time per partition and level": f"{found['partition']:.2f} s",
    }
    return ["figure", "value"], map(list, titles.items())


def fixed(executors: int) -> float:
    of = unit()
    return of["level"] + of["partition"] * PARTITIONS_EACH + 2 * PARTITIONS_EACH * executors / DRIVER_TASKS


def predicted(states: int, executors: int) -> float:
    of = unit()
    return LEVELS * fixed(executors) + states / executors * (of["core"] + of["shuffle"] / BANDWIDTH)


def spark_scale() -> Table:
    of = unit()
    head = ["states", *(f"{count:,} executors" for count in EXECUTORS)]
    return head, (
        [
            f"10^{len(str(states)) - 1}",
            *(
                f"{_time(predicted(states, count))}; {_bytes(states * of['table'] / count)} of tables, "
                f"{_bytes(states * of['kept'] / count)} of blocks"
                for count in EXECUTORS
            ),
        ]
        for states in STATES
    )


def _time(seconds: float) -> str:
    for unit_, size in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit_}"
    return f"{seconds:.0f} s"


def _bytes(value: float) -> str:
    for name, size in (("TB", 1e12), ("GB", 1e9)):
        if value >= size:
            return f"{value / size:.1f} {name}"
    return f"{value / 1e6:.0f} MB"


# -- proofs: what `fencepost prove` prints as JSON

MOST_NAMES = 4


def measured_proofs() -> dict[str, Figures]:
    return {item["name"]: item for item in load("proofs").get("proofs", ())}


def proofs() -> Table:
    head = ["proof", "verdict", "for any", "at", "steps", "branches", "queries", "solver s", "fails without"]
    return head, (_proof(item.name) for item in THEOREMS)


def _proof(name: str) -> Row:
    found = measured_proofs().get(name)
    if found is None:
        return [name, "not measured", *[""] * 7]
    return [
        f"`{name}`",
        found["verdict"],
        _first_of(found["unbounded"]),
        _sizes(found["bounded"]),
        *(f"{found[count]:,}" for count in ("steps", "branches", "questions")),
        f"{found['solver_seconds']:.1f}",
        found["twin"]["rule"] + ("" if found["twin"]["fails_as_expected"] else " (does not fail)"),
    ]


def _first_of(text: str) -> str:
    names = text.split(", ")
    return text if len(names) <= MOST_NAMES else f"{', '.join(names[:MOST_NAMES])} and {len(names) - MOST_NAMES} more"


def _sizes(text: str) -> str:
    return " ".join(item for item in text.split() if not item.endswith("=0")) or "no bound"


def statements() -> Iterable[str]:
    for item in THEOREMS:
        goals = ", ".join(f"`{name}`" for name in item.goals)
        entries = f" Entries: {', '.join(item.entries)}." if item.entries else ""
        yield f"`{item.name}` on {item.protocol}: {item.says} Goals: {goals}.{entries}"


def lemmas(name: str) -> Table:
    theorem = next(item for item in THEOREMS if item.name == name)
    rows = ([f"`{item.name}`", item.sentence] for item in theorem.properties if item.name in theorem.lemmas)
    return ["lemma", "statement"], rows


def loops() -> Table:
    found = ((item.name, measured_proofs().get(item.name, {}).get("havoc_loops", [])) for item in THEOREMS)
    rows = ([f"`{name}`", ", ".join(f"`{item}`" for item in names)] for name, names in found if names)
    return ["proof", "functions whose loops are over-approximated"], rows


def cuts(name: str) -> Table:
    """Return the bounds that a step may exceed; the proof does not cover such steps."""
    found = measured_proofs().get(name, {"cuts": {}})
    return ["action", "bound"], ([f"`{action}`", "; ".join(bounds)] for action, bounds in found["cuts"].items())


# -- versions of the model


def losses() -> Table:
    by: dict[str, Row] = {}
    for row in load("versions")["losses"]["rows"]:
        by.setdefault(row["version"].removeprefix("kafka-"), []).append(lost_with(row))
    alike = grouped((tuple(shown), name) for name, shown in by.items())
    return ["release", "min ISR 1", "min ISR 2"], ([", ".join(names), *shown] for shown, names in alike.items())


def by_version() -> Table:
    rows = load("versions").get("findings", [])
    columns = list(dict.fromkeys(name for row in rows for name in row["by"]))
    alike = grouped((tuple(_verdict(row["by"].get(name)) for name in columns), row["entry"]) for row in rows)
    return ["finding", *(name.removeprefix("kafka-") for name in columns)], (
        [", ".join(names), *shown] for shown, names in alike.items()
    )


def _verdict(cell: Figures | None) -> str:
    if cell is None or cell["verdict"] == "not expressible":
        return "-"
    return f"violated, {cell['length']}" if cell["verdict"] == "violated" else str(cell["verdict"])


def finding_faults(which: str = "") -> Table:
    found: dict[str, Figures] = load("finding-faults").get("findings", {})
    points = (
        {"name": name, "fewest": breaks_with(point) or "none of those tried", **point}
        for name, data in found.items()
        if name.startswith(which)
        for point in data["grid"]
    )
    columns: dict[str, Column] = {
        "finding": "{name}", "brokers": "{constants[brokers]}", "min ISR": "{setting[min_isr]}",
        "fewest faults": "{fewest}", "states searched": "{states:,}",
    }  # fmt: skip
    return table_of(points, columns)


def operations_by_release(replicas: int = 3, min_isr: int = 2) -> Table:
    made = {name: advise(replicas, min_isr, kafka=name).to_dict() for name in versions()}
    rows = {name: {item["operation"]: item for item in data["operations"]} for name, data in made.items()}
    last = made[versions()[-1]]["operations"]
    order = [item["operation"] for item in last]

    def shown(name: str, operation: str) -> str:
        fact = row_of(rows[name][operation])[1] if operation in rows[name] else "-"
        return re.sub(r":?( \d+/\d+ runs| [\d,]+ states| model| classes)$", "", fact)

    facts = ((tuple(shown(name, operation) for operation in order), name) for name in versions())
    columns = grouped((cells, name.removeprefix("kafka-")) for cells, name in facts)
    instead = {
        name: "; ".join(dict.fromkeys(made[name]["instead"] for made in reversed(rows.values()) if name in made))
        for name in order
    }
    titles = {item["operation"]: (item["title"], instead[item["operation"]]) for item in last}
    head = ["operation", *(", ".join(names) for names in columns.values()), "instead"]
    return head, (
        [titles[operation][0], *(cells[place] for cells in columns), titles[operation][1]]
        for place, operation in enumerate(order)
    )


def crashes_in_short(replicas: int = 3) -> Table:
    def shown(min_isr: int, **asked: bool) -> str:
        points = [item for item in cells(replicas) if item["setting"].items() >= {"min_isr": min_isr, **asked}.items()]
        return "; or ".join(dict.fromkeys(map(outcome, points))) or "not searched"

    return ["min ISR", "without ELR", "with ELR", "unclean elections"], (
        [
            str(min_isr),
            *(shown(min_isr, elr=elr, unclean_election=False) for elr in (False, True)),
            shown(min_isr, unclean_election=True),
        ]
        for min_isr in range(1, replicas + 1)
    )
