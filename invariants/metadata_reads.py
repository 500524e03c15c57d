"""Properties of metadata reads with consistency tokens, with their witnesses, liveness, and a lemma. Their ids in the
catalogue are TOK-S1 to TOK-S10, Q16, Q21, Q53 and SEED-TOKEN-21. Liveness is checked only if named, because it needs
the whole state graph. Fairness: connected servers eventually get metadata, requests are handled, and clients retry.
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
    controller_commits_write,
    is_behind,
    server_answers,
    server_answers_from_one_image,
    server_passes_request,
    server_reads_metadata,
    server_reads_token_first,
    server_refuses_cluster,
    server_reports_stale_metadata,
)
from fencepost.model.clients.tokens.state import Call, Client, Operation, State, Status, is_read, shown, store_of
from fencepost.model.clients.tokens.store import clashes, is_unknown
from fencepost.model.language import NONE, always, at_most, leads_to, sometimes, step, strong, weak
from fencepost.model.language.actions import properties_in


def is_answered_read(call: Call) -> bool:
    """Return whether a response with both a body and a token is in flight to a client."""
    return call.status == Status.ANSWERED and is_read(call.operation) and call.token != NONE and not call.merged


@step(on=client_delivers_answer)
def reads_are_monotonic(before: State, after: State, c: C, client: int) -> bool:
    """TOK-S1, G-S10: a read shows metadata at least as new as any that its store had received when the read began."""
    call = before.call[client]
    return not is_read(call.operation) or call.oldest >= call.ghost_read


@step(on=client_delivers_answer)
def deliveries_are_monotonic(before: State, after: State, c: C, client: int) -> bool:
    """TOK-S1b: a read never shows older metadata than its token store has, even if concurrent reads received it."""
    call = before.call[client]
    return not is_read(call.operation) or call.oldest >= before.store[store_of(c, client)].ghost_read


@always
def token_covers_body(s: State, c: C) -> bool:
    """TOK-S2: a response's token is not below any offset at which its body was read."""
    return all(call.token >= call.newest for call in s.call if is_answered_read(call))


@always
def token_is_exact(s: State, c: C) -> bool:
    """TOK-S2b: a response's token is the offset at which its whole body was read."""
    return all(call.oldest == call.token and call.newest == call.token for call in s.call if is_answered_read(call))


@always
def body_is_one_snapshot(s: State, c: C) -> bool:
    """TOK-S3: a response's body is the metadata at one offset."""
    return all(call.oldest == call.newest for call in s.call if is_answered_read(call))


@always
def token_is_committed(s: State, c: C) -> bool:
    """TOK-S4: no response contains a token above the committed offset."""
    return all(call.token <= s.committed for call in s.call if call.status == Status.ANSWERED)


@step(on=client_delivers_answer)
def own_writes_are_read(before: State, after: State, c: C, client: int) -> bool:
    """TOK-S5, G-S11: a read shows every write that its session's store knew to be acknowledged when the read began."""
    call = before.call[client]
    return not is_read(call.operation) or call.oldest >= call.ghost_written


@step(on=controller_commits_write)
def writes_take_effect_in_order(before: State, after: State, c: C, client: int) -> bool:
    """TOK-S6: a write is committed after the earlier writes and reads of its session."""
    call = before.call[client]
    return after.committed > max(call.ghost_written, call.ghost_read)


@step(on=controller_commits_write)
def foreign_requests_change_nothing(before: State, after: State, c: C, client: int) -> bool:
    """TOK-S7: no request that names another cluster is committed."""
    return not clashes(before.call[client].sent.cluster, before.cluster)


@step()
def stores_only_grow(before: State, after: State, c: C) -> bool:
    """TOK-S8: the token in a store never decreases, and its cluster id never changes once it is set."""
    return all(
        is_unknown(before.store[client].latest.cluster)
        or (
            after.store[client].latest.cluster == before.store[client].latest.cluster
            and after.store[client].latest.token >= before.store[client].latest.token
        )
        for client in range(c.clients)
    )


@step(on=client_delivers_answer)
def imported_contexts_are_honoured(before: State, after: State, c: C, client: int) -> bool:
    """TOK-S9: a read shows no older metadata than the exporter of an imported context knew at the time of the export.

    The exporter knew the metadata that it had read or written, and the contexts that it had imported.
    """
    call = before.call[client]
    return not is_read(call.operation) or call.oldest >= call.ghost_imported


@step(on=server_reports_stale_metadata)
def stale_servers_lag(before: State, after: State, c: C, client: int) -> bool:
    """TOK-S10: a server returns STALE_METADATA only while its cache is below the request's token."""
    call = before.call[client]
    return before.server[call.node].cache < call.sent.token


@step(on=server_reports_stale_metadata)
def stale_servers_lag_behind_what_was_seen(before: State, after: State, c: C, client: int) -> bool:
    """TOK-S10, beyond the draft: STALE_METADATA means that a response would be older than what the session knows."""
    call, store = before.call[client], before.store[store_of(c, client)]
    known = max(store.ghost_read, store.ghost_written, store.ghost_imported, store.ghost_hinted)
    return shown(before, call.node, call.operation) < known


@step(on=client_fails_call)
def storing_errors_never_throws(before: State, after: State, c: C, client: int) -> bool:
    """Q16: storing the context of an error does not throw IllegalArgumentException in the client's network thread."""
    latest, call = before.store[store_of(c, client)].latest, before.call[client]
    return call.status != Status.INCONSISTENT or not c.stores_errors or not clashes(latest.cluster, call.cluster)


@step(on=client_delivers_answer)
def tokens_never_fall(before: State, after: State, c: C, client: int) -> bool:
    """SEED-TOKEN-21: a response's token is at least as great as each token that the client has seen before."""
    call, latest = before.call[client], before.store[store_of(c, client)].latest
    return call.token == NONE or call.merged or is_unknown(latest.cluster) or call.token >= latest.token


@step(on=client_delivers_answer)
def unlisted_requests_agree(before: State, after: State, c: C, client: int) -> bool:
    """Q21: a request that the draft does not list is answered from metadata at least as new as its session has seen."""
    call = before.call[client]
    return call.operation != Operation.UNLISTED or call.oldest >= max(call.ghost_read, call.ghost_written)


@step(on=client_delivers_answer)
def hints_are_read(before: State, after: State, c: C, client: int) -> bool:
    """Q53: a read shows no older metadata than the KIP-951 leader hints that were received before the read began."""
    call = before.call[client]
    return not is_read(call.operation) or call.oldest >= call.ghost_hinted


@sometimes
def token_is_compared(before: State, after: State, c: C) -> bool:
    """A server compares a token above 0 with its own offset, and accepts the request."""
    return any(
        before.call[client].status == Status.SENT
        and before.call[client].sent.token > 0
        and (
            after.call[client].status == Status.ANSWERED
            or (after.call[client].checked and not before.call[client].checked)
        )
        for client in range(c.clients)
    )


@sometimes
def read_is_stale(s: State, c: C) -> bool:
    """A server returns STALE_METADATA."""
    return any(call.status == Status.STALE for call in s.call)


@sometimes
def server_is_behind_client(s: State, c: C) -> bool:
    """A server's metadata is older than the metadata that a client has already read."""
    return any(
        s.server[node].cache < s.store[client].ghost_read for node in range(c.nodes) for client in range(c.clients)
    )


@sometimes
def token_is_shared(before: State, after: State, c: C) -> bool:
    """The response to one client raises the token that another client will send."""
    return any(
        before.call[client].status == Status.ANSWERED
        and after.call[client].status == Status.IDLE
        and before.call[other].status == Status.IDLE
        and after.store[store_of(c, other)].latest.token > max(0, before.store[store_of(c, other)].latest.token)
        for client in range(c.clients)
        for other in range(c.clients)
        if other != client
    )


@sometimes
def two_answers_are_on_their_way(s: State, c: C) -> bool:
    """Two reads with different bodies have been answered, and neither response has been delivered."""
    return any(
        s.call[one].status == Status.ANSWERED
        and s.call[other].status == Status.ANSWERED
        and is_read(s.call[one].operation)
        and is_read(s.call[other].operation)
        and s.call[one].newest < s.call[other].oldest
        for one in range(c.clients)
        for other in range(c.clients)
    )


@sometimes
def write_is_acknowledged(s: State, c: C) -> bool:
    """A client learns that its write is complete."""
    return any(store.ghost_written > 0 for store in s.store)


@sometimes
def context_is_imported(s: State, c: C) -> bool:
    """A token store has imported the context of another process."""
    return any(store.ghost_imported > 0 for store in s.store)


PROPERTIES = properties_in(globals())


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
"""Fairness of all actions except a client's choice of a server for its retry."""


def is_reading(s: State, c: C, client: int) -> bool:
    """Return whether the client has an unfinished read."""
    return s.call[client].status != Status.IDLE and is_read(s.call[client].operation)


def is_idle(s: State, c: C, client: int) -> bool:
    """Return whether the client's call has finished."""
    return s.call[client].status == Status.IDLE


reads_end = leads_to(
    "reads-end",
    "TOK-L1: every read is eventually answered, whichever servers a client chooses.",
    when=is_reading,
    then=is_idle,
    fair=(*SERVERS, weak(client_retries, each="client")),
    client=Client,
)

reads_end_with_a_fair_choice = leads_to(
    "reads-end-with-a-fair-choice",
    "TOK-L1: every read is eventually answered, if a client that keeps reading tries each server that it may choose.",
    when=is_reading,
    then=is_idle,
    fair=(*SERVERS, strong(client_retries, each=("client", "node"))),
    client=Client,
)


def is_waiting_unchecked(s: State, c: C, client: int) -> bool:
    """Return whether the client has a pending request whose token no server checks."""
    return s.call[client].operation == Operation.UNLISTED and not c.unlisted_checked


unchecked_requests_end = leads_to(
    "unchecked-requests-end",
    "Q14: a request whose token no server checks, such as Produce, is eventually answered.",
    when=is_waiting_unchecked,
    then=is_idle,
    fair=(*SERVERS, weak(client_retries, each="client")),
    client=Client,
)


def is_of_other_cluster(s: State, c: C, client: int) -> bool:
    """Return whether the client's token store contains the context of another cluster."""
    return clashes(s.store[store_of(c, client)].latest.cluster, s.cluster)


def is_of_this_cluster(s: State, c: C, client: int) -> bool:
    """Return whether the client's token store contains no context of another cluster."""
    return not is_of_other_cluster(s, c, client)


stores_recover = leads_to(
    "stores-recover",
    "TOK-L1, Q18: a token store eventually drops the context of a different or former cluster.",
    when=is_of_other_cluster,
    then=is_of_this_cluster,
    fair=(*SERVERS, weak(client_retries, each="client")),
    client=Client,
)


def is_client_0_reading(s: State, c: C) -> bool:
    """Return whether client 0 has an unfinished read."""
    return is_reading(s, c, 0)


def is_client_0_idle(s: State, c: C) -> bool:
    """Return whether client 0's call has finished."""
    return is_idle(s, c, 0)


def cost_of_lag(before: State, after: State, c: C) -> int:
    """Return the number of offsets by which a step advances the server that handles client 0's request."""
    call = before.call[0]
    is_waiting = call.status == Status.SENT and not call.checked and is_behind(before, c, call)
    gained = compared_offset(after, c, call.node, call.operation) - compared_offset(
        before, c, call.node, call.operation
    )
    return max(0, gained) if is_waiting else 0


waits = at_most(
    "waits-for-the-lag",
    "TOK-Q1: a read with a token waits for at most as many offsets as its server lags behind the log.",
    when=is_client_0_reading,
    then=is_client_0_idle,
    costs=cost_of_lag,
    bound=C.offsets,
    unit="offsets",
    fair=(*SERVERS, weak(client_retries, each="client")),
)


def cost_of_retry(before: State, after: State, c: C) -> int:
    """Return 1 for a step in which client 0 resends its request, otherwise 0."""
    is_sent = before.call[0].status != Status.SENT and after.call[0].status == Status.SENT
    return 1 if is_sent and before.call[0].status != Status.IDLE else 0


retries = at_most(
    "retries",
    "TOK-Q2: a read with a token is resent at most once per offset by which its servers lag behind the log.",
    when=is_client_0_reading,
    then=is_client_0_idle,
    costs=cost_of_retry,
    bound=C.offsets,
    unit="retries",
    fair=(*SERVERS, strong(client_retries, each=("client", "node"))),
)

LIVENESS = (reads_end, reads_end_with_a_fair_choice, unchecked_requests_end, stores_recover, waits, retries)


# -- a lemma, which makes the promises of stores inductive


@always
def nothing_is_half_stored(s: State, c: C) -> bool:
    """If storeLatest is atomic, no call has compared the contexts but not yet stored the later one."""
    return not c.atomic_store or not any(call.merged for call in s.call)


LEMMAS = (nothing_is_half_stored,)
