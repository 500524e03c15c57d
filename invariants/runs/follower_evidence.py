"""What the runs of fetching from followers settle: guarantees, known bugs, questions and sentences of KIP-392."""

from __future__ import annotations

from fencepost.invariants.catalogue import RULE, Evidence
from fencepost.invariants.runs import follower_cells, followers, propagation

RUNS = (*followers.RUNS, *follower_cells.RUNS, *propagation.RUNS)
_BROKEN = "broken"
reads, spread, cells = followers.cases, propagation.cases, follower_cells.cases

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
            kafka-4.1 3 replicas, no retention: S2
            kip392-older 3 replicas, no retention: S2
            kip392-newer 3 replicas, no retention: S2
            kafka-4.1 2 replicas, earliest, no election: S2
            kafka-4.1 2 replicas, earliest: S2
            kafka-4.1 2 replicas: S2
            kip392-older 2 replicas, earliest: S2
            kip392-newer 2 replicas, earliest: S2
            kip392-older 2 replicas, no epochs: S2
            kip392-newer 2 replicas, no epochs: S2
            kip392-newer 2 replicas, no epochs, leader asked first: S2
            kip392-older 2 replicas, no epochs, leader asked first: S2
            kafka-4.1 2 replicas, no epochs: S2
            kafka-4.1 2 replicas, fetches without epochs: S2
        """),
        answer="Judged for every offset of a jump, and excused only where the newest leader's log start has passed that offset. Without retention it is "
        "kept where epochs are known, and by neither text without: a spurious error and policy latest skip records, unless the leader is asked first, "
        "as Kafka's code does. With retention both texts skip by taking a replica's log start for the leader's; the code skips where a leader that was "
        "replaced had dropped more than its successor, and, as the policy says, with latest after any reset.",
        verdict=_BROKEN,
    ),
    Evidence(
        "K392-S3",
        reads("""
            kafka-4.1 3 replicas: S3
            kafka-4.1 2 replicas, no retention: S3
            kip392-older 2 replicas, no retention: S3
            kip392-newer 2 replicas, no retention: S3
            kip392-older 2 replicas, none: S3
            kip392-older 2 replicas, no retention, guarded: S3
            kip392-newer 2 replicas, no retention, guarded: S3
            repaired 2 replicas, 3 records: S3
            kip392-older 2 replicas, too large as too small: S3
            kafka-4.1 2 replicas, fetches without epochs: S3
        """),
        answer="Kept by the code, if fetches carry the consumer's leader epoch. Not kept by the texts as they are: after a spurious error the check meets a new leader "
        "whose end is clamped, and the consumer is put back, or raises. With ends that wait for the high watermark both texts keep it.",
        verdict=_BROKEN,
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
            repaired 2 replicas, three epochs, epochs of leaders: S5f, S5m
            repaired 2 replicas, three epochs, unclean: S5f, S5m
            repaired 2 replicas, three epochs, unclean, earliest: S5f, S5m
            repaired 2 replicas, three epochs, 3 records, unclean: S5f, S5m
            repaired 3 replicas, three epochs, unclean: S5f, S5m
        """),
        answer="Exact in version `repaired`: no false alarm and no miss, with unclean elections and retention, two and three replicas. A clamped end gives a "
        "false alarm while a new leader's high watermark is behind; the code, which does not clamp, misses a truncation by an unclean leader that never "
        "heard of the epoch and has more records of the one before: the answer names an older epoch with an end that is not smaller. Comparing "
        "epochs finds it, and needs that an offset comes with the epoch of the record before it, none where the log begins there. ListOffsets gives "
        "the leader's epoch with the latest offset, and that of the record at the log start with the earliest: a next leader that never heard of "
        "that epoch answers with an older one, and an honest consumer looks truncated.",
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
        reads("""
            kafka-4.1 2 replicas, ListOffsets: S7
            kip392-older 2 replicas, ListOffsets: S7
            kip392-newer 2 replicas, ListOffsets: S7
            kafka-4.1 2 replicas, ListOffsets, no guard: S7
            kafka-4.1 2 replicas, ListOffsets, log end: S7
            kip392-older 2 replicas, ListOffsets, log end: S7
            kip392-newer 2 replicas, ListOffsets, log end: S7
        """),
        answer="Kept with the high watermark under KIP-207's guard, in all three designs. Both texts say the log end, which goes back.",
    ),
    Evidence(
        "K392-Q2",
        reads("""
            kafka-4.1 3 replicas, no retention: Q2
            kafka-4.1 2 replicas, earliest, no election: Q2
            kafka-4.1 2 replicas: Q2, Q2l
            kafka-4.1 3 replicas: Q2l
            kip392-older 2 replicas: Q2, Q2l
            kip392-newer 2 replicas: Q2, Q2l
            kip392-older 2 replicas, no retention: Q2
            kip392-older 2 replicas, no retention, guarded: Q2
            kip392-newer 2 replicas, no retention, guarded: Q2
            kafka-4.1 2 replicas, late error: Q2, Q2l
            kafka-4.1 2 replicas, late error, latest: Q2
            kafka-4.1 2 replicas, late error, sender known: Q2, Q2l
            kafka-4.1 2 replicas, late error, sender known, an election: Q2l
            repaired 2 replicas, earliest, leader asked first: Q2l
            repaired 2 replicas, three epochs, earliest, leader asked first: Q2l
            kip392-newer 2 replicas, no epochs: Q2
            kip392-newer 2 replicas, no epochs, earliest: Q2
            kip392-newer 2 replicas, no epochs, none: Q2
            kip392-newer 2 replicas, no epochs, leader asked first: Q2
        """),
        answer="In the code each reset has a cause on the leader that the consumer knows; that leader may have been replaced by one that still has the position. "
        "One race breaks it: an out-of-range answer of a follower that comes after the preference has ended is taken for the leader's, since only the "
        "fetch offset is compared; it takes that the sender is looked at. Both texts reset for the log start of a follower alone, put consumers back for "
        "a clamped end, and reset for nothing without an epoch; repaired, and asking the leader first, the newer one keeps what the code does.",
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
            kafka-4.1 2 replicas, in the end: L2, L2s, L2e
            kafka-4.1 2 replicas, metadata ends preferences, in the end: L2, L2s
            kip392-older 2 replicas, in the end: L2, L2s, L2e
            kip392-newer 2 replicas, in the end: L2, L2e
            kip392-newer 2 replicas, ISR only, in the end: L2, L2s, L2e
            kip392-newer 2 replicas, latest, in the end: L2e
            kip392-newer 2 replicas, no metadata when unavailable, in the end: L2e
            kip392-older 2 replicas, no metadata after a check, in the end: L2e
        """),
        answer="Not kept by the newer text: a selector that may take any replica may take the one that is out of sync after each refresh. Kept "
        "where only the ISR may be chosen. In the code it takes until the preference expires: a follower that has left the ISR answers without error, "
        "metadata without a new leader epoch changes nothing, and the consumer waits for up to metadata.max.age. If any metadata ended the preference, as in "
        "the texts, it would not. With policy latest a consumer may also wait in its reset until a new leader knows its high watermark, "
        "which takes a follower that replicates; that is KIP-207's guard.",
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
        spread("""
            kip-392 in time: fetches, no-extra
            data-only in time: fetches, no-extra
            reported in time: fetches
            kip-392 in time, nothing noted: fetches
        """),
        answer="Two for each record, where it was one, and one that opens the session. It takes that the leader notes what it sends.",
    ),
    Evidence(
        "K392-Q3",
        reads("""
            kafka-4.1 2 replicas, 1 record, in the end: Q3, Q3w
            kafka-4.1 3 replicas, in the end: Q3, Q3w
            kafka-4.1 2 replicas, in the end: Q3, Q3w, Q3h
            kip392-older 2 replicas, in the end: Q3w, Q3h
            kip392-newer 2 replicas, in the end: Q3w, Q3h
        """),
        answer="The window lasts until each other member of the ISR has sent its first fetch in the new epoch, and one more where its log departs from the new "
        "leader's. No fetch waits for that in any design: the KIP does not shorten the window. What it does is that fewer elections have one: "
        "a member of the ISR hears of a commit without a maximum wait, where the code, without the change, may wait.",
        verdict=_BROKEN,
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
            kafka-4.1 2 replicas, three epochs, B06: S1
            kafka-4.1 2 replicas, preference kept, B06: S1
        """),
        answer="Found in both texts. In the code of today the leader's selector hides it with two replicas: a follower is in no ISR while it diverges, and a "
        "new leader ends a preference. It would be found there if it did not.",
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
            kafka-4.1 2 replicas, errors end nothing, one stops, in the end: L2e
            kafka-4.1 2 replicas, one stops, in the end: L2e
            kafka-4.1 2 replicas, in the end: L2e
            kafka-4.1 2 replicas, fetches without epochs: S2, S3, Q2
            kafka-4.1 2 replicas, no retention: S2, S3, Q2
        """),
        answer="Both halves: where errors do not end the preference, a consumer goes on asking a replica that cannot be reached, or has no such partition any more, "
        "while metadata shows it as online; and a fetch without epoch takes a follower's error for the leader's.",
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
        reads(
            "kafka-4.1 2 replicas: behind\nkafka-4.1 2 replicas, in the end: Q3, Q3w\nkafka-4.1 3 replicas, in the end: Q3, Q3w"
        ),
        answer="Never zero: an election may always come before the follower has heard of the commit. It ends with the first fetches of the other "
        "members, or the second of one whose log departs.",
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

_CODE, _OLDER, _NEWER = "kafka-4.1 2 replicas", "kip392-older 2 replicas", "kip392-newer 2 replicas"
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
    Evidence(
        "SEED-392-5",
        reads(f"{_CODE}, sentences: later\n{_OLDER}, sentences: later\n{_NEWER}, sentences: later")
        + spread("kip-392 in time: messages"),
        answer="By one and a half round trips, or a maximum wait.",
    ),
    Evidence("SEED-392-10", reads(f"{_CODE}, sentences: starts\n{_OLDER}, sentences: starts\n{_NEWER}, sentences: starts")),
    Evidence(
        "SEED-392-11",
        reads(f"{_OLDER}, sentences: starts, out") + spread("kip-392 one follower: hidden"),
        answer="Log start, ISR (it is read though it has left it), and high watermark.",
    ),
    Evidence("SEED-392-12", reads(f"{_CODE}, sentences: refused\n{_OLDER}, sentences: refused\n{_NEWER}, sentences: refused")),
    Evidence("SEED-392-13", spread("kip-392 in time: waits, fetches\nkip-392 in time, nothing noted: fetches")),
    Evidence("SEED-392-19", reads(f"{_OLDER}: S4\n{_OLDER}, 3 records: S4")),
    Evidence(
        "SEED-392-20",
        reads(f"{_NEWER}, sentences: members, starts\n{_NEWER}, sentences, unclean: members"),
        answer="In the ISR the log end is never below the leader's high watermark, and a log start may be anywhere below that. After an unclean election neither "
        "is bound.",
    ),
    Evidence("SEED-392-21", reads(f"{_OLDER}: lags\n{_NEWER}: lags")),
    Evidence("SEED-392-23", reads(f"{_CODE}: behind\n{_CODE}, in the end: Q3, Q3w"), answer="See K392-Q3."),
    Evidence("SEED-392-24", cells("kafka-4.1 case 1, latest: waits") + reads("kafka-4.1 3 replicas: S1")),
    Evidence("SEED-392-25", reads(f"{_CODE}, ListOffsets, no guard: S7\n{_CODE}, ListOffsets: S7")),
    Evidence("SEED-392-27", reads(f"{_CODE}, reset to the log end: Q43\n{_CODE}, 3 records: Q43"), answer="See Q43."),
    Evidence(
        "SEED-392-28",
        cells("kip392-newer case 1, latest: waits, continues") + reads(f"{_NEWER}: S4e, Q43"),
        answer="On both; in the older text on neither.",
    ),
    Evidence(
        "SEED-392-29",
        cells("kip392-newer case 1, latest: continues\nkip392-newer case 2, latest: continues")
        + reads(f"{_NEWER}, ISR only, in the end: L2e\n{_NEWER}, no metadata when unavailable, in the end: L2e"),
        answer="It takes that it asks for metadata too.",
    ),
    Evidence(
        "SEED-392-30",
        reads(f"{_NEWER}: case-2\n{_NEWER}, high watermark capped: case-2"),
        answer="If it keeps what it received.",
    ),
    Evidence(
        "SEED-392-31",
        reads(f"{_NEWER}, sentences: received\n{_NEWER}, sentences, unclean: received"),
        answer="Under clean elections.",
    ),
    Evidence("SEED-392-32", reads(f"{_CODE}, sentences: out\n{_OLDER}, sentences: out")),
    Evidence("SEED-392-33", cells("kip392-newer case 2, latest: waits, continues")),
    Evidence(
        "SEED-392-38",
        cells("kip392-newer case 3, earliest: skips") + reads(f"{_NEWER}, earliest: S2\n{_OLDER}, earliest: S2"),
        answer="Not safe: the leader may still have the records. Kafka's code asks it first.",
        verdict=_BROKEN,
    ),
    Evidence("SEED-392-39", reads(f"{_OLDER}, sentences: starts\n{_OLDER}, earliest of the leader, in the end: L1")),
    Evidence("SEED-392-41", cells("kip392-older case 3, earliest: resets") + reads(f"{_OLDER}, in the end: L1")),
    Evidence("SEED-392-43", cells("kip392-older case 3, none: raises\nkip392-newer case 3, none: raises")),
    Evidence("SEED-392-44", cells("kip392-newer case 4, latest: waits, continues") + reads(f"{_NEWER}: S4e")),
    Evidence("SEED-392-46", reads(f"{_OLDER}, sentences: refused, out")),
    Evidence("SEED-392-47", cells("kip392-older case 4, latest: continues\nkip392-newer case 4, latest: continues")),
    Evidence(
        "SEED-392-48",
        reads(f"{_OLDER}, in the end: L2e\n{_OLDER}, no metadata after a check, in the end: L2e"),
        answer="Without it the consumer checks for ever.",
    ),
    Evidence("SEED-392-51", reads("repaired 2 replicas, unclean: found, S5f, S5m")),
    Evidence(
        "SEED-392-56",
        reads(f"{_NEWER}, no epochs: Q2"),
        answer="By the page's own words also without an epoch (SEED-392-53).",
        verdict=_BROKEN,
    ),
    Evidence(
        "SEED-392-57",
        reads(f"{_OLDER}, earliest of the next replica, in the end: L1\n{_OLDER}, earliest of the leader, in the end: L1"),
    ),
    Evidence("SEED-392-61", reads(f"{_CODE}, sentences: told\n{_NEWER}, sentences: told"), answer="In the code it still does."),
    Evidence("SEED-392-65", reads(f"{_CODE}, leader only: reads")),
    Evidence(
        "SEED-392-34",
        (),
        gap="How soon, and how often, are rates, of which the model has none. What happens until the replica is back is case 2 of the table.",
    ),
    Evidence(
        "SEED-392-37",
        (),
        gap="How close log starts are is not for a model to say: here they may be any distance apart (SEED-392-39). What that costs is "
        "case 3 of the table.",
    ),
    Evidence("SEED-392-52", (), gap=RULE + " What it comes to is case 4 of the table."),
    Evidence(
        "SEED-392-54",
        reads(f"{_NEWER}: lags"),
        answer="The second half: a consumer can be ahead of a follower that counts as in sync. How rarely is a rate, and the model has none.",
    ),
    Evidence("SEED-392-58", (), gap="About the extent of the text: it claims nothing of what happens."),
    Evidence(
        "SEED-392-59",
        (),
        gap="Versions and schemas of requests are not modelled: an answer tells something or does not (`errors`).",
    ),
    Evidence(
        "SEED-392-60",
        (),
        gap=RULE
        + " Where answers tell nothing (the run *2 replicas, bare errors*) no consumer takes up its reset policy by them.",
    ),
    Evidence(
        "SEED-392-63",
        (),
        gap=RULE
        + " In the two texts any metadata ends the preference (`preference_ends`), one with a changed ISR too. What depends on "
        "it is K392-L2.",
    ),
    Evidence(
        "SEED-392-64",
        (),
        gap="Brokers that do not know of fetching from followers are not in the machine. A consumer that only the leader serves is "
        "SEED-392-65.",
    ),
)

EVIDENCE: tuple[Evidence, ...] = (*GUARANTEES, *LIVE, *BUGS, *QUESTIONS, *SENTENCES)

__all__ = ["EVIDENCE", "RUNS"]
