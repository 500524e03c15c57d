"""Tables of measured figures and runs, for pages written by hand.

A table is placed between `<!-- cases NAME ... -->` and `<!-- end -->`. NAME is the id of an entry, the name of a table,
or the name of a table about a proof followed by the name of the proof. `benchmarks/figures/catalogue.py` measured
seconds, rates and memory.

Each row of the table of delays has two runs, which differ in the number of ticks that a message takes. Their worst
cases determine how many messages, and how many maximum waits or idle intervals, are on the worst path. A round trip is
two messages.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from fencepost.api.topics.evidence import cases_of, constants_of, trace_of_case
from fencepost.invariants import follower_reads_cases
from fencepost.invariants.catalogue import Case, Entry, Run, entries, runs, runs_of, values_of
from fencepost.invariants.figures.store import load
from fencepost.invariants.protocols import protocol
from fencepost.invariants.run_rows import only
from fencepost.invariants.theorems import THEOREMS
from fencepost.model.clients.tokens.operations import LISTED
from fencepost.model.language.errors import UsageError
from fencepost.site import figures, played
from fencepost.site.places import Column, Row, Table, number, table, table_of


def recovery() -> Table:
    kinds = ("nobody-who-answered-had-more", "nobody-had-more", "leader-has-committed")
    losses = ("lost although a broker that answered had it", "lost although some broker had it", "lost")
    rows = []
    for run in runs_of("unclean-recovery"):
        values = protocol(run.protocol).machine.set_constants(values_of(run)).shown
        faults = [str(values[name]) for name in ("crashes", "fences")]
        found = [f"yes, {run.violated[name]}" if name in run.violated else "no" for name in kinds]
        rows.append([*(str(values[name]).replace("_", "-") for name in ("rule", "wait")), *faults, *found])
    return ["rule", "waits for", "crashes", "fences", *losses], rows


def critical_path() -> Table:
    names = ("round-trips-to-success", "backoffs-to-success", "refreshes-to-success")
    own = [run for run in runs_of("leader-discovery") if "lagging_brokers" in run.constants and run.worst]
    return ["lagging brokers", "client", "new leader is", "version", "round trips", "backoffs", "refreshes"], (
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


def propagation() -> Table:
    names = ("messages-until-known", "waits-until-known", "fetches-in-all")
    return ["run", "messages", "waits", "fetches for two records", "distinct"], (
        [run.name.partition(" ")[2], *(str(run.worst.get(name, "")) for name in names), number(run.distinct)]
        for run in runs_of("watermark-propagation")
        if names[0] in run.worst
    )


def operations() -> Table:
    return ["operation", "API key", "reads", "class"], (
        [item.name, str(item.key), item.reads, item.operation.name.lower()] for item in LISTED
    )


# the four cases of KIP-392: the consumer's outcome, by design and reset policy

CASES = {1: "1 uncommitted", 2: "2 unavailable", 3: "3 too small", 4: "4 too large"}
DESIGNS = {"kip392-older": "older text", "kip392-newer": "newer text", "kafka-4.1": "code"}
CONTRADICTION = "†"


class Cell(NamedTuple):
    """A cell in the table of follower reads. `outcomes` lists the worst outcome first."""

    version: str
    policy: str
    case: int
    epochs: bool
    outcomes: tuple[str, ...]
    run: Run


def every_cell() -> list[Cell]:
    return [_cell(run) for run in runs_of("follower-reads") if "watched_case" in run.constants]


def _cell(run: Run) -> Cell:
    values = constants_of(run)
    reached = [item.name.removeprefix("case-") for item in follower_reads_cases.CASES if item.name not in run.unreached]
    return Cell(run.version, values["policy"], values["watched_case"], values["position_epochs"], tuple(reached), run)


def four_cases() -> Table:
    by_place = {(cell.case, cell.policy, cell.epochs, cell.version): cell for cell in every_cell()}
    places = sorted({(case, not epochs, policy) for case, policy, epochs, _ in by_place})
    rows = []
    for case, lacks_epoch, policy in places:
        row = {version: by_place[case, policy, not lacks_epoch, version] for version in DESIGNS}
        differs = row["kip392-older"].outcomes != row["kip392-newer"].outcomes
        shown = [_outcomes(cell, marked=differs and version != "kafka-4.1") for version, cell in row.items()]
        rows.append([CASES[case], "none" if lacks_epoch else "known", policy, *shown])
    return ["case", "epoch", "policy", *DESIGNS.values()], rows


def _outcomes(cell: Cell, *, marked: bool) -> str:
    mark = f" {CONTRADICTION}" if marked else ""
    if not cell.outcomes:
        return f"not met{mark}"
    worst, *others = [name + (" data" if name == "skips" else "") for name in cell.outcomes]
    (file,) = cell.run.trace.values()
    return ", ".join([f"[{worst}](../counterexamples/archive/{file})", *others]) + mark


MAX_WAIT_MS = 500
"""The longest time that a broker holds a fetch (KafkaRaftClient), and the default of metadata.max.idle.interval.ms."""
ROUND_TRIP_MS = 10
"""A round trip within a data centre, with a margin: a message takes a hundredth of the maximum wait."""

DELAY = "commit-is-known-in-time"
SLOW = ", two ticks"
"""The name of the second run of each pair, in which a message takes two ticks, ends with this suffix."""
_SAME = {"nodes", "voters", "max_epoch", "max_records", "clock", "max_wait", "latency", "longest_delay"}


def delays() -> Table:
    by_name = {run.name: run for run in runs_of("quorum")}
    pairs = [(run, by_name[name + SLOW]) for name, run in by_name.items() if name + SLOW in by_name]
    head = ["run", "differs in", "maximum waits", "round trips", "milliseconds", "distinct", "trace"]
    return head, [_row(fast, slow) for fast, slow in pairs]


def _row(fast: Run, slow: Run) -> Row:
    worst, file = fast.worst[DELAY], fast.trace.get(DELAY, "")
    waits, messages = shares(fast, slow)
    costs = [str(waits), f"{messages / 2:g}", f"{waits * MAX_WAIT_MS + messages * ROUND_TRIP_MS / 2:g}"]
    if isinstance(worst, str):
        costs = [worst] * 3
    name = file.removeprefix("quorum-").removesuffix(".trace")
    trace = f"[{name}](../counterexamples/archive/{file})" if file else ""
    return [fast.name, _differing(fast), *costs, f"{fast.distinct:,}", trace]


def _differing(run: Run) -> str:
    declared = protocol(run.protocol).machine.constants.declared()
    found = {name: value for name, value in run.constants.items() if name not in _SAME}
    return ", ".join(
        f"`{name}={str(declared[name].show(value)).lower()}`"
        for name, value in found.items()
        if value != declared[name].default
    )


def shares(fast: Run, slow: Run) -> tuple[int, int]:
    """Return how many maximum waits and messages are on the worst path; raise ValueError if this is undetermined."""
    one, other = fast.worst[DELAY], slow.worst[DELAY]
    if isinstance(one, str) or isinstance(other, str):
        if one != other:
            raise ValueError(f"{fast.name}: {one}, but {slow.name}: {other}.")
        return 0, 0
    wait, latency, more = (
        int(values_of(run)[name]) for run, name in ((fast, "max_wait"), (fast, "latency"), (slow, "latency"))
    )
    messages, rest = divmod(other - one, more - latency)
    waits, odd = divmod(one - messages * latency, wait)
    if rest or odd:
        raise ValueError(f"{fast.name}: {one} and {other} ticks are not a sum of maximum waits and messages.")
    return waits, messages


MARK = "<!-- cases "
_TABLE = re.compile(r"(<!-- cases ([^\n]*?) -->\n)(?:(?!<!-- cases ).)*?(<!-- end -->)", re.DOTALL)
_LARGEST = 8


def with_tables(text: str, page: str = "") -> str:
    """Return the text of `page` (a path in docs/) with tables built; raise UsageError if one is unknown or unclosed."""
    if len(_TABLE.findall(text)) != text.count(MARK):
        raise UsageError(f"{page}: a line `{MARK}... -->` has no line `<!-- end -->` after its table: add it.")
    try:
        made = _TABLE.sub(lambda found: f"{found[1]}\n{table_of_name(found[2])}\n\n{found[3]}", text)
    except UsageError as error:
        raise UsageError(f"{page}: {error}") from None
    up = "../" * (page.count("/") + 1)
    return made.replace("](../counterexamples/", f"]({up}counterexamples/")


def table_of_name(name: str) -> str:
    first, *others = name.split() or [""]
    if first in _OF_PROOF:
        only(others or [""], [item.name for item in THEOREMS], "proof")
    elif others or first not in {*_LISTS, *_WORDS}:
        only([first], [*entries(), *_LISTS, *_WORDS, *_OF_PROOF], "table or entry")
        only([first, *others], entries(), "entry")
    if first in _LISTS:
        return "\n".join(f"- {item}" for item in _LISTS[first]())
    if first in _OF_PROOF:
        head, rows = _OF_PROOF[first](others[0])
    else:
        head, rows = _WORDS[first]() if first in _WORDS else _cases([first, *others])
    return "\n".join(table(head, rows))


def _cases(ids: Sequence[str]) -> Table:
    return ["id", "property", "expected", "runs", "length", "distinct", "trace"], (
        row for name in ids for row in _cases_of(entries()[name])
    )


def _cases_of(entry: Entry) -> Iterable[Row]:
    """Yield a row for each property, verdict and archived trace. The row shows the run with the shortest trace or, if
    there is no trace, the run with the most states. A violation without an archived trace is omitted if an archived
    trace is at least as short.
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
        yield [entry.id, prop, expect, f"{run.name}{others}", number(first[key].length), number(run.distinct), link]


def _settings(name: str = "replication") -> Table:
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


def _settings_by_version() -> Table:
    head, rows = _settings()
    _, _, *columns = zip(head, *rows, strict=True)
    names = [version.name.removeprefix("kafka-") for version in protocol("replication").machine.versions]
    return ["constant", *names], map(list, columns)


def _switches(name: str = "replication") -> Table:
    declared = protocol(name).machine.constants.declared()
    return ["constant", "default", "meaning"], (
        [f"`{name}`", str(constant.show(constant.default)).lower(), constant.meaning]
        for name, constant in declared.items()
    )


def _largest() -> Table:
    found = sorted((run for run in runs() if run.name in measured()), key=lambda run: run.distinct or 0)[-_LARGEST:]
    columns: dict[str, Column] = {
        "run": "{name}", "distinct": "{distinct:,}", "depth": "{depth}", "CPU s": "{processor_seconds:.0f}",
        "bytes per state": lambda row: f"{row['store_bytes'] / row['distinct']:.1f}",
        "store": lambda row: figures.gigabytes(row["store_bytes"]),
        "peak": lambda row: figures.gigabytes(row["peak_memory_bytes"]) if "peak_memory_bytes" in row else "",
    }  # fmt: skip
    return table_of(({"name": run.name, **measured()[run.name]} for run in found), columns)


def measured() -> dict[str, dict[str, Any]]:
    return load("replication")


def seconds_of(run: Run) -> str:
    seconds = measured().get(run.name, {}).get("seconds")
    return "" if seconds is None else f"{seconds:.1f}"


def _link(case: Case) -> str:
    file = trace_of_case(case)
    return f"[{file.rpartition('/')[2].removesuffix('.trace')}](../{file})" if file else ""


_WORDS: dict[str, Callable[[], Table]] = {
    "settings": _settings_by_version,
    "stands-for": lambda: (["version", "stands for"], (row[:2] for row in _settings()[1])), "switches": _switches,
    "quorum-settings": lambda: _settings("quorum"), "quorum-switches": lambda: _switches("quorum"), "delays": delays,
    "four-cases": four_cases, "propagation": propagation, "follower-settings": lambda: _settings("follower-reads"),
    "follower-switches": lambda: _switches("follower-reads"), "largest": _largest, "critical-path": critical_path,
    "operations": operations, "proofs": figures.proofs, "loops": figures.loops, "spark-cost": figures.spark_cost,
    "spark-levels": figures.spark_levels, "spark-figures": figures.spark_figures, "spark-scale": figures.spark_scale,
    "speed-searches": figures.searches, "speed-largest": figures.largest_search,
    "clients-rules": played.client_rules, "clients-producers": lambda: played.client_rules("producers"),
    "clients-releases": played.client_releases, "clients-runs": played.client_runs,
    "clients-stories": played.client_stories, "clients-duties": played.client_duties,
    "clients-mutants": played.client_mutants, "clients-deviations": played.client_deviations,
    "clients-brokers": played.client_brokers,
    "releases-compared": figures.releases_compared, "clusters": lambda: played.clusters(as_they_are=True),
    "clusters-kept": lambda: played.clusters(as_they_are=False), "recovery": recovery, "by-version": figures.by_version,
    "finding-faults": figures.finding_faults, "finding-faults-hyp-10": lambda: figures.finding_faults("HYP-10"),
    "switches-off": figures.switches_off, "what-operators-do": figures.operations_by_release,
    "crashes-in-short": figures.crashes_in_short, "releases-lose": figures.losses,
    "releases": played.verdicts_on_findings, "releases-why": lambda: played.reasons(of_findings=True),
    "releases-known": lambda: played.reasons(of_findings=False),
    **{name: partial(figures.measured, name) for name in figures.MEASURED},
    **{f"conform-{part}": partial(played.conformance, part) for part in played.CONFORMANCE},
}  # fmt: skip
_LISTS: dict[str, Callable[[], Iterable[str]]] = {"statements": figures.statements}
_OF_PROOF: dict[str, Callable[[str], Table]] = {"lemmas": figures.lemmas, "cuts": figures.cuts}
