"""Classification of the guards of `replication` as checks in Kafka, physical conditions or bounds of the model. Guards
are identified by action and condition, so a new or changed guard is reported as unclassified.
"""

from collections.abc import Callable
from typing import Any

from fencepost.kafka.driver.ablation import Ablation, Check, Place, read_sizes
from fencepost.kafka.replication.brokers import REPLICA, STATE
from fencepost.kafka.replication.mapping import AS_BUILT, AS_DRIVEN, NOT_COMPARED, NOT_DRIVEN
from fencepost.model.cluster.controller import has_room
from fencepost.model.cluster.state import State, follows, is_running, leads, local, newest
from fencepost.model.language import NONE, bits
from fencepost.model.language.constants import Constants
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.language.records import Key

_LEADER = ("NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "KAFKA_STORAGE_ERROR")
_RUNS = ("the heartbeat is answered: run",)
_VALIDATE = "ReplicationControlManager.validateAlterPartitionData"
_HEARTBEAT = "BrokerHeartbeatManager.calculateNextBrokerState"

KAFKAS: dict[tuple[str, str], Check] = {
    ("controller-marks-directory-offline", "not bits.contains(s.offline, broker)"): Check(
        "BrokerRegistration.directoryIntersection: the broker no longer registers this directory"
    ),
    ("broker-stops", "image.leader != broker"): Check(f"{_HEARTBEAT}: it is a leader", _RUNS),
    ("broker-stops", "not waits or is_known_to_leave(s, c, broker)"): Check(
        f"{_HEARTBEAT}: an active broker has not yet confirmed the change", _RUNS
    ),
    ("controller-unfences-broker", "bits.contains(image.fenced, broker)"): Check(
        f"{_HEARTBEAT}: the broker is not fenced"
    ),
    ("controller-begins-shutdown", "bits.contains(active(c, image), broker)"): Check(
        f"{_HEARTBEAT}: the broker is fenced or already shutting down", ("the heartbeat is answered: stop", "")
    ),
    ("controller-elects-preferred", "image.leader != broker"): Check(
        "ReplicationControlManager.electLeader", ("ELECTION_NOT_NEEDED",)
    ),
    ("controller-elects-preferred", "bits.contains(image.isr & electable(s, c), broker)"): Check(
        "ReplicationControlManager.electLeader", ("PREFERRED_LEADER_NOT_AVAILABLE",)
    ),
    ("operator-reassigns-replicas", "isr & active(c, image) != 0 or not bits.contains(image.missing, first)"): Check(
        "PartitionRegistration.directory: the chosen leader does not have a replica yet", ("UNKNOWN_SERVER_ERROR",)
    ),
    ("operator-cancels-reassignment", "s.adding | s.removing != 0"): Check(
        "ReplicationControlManager.cancelPartitionReassignment", ("NO_REASSIGNMENT_IN_PROGRESS",)
    ),
    ("operator-cancels-reassignment", "stays != 0 or (c.unclean_election and originals != 0)"): Check(
        "ReplicationControlManager.cancelPartitionReassignment: an unclean election", ("INVALID_REPLICA_ASSIGNMENT",)
    ),
    (
        "controller-applies-alter-partition",
        "m.broker_epoch == image.broker_epoch[m.leader] or not c.request_epoch_checks",
    ): Check("ClusterControlManager.checkBrokerEpoch", ("STALE_BROKER_EPOCH",)),
    ("controller-applies-alter-partition", "m.leader_epoch == image.leader_epoch or not c.request_epoch_checks"): Check(
        _VALIDATE, ("FENCED_LEADER_EPOCH",)
    ),
    ("controller-applies-alter-partition", "m.leader == image.leader"): Check(_VALIDATE, ("INVALID_REQUEST",)),
    (
        "controller-applies-alter-partition",
        "m.partition_epoch == image.partition_epoch or not c.request_epoch_checks",
    ): Check(_VALIDATE, ("INVALID_UPDATE_VERSION",)),
    ("controller-applies-alter-partition", "bits.is_subset(m.isr, replicas(c, image))"): Check(
        f"{_VALIDATE}: Replicas.validateIsr", ("INVALID_REQUEST",)
    ),
    ("controller-applies-alter-partition", "is_eligible(s, c, m)"): Check(
        "ReplicationControlManager.ineligibleReplicasForIsr", ("INELIGIBLE_REPLICA",)
    ),
    ("controller-finds-replica-ineligible", "passes_epoch_checks(c, newest(s), m)"): Check(
        f"{_VALIDATE}: epochs are checked first",
        ("STALE_BROKER_EPOCH", "FENCED_LEADER_EPOCH", "INVALID_REQUEST", "INVALID_UPDATE_VERSION"),
    ),
    ("controller-finds-replica-ineligible", "not is_eligible(s, c, m)"): Check(
        "ReplicationControlManager.ineligibleReplicasForIsr: no replica is ineligible", ("",)
    ),
    ("controller-refuses-alter-partition", "not passes_epoch_checks(c, newest(s), m)"): Check(
        f"{_VALIDATE}: all epochs are current", ("", "INELIGIBLE_REPLICA")
    ),
    ("leader-appends", "leads(s, leader)"): Check(
        "ReplicaManager.getPartitionOrException", ("NOT_LEADER_OR_FOLLOWER",)
    ),
    ("leader-appends", "bits.size(r.isr) >= min_isr_of(s, c, leader)"): Check(
        "Partition.appendRecordsToLeader", ("NOT_ENOUGH_REPLICAS",)
    ),
    ("leader-handles-fetch", "serves(s, c, leader, follower)"): Check("Partition.localLogWithEpochOrThrow", _LEADER),
    ("leader-handles-fetch", "not is_stale_fetch(s, c, leader, follower, broker_epoch)"): Check(
        "Replica.updateFetchStateOrThrow", ("NOT_LEADER_OR_FOLLOWER",)
    ),
    ("leader-handles-fetch", "not departs(s, c, leader, follower)"): Check(
        "Partition.readRecords: a diverging epoch", ("",)
    ),
    ("leader-reports-divergence", "serves(s, c, leader, follower)"): Check(
        "Partition.localLogWithEpochOrThrow", _LEADER
    ),
    ("leader-reports-divergence", "departs(s, c, leader, follower)"): Check(
        "Partition.readRecords: no diverging epoch", ("",)
    ),
    ("leader-handles-late-fetch", "leads(s, m.leader)"): Check("Partition.localLogWithEpochOrThrow", _LEADER),
    (
        "leader-handles-late-fetch",
        "not c.fetch_leader_epoch_check or m.leader_epoch == local(s, m.leader).leader_epoch",
    ): Check("Partition.localLogWithEpochOrThrow", _LEADER),
    ("leader-handles-late-fetch", "not is_stale_fetch(s, c, m.leader, m.follower, m.broker_epoch)"): Check(
        "Replica.updateFetchStateOrThrow", ("NOT_LEADER_OR_FOLLOWER",)
    ),
    ("leader-handles-late-fetch", "not bits.contains(local(s, m.leader).missing, m.follower)"): Check(
        "Partition.followerReplicaOrThrow", ("NOT_LEADER_OR_FOLLOWER", "UNKNOWN_LEADER_EPOCH")
    ),
    ("leader-handles-fetch", "not is_out_of_range(s, leader, follower)"): Check(
        "Partition.readRecords", ("OFFSET_OUT_OF_RANGE",)
    ),
    ("leader-reports-divergence", "not is_out_of_range(s, leader, follower)"): Check(
        "Partition.readRecords", ("OFFSET_OUT_OF_RANGE",)
    ),
    ("follower-is-out-of-range", "serves(s, c, leader, follower)"): Check(
        "Partition.localLogWithEpochOrThrow", _LEADER
    ),
    ("leader-deletes-records", "leads(s, leader)"): Check(
        "Partition.deleteRecordsOnLeader", ("NOT_LEADER_OR_FOLLOWER", "KAFKA_STORAGE_ERROR")
    ),
    ("leader-deletes-records", "may_delete(c, r, offset)"): Check(
        "UnifiedLog.maybeIncrementLogStartOffset", ("OFFSET_OUT_OF_RANGE", "")
    ),
    ("leader-handles-late-fetch", "r.start <= m.offset <= r.end"): Check(
        "UnifiedLog.read", ("OFFSET_OUT_OF_RANGE", "the logs have diverged")
    ),
    ("leader-handles-late-fetch", "not log.departs(r, local(s, m.leader).leader_epoch, m.offset, m.last_epoch)"): Check(
        "Partition.readRecords: a diverging epoch", ("the logs have diverged",)
    ),
    ("follower-takes-late-answer", "is_taken(s, c, m)"): Check(
        "AbstractFetcherThread.processFetchRequest: the partition's epoch, offset or state has changed",
        ("the answer is ignored",),
    ),
    ("leader-requests-shrink", "may_request(s, c, leader)"): Check(
        "Partition.needsShrinkIsr, DefaultAlterPartitionManager: a request is pending"
    ),
    (
        "leader-requests-shrink",
        "all((r.follower[member].end < r.end for member in range(c.brokers) if bits.contains(members, member)))",
    ): Check("ReplicaState.isCaughtUp: the replica's log end offset equals the leader's"),
    ("leader-learns-change-applied", "is_awaited(s, m)"): Check(
        "Partition.handleAlterPartitionUpdate: the proposal has changed"
    ),
    ("leader-learns-change-refused", "is_awaited(s, m)"): Check(
        "Partition.handleAlterPartitionError: the proposal has changed"
    ),
}

PHYSICAL: dict[str, tuple[Place | str, ...]] = {
    "whether the process is running": (r"(not )?(has_process|is_running)\(s, broker\)",),
    "the contents of a log directory, and its broker's reports about it": (
        ("log-directory-fails", "r.offline == 0"),
        ("broker-writes-log-start", "r.offline == 0"),
        ("log-directory-fails", "not bits.contains(local(s, broker).missing, broker)"),
        ("log-directory-returns", "r.offline != 0"),
        ("controller-marks-directory-offline", "s.replica[broker].offline != 0"),
        ("controller-assigns-directory", "s.replica[broker].offline == 0"),
        ("controller-assigns-directory", "bits.contains(s.offline, broker)"),
    ),
    "which records a disk can lose": (r"kept .*",),
    "which values the high watermark checkpoint can contain": (r"checkpoint .*",),
    "metadata is applied in order": (
        ("broker-applies-metadata", "r.applied < index"),
        ("broker-applies-metadata", "index <= s.newest"),
        ("broker-applies-configs", "index <= s.newest"),
    ),
    "whether the message is a request or an answer": (r"is_sent\(m\)|m\.status .*",),
    "a follower has only one pending fetch": (r"f\.answer\.kind == Answer\.NONE",),
    "which answer has arrived": (
        ("log-changes-under-answer", "f.answer.kind == Answer.RECORDS"),
        ("log-changes-under-answer", "f.answer.record != 0"),
        ("log-changes-under-answer", "leader != NONE"),
        ("follower-appends", "r.answer.kind == Answer.RECORDS"),
        ("follower-truncates", "r.answer.kind == Answer.DIVERGING"),
    ),
    "a shorter file ends the connection": (("log-changes-under-answer", "f.end < s.replica[leader].end"),),
    "a fetch within the leader's log is another action": (
        ("follower-is-out-of-range", "is_out_of_range(s, leader, follower)"),
    ),
    "only a leader that awaits an answer resends a request": (("leader-resends-request", "is_awaited(s, m)"),),
    "only a leader knows how far followers lag": (
        ("follower-lags-too-long", "leads(s, leader)"),
        ("leader-requests-shrink", "leads(s, leader)"),
    ),
    "only ISR members can be removed": (
        ("leader-requests-shrink", "bits.is_subset(members, bits.without(r.isr, leader))"),
    ),
    "every heartbeat of a broker that is shutting down requests the shutdown": (
        ("controller-unfences-broker", "not bits.contains(image.stopping, broker)"),
    ),
}
BOUNDS: dict[str, tuple[Place | str, ...]] = {
    "a size of the model": (r"has_room\(s, c\)",),
    "a budget": (
        *(r"(asked or )?s\.budget\.\w+ > 0", r"s\.written < c\.max_records", r"offset <= c\.deletions"),
        r"broker < c\.directories",
    ),
    "the maximum leader epoch": (r".*c\.max_leader_epoch",),
    "a fault is only possible within its budget": (("log-changes-under-answer", "c.records_read_late"),),
    "a record with the same value has no effect": (("log-changes-under-answer", "sent.record != f.answer.record"),),
    "`follower-takes-late-answer` has the same check": (("follower-ignores-late-answer", "not is_taken(s, c, m)"),),
    "the loss of an answer that would be ignored has no other effect": (("late-answer-is-lost", "is_taken(s, c, m)"),),
    "turning ELR off again has no effect": (("operator-turns-elr-off", "c.elr"),),
    "always true under Kafka's rules": (
        ("broker-registers", "bits.contains(image.fenced, broker) or not c.fenced_before_registration"),
        ("broker-applies-metadata", "r.checked == 0 or not changes"),
        ("leader-appends", "r.checked == 0"),
        ("controller-marks-directory-offline", "c.failed_directories_are_reported"),
        ("leader-handles-fetch", "not f.truncating"),
        ("follower-is-out-of-range", "not f.truncating"),
        ("broker-writes-log-start", "not c.log_start_flushed"),
        ("leader-handles-fetch", "not is_unknown_epoch(c, r, fetched_epoch(c, f))"),
        ("leader-reports-divergence", "not f.truncating"),
        ("leader-learns-change-applied", "s.replica[m.leader].checked == 0"),
        ("leader-learns-change-refused", "s.replica[m.leader].checked == 0"),
        ("broker-applies-metadata", "r.raised == new.raised or c.publishing != Publishing.CONFIGS_FIRST"),
        ("broker-applies-configs", "c.publishing != Publishing.TOGETHER"),
        ("broker-applies-configs", "r.raised == local(s, broker).raised or c.publishing == Publishing.TOPICS_FIRST"),
    ),
    "ending a session again has no effect": (("controller-fences-broker", "not bits.contains(image.fenced, broker)"),),
    "broker 0 is always the preferred leader": (
        (
            "controller-elects-preferred",
            "broker == first_in_order(c, replicas(c, image), s.removing) or c.any_preferred",
        ),
    ),
    "BrokerMetadataPublisher applies the partition before the configuration, and so does the driver": (
        ("broker-applies-metadata", "r.raised == old.raised or c.publishing != Publishing.TOPICS_FIRST"),
        (
            "broker-applies-configs",
            "r.applied == index if c.publishing == Publishing.TOPICS_FIRST else r.applied < index",
        ),
    ),
    "applying the configuration again has no effect": (
        ("broker-applies-configs", "r.raised != s.image[index].raised"),
    ),
    "a min ISR above the number of brokers has no further effect": (
        ("operator-raises-min-isr", "c.min_isr + newest(s).raised < c.brokers"),
    ),
    "LogConfig rejects a min ISR of 0 before the controller does": (
        ("operator-lowers-min-isr", "c.min_isr + newest(s).raised > 1"),
    ),
    "partitions with fewer replicas are not explored": (
        ("operator-reassigns-replicas", "bits.size(wanted) >= max(1, c.least_replicas)"),
    ),
    "a request for the current replicas has no effect in the model (a known limit)": (
        ("operator-reassigns-replicas", "missing != image.missing or adding != s.adding or removing != s.removing"),
    ),
    "a fetch without new information has no effect": (("leader-handles-fetch", "brings_news(s, c, leader, follower)"),),
    "the follower already lags": (("follower-lags-too-long", "bits.contains(r.recent, follower)"),),
    "a shrink without members to remove has no effect": (("leader-requests-shrink", "members != 0"),),
    "writing the same value again has no effect": (
        ("broker-writes-log-start", "r.checkpoint != (r.start if r.start > log.first_in_files(r) else 0)"),
    ),
}


def _fetches(s: State, leader: int, follower: int) -> bool:
    return follows(s, follower, leader)


def _is_there(s: State, m: Any) -> bool:
    return is_running(s, m.leader) and m.broker_epoch == newest(s).broker_epoch[m.leader]


NEEDS: dict[str, Callable[..., bool]] = {
    "leader_appends": lambda s, _, leader: is_running(s, leader),
    "leader_handles_fetch": lambda s, _, leader, follower: is_running(s, leader) and _fetches(s, leader, follower),
    "leader_reports_divergence": lambda s, _, leader, follower: is_running(s, leader) and _fetches(s, leader, follower),
    "leader_handles_late_fetch": lambda s, _, m: is_running(s, m.leader),
    "leader_deletes_records": lambda s, _, leader, offset: offset > 0 and is_running(s, leader),
    "follower_is_out_of_range": lambda s, _, leader, follower: is_running(s, leader) and _fetches(s, leader, follower),
    "leader_learns_change_applied": lambda s, _, m: _is_there(s, m),
    "leader_learns_change_refused": lambda s, _, m: _is_there(s, m),
}

SHADOWED: dict[tuple[str, str], str] = {
    (
        "controller-applies-alter-partition",
        "bits.is_subset(m.isr, replicas(c, image))",
    ): "a request that names a removed replica also has an old partition epoch",
    (
        "leader-handles-late-fetch",
        "not bits.contains(local(s, m.leader).missing, m.follower)",
    ): "removing a replica starts a leader epoch, and the fetch has an older leader epoch",
    (
        "leader-handles-fetch",
        "not is_stale_fetch(s, c, leader, follower, broker_epoch)",
    ): "a running follower has the latest broker epoch; `leader-handles-late-fetch` has the same check",
    (
        "leader-learns-change-refused",
        "is_awaited(s, m)",
    ): "while an answer is pending, the leader makes no other proposal that would have to be reverted",
}
UNSEEN: dict[str, str] = {
    "rollback_on=timeout": "the rule only affects an action that neither a release nor the driver supports",
    "answers_are_lost": "the rule concerns disconnects, but the network client is not part of the driver",
    "fenced_answers": "the rule concerns OffsetForLeaderEpoch, which followers have not sent since IBP 2.7",
    "stale_elr_elects": "the driver does not turn ELR off; `conform_changes` compares elections after that",
    "later_epochs_skipped": "a difference needs three brokers and four records; its history is executed separately",
    "answers_carry_min_isr": "a difference needs an order of publishing that the driver does not support",
    "fetches_report": "leaders use HighWatermark only if `reported_high_watermark_counts` is on",
}
"""Reasons why a changed rule has no visible effect in any executed history, by constant or by constant and value."""


ELR_RULES = (
    *("last_known_leader", "last_known_leader_check", "unclean_shutdown", "elr_within_replicas", "elr_judged_by"),
    *("leaderless_elr_is_cleared", "failed_directory_leaves_elr", "fewer_directories_are_unclean"),
    "assignment_keeps_elr",
)
ELR_CHECKS = (
    ("operator-reassigns-replicas", "isr & active(c, image) != 0 or not bits.contains(image.missing, first)"),
)
_NO_ELR = "the rule concerns eligible leader replicas, which are off in this version"

GROUNDS = read_sizes(
    "brokers=2 alter_partitions=3 metadata_lag=4 crashes=1 fences=1 shrinks=1 max_leader_epoch=2",
    "brokers=2 initial_isr=1 metadata_lag=1 crashes=1 fences=0 shrinks=0 early_starts=1 max_leader_epoch=1",
    "brokers=2 max_records=2 metadata_lag=5 crashes=1 fences=0 shrinks=1 max_leader_epoch=3",
    "brokers=2 metadata_lag=5 crashes=0 clean_stops=1 shrinks=0 elections=1 max_leader_epoch=3",
    "brokers=2 initial_leader=1 metadata_lag=4 late_answers=1 crashes=0 fences=1 shrinks=0 elections=2 "
    "max_leader_epoch=3",
    "brokers=2 elr=0 loss=0 metadata_lag=5 crashes=1 fences=1 shrinks=0 max_leader_epoch=4",
    "brokers=2 min_isr=2 metadata_lag=6 crashes=0 fences=2 shrinks=0 max_leader_epoch=3",
    "brokers=2 elr=0 unclean_election=1 max_records=2 metadata_lag=6 crashes=0 fences=2 shrinks=0 max_leader_epoch=4",
    "brokers=3 metadata_lag=5 min_isr=2 crashes=1 fences=1 shrinks=1 lags=1 max_leader_epoch=3",
    "brokers=3 metadata_lag=5 min_isr=2 max_records=0 crashes=0 fences=2 shrinks=0 raises=1 lowers=1 "
    "max_leader_epoch=3",
    "brokers=2 metadata_lag=4 min_isr=1 crashes=0 fences=0 shrinks=1 raises=1 lowers=1 max_leader_epoch=1",
    "brokers=3 movable=3 min_isr=2 max_records=0 metadata_lag=4 crashes=0 fences=1 shrinks=0 "
    "reassignments=2 cancels=1 max_leader_epoch=3",
    "brokers=2 movable=2 min_isr=2 max_records=0 metadata_lag=6 crashes=0 fences=2 shrinks=0 "
    "reassignments=2 cancels=1 max_leader_epoch=4",
    "brokers=3 movable=3 spare=2 max_records=0 metadata_lag=4 crashes=0 fences=1 shrinks=0 "
    "reassignments=1 cancels=1 max_leader_epoch=2",
    "brokers=3 alter_partitions=3 movable=3 spare=1 max_records=0 metadata_lag=4 crashes=0 fences=1 shrinks=0 "
    "reassignments=1 max_leader_epoch=2",
    "brokers=2 min_isr=2 max_records=0 metadata_lag=4 crashes=0 fences=0 shrinks=0 clean_stops=2 directories=1 "
    "directory_failures=1 directory_removals=1 disk_replacements=1 max_leader_epoch=4",
    "brokers=2 initial_leader=1 initial_isr=1 max_records=0 metadata_lag=3 crashes=0 fences=0 shrinks=0 directories=1 "
    "directory_failures=1 max_leader_epoch=1",
    "brokers=2 loss=0 metadata_lag=4 crashes=1 fences=0 shrinks=1 deletions=1 max_leader_epoch=2",
    "brokers=2 elr=0 unclean_election=1 initial_isr=1 metadata_lag=6 alter_partitions=4 loss=0 crashes=1 fences=1 "
    "shrinks=0 deletions=1 max_leader_epoch=4",
)


def _leaders_see(s: State, c: Any, *, fenced: bool, stopping: bool) -> bool:
    images = [local(s, leader) for leader in range(c.brokers) if leads(s, leader)]
    return all((i.fenced != 0) is fenced and (i.stopping != 0) is stopping for i in images) and bool(images)


def _asked_for(s: State, c: Any, m: Any) -> tuple[bool, bool, bool]:
    i = newest(s)
    members = [b for b in range(c.brokers) if bits.contains(m.isr, b)]
    again = any(m.member_epoch[b] not in (NONE, i.broker_epoch[b]) for b in members)
    return m.isr & i.fenced != 0, m.isr & i.stopping != 0, again


CONDITIONS: dict[str, dict[str, Callable[..., bool]]] = {
    "leader_eligibility_check=off": {
        "fenced": lambda s, c, *_: _leaders_see(s, c, fenced=True, stopping=False),
        "shutting down": lambda s, c, *_: _leaders_see(s, c, fenced=False, stopping=True),
    },
    "is_eligible(s, c, m)": {
        "fenced": lambda s, c, m: _asked_for(s, c, m) == (True, False, False),
        "shutting down": lambda s, c, m: _asked_for(s, c, m) == (False, True, False),
        "broker epoch": lambda s, c, m: _asked_for(s, c, m) == (False, False, True),
    },
}
ANSWERS = {
    "leader_learns_change_applied": STATE["alter_partitions"],
    "leader_learns_change_refused": STATE["alter_partitions"],
    "follower_takes_late_answer": STATE["late_answers"],
}
_STATE_COMPARED = tuple(place for name, place in STATE.items() if name != "replica" and name not in NOT_COMPARED)
_REPLICA_COMPARED = tuple(place for name, place in REPLICA.items() if f"replica.{name}" not in NOT_COMPARED)


def _unseen(constants: Constants) -> dict[str, str]:
    return UNSEEN if constants.values["elr"] else {**UNSEEN, **dict.fromkeys(ELR_RULES, _NO_ELR)}


def _shadowed(constants: Constants) -> dict[tuple[str, str], str]:
    return SHADOWED if constants.values["elr"] else {**SHADOWED, **dict.fromkeys(ELR_CHECKS, _NO_ELR)}


def _compared(_: Interpreter, key: Key) -> Key:
    replicas = tuple(tuple(r[place] for place in _REPLICA_COMPARED) for r in key[STATE["replica"]])
    return (*(key[place] for place in _STATE_COMPARED), replicas)


def _has_room(s: State, constants: Constants) -> bool:
    """Return whether the model's controller has capacity for another write and leader epoch, as Kafka always does."""
    c: Any = constants
    return bool(has_room(s, c)) and newest(s).leader_epoch < int(c.max_leader_epoch)


ABLATION = Ablation(
    kafkas=KAFKAS,
    physical=PHYSICAL,
    bounds=BOUNDS,
    not_driven=NOT_DRIVEN,
    rules=(*AS_BUILT, *AS_DRIVEN),
    unseen=_unseen,
    shadowed=_shadowed,
    needs=NEEDS,
    grounds=lambda _: GROUNDS,
    compared=_compared,
    answers=ANSWERS,
    has_room=_has_room,
    conditions=CONDITIONS,
)
