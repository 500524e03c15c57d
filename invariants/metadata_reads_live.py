"""What a read with a token comes to in the end: on request, since it takes the whole graph of states.

Fair is what does not fail for ever: servers that get metadata get it, requests are handled, clients retry.
"""

from fencepost.model.clients.tokens.clients import (
    client_delivers_answer,
    client_fails_call,
    client_retries,
    user_resets_store,
)
from fencepost.model.clients.tokens.constants import C
from fencepost.model.clients.tokens.metadata import server_publishes_to_cache, server_publishes_to_component
from fencepost.model.clients.tokens.servers import (
    compared_offset,
    is_behind,
    server_answers,
    server_answers_from_one_image,
    server_passes_request,
    server_reads_metadata,
    server_reads_token_first,
    server_refuses_cluster,
    server_reports_stale_metadata,
)
from fencepost.model.clients.tokens.state import Client, Operation, State, Status, is_read, store_of
from fencepost.model.clients.tokens.store import clashes
from fencepost.model.language import at_most, leads_to, strong, weak

SERVERS = (
    weak(server_publishes_to_cache, each="node"),
    weak(server_publishes_to_component, each="node"),
    weak(
        server_refuses_cluster,
        server_reports_stale_metadata,
        server_passes_request,
        server_reads_token_first,
        server_reads_metadata,
        server_answers,
        server_answers_from_one_image,
        each="client",
    ),
    weak(client_delivers_answer, client_fails_call, each="client"),
    strong(user_resets_store, each="client"),
)
"""All but how a client chooses where it reads again."""


def is_reading(s: State, c: C, client: int) -> bool:
    """Say whether the client has a read that is not over."""
    return s.call[client].status != Status.IDLE and is_read(s.call[client].operation)


def is_idle(s: State, c: C, client: int) -> bool:
    """Say whether the client's call is over."""
    return s.call[client].status == Status.IDLE


reads_end = leads_to(
    "reads-end",
    "TOK-L1: every read is answered in the end, whichever servers a client chooses.",
    when=is_reading,
    then=is_idle,
    fair=(*SERVERS, weak(client_retries, each="client")),
    client=Client,
)

reads_end_with_a_fair_choice = leads_to(
    "reads-end-with-a-fair-choice",
    "TOK-L1: every read is answered in the end, if a client that reads again and again comes to each server that it may choose.",
    when=is_reading,
    then=is_idle,
    fair=(*SERVERS, strong(client_retries, each=("client", "node"))),
    client=Client,
)


def is_waiting_unchecked(s: State, c: C, client: int) -> bool:
    """Say whether the client has a request under way whose token no server compares."""
    return s.call[client].operation == Operation.UNLISTED and not c.unlisted_checked


unchecked_requests_end = leads_to(
    "unchecked-requests-end",
    "Q14: a request whose token no server compares, such as Produce, is answered in the end, whatever was sent before it.",
    when=is_waiting_unchecked,
    then=is_idle,
    fair=(*SERVERS, weak(client_retries, each="client")),
    client=Client,
)


def is_of_other_cluster(s: State, c: C, client: int) -> bool:
    """Say whether the client's store holds the context of another cluster than the one at hand."""
    return clashes(s.store[store_of(c, client)].latest.cluster, s.cluster)


def is_of_this_cluster(s: State, c: C, client: int) -> bool:
    """Say whether the client's store does not."""
    return not is_of_other_cluster(s, c, client)


stores_recover = leads_to(
    "stores-recover",
    "TOK-L1, Q18: a store with the context of another cluster, or of one that is no more, does not keep it for ever.",
    when=is_of_other_cluster,
    then=is_of_this_cluster,
    fair=(*SERVERS, weak(client_retries, each="client")),
    client=Client,
)


def is_client_0_reading(s: State, c: C) -> bool:
    """Say whether client 0 has a read that is not over."""
    return is_reading(s, c, 0)


def is_client_0_idle(s: State, c: C) -> bool:
    """Say whether client 0's call is over."""
    return is_idle(s, c, 0)


def cost_of_lag(before: State, after: State, c: C) -> int:
    """Return by how many offsets a step brings the server on that client 0's request waits for."""
    call = before.call[0]
    is_waiting = call.status == Status.SENT and not call.checked and is_behind(before, c, call)
    gained = compared_offset(after, c, call.node, call.operation) - compared_offset(
        before, c, call.node, call.operation
    )
    return max(0, gained) if is_waiting else 0


waits = at_most(
    "waits-for-the-lag",
    "TOK-Q1: a read with a token waits for no more offsets than its server lags behind the log.",
    when=is_client_0_reading,
    then=is_client_0_idle,
    costs=cost_of_lag,
    bound=C.offsets,
    unit="offsets",
    fair=(*SERVERS, weak(client_retries, each="client")),
)


def cost_of_retry(before: State, after: State, c: C) -> int:
    """Return 1 for a step in which client 0 sends its request again; how often others do is no matter of its read."""
    is_sent = before.call[0].status != Status.SENT and after.call[0].status == Status.SENT
    return 1 if is_sent and before.call[0].status != Status.IDLE else 0


retries = at_most(
    "retries",
    "TOK-Q2: a read with a token is sent again no more often than its servers lag behind the log, in offsets.",
    when=is_client_0_reading,
    then=is_client_0_idle,
    costs=cost_of_retry,
    bound=C.offsets,
    unit="retries",
    fair=(*SERVERS, strong(client_retries, each=("client", "node"))),
)

PROPERTIES = (reads_end, reads_end_with_a_fair_choice, unchecked_requests_end, stores_recover, waits, retries)
