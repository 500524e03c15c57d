"""What the runs of fetching from followers settle: guarantees, known bugs, questions and sentences of KIP-392."""

from __future__ import annotations

from fencepost.invariants.catalogue import Evidence
from fencepost.invariants.runs import follower_cells, followers, propagation

RUNS = (*followers.RUNS, *follower_cells.RUNS, *propagation.RUNS)
_BROKEN = "broken"
reads, spread = followers.cases, propagation.cases

_COMMITTED = reads("""
    kafka-4.1 3 replicas: S1
    kip392-older 3 replicas: S1
    kip392-newer 3 replicas: S1
    kafka-4.1 3 replicas, answers in flight: S1
    kip392-older 3 replicas, answers in flight: S1
    kip392-newer 3 replicas, answers in flight: S1
    kafka-4.1 2 replicas, any replica: S1
    kafka-4.1 2 replicas, any replica, B06: S1
    kafka-4.1 2 replicas, log starts do not travel: S1
""")
_KEPT = (
    "Kept in all three designs under clean elections, whichever replica is read. It takes two things of followers: that a diverging answer "
    "does not move the high watermark, and that the leader's log start comes with the high watermark, since below it nobody can tell that a "
    "follower's log departs."
)

GUARANTEES: tuple[Evidence, ...] = (
    Evidence("G-S9", _COMMITTED, answer=_KEPT),
    Evidence(
        "G-S9b",
        reads("""
            kafka-4.1 2 replicas, 3 records: G-S9b
            kip392-older 2 replicas, 3 records: G-S9b
            kip392-newer 2 replicas, 3 records: G-S9b
            kafka-4.1 2 replicas, unclean: G-S9b
            repaired 2 replicas, unclean: G-S9b
        """),
        answer="Kept under clean elections. After an unclean one it fails in every design: the consumer is told at best that records are gone.",
    ),
    Evidence("K392-S1", _COMMITTED, answer=_KEPT),
    Evidence(
        "K392-S2",
        reads("""
            kafka-4.1 3 replicas: S2
            kip392-older 3 replicas: S2
            kip392-newer 3 replicas: S2
            kip392-older 2 replicas, no epochs: S2
            kip392-newer 2 replicas, no epochs: S2
            kip392-newer 2 replicas, no epochs, leader asked first: S2
            kip392-older 2 replicas, no epochs, leader asked first: S2
            kafka-4.1 2 replicas, no epochs: S2
            kafka-4.1 2 replicas, fetches without epochs: S2
        """),
        answer="Not kept by either text for a consumer that knows no epoch: a spurious error and policy latest skip records. Kept where the "
        "leader is asked first, as Kafka's code does. A jump counts if the record at the position is committed, the newest leader has it, and no "
        "replica's retention has passed it.",
        verdict=_BROKEN,
    ),
    Evidence(
        "K392-S3",
        reads("""
            kafka-4.1 3 replicas: S3
            kip392-older 3 replicas: S3
            kip392-newer 3 replicas: S3
            kip392-older 2 replicas, too large as too small: S3
            kafka-4.1 2 replicas, fetches without epochs: S3
        """),
        answer="Kept by all three, as far as this property judges: the step from fetching to a reset or an exception. Where a text checks first, a clamped end "
        "may still raise or replay after a spurious error (the four cases, case 4): that step is judged by K392-S5. It takes the check in the older text, and in the code that fetches carry the consumer's leader epoch.",
    ),
    Evidence(
        "K392-S4",
        reads("""
            kafka-4.1 3 replicas: S4, S4e
            kip392-older 3 replicas: S4, S4e
            kip392-newer 3 replicas: S4, S4e
            kip392-newer 2 replicas, the tail is case 1: S4, S4e
        """),
        answer="Kept, if a fetch at the high watermark itself is not case 1.",
    ),
    Evidence(
        "K392-S5",
        reads("""
            kip392-older 2 replicas: S5f
            kip392-newer 2 replicas: S5f, S5m
            kip392-older 2 replicas, guarded: S5f, S5m
            kip392-newer 2 replicas, guarded: S5f, S5m
            kip392-newer 2 replicas, ends not clamped: S5f, S5m
            kafka-4.1 2 replicas: S5f, S5m
            kafka-4.1 2 replicas, unclean: S5f, S5m
            kafka-4.1 2 replicas, strictly larger: S5f
            repaired 2 replicas, unclean: S5f, S5m
            repaired 2 replicas, three epochs: S5f, S5m
        """),
        answer="Exact in version `repaired` with two leader epochs, or without retention. With three epochs and retention its comparison of epochs gives "
        "a false alarm under clean elections: a reset takes the epoch of a leader that has written nothing yet, and the next leader answers with an "
        "older one. So the repair is not finished: a position after a reset needs the epoch of the last record before it. A clamped end gives a false alarm while a new leader's high watermark is behind; the code, which "
        "does not clamp, misses a truncation by an unclean leader that never heard of the epoch and has more records of the one before: the answer "
        "names an older epoch with an end that is not smaller.",
        verdict=_BROKEN,
    ),
    Evidence(
        "K392-S6",
        reads("""
            kafka-4.1 3 replicas: S6
            kip392-newer 2 replicas: S6
            kip392-older 2 replicas: S6
            kip392-newer 2 replicas, guarded: S6
            repaired 2 replicas, 3 records: S6
        """),
        answer="Kept by the code. In both texts a false truncation puts the consumer back.",
        verdict=_BROKEN,
    ),
    Evidence(
        "K392-S7",
        reads(
            "kafka-4.1 2 replicas, ListOffsets: S7\nkafka-4.1 2 replicas, ListOffsets, no guard: S7\nkafka-4.1 2 replicas, ListOffsets, log end: S7"
        ),
    ),
    Evidence(
        "K392-Q2",
        reads("""
            kafka-4.1 3 replicas: Q2
            kip392-older 3 replicas: Q2
            kip392-newer 3 replicas: Q2
            kip392-newer 2 replicas, no epochs: Q2
            kip392-newer 2 replicas, no epochs, earliest: Q2
            kip392-newer 2 replicas, no epochs, none: Q2
            kip392-newer 2 replicas, no epochs, leader asked first: Q2
        """),
        answer="Kept where the epoch is known: each reset has a cause, which is a log start of some replica beyond the position, or a position "
        "that the newest leader does not have. Without an epoch both texts reset for nothing.",
        verdict=_BROKEN,
    ),
)

LIVE: tuple[Evidence, ...] = (
    Evidence(
        "K392-L1",
        reads("""
            kafka-4.1 2 replicas, earliest, in the end: L1
            kip392-older 2 replicas, in the end: L1
            kip392-newer 2 replicas, in the end: L1
            kip392-older 2 replicas, earliest of the next replica, in the end: L1
            kip392-older 2 replicas, earliest of the leader, in the end: L1
        """),
        answer="Kept if the log start is that of the replica which is fetched from next. With the leader's a consumer goes round for ever.",
    ),
    Evidence(
        "K392-L2",
        reads("""
            kafka-4.1 2 replicas, in the end: L2, L2e
            kip392-older 2 replicas, in the end: L2, L2e
            kip392-newer 2 replicas, in the end: L2, L2e
            kip392-newer 2 replicas, ISR only, in the end: L2, L2e
            kip392-newer 2 replicas, latest, in the end: L2e
            kip392-newer 2 replicas, no metadata when unavailable, in the end: L2e
            kip392-older 2 replicas, no metadata after a check, in the end: L2e
            kafka-4.1 2 replicas, preference kept, in the end: L2
        """),
        answer="Not kept by the newer text: a selector that may take any replica may take the one that is out of sync after each refresh. Kept "
        "where only the ISR may be chosen, and metadata ends the preference. With policy latest a consumer may also wait in its reset until a new "
        "leader knows its high watermark, which takes a follower that replicates; that is KIP-207's guard.",
        verdict=_BROKEN,
    ),
    Evidence(
        "K392-Q1",
        spread("""
            kip-392 in time: messages, waits
            data-only in time: messages, waits
            reported in time: messages, waits
            kip-392 in time, one lost answer: messages, waits
            kip-392 in time, a consumer: read
            kip-392 in time, a consumer that is not woken: read
        """),
        answer="Three messages, which are one and a half round trips, in every variant; without tracking, after one maximum wait. A lost answer "
        "costs one message more.",
    ),
    Evidence(
        "K392-Q1b",
        spread("kip-392 in time: fetches, no-extra\ndata-only in time: fetches, no-extra\nreported in time: fetches"),
        answer="Two for each record, where it was one, and one that opens the session.",
    ),
    Evidence(
        "K392-Q3",
        reads("kafka-4.1 2 replicas, in the end: Q3\nkafka-4.1 3 replicas, in the end: Q3"),
        answer="The window lasts until each other member of the ISR has sent its first fetch in the new epoch that shows the committed records: "
        "with two replicas one fetch.",
    ),
)

BUGS: tuple[Evidence, ...] = (
    Evidence(
        "B06",
        reads("""
            kafka-4.1 2 replicas, any replica, B06: S1
            kafka-4.1 2 replicas, any replica: S1
            kafka-4.1 2 replicas, B06: S1
            kip392-older 2 replicas, B06: S1
            kip392-newer 2 replicas, B06: S1
            kafka-4.1 2 replicas, preference kept, B06: S1
        """),
        answer="Found in both texts. In the code of today the leader's selector hides it with two replicas and one change of the leader: an "
        "ex-leader is in no ISR while it diverges, and new metadata ends a preference. Where the preference is kept (before KAFKA-14379) it is found.",
    ),
    Evidence("B24", reads("kafka-4.1 2 replicas, ListOffsets, no guard: S7\nkafka-4.1 2 replicas, ListOffsets: S7")),
    Evidence(
        "B27",
        spread("kip-392 in time: no-extra\ndata-only in time: no-extra\nreported in time: no-extra"),
        answer="Two records one after the other cost six fetches instead of three; with a report, five.",
    ),
    Evidence(
        "B28",
        spread(
            "kip-392 in time, a consumer that is not woken: read\nkip-392 in time, a consumer: read\ndata-only in time, a consumer: read"
        ),
    ),
    Evidence(
        "B29",
        reads("""
            kafka-4.1 2 replicas, preference kept, in the end: L2
            kafka-4.1 2 replicas, preference kept, one stops, in the end: L2
            kafka-4.1 2 replicas, one stops, in the end: L2
            kafka-4.1 2 replicas, in the end: L2
            kafka-4.1 2 replicas, fetches without epochs: S2, S3, Q2
            kafka-4.1 2 replicas: S2, S3, Q2
        """),
        answer="Both halves: the preference outlives the reasons for it, and a fetch without epoch takes a follower's error for the leader's.",
    ),
)

QUESTIONS: tuple[Evidence, ...] = (
    Evidence(
        "Q40",
        reads("""
            kip392-older 2 replicas, 3 records: S1, S2, S3, S4, S5f, Q2
            kip392-newer 2 replicas, 3 records: S1, S2, S3, S4, S5f, Q2
            repaired 2 replicas, 3 records: S1, S2, S3, S4, S5f, Q2
            kip392-older 2 replicas, any replica: S1, S2, S3
            kip392-newer 2 replicas, ISR only: S1, S2, S3
            kip392-newer 2 replicas, chosen by the leader: S1, S2, S3
            kip392-newer 2 replicas, bare errors: S1, S2, S3
            kip392-newer 2 replicas, case 4 told by the high watermark: S1, S2, S3
            kip392-newer 2 replicas, leader first: S1, S2, S3
            kip392-newer 2 replicas, metadata from the log: S1, S2, S3
            kafka-4.1 2 replicas, metadata pushed: S1, S2, S3
        """),
        answer="Both revisions keep the same guarantees where the epoch is known, and both fail in the same two places: clamped ends, and resets "
        "without an epoch. The codes matter little; what matters is whether the leader is asked. None of the seven axes changes S1, S2 or S3 alone.",
    ),
    Evidence(
        "Q41",
        reads("kip392-newer 2 replicas, the tail is case 1: S4, S4e\nkip392-newer 2 replicas: S4, S4e"),
        answer="It must not include it: every consumer that has read everything would get an error.",
    ),
    Evidence(
        "Q42",
        reads("""
            kip392-newer 2 replicas: case-2
            kip392-newer 2 replicas, high watermark capped: case-2
            kip392-older 2 replicas: case-2
            kafka-4.1 2 replicas, high watermark kept: case-2
        """),
        answer="Case 2 exists only if followers keep what they received. With the capped high watermark, as in the code, it is case 4.",
    ),
    Evidence(
        "Q43",
        reads("""
            kafka-4.1 2 replicas, reset to the log end: Q43
            kip392-newer 2 replicas, reset to the log end: Q43
            kip392-newer 2 replicas, reset to the log end, leader empty in case 1: Q43
            kafka-4.1 2 replicas, 3 records: Q43
            kip392-newer 2 replicas, leader empty in case 1: Q43
        """),
        answer="It only matters for a consumer that was sent beyond the high watermark, by a reset to the log end: the error keeps an uncommitted "
        "offset from being confirmed. Where latest is the high watermark, nothing is exposed by either.",
    ),
    Evidence(
        "Q44",
        reads("""
            kafka-4.1 2 replicas, ListOffsets, log end: S7
            kafka-4.1 2 replicas, ListOffsets: S7
            kafka-4.1 2 replicas, reset to the log end: Q43
        """),
        answer="The high watermark under KIP-207's guard: the log end goes back with each leader that had unreplicated records.",
    ),
    Evidence(
        "Q45",
        reads("""
            kip392-newer 2 replicas, no epochs: S2, Q2
            kip392-newer 2 replicas, no epochs, leader asked first: S2, Q2
            kip392-older 2 replicas, no epochs, leader asked first: S2, Q2
            kafka-4.1 2 replicas, no epochs: S2, Q2
        """),
        answer="It has to ask the leader first, by fetching there.",
    ),
    Evidence(
        "Q46",
        reads(
            "kip392-newer 2 replicas: S5f\nkip392-newer 2 replicas, guarded: S5f\nkip392-newer 2 replicas, ends not clamped: S5f"
        ),
        answer="Refused until the high watermark has reached the epoch's start. Not clamping is exact too, but gives the log end to consumers.",
    ),
    Evidence(
        "Q47",
        reads("kafka-4.1 2 replicas, who knows first: Q47\nkafka-4.1 2 replicas, who knows first, no election: Q47"),
        answer="Only within a leader epoch. After an election a replica may know a higher one than the new leader.",
    ),
    Evidence(
        "Q48",
        spread(
            "kip-392 in time, new session: waits\nkip-392 in time, new partition: waits\nkip-392 in time, new partition that waits: waits"
        ),
        answer="The first after a partition was added must not be parked either, or its follower waits for the maximum wait.",
    ),
    Evidence(
        "Q49",
        reads(
            "kafka-4.1 2 replicas, strictly larger: S5f\nkafka-4.1 2 replicas: S5f, S5m\nkafka-4.1 2 replicas, unclean, strictly larger: S5f, S5m"
        ),
        answer="Also if it is equal: that is every consumer at the tail.",
    ),
    Evidence(
        "Q50",
        reads("""
            kip392-older 2 replicas, in the end: L1
            kip392-older 2 replicas, earliest of the next replica, in the end: L1
            kip392-older 2 replicas, earliest of the leader, in the end: L1
            kafka-4.1 2 replicas, earliest, in the end: L1
        """),
        answer="Either ends, since the next fetch goes to the replica that raised the error unless metadata has come. The leader's is wrong only "
        "while a replica is preferred; the code drops the preference first.",
    ),
    Evidence(
        "Q51",
        reads("kafka-4.1 2 replicas: behind\nkafka-4.1 2 replicas, in the end: Q3\nkafka-4.1 3 replicas, in the end: Q3"),
        answer="Never zero: an election may always come before the follower has heard of the commit. It ends with the first fetches of the other "
        "members.",
    ),
    Evidence(
        "Q54",
        spread("""
            kip-392 in time, one lost answer in the same session: waits
            kip-392 in time, one lost answer: waits
            reported in time, one lost answer in the same session: waits
        """),
        answer="Only the report corrects itself. The sender's record is right as long as a lost answer ends the session.",
    ),
)

_OLDER, _NEWER = "kip392-older 2 replicas", "kip392-newer 2 replicas"
SENTENCES: tuple[Evidence, ...] = (
    Evidence(
        "SEED-392-1", reads(f"{_NEWER}, 3 records: S1\n{_NEWER}, in the end: L2"), answer="Safe to read, but see K392-L2."
    ),
    Evidence("SEED-392-2", reads(f"{_OLDER}, 3 records: S1\n{_OLDER}, in the end: L2")),
    Evidence(
        "SEED-392-4",
        reads("kafka-4.1 2 replicas, any replica: S1\nkafka-4.1 2 replicas, any replica, B06: S1"),
        answer="It relies on it, and on the order in which answers are applied.",
    ),
    Evidence("SEED-392-6", reads(f"{_OLDER}: lags\n{_NEWER}: lags")),
    Evidence(
        "SEED-392-7",
        reads("kafka-4.1 2 replicas, who knows first: Q47") + spread("kip-392 one follower: ahead"),
        answer="Within a leader epoch, not after an election.",
        verdict=_BROKEN,
    ),
    Evidence("SEED-392-8", spread("kip-392 one follower: hidden\ndata-only one follower: hidden")),
    Evidence(
        "SEED-392-9",
        reads(f"{_NEWER}: case-2\n{_NEWER}, high watermark capped: case-2"),
        answer="The one received; the one kept is capped.",
    ),
    Evidence(
        "SEED-392-42",
        reads("kafka-4.1 2 replicas, reset to the log end: Q43\nkafka-4.1 2 replicas, ListOffsets, log end: S7"),
        answer="See Q44.",
    ),
    Evidence(
        "SEED-392-50",
        reads("kafka-4.1 2 replicas, strictly larger: S5f"),
        answer="Not larger at the tail, but equal.",
        verdict=_BROKEN,
    ),
    Evidence(
        "SEED-392-53",
        reads(f"{_NEWER}, no epochs: S2, Q2\n{_NEWER}, no epochs, leader asked first: S2, Q2"),
        answer="The rule behind K392-S2.",
        verdict=_BROKEN,
    ),
    Evidence(
        "SEED-392-62",
        reads(f"{_NEWER}: S5f\n{_NEWER}, guarded: S5f"),
        answer="That gives false alarms after elections.",
        verdict=_BROKEN,
    ),
)

EVIDENCE: tuple[Evidence, ...] = (*GUARANTEES, *LIVE, *BUGS, *QUESTIONS, *SENTENCES)

__all__ = ["EVIDENCE", "RUNS"]
