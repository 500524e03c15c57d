"""Rules for clients. Each rule names its source, and the harm to users when a client violates it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    name: str
    source: str
    sentence: str
    cost: str


RULES = (
    Rule("epochs-never-fall", "KIP-320",
         "The client remembers a partition's latest leader epoch and accepts no older one.",
         "The position is validated against a former leader's log, so the client does not notice a truncation."),
    Rule("older-metadata-is-ignored", "KIP-951",
         "Metadata with an older leader epoch never replaces newer leader information that the client has received.",
         "Requests go to a former leader again, which rejects them: writes and reads wait for newer metadata."),
    Rule("older-hint-is-ignored", "SEED-951-12",
         "A client accepts new leader information only if its leader epoch is greater than the one it knows.",
         "Requests go to a former leader again, which rejects them: writes and reads wait for newer metadata."),
    Rule("newer-hint-is-used", "KIP-951",
         "A hint with a newer leader epoch replaces the leader that the client knows.",
         "After such a hint, requests still wait for an error, a backoff and new metadata, as without KIP-951."),
    Rule("newer-metadata-is-used", "KIP-320",
         "Metadata with a newer leader epoch, or of a recreated topic, replaces the leader that the client knows.",
         "Requests go to a broker that is not the leader: writes time out, and reads make no progress."),
    Rule("no-leader-no-request", "not in a KIP",
         "If a newer answer says that there is no leader, the client forgets the old one and sends nothing until "
         "there is a leader again.",
         "While a partition has no leader, clients send brokers requests that cannot succeed."),
    Rule("errors-name-no-leader", "confluentinc/librdkafka#4907",
         "If a metadata answer contains an error for the topic, the client does not change any leader.",
         "Requests go to a broker that was named in an erroneous answer, and then wait for correct metadata."),
    Rule("only-to-named-leaders", "KIP-951",
         "Produce and fetch requests go only to brokers that an answer has named as the leader.",
         "Requests go to brokers that do not host the partition, are rejected, and have to wait."),
    Rule("error-asks-for-metadata", "SEED-951-17",
         "After an error that calls for new metadata, the client refreshes its metadata immediately and "
         "asynchronously.",
         "The client uses a former leader until its next metadata refresh, by default for up to five minutes."),
    Rule("retry-waits-for-the-backoff", "SEED-951-21",
         "Retries in the same leader epoch still wait for the retry backoff.",
         "While the error lasts, the client sends requests in a busy loop, and the broker rejects them."),
    Rule("epoch-is-not-forgotten", "twmb/franz-go#1331",
         "If a metadata answer has neither a leader nor an epoch, the client keeps the leader epoch that it knows.",
         "The client accepts outdated information about the leader again, and may not notice a truncation."),
    Rule("validates-before-delivering", "KIP-320",
         "When a consumer learns of a new leader epoch, it first validates its position with OffsetForLeaderEpoch.",
         "If the new leader's log is shorter or has diverged, the consumer silently skips records or reads them "
         "twice."),
    Rule("truncation-is-noticed", "KIP-320",
         "If records are truncated after they were read, the client reports this or resets the position as configured.",
         "The application keeps records that are no longer in the log, and never sees the records that replaced them."),
    Rule("no-record-is-skipped", "KIP-320",
         "The consumer does not silently skip a record in the log.",
         "The application misses an acknowledged record."),
    Rule("no-record-is-delivered-twice", "KIP-320",
         "The consumer reads no record twice unless its position is reset. After a restart, it reads nothing below "
         "the committed offset.",
         "The application processes a record twice."),
    Rule("preferred-replica-is-used", "KIP-392",
         "The consumer fetches from the replica that the leader names, until that replica returns an error, the "
         "leader changes, or the lease ends (`metadata.max.age.ms`).",
         "Fetches go to the leader in another zone, which adds latency and cross-zone traffic costs."),
    Rule("errors-end-a-preference", "KIP-392",
         "If the preferred replica answers that an offset is out of range, the consumer does not fetch that offset "
         "there again.",
         "The consumer reads nothing until its lease on the preferred replica expires or it restarts."),
    Rule("reports-are-true", "KIP-320",
         "The client reports a truncation, a loss or a reset only if a record that it has read is missing from the "
         "leader's log.",
         "The application is notified of a loss that did not happen, and stops or resets its position."),
    Rule("retries-keep-their-sequence", "KIP-98",
         "A retried batch keeps its sequence number for as long as the producer epoch stays the same.",
         "Brokers cannot recognize the retried batch: they write it again, or mistake it for another batch."),
    Rule("no-record-is-written-twice", "KIP-98",
         "An idempotent producer writes each record once.",
         "Consumers process a record twice, although idempotence was configured to prevent this."),
    Rule("acknowledged-records-are-written", "KIP-98",
         "A record is in the log if an idempotent producer reports that it was written.",
         "The application believes that a record was written, but no consumer ever reads it."),
    Rule("records-are-written-in-order", "KIP-98",
         "An idempotent producer writes records in the order in which the application sent them.",
         "Consumers read a newer value before an older one, and keep the older one."),
    Rule("stays-alive", "not in a KIP",
         "The client's process does not crash, whatever the cluster does.",
         "The application's process crashes, along with everything else that it was doing."),
    Rule("recovers", "K951-L1",
         "A client that assumes a wrong leader eventually finds the right one.",
         "Writes time out, or reads make no progress, until the client is restarted."),
    Rule("finds-a-new-topic", "KAFKA-12257",
         "A producer eventually finds a recreated topic under its new topic id.",
         "Records for a recreated topic are never written."),
)  # fmt: skip
NAMES = tuple(rule.name for rule in RULES)
