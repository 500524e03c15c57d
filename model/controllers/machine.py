"""The controllers and the brokers as one machine."""

from fencepost.model.controllers import brokers, deciding, quorum
from fencepost.model.controllers.constants import C, refuse
from fencepost.model.controllers.state import State, initial
from fencepost.model.language import Cast, Machine

MACHINE = Machine(
    name="controller-failover",
    sentence=(
        "the metadata quorum and the cluster's brokers in one model: failover of the active controller "
        "(KIP-500, KIP-595, KIP-631)"
    ),
    state=State,
    constants=C,
    initial=initial,
    actions=(
        quorum.quorum_elects_controller,
        quorum.controller_learns_of_leader,
        quorum.voter_fetches,
        quorum.controller_restarts,
        deciding.controller_fences_broker,
        deciding.controller_unfences_broker,
        deciding.controller_applies_alter_partition,
        deciding.controller_finds_replica_ineligible,
        deciding.controller_refuses_alter_partition,
        deciding.request_finds_no_controller,
        deciding.controller_answers,
        deciding.controller_handles_late_request,
        brokers.broker_applies_metadata,
        brokers.broker_loads_metadata_anew,
        brokers.leader_appends,
        brokers.follower_fetches,
        brokers.leader_shrinks_isr,
        brokers.leader_sends_request,
        brokers.leader_asks_again,
        brokers.leader_handles_answer,
    ),
    refuse=refuse,
    source="apache/kafka 1eb7644: QuorumController, OffsetControlManager, ReplicationControlManager, KafkaRaftClient, "
    "NodeToControllerChannelManager, AlterPartitionManager, Partition; KIP-497, KIP-595, KIP-631",
    cast=Cast(
        actors=dict.fromkeys(
            (
                "controller_answers",
                "controller_applies_alter_partition",
                "controller_finds_replica_ineligible",
                "controller_refuses_alter_partition",
            ),
            "broker[leader].request.to",
        ),
        tells={"leader_sends_request": "controller"},
    ),
)
