"""How metadata is committed, reaches the servers, and is lost."""

from fencepost.model.clients.tokens.constants import C
from fencepost.model.clients.tokens.operations import Operation
from fencepost.model.clients.tokens.state import (
    CONTROLLER,
    Call,
    Node,
    Offset,
    State,
    Status,
    clear_answer,
    clear_request,
    end_call,
    let_pass,
)
from fencepost.model.clients.tokens.store import Cluster
from fencepost.model.language import NONE, action, bits, require


def commit(s: State, c: C) -> None:
    """The controller commits the next record, which its own cache shows immediately unless the cache lags."""
    s.committed += 1
    if not c.controller_lags:
        s.server[CONTROLLER].cache = s.committed
        if c.component_reads:
            s.server[CONTROLLER].component = s.committed


@action()
def controller_commits_change(s: State, c: C) -> None:
    """The controller commits a change that no client has requested."""
    require(s.committed < c.offsets, bound=C.offsets)
    commit(s, c)


def gets_metadata(c: C, node: int) -> bool:
    """Return whether metadata eventually reaches this server."""
    return node < c.nodes - c.cut_off and (node != CONTROLLER or c.controller_lags)


def compared(c: C, operation: int) -> int:
    """Return whose offset is compared with tokens: the cache's or, with `component_offsets`, the component's."""
    return Operation.COMPONENT if c.component_offsets and operation == Operation.COMPONENT else Operation.CACHE


def let_retry(s: State, c: C, node: int, moved: int) -> None:
    """Record that a server has advanced, which ends the backoff of calls that waited for this server."""
    for call in s.call:
        if compared(c, call.operation) == moved:
            call.awaited = bits.without(call.awaited, node)


@action(node=Node, offset=Offset)
def server_publishes_to_cache(s: State, c: C, node: int, offset: int) -> None:
    """A server sets its metadata cache to a later image (BrokerMetadataPublisher.onMetadataUpdate, first step).

    With `cache_last`, this image is not later than the one that the server's components have reached.
    """
    server = s.server[node]
    require(gets_metadata(c, node))
    require(offset > server.cache)
    require(offset <= (server.component if c.cache_last else s.committed))
    server.cache = offset
    let_retry(s, c, node, Operation.CACHE)


@action(node=Node, offset=Offset)
def server_publishes_to_component(s: State, c: C, node: int, offset: int) -> None:
    """A server passes a later image to a component: replica manager, dynamic config, delegation tokens, authorizer."""
    server = s.server[node]
    require(c.component_reads)
    require(gets_metadata(c, node))
    require(offset > server.component)
    require(offset <= (s.committed if c.cache_last else server.cache))
    server.component = offset
    let_retry(s, c, node, Operation.COMPONENT)


def is_lost(c: C, call: Call) -> bool:
    """Return whether a broken connection loses this call: its request or, if connections are ordered, its response.

    If a response arrives nevertheless, it does so before the client reconnects, with the same effect as if it had
    arrived before the connection was lost.
    """
    return call.status == Status.SENT or (c.in_order and call.status in (Status.ANSWERED, Status.INCONSISTENT))


def disconnect(s: State, c: C, client: int) -> None:
    """A connection breaks, and its call is lost: a read is retried, and the outcome of a write is unknown."""
    call = s.call[client]
    if call.operation == Operation.WRITE:
        end_call(s, c, client)
    else:
        let_pass(s, client)
        clear_request(c, call)
        call.node = 0
        call.ahead = 0
        clear_answer(call)
        call.status = Status.DISCONNECTED


def may_come_back(s: State, c: C, node: int, offset: int) -> bool:
    """Return whether this may be the first offset that a server shows after a restart.

    BrokerServer.startup accepts requests only once the broker is unfenced and has therefore applied the record of its
    registration. Without `restart_catches_up`, the broker shows the content of its last snapshot.
    """
    if c.restart_catches_up:
        return offset == s.committed and node < c.nodes - c.cut_off
    return offset <= s.server[node].cache


@action(node=Node, offset=Offset)
def server_restarts(s: State, c: C, node: int, offset: int) -> None:
    """A server restarts, with the same offset in its cache and its components. An old server is also upgraded."""
    server = s.server[node]
    require(s.budget.restarts > 0, bound=C.restarts)
    require(may_come_back(s, c, node, offset))
    require(node != CONTROLLER or c.controller_lags)
    if offset > server.cache:
        let_retry(s, c, node, Operation.CACHE)
    if offset > server.component:
        let_retry(s, c, node, Operation.COMPONENT)
    server.cache = offset
    if c.component_reads:
        server.component = offset
    server.is_old = False
    for client in range(c.clients):
        if is_lost(c, s.call[client]) and s.call[client].node == node:
            disconnect(s, c, client)
    for client in range(c.clients):
        if s.connected[client] == node:
            s.connected[client] = NONE
    s.budget.restarts -= 1


@action(cluster=Cluster)
def cluster_is_rebuilt(s: State, c: C, cluster: int) -> None:
    """The metadata log is lost on all voters and recreated, under the same cluster id or a different one."""
    require(s.budget.rebuilds > 0, bound=C.rebuilds)
    require(s.committed > 0)
    s.committed = 0
    s.cluster = cluster
    for server in s.server:
        server.cache = 0
        server.component = 0
    for client in range(c.clients):
        s.call[client].awaited = 0
        if is_lost(c, s.call[client]):
            disconnect(s, c, client)
    s.budget.rebuilds -= 1
