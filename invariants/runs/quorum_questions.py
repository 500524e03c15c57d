"""Questions on KIP-1166 and the project's own hypothesis, settled on the quorum model. docs/findings.md tells them."""

from __future__ import annotations

from fencepost.invariants.catalogue import Evidence
from fencepost.invariants.runs.quorum_cases import cases

HYPOTHESES: tuple[Evidence, ...] = (
    Evidence(
        "HYP-4",
        cases("""
            kafka-4.0 clock, 17 and 17: delay
            kafka-4.0 clock, 17 and 17, NoOp records: delay
            kafka-4.0 clock, 17 and 17, answered anew: delay
        """),
        answer="Confirmed, to the tick: two maximum waits and one and a half round trips. NoOp records, which are on by default, cut it to "
        "one interval and half a round trip; before KAFKA-15100 it was one maximum wait and one and a half round trips.",
        verdict="confirmed",
    ),
)

QUESTIONS: tuple[Evidence, ...] = (
    Evidence(
        "Q1",
        cases("""
            2 voters and an old observer: K1166-S2
            2 voters and an old observer, completion of reporting replicas: K1166-S2, K1166-Q3
            clock, 17 to 18: delay
            clock, 17 to 18, reporting only: delay
        """),
        answer="Completing all, which Handling allows, wakes them; it costs one empty answer per high watermark, and their longest "
        "wait falls by one of two maximum waits. Compatibility says that they are handled as before. Both cannot be meant.",
    ),
    Evidence(
        "Q2",
        cases("""
            clock, 18 and 18: delay
            clock, comparison only: delay
            2 voters and an observer, comparison only, in the end: no timeouts
            2 voters and an observer, in the end: no timeouts
        """),
        answer="A duty: with the comparison alone a replica that was parked before the change waits for a timeout.",
    ),
    Evidence(
        "Q3",
        cases("kafka-4.0 clock, 17 and 17: delay\nkafka-4.0 clock, 17 and 17, NoOp records: delay"),
        answer="Two maximum waits and one and a half round trips. The 500 ms that are seen are the interval of NoOp records.",
    ),
    Evidence(
        "Q4",
        cases("""
            2 voters and an observer: K1166-Q3
            2 voters and an observer, unknown is answered: K1166-Q3
            2 voters and an observer, in the end: rest, K1166-L2
            2 voters and an observer, unknown is answered, in the end: rest
        """),
        answer="It must count as -1, which is behind nothing, so that everyone parks. Answering instead spins until the first commit of the "
        "epoch.",
    ),
    Evidence(
        "Q5",
        cases("2 voters and an observer, old first leader: K1166-S1, K1166-S2"),
        answer="A value that no log reaches parks like a missing field: no run can tell the two apart. So it can be both, if nobody stores it.",
    ),
    Evidence(
        "Q6",
        cases("""
            2 voters and a consumer: K1166-Q3
            2 voters and a consumer that waits for commits: K1166-Q3
            2 voters and a consumer, in the end: rest
            2 voters and a consumer that waits for commits, in the end: rest, no timeouts
            2 voters and a consumer that waits for commits, reporting only, in the end: no timeouts
        """),
        answer="Below the high watermark, for whoever may read only that far: compared with the log end, every fetch of such a client is "
        "answered at once and empty while there is an uncommitted record. KafkaRaftClient serves uncommitted records to all, and so avoids "
        "this. The client must be woken by a change of the high watermark although it does not report its own.",
    ),
    Evidence(
        "Q7",
        cases("""
            kafka-4.0 2 voters and an observer, in the end: K1166-L1
            2 voters and an observer, old leader and new replicas, in the end: K1166-L1
            2 voters and an observer, new leader and old replicas, in the end: K1166-L1
            2 voters and an observer, in the end: K1166-L1
        """),
        answer="The one that receives the fetch: its versions are what the sender negotiates. So read, every pairing of versions "
        "works. The other reading is no protocol: a sender does not ask itself what it supports.",
    ),
    Evidence(
        "Q8",
        cases("""
            3 voters, Q8: KR-S4, stops
            3 voters, Q8 and no refusal: KR-S4
            3 voters: KR-S4, stops
        """),
        answer="It must be ignored, as handleFetchResponse does today: taken over before truncation it covers records that are not "
        "committed, and the node stops as it is told to truncate below it. Of snapshots the model knows nothing.",
    ),
    Evidence(
        "Q9",
        cases("""
            2 voters and an observer, received is reported: K1166-S1, K1166-Q3
            2 voters and an observer, received is reported, record by record: K1166-S1, K1166-Q3
            2 voters and an observer, record by record: K1166-S1, K1166-Q3
            2 voters and an observer, received is reported, in the end: no timeouts, rest
        """),
        answer="No difference for any property: a fetch that could be parked is at the leader's log end, so the cap does not bite.",
    ),
    Evidence(
        "Q54",
        cases("""
            2 voters and an observer, remembered: K1166-S1
            2 voters and an observer, remembered and lost: K1166-S1
            2 voters and an observer, lost answer: K1166-S1
            2 voters and an observer, remembered and lost, in the end: no timeouts, K1166-L1
            2 voters and an observer, lost answer, in the end: no timeouts
        """),
        answer="Only the report corrects itself: a leader that goes by what it sent parks a replica whose answer was lost, until a timeout.",
    ),
)

EVIDENCE: tuple[Evidence, ...] = (*HYPOTHESES, *QUESTIONS)
