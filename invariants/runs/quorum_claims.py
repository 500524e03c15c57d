"""What KIP-1166 says of itself, as far as runs of the quorum model decide it, or nothing is to be decided."""

from __future__ import annotations

from fencepost.invariants.catalogue import Evidence
from fencepost.invariants.runs.quorum_cases import cases

_BUILT_SO = "A rule, not a consequence: the model is built so, and there is nothing to check."
_SCHEMA = "Of the encoding of messages, which the model does not have."

EVIDENCE: tuple[Evidence, ...] = (
    Evidence(
        "SEED-1166-1",
        cases("""
            kafka-4.0 clock, broker's metadata, 17 and 17: visible
            kafka-4.0 clock, 17 and 17, NoOp records: delay
        """),
        answer="Not so: twice as long without NoOp records, and half a round trip longer with them, from the commit on.",
        verdict="broken",
    ),
    Evidence(
        "SEED-1166-2",
        cases("2 voters and an observer, B38: K1166-S1\n2 voters and an observer, neither, in the end: no timeouts"),
        answer="So it is, and such a fetch is never completed by anything but an append or a timeout.",
    ),
    Evidence(
        "SEED-1166-3",
        cases("""
            kafka-4.0 2 voters and an observer, latest: latest
            kafka-4.0 2 voters and an observer, latest, answered anew: latest
            2 voters and an observer, latest: latest
            2 voters and an observer, latest, comparison only: latest
        """),
        answer="Not so of a fetch that times out, whose answer was made when it arrived (KAFKA-15100): it says what the leader knew "
        "then, and that is why today's delay is twice the maximum wait. The completion repairs it, as no fetch stays parked when the "
        "high watermark changes.",
        verdict="broken",
    ),
    Evidence(
        "SEED-1166-7",
        cases("2 voters and an observer, remembered and lost: K1166-S1"),
        answer="It could remember what it sent, but not what has arrived (Q54).",
    ),
    Evidence("SEED-1166-5", cases("kafka-4.0 2 voters and an observer: K1166-S2")),
    Evidence(
        "SEED-1166-10",
        cases("2 voters and an observer, in the end: no timeouts, rest\n3 voters, in the end: no timeouts, rest"),
    ),
    Evidence("SEED-1166-11", cases("2 voters and an observer, finalized on the way: K1166-S1, K1166-S2")),
    Evidence(
        "SEED-1166-15",
        cases("2 voters and an old observer, completion of reporting replicas: K1166-S2"),
        answer="The predicate is true; what wakes such a fetch is the completion (Q1).",
    ),
    Evidence(
        "SEED-1166-20",
        cases(
            "3 voters: KR-S1, KR-S2, KR-S3, KR-S4, KR-S5, KR-S6\nkafka-4.0 3 voters: KR-S1, KR-S2, KR-S3, KR-S4, KR-S5, KR-S6"
        ),
        answer="For Raft's safety.",
    ),
    Evidence("SEED-1166-21", cases("2 voters and an observer: K1166-S1, K1166-Q3")),
    Evidence(
        "SEED-1166-22",
        cases("2 voters and an old observer: K1166-S2\n2 voters and an observer, comparison only: K1166-S1"),
        answer="It must, or the goal is missed (Q2); and then old replicas are answered early (Q1).",
    ),
    Evidence(
        "SEED-1166-28",
        cases("2 voters and an old observer, completion of reporting replicas: K1166-S2"),
        answer="Greater or, for the largest value, equal.",
    ),
    Evidence(
        "SEED-1166-30",
        cases("2 voters and an observer, old leader and new replicas, in the end: K1166-L1\nclock, 18 to 17: delay"),
    ),
    *(Evidence(f"SEED-1166-{number}", (), gap=_BUILT_SO) for number in (4, 6, 9, 12, 13, 19, 23, 25, 27)),
    *(Evidence(f"SEED-1166-{number}", (), gap=_SCHEMA) for number in (17, 18, 24)),
)
