"""What the runs of the quorum model settle: Raft as KRaft does it, KIP-1166, known bugs; questions in the module beside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.invariants.catalogue import Evidence
from fencepost.invariants.runs import quorum_claims, quorum_questions
from fencepost.invariants.runs.quorum_cases import EVERY_RUN, cases

if TYPE_CHECKING:
    from fencepost.invariants.catalogue import Run

RUNS: tuple[Run, ...] = EVERY_RUN

_THREE = """
    3 voters and an observer, three epochs and two records: {0}
    3 voters and an observer, three epochs: {0}
    3 voters and an observer: {0}
    3 voters: {0}
    kafka-4.0 3 voters: {0}
    3 voters, late fetches and a restart: {0}
    3 voters, real votes: {0}
"""

RAFT: tuple[Evidence, ...] = (
    Evidence("KR-S1", cases(_THREE.format("KR-S1") + "3 voters, votes on disk: KR-S1\n3 voters, votes asked twice: KR-S1")),
    Evidence("KR-S2", cases(_THREE.format("KR-S2") + "3 voters, four epochs: KR-S2\n3 voters, B34: KR-S2")),
    Evidence("KR-S3", cases(_THREE.format("KR-S3") + "3 voters, removal: KR-S3\n3 voters, B39: KR-S3")),
    Evidence("KR-S4", cases(_THREE.format("KR-S4") + "3 voters, B34: KR-S4\n3 voters, B35: KR-S4")),
    Evidence(
        "KR-S5",
        cases(_THREE.format("KR-S5") + "3 voters, disk loss: KR-S5, stops\n3 voters, B36: KR-S5"),
        answer="Nobody is ever told to truncate that far, unless a disk is lost; then the node stops instead.",
    ),
    Evidence("KR-S6", cases(_THREE.format("KR-S6") + "3 voters, four epochs: KR-S6\n3 voters, B34: KR-S6")),
)

KIP_1166: tuple[Evidence, ...] = (
    Evidence(
        "K1166-Q1",
        cases("""
            kafka-4.0 clock, 17 and 17: delay
            kafka-4.0 clock, 17 and 17, NoOp records: delay
            kafka-4.0 clock, 17 and 17, answered anew: delay
        """),
        answer="Not so: two maximum waits and one and a half round trips without NoOp records, and half a round trip more than their "
        "interval with them.",
        verdict="broken",
    ),
    Evidence(
        "K1166-Q2",
        cases("""
            clock, 18 and 18: delay
            clock, 18 and 18, two ticks: delay
            clock, 18 and 18, any delivery: delay
            clock, comparison only: delay
            clock, completion only: delay
        """),
        answer="The bound is attained, and the maximum wait does not come into it; with either half alone it does.",
    ),
    Evidence(
        "K1166-S1",
        cases("""
            3 voters and an observer: K1166-S1
            3 voters: K1166-S1
            2 voters and an observer: K1166-S1
            2 voters and an observer, lost answer: K1166-S1
            2 voters and an observer, comparison only: K1166-S1
            2 voters and an observer, completion only: K1166-S1
            2 voters and an observer, B38: K1166-S1
            2 voters and an observer, remembered and lost: K1166-S1
        """),
        answer="Both halves are needed: the comparison when a fetch arrives, and the completion when the high watermark changes.",
    ),
    Evidence(
        "K1166-S2",
        cases("""
            2 voters and an old observer, completion of reporting replicas: K1166-S2
            2 voters and an old observer: K1166-S2
            kafka-4.0 2 voters and an observer: K1166-S2
            2 voters and an observer, old first leader: K1166-S2
        """),
        answer="It holds of the comparison alone. A leader that completes all parked fetches, as Handling allows, answers old "
        "replicas early too, so as a statement on every answer it fails; completing only those that report their high watermark keeps it.",
        verdict="broken",
    ),
    Evidence(
        "K1166-S3",
        cases("""
            3 voters and an observer: K1166-S3, K1166-S3-step
            3 voters: K1166-S3, K1166-S3-step
            3 voters, real votes: K1166-S3, K1166-S3-step
            3 voters, B36: K1166-S3, K1166-S3-step
        """),
    ),
    Evidence(
        "K1166-Q3",
        cases("""
            2 voters and an observer: K1166-Q3
            2 voters and an observer, lost answer: K1166-Q3
            2 voters and an observer, record by record: K1166-Q3
            2 voters and an observer, unknown is answered: K1166-Q3
            2 voters and an observer, field left at 0: K1166-Q3
            2 voters and an observer, empty answers ignored: K1166-Q3
        """),
        answer="It covers the answers that a completion gives too. Answers at a timeout do not count.",
    ),
    Evidence(
        "K1166-L1",
        cases("""
            kafka-4.0 2 voters and an observer, in the end: K1166-L1, no timeouts
            2 voters and an observer, old leader and new replicas, in the end: K1166-L1, no timeouts
            2 voters and an observer, new leader and old replicas, in the end: K1166-L1, no timeouts
            2 voters and an observer, in the end: K1166-L1, no timeouts
            3 voters, in the end: K1166-L1, no timeouts
            2 voters and an observer, neither, in the end: K1166-L1, no timeouts
            2 voters and an observer, comparison only, in the end: K1166-L1, no timeouts
            2 voters and an observer, completion only, in the end: K1166-L1, no timeouts
            2 voters and an observer, empty answers ignored, in the end: K1166-L1
        """),
        answer="In every pairing of versions, by timeouts if by nothing else. Without timeouts and appends it takes both halves of the KIP.",
    ),
    Evidence(
        "K1166-L2",
        cases("""
            2 voters and an observer, in the end: K1166-L2
            3 voters, in the end: K1166-L2
            kafka-4.0 2 voters and an observer, in the end: K1166-L2
            3 voters, B37, in the end: K1166-L2
        """),
        answer="The LeaderChange record of a new leader completes every fetch, and the voters' next fetches move its high watermark past "
        "whatever was known; unless their answers are parked although they diverge (B37).",
    ),
    Evidence(
        "G-S12",
        cases("""
            2 voters and a broker: G-S12
            3 voters and a broker, restart: G-S12
            2 voters and a broker that applies what it fetched: G-S12
            clock, broker's metadata, 18 and 18: visible
            kafka-4.0 clock, broker's metadata, 17 and 17: visible
        """),
        answer="On the quorum with observers that apply what their raft client hands out. Applying takes no time there, so a commit is "
        "visible at a broker when its high watermark is known. The replication model assumes this and no more: its brokers apply what "
        "was decided in order, and as late as they like.",
    ),
)

BUGS: tuple[Evidence, ...] = (
    Evidence("B34", cases("3 voters, B34: KR-S6, KR-S4, KR-S2\n3 voters, four epochs: KR-S6, KR-S4, KR-S2")),
    Evidence("B35", cases("3 voters, B35: KR-S4, G-S3b\n3 voters, restart: KR-S4, G-S3b")),
    Evidence(
        "B36",
        cases("3 voters, B36: KR-S5\n3 voters, disk loss: KR-S5, stops"),
        answer="It takes a lost disk, which Raft does not allow for: the refusal turns silent loss into a node that stops.",
    ),
    Evidence(
        "B37",
        cases("3 voters, B37: B37\n3 voters: B37\n3 voters, B37, in the end: truncation\n3 voters, in the end: truncation"),
    ),
    Evidence(
        "B38",
        cases("""
            2 voters and an observer, B38: K1166-S1
            2 voters and an observer: K1166-S1
            2 voters and an observer, neither, in the end: no timeouts
            2 voters and an observer, in the end: no timeouts
        """),
    ),
    Evidence("B39", cases("3 voters, B39: KR-S3\n3 voters, removal: KR-S3")),
    Evidence(
        "B40",
        cases("""
            3 voters, late fetches: KR-S1, KR-S4, KR-S6
            3 voters, late fetches and a restart: KR-S1, KR-S4, KR-S6
            3 voters, real votes: KR-S1, KR-S4, KR-S6
        """),
        answer="Nothing is found. A deposed leader that does not know it does complete appends, and the witness deposed-leader-commits is "
        "reached; what it commits every later leader has, because the fetches that it counted were sent before their senders voted.",
    ),
)

EVIDENCE: tuple[Evidence, ...] = (*RAFT, *KIP_1166, *BUGS, *quorum_questions.EVIDENCE, *quorum_claims.EVIDENCE)
