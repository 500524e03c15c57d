"""The tables of the page on Spark: what `python -m benchmarks.spark` measured, and what follows for larger clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.invariants.figures.store import load

if TYPE_CHECKING:
    from collections.abc import Iterable

Row = list[str]
EXECUTORS = (10, 100, 1000)
STATES = (10**9, 10**10, 10**11, 10**12)
LEVELS = 60
"""Levels of the searches that are predicted."""
BANDWIDTH = 125e6
"""Bytes a second that an executor can send: a tenth of a link of 10 Gbit/s, which ten executors of a host share."""
PARTITIONS_EACH = 2
DRIVER_TASKS = 500.0
"""Tasks a second that a driver hands out; a level has two for each partition."""
MEASURED_CORES = 2
"""Of the machine on which the levels were measured."""


def measured_spark() -> dict[str, Any]:
    """Return what was measured, by part of the benchmark."""
    return load("spark")


def cost() -> tuple[Row, Iterable[Row]]:
    """Return what was measured beside what is wanted."""
    found = measured_spark()
    search, sweep = found["search"], found["sweep"]
    few, many = found["levels"]["partitions"].values()
    times = search["spark"]["seconds"] / search["native_seconds"]
    one, two = found["executors"]["one"]["seconds"], found["executors"]["two"]["seconds"]
    return ["what", "wanted", "measured"], [
        [
            f"a search of {search['spark']['distinct']:,} states on `local[2]`, against the native engine with two workers",
            "at most 4 times as long",
            f"{times:.1f} times ({search['spark']['seconds']:.0f} s, {search['native_seconds']:.0f} s)",
        ],
        ["the start of that session", "reported", f"{search['spark']['session_seconds']:.1f} s"],
        ["a level, however small, in 4 partitions", "below 1.5 s", f"{few['median_seconds']:.2f} s, {few['most_seconds']:.2f} s at most"],
        ["a level, however small, in 64 partitions", "reported", f"{many['median_seconds']:.2f} s"],
        [f"two executors of one core against one ({found['executors']['one']['distinct']:,} states)", "reported", f"{one / two:.2f} times as fast"],
        [
            "steps a second of a sweep on `local[2]`, against the walker on two threads",
            "at least 70 %",
            f"{sweep['sweep_steps'] / sweep['native_steps']:.0%} ({sweep['sweep_steps']:,}, {sweep['native_steps']:,})",
        ],
    ]  # fmt: skip


def levels() -> tuple[Row, Iterable[Row]]:
    """Return the levels of the large search that Spark did: what moved is what was generated, not what was visited."""
    visited, rows = 0, []
    for item in measured_spark()["search"]["spark"]["levels"]:
        visited += item["fresh"]
        rows.append(
            [
                str(item["level"]),
                f"{visited:,}",
                f"{item['fresh']:,}",
                f"{item['received']:,}",
                f"{item['shuffle_written'] / 1e6:,.1f} MB",
                f"{item['shuffle_written'] / max(1, item['received']):.1f}",
                f"{item['seconds']:.1f}",
            ]
        )
    head = ["level", "visited by Spark", "new", "moved", "shuffle written", "bytes each", "seconds"]
    return head, rows


def unit() -> dict[str, float]:
    """Return the figures of the model of larger clusters.

    `core`: seconds of one core for a state; `shuffle`, `kept`, `table`: bytes for a state in the shuffle, in the blocks of the
    levels, and in the tables of the executors; `level`: seconds of a level, and `partition` seconds of a core for each
    partition in it, however few states there are.
    """
    found = measured_spark()
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


def figures() -> tuple[Row, Iterable[Row]]:
    """Return the figures of the model."""
    of = unit()
    return ["figure", "value"], [
        ["time of an executor of one core for a state", f"{of['core'] * 1e6:.1f} µs"],
        ["bytes for a state in the shuffle", f"{of['shuffle']:.0f}"],
        ["bytes for a state in the blocks that are kept", f"{of['kept']:.0f}"],
        ["bytes for a state in an executor's tables", f"{of['table']:.0f}"],
        ["fixed time of a level", f"{of['level']:.2f} s"],
        ["time of a core for each of its partitions in each level", f"{of['partition']:.2f} s"],
    ]


def fixed(executors: int) -> float:
    """Return the seconds of a level however few states it has, on executors of one core each."""
    of = unit()
    return of["level"] + of["partition"] * PARTITIONS_EACH + 2 * PARTITIONS_EACH * executors / DRIVER_TASKS


def predicted(states: int, executors: int) -> float:
    """Return the seconds that a search is predicted to take on executors of one core each."""
    of = unit()
    return LEVELS * fixed(executors) + states / executors * (of["core"] + of["shuffle"] / BANDWIDTH)


def scale() -> tuple[Row, Iterable[Row]]:
    """Return what is predicted: time, and bytes of tables and of blocks for each executor."""
    of = unit()
    head = ["states", *(f"{count:,} executors" for count in EXECUTORS)]
    return head, (
        [
            f"10^{len(str(states)) - 1}",
            *(
                f"{_time(predicted(states, count))}; {_bytes(states * of['table'] / count)} of tables, {_bytes(states * of['kept'] / count)} of blocks"
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
