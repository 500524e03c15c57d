"""Metadata reads with consistency tokens as one machine, with named readings of the draft and their fixes."""

from fencepost.model.clients.tokens import clients, metadata, servers
from fencepost.model.clients.tokens.constants import C, TokenRead, WriteToken, refuse
from fencepost.model.clients.tokens.state import State, initial
from fencepost.model.language import Cast, Machine, Version

VERSIONS = (
    Version("draft", "the draft as it is written: requests are handled first, and then checked", {}),
    Version("draft-check-first", "the draft, but requests are checked first", {"check_first": 1}),
    Version(
        "repaired",
        "one image for the check, the body and the header; components with their own offset; the controller's commit "
        "offset for writes; reads are repeated after answers that are outdated or lack a token; contexts of error "
        "responses are not stored",
        {
            "check_first": 1,
            "token_read": TokenRead.PINNED,
            "torn_reads": 0,
            "component_offsets": 1,
            "unlisted_checked": 1,
            "write_token": WriteToken.INNER,
            "committed_token": 1,
            "rejects_late": 1,
            "refuses_untokened": 1,
            "stores_errors": 0,
        },
    ),
)

MACHINE = Machine(
    name="metadata-reads",
    sentence="metadata reads with consistency tokens: servers lag, and clients share a store",
    state=State,
    constants=C,
    initial=initial,
    actions=(
        metadata.controller_commits_change,
        metadata.server_publishes_to_cache,
        metadata.server_publishes_to_component,
        metadata.server_restarts,
        metadata.cluster_is_rebuilt,
        clients.client_reads,
        clients.client_writes,
        clients.client_retries,
        servers.server_refuses_cluster,
        servers.server_reports_stale_metadata,
        servers.server_passes_request,
        servers.server_answers_from_one_image,
        servers.server_reads_token_first,
        servers.server_reads_metadata,
        servers.controller_commits_write,
        servers.server_answers,
        clients.client_merges_context,
        clients.client_delivers_answer,
        clients.client_fails_call,
        clients.user_exports_context,
        clients.user_imports_context,
        clients.user_imports_foreign_context,
        clients.user_imports_wrong_context,
        clients.user_resets_store,
    ),
    refuse=refuse,
    versions=VERSIONS,
    source=(
        "Consistency token draft; apache/kafka: KafkaApis, BrokerMetadataPublisher, ForwardingManager, NetworkClient"
    ),
    cast=Cast(
        owner="controller",
        names={"store": "client"},
        nobodys=("letter",),
        actors=dict.fromkeys(
            (
                "server_answers",
                "server_answers_from_one_image",
                "server_passes_request",
                "server_reads_metadata",
                "server_reads_token_first",
                "server_refuses_cluster",
                "server_reports_stale_metadata",
            ),
            "call[client].node",
        ),
        arrows={"client_delivers_answer": "call[client].node"},
        tells=dict.fromkeys(("client_reads", "client_retries", "client_writes"), "call[client].node"),
    ),
)
