"""Mapping between `replication` and Kafka: the effect of each action on the classes, and the source of each field.

The classes are Kafka's own: ReplicationControlManager, ClusterControlManager and their dependencies for the controller;
LogManager, KRaftMetadataCache, ReplicaManager with Partition, Replica and UnifiedLog, ReplicaFetcherManager with its
ReplicaFetcherThread and RemoteLeaderEndPoint, DefaultAlterPartitionManager and TopicConfigHandler for each broker. Not
Kafka's are the clock, the scheduler, the network and Raft: the controller's writes are committed at once.

A model's image is the metadata log up to the end of one controller action's records.
"""

from typing import Any

from fencepost.kafka.driver.ablation import rules_as_built, set_otherwise
from fencepost.kafka.driver.execute import Act
from fencepost.model.cluster import constants
from fencepost.model.cluster.machine import MACHINE
from fencepost.model.language.constants import Constants

ACTIONS: dict[str, Act] = {
    "broker_crashes": Act(lambda _, broker, kept: f"crash {broker} {kept}",
        "The broker's objects are dropped with their files open; the first `kept` records of its segment file are "
        "kept. The fetch that RemoteLeaderEndPoint.buildFetch has built has yet to be handled."),
    "broker_stops": Act(lambda _, broker: f"stop {broker}",
        "ReplicationControlManager.processBrokerHeartbeat with wantShutDown, after heartbeats of the other brokers "
        "that run; if the answer is to stop, the broker's objects are dropped and its epoch is saved."),
    "broker_starts": Act(lambda _, broker, checkpoint: f"start {broker} {checkpoint}",
        "The same as `broker_registers` except for the registration: until then brokerEpochSupplier of the new "
        "ReplicaManager says -1, as BrokerLifecycleManager does. BrokerServer, which starts both, is not among the "
        "classes here."),
    "broker_registers": Act(lambda _, broker, checkpoint: f"register {broker} {checkpoint}",
        "ClusterControlManager.registerBroker of a new incarnation, after the session of the old one has ended; a "
        "new ReplicaManager, a LogManager that recovers the segment file, with `checkpoint` in the file of high "
        "watermarks, unless the metadata log, which it applies, has no such replica (LogManager.isStrayReplica). If "
        "the process is already running, it gets its epoch and applies new metadata."),
    "leader_deletes_records": Act(lambda _, leader, offset: f"delete {leader} {offset}",
        "Partition.deleteRecordsOnLeader."),
    "broker_writes_log_start": Act(lambda _, broker: f"write-start {broker}",
        "LogManager.checkpointLogStartOffsets. No thread does this here."),
    "follower_is_out_of_range": Act(lambda _, leader, follower: f"out-of-range {leader} {follower}",
        "ReplicaManager.fetchMessages answers OFFSET_OUT_OF_RANGE; AbstractFetcherThread.processFetchRequest with "
        "that, and the leader's log end and log start for what RemoteLeaderEndPoint asks then."),
    "log_directory_fails": Act(lambda _, broker: f"fail {broker}",
        "ReplicaManager.handleLogDirFailure for the directory with the log; the fetch that was built is left behind."),
    "log_directory_returns": Act(lambda _, broker: f"return {broker}",
        "The next process finds the directory's files unchanged, without the epoch of a clean shutdown."),
    "disk_is_replaced": Act(lambda _, broker: f"replace {broker}",
        "The next process finds an empty directory with another id, without the epoch of a clean shutdown."),
    "log_directory_is_taken_out": Act(lambda _, broker: f"take-out {broker}",
        "The next process has one log directory fewer. It adopts the epoch of a clean shutdown from the other "
        "directories."),
    "controller_marks_directory_offline": Act(lambda _, broker: f"mark-offline {broker}",
        "ReplicationControlManager.handleDirectoriesOffline, which a heartbeat that reports the directory calls "
        "first."),
    "controller_assigns_directory": Act(lambda _, broker: f"assign {broker}",
        "ReplicationControlManager.handleAssignReplicasToDirs with what ReplicaManager has passed to "
        "DirectoryEventHandler of its log."),
    "controller_fences_broker": Act(lambda _, broker: f"fence {broker}",
        "The broker's last heartbeat is dated further back than a session lasts; "
        "ReplicationControlManager.maybeFenceOneStaleBroker."),
    "controller_unfences_broker": Act(lambda _, broker: f"unfence {broker}",
        "ReplicationControlManager.processBrokerHeartbeat, with the metadata offset that the broker has applied."),
    "controller_begins_shutdown": Act(lambda _, broker: f"begin-shutdown {broker}",
        "ReplicationControlManager.processBrokerHeartbeat with wantShutDown. A broker that leads nothing leads "
        "another topic for this moment: otherwise it would be released at once."),
    "controller_elects_preferred": Act(lambda _, broker: f"elect {broker}", "ReplicationControlManager.electLeaders."),
    "operator_reassigns_replicas": Act(lambda seen, target: f"reassign {target | seen.fixed}",
        "ReplicationControlManager.alterPartitionReassignments with these brokers in the order of their numbers."),
    "operator_cancels_reassignment": Act(lambda _: "cancel",
        "ReplicationControlManager.alterPartitionReassignments without replicas."),
    "operator_turns_elr_off": Act(lambda _: "elr-off",
        "FeatureControlManager.replay of what updateFeatures writes for a downgrade (FeatureLevelRecord)."),
    "operator_raises_min_isr": Act(lambda _: "min-isr 1",
        "ConfigurationControlManager.incrementalAlterConfigs of the topic's min.insync.replicas; with ELR a "
        "ClearElrRecord follows."),
    "operator_lowers_min_isr": Act(lambda _: "min-isr -1", "The same."),
    "broker_applies_configs": Act(lambda _, broker, _index: f"configs {broker}",
        "TopicConfigHandler.processConfigChanges with the configuration of the image that was applied, as "
        "DynamicConfigPublisher calls it."),
    "controller_applies_alter_partition": Act(lambda seen, m: f"alter {seen.requests().number(m)}",
        "ReplicationControlManager.alterPartition with the request that DefaultAlterPartitionManager has sent."),
    "controller_finds_replica_ineligible": Act(lambda seen, m: f"alter {seen.requests().number(m)}", "The same."),
    "controller_refuses_alter_partition": Act(lambda seen, m: f"alter {seen.requests().number(m)}", "The same."),
    "broker_applies_metadata": Act(lambda seen, broker, index: f"apply {broker} {seen.frame.image + index}",
        "One MetadataDelta over the log up to the image: KRaftMetadataCache.setImage, ReplicaManager.applyDelta. A "
        "broker that no longer has a replica deletes its log (LogManager.asyncDelete)."),
    "leader_appends": Act(lambda _, leader: f"produce {leader}", "ReplicaManager.appendRecords with acks=all."),
    "leader_handles_fetch": Act(lambda _, leader, follower: f"fetch {leader} {follower}",
        "The follower's request as RemoteLeaderEndPoint.buildFetch builds it; ReplicaManager.fetchMessages at the "
        "leader. An answer without records that does not change the high watermark is handled at once: the leader "
        "would hold it back."),
    "leader_reports_divergence": Act(lambda _, leader, follower: f"fetch {leader} {follower}", "The same."),
    "leader_handles_late_fetch": Act(lambda seen, m: f"late {seen.flying('late').number(m)}",
        "ReplicaManager.fetchMessages with the request that was left behind; its answer is dropped."),
    "follower_lags_too_long": Act(lambda _, leader, follower: f"lag {leader} {follower}",
        "ReplicaState.lastCaughtUpTimeMs of this follower is dated further back than replica.lag.time.max.ms."),
    "leader_requests_shrink": Act(lambda _, leader, members: f"shrink {leader} {members}",
        "Partition.maybeShrinkIsr, at a time when only `members` were last caught up longer ago than the lag time."),
    "leader_learns_change_applied": Act(lambda seen, m: f"answer {seen.requests().number(m)}",
        "The controller's answer goes to the request's callback in DefaultAlterPartitionManager."),
    "leader_learns_change_refused": Act(lambda seen, m: f"answer {seen.requests().number(m)}", "The same."),
    "leader_resends_request": Act(lambda seen, m: f"resend {seen.requests().number(m)}",
        "The request that DefaultAlterPartitionManager has sent is on its way twice, and the first answer counts; "
        "the network client that sends again is not among the classes here."),
    "log_changes_under_answer": Act(lambda _, follower: f"read {follower}",
        "FileRecords.readInto again on what ReplicaManager.fetchMessages has answered, a part of the leader's file."),
    "follower_takes_late_answer": Act(lambda seen, m: f"take {seen.flying('lateAnswers').number(m)}",
        "AbstractFetcherThread.processFetchRequest with the answer that was left behind; with "
        "`divergence_judged_apart` it has been called before, and only the resulting truncateOnFetchResponse is "
        "called now."),
    "follower_ignores_late_answer": Act(lambda seen, m: f"take {seen.flying('lateAnswers').number(m)}", "The same."),
    "late_answer_is_lost": Act(lambda seen, m: f"forget {seen.flying('lateAnswers').number(m)}",
        "The answer is dropped."),
    "follower_appends": Act(lambda _, follower: f"follow {follower}",
        "AbstractFetcherThread.processFetchRequest with the answer that the leader gave."),
    "follower_truncates": Act(lambda _, follower: f"follow {follower}", "The same."),
}  # fmt: skip

NOT_DRIVEN: dict[str, str] = {
    "broker_expires_records": "a log is one segment here, which the driver never rolls",
    "disk_is_swapped": "files that vanish under a running broker are outside of what Kafka promises",
    "leader_tells_epoch_end": "Fetch carries the last epoch since IBP 2.7: OffsetForLeaderEpoch is not asked",
    "leader_requests_expansion": "check and request are one step since KAFKA-15221",
    "leader_gives_up_waiting": "no release does this",
    "follower_trusts_diverging_answer": "only before KAFKA-14704",
}
"""Actions without a command to Kafka, and why. None is enabled under constants that `refuse` accepts."""

FIELDS: dict[str, str] = {
    "image": "ReplicationControlManager.getPartition, ClusterControlManager.brokerRegistrations and "
    "ConfigurationControlManager.getConfigs "
    "after each of the controller's actions; each running broker's own MetadataImage must equal the "
    "image that it has applied",
    "newest": "how often the controller has written",
    "elr": "PartitionRegistration.elr",
    "last_known_leader": "PartitionRegistration.lastKnownElr",
    "offline": "BrokerRegistration.hasOnlineDir of PartitionRegistration.directory",
    "adding": "PartitionRegistration.addingReplicas",
    "removing": "PartitionRegistration.removingReplicas",
    "replica.life": "whether the broker's objects are there, and whether a clean shutdown has saved its epoch",
    "replica.early": "whether the broker's objects are there, and have no broker epoch yet",
    "replica.applied": "how far the broker has applied the metadata log",
    "replica.raised": "UnifiedLog.config.minInSyncReplicas of who has a replica",
    "replica.log": "UnifiedLog.logSegments: each record's value and its batch's leader epoch; of a broker that is "
    "down, its segment file",
    "replica.end": "the same",
    "replica.start": "UnifiedLog.logStartOffset; of a broker that is down, what its files and checkpoint lead to",
    "replica.checkpoint": "the file log-start-offset-checkpoint",
    "replica.high_watermark": "UnifiedLog.highWatermark; of a broker that is down, the last one",
    "replica.isr": "Partition.partitionState.isr of a leader; maximalIsr must be this with `proposed_isr`",
    "replica.partition_epoch": "Partition.getPartitionEpoch of a leader",
    "replica.proposed_isr": "sentLeaderAndIsr.isr of a PendingPartitionChange",
    "replica.epoch_start": "Partition.leaderEpochStartOffsetOpt",
    "replica.recent": "ReplicaState.lastCaughtUpTimeMs within the lag time",
    "replica.follower": "Replica.stateSnapshot: log end offset, log start offset and broker epoch",
    "replica.offline": "whether the log's directory has failed, by the driver; then its Partition is offline",
    "replica.moved": "how far the driver has replaced the directory, registered the broker and assigned it",
    "replica.waiting": "writes whose callback ReplicaManager.appendRecords has not called yet",
    "replica.answer": "the answer of ReplicaManager.fetchMessages that the follower has still to handle",
    "alter_partitions": "requests that DefaultAlterPartitionManager has sent, and the controller's answers, with error "
    "codes; `raised` of a "
    "request is the sender's when it was sent",
    "late_fetches": "FetchRequests whose sender is down",
    "late_answers": "answers of ReplicaManager.fetchMessages to what followers asked in an earlier leader epoch",
    "written": "writes that were appended",
    "ghost_acknowledged": "writes whose callback got no error",
}

NOT_COMPARED: dict[str, str] = {
    "elr_disabled": "the feature is turned off as the model says, and the result is compared",
    "replica.checked": "always empty since KAFKA-15221",
    "replica.truncating": "always off since IBP 2.7",
    "replica.last_epoch_lost": "always off since KAFKA-15510",
    "budget": "counts what the model has left, nothing of Kafka",
    "ghost_committed": "follows from logs and high watermarks, which are compared",
    "ghost_committed_end": "follows from high watermarks, which are compared",
    "ghost_deleted": "follows from log starts, which are compared",
    "ghost_low_watermark": "follows from log starts as leaders know them, which are compared",
    "ghost_stale": "a judgement of the model on broker epochs, which are compared",
}
"""Fields that are copied from the model, and why. `replica.` stands for the fields of each broker."""

ASIDE = (
    "the logs diverge over an epoch without records",
    "a broker that is down and not fenced yet holds up a controlled shutdown",
    "the controller's index of the ELR names a broker that was cleared",
    "a follower with an empty log has led an epoch without records",
)
"""Kafka's reasons for refusing a step that the model allows; `LIMITS` explains them."""

LIMITS: tuple[str, ...] = (
    ("The model has no leader epochs without records in a log's epochs. A follower that led and wrote nothing names "
     "such an epoch in its fetch; if the leader answers that the logs diverge there, the answer is handled at once, "
     "and the next fetch is compared. Where records are cut off by that, or the follower has gone down since, this "
     "is impossible: the history is set aside."),
    ("The controller releases a broker that shuts down once every active broker has reported in a heartbeat that it "
     "knows. It also waits for a broker that is down until it is fenced; the model does not. Kafka allows less, and "
     "such a history is set aside."),
    ("Kafka also counts a follower as caught up as of its previous fetch, if it has now reached the leader's log end "
     "of that time; time stands still here, and the time of a fetch is set far back once it was handled."),
    ("An operator who names the current replicas changes nothing in the model. Kafka then examines the partition "
     "again: the ELR is emptied if the ISR is large enough, a reassignment that can end does, a fenced leader is "
     "replaced, and the order of the list may change. The model's list always has the remaining replicas, ordered by "
     "number, and then those to be removed."),
    ("The controller replays a ClearElrRecord without updating its index of the ELR "
     "(ReplicationControlManager.removeTopicElrs). If such a broker is in the ISR again and registers unclean, the "
     "partition is changed twice. The model has no such index; the history is set aside."),
    ("A follower with an empty log takes no answer of an earlier leader epoch, since it must first find out where to "
     "truncate. If it led an epoch in between and wrote nothing, it need not: the history is set aside."),
    ("Raft, fail-over of the controller, the network client, sessions of fetches, quotas, tiered storage and "
     "transactions are missing here."),
)  # fmt: skip


def refuse(c: Constants, version: str) -> str | None:
    """Return why Kafka cannot be driven with these constants; None if it can.

    The switches must be as in this version of the model.
    """
    values: Any = c
    for name, why in AROUND.items():
        if int(getattr(values, name)):
            return f"{name} is set: {why}"
    if other := set_otherwise(c, rules(version)):
        return other
    if values.restart_high_watermark == constants.Checkpoint.LOG_START:
        return "restart_high_watermark=log-start: Kafka keeps a file of high watermarks"
    return None


AS_DRIVEN: dict[str, int] = {
    "truncation": int(constants.Truncation.FETCH),
    "fenced_answers": int(constants.FencedAnswers.IGNORED),
    "fetches_report": int(constants.Field.ABSENT),
    "any_preferred": 0,
    "waits_for_joining": 1,
    "alter_partition_version": 3,
}
"""Choices of every release since 4.0, or of the driver."""

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
"""The switches of the model that are Kafka's rules, as in each version of the model."""


def rules(version: str) -> dict[str, int]:
    """Return the constants of a version of the model that match Kafka and the driver."""
    before_elr = {"elr": 0} if version.startswith(BEFORE_ELR) else {}
    return {**AS_DRIVEN, **rules_as_built(MACHINE, version, AS_BUILT), **before_elr}


BEFORE_ELR = ("kafka-3.9",)
"""Versions of the model whose releases have no eligible leader replicas outside of tests."""

AROUND: dict[str, str] = {
    "disk_swaps": NOT_DRIVEN["disk_is_swapped"],
    "expirations": NOT_DRIVEN["broker_expires_records"],
}
"""Constants that add behaviour that is not driven, and the reason."""


SMALL: dict[str, int] = {
    "brokers": 2,
    "max_records": 1,
    "metadata_lag": 1,
    "crashes": 1,
    "fences": 1,
    "shrinks": 1,
    "late_fetches": 0,
    "max_leader_epoch": 1,
}
"""The configuration whose whole state graph is covered by default."""

LOSSES = (constants.Loss.NONE, constants.Loss.OUTSIDE_ISR, constants.Loss.ANY)


def reset(c: Constants) -> str:
    """Return the line that sets up a cluster in the model's initial state."""
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
