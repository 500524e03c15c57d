"""Known bugs on the replication model: violated with the bug's switch, and not without it at the same constants.

Each is judged first by the property nearest to its cause, then by the loss of a committed record (G-S1).
"""

from __future__ import annotations

from fencepost.invariants.catalogue import Evidence
from fencepost.invariants.runs.replication_cases import cases

EVIDENCE: tuple[Evidence, ...] = (
    Evidence("B01", cases("2 brokers, B01: G-S1b, G-S1\n2 brokers, two fences: G-S1b, G-S1")),
    Evidence(
        "B02",
        cases(
            "2 brokers, B02: G-S3, G-S1\n2 brokers, three moves: G-S3, G-S1\n2 brokers, B02 with three records: G-S3b\n"
            "2 brokers, three moves and three records: G-S3b"
        ),
        answer="Leadership moves three times without any crash. No crash and no fence: nothing else is lost.",
    ),
    Evidence("B03", cases("3 brokers, B03: G-S1b\n3 brokers, two moves: G-S1b")),
    Evidence(
        "B04",
        cases("2 brokers, B04: G-S1b, G-S1\n2 brokers, three moves: G-S1b, G-S1"),
        answer="With KIP-279's truncation: a leader that cannot answer sends the follower back to its own high watermark.",
    ),
    Evidence("B05", cases("2 brokers, B05: G-S1b, G-S1\n2 brokers, one move: G-S1b, G-S1")),
    Evidence(
        "B07",
        cases("2 brokers, B07: G-S3, G-S3b, G-S1\n2 brokers, two moves and a fence: G-S3, G-S1"),
        answer="Not reachable in the model: more states than without it, no property fails. In a new leader epoch the follower "
        "takes its last epoch from its log again, and within an epoch its log only grows from the leader's.",
    ),
    Evidence(
        "B09",
        cases("""
            2 brokers, B09: KIP903-S1, G-S7, KIP903-S2, G-S1b
            2 brokers, KIP-903: KIP903-S1, G-S7, KIP903-S2, G-S1b
            2 brokers, B09 and two fences: KIP903-S1, G-S1
            2 brokers, KIP-903 and two fences: KIP903-S1, G-S1
        """),
        answer="Loss only outside the ISR, one crash, one fence. The leader's election takes a second fence, with which the last "
        "replica standing (B19) shows too, in G-S1b, whatever the version.",
    ),
    Evidence(
        "B10",
        cases("""
            2 brokers, B10: KIP903-S2, G-S1b
            2 brokers, KIP-903: KIP903-S2, G-S1b
            kafka-3.5 2 brokers, fetch check only: KIP903-S2
            kafka-3.5 2 brokers, atomic expansion only: KIP903-S2
            kafka-3.5 2 brokers, repaired, fenced first: KIP903-S2
        """),
        answer="Both halves of the repair are needed under kafka-3.5's other rules.",
    ),
    Evidence("B11", cases("2 brokers, B11: KIP903-S2, G-S1b\n2 brokers, KIP-903: KIP903-S2, G-S1b")),
    Evidence("B12", cases("2 brokers, B12: G-S6\n2 brokers, one fence: G-S6")),
    Evidence(
        "B13",
        cases("""
            2 brokers, B13 without maximal ISR: KIP903-S3, G-S8, G-S1
            2 brokers, B13 with rollback on timeout: KIP903-S3, G-S8, G-S1
            2 brokers, one fence: KIP903-S3, G-S8, G-S1
        """),
    ),
    Evidence(
        "B14",
        cases("""
            3 brokers, B14: G-S8, G-S1
            3 brokers, HYP-3 alone: G-S8, G-S1
            3 brokers, two requests in flight: G-S8, G-S1
            3 brokers, joining: G-S8, G-S1
        """),
        answer="Not separated from HYP-3: a second request is sent only after metadata has wiped the pending one. With HYP-3 "
        "repaired the switch changes nothing, not even the number of states. That updates get stuck is liveness (G-L5).",
    ),
    Evidence(
        "B16",
        cases("3 brokers, reassignment: G-S8, G-S1b, G-S1\n3 brokers, B16: G-S8, G-S1b, G-S1"),
        answer="No, since it stays pending: all that it still counts must fetch from it, and who has learnt of the new leader does "
        "not. If it goes back on the error NEW_LEADER_ELECTED, a committed record is lost. G-S8 itself is about the current "
        "leader, which the removed one is not.",
    ),
    Evidence(
        "B19",
        cases("""
            3 brokers, B19: G-S1b, G-S1, G-S2b
            3 brokers, ELR: G-S1b, G-S1, G-S2b
            2 brokers, last replica standing: G-S1
            kafka-4.0 3 brokers, repaired: G-S1b, G-S1, G-S2
            kafka-4.1 3 brokers, repaired: G-S1b, G-S1, G-S2
        """),
        answer="Min ISR 2, one crash that loses records, two fences. Where a broker may register before it is fenced one fence is "
        "enough, and the crash may be of a replica that is just about to join: the difference between kafka-4.0 and kafka-4.1.",
    ),
    Evidence("B20", cases("3 brokers, B20: G-S8, G-S1b, G-S1\n3 brokers, ELR and shrink: G-S8, G-S1b, G-S1")),
    Evidence("B21", cases("2 brokers, B21: G-S6\n2 brokers, ELR: G-S6")),
    Evidence(
        "B22",
        cases("""
            3 brokers, B22: G-S1b, G-S1
            3 brokers, ELR: G-S1b, G-S1
            3 brokers, B22 with every incarnation unclean: G-S1b, G-S1
        """),
        answer="Both repairs are safe here: every incarnation unclean, or the previous broker epoch. What the first costs in "
        "availability is liveness (G-L6).",
    ),
    Evidence("B25", cases("2 brokers, B25: G-S2\n2 brokers, a move and two records: G-S2")),
    Evidence(
        "B26",
        cases("""
            3 brokers, B26: G-S1, KIP903-S2
            3 brokers, crash and two fences: G-S1, KIP903-S2
            3 brokers, B26 and no epoch start check: G-S1, KIP903-S2
            3 brokers, no epoch start check: KIP903-S2
        """),
        answer="Nothing is lost: a replica must also be past the start of the leader's epoch, and that offset is not below what was "
        "committed before. Without this check it fails, but then it fails with a right high watermark too.",
    ),
)
