"""The replication protocol as one machine, and the Kafka versions that set its switches."""

from fencepost.model.cluster import (
    configuration,
    controller,
    deletion,
    directories,
    follower,
    leader,
    lifecycle,
    metadata,
    network,
    producer,
    reassignment,
)
from fencepost.model.cluster.constants import (
    C,
    Checkpoint,
    Completion,
    Epochless,
    Judging,
    Loss,
    Publishing,
    UncleanShutdown,
    refuse,
)
from fencepost.model.cluster.state import Broker, State, initial
from fencepost.model.language import Cast, Machine, Repair, Version

REPAIRS = (
    Repair("HYP-1", "a re-elected leader forgets its followers' log ends", {"reset_followers_on_reelection": 1}),
    Repair(
        "HYP-2",
        "only a fenced broker registers again",
        {"fenced_before_registration": 1},
        {"registration_leaves_isr": 0},
    ),
    Repair("HYP-3", "a leader ignores metadata with an equal partition epoch", {"equal_partition_epoch_overwrites": 0}),
    Repair("HYP-9", "leaders check fetches against the epochs of fenced brokers too", {"fenced_epoch_check": 1}),
    Repair("HYP-10", "a broker whose replica is removed leaves the ELR", {"elr_within_replicas": 1}, {"elr": 1}),
    Repair(
        "HYP-11",
        "the controller fills the ELR according to the smallest min ISR that a broker may still use",
        {"elr_judged_by": Judging.HEARTBEATS},
        {"elr": 1},
    ),
    Repair(
        "HYP-12",
        "a change of min ISR does not affect partitions without a leader",
        {"leaderless_elr_is_cleared": 0},
        {"elr": 1},
    ),
    Repair("HYP-14", "once ELR is turned off, no broker is elected from an ELR", {"stale_elr_elects": 0}, {"elr": 1}),
    Repair(
        "HYP-16",
        "a broker that loses its log directory leaves the ELR",
        {"failed_directory_leaves_elr": 1, "fewer_directories_are_unclean": 1},
        {"elr": 1},
    ),
    Repair("HYP-17", "the assignment of a directory does not change the ELR", {"assignment_keeps_elr": 1}, {"elr": 1}),
    Repair(
        "HYP-18", "a replica whose directory is offline does not join the ISR", {"offline_replica_is_ineligible": 1}
    ),
    Repair("HYP-22", "a replica joins the ISR once its log starts where its leader's does", {"log_start_check": 1}),
    Repair(
        "HYP-23",
        "truncating a log below its checkpointed start updates the checkpoint too",
        {"truncation_moves_checkpoint": 1},
    ),
)
"""Fixes for findings in Kafka's code. Version kafka-4.1-repaired includes all fixes."""
LOSSES = {
    Loss.NONE: "a crash loses no records: a process dies, but its disk and the page cache stay intact",
    Loss.OUTSIDE_ISR: "a crash loses the log of a broker only if the broker is not in the ISR",
    Loss.ANY: "every crash loses the log, as if the disk were replaced, or the power failed before the first flush",
}


def terms(c: C) -> tuple[str, ...]:
    """Return two sentences: which faults a run allows, and which violations mean that a record is lost."""
    often = "once" if c.crashes == 1 else f"{c.crashes} times in total"
    lost = Loss(c.loss)
    allowed = f"{c.brokers} brokers, min.insync.replicas {c.min_isr}; brokers crash {often}, and {LOSSES[lost]}"
    return (
        f"{allowed} (loss={lost.name.lower().replace('_', '-')}).",
        "A record is lost if leader-has-acknowledged (G-S2) or acknowledged-survives (G-S2b) is violated.",
    )


BEFORE_4 = {"elr": 0, "registration_leaves_isr": 0}
"""Before 4.0, a broker whose session has expired can register again without leaving the ISR (HYP-2)."""
BEFORE_3_8 = {"completion": Completion.ADDED, **BEFORE_4}
"""Before KAFKA-15665, a reassignment completes once the added replicas are in the ISR, regardless of the others."""
ALL = {
    "waits_for_joining": 1,
    "restart_high_watermark": Checkpoint.ANY,
    "assignment_keeps_elr": 0,
    "log_start_flushed": 0,
}
"""In every version, the high watermark waits for followers that may soon join the ISR, and is checkpointed
periodically. Before 4.3, assigning a directory empties the ELR (HYP-17).
"""
ELR = {"elr": 1, "unclean_shutdown": UncleanShutdown.PREVIOUS_EPOCH, **ALL}
"""Since 4.1, ELR is on in new clusters, and the previous broker epoch shows whether a shutdown was clean."""
SINCE_4_3 = {"completion": Completion.ADDED_UNLESS_FEWER, **ELR, "assignment_keeps_elr": 1}
"""Since KAFKA-19975, a reassignment waits for previous replicas only if it reduces the number of replicas."""
UNMATCHED = {"answers_match_epoch": 0, "later_epochs_skipped": 0}
"""Before 3.9.1 and 4.0.1, a follower matches fetch responses by offset alone, and appends records of later epochs."""
LACKING = (
    "but followers can lose committed records, because KAFKA-18991 and KAFKA-18723 are not fixed (from its sources)"
)
VERSIONS = (
    Version(
        "kafka-3.5",
        "KIP-903 is included, but its races are not fixed; shrinking the ISR starts a leader epoch; the high watermark "
        "ignores min ISR and waits for recently caught-up replicas (3.5.2; reassignment: from its sources)",
        {
            "fetch_broker_epoch_check": 0,
            "atomic_expansion": 0,
            "high_watermark_needs_min_isr": 0,
            "wait_needs_eligibility": 0,
            "bump_leader_epoch_on_shrink": 1,
            **UNMATCHED,
            **BEFORE_3_8,
            **ALL,
        },
    ),
    Version(
        "kafka-3.7",
        "the race between a restarted follower's fetches is fixed, and the high watermark does not advance below min "
        "ISR (3.7.2; reassignment: from its sources)",
        {**UNMATCHED, **BEFORE_3_8, **ALL},
    ),
    Version(
        "kafka-3.9",
        "the last release line before 4.0: a reassignment completes only once every remaining replica is in the ISR "
        "(from the sources of 3.9.2)",
        {**BEFORE_4, **ALL},
        (Version("kafka-3.9.0", f"as kafka-3.9, {LACKING}", UNMATCHED),),
    ),
    Version(
        "kafka-4.0",
        "a registration removes its broker from the ISR; eligible leader replicas are available but off by default, "
        "and if they are on, the last known leader is elected even if it is not active (from the sources of 4.0.2)",
        {"elr": 0, "last_known_leader_check": 0, **ALL},
        (Version("kafka-4.0.0", f"as kafka-4.0, {LACKING}", UNMATCHED),),
    ),
    Version(
        "kafka-4.1",
        "eligible leader replicas are on for new clusters; the previous broker epoch distinguishes clean from "
        "unclean shutdowns (from the sources of 4.1.2)",
        ELR,
    ),
    Version("kafka-4.2", "the modelled rules are those of kafka-4.1 (from the sources of 4.2.1)", ELR),
    Version(
        "kafka-4.3",
        "a reassignment completes once the added replicas are in the ISR, unless the number of replicas decreases "
        "(KAFKA-19975; from the sources of 4.3.1)",
        SINCE_4_3,
    ),
    Version("kafka-4.4", "the modelled rules are those of kafka-4.3 (checked with the classes from 4.4.0)", SINCE_4_3),
)


def notes(c: C) -> tuple[str, ...]:
    """Return notes on settings that reproduce suspected bugs in Kafka's code, and on the settings that fix them."""
    found = []
    if c.equal_partition_epoch_overwrites:
        found.append(
            "equal_partition_epoch_overwrites is on, as in Kafka's code: a violation may be due to HYP-3; "
            "`equal_partition_epoch_overwrites=False` fixes it."
        )
    if not c.reset_followers_on_reelection:
        found.append(
            "reset_followers_on_reelection is off, as in Kafka's code: a violation may be due to HYP-1; "
            "`reset_followers_on_reelection=True` fixes it."
        )
    if not c.registration_leaves_isr and not c.fenced_before_registration:
        found.append(
            "registration_leaves_isr is off, as in Kafka's code before KAFKA-18106: a violation may be due to HYP-2; "
            "`registration_leaves_isr=True` fixes it."
        )
    if not c.fenced_epoch_check:
        found.append(
            "fenced_epoch_check is off, as in Kafka's code: a violation may be due to HYP-9; "
            "`fenced_epoch_check=True` fixes it."
        )
    if c.elr and c.reassignments > 0 and not c.elr_within_replicas:
        found.append(
            "elr_within_replicas is off, as in Kafka's code: a violation may be due to HYP-10; "
            "`elr_within_replicas=True` fixes it."
        )
    if c.elr_disables > 0 and c.stale_elr_elects:
        found.append(
            "stale_elr_elects is on, as in Kafka's code: a violation may be due to HYP-14; "
            "`stale_elr_elects=False` fixes it."
        )
    if (
        c.elr
        and c.directory_failures + c.directory_removals > 0
        and not (c.failed_directory_leaves_elr and c.fewer_directories_are_unclean)
    ):
        found.append(
            "failed_directory_leaves_elr or fewer_directories_are_unclean is off, as in Kafka's code: a violation "
            "may be due to HYP-16; setting both fixes it."
        )
    if c.elr and c.directories > 0 and not c.assignment_keeps_elr:
        found.append(
            "assignment_keeps_elr is off, as in Kafka's code up to 4.2: a violation may be due to HYP-17; "
            "`assignment_keeps_elr=True` fixes it."
        )
    if c.directory_failures > 0 and not c.offline_replica_is_ineligible:
        found.append(
            "offline_replica_is_ineligible is off, as in Kafka's code: a violation may be due to HYP-18; "
            "`offline_replica_is_ineligible=True` fixes it."
        )
    if c.deletions + c.expirations > 0 and not c.log_start_check:
        found.append(
            "log_start_check is off, as in Kafka's code: a violation may be due to HYP-22; "
            "`log_start_check=True` fixes it."
        )
    if c.early_starts > 0 and c.epochless_fetches != Epochless.REFUSED:
        found.append(
            "epochless_fetches is accepted (as in Kafka's code) or ineligible: a violation may be due to HYP-15; "
            "`epochless_fetches='refused'` fixes it."
        )
    if (
        c.elr
        and c.raises + c.lowers > 0
        and c.elr_judged_by != Judging.HEARTBEATS
        and c.publishing != Publishing.TOGETHER
    ):
        found.append(
            "publishing is not together and elr_judged_by is not heartbeats, as in Kafka's code: a violation may be "
            "due to HYP-11; `elr_judged_by='heartbeats'` fixes it."
        )
    return tuple(found)


MACHINE = Machine(
    name="replication",
    sentence="data replication in KRaft mode: controller, leaders, followers and the messages between them",
    state=State,
    constants=C,
    initial=initial,
    actions=(
        lifecycle.broker_crashes,
        lifecycle.broker_stops,
        lifecycle.broker_starts,
        lifecycle.broker_registers,
        lifecycle.disk_is_swapped,
        deletion.leader_deletes_records,
        deletion.broker_expires_records,
        deletion.broker_writes_log_start,
        deletion.follower_is_out_of_range,
        directories.log_directory_fails,
        directories.log_directory_returns,
        directories.disk_is_replaced,
        directories.log_directory_is_taken_out,
        directories.controller_marks_directory_offline,
        directories.controller_assigns_directory,
        controller.controller_fences_broker,
        controller.controller_unfences_broker,
        controller.controller_begins_shutdown,
        controller.controller_elects_preferred,
        reassignment.operator_reassigns_replicas,
        reassignment.operator_cancels_reassignment,
        configuration.operator_raises_min_isr,
        configuration.operator_lowers_min_isr,
        configuration.operator_turns_elr_off,
        controller.controller_applies_alter_partition,
        controller.controller_finds_replica_ineligible,
        controller.controller_refuses_alter_partition,
        metadata.broker_applies_metadata,
        metadata.broker_applies_configs,
        producer.leader_appends,
        leader.leader_handles_fetch,
        leader.leader_reports_divergence,
        leader.leader_tells_epoch_end,
        network.leader_handles_late_fetch,
        leader.leader_requests_expansion,
        leader.follower_lags_too_long,
        leader.leader_requests_shrink,
        leader.leader_learns_change_applied,
        leader.leader_learns_change_refused,
        leader.leader_gives_up_waiting,
        network.leader_resends_request,
        follower.follower_appends,
        follower.follower_truncates,
        follower.follower_trusts_diverging_answer,
        network.log_changes_under_answer,
        follower.follower_takes_late_answer,
        follower.follower_ignores_late_answer,
        follower.late_answer_is_lost,
    ),
    normalize=network.normalize,
    interchangeable=Broker,
    refuse=refuse,
    notes=notes,
    versions=VERSIONS,
    repairs=REPAIRS,
    terms=terms,
    source=(
        "apache/kafka: Partition, ReplicaManager, ReplicationControlManager, PartitionChangeBuilder; KIP-497, 903, 966"
    ),
    cast=Cast(
        owner="controller",
        names={"replica": "broker"},
        arrows={"broker_applies_metadata": "controller", "broker_applies_configs": "controller"},
        actors=dict.fromkeys(
            (
                "operator_reassigns_replicas",
                "operator_cancels_reassignment",
                "operator_raises_min_isr",
                "operator_lowers_min_isr",
                "operator_turns_elr_off",
            ),
            "",
        ),
        nobodys=("written",),
        current={"image": "newest"},
        views={"applied": "image"},
    ),
)
