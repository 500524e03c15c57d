"""What the runs of leader discovery settle: guarantees, known bugs, hypotheses and questions on KIP-951."""

from __future__ import annotations

from fencepost.invariants.catalogue import Evidence
from fencepost.invariants.runs.discovery import RUNS, cases

_BROKEN = "broken"

GUARANTEES: tuple[Evidence, ...] = (
    Evidence(
        "K951-S1",
        cases("""
            kip-951 3 brokers: K951-S1
            kip-951 3 brokers, replicas behind their caches: K951-S1
            kip-951 3 brokers, reassigned: K951-S1
            kip-951 3 brokers, refreshes at any time: K951-S1
            kip-951 3 brokers, one without hints: K951-S1
            kip-951 3 brokers, any hint accepted: K951-S1
            kip-951 3 brokers, metadata of any epoch: K951-S1
            kip-951 3 brokers, one without epochs: K951-S1
            repaired 3 brokers, restart: K951-S1
        """),
        answer="Kept, as long as every broker's metadata has leader epochs: a response without them makes the client forget the epoch that it "
        "knew, and it then accepts any.",
    ),
    Evidence(
        "K951-S2",
        cases(
            "kip-951 3 brokers: K951-S2\nkip-951 3 brokers, metadata of any epoch: K951-S2\nrepaired 3 brokers, restart: K951-S2"
        ),
    ),
    Evidence(
        "K951-S2b",
        cases("""
            kip-951 3 brokers: K951-S2b
            kip-951 3 brokers, one joins late: K951-S2b
            kip-951 3 brokers, one joins late, leaders keep endpoints: K951-S2b
            before-kip-951 3 brokers, restart: K951-S2b
            kip-951 3 brokers, restart: K951-S2b
            repaired 3 brokers, restart: K951-S2b
        """),
        answer="Not kept: the brokers of a metadata response replace those that the client knew, also if the response is too old for the "
        "leader. It happens without KIP-951 too, with two metadata responses of different age.",
        verdict=_BROKEN,
    ),
    Evidence(
        "K951-S3",
        cases("""
            kip-951 3 brokers, 2 partitions after a restart: K951-S3, K951-S3m
            kip-951 3 brokers, 2 partitions after a restart, accepted endpoints: K951-S3
            kip-951 3 brokers, 2 partitions after a restart, newer endpoints: K951-S3, K951-S3m
            repaired 3 brokers, 2 partitions after a restart: K951-S3, K951-S3m
        """),
        answer="Not kept: nothing tells which of two endpoints is newer. Taking over those of accepted hints only does not help, since "
        "an accepted hint may itself carry an old endpoint; comparing registrations (broker epochs) does.",
        verdict=_BROKEN,
    ),
    Evidence(
        "K951-S4",
        cases("""
            kip-951 3 brokers: K951-S4
            kip-951 3 brokers, replicas behind their caches: K951-S4
            kip-951 3 brokers, reassigned: K951-S4
            kip-951 3 brokers, one without hints: K951-S4
            kip-951 2 brokers, 2 partitions: K951-S4
            kip-951 3 brokers, equal epochs accepted, hints from the cache: K951-S4
            kip-951 2 brokers, 2 partitions, retry at once on any news: K951-S4
            kip-951 3 brokers, any hint accepted: K951-S4
            kip-951 3 brokers, in the end: K951-S4b
            kip-951 3 brokers, equal epochs accepted, hints from the cache, in the end: K951-S4b
            kip-951 3 brokers, any hint accepted, in the end: K951-S4b
            repaired 2 brokers, a new topic, in the end: K951-S4b
        """),
        answer="Kept by the strict comparison; a weaker one lets a batch go round without backoff for as long as metadata lags. Across a "
        "topic that is created again the epochs of both count, and more: topic ids have no order, so old metadata brings the deleted topic back.",
    ),
    Evidence(
        "K951-S5",
        cases("""
            kip-951 3 brokers, replicas behind their caches: K951-S5
            kip-951 3 brokers, hints from the cache: K951-S5
            kip-951 3 brokers, reassigned: K951-S5
            kip-951 3 brokers, hints from both: K951-S5
        """),
        answer="A hint is true if leader and epoch come from one place. It may be old: the leader that it names may have been deposed.",
    ),
    Evidence(
        "K951-S6",
        cases("kip-951 3 brokers, consumer: K951-S6\nkip-951 3 brokers, consumer, position not validated: K951-S6"),
    ),
)

LIVE: tuple[Evidence, ...] = (
    Evidence(
        "K951-L1",
        cases("""
            kip-951 3 brokers, in the end: K951-L1
            before-kip-951 3 brokers, in the end: K951-L1
            kip-951 3 brokers, consumer, in the end: K951-L1
            kip-951 3 brokers, one joins late, in the end: K951-L1
            kip-951 2 brokers, a new topic, in the end: K951-L1
            repaired 2 brokers, a new topic, in the end: K951-L1
            kip-951 3 brokers, one without hints, in the end: K951-L1
            kip-951 3 brokers, restart, in the end: K951-L1
            before-kip-951 3 brokers, restart, in the end: K951-L1
            kip-951 2 brokers, all endpoints lost, in the end: K951-L1
            kip-951 2 brokers, all endpoints lost, KIP-899, in the end: K951-L1
        """),
        answer="Kept without hints too, if the client comes to ask every broker for metadata, also where some brokers send no hints yet. "
        "Broken where a topic is created again (HYP-6), and where all endpoints that a client knows are gone: the endpoints of hints "
        "cannot help then, since no broker is reached that could send one; bootstrapping again (KIP-899) does.",
        verdict=_BROKEN,
    ),
    Evidence(
        "K951-Q1",
        cases("""
            kip-951 3 brokers, 0 lagging brokers: Q1-told, Q1-trips, Q1-backoffs, Q1-refreshes
            kip-951 3 brokers, 1 lagging broker: Q1-told, Q1-trips, Q1-backoffs, Q1-refreshes
            kip-951 3 brokers, 2 lagging brokers: Q1-told, Q1-trips, Q1-backoffs, Q1-refreshes
            kip-951 3 brokers, consumer, 0 lagging brokers: Q1-told, Q1-trips, Q1-backoffs, Q1-refreshes
            kip-951 3 brokers, consumer, 1 lagging broker: Q1-told, Q1-trips, Q1-backoffs, Q1-refreshes
            kip-951 3 brokers, new leader lags, in the end: Q1-told
            before-kip-951 3 brokers, 0 lagging brokers: Q1-trips, Q1-backoffs, Q1-refreshes
            before-kip-951 3 brokers, 1 lagging broker: Q1-trips, Q1-backoffs, Q1-refreshes
            before-kip-951 3 brokers, 2 lagging brokers: Q1-trips, Q1-backoffs, Q1-refreshes
        """),
        answer="Kept if the new leader knows of its election too: after an error that names it a batch takes one round trip more, and a fetch two, "
        "since the consumer validates its position first; no backoff, no refresh. A new leader that has not heard of its election refuses, and "
        "hints cannot help against that: a fetch then takes three, and more for as long as the leader lags. That a refresh "
        "is over before a backoff ends is assumed; without it there is no bound, with the KIP or without.",
        verdict=_BROKEN,
    ),
)

BUGS: tuple[Evidence, ...] = (
    Evidence(
        "B30",
        cases(
            "kip-951 3 brokers, one joins late: K951-S2b\nkip-951 3 brokers, one joins late, leaders keep endpoints: K951-S2b"
        ),
        answer="Still so in the code that was read, where a leader without an endpoint makes the client ask for metadata again instead of "
        "failing; `keeps_leader_endpoint=on` takes it away.",
    ),
)

STUCK: tuple[Evidence, ...] = (
    Evidence(
        "B31",
        cases("""
            before-kip-951 3 brokers, consumer, old epochs in metadata, in the end: K951-L1
            before-kip-951 3 brokers, consumer, in the end: K951-L1
            kip-951 3 brokers, consumer, old epochs in metadata, in the end: K951-L1
        """),
        answer="Found without hints. With KIP-951 the consumer gets out of it: FENCED_LEADER_EPOCH brings the right epoch.",
    ),
    Evidence(
        "B32",
        cases("""
            before-kip-951 2 brokers, a new topic, topic ids not compared, in the end: K951-L1
            before-kip-951 2 brokers, a new topic, in the end: K951-L1
        """),
    ),
)

HYPOTHESES: tuple[Evidence, ...] = (
    Evidence(
        "HYP-6",
        cases("""
            kip-951 2 brokers, a new topic: HYP-6
            kip-951 2 brokers, a new topic, topic ids in hints: HYP-6
            before-kip-951 2 brokers, a new topic: HYP-6
            repaired 3 brokers, a new topic: HYP-6
            kip-951 2 brokers, a new topic, in the end: K951-L1
            kip-951 2 brokers, a new topic, topic ids in hints, in the end: K951-L1
        """),
        answer="Confirmed in the model: a broker that has not heard of the new topic answers with the old one's leader and epoch, the "
        "client accepts them for the new topic, and then ignores its metadata. With the topic id in the hint it does not happen, nor "
        "without hints. Not shown on a running Kafka.",
        verdict="confirmed",
    ),
    Evidence(
        "HYP-7",
        cases("""
            kip-951 3 brokers, 2 partitions after a restart: K951-S3
            kip-951 3 brokers, 2 partitions after a restart, accepted endpoints: K951-S3
            kip-951 3 brokers, 2 partitions after a restart, newer endpoints: K951-S3
        """),
        answer="Confirmed in the model, and more than conjectured: an accepted hint alone can do it. It takes a metadata response for some "
        "topics only, or the client would know of the newer leader of all partitions. Not shown on a running Kafka.",
        verdict="confirmed",
    ),
)

QUESTIONS: tuple[Evidence, ...] = (
    Evidence(
        "Q23",
        cases("kip-951 3 brokers, consumer: K951-S1, K951-S4\nkip-951 3 brokers, consumer, hints by epoch: K951-S1, K951-S4"),
        answer="For Fetch both readings give the same states. Produce carries no leader epoch, so the error codes are the only trigger that "
        "works for both.",
    ),
    Evidence(
        "Q24",
        cases("""
            kip-951 3 brokers, equal epochs of another leader accepted: K951-S4
            kip-951 3 brokers, equal epochs accepted: K951-S4
            kip-951 3 brokers, equal epochs accepted, hints from the cache: K951-S4
            kip-951 3 brokers, any hint accepted: K951-S4
        """),
        answer="Ignored, as the text says. Since an epoch has one leader, two brokers cannot point at each other with equal epochs, and "
        "accepting another leader at an equal epoch changes nothing. Accepting any equal epoch lets a new leader that has not taken over "
        "yet point at itself, and the batch goes there again at once.",
    ),
    Evidence(
        "Q25",
        cases("""
            kip-951 3 brokers, 2 partitions after a restart: K951-S3
            kip-951 3 brokers, 2 partitions after a restart, accepted endpoints: K951-S3
            kip-951 3 brokers, 2 partitions after a restart, newer endpoints: K951-S3
        """),
        answer="Only newer ones should, and then something has to tell which is newer. The first two readings both let an old endpoint win.",
    ),
    Evidence(
        "Q26",
        cases(
            "kip-951 3 brokers, one joins late: K951-S2, K951-S2b\nkip-951 3 brokers, one joins late, leaders keep endpoints: K951-S2, K951-S2b"
        ),
        answer="It must leave the endpoint too: otherwise the client knows the new leader and cannot reach it.",
    ),
    Evidence(
        "Q27",
        cases("""
            kip-951 3 brokers, replicas behind their caches: K951-S1, K951-S4, K951-S5
            kip-951 3 brokers, hints from the cache: K951-S1, K951-S4, K951-S5
            kip-951 3 brokers, reassigned: K951-S1, K951-S4, K951-S5
            kip-951 3 brokers, hints from both: K951-S5
        """),
        answer="Either is safe, and the cache is never older than the replica. What must not be done is to take the leader from the one and "
        "the epoch from the other.",
    ),
    Evidence(
        "Q28",
        cases("kip-951 2 brokers, 2 partitions: K951-S4\nkip-951 2 brokers, 2 partitions, retry at once on any news: K951-S4"),
        answer="Once per newly learned epoch, and for the partition that it was learned for. Otherwise a batch goes to the same broker in the "
        "same epoch again at once, because another partition had news.",
    ),
    Evidence(
        "Q29",
        cases("kip-951 3 brokers: K951-S4, K951-S5"),
        answer="Produce requests carry no leader epoch in the model, as in Kafka, so nothing about them can be fenced by one: hints to a "
        "producer come with NOT_LEADER_OR_FOLLOWER only.",
    ),
    Evidence(
        "Q30",
        cases("""
            kip-951 3 brokers, no refresh after a hint, in the end: K951-L1
            kip-951 2 brokers, 2 partitions, no refresh after a hint, in the end: K951-L1
        """),
        answer="It may be suppressed: every partition finds its leader by an error of its own, and a client that cannot connect asks for metadata. "
        "What is lost is speed for the other partitions, as the KIP says.",
    ),
    Evidence(
        "Q31",
        cases("""
            kip-951 2 brokers, a new topic: HYP-6
            kip-951 2 brokers, a new topic, topic ids in hints: HYP-6
            kip-951 2 brokers, a new topic, in the end: K951-L1
            kip-951 2 brokers, a new topic, topic ids in hints, in the end: K951-L1
        """),
        answer="The topic id is needed: epochs of a topic that was created again start anew, and only the id tells them from the old ones.",
    ),
)

EVIDENCE: tuple[Evidence, ...] = (*GUARANTEES, *LIVE, *BUGS, *STUCK, *HYPOTHESES, *QUESTIONS)

__all__ = ["EVIDENCE", "RUNS"]
