"""Leader discovery as one machine, and its named generations."""

from fencepost.model.clients.discovery import brokers, client, controller
from fencepost.model.clients.discovery.constants import C, Endpoints, SkipsBackoff, refuse
from fencepost.model.clients.discovery.state import Broker, State, initial
from fencepost.model.language import Cast, Machine, Version

VERSIONS = (
    Version(
        "before-kip-951",
        "errors do not name the leader, and every retry waits for the backoff",
        {"hints": 0, "skips_backoff": SkipsBackoff.NEVER},
    ),
    Version("kip-951", "KIP-951 as implemented in Kafka", {}),
    Version(
        "repaired",
        "hints carry the topic ID, endpoints carry a registration that shows which is newer, and a leader keeps its "
        "endpoint",
        {"hint_topic_id": 1, "endpoints": Endpoints.NEWER, "keeps_leader_endpoint": 1},
    ),
)

MACHINE = Machine(
    name="leader-discovery",
    sentence="how a client finds the leader of a partition: hints in errors (KIP-951), metadata, backoff",
    state=State,
    constants=C,
    initial=initial,
    actions=(
        controller.controller_elects_leader,
        controller.topic_is_recreated,
        controller.broker_stops,
        controller.broker_starts,
        brokers.broker_learns,
        brokers.replicas_follow,
        client.client_sends_request,
        client.client_cannot_connect,
        brokers.broker_answers_request,
        brokers.broker_answers_after_reassignment,
        client.client_receives_response,
        client.backoff_ends,
        client.client_has_more,
        client.client_refreshes,
        client.client_refreshes_one_topic,
        client.client_bootstraps_again,
        brokers.broker_answers_refresh,
        client.client_applies_metadata,
        client.client_validates_position,
        client.client_fails_to_validate,
    ),
    refuse=refuse,
    versions=VERSIONS,
    source="KIP-951; apache/kafka: Metadata, Sender, ProducerBatch, AbstractFetch, KafkaApis",
    cast=Cast(
        owner="controller",
        parties={"broker": Broker, "client": None},
        fields=dict.fromkeys(("known", "endpoint", "wants_refresh", "request", "refresh"), "client"),
        actors={
            "broker_answers_request": "request.broker",
            "broker_answers_refresh": "refresh.broker",
            "topic_is_recreated": "controller",
            "backoff_ends": "client",
        },
        arrows={
            "broker_learns": "controller",
            "client_receives_response": "request.broker",
            "client_applies_metadata": "refresh.broker",
        },
        tells={"client_sends_request": "broker", "client_refreshes": "broker", "client_refreshes_one_topic": "broker"},
    ),
)
