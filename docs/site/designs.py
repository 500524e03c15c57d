"""Tables of one design each, from runs of the catalogue: what a rule loses, what a message or a delay costs.

Two runs of each row of the table of delays differ in how many ticks a message takes. The worst cases of both determine
how many maximum waits of a fetch, or idle intervals, and how many messages there are on the worst path; a round trip is
two messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fencepost.api.topics.evidence import constants_of
from fencepost.invariants import follower_reads_cases
from fencepost.invariants.catalogue import runs_of, values_of
from fencepost.invariants.protocols import protocol
from fencepost.site.markdown import number

if TYPE_CHECKING:
    from fencepost.invariants.catalogue import Run
    from fencepost.site.markdown import Row, Table


def recovery() -> Table:
    """Return the losses of each rule of unclean recovery, by whom it waits for and by faults."""
    kinds = ("nobody-who-answered-had-more", "nobody-had-more", "leader-has-committed")
    losses = ("lost: one that answered had it", "lost: some broker had it", "lost")
    rows = []
    for run in runs_of("unclean-recovery"):
        values = protocol(run.protocol).machine.set_constants(values_of(run)).shown
        faults = [str(values[name]) for name in ("crashes", "fences")]
        found = [f"yes, {run.violated[name]}" if name in run.violated else "no" for name in kinds]
        rows.append([*(str(values[name]).replace("_", "-") for name in ("rule", "wait")), *faults, *found])
    return ["rule", "waits for", "crashes", "fences", *losses], rows


def critical_path() -> Table:
    """Return the cost of the most expensive path from an error to success, before KIP-951 and with it."""
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
    """Return the cost until a follower learns of a commit, and the number of fetches for all records."""
    names = ("messages-until-known", "waits-until-known", "fetches-in-all")
    return ["run", "messages", "waits", "fetches for two records", "distinct"], (
        [run.name.partition(" ")[2], *(str(run.worst.get(name, "")) for name in names), number(run.distinct)]
        for run in runs_of("watermark-propagation")
        if names[0] in run.worst
    )


def operations() -> Table:
    """Return the reads of each operation of the draft on consistency tokens."""
    from fencepost.model.clients.tokens.operations import LISTED

    return ["operation", "API key", "reads", "class"], (
        [item.name, str(item.key), item.reads, item.operation.name.lower()] for item in LISTED
    )


# -- the four cases of KIP-392: the fate of a consumer, by design and reset policy

CASES = {1: "1 uncommitted", 2: "2 unavailable", 3: "3 too small", 4: "4 too large"}
DESIGNS = {"kip392-older": "older text", "kip392-newer": "newer text", "kafka-4.1": "code"}
CONTRADICTION = "†"
"""Marks where the two texts, which the page mixes, do not lead to the same."""


class Cell(NamedTuple):
    """One cell: design, policy and case; whether epochs are known; what may happen, the worst first; the run."""

    version: str
    policy: str
    case: int
    epochs: bool
    outcomes: tuple[str, ...]
    run: Run


def every_cell() -> list[Cell]:
    """Return the cells, from the runs that watch one case."""
    return [_cell(run) for run in runs_of("follower-reads") if "watched_case" in run.constants]


def _cell(run: Run) -> Cell:
    values = constants_of(run)
    reached = [item.name.removeprefix("case-") for item in follower_reads_cases.CASES if item.name not in run.unreached]
    return Cell(run.version, values["policy"], values["watched_case"], values["position_epochs"], tuple(reached), run)


def four_cases() -> Table:
    """Return the head and the rows of the table: one row for each case, policy, and whether the epoch is known."""
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
    """Return the possible outcomes in a cell, the worst first and with a link to its history."""
    mark = f" {CONTRADICTION}" if marked else ""
    if not cell.outcomes:
        return f"not met{mark}"
    worst, *others = [name + (" data" if name == "skips" else "") for name in cell.outcomes]
    (file,) = cell.run.trace.values()
    return ", ".join([f"[{worst}](../counterexamples/archive/{file})", *others]) + mark


# -- how long a new high watermark of the metadata log may be unknown

MAX_WAIT_MS = 500
"""How long a fetch is parked at most: MAX_FETCH_WAIT_MS of KafkaRaftClient, and the default of
metadata.max.idle.interval.ms."""
ROUND_TRIP_MS = 10
"""A round trip in one data centre, with slack; chosen so that a message takes a hundredth of a maximum wait."""

DELAY = "commit-is-known-in-time"
SLOW = ", two ticks"
"""How the second run of a pair is called, in which a message takes two ticks."""
_SAME = {"nodes", "voters", "max_epoch", "max_records", "clock", "max_wait", "latency", "longest_delay"}


def delays() -> Table:
    """Return the head and the rows of the table."""
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
    """Return the constants of a run that are neither defaults nor the same in every row."""
    declared = protocol(run.protocol).machine.constants.declared()
    found = {name: value for name, value in run.constants.items() if name not in _SAME}
    return ", ".join(
        f"`{name}={str(declared[name].show(value)).lower()}`"
        for name, value in found.items()
        if value != declared[name].default
    )


def shares(fast: Run, slow: Run) -> tuple[int, int]:
    """Return how many maximum waits and how many messages there are on the worst way; raise if two runs do not tell."""
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
