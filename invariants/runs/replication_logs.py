"""Runs of the replication model with two brokers: truncation, divergence and acknowledgement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.invariants.runs.replication_rows import GROWS, INELIGIBLE, RESTARTED, UNAWARE, run

if TYPE_CHECKING:
    from fencepost.invariants.catalogue import Run

TWO_FENCES = "brokers=2 max_records=1 crashes=0 fences=2 shrinks=0 loss=none max_leader_epoch=3"
MOVES = "brokers=2 max_records=2 crashes=0 fences=0 shrinks=0 elections=3 any_preferred=1 loss=none max_leader_epoch=3 truncation=kip-279"

RUNS: tuple[Run, ...] = (
    # Two brokers: truncation and divergence
    run("2 brokers, two fences", TWO_FENCES, "", 2_861, 18, unreached=(RESTARTED,)),
    run(
        "2 brokers, B01",
        TWO_FENCES,
        "truncation=high-watermark",
        2_647,
        19,
        "G-S1b 8, G-S1 10, G-S2 10, G-S2b 13, KIP903-S2 16",
        unreached=(RESTARTED,),
        trace="G-S1 b01-kip-101",
    ),
    run("2 brokers, three moves", MOVES, "", 4_478, 28, unreached=(GROWS, RESTARTED, INELIGIBLE)),
    run(
        "2 brokers, B02",
        MOVES,
        "truncation=kip-101",
        4_510,
        28,
        "G-S1b 11, G-S1 13, G-S2 13, G-S3 13, K392-S1 13, G-S9 15, G-S2b 16",
        unreached=(GROWS, RESTARTED, INELIGIBLE),
        trace="G-S3 b02-kip-279",
    ),
    run(
        "2 brokers, B04",
        MOVES,
        "epoch_start_recorded=off",
        4_516,
        28,
        "G-S1b 13, G-S1 15, G-S2 15, G-S2b 20",
        unreached=(GROWS, RESTARTED, INELIGIBLE),
        trace="G-S1 b04-kafka-7415",
    ),
    run(
        "2 brokers, one move",
        "brokers=2 max_records=2 crashes=0 fences=1 shrinks=0 elections=1 any_preferred=1 loss=none max_leader_epoch=2",
        "",
        4_869,
        21,
        unreached=(RESTARTED, INELIGIBLE),
    ),
    run(
        "2 brokers, B05",
        "brokers=2 max_records=2 crashes=0 fences=1 shrinks=0 elections=1 any_preferred=1 loss=none max_leader_epoch=2",
        "diverging_fetch_counts=on",
        5_236,
        21,
        "G-S1b 7, G-S1 9, G-S2 9, G-S3 9, G-S9 9, K392-S1 9, KIP903-S2 9, G-S2b 12, KIP903-S2b 12",
        unreached=(RESTARTED, INELIGIBLE),
        trace="G-S1b b05-kafka-13141",
    ),
    run(
        "2 brokers, one fence and two records",
        "brokers=2 max_records=2 crashes=0 fences=1 shrinks=0 loss=none max_leader_epoch=2",
        "",
        845,
        17,
        unreached=(RESTARTED, INELIGIBLE, UNAWARE),
    ),
    run(
        "2 brokers, B06",
        "brokers=2 max_records=2 crashes=0 fences=1 shrinks=0 loss=none max_leader_epoch=2",
        "high_watermark_before_truncation=on",
        860,
        17,
        "G-S3 8, K392-S1 8",
        unreached=(RESTARTED, INELIGIBLE, UNAWARE),
        trace="K392-S1 b06-kafka-14704",
    ),
    run(
        "2 brokers, two moves and a fence",
        "brokers=2 max_records=2 crashes=0 fences=1 shrinks=0 elections=2 any_preferred=1 loss=none max_leader_epoch=3",
        "",
        17_248,
        24,
        unreached=(RESTARTED, INELIGIBLE),
    ),
    run(
        "2 brokers, B07",
        "brokers=2 max_records=2 crashes=0 fences=1 shrinks=0 elections=2 any_preferred=1 loss=none max_leader_epoch=3",
        "last_epoch_lost_on_empty=on",
        19_261,
        26,
        unreached=(RESTARTED, INELIGIBLE),
    ),
    run(
        "2 brokers, a move and two records",
        "brokers=2 max_records=2 crashes=0 fences=0 shrinks=0 elections=1 any_preferred=1 loss=none max_leader_epoch=1",
        "",
        222,
        15,
        unreached=(GROWS, RESTARTED, INELIGIBLE, UNAWARE),
    ),
    run(
        "2 brokers, elections without an epoch",
        "brokers=2 max_records=2 crashes=0 fences=0 shrinks=0 elections=1 any_preferred=1 loss=none max_leader_epoch=1",
        "election_opens_epoch=off",
        204,
        14,
        "G-S5 3, G-S5b 4, G-S3b 5, G-S1b 7, G-S3 9, K392-S1 9",
        unreached=(GROWS, RESTARTED, INELIGIBLE, UNAWARE),
        trace="G-S5 election-without-epoch, G-S5b election-without-epoch-records",
        why="a leader is elected without a new leader epoch",
    ),
    run(
        "2 brokers, waiting for joining",
        "brokers=2 max_records=2 crashes=0 fences=1 shrinks=0 loss=none max_leader_epoch=2 waits_for_joining=1",
        "",
        910,
        17,
        unreached=(RESTARTED, INELIGIBLE, UNAWARE),
    ),
    run(
        "2 brokers, high watermark that falls",
        "brokers=2 max_records=2 crashes=0 fences=1 shrinks=0 loss=none max_leader_epoch=2 waits_for_joining=1",
        "high_watermark_only_rises=off",
        967,
        17,
        "G-S4 6, G-S1b 10, KIP903-S2 10",
        unreached=(RESTARTED, INELIGIBLE, UNAWARE),
        trace="G-S4 high-watermark-falls",
        why="the high watermark is taken from a follower that is waited for, even if it is below",
    ),
    run(
        "2 brokers, B25",
        "brokers=2 max_records=2 crashes=0 fences=0 shrinks=0 elections=1 any_preferred=1 loss=none max_leader_epoch=1",
        "acknowledge_after_leadership=on",
        213,
        15,
        "G-S2 13, G-S2b 13",
        unreached=(GROWS, RESTARTED, INELIGIBLE, UNAWARE),
        trace="G-S2 b25-kafka-20634",
    ),
)
