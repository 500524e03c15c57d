"""Runs of metadata reads over connections that keep an order, as Kafka's do: calls of one store, several of them in flight.

Elsewhere each call has a connection of its own, as those of an Admin client, a producer and a consumer of one factory have.
With `in_order` they are calls of one client, which has one connection to each broker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.invariants.catalogue import Profile
from fencepost.invariants.runs.tokens import OLD, run

if TYPE_CHECKING:
    from fencepost.invariants.catalogue import Run

_HELD = "clients=2 torn_reads=off unlisted_requests=on offsets=1"

RUNS: tuple[Run, ...] = (
    # One broker
    run(
        "2 clients, one broker",
        "clients=2 torn_reads=off nodes=2",
        29_215,
        26,
        "TOK-S1b 13, TOK-S2b 7, SEED-TOKEN-21 13",
        version="draft-check-first",
        trace="TOK-S1b one-broker",
        never=OLD,
    ),
    run(
        "2 calls in order, one broker",
        "clients=2 torn_reads=off nodes=2 in_order=on",
        11_679,
        26,
        "TOK-S2b 7",
        version="draft-check-first",
        never=OLD,
    ),
    run(
        "2 calls in order, one broker, restart",
        "clients=2 torn_reads=off nodes=2 in_order=on restarts=1",
        29_547,
        27,
        "TOK-S2b 7",
        version="draft-check-first",
        never=OLD,
    ),
    run(
        "2 calls in order, one broker, restart from an older snapshot",
        "clients=2 torn_reads=off nodes=2 in_order=on restarts=1 restart_catches_up=off",
        38_194,
        28,
        "TOK-S2b 7, TOK-S10b 11",
        version="draft-check-first",
    ),
    run(
        "2 calls in order, one broker, forwarded writes, to offset 2",
        "clients=2 torn_reads=off nodes=2 in_order=on forwarded_writes=on offsets=2",
        23_811,
        28,
        "TOK-S2b 7, TOK-S5 11",
        version="draft-check-first",
        trace="TOK-S5 one-broker-write",
        never=OLD,
    ),
    run(
        "2 calls in order, one broker",
        "clients=2 torn_reads=off nodes=2 in_order=on",
        14_361,
        26,
        "TOK-S2b 7",
        version="draft",
        never=OLD,
    ),
    run(
        "2 calls in order, one broker, restart, to offset 2",
        "clients=2 torn_reads=off nodes=2 in_order=on restarts=1 offsets=2",
        8_659,
        25,
        "TOK-S2b 7",
        version="draft",
        never=OLD,
    ),
    run(
        "2 calls in order, one broker, restart from an older snapshot, to offset 2",
        "clients=2 torn_reads=off nodes=2 in_order=on restarts=1 restart_catches_up=off offsets=2",
        14_012,
        27,
        "TOK-S1 15, TOK-S1b 15, TOK-S2b 7, TOK-S10b 12",
        version="draft",
        trace="TOK-S1 one-broker-restart",
    ),
    run(
        "2 calls in order, one broker, component only, restart, to offset 2",
        "clients=2 torn_reads=off nodes=2 in_order=on cache_reads=off component_reads=on restarts=1 offsets=2",
        28_046,
        27,
        "TOK-S2b 7",
        version="draft-check-first",
        never=OLD,
    ),
    run(
        "1 client, one broker, component",
        "clients=1 torn_reads=off nodes=2 component_reads=on",
        15_406,
        20,
        "TOK-S1 13, TOK-S1b 13, TOK-S2b 7",
        version="draft-check-first",
        trace="TOK-S1 one-broker-component",
        never=OLD,
    ),
    run(
        "2 calls in order, store in two steps, one broker, to offset 1",
        "clients=2 torn_reads=off nodes=2 in_order=on atomic_store=off offsets=1",
        802,
        19,
        "TOK-S2b 7",
        version="draft-check-first",
        never=OLD,
    ),
    # Two brokers
    run(
        "2 calls in order, to offset 2",
        "clients=2 torn_reads=off in_order=on offsets=2",
        88_496,
        29,
        "TOK-S1 14, TOK-S1b 13, TOK-S2b 7, TOK-S10b 11, SEED-TOKEN-21 13",
        version="draft",
    ),
    run(
        "2 calls in order, to offset 2",
        "clients=2 torn_reads=off in_order=on offsets=2",
        52_452,
        27,
        "TOK-S1b 13, TOK-S2b 7, TOK-S10b 10, SEED-TOKEN-21 13",
        version="draft-check-first",
        trace="TOK-S1b in-order",
    ),
    run(
        "2 calls in order, late answers dropped, to offset 2",
        "clients=2 torn_reads=off in_order=on rejects_late=on offsets=2",
        52_644,
        27,
        "TOK-S1b 14, TOK-S2b 7, TOK-S10b 10",
        version="draft-check-first",
    ),
    run(
        "2 calls in order, one image",
        "clients=2 torn_reads=off in_order=on token_read=pinned",
        50_774,
        23,
        "TOK-S1b 9, SEED-TOKEN-21 9",
        version="draft-check-first",
    ),
    run(
        "2 calls in order, store in two steps, to offset 1",
        "clients=2 torn_reads=off in_order=on atomic_store=off offsets=1",
        11_028,
        33,
        "TOK-S1 21, TOK-S1b 15, TOK-S2b 7, TOK-S8 15, TOK-S10b 11",
        version="draft-check-first",
    ),
    run("2 calls in order", "clients=2 in_order=on", 62_154, 23, version="repaired"),
    run(
        "2 calls in order, writes, to offset 2",
        "clients=2 in_order=on forwarded_writes=on direct_writes=on offsets=2",
        330_864,
        27,
        "TOK-S10b 11, SEED-TOKEN-21 11",
        version="repaired",
        profile=Profile.FULL,
    ),
    # What waits, and what is behind it
    run(
        "2 clients, Produce, servers wait, a broker cut off, in the end",
        f"{_HELD} on_lag=wait cut_off=1",
        12_378,
        24,
        version="draft-check-first",
        only="Q14",
    ),
    run(
        "2 calls in order, Produce, servers wait, a broker cut off, in the end",
        f"{_HELD} on_lag=wait cut_off=1 in_order=on",
        9_586,
        24,
        "Q14 11",
        version="draft-check-first",
        trace="Q14 held-up",
        only="Q14",
    ),
    run(
        "2 calls in order, Produce, servers wait, in the end",
        f"{_HELD} on_lag=wait in_order=on",
        34_194,
        25,
        version="draft-check-first",
        only="Q14",
    ),
    run(
        "2 calls in order, Produce, a broker cut off, in the end",
        f"{_HELD} cut_off=1 in_order=on",
        10_934,
        29,
        version="draft-check-first",
        only="Q14",
    ),
)
