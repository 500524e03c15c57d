"""Hints and tokens as one machine, with named readings of both texts and their fixes."""

from fencepost.model.clients.joint import brokers, client
from fencepost.model.clients.joint.constants import C, refuse
from fencepost.model.clients.joint.state import Broker, State, initial
from fencepost.model.language import Cast, Machine, Version

VERSIONS = (
    Version("draft", "both texts as they are written: metadata requests are handled first, and then checked", {}),
    Version("draft-check-first", "both texts, but metadata requests are checked first", {"check_first": 1}),
    Version(
        "repaired",
        "the check, the body and the token use one image; a client takes neither metadata nor leaders from an answer "
        "whose token is missing or below the store's",
        {"check_first": 1, "one_image": 1, "rejects_late": 1, "refuses_untokened": 1, "hints_by_token": 1},
    ),
)

MACHINE = Machine(
    name="hints-and-tokens",
    sentence="leader hints (KIP-951), combined with tokens that say how recent metadata must be",
    state=State,
    constants=C,
    initial=initial,
    actions=(
        brokers.controller_elects_leader,
        brokers.topic_is_recreated,
        brokers.broker_learns,
        brokers.replica_follows,
        client.client_sends_request,
        brokers.broker_handles_request,
        brokers.broker_answers_request,
        client.client_receives_response,
        client.client_refreshes,
        brokers.broker_passes_refresh,
        brokers.broker_refuses_refresh,
        brokers.broker_reads_metadata,
        brokers.broker_answers_refresh,
        brokers.broker_answers_refresh_from_one_image,
        client.client_applies_metadata,
        client.client_drops_metadata,
    ),
    refuse=refuse,
    versions=VERSIONS,
    source="KIP-951; consistency token draft; apache/kafka: Metadata, KafkaApis",
    cast=Cast(
        owner="controller",
        parties={"broker": Broker, "client": None},
        fields=dict.fromkeys(("known", "token", "request", "refresh"), "client"),
        actors={
            **dict.fromkeys(("broker_handles_request", "broker_answers_request"), "request.broker"),
            **dict.fromkeys(
                (
                    "broker_passes_refresh",
                    "broker_refuses_refresh",
                    "broker_reads_metadata",
                    "broker_answers_refresh",
                    "broker_answers_refresh_from_one_image",
                ),
                "refresh.broker",
            ),
            "topic_is_recreated": "controller",
        },
        arrows={
            "broker_learns": "controller",
            "client_receives_response": "request.broker",
            "client_applies_metadata": "refresh.broker",
            "client_drops_metadata": "refresh.broker",
        },
        tells={"client_sends_request": "request.broker", "client_refreshes": "refresh.broker"},
        nobodys=("first",),
    ),
)
