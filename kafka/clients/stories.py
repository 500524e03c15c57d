"""Client bugs that users reported or we found, with histories that show them and the affected versions."""

from fencepost.kafka.clients.history import Story
from fencepost.model.language.errors import UsageError, nearest

ASKS = ("client-refreshes 0", "broker-answers-refresh", "client-applies-metadata")
MOVES = ("controller-elects-leader 0 1", "broker-learns 0 1", "broker-learns 1 1")
"""In a cluster of two brokers, leadership moves to the second broker, and both brokers know this."""
TRIES = ("client-sends-request 0", "broker-answers-request", "client-receives-response")
THERE_AND_BACK = (
    "brokers-answer-at-once",
    *("controller-elects-leader 1 1", "broker-learns 0 1", "broker-learns 1 1", *TRIES * 3),
    *("leader-is-unknown 1", "client-has-more 1", *TRIES, "client-refreshes 0"),
    *("client-has-more 0", "client-sends-request 0", "controller-elects-leader 0 1", "broker-learns 0 2", TRIES[1]),
    *("controller-elects-leader 0 0", "broker-learns 0 3", "broker-learns 1 3", ASKS[1], TRIES[2], ASKS[2]),
)
"""Leadership moves to another broker and back. The first move's hint arrives with the second move's metadata."""

STORIES = (
    Story("no-epoch-accepted", "twmb/franz-go#1331",
          "After an election, metadata names the new leader without its epoch (-1). After six such answers, the "
          "consumer accepts the leader, but fetches without an epoch, does not validate its position, and does not "
          "notice that the log is shorter.",
          {"brokers": 3, "partitions": 1, "changes": 2, "elections": 1, "restarts": 1, "consumer": 1},
          ("epoch-is-unknown 0", "records-are-lost 0", "controller-elects-leader 0 1", "broker-learns 1 1",
           "broker-learns 2 1", "broker-stops 0", *ASKS * 9, *TRIES),
          ("truncation-is-noticed",), ("franz-go==1.20.6",), ("franz-go==1.22.2",)),
    Story("no-leader-in-a-hint", "confluentinc/librdkafka#5430",
          "Both the error for a Produce request and the metadata contain leader -1 with a newer epoch; later there "
          "is a leader again. According to the report, the client remains stuck.",
          {"brokers": 3, "partitions": 1, "changes": 1, "elections": 1},
          ("leader-is-missing 0", *TRIES, *ASKS, "controller-elects-leader 0 1", "broker-learns 0 1",
           "broker-learns 1 1", "broker-learns 2 1"),
          ("recovers",), (), ("librdkafka==2.3.0", "java==4.4.0"), ("librdkafka==2.12.1", "librdkafka==2.16.1")),
    Story("rolling-upgrade", "confluentinc/librdkafka#4796",
          "The next leader is an older broker that returns no leader epochs. The client treats -1 as an older epoch "
          "or as a missing leader, and does not find the leader.",
          {"brokers": 2, "partitions": 1, "changes": 2, "elections": 1, "restarts": 1, "old_brokers": 1, "hints": 0},
          ("controller-elects-leader 0 1", "broker-learns 1 1", "broker-learns 0 1", "broker-stops 0"),
          ("recovers", "newer-metadata-is-used"), ("librdkafka==2.4.0", "librdkafka==2.6.1", "franz-go==1.22.2"),
          ("librdkafka==2.8.0", "librdkafka==2.16.1", "franz-go==1.20.6", "java==4.4.0")),
    Story("no-leader-erases-the-epoch", "found here",
          "Metadata with leader -1 and epoch -1 makes the client forget the epoch. The client then accepts an "
          "outdated answer from another broker and returns to the leader of an older epoch.",
          {"brokers": 3, "partitions": 1, "changes": 1, "elections": 1},
          ("brokers-answer-at-once", "controller-elects-leader 0 1", "broker-learns 0 1", "broker-learns 1 1", *TRIES,
           "leader-is-unknown 0", *(*TRIES, *ASKS) * 4),
          ("older-metadata-is-ignored",), ("librdkafka==2.16.1",), ("franz-go==1.22.2",), ("java==4.4.0",), plays=50),
    Story("two-leaders-in-one-epoch", "redpanda-data/redpanda#31668, confluentinc/librdkafka#5593",
          "Metadata names one leader and, within milliseconds, another. The client considers one of them the leader "
          "but fetches from the other one forever.",
          {"brokers": 2, "partitions": 1, "changes": 2, "elections": 2, "consumer": 1},
          ("brokers-answer-at-once", "controller-elects-leader 0 1", "controller-elects-leader 0 0",
           "broker-learns 0 1", *TRIES, "broker-learns 1 2", "broker-learns 0 2"),
          ("newer-metadata-is-used", "newer-hint-is-used", "recovers"), (), ("java==4.4.0", "franz-go==1.22.2"),
          ("librdkafka==2.12.1", "librdkafka==2.16.1"), plays=200),
    Story("producer-stays-at-a-former-leader", "confluentinc/librdkafka#4976",
          "Leadership moves to another broker and back, and the client learns of both moves at the same time. It "
          "learns of the second move while it is handing the partition over to the first leader, and does not stop the "
          "handover. The client treats the wrong broker as a preferred replica and writes to it until its records time "
          "out.",
          {"brokers": 2, "partitions": 2, "changes": 3, "elections": 3},
          THERE_AND_BACK,
          ("recovers", "newer-metadata-is-used"), ("librdkafka==2.10.0", "librdkafka==2.16.1"),
          ("librdkafka==2.3.0", "java==4.4.0", "franz-go==1.22.2"), plays=100),
    Story("consumer-stays-at-a-former-leader", "confluentinc/librdkafka#5593, redpanda-data/redpanda#31668",
          "As in `producer-stays-at-a-former-leader`, but for a consumer, which fetches from a broker that is not "
          "the leader and makes no progress. In the report, one epoch has two leaders; with hints, two epochs "
          "suffice.",
          {"brokers": 2, "partitions": 2, "changes": 3, "elections": 3, "consumer": 1},
          THERE_AND_BACK,
          ("recovers", "newer-metadata-is-used"), ("librdkafka==2.6.1", "librdkafka==2.16.1"),
          ("librdkafka==2.3.0", "java==4.4.0", "franz-go==1.22.2"), plays=200),
    Story("idle-consumer-forgets-its-epoch", "found here",
          "A fetch that returns no records sets the position's leader epoch to -1. The position is then no longer "
          "validated, and an idle consumer misses a truncation.",
          {"brokers": 3, "partitions": 1, "changes": 1, "elections": 1, "consumer": 1},
          (*TRIES, "records-are-lost 0", "controller-elects-leader 0 2", "broker-learns 0 1", "broker-learns 1 1",
           "broker-learns 2 1"),
          ("truncation-is-noticed",), ("kafka-python==3.0.12",),
          ("java==4.4.0", "librdkafka==2.16.1", "franz-go==1.22.2")),
    Story("hint-to-a-broker-that-has-gone", "found here",
          "A hint names a leader that has stopped in the meantime. The consumer tries to validate its position "
          "there, and sometimes stops sending requests.",
          {"brokers": 2, "partitions": 1, "changes": 3, "elections": 2, "restarts": 1, "consumer": 1},
          ("brokers-answer-at-once", "controller-elects-leader 0 1", "controller-elects-leader 0 0", "broker-stops 1",
           "broker-learns 0 1", *TRIES),
          ("recovers",), ("librdkafka==2.16.1",), ("librdkafka==2.3.0", "java==4.4.0", "franz-go==1.22.2"), plays=50),
    Story("validated-by-an-older-leader", "found here",
          "While the consumer waits for an older leader to validate its position, metadata names the next leader, "
          "whose log is shorter. The consumer treats the older leader's answer as the next leader's, and misses the "
          "truncation.",
          {"brokers": 2, "partitions": 2, "changes": 2, "elections": 2, "consumer": 1},
          ("broker-is-slow 1", "controller-elects-leader 0 1", "records-are-lost 0", "controller-elects-leader 0 0",
           "broker-learns 0 1", "broker-learns 1 1", *TRIES[:2], "broker-learns 0 2", *TRIES[2:],
           "leader-is-missing 1", *TRIES, *ASKS, *TRIES),
          ("truncation-is-noticed", "validates-before-delivering"), ("librdkafka==2.16.1",),
          ("java==4.4.0", "franz-go==1.22.2")),
    Story("new-topic-with-smaller-epochs", "confluentinc/librdkafka#4898, KAFKA-12257",
          "A topic is recreated, so its leader epochs restart at 0. The client either compares them with the old "
          "topic's epochs, or fails the record because the topic id differs.",
          {"brokers": 2, "partitions": 1, "changes": 3, "elections": 2, "recreations": 1},
          ("controller-elects-leader 0 1", "broker-learns 0 1", "broker-learns 1 1", *TRIES, "topic-is-recreated 0 0",
           "broker-learns 0 2", "broker-learns 1 2", *ASKS, *TRIES),
          ("finds-a-new-topic", "newer-metadata-is-used"), ("librdkafka==2.16.1", "franz-go==1.22.2"),
          ("java==4.4.0", "kafka-python==3.0.12")),
    Story("old-leader-while-there-is-none", "found here",
          "Metadata with a newer epoch says that there is no leader. The consumer keeps fetching from the old leader "
          "with the old epoch, and always gets an error.",
          {"brokers": 3, "partitions": 1, "changes": 1, "elections": 1, "consumer": 1},
          ("leader-is-missing 0", *TRIES, *(*ASKS, *TRIES) * 3),
          ("no-leader-no-request",), ("java==4.4.0",), ("librdkafka==2.16.1", "franz-go==1.22.2"), plays=50),
    Story("hinted-leader-while-there-is-none", "found here",
          "A hint names a leader, and then metadata with a newer epoch says that there is no leader. The producer "
          "keeps writing to the leader from the hint, which rejects the records.",
          {"brokers": 3, "partitions": 1, "changes": 2, "elections": 2},
          ("controller-elects-leader 0 2", "controller-elects-leader 0 1", "broker-learns 0 1", "leader-is-missing 0",
           "broker-learns 1 2", *TRIES, "broker-learns 0 2", *TRIES, *(*ASKS, *TRIES) * 3),
          ("no-leader-no-request",), ("franz-go==1.22.2",), ("java==4.4.0", "librdkafka==2.16.1"), plays=50),
    Story("partition-without-a-leader-beside-a-hint", "confluentinc/librdkafka#5280",
          "One answer contains a hint for one partition and leader -1 for another. The client allocates two entries "
          "but fills only one. It then reads uninitialized memory, and its process crashes.",
          {"brokers": 2, "partitions": 2, "changes": 2, "elections": 2, "consumer": 1},
          ("controller-elects-leader 0 1", "leader-is-missing 1", "broker-learns 0 1", *TRIES, *TRIES),
          (), (), ("librdkafka==2.3.0", "java==4.4.0", "franz-go==1.22.2"), ("librdkafka==2.16.1",), plays=200),
    Story("epoch-without-a-leader-change", "found here",
          "A fetch gets FENCED_LEADER_EPOCH with a hint. The client accepts hints only with NOT_LEADER_OR_FOLLOWER, "
          "so it follows outdated metadata.",
          {"brokers": 2, "partitions": 1, "changes": 2, "elections": 2, "consumer": 1},
          ("controller-elects-leader 0 1", "controller-elects-leader 0 0", "broker-learns 0 1", "broker-learns 0 2",
           "broker-learns 1 1", *TRIES, "client-sends-request 0", *ASKS),
          ("older-metadata-is-ignored", "newer-hint-is-used"), ("franz-go==1.22.2",), ("java==4.4.0",), plays=50),
    Story("reset-by-a-failed-validation", "confluentinc/librdkafka#4447",
          "OffsetForLeaderEpoch returns an error that is not retriable. The client treats the error as a truncation.",
          {"brokers": 2, "partitions": 1, "changes": 1, "elections": 1, "consumer": 1},
          ("validation-fails 0 29", *MOVES, *(*TRIES, *ASKS) * 3),
          ("reports-are-true",), ("librdkafka==2.2.0",), ("librdkafka==2.3.0",)),
    Story("older-metadata-beside-a-validation", "confluentinc/librdkafka#4687",
          "While the client retries a validation after an error, outdated metadata names the partition's old leader "
          "again.",
          {"brokers": 2, "partitions": 1, "changes": 1, "elections": 1, "consumer": 1},
          ("validation-fails 0 75", *MOVES, *TRIES, *ASKS, "metadata-is-older 0", *(*ASKS, *TRIES) * 3),
          ("older-metadata-is-ignored", "epochs-never-fall"), ("librdkafka==2.3.0",), ("librdkafka==2.4.0",)),
    Story("leader-in-an-answer-with-an-error", "confluentinc/librdkafka#4907",
          "Metadata contains an error for the topic but also names a leader. The client looks up a partition of a "
          "topic that it has dropped, and its process crashes.",
          {"brokers": 2, "partitions": 1, "changes": 1, "elections": 1},
          (*MOVES, "topic-has-error 3", *(*TRIES, *ASKS) * 3),
          ("stays-alive", "errors-name-no-leader"), ("librdkafka==2.3.0", "librdkafka==2.8.0"),
          ("librdkafka==2.10.0",)),
    Story("stored-offset-without-an-epoch", "confluentinc/librdkafka#4384",
          "The application stores an offset with its leader epoch, then a later offset without one. The client "
          "considers the new offset older than the committed one and does not commit it, so the group's next client "
          "reads records twice.",
          {"brokers": 2, "partitions": 1, "changes": 1, "elections": 1, "consumer": 1},
          ("client-commits 0", "client-has-more 0", *TRIES, "client-commits-without-epoch 0", *TRIES,
           "client-restarts", "client-has-more 0", *TRIES),
          ("no-record-is-delivered-twice",), ("librdkafka==2.2.0",), ("librdkafka==2.3.0", "java==4.4.0")),
    Story("offset-committed-without-an-epoch", "KAFKA-19902, KAFKA-20507, zio/zio-kafka#1760",
          "The application commits an offset without its leader epoch, and the log is truncated. The group's next "
          "client cannot validate its position and silently skips a record. Kafka's documentation now warns about "
          "this.",
          {"brokers": 2, "partitions": 1, "changes": 1, "elections": 1, "consumer": 1},
          ("client-commits-without-epoch 0", "records-are-lost 0", *MOVES, "client-restarts", *TRIES),
          ("truncation-is-noticed",), ("java==4.4.0", "java==3.9.2"), ()),
    Story("offset-committed-with-an-epoch", "confluentinc/librdkafka#5158",
          "The application commits an offset with its leader epoch, and the log is truncated. The group's next "
          "client does not validate its position.",
          {"brokers": 2, "partitions": 1, "changes": 1, "elections": 1, "consumer": 1},
          ("client-commits 0", "records-are-lost 0", *MOVES, "client-restarts", *TRIES),
          ("truncation-is-noticed",), ("librdkafka==2.10.0",), ("java==4.4.0",)),
    Story("list-offsets-of-a-follower", "confluentinc/librdkafka#4616",
          "Records are deleted before a consumer that fetches from a follower has read them. The consumer resets its "
          "offset and keeps asking the follower for the log start offset, although only the leader can answer that.",
          {"brokers": 2, "partitions": 1, "changes": 1, "elections": 1, "consumer": 1},
          ("client-resets", "follower-serves 0 1", *TRIES, "client-sends-request 0", "client-has-more 0",
           "records-are-deleted 0", *TRIES[1:], *TRIES * 4),
          ("only-to-named-leaders", "recovers"), ("librdkafka==2.6.0",),
          ("librdkafka==2.6.1", "java==4.4.0", "franz-go==1.22.2")),
    Story("preferred-replica-that-is-forgotten", "IBM/sarama#2076",
          "An answer from the preferred replica names no preferred replica. The client believes that the preference "
          "has ended, and alternates between the leader and the replica with each fetch.",
          {"brokers": 2, "partitions": 1, "changes": 1, "elections": 1, "consumer": 1},
          ("follower-serves 0 1", *TRIES * 4, "client-has-more 0", *TRIES * 4),
          ("preferred-replica-is-used",), ("sarama==1.30.0", "kafka-python==3.0.12"),
          ("sarama==1.30.1", "sarama==1.61.1", "java==4.4.0", "librdkafka==2.16.1", "franz-go==1.22.2")),
    Story("out-of-range-on-a-follower", "twmb/franz-go#885",
          "A follower's log starts after the consumer's position, but the leader's log contains that position. The "
          "client resets to the leader's offset and fetches from the follower again, forever.",
          {"brokers": 2, "partitions": 1, "changes": 1, "elections": 1, "consumer": 1},
          ("follower-serves 0 1", *TRIES * 2, "follower-begins-later 0", *TRIES * 2, "client-has-more 0", *TRIES),
          ("errors-end-a-preference", "recovers"), ("franz-go==1.18.0",), ("franz-go==1.18.1", "java==4.4.0")),
    Story("leader-after-its-epoch", "found here",
          "Metadata has a new epoch but no leader, as when its listener is unknown, and names the leader later. The "
          "client does not validate its position when the leader appears, because the epoch is no longer new.",
          {"brokers": 2, "partitions": 1, "changes": 1, "elections": 1, "hints": 0, "consumer": 1},
          (*TRIES, "records-are-lost 0", "partition-has-error 0 72", *MOVES, *TRIES, *ASKS * 3, *TRIES * 2),
          ("truncation-is-noticed", "validates-before-delivering"), ("librdkafka==2.3.0", "librdkafka==2.16.1"),
          ("java==4.4.0", "franz-go==1.22.2")),
    Story("lease-that-ends", "KIP-392",
          "The lease of a preferred replica ends (`metadata.max.age.ms`). The lease is always five minutes in "
          "librdkafka, and franz-go has its own option for it, so neither client is tested. The client has to ask the "
          "leader again.",
          {"brokers": 2, "partitions": 1, "changes": 1, "elections": 1, "consumer": 1},
          ("follower-serves 0 1", *TRIES * 2, "client-lease-ends", "client-has-more 0", *TRIES * 2),
          ("preferred-replica-is-used",), (), ("java==4.4.0", "sarama==1.61.1")),
    Story("follower-that-stops", "found here",
          "The preferred replica stops. After a connection error, franz-go keeps the replica until its "
          "`RecheckPreferredReplicaInterval` ends (30 minutes by default), so it does not fetch from the leader.",
          {"brokers": 2, "partitions": 1, "changes": 2, "elections": 1, "restarts": 1, "consumer": 1},
          ("follower-serves 0 1", *TRIES * 2, "broker-stops 1", "client-has-more 0", *TRIES * 2),
          ("recovers",), ("franz-go==1.22.2",),
          ("java==4.4.0", "librdkafka==2.16.1", "sarama==1.61.1", "kafka-python==3.0.12")),
    Story("hint-for-a-topic-that-was-dropped", "twmb/franz-go b6f6f477",
          "While a metadata request is in flight, the application drops the topic and writes to it again, and then a "
          "hint arrives. The client applies the hint to the new topic, which has no partitions yet, and its process "
          "crashes.",
          {"brokers": 2, "partitions": 2, "changes": 1, "elections": 1},
          ("leader-is-missing 1", *TRIES[1:], "client-refreshes 0", "client-has-more 0", "client-sends-request 0",
           "client-starts-over 0", *MOVES, *TRIES[1:], TRIES[0], *ASKS[1:]),
          ("stays-alive",), ("franz-go==1.21.3",), ("franz-go==1.21.4", "franz-go==1.22.2")),
    Story("batches-behind-a-snapshot", "KAFKA-9199",
          "Two batches from an idempotent producer are written, but their answers are lost. The next leader has "
          "restarted, so it recognizes only the last batch and rejects the first as out of order. The Java client "
          "starts a new producer epoch and writes the batch again; librdkafka does not recover.",
          {"brokers": 2, "partitions": 1, "changes": 2, "elections": 2},
          ("client-is-idempotent", "answers-are-lost 0", "client-has-more 0", "client-has-more 0", *TRIES * 2,
           "broker-keeps-last-batch 1", *MOVES, "connections-end 0"),
          ("no-record-is-written-twice", "recovers"), ("java==4.4.0", "librdkafka==2.16.1")),
    Story("second-batch-first", "KIP-360, forum.confluent.io t/38227",
          "While two batches are in flight, leadership moves away and back, so only the first batch is rejected. The "
          "leader has forgotten the producer and accepts the second batch. The Java client resends the first batch "
          "until it expires; librdkafka reports it as written, although it is not.",
          {"brokers": 2, "partitions": 1, "changes": 3, "elections": 3},
          ("client-is-idempotent", "producers-expire", "client-has-more 0", "client-has-more 0", MOVES[0], MOVES[1],
           *TRIES[:2], "controller-elects-leader 0 0", "broker-learns 0 2", "broker-learns 1 2", TRIES[2]),
          ("recovers", "acknowledged-records-are-written"), ("java==4.4.0", "librdkafka==2.16.1")),
    Story("epoch-of-another-partition", "confluentinc/librdkafka#4953",
          "A batch is written, but its answer is lost. After a leader change, another partition's batches are "
          "rejected, the second as out of order. librdkafka starts a new producer epoch for all partitions and "
          "writes the batch again.",
          {"brokers": 2, "partitions": 2, "changes": 4, "elections": 4},
          ("client-is-idempotent", "controller-elects-leader 1 1", "broker-learns 0 1", "broker-learns 1 1", *TRIES,
           *ASKS, *TRIES * 2, "answers-are-lost 0", "client-has-more 0", *TRIES, "client-has-more 1", TRIES[0],
           "client-has-more 1", "controller-elects-leader 1 0", "broker-learns 1 2", TRIES[1],
           "controller-elects-leader 1 1", "broker-learns 1 3", "broker-learns 0 3", TRIES[2], *ASKS[:1] * 2,
           "connections-end 0"),
          ("no-record-is-written-twice",), ("librdkafka==2.10.0", "librdkafka==2.16.1"), ("java==4.4.0",)),
    Story("admin-of-a-leader-that-has-gone", "KAFKA-20673",
          "The admin client has cached a leader that has left the cluster, and waits for it until the call times out.",
          {"brokers": 2, "partitions": 1, "changes": 2, "elections": 1, "restarts": 1},
          ("client-asks-admin 0", *TRIES, *MOVES, "broker-stops 0", "broker-learns 1 2", *TRIES,
           "client-asks-admin 0"),
          ("recovers",), ("java==4.3.0",), ("java==4.3.1", "java==4.4.0", "java==3.9.2")),
)  # fmt: skip


def story(name: str) -> Story:
    found = next((item for item in STORIES if item.name == name), None)
    if found is None:
        names = [item.name for item in STORIES]
        raise UsageError(
            f"there is no story {name!r}.{nearest(name, names)} The stories are: {', '.join(names)}. A history from "
            "the tables has a name such as 'walk 951.125'."
        )
    return found
