"""The quorum as one machine, and the versions that set its switches."""

from fencepost.model.language import Cast, Machine, Version
from fencepost.model.quorum import broker, clock, election, follower, leader, network, registration, snapshots
from fencepost.model.quorum.constants import C, Completion, Notified, refuse
from fencepost.model.quorum.state import State, initial

_TODAY = {"endpoints_tried": 0}
_UNTIL_4_2_0 = {**_TODAY, "registers_again": 0}
_UNTIL_4_1 = {**_UNTIL_4_2_0, "observers_return": 0}
_WITHOUT_1166 = {
    **_UNTIL_4_1,
    "version_18": 0,
    "compares_high_watermarks": 0,
    "completes_on_high_watermark": Completion.NONE,
}

VERSIONS = (
    Version("kafka-3.5", "as kafka-3.8, without KAFKA-15345", {**_WITHOUT_1166, "notified": Notified.READ}),
    Version("kafka-3.8", "as kafka-3.9, without KAFKA-17333", {**_WITHOUT_1166, "notified": Notified.RESTARTED}),
    Version("kafka-3.9", "like kafka-4.0, but compared with Kafka's classes without pre-votes", _WITHOUT_1166),
    Version(
        "kafka-4.0",
        "without KIP-1166: only the log end decides whether a fetch is parked; after a timeout, the leader sends "
        "the response that it built when the fetch arrived",
        _WITHOUT_1166,
    ),
    Version(
        "kafka-4.1",
        "with KIP-1166: a fetch is parked only while its high watermark is current; a new high watermark completes "
        "every parked fetch",
        _UNTIL_4_1,
    ),
    Version(
        "kafka-4.2",
        "with KAFKA-19354 and KAFKA-20247, like 4.2.1",
        _TODAY,
        (Version("kafka-4.2.0", "without KAFKA-20247", {"registers_again": 0}),),
    ),
    Version("kafka-4.4", "like kafka-4.2, but endpoints are stored without a connection test (KAFKA-20661)", _TODAY),
)

MACHINE = Machine(
    name="quorum",
    sentence=("replication of the metadata log: voters, observers, elections, and parked fetches (KIP-595, KIP-1166)"),
    state=State,
    constants=C,
    initial=initial,
    actions=(
        election.quorum_elects,
        election.voter_stands,
        election.voter_votes,
        election.candidate_wins,
        election.node_learns_leader,
        election.voter_hears_nothing,
        election.observer_hears_nothing,
        election.leader_resigns,
        election.removed_leader_resigns,
        election.node_restarts,
        election.node_loses_disk,
        leader.leader_appends,
        leader.leader_appends_no_op,
        leader.leader_removes_itself,
        leader.leader_adds_voter,
        leader.leader_updates_voter,
        leader.leader_handles_fetch,
        leader.leader_handles_late_fetch,
        leader.parked_fetch_times_out,
        follower.follower_appends,
        follower.follower_truncates,
        snapshots.node_takes_snapshot,
        snapshots.follower_loads_snapshot,
        network.answer_is_lost,
        broker.broker_applies_metadata,
        registration.controller_asks_to_register,
        registration.leader_registers_controller,
        registration.registration_times_out,
        clock.time_passes,
    ),
    normalize=network.normalize,
    refuse=refuse,
    versions=VERSIONS,
    source=(
        "apache/kafka: KafkaRaftClient, LeaderState, FollowerState, ThresholdPurgatory, MetadataLoader; "
        "KIP-595, KIP-853, KIP-1166"
    ),
    cast=Cast(actors={"time_passes": "", "answer_is_lost": "", "parked_fetch_times_out": "node[follower].leader"}),
)
