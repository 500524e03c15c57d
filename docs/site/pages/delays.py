"""The table of delays: how long a new high watermark of the metadata log may be unknown, from the runs with a clock.

Two runs of each row differ in how many ticks a message takes. The worst cases of both tell how many maximum waits of a fetch,
or idle intervals, and how many messages there are on the worst way; a round trip is two messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.invariants.catalogue import runs_of, values_of
from fencepost.invariants.protocols import protocol

if TYPE_CHECKING:
    from fencepost.invariants.catalogue import Run

MAX_WAIT_MS = 500
"""How long a fetch is parked at most: MAX_FETCH_WAIT_MS of KafkaRaftClient, and the default of metadata.max.idle.interval.ms."""
ROUND_TRIP_MS = 10
"""A round trip in one data centre, with slack; chosen so that a message takes a hundredth of a maximum wait."""

DELAY = "commit-is-known-in-time"
SLOW = ", two ticks"
"""How the second run of a pair is called, in which a message takes two ticks."""
_SAME = {"nodes", "voters", "max_epoch", "max_records", "clock", "max_wait", "latency", "longest_delay"}


def delays() -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of the table."""
    by_name = {run.name: run for run in runs_of("quorum")}
    pairs = [(run, by_name[name + SLOW]) for name, run in by_name.items() if name + SLOW in by_name]
    head = ["run", "differs in", "maximum waits", "round trips", "milliseconds", "distinct", "trace"]
    return head, [_row(fast, slow) for fast, slow in pairs]


def _row(fast: Run, slow: Run) -> list[str]:
    worst = fast.worst[DELAY]
    waits, messages = shares(fast, slow)
    costs = (
        [str(worst)] * 3
        if isinstance(worst, str)
        else [str(waits), f"{messages / 2:g}", f"{waits * MAX_WAIT_MS + messages * ROUND_TRIP_MS / 2:g}"]
    )
    return [fast.name, _settings(fast), *costs, f"{fast.distinct:,}", _link(fast)]


def _settings(run: Run) -> str:
    """Return the constants of a run that are neither defaults nor the same in every row."""
    declared = protocol(run.protocol).machine.constants.declared()
    found = {
        name: value for name, value in run.constants.items() if name not in _SAME and value != declared[name].default
    }
    return ", ".join(f"`{name}={str(declared[name].show(value)).lower()}`" for name, value in found.items())


def _link(run: Run) -> str:
    file = run.trace.get(DELAY, "")
    return f"[{file.removeprefix('quorum-').removesuffix('.trace')}](../counterexamples/archive/{file})" if file else ""


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
