"""Rules for clients: each cites its source, and says what it costs users if a client violates it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    name: str
    source: str
    sentence: str
    cost: str


RULES = (
    Rule("epochs-never-fall", "KIP-320",
         "The client remembers the latest leader epoch of a partition and uses no older one.",
         "The position is validated against a former leader's log, so a truncation goes unnoticed."),
    Rule("older-metadata-is-ignored", "SEED-951-15",
         "Information from a stale leader never replaces leader information that the client has accepted.",
         "Requests go back to a former leader, which refuses them: writes and reads wait for newer metadata."),
    Rule("older-hint-is-ignored", "SEED-951-12",
         "A client accepts new leader information only if its leader epoch is greater than the one it knows.",
         "Requests go back to a former leader, which refuses them: writes and reads wait for newer metadata."),
    Rule("newer-hint-is-used", "SEED-951-13",
         "Once the client has accepted a new leader, it sends retries of produce and fetch requests to that leader.",
         "The client loses the time that KIP-951 saves: after each election, requests wait for a refusal, a backoff "
         "and new metadata."),
    Rule("newer-metadata-is-used", "KIP-320",
         "Metadata with a newer leader epoch replaces the leader that the client knows.",
         "Requests go to a broker that is not the leader: writes time out, and reads make no progress."),
    Rule("no-leader-no-request", "not in a KIP",
         "A newer answer without a leader replaces the known leader: the client sends nothing until there is a leader "
         "again.",
         "While a partition has no leader, brokers are loaded with requests that cannot succeed."),
    Rule("errors-name-no-leader", "confluentinc/librdkafka#4907",
         "A metadata answer with an error for the topic does not change any leader.",
         "Requests go to a broker that an erroneous answer happened to name, and wait for correct metadata."),
    Rule("only-to-named-leaders", "KIP-951",
         "Produce and fetch requests go only to brokers that an answer has named as leader.",
         "Requests go to brokers that do not host the partition; they are refused and have to wait."),
    Rule("error-asks-for-metadata", "SEED-951-17",
         "After an error that calls for new metadata, the client refreshes its metadata immediately and "
         "asynchronously.",
         "The client uses a former leader until its next metadata refresh, by default for up to five minutes."),
    Rule("retry-waits-for-the-backoff", "SEED-951-21",
         "Retries in the same leader epoch still wait for the backoff.",
         "Client and broker spend their time on refused requests, in a loop without a pause, for as long as the error "
         "lasts."),
    Rule("epoch-is-not-forgotten", "twmb/franz-go#1331",
         "A metadata answer without a leader and its epoch does not erase the known leader epoch.",
         "The client accepts outdated leader information again, and a truncation can go unnoticed."),
    Rule("validates-before-delivering", "KIP-320",
         "When a consumer learns of a new leader epoch, it first validates its position with OffsetForLeaderEpoch.",
         "If the new leader's log is shorter or has diverged, records are silently skipped or read twice."),
    Rule("truncation-is-noticed", "KIP-320",
         "If records that were read are truncated, the client reports this or resets the position as configured.",
         "The application keeps records that are not in the log, and never sees those that replaced them."),
    Rule("no-record-is-skipped", "KIP-320",
         "The consumer does not silently miss a record of the log.",
         "The application never sees an acknowledged record."),
    Rule("no-record-is-delivered-twice", "KIP-320",
         "The consumer sees no record twice unless its position is reset; after a restart, it sees none before the "
         "committed offset.",
         "The application processes a record twice."),
    Rule("preferred-replica-is-used", "KIP-392",
         "The consumer fetches from the replica that the leader names, until that replica returns an error or the "
         "leader changes.",
         "Fetches go to the leader in another zone, which adds latency and traffic that is billed."),
    Rule("errors-end-a-preference", "KIP-392",
         "If the preferred replica answers that an offset is out of range, the consumer does not fetch it there again.",
         "The consumer reads nothing until its lease of the preferred replica expires or it is restarted."),
    Rule("reports-are-true", "KIP-320",
         "The client reports a truncation, a loss or a reset only if a record that was read is missing from the "
         "leader's log.",
         "The application is notified of a loss that did not happen: it stops, or resets its position."),
    Rule("retries-keep-their-sequence", "KIP-98",
         "Within a producer epoch, a retried batch keeps its sequence number.",
         "Brokers cannot recognize the retried batch: they write it again or mistake it for another batch."),
    Rule("no-record-is-written-twice", "KIP-98",
         "An idempotent producer writes each record once.",
         "Consumers process a record twice although idempotence was configured to prevent this."),
    Rule("acknowledged-records-are-written", "KIP-98",
         "Records that an idempotent producer reports as written are in the log.",
         "The application believes that a record was written, but no consumer will ever read it."),
    Rule("records-are-written-in-order", "KIP-98",
         "An idempotent producer writes records in the order in which the application sent them.",
         "Consumers see a newer value before an older one, and keep the older one."),
    Rule("stays-alive", "not in a KIP",
         "The client's process does not crash, whatever the cluster does.",
         "The application's process crashes, including everything else that it does."),
    Rule("recovers", "K951-L1",
         "A client that assumes a wrong leader eventually finds the right one.",
         "Writes time out, or reads make no progress, until the client is restarted."),
    Rule("finds-a-new-topic", "KAFKA-12257",
         "A producer eventually finds a recreated topic under its new topic id.",
         "Records for a recreated topic are never written."),
)  # fmt: skip
NAMES = tuple(rule.name for rule in RULES)
