"""The mapping of `replication` to Kafka: what each action does to Kafka's classes, and where each field is read.

The controller consists of Kafka's ReplicationControlManager, ClusterControlManager and their dependencies. A broker
consists of LogManager, KRaftMetadataCache, ReplicaManager with Partition, Replica and UnifiedLog, ReplicaFetcherManager
with ReplicaFetcherThread and RemoteLeaderEndPoint, DefaultAlterPartitionManager and TopicConfigHandler. The clock,
scheduler, network and Raft are replaced; the controller's records are committed at once.

One image in the model is the metadata log up to and including the records of one controller action.
"""

from typing import Any

from fencepost.kafka.driver.ablation import rules_as_built
from fencepost.kafka.driver.execute import Act
from fencepost.model.cluster import constants
from fencepost.model.cluster.machine import MACHINE
from fencepost.model.language.constants import Constants

ACTIONS: dict[str, Act] = {
    "broker_crashes": Act(lambda _, broker, kept: f"crash {broker} {kept}",
        "The broker's objects are dropped without closing files; the broker's segment file keeps the first `kept` "
        "records. A fetch that RemoteLeaderEndPoint.buildFetch has already built can still be handled."),
    "broker_stops": Act(lambda _, broker: f"stop {broker}",
        "ReplicationControlManager.processBrokerHeartbeat with wantShutDown, after heartbeats of the other running "
        "brokers. If the answer is to stop, the broker's objects are dropped and its epoch is saved."),
    "broker_starts": Act(lambda _, broker, checkpoint: f"start {broker} {checkpoint}",
        "Like `broker_registers`, but without the registration. Until the broker registers, brokerEpochSupplier of "
        "the new ReplicaManager returns -1, like BrokerLifecycleManager. BrokerServer, which starts both classes, is "
        "not part of the driver."),
    "broker_registers": Act(lambda _, broker, checkpoint: f"register {broker} {checkpoint}",
        "ClusterControlManager.registerBroker for a new incarnation, after the previous session has expired. A new "
        "LogManager recovers the segment file, with `checkpoint` as the high watermark checkpoint, and applies the "
        "metadata log. A log is dropped if the metadata log does not contain its replica "
        "(LogManager.isStrayReplica). A process that is already running gets its broker epoch and applies new "
        "metadata."),
    "leader_deletes_records": Act(lambda _, leader, offset: f"delete {leader} {offset}",
        "Partition.deleteRecordsOnLeader."),
    "broker_writes_log_start": Act(lambda _, broker: f"write-start {broker}",
        "LogManager.checkpointLogStartOffsets, which no background thread calls in the driver."),
    "follower_is_out_of_range": Act(lambda _, leader, follower: f"out-of-range {leader} {follower}",
        "ReplicaManager.fetchMessages answers OFFSET_OUT_OF_RANGE, which AbstractFetcherThread.processFetchRequest "
        "handles. Requests of RemoteLeaderEndPoint are answered with the leader's log end and log start offsets."),
    "log_directory_fails": Act(lambda _, broker: f"fail {broker}",
        "ReplicaManager.handleLogDirFailure for the directory that contains the log; a fetch that was already built "
        "is delayed."),
    "log_directory_returns": Act(lambda _, broker: f"return {broker}",
        "The next process finds the directory's files unchanged, but no broker epoch from a clean shutdown."),
    "disk_is_replaced": Act(lambda _, broker: f"replace {broker}",
        "The next process finds an empty directory with another id, and no broker epoch from a clean shutdown."),
    "log_directory_is_taken_out": Act(lambda _, broker: f"take-out {broker}",
        "The next process, with one log directory fewer, reads the broker epoch of the clean shutdown from the other "
        "directories."),
    "controller_marks_directory_offline": Act(lambda _, broker: f"mark-offline {broker}",
        "ReplicationControlManager.handleDirectoriesOffline, called first if a heartbeat reports a failed directory."),
    "controller_assigns_directory": Act(lambda _, broker: f"assign {broker}",
        "ReplicationControlManager.handleAssignReplicasToDirs with the assignment that ReplicaManager passed to "
        "DirectoryEventHandler."),
    "controller_fences_broker": Act(lambda _, broker: f"fence {broker}",
        "The broker's last heartbeat is backdated by more than a session timeout, and "
        "ReplicationControlManager.maybeFenceOneStaleBroker is called."),
    "controller_unfences_broker": Act(lambda _, broker: f"unfence {broker}",
        "ReplicationControlManager.processBrokerHeartbeat, with the metadata offset that the broker has applied."),
    "controller_begins_shutdown": Act(lambda _, broker: f"begin-shutdown {broker}",
        "ReplicationControlManager.processBrokerHeartbeat with wantShutDown. For this call, a broker that does not "
        "lead becomes the leader of another topic, because it could otherwise shut down immediately."),
    "controller_elects_preferred": Act(lambda _, broker: f"elect {broker}", "ReplicationControlManager.electLeaders."),
    "operator_reassigns_replicas": Act(lambda seen, target: f"reassign {target | seen.fixed}",
        "ReplicationControlManager.alterPartitionReassignments with these brokers, ordered by number."),
    "operator_cancels_reassignment": Act(lambda _: "cancel",
        "ReplicationControlManager.alterPartitionReassignments without replicas."),
    "operator_turns_elr_off": Act(lambda _: "elr-off",
        "FeatureControlManager.replay with the FeatureLevelRecord that updateFeatures writes for a downgrade."),
    "operator_raises_min_isr": Act(lambda _: "min-isr 1",
        "ConfigurationControlManager.incrementalAlterConfigs for the topic's min.insync.replicas; with ELR, a "
        "ClearElrRecord follows."),
    "operator_lowers_min_isr": Act(lambda _: "min-isr -1", "The same."),
    "broker_applies_configs": Act(lambda _, broker, _index: f"configs {broker}",
        "TopicConfigHandler.processConfigChanges with the configuration from the applied image, as "
        "DynamicConfigPublisher calls it."),
    "controller_applies_alter_partition": Act(lambda seen, m: f"alter {seen.requests().number(m)}",
        "ReplicationControlManager.alterPartition with the request that DefaultAlterPartitionManager has sent."),
    "controller_finds_replica_ineligible": Act(lambda seen, m: f"alter {seen.requests().number(m)}", "The same."),
    "controller_refuses_alter_partition": Act(lambda seen, m: f"alter {seen.requests().number(m)}", "The same."),
    "broker_applies_metadata": Act(lambda seen, broker, index: f"apply {broker} {seen.frame.image + index}",
        "A MetadataDelta over the log up to the image: KRaftMetadataCache.setImage, ReplicaManager.applyDelta. A "
        "broker that no longer has a replica deletes its log (LogManager.asyncDelete)."),
    "leader_appends": Act(lambda _, leader: f"produce {leader}", "ReplicaManager.appendRecords with acks=all."),
    "leader_handles_fetch": Act(lambda _, leader, follower: f"fetch {leader} {follower}",
        "ReplicaManager.fetchMessages at the leader with the request that RemoteLeaderEndPoint.buildFetch built at "
        "the follower. An answer without records or a new high watermark is handled immediately, because the leader "
        "would delay it."),
    "leader_reports_divergence": Act(lambda _, leader, follower: f"fetch {leader} {follower}", "The same."),
    "leader_handles_late_fetch": Act(lambda seen, m: f"late {seen.flying('late').number(m)}",
        "ReplicaManager.fetchMessages with a delayed request, whose answer is dropped."),
    "follower_lags_too_long": Act(lambda _, leader, follower: f"lag {leader} {follower}",
        "ReplicaState.lastCaughtUpTimeMs of this follower is backdated by more than replica.lag.time.max.ms."),
    "leader_requests_shrink": Act(lambda _, leader, members: f"shrink {leader} {members}",
        "Partition.maybeShrinkIsr at a time when only `members` have exceeded the lag time."),
    "leader_learns_change_applied": Act(lambda seen, m: f"answer {seen.requests().number(m)}",
        "The controller's answer is passed to the request's callback in DefaultAlterPartitionManager."),
    "leader_learns_change_refused": Act(lambda seen, m: f"answer {seen.requests().number(m)}", "The same."),
    "leader_resends_request": Act(lambda seen, m: f"resend {seen.requests().number(m)}",
        "DefaultAlterPartitionManager's request is sent twice, and the first response is used. The network client, "
        "which resends requests, is not part of the driver."),
    "log_changes_under_answer": Act(lambda _, follower: f"read {follower}",
        "FileRecords.readInto is called again on an answer of ReplicaManager.fetchMessages, which is a slice of the "
        "leader's file."),
    "follower_takes_late_answer": Act(lambda seen, m: f"take {seen.flying('lateAnswers').number(m)}",
        "AbstractFetcherThread.processFetchRequest with a delayed answer. With `divergence_judged_apart`, "
        "processFetchRequest was called earlier, and only the resulting truncateOnFetchResponse is called."),
    "follower_ignores_late_answer": Act(lambda seen, m: f"take {seen.flying('lateAnswers').number(m)}", "The same."),
    "late_answer_is_lost": Act(lambda seen, m: f"forget {seen.flying('lateAnswers').number(m)}",
        "The answer is dropped."),
    "follower_appends": Act(lambda _, follower: f"follow {follower}",
        "AbstractFetcherThread.processFetchRequest with the leader's answer."),
    "follower_truncates": Act(lambda _, follower: f"follow {follower}", "The same."),
}  # fmt: skip

NOT_DRIVEN: dict[str, str] = {
    "broker_expires_records": "logs have only one segment, because the driver rolls no segments",
    "disk_is_swapped": "Kafka makes no guarantees if files disappear while a broker is running",
    "leader_tells_epoch_end": "Fetch has contained the last fetched epoch since IBP 2.7, so OffsetForLeaderEpoch is "
    "not sent",
    "leader_requests_expansion": "the check and the request have been one step since KAFKA-15221",
    "leader_gives_up_waiting": "no release does this",
    "follower_trusts_diverging_answer": "only before KAFKA-14704",
}
FIELDS: dict[str, str] = {
    "image": "ReplicationControlManager.getPartition, ClusterControlManager.brokerRegistrations and "
        "ConfigurationControlManager.getConfigs after each action of the controller; the MetadataImage of each "
        "running broker must equal the image that it has applied",
    "newest": "the number of controller actions that wrote records", "elr": "PartitionRegistration.elr",
    "last_known_leader": "PartitionRegistration.lastKnownElr",
    "offline": "BrokerRegistration.hasOnlineDir of PartitionRegistration.directory",
    "adding": "PartitionRegistration.addingReplicas", "removing": "PartitionRegistration.removingReplicas",
    "replica.life": "whether the broker's objects exist, and whether a clean shutdown has saved its epoch",
    "replica.early": "whether the broker's objects exist but have no broker epoch yet",
    "replica.applied": "the position up to which the broker has applied the metadata log",
    "replica.raised": "UnifiedLog.config.minInSyncReplicas on brokers with a replica",
    "replica.log": "UnifiedLog.logSegments: record values and batch epochs, read from the segment file if the broker "
                   "is down",
    "replica.end": "the same",
    "replica.start": "UnifiedLog.logStartOffset; for a broker that is down, derived from its files and checkpoint",
    "replica.checkpoint": "the file log-start-offset-checkpoint",
    "replica.high_watermark": "UnifiedLog.highWatermark; for a broker that is down, its last value",
    "replica.isr": "Partition.partitionState.isr on the leader; maximalIsr must be its union with `proposed_isr`",
    "replica.partition_epoch": "Partition.getPartitionEpoch on the leader",
    "replica.proposed_isr": "sentLeaderAndIsr.isr of a PendingPartitionChange",
    "replica.epoch_start": "Partition.leaderEpochStartOffsetOpt",
    "replica.recent": "whether ReplicaState.lastCaughtUpTimeMs is within the lag time",
    "replica.follower": "Replica.stateSnapshot: log end offset, log start offset and broker epoch",
    "replica.offline": "whether the driver has made the log's directory fail; its Partition is then offline",
    "replica.moved": "whether the driver has replaced the directory, registered the broker and assigned the replica",
    "replica.waiting": "writes whose ReplicaManager.appendRecords callback is pending",
    "replica.answer": "an answer of ReplicaManager.fetchMessages that the follower has not handled yet",
    "alter_partitions": "requests of DefaultAlterPartitionManager, answers with error codes; `raised` is the sender's",
    "late_fetches": "FetchRequests whose sender is down",
    "late_answers": "answers of ReplicaManager.fetchMessages to fetches from an earlier leader epoch",
    "written": "appended writes", "ghost_acknowledged": "writes whose callback was called without an error",
}  # fmt: skip

NOT_COMPARED: dict[str, str] = {
    "elr_disabled": "the driver turns the feature off when the model does, and the result is compared",
    "replica.checked": "always empty since KAFKA-15221",
    "replica.truncating": "always off since IBP 2.7",
    "replica.last_epoch_lost": "always off since KAFKA-15510",
    "budget": "the model's remaining budget, which has no equivalent in Kafka",
    "ghost_committed": "follows from logs and high watermarks, which are compared",
    "ghost_committed_end": "follows from high watermarks, which are compared",
    "ghost_deleted": "follows from log starts, which are compared",
    "ghost_low_watermark": "follows from the log starts that leaders know, which are compared",
    "ghost_stale": "derived by the model from broker epochs, which are compared",
}
"""Fields that are copied from the model, each with the reason. The prefix of a broker's fields is `replica.`."""

ASIDE = (
    "the logs diverge in an epoch without records",
    "a broker that is down but not fenced yet delays a controlled shutdown",
    "the controller's ELR index contains a broker whose ELR was cleared",
    "a follower with an empty log has led an epoch without records",
)
LIMITS: tuple[str, ...] = (
    ("In the model, a log contains no leader epochs without records. In Kafka, a follower that led an epoch but wrote "
        "nothing in it sends this epoch in its fetch. If the leader answers that the logs diverge there, the answer "
        "is handled immediately, and the next fetch is compared. If the answer truncates records or the follower has "
        "stopped since, the history is abandoned."),
    ("The controller lets a broker shut down once every active broker has confirmed the change in a heartbeat. If a "
        "broker is down, Kafka also waits until that broker is fenced; the model does not. Kafka therefore allows "
        "less than the model, and histories with such a shutdown are abandoned."),
    ("If a follower has reached the log end offset that the leader had at the follower's previous fetch, Kafka "
        "considers the follower caught up as of that fetch. The driver's clock does not advance; the time of a fetch "
        "is backdated after the fetch was handled."),
    ("In the model, a request for the current replicas changes nothing. Kafka re-evaluates the partition after such a "
        "request: it empties the ELR if the ISR is large enough, completes a reassignment that can complete, replaces "
        "a fenced leader, and may reorder the replica list. In the model, the replica list always starts with the "
        "remaining replicas, ordered by number, followed by the replicas to be removed."),
    ("The controller replays a ClearElrRecord without updating its ELR index "
        "(ReplicationControlManager.removeTopicElrs). If a broker in the ELR index is in the ISR again and registers "
        "after an unclean shutdown, the partition changes twice. The model has no ELR index, so the history is "
        "abandoned."),
    ("A follower with an empty log accepts no answer from an earlier leader epoch, because it must first find its "
        "truncation offset. If the follower has led an epoch in between without writing a record, Kafka accepts the "
        "answer, and the history is abandoned."),
    ("The driver does not include Raft, controller failover, the network client, fetch sessions, quotas, tiered "
        "storage or transactions."),
)  # fmt: skip


def refuse(c: Constants) -> str | None:
    """Return why Kafka cannot be run with these constants, or None."""
    values: Any = c
    for name, why in AROUND.items():
        if int(getattr(values, name)):
            return f"{name} is set: {why}"
    if values.restart_high_watermark == constants.Checkpoint.LOG_START:
        return "restart_high_watermark=log-start: Kafka has a high watermark checkpoint"
    return None


AS_DRIVEN: dict[str, int] = {
    "truncation": int(constants.Truncation.FETCH), "fenced_answers": int(constants.FencedAnswers.IGNORED),
    "fetches_report": int(constants.Field.ABSENT), "any_preferred": 0, "waits_for_joining": 1,
    "alter_partition_version": 3,
}  # fmt: skip
"""Constants that have these values in every release since 4.0, or in the driver."""

AS_BUILT: tuple[str, ...] = (
    *("fetch_leader_epoch_check", "fetch_broker_epoch_check", "fenced_epoch_check", "fetch_carries_broker_epoch"),
    *("diverging_fetch_counts", "high_watermark_before_truncation", "last_epoch_lost_on_empty", "answers_match_epoch"),
    *("later_epochs_skipped", "log_start_flushed", "deletion_needs_high_watermark", "truncation_moves_checkpoint"),
    *("log_start_check", "epoch_start_recorded", "maximal_isr", "rollback_on", "epoch_start_check"),
    *("leader_eligibility_check", "leader_broker_epoch_check", "epochless_fetches", "broker_epoch_from"),
    *("atomic_expansion", "one_request_in_flight", "high_watermark_needs_min_isr", "high_watermark_only_rises"),
    *("wait_needs_eligibility", "reset_followers_on_reelection", "equal_partition_epoch_overwrites"),
    *("reported_high_watermark_counts", "isr_from_metadata", "answers_are_lost", "publishing", "answers_carry_min_isr"),
    *("metadata_in_shutdown", "acknowledge_after_leadership", "request_epoch_checks", "repeats_answers"),
    *("election_opens_epoch", "registration_opens_epoch", "unfencing_needs_isr", "registration_leaves_isr"),
    *("fenced_before_registration", "bump_leader_epoch_on_shrink", "removal_opens_epoch", "elr_within_replicas"),
    *("elr_judged_by", "min_isr_opens_partition_epoch", "leaderless_elr_is_cleared", "stale_elr_elects", "completion"),
    *("failed_directories_are_reported", "failed_directory_leaves_elr", "fewer_directories_are_unclean"),
    *("assignment_keeps_elr", "offline_replica_is_ineligible", "directory_check", "last_known_leader"),
    *("last_known_leader_check", "unclean_shutdown"),
)


def rules(version: str) -> dict[str, int]:
    before_elr = {"elr": 0} if version.startswith(BEFORE_ELR) else {}
    return {**AS_DRIVEN, **rules_as_built(MACHINE, version, AS_BUILT), **before_elr}


BEFORE_ELR = ("kafka-3.9",)
"""Versions whose releases support eligible leader replicas only in tests."""

AROUND: dict[str, str] = {
    "disk_swaps": NOT_DRIVEN["disk_is_swapped"],
    "expirations": NOT_DRIVEN["broker_expires_records"],
}

SMALL: dict[str, int] = {
    "brokers": 2, "max_records": 1, "metadata_lag": 1, "crashes": 1, "fences": 1, "shrinks": 1, "late_fetches": 0,
    "max_leader_epoch": 1,
}  # fmt: skip


def reset(c: Constants) -> str:
    values: Any = c
    isr, members, missing = 1 << values.initial_leader, 1, 0
    for broker in range(values.brokers):
        if values.movable - values.spare <= broker < values.movable:
            missing |= 1 << broker
        elif broker != values.initial_leader and members < values.initial_isr:
            isr, members = isr | 1 << broker, members + 1
    rules = f"{values.min_isr} {int(values.elr)} {int(values.unclean_election)}"
    holding = 0 if not values.late_answers else 2 if values.divergence_judged_apart else 1
    replicas = f"{values.initial_leader} {isr} {missing}"
    return f"reset {values.brokers} {rules} {replicas} {holding} {values.directories}"
