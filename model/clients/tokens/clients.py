"""Steps of clients and their users: they make calls, store contexts, retry, and carry contexts to other processes."""

from fencepost.model.clients.tokens.constants import C, NodeChoice
from fencepost.model.clients.tokens.operations import Operation
from fencepost.model.clients.tokens.state import (
    CONTROLLER,
    Call,
    Client,
    Node,
    Offset,
    State,
    Status,
    clear_answer,
    clear_context,
    clear_request,
    end_call,
    let_pass,
    store_of,
)
from fencepost.model.clients.tokens.store import clashes, is_accepted, is_unknown, later, store_latest
from fencepost.model.language import NONE, action, bits, require


def may_send(s: State, c: C, client: int, node: int) -> bool:
    """Return whether the client may choose this server.

    NetworkClient.leastLoadedNode prefers an idle open connection to a closed one: an idle client stays with its server.
    """
    return c.node_choice != NodeChoice.CONNECTED or s.connected[client] in (NONE, node)


def is_on_connection(s: State, c: C, client: int, other: int, node: int) -> bool:
    """Return whether another call occupies the connection that this client would use for this server."""
    call = s.call[other]
    is_under_way = call.status in (Status.SENT, Status.ANSWERED, Status.INCONSISTENT)
    return other != client and is_under_way and call.node == node and store_of(c, other) == store_of(c, client)


def send(s: State, c: C, client: int, node: int) -> None:
    """Send the request with the context that the store currently holds."""
    call, store = s.call[client], s.store[store_of(c, client)]
    let_pass(s, client)
    clear_request(c, call)
    clear_answer(call)
    call.ahead = 0
    if c.in_order:
        call.ahead = sum(bits.only(other) for other in range(c.clients) if is_on_connection(s, c, client, other, node))
    call.status = Status.SENT
    call.node = node
    call.token = NONE
    clear_context(call.sent)
    if not c.eventually_consistent:
        call.sent = store.latest
    if c.node_choice == NodeChoice.CONNECTED:
        s.connected[client] = node


def begin(s: State, c: C, client: int, operation: Operation, node: int) -> None:
    """Record a user's call. The result must be at least as new as everything seen by the store's clients."""
    call, store = s.call[client], s.store[store_of(c, client)]
    call.operation = operation
    call.ghost_read = store.ghost_read
    call.ghost_written = store.ghost_written
    call.ghost_imported = store.ghost_imported
    call.ghost_hinted = store.ghost_hinted
    send(s, c, client, node)


@action(client=Client, node=Node, operation=Operation)
def client_reads(s: State, c: C, client: int, node: int, operation: Operation) -> None:
    """A client requests metadata, or a result that depends on metadata, from a server."""
    require(s.call[client].status == Status.IDLE)
    require(operation != Operation.WRITE)
    require(operation != Operation.CACHE or c.cache_reads)
    require(operation != Operation.COMPONENT or c.component_reads)
    require(operation != Operation.UNLISTED or c.unlisted_requests)
    require(node != CONTROLLER or c.controller_serves_reads)
    require(may_send(s, c, client, node))
    begin(s, c, client, operation, node)


@action(client=Client, node=Node)
def client_writes(s: State, c: C, client: int, node: int) -> None:
    """An Admin client requests a change at a broker, which forwards the request, or directly at the controller."""
    require(s.call[client].status == Status.IDLE)
    require(c.direct_writes if node == CONTROLLER else c.forwarded_writes)
    require(may_send(s, c, client, node))
    begin(s, c, client, Operation.WRITE, node)


def answering_cluster(call: Call) -> int:
    """Return the cluster id in the response header, or NONE if it is missing."""
    return NONE if call.token == NONE else call.cluster


def is_from_other_cluster(s: State, c: C, client: int) -> bool:
    """Return whether the response's context cannot be stored, because the store belongs to another cluster."""
    return clashes(answering_cluster(s.call[client]), s.store[store_of(c, client)].latest.cluster)


def is_deliverable(s: State, c: C, client: int) -> bool:
    """Return whether the client accepts the response and does not read again."""
    call, store = s.call[client], s.store[store_of(c, client)]
    if call.operation == Operation.WRITE:
        return True
    return is_accepted(call.token, store.latest.token, c.rejects_late, c.refuses_untokened)


def is_taken(s: State, c: C, client: int) -> bool:
    """Return whether the client keeps a call's response and does not read again."""
    call = s.call[client]
    return call.status == Status.ANSWERED and (is_from_other_cluster(s, c, client) or is_deliverable(s, c, client))


def is_next(s: State, c: C, client: int) -> bool:
    """Return whether all earlier responses on the connection were processed (NetworkClient.handleCompletedReceives)."""
    return not any(
        bits.contains(s.call[client].ahead, other)
        and (s.call[other].status in (Status.SENT, Status.INCONSISTENT) or is_taken(s, c, other))
        for other in range(c.clients)
    )


@action(client=Client, node=Node)
def client_retries(s: State, c: C, client: int, node: int) -> None:
    """A client reads again after STALE_METADATA and the backoff, after a disconnect, or after rejecting a response."""
    call = s.call[client]
    is_refused = call.status == Status.ANSWERED and not is_taken(s, c, client)
    require(call.status in (Status.STALE, Status.DISCONNECTED) or is_refused)
    require(is_next(s, c, client))
    require(node != CONTROLLER or c.controller_serves_reads)
    require(may_send(s, c, client, node))
    require(call.awaited == 0)
    require(c.node_choice != NodeChoice.ANOTHER or call.status != Status.STALE or node != call.node)
    send(s, c, client, node)


@action(client=Client)
def client_merges_context(s: State, c: C, client: int) -> None:
    """A client determines which of two contexts is later. If storeLatest is not atomic, another step stores it."""
    call, store = s.call[client], s.store[store_of(c, client)]
    require(not c.atomic_store)
    require(call.status == Status.ANSWERED)
    require(not call.merged)
    require(call.token != NONE)
    require(not is_from_other_cluster(s, c, client))
    require(is_deliverable(s, c, client))
    require(is_next(s, c, client))
    call.token = later(call.token, store.latest.token)
    call.merged = True


@action(client=Client)
def client_delivers_answer(s: State, c: C, client: int) -> None:
    """A client stores the context from the response header and passes the body to its user."""
    call, store = s.call[client], s.store[store_of(c, client)]
    operation, body, token = call.operation, call.oldest, call.token
    cluster = answering_cluster(call)
    require(call.status == Status.ANSWERED)
    require(not is_from_other_cluster(s, c, client))
    require(call.merged or is_deliverable(s, c, client))
    require(call.merged or c.atomic_store or token == NONE)
    require(is_next(s, c, client))
    if call.merged:
        store.latest.cluster = cluster
        store.latest.token = token
    elif not c.eventually_consistent:
        store_latest(store.latest, cluster, token)
    if operation == Operation.WRITE:
        store.ghost_written = max(store.ghost_written, body)
    elif operation == Operation.UNLISTED:
        store.ghost_hinted = max(store.ghost_hinted, body)
    else:
        store.ghost_read = max(store.ghost_read, body)
    end_call(s, c, client)


@action(client=Client)
def client_fails_call(s: State, c: C, client: int) -> None:
    """A client reports an answer from another cluster and, with `stores_errors`, tries to store its context."""
    call, store = s.call[client], s.store[store_of(c, client)]
    is_refused = call.status == Status.ANSWERED and is_from_other_cluster(s, c, client)
    require(call.status == Status.INCONSISTENT or is_refused)
    require(is_next(s, c, client))
    if c.stores_errors:
        store_latest(store.latest, call.cluster, call.token)
    end_call(s, c, client)


@action(client=Client)
def user_exports_context(s: State, c: C, client: int) -> None:
    """A user reads a store's context and serializes it."""
    store = s.store[store_of(c, client)]
    require(c.exports)
    require(not is_unknown(store.latest.cluster))
    s.letter.context = store.latest
    s.letter.ghost_known = max(store.ghost_read, store.ghost_written, store.ghost_imported)


@action(client=Client)
def user_imports_context(s: State, c: C, client: int) -> None:
    """A user deserializes a context in another process and stores it there with storeLatest."""
    store = s.store[store_of(c, client)]
    require(not is_unknown(s.letter.context.cluster))
    require(not clashes(s.letter.context.cluster, store.latest.cluster))
    store_latest(store.latest, s.letter.context.cluster, s.letter.context.token)
    store.ghost_imported = max(store.ghost_imported, s.letter.ghost_known)


@action(client=Client)
def user_imports_foreign_context(s: State, c: C, client: int) -> None:
    """A user puts the context of another cluster into a store that has no context yet."""
    store = s.store[store_of(c, client)]
    require(s.budget.foreign_contexts > 0, bound=C.foreign_contexts)
    require(is_unknown(store.latest.cluster))
    store.latest.cluster = 1
    store.latest.token = 0
    s.budget.foreign_contexts -= 1


@action(client=Client, token=Offset)
def user_imports_wrong_context(s: State, c: C, client: int, token: int) -> None:
    """A user stores a context with the right cluster id and an offset that no server has reached."""
    store = s.store[store_of(c, client)]
    require(s.budget.wrong_contexts > 0, bound=C.wrong_contexts)
    require(token > s.committed)
    require(not clashes(s.cluster, store.latest.cluster))
    store_latest(store.latest, s.cluster, token)
    s.budget.wrong_contexts -= 1


@action(client=Client)
def user_resets_store(s: State, c: C, client: int) -> None:
    """A user resets a store to unknown, which begins a new session. The draft has no operation for this."""
    store = s.store[store_of(c, client)]
    require(c.resets)
    require(not is_unknown(store.latest.cluster))
    clear_context(store.latest)
    store.ghost_read = 0
    store.ghost_written = 0
    store.ghost_imported = 0
    store.ghost_hinted = 0
    for other in range(c.clients):
        if store_of(c, other) == store_of(c, client):
            s.call[other].ghost_read = 0
            s.call[other].ghost_written = 0
            s.call[other].ghost_imported = 0
            s.call[other].ghost_hinted = 0
