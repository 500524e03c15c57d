"""What the runs of the replication model settle: the guarantees here, bugs and questions in the modules beside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.invariants.catalogue import Evidence
from fencepost.invariants.runs import replication_bugs, replication_claims, replication_gaps, replication_questions
from fencepost.invariants.runs.replication_cases import EVERY_RUN, cases

if TYPE_CHECKING:
    from fencepost.invariants.catalogue import Run

RUNS: tuple[Run, ...] = EVERY_RUN

_AS_READ = (
    "The model of kafka-4.1 as its code was read does not keep it (HYP-3); its repaired twin does, at the same constants. "
    "That a running Kafka gets there was not shown."
)
_BEFORE_4 = "Kept by kafka-4.0 and kafka-4.1. Before KAFKA-18106, as in the commit that was read, HYP-2 breaks it, and the repaired twins keep it."

GUARANTEES: tuple[Evidence, ...] = (
    Evidence(
        "G-S1",
        cases("""
            kafka-4.1 2 brokers, min ISR 2, repaired: G-S1
            kafka-4.1 3 brokers, repaired: G-S1
            kafka-4.1 3 brokers and two records, repaired, fenced first: G-S1
            kafka-3.5 3 brokers, repaired, fenced first: G-S1
            kafka-4.1 3 brokers: G-S1
            3 brokers, HYP-1: G-S1
            3 brokers, HYP-2: G-S1
            3 brokers, B19: G-S1
            2 brokers, unclean election: G-S1
        """),
        answer=_AS_READ,
        verdict="broken",
    ),
    Evidence(
        "G-S1b",
        cases("""
            kafka-4.1 2 brokers, min ISR 2, repaired: G-S1b
            kafka-4.1 2 brokers, repaired: G-S1b
            kafka-4.1 3 brokers, repaired: G-S1b
            kafka-4.1 3 brokers: G-S1b
            3 brokers, HYP-1: G-S1b
            2 brokers, B05: G-S1b
        """),
        answer=_AS_READ,
        verdict="broken",
    ),
    Evidence(
        "G-S2",
        cases("""
            kafka-4.1 3 brokers, repaired: G-S2
            kafka-4.1 3 brokers: G-S2
            2 brokers, a move and two records: G-S2
            2 brokers, B25: G-S2
        """),
        answer=_AS_READ,
        verdict="broken",
    ),
    Evidence(
        "G-S2b",
        cases("""
            kafka-4.1 3 brokers, repaired: G-S2b
            kafka-4.1 3 brokers: G-S2b
            3 brokers, ELR: G-S2b
            3 brokers, B19: G-S2b
        """),
        answer=_AS_READ,
        verdict="broken",
    ),
    Evidence(
        "G-S3",
        cases("""
            2 brokers, three moves: G-S3
            2 brokers, B02: G-S3
            2 brokers, B05: G-S3
            kafka-4.1 3 brokers and two records, repaired, fenced first: G-S3
        """),
    ),
    Evidence(
        "G-S3b",
        cases("""
            2 brokers, three moves and three records: G-S3b
            2 brokers, B02 with three records: G-S3b
            kafka-4.1 3 brokers and two records, repaired, fenced first: G-S3b
        """),
        answer="With truncation as in KIP-101 two logs differ below a record that they share; this takes three records.",
    ),
    Evidence(
        "G-S4",
        cases("""
            kafka-4.1 3 brokers, repaired: G-S4, G-S1, G-S9
            kafka-4.1 3 brokers: G-S4
            2 brokers, waiting for joining: G-S4
            2 brokers, high watermark that falls: G-S4
            3 brokers, ELR and shrink: G-S4, G-S1
            3 brokers, B20: G-S4, G-S1
            2 brokers, B05: G-S9
        """),
        answer="The first half is this property: a follower that is waited for may be below the high watermark, so a leader that took "
        "it over would fall back. The second half, that nothing committed is ever lost or replaced, is G-S1 and G-S9; the largest "
        "high watermark itself is history, which cannot shrink. It is about one incarnation: one that restarts "
        "in its leader epoch, which takes HYP-2, comes back with an older high watermark, and counts as another leader here.",
    ),
    Evidence(
        "G-S5",
        cases("""
            kafka-4.1 3 brokers, repaired: G-S5, G-S5b
            kafka-4.1 3 brokers: G-S5, G-S5b
            2 brokers, three moves: G-S5, G-S5b
            2 brokers, a move and two records: G-S5, G-S5b
            2 brokers, elections without an epoch: G-S5, G-S5b
            3 brokers, HYP-2: G-S5, G-S5b
        """),
        answer="Who leads has every record of its epoch, so nobody else wrote one.",
    ),
    Evidence(
        "G-S6",
        cases("""
            kafka-4.1 3 brokers, repaired: G-S6
            kafka-4.1 3 brokers: G-S6
            kafka-4.0 3 brokers: G-S6
            kafka-3.7 3 brokers: G-S6
            2 brokers, B12: G-S6
            2 brokers, B21: G-S6
        """),
        answer=_BEFORE_4,
    ),
    Evidence(
        "G-S7",
        cases("""
            kafka-4.1 3 brokers, repaired: G-S7
            kafka-4.1 3 brokers: G-S7
            kafka-4.0 3 brokers: G-S7
            kafka-3.7 3 brokers, repaired, fenced first: G-S7
            kafka-3.7 3 brokers: G-S7
            2 brokers, B09: G-S7
            3 brokers, HYP-2: G-S7
        """),
        answer=_BEFORE_4,
    ),
    Evidence(
        "G-S8",
        cases("""
            kafka-4.1 3 brokers, repaired: G-S8
            kafka-4.1 3 brokers: G-S8
            2 brokers, B13 without maximal ISR: G-S8
            2 brokers, B13 with rollback on timeout: G-S8
            3 brokers, B20: G-S8
        """),
        answer=_AS_READ,
        verdict="broken",
    ),
    Evidence(
        "G-S9",
        cases("""
            2 brokers, one fence and two records: G-S9, K392-S1
            2 brokers, B06: K392-S1
            2 brokers, B05: G-S9
            2 brokers, B02: G-S9
            kafka-4.1 3 brokers and two records, repaired, fenced first: G-S9, K392-S1
        """),
        answer="Of what leaders, and replicas, show below their high watermarks; deliveries to a consumer come with the consumers.",
    ),
    Evidence(
        "G-S13",
        cases("""
            kafka-4.1 3 brokers, repaired: G-S13
            kafka-3.5 3 brokers: G-S13
            2 brokers, HYP-8: G-S13
            2 brokers, one fence: G-S13
            2 brokers, requests without epoch checks: G-S13
        """),
    ),
    Evidence(
        "KIP903-S1",
        cases("""
            2 brokers, KIP-903: KIP903-S1
            2 brokers, B09: KIP903-S1
            kafka-4.1 3 brokers: KIP903-S1
            kafka-3.5 3 brokers: KIP903-S1
        """),
    ),
    Evidence(
        "KIP903-S2",
        cases("""
            2 brokers, KIP-903: KIP903-S2, KIP903-S2b
            2 brokers, B09: KIP903-S2
            2 brokers, B10: KIP903-S2
            2 brokers, B11: KIP903-S2
            kafka-4.1 3 brokers, repaired: KIP903-S2, KIP903-S2b
            kafka-4.1 3 brokers: KIP903-S2, KIP903-S2b
            3 brokers, crash: KIP903-S2b
            3 brokers, no epoch start check: KIP903-S2b
            kafka-3.5 2 brokers, repaired, fenced first: KIP903-S2
            kafka-3.5 2 brokers, atomic expansion only: KIP903-S2
            kafka-3.5 2 brokers, fetch check only: KIP903-S2
        """),
        answer=_AS_READ + " In kafka-3.5 both halves of KAFKA-15221 are needed: with either alone it fails.",
        verdict="broken",
    ),
    Evidence(
        "KIP903-S3",
        cases("""
            2 brokers, KIP-903: KIP903-S3
            2 brokers, B13 with rollback on timeout: KIP903-S3
            kafka-4.1 3 brokers, repaired: KIP903-S3
            kafka-4.1 3 brokers: KIP903-S3
            2 brokers, HYP-8: KIP903-S3
        """),
        answer=_AS_READ + " A request that was sent twice breaks it too (HYP-8).",
        verdict="broken",
    ),
    Evidence(
        "KIP903-S4",
        cases("""
            kafka-4.1 3 brokers: KIP903-S4
            kafka-4.0 3 brokers: KIP903-S4
            3 brokers, crash with loss: KIP903-S4
            3 brokers, HYP-2: KIP903-S4
            kafka-3.7 3 brokers: KIP903-S4
        """),
        answer=_BEFORE_4,
    ),
    Evidence(
        "KIP903-S5",
        cases("2 brokers, KIP-903: KIP903-S2\n2 brokers, no epochs in fetches: KIP903-S1, KIP903-S2"),
        answer="Without epochs in fetches the request names none, so KIP903-S1 has nothing to compare, and a replica joins without "
        "committed records.",
    ),
    Evidence(
        "KIP903-S6",
        cases("2 brokers, one fence: G-S1\n2 brokers, disk swap: G-S7, KIP903-S2, G-S1"),
        answer="The broker epoch does not change, so the check passes, and a committed record is lost.",
    ),
)

EVIDENCE: tuple[Evidence, ...] = (
    *GUARANTEES,
    *replication_bugs.EVIDENCE,
    *replication_questions.EVIDENCE,
    *replication_gaps.EVIDENCE,
    *replication_claims.EVIDENCE,
)
