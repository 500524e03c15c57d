"""That a client with hints and tokens finds the leader in the end: on request, since it takes the whole graph of states.

Fair is what does not fail for ever: brokers get metadata and answer, and the client asks each of them again and again.
"""

from fencepost.model.clients.joint.brokers import (
    broker_answers_refresh,
    broker_answers_refresh_from_one_image,
    broker_answers_request,
    broker_handles_request,
    broker_learns,
    broker_passes_refresh,
    broker_reads_metadata,
    broker_refuses_refresh,
    replica_follows,
)
from fencepost.model.clients.joint.client import (
    client_applies_metadata,
    client_drops_metadata,
    client_receives_response,
    client_refreshes,
    client_sends_request,
)
from fencepost.model.clients.joint.constants import C
from fencepost.model.clients.joint.state import State
from fencepost.model.language import leads_to, strong, weak

FAIR = (
    weak(broker_learns, each="broker"),
    weak(replica_follows, each="broker"),
    weak(client_sends_request),
    weak(broker_handles_request, broker_answers_request),
    weak(client_receives_response),
    strong(client_refreshes, each="broker"),
    weak(
        broker_passes_refresh,
        broker_refuses_refresh,
        broker_reads_metadata,
        broker_answers_refresh,
        broker_answers_refresh_from_one_image,
    ),
    weak(client_applies_metadata, client_drops_metadata),
)


def is_misled(s: State, c: C) -> bool:
    """Say whether the client uses another leader than the controller's."""
    return s.known.leader != s.log[s.newest].leader


def is_right(s: State, c: C) -> bool:
    """Say whether the client uses the controller's leader."""
    return not is_misled(s, c)


leader_is_found = leads_to(
    "leader-is-found",
    "K951-L1, with tokens: a client that is wrong about the leader finds it in the end.",
    when=is_misled,
    then=is_right,
    fair=FAIR,
)

PROPERTIES = (leader_is_found,)
