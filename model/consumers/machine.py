"""Fetching from followers as one machine, and its named designs."""

from fencepost.model.consumers import controller, fetching, offsets, replication, selection
from fencepost.model.consumers.constants import C, Design, EpochEnd, refuse
from fencepost.model.consumers.state import Doing, State, initial
from fencepost.model.language import NONE, Cast, Machine, Version

VERSIONS = (
    Version(
        "kip392-older",
        "the older revision of KIP-392: two error codes, and consumers choose from the ISR",
        {"design": Design.OLDER},
    ),
    Version(
        "kip392-newer",
        "the newer revision of KIP-392: OFFSET_NOT_AVAILABLE, one error with offsets, and consumers choose any replica",
        {"design": Design.NEWER},
    ),
    Version(
        "kafka-4.1",
        "KIP-392 as implemented in Kafka: the leader chooses the replica, and errors from followers end the preference",
        {},
    ),
    Version(
        "repaired",
        "the newer revision with fixes: reliable epoch ends, consumers that compare epochs or, if they have none, "
        "ask the leader, and offsets with the epoch of the preceding record",
        {
            "design": Design.NEWER,
            "epoch_end": EpochEnd.GUARDED,
            "compares_epochs": 1,
            "tells_epoch_before": 1,
            "without_epoch_asks": 2,
        },
    ),
)


def normalize(s: State, c: C) -> None:
    """Clear the state of a consumer that has passed an error to its user, and the log of a stopped replica."""
    consumer = s.consumer
    if consumer.doing == Doing.RAISED:
        consumer.epoch = s.newest
        consumer.isr = 0
        consumer.preferred = NONE
        consumer.raised_by = 0
        consumer.wants_metadata = False
        consumer.late_from = NONE
        consumer.late_offset = 0


MACHINE = Machine(
    name="follower-reads",
    sentence=(
        "consumers that fetch from followers: selection, out-of-range cases, validation, resets "
        "(KIP-392, KIP-320, KIP-207)"
    ),
    state=State,
    constants=C,
    initial=initial,
    actions=(
        replication.leader_appends,
        replication.leader_answers_follower,
        replication.follower_waits_in_vain,
        replication.leader_reports_divergence,
        replication.leader_tells_out_of_range,
        replication.follower_appends,
        replication.follower_truncates,
        replication.follower_starts_anew,
        replication.follower_trusts_diverging_answer,
        replication.replica_learns,
        replication.retention_moves_log_start,
        controller.controller_elects_leader,
        controller.controller_elects_uncleanly,
        controller.leader_shrinks_isr,
        controller.broker_stops,
        selection.leader_prefers_replica,
        selection.consumer_prefers_replica,
        selection.preference_expires,
        fetching.consumer_reads,
        fetching.consumer_finds_offset_unavailable,
        fetching.consumer_finds_offset_out_of_range,
        fetching.preferred_replica_refuses_late,
        fetching.consumer_gets_late_error,
        fetching.consumer_is_fenced,
        fetching.consumer_cannot_connect,
        fetching.metadata_expires,
        fetching.consumer_gets_metadata,
        offsets.consumer_finds_position_valid,
        offsets.consumer_finds_truncation,
        offsets.consumer_resets_to_latest,
        offsets.consumer_resets_to_earliest,
        offsets.consumer_cannot_ask,
        offsets.client_asks_for_latest,
    ),
    normalize=normalize,
    refuse=refuse,
    versions=VERSIONS,
    source="KIP-392, KIP-320, KIP-207; apache/kafka: Partition, ReplicaManager, FetchCollector, SubscriptionState",
    cast=Cast(
        owner="controller",
        parties={"consumer": None},
        fields={"consumer": "consumer"},
        actors={
            "leader_appends": "leader[newest]",
            "leader_answers_follower": "leader[newest]",
            "leader_reports_divergence": "leader[newest]",
            "leader_tells_out_of_range": "leader[newest]",
            "leader_prefers_replica": "leader[newest]",
            "leader_shrinks_isr": "leader[newest]",
            "preferred_replica_refuses_late": "consumer.late_from",
        },
    ),
)
