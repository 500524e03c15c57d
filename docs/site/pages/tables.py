"""Tables of the catalogue inside pages that are written by hand.

A table stands between `<!-- cases ID ... -->` and `<!-- end -->`. Instead of ids one of these words: `bugs`,
`settings`, `stands-for`, `switches`, `largest`, `critical-path`, `operations`, `proofs`, `statements`, `loops`, `delays`,
`quorum-settings`, `quorum-switches`, `spark-cost`, `spark-levels`, `spark-figures`, `spark-scale`, `speed-searches`,
`speed-wanted`, `speed-steps`, `four-cases`, `propagation`, `follower-settings`,
`follower-switches`, `recovery`, `clusters`, `clusters-kept`, `releases`, `releases-why`,
`conform-quorum`, `conform-seen`,
`releases-known`, `conform-covers`, `conform-walks`, `conform-moves`, `conform-changes`, `clients-rules`, `clients-runs`,
`clients-stories`, `clients-mutants`, `clients-deviations`, `by-version`, `audit-runs`, `explore`, `finding-faults`,
`finding-faults-hyp-10`, `switches-off`, `moving`,
`crashes-in-short`, `releases-lose`; or one of `lemmas`, `cuts` with the name of a proof.
Seconds, rates and memory are those that `python -m benchmarks.figures.catalogue` measured.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fencepost.api.topics.evidence import answer_of, cases_of, of_kind, trace_of_case
from fencepost.invariants.catalogue import entries, runs, runs_of, status, values_of
from fencepost.invariants.figures.store import load
from fencepost.invariants.protocols import protocol
from fencepost.invariants.run_rows import only
from fencepost.invariants.theorems import THEOREMS
from fencepost.model.language.errors import UsageError
from fencepost.site.pages import (
    audit,
    clients,
    clusters,
    explore,
    finding_faults,
    proofs,
    releases,
    spark,
    speed,
    tolerance,
    versions,
)
from fencepost.site.pages.cells import cells
from fencepost.site.pages.delays import delays
from fencepost.site.pages.markdown import ROW, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from fencepost.invariants.catalogue import Case, Entry, Run

Row = list[str]
MARK = "<!-- cases "
"""What stands before each table that is built."""
_TABLE = re.compile(r"(<!-- cases ([^\n]*?) -->\n)(?:(?!<!-- cases ).)*?(<!-- end -->)", re.DOTALL)
"""A table with what it is of, up to its end."""
_LARGEST = 8
_SWITCHES = 2
"""Constants in which a bug and its twin may differ."""


def with_tables(text: str, page: str = "") -> str:
    """Return the text of a page (its path in the folder of documentation) with its tables built again.

    Raises UsageError for a table that has no end, or that nothing is called as.
    """
    if len(_TABLE.findall(text)) != text.count(MARK):
        raise UsageError(f"{page}: a line `{MARK}... -->` has no line `<!-- end -->` behind its table: write it there.")
    try:
        made = _TABLE.sub(lambda found: f"{found[1]}\n{_made(found[2].split())}\n\n{found[3]}", text)
    except UsageError as error:
        raise UsageError(f"{page}: {error}") from None
    up = "../" * (page.count("/") + 1)
    return re.sub(r"(\]\(|\]: )\.\./counterexamples/", rf"\g<1>{up}counterexamples/", made)


def _made(words: list[str]) -> str:
    """Return what stands behind a mark: a table, or a list."""
    first = words[0] if words else ""
    if first in _OF_PROOF:
        only(words[1:] or [""], [item.name for item in THEOREMS], "proof")
    elif first not in {*_LISTS, *_WORDS}:
        only(words or [""], entries(), "table or entry")
    if words[0] in _LISTS:
        return "\n".join(f"- {item}" for item in _LISTS[words[0]]())
    if words[0] in _OF_PROOF:
        head, rows = _OF_PROOF[words[0]](words[1])
    else:
        head, rows = _WORDS[words[0]]() if words[0] in _WORDS else _cases(words)
    right = {place for place, name in enumerate(head) if name in _NUMBERS}
    return with_short_rows(list(table(head, rows, right)))


def with_short_rows(lines: list[str]) -> str:
    """Return the lines of a table; if a row is too wide to read, links are named in the rows and resolved below the table."""
    targets: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        name = found[2].rpartition("/")[2].removesuffix(".trace")
        targets[name] = found[2]
        return f"[{name}]" if found[1] == name else f"[{found[1]}][{name}]"

    if max(map(len, lines)) > ROW:
        lines = [re.sub(r"\[([^\]]+)\]\(([^)]+)\)", named, line) for line in lines]
    return "\n".join([*lines, *([""] if targets else []), *(f"[{name}]: {target}" for name, target in targets.items())])


_NUMBERS = {
    "steps",
    "branches",
    "questions",
    "solver s",
    "length",
    "shortest",
    "distinct",
    "without",
    "depth",
    "seconds",
    "states/s",
    "store",
    "peak",
    "round trips",
    "backoffs",
    "refreshes",
    "API key",
    "processor s",
    "wall s",
    "ns a state",
    "bytes a state",
    "messages",
    "waits",
    "fetches for two records",
    "lost a record, or a broker",
    "kept all",
    "undetermined",
    "acknowledged",
    "of them lost",
}


def _cases(ids: Sequence[str]) -> tuple[Row, Iterable[Row]]:
    return ["id", "property", "expected", "runs", "length", "distinct", "trace"], (
        row for name in ids for row in _cases_of(entries()[name])
    )


def _cases_of(entry: Entry) -> Iterable[Row]:
    """Yield a row for each property, verdict and archived trace: the run with the shortest trace, or with most states.

    Failures without a trace are left out where one as short has one.
    """
    cases = cases_of(entry)
    found = dict.fromkeys((case.prop, case.expect, _link(case)) for case in cases)
    mine = {key: [case for case in cases if (case.prop, case.expect, _link(case)) == key] for key in found}
    first = {key: min(mine[key], key=lambda case: (case.length or 0, -(case.run.distinct or 0))) for key in found}
    for key in found:
        prop, expect, link = key
        shown = [first[other].length or 0 for other in found if other[:2] == key[:2] and other[2]]
        if expect == "violated" and not link and shown and min(shown) <= (first[key].length or 0):
            continue
        others = f" and {len(mine[key]) - 1} more" if len(mine[key]) > 1 else ""
        run = first[key].run
        yield [entry.id, prop, expect, f"{run.name}{others}", _number(first[key].length), _number(run.distinct), link]


def _bugs() -> tuple[Row, Iterable[Row]]:
    head = ["bug", "what brings it back", "run", "what fails, after how many states", "distinct", "without", "seconds"]
    return head, (row for entry in of_kind("bug") for row in _bug(entry))


def _bug(entry: Entry) -> Iterable[Row]:
    own = list(cases_of(entry))
    if not own:
        yield [entry.id, "", answer_of(entry), status(entry), "", "", ""]
        return
    failing = {case.run.name for case in own if case.expect == "violated"}
    named = {case.run.name for case in own if case.run.title.endswith(entry.id)}
    named_runs = failing | named or {
        case.run.name for case in own
    }  # of a report that was no bug: where nothing is found
    for name in dict.fromkeys(case.run.name for case in own if case.run.name in named_runs):
        shown = [case for case in own if case.run.name == name]
        run, twin = shown[0].run, _twin(shown[0], own) if failing | named else None
        linked = next(filter(trace_of_case, shown), None)
        yield [
            entry.id,
            ", ".join(f"`{item}`" for item in difference(run, twin)) if twin else "",
            run.title if run.protocol == "replication" else run.name,
            "; ".join(_failure(case, with_trace=case is linked) for case in shown),
            _number(run.distinct),
            _number(twin.distinct) if twin else "",
            _figure(run, "seconds", lambda value: f"{value:.1f}"),
        ]


def _failure(case: Case, *, with_trace: bool) -> str:
    """Return a property with the length of its shortest trace, or what else is said of it."""
    found = f"{case.prop} {_number(case.length) or case.expect}"
    return f"{found} ([trace](../{trace_of_case(case)}))" if with_trace else found


def _twin(case: Case, own: Sequence[Case]) -> Run | None:
    """Return the run with the fewest other constants in which the property holds; None if it is another configuration."""
    others = [item.run for item in own if item.prop == case.prop and item.expect == "holds" and item.run != case.run]
    others = [run for run in others if run.protocol == case.run.protocol]
    near = [run for run in others if len(difference(case.run, run)) <= _SWITCHES]
    return min(near, key=lambda run: len(difference(case.run, run)), default=None)


def difference(run: Run, twin: Run) -> list[str]:
    """Return the constants of a run that are not as in another, as they are set."""
    mine, others = (_shown(item) for item in (run, twin))
    return [f"{name}={str(value).lower()}" for name, value in mine.items() if value != others[name]]


def _shown(run: Run) -> dict[str, Any]:
    from fencepost.api.topics.evidence import constants_of

    return constants_of(run)


def _recovery() -> tuple[Row, Iterable[Row]]:
    """Return what each rule of unclean recovery loses, by whom it waits for and by faults."""
    kinds = ("nobody-who-answered-had-more", "nobody-had-more", "leader-has-committed")
    rows = []
    for run in runs_of("unclean-recovery"):
        values = protocol(run.protocol).machine.set_constants(values_of(run)).shown
        faults = [str(values[name]) for name in ("crashes", "fences")]
        found = [f"yes, {run.violated[name]}" if name in run.violated else "no" for name in kinds]
        rows.append([str(values["rule"]).replace("_", "-"), str(values["wait"]).replace("_", "-"), *faults, *found])
    head = [
        "rule",
        "waits for",
        "crashes",
        "fences",
        "lost: one that answered had it",
        "lost: some broker had it",
        "lost",
    ]
    return head, rows


def _settings(name: str = "replication") -> tuple[Row, Iterable[Row]]:
    machine = protocol(name).machine
    names = list(dict.fromkeys(name for version in machine.versions for name in version.values))
    declared = machine.constants.declared()
    return ["version", "stands for", *(f"`{name}`" for name in names)], (
        [
            version.name,
            version.sentence,
            *(str(declared[name].show(version.values.get(name, declared[name].default))).lower() for name in names),
        ]
        for version in machine.versions
    )


def _stands_for() -> tuple[Row, Iterable[Row]]:
    return ["version", "stands for"], (
        [version.name, version.sentence] for version in protocol("replication").machine.versions
    )


def _settings_by_version() -> tuple[Row, Iterable[Row]]:
    """Return the settings of replication with a column for each version: there are more of these than fit beside each other otherwise."""
    _, rows = _settings()
    columns = [[row[0].removeprefix("kafka-"), *row[2:]] for row in rows]
    names = _settings()[0][2:]
    return ["constant", *(column[0] for column in columns)], (
        [name, *(column[place] for column in columns)] for place, name in enumerate(names, 1)
    )


def _switches(name: str = "replication") -> tuple[Row, Iterable[Row]]:
    declared = protocol(name).machine.constants.declared()
    return ["constant", "default", "meaning"], (
        [f"`{name}`", str(constant.show(constant.default)).lower(), constant.meaning]
        for name, constant in declared.items()
    )


def _critical_path() -> tuple[Row, Iterable[Row]]:
    """Return what the most expensive path from an error to success costs, before KIP-951 and with it, for producer and consumer."""
    names = ("round-trips-to-success", "backoffs-to-success", "refreshes-to-success")
    own = [
        run for run in runs() if run.protocol == "leader-discovery" and "lagging_brokers" in run.constants and run.worst
    ]
    return [
        "lagging brokers",
        "client",
        "new leader is",
        "version",
        *(name.removesuffix("-to-success").replace("-", " ") for name in names),
    ], (
        [
            str(run.constants["lagging_brokers"]),
            "consumer" if run.constants.get("consumer") else "producer",
            "new to the client" if run.constants.get("late_broker") else "known",
            run.version + (", no endpoints in hints" if run.constants.get("hint_endpoints") == 0 else ""),
            *(str(run.worst[name]) for name in names),
        ]
        for run in sorted(own, key=_place_in_table)
    )


def _place_in_table(run: Run) -> tuple[int, int, int, str, int]:
    values = run.constants
    is_new, is_consumer = values.get("late_broker", 0), values.get("consumer", 0)
    return is_new, is_consumer, values["lagging_brokers"], run.version, -values.get("hint_endpoints", 1)


def _propagation() -> tuple[Row, Iterable[Row]]:
    """Return what it costs until a follower knows of a commit, and how many fetches all records take."""
    names = {
        "messages-until-known": "messages",
        "waits-until-known": "waits",
        "fetches-in-all": "fetches for two records",
    }
    own = [run for run in runs() if run.protocol == "watermark-propagation" and "messages-until-known" in run.worst]
    return ["run", *names.values(), "distinct"], (
        [run.name.partition(" ")[2], *(str(run.worst.get(name, "")) for name in names), _number(run.distinct)]
        for run in own
    )


def _operations() -> tuple[Row, Iterable[Row]]:
    """Return what each operation of the draft on consistency tokens reads."""
    from fencepost.model.clients.tokens.operations import LISTED

    return ["operation", "API key", "reads", "class"], (
        [item.name, str(item.key), item.reads, item.operation.name.lower()] for item in LISTED
    )


def _largest() -> tuple[Row, Iterable[Row]]:
    found = sorted((run for run in runs() if run.name in measured()), key=lambda run: run.distinct or 0)[-_LARGEST:]
    return ["run", "distinct", "depth", "processor s", "bytes a state", "store", "peak"], (
        [
            run.name,
            _number(run.distinct),
            _number(run.depth),
            _figure(run, "processor_seconds", lambda value: f"{value:.0f}"),
            _figure(run, "store_bytes", lambda value, run=run: f"{value / (run.distinct or 1):.1f}"),  # type: ignore[misc]
            _figure(run, "store_bytes", _gigabytes),
            _figure(run, "peak_memory_bytes", _gigabytes),
        ]
        for run in found
    )


def _switches_off() -> tuple[Row, Iterable[Row]]:
    """Return what kafka-4.1 takes with the newer switches off, and with the model from before there were any."""
    rows = load("switches").get("off", ())
    return ["model of", "distinct", "depth", "states a processor second", "rate against the older", "bytes a state"], (
        [
            row["commit"],
            f"{row['distinct']:,}",
            str(row["depth"]),
            f"{row['rate']:,}",
            f"{row['rate'] / rows[-1]['rate']:.2f}",
            str(row["bytes_a_state"]),
        ]
        for row in rows
    )


def _moving() -> tuple[Row, Iterable[Row]]:
    """Return the largest search of replicas that move, in both modes."""
    return ["what", "kept", "ended", "distinct", "depth", "wall s", "states/s", "bytes a state", "store", "peak"], (
        [
            row["what"],
            row["kept"],
            "yes" if row["complete"] else "no",
            f"{row['distinct']:,}",
            str(row["depth"]),
            f"{row['wall']:.0f}",
            f"{row['distinct'] / row['wall']:,.0f}",
            f"{row['store_bytes'] / row['distinct']:.1f}",
            _gigabytes(row["store_bytes"]),
            _gigabytes(row["peak_bytes"]),
        ]
        for row in load("switches").get("moving", ())
    )


_WORDS: dict[str, Callable[[], tuple[Row, Iterable[Row]]]] = {
    "bugs": _bugs,
    "settings": _settings_by_version,
    "stands-for": _stands_for,
    "switches": _switches,
    "quorum-settings": lambda: _settings("quorum"),
    "quorum-switches": lambda: _switches("quorum"),
    "delays": delays,
    "four-cases": cells,
    "propagation": _propagation,
    "follower-settings": lambda: _settings("follower-reads"),
    "follower-switches": lambda: _switches("follower-reads"),
    "largest": _largest,
    "critical-path": _critical_path,
    "operations": _operations,
    "proofs": proofs.proofs,
    "loops": proofs.loops,
    "spark-cost": spark.cost,
    "spark-levels": spark.levels,
    "spark-figures": spark.figures,
    "spark-scale": spark.scale,
    "speed-searches": speed.searches,
    "speed-wanted": speed.wanted,
    "speed-steps": speed.steps,
    "clients-rules": clients.rules,
    "clients-runs": clients.runs,
    "clients-stories": clients.stories,
    "clients-mutants": clients.mutants,
    "clients-deviations": clients.deviations,
    "audit-runs": audit.runs,
    "explore": explore.times,
    "clusters": clusters.played,
    "clusters-kept": clusters.kept,
    "recovery": _recovery,
    "by-version": versions.by_version,
    "finding-faults": finding_faults.needed,
    "finding-faults-hyp-10": lambda: finding_faults.needed("HYP-10"),
    "switches-off": _switches_off,
    "moving": _moving,
    "crashes-in-short": tolerance.in_short,
    "releases-lose": versions.losses,
    "releases": releases.findings,
    "releases-why": releases.findings_why,
    "releases-known": releases.known,
    "conform-covers": releases.covers,
    "conform-walks": releases.walks,
    "conform-moves": releases.moves,
    "conform-quorum": releases.quorum,
    "conform-seen": releases.seen,
    "conform-changes": releases.changes,
}
_LISTS: dict[str, Callable[[], Iterable[str]]] = {"statements": proofs.statements}
_OF_PROOF: dict[str, Callable[[str], tuple[Row, Iterable[Row]]]] = {"lemmas": proofs.lemmas, "cuts": proofs.cuts}


def measured() -> dict[str, dict[str, Any]]:
    """Return what was measured of each run, by its name."""
    return load("replication")


def _figure(run: Run, name: str, show: Callable[[float], str]) -> str:
    return show(measured()[run.name][name]) if name in measured().get(run.name, {}) else ""


def _gigabytes(value: float) -> str:
    return f"{value / 1e9:.2f} GB"


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _link(case: Case) -> str:
    file = trace_of_case(case)
    return f"[{file.rpartition('/')[2].removesuffix('.trace')}](../{file})" if file else ""
