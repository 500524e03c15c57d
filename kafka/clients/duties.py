"""Rules that clients are judged by, each a sentence of a KIP, and the cost of a client that breaks it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """A duty of clients, in the words of its source."""

    name: str
    source: str
    sentence: str
    cost: str
    """The harm to the user of a client that breaks it."""


RULES = (
    Rule("epochs-never-fall", "KIP-320",
         "The client remembers the last known leader epoch of a partition and uses no older one.",
         "The position is checked against a former leader's log: a truncation goes unnoticed."),
    Rule("older-metadata-is-ignored", "SEED-951-15",
         "Accepted leader information is never overridden by the information of a stale leader.",
         "Requests go back to a former leader, which refuses them: writes and reads wait for newer metadata."),
    Rule("older-hint-is-ignored", "SEED-951-12",
         "A client accepts new leader information only if its leader epoch is greater than the one it knows.",
         "Requests go back to a former leader, which refuses them: writes and reads wait for newer metadata."),
    Rule("newer-hint-is-used", "SEED-951-13",
         "The client uses an accepted leader in subsequent retries of produce and fetch.",
         "The time that KIP-951 saves: with each election requests wait for a refusal, a backoff and metadata."),
    Rule("newer-metadata-is-used", "KIP-320",
         "Metadata with a newer leader epoch replaces the leader that the client knows.",
         "Requests go to a broker that does not lead: writes wait until they time out, reads stand still."),
    Rule("no-leader-no-request", "not in a KIP",
         "A newer answer that names no leader removes the old one: nothing is sent until there is a leader.",
         "Brokers are loaded by requests that cannot succeed, while a partition has no leader."),
    Rule("errors-name-no-leader", "confluentinc/librdkafka#4907",
         "A metadata answer with an error for the topic changes no leader.",
         "Requests go to a broker that an answer with an error happened to name, and wait until metadata is right."),
    Rule("only-to-named-leaders", "KIP-951",
         "Produce and fetch requests go to a broker that was named leader.",
         "Requests are refused by brokers that have nothing to do with the partition, and wait."),
    Rule("error-asks-for-metadata", "SEED-951-17",
         "After such an error the client requests an expedited asynchronous metadata refresh.",
         "The client stays at a former leader until metadata is due: after five minutes by default."),
    Rule("retry-waits-for-the-backoff", "SEED-951-21",
         "Subsequent retries to the same leader epoch are still subject to the backoff.",
         "A loop without a pause: client and broker are busy with refusals for as long as the error lasts."),
    Rule("epoch-is-not-forgotten", "twmb/franz-go#1331",
         "A metadata answer without leader and epoch does not erase the leader epoch.",
         "Older news is believed again, and a truncation can go unnoticed."),
    Rule("validates-before-delivering", "KIP-320",
         "On a new leader epoch the position is validated by OffsetForLeaderEpoch first.",
         "If the new leader's log is shorter or another one, records are skipped or read twice without a report."),
    Rule("truncation-is-noticed", "KIP-320",
         "If records that were read are truncated, this is reported, or the position is reset as configured.",
         "The application keeps records that the log does not have, and never sees those in their place."),
    Rule("no-record-is-skipped", "KIP-320",
         "The consumer misses no record of the log without a report.",
         "The application never sees an acknowledged record."),
    Rule("no-record-is-delivered-twice", "KIP-320",
         "The consumer sees no record twice without a reset, and after a restart none before what was committed.",
         "The application processes a record twice."),
    Rule("preferred-replica-is-used", "KIP-392",
         "The consumer fetches from the replica that the leader names, until that replica refuses or the leader "
         "changes.",
         "Fetches go to the leader in another zone: traffic, which is billed, and latency."),
    Rule("errors-end-a-preference", "KIP-392",
         "The consumer does not fetch again at an offset that is out of range at the preferred replica.",
         "The consumer reads nothing more until the lease of the preferred replica ends, or it is restarted."),
    Rule("reports-are-true", "KIP-320",
         "A truncation, a loss or a reset is reported only if a record that was read is not in the leader's log.",
         "The application hears of a loss that did not happen: it stops, or resets its position."),
    Rule("retries-keep-their-sequence", "KIP-98",
         "Within a producer epoch a batch is sent again with the sequence that it had.",
         "Brokers cannot recognize the batch: it is written again, or taken for another one."),
    Rule("no-record-is-written-twice", "KIP-98",
         "An idempotent producer writes each record once.",
         "Consumers process a record twice, although the producer was configured against this."),
    Rule("acknowledged-records-are-written", "KIP-98",
         "What an idempotent producer reports as written is in the log.",
         "The application believes that a record is written that no consumer ever reads."),
    Rule("records-are-written-in-order", "KIP-98",
         "An idempotent producer writes records in the order in which they were given.",
         "Consumers see a newer state before an older one, and keep the older one."),
    Rule("stays-alive", "not in a KIP",
         "The process of a client does not die, whatever the cluster does.",
         "The application's process dies, with all that it does besides."),
    Rule("recovers", "K951-L1",
         "A client that is wrong about a partition's leader eventually finds it.",
         "Writes time out, or reads stand still, until the client is restarted."),
    Rule("finds-a-new-topic", "KAFKA-12257",
         "A producer eventually finds a recreated topic by its new id.",
         "Records for a topic that was created again are never written."),
)  # fmt: skip
NAMES = tuple(rule.name for rule in RULES)
