"""What the runs of the quorum model settle: Raft as KRaft does it, KIP-1166, its questions, and known bugs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.invariants.catalogue import Case, Evidence
from fencepost.invariants.runs import quorum_parking, quorum_three
from fencepost.invariants.runs.quorum_rows import PROPERTY

if TYPE_CHECKING:
    from fencepost.invariants.catalogue import Run

RUNS: tuple[Run, ...] = (*quorum_three.RUNS, *quorum_parking.RUNS)
_BY_NAME = {item.name: item for item in RUNS}


def cases(text: str) -> tuple[Case, ...]:
    """Return cases from lines `title: id, id`; the title is the run's name without the protocol's."""
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        title, _, ids = line.rpartition(": ")
        found += [Case(_BY_NAME[f"quorum {title}"], PROPERTY[name]) for name in ids.split(", ")]
    return tuple(found)


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
        answer="The bound is exact, and it covers the answers that a completion gives too. Answers at a timeout do not count.",
    ),
)

QUESTIONS: tuple[Evidence, ...] = (
    Evidence(
        "Q1",
        cases("""
            2 voters and an old observer: K1166-S2
            2 voters and an old observer, completion of reporting replicas: K1166-S2, K1166-Q3
        """),
        answer="Completing all, which Handling allows, wakes them; it costs one empty answer per high watermark and gives an old observer "
        "most of what the KIP gives. Compatibility says that they are handled as before. Both cannot be meant.",
    ),
    Evidence(
        "Q4",
        cases("""
            2 voters and an observer: K1166-Q3
            2 voters and an observer, unknown is answered: K1166-Q3
        """),
        answer="It must count as -1, which is behind nothing, so that everyone parks. Answering instead spins until the first commit of the epoch.",
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
        """),
        answer="Below the high watermark, for whoever may read only that far: compared with the log end, every fetch of a consumer is "
        "answered at once and empty while there is an uncommitted record. KafkaRaftClient serves uncommitted records to all, and so avoids this.",
    ),
    Evidence(
        "Q8",
        cases("""
            3 voters, Q8: KR-S4, stops
            3 voters, Q8 and no refusal: KR-S4
            3 voters: KR-S4, stops
        """),
        answer="It must be ignored, as FollowerState does today: taken over before truncation it covers records that are not committed, and "
        "the node stops as it is told to truncate below it.",
    ),
    Evidence(
        "Q9",
        cases("""
            2 voters and an observer, received is reported: K1166-S1, K1166-Q3
            2 voters and an observer, received is reported, record by record: K1166-S1, K1166-Q3
            2 voters and an observer, record by record: K1166-S1, K1166-Q3
        """),
        answer="No difference for any property: a fetch that could be parked is at the leader's log end, so the cap does not bite.",
    ),
    Evidence(
        "Q54",
        cases("""
            2 voters and an observer, remembered: K1166-S1
            2 voters and an observer, remembered and lost: K1166-S1
            2 voters and an observer, lost answer: K1166-S1
        """),
        answer="Only the report corrects itself: a leader that goes by what it sent parks a replica whose answer was lost.",
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
    Evidence("B37", cases("3 voters, B37: B37\n3 voters: B37")),
    Evidence("B38", cases("2 voters and an observer, B38: K1166-S1\n2 voters and an observer: K1166-S1")),
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

EVIDENCE: tuple[Evidence, ...] = (*RAFT, *KIP_1166, *QUESTIONS, *BUGS)
