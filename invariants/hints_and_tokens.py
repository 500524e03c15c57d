"""Properties of a session with both KIP-951's leader hints and consistency tokens (question Q53).

Each leader is represented by an offset in the metadata log; a lower offset means an older leader, possibly of a deleted
topic. K951-L1 is checked only if it is named, because it needs the whole state graph. Fairness: brokers eventually get
metadata and respond, and the client eventually sends a request to each broker.
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
    is_hint_accepted,
)
from fencepost.model.clients.joint.constants import C
from fencepost.model.clients.joint.state import Stage, State
from fencepost.model.language import leads_to, sometimes, step, strong, weak
from fencepost.model.language.actions import properties_in


@step(on=client_applies_metadata)
def metadata_is_as_new_as_hints(before: State, after: State, c: C) -> bool:
    """Q53: metadata never shows an older leader than a hint that was accepted before the metadata request was sent."""
    return before.refresh.body >= before.refresh.ghost_told


@step(on=client_applies_metadata)
def late_metadata_is_as_new_as_hints(before: State, after: State, c: C) -> bool:
    """Q53, in order of delivery: metadata never shows an older leader than a hint that was accepted earlier."""
    return before.refresh.body >= before.ghost_hinted


@step(on=client_receives_response)
def accepted_hints_are_as_new_as_metadata(before: State, after: State, c: C) -> bool:
    """The converse of Q53: an accepted hint never names an older leader than the metadata that the client has read."""
    return not is_hint_accepted(before, c) or before.request.body >= before.ghost_read


@step()
def leader_never_goes_back(before: State, after: State, c: C) -> bool:
    """The client never replaces its leader with a leader from an earlier controller decision or of a deleted topic."""
    return after.known.ghost_offset >= before.known.ghost_offset


@sometimes
def hint_is_accepted(s: State, c: C) -> bool:
    """A response contains a hint that the client accepts."""
    return s.request.stage == Stage.ANSWERED and is_hint_accepted(s, c)


@sometimes
def hint_makes_metadata_stale(before: State, after: State, c: C) -> bool:
    """A metadata request is rejected because the client's token comes from a hint, not from a metadata response."""
    is_refused = before.refresh.stage == Stage.SENT and after.refresh.stage == Stage.NONE
    return is_refused and before.refresh.sent > before.ghost_read


@sometimes
def metadata_is_older_than_the_leader(s: State, c: C) -> bool:
    """A metadata response names an older leader than the one that the client uses."""
    return s.refresh.stage == Stage.ANSWERED and s.refresh.body < s.known.ghost_offset


PROPERTIES = properties_in(globals())


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
    """Return whether the client uses a leader other than the controller's."""
    return s.known.leader != s.log[s.newest].leader


def is_right(s: State, c: C) -> bool:
    """Return whether the client uses the controller's leader."""
    return not is_misled(s, c)


leader_is_found = leads_to(
    "leader-is-found",
    "K951-L1, with tokens: a client with a wrong leader eventually finds the right one.",
    when=is_misled,
    then=is_right,
    fair=FAIR,
)

LIVENESS = (leader_is_found,)
