"""How a server processes a request: it checks the request, handles it, and builds the header, in separate steps.

The draft lists the steps in this order: handle the request, compare cluster ids, compare the token with the cache, and
read the cache's offset for the header. With `check_first`, both checks come before the request is handled.
"""

from fencepost.model.clients.tokens.constants import C, NodeChoice, OnLag, TokenRead, WriteToken
from fencepost.model.clients.tokens.metadata import commit, compared, gets_metadata
from fencepost.model.clients.tokens.operations import Operation
from fencepost.model.clients.tokens.state import (
    CONTROLLER,
    Call,
    Client,
    State,
    Status,
    clear_answer,
    clear_request,
    is_read,
    let_pass,
    shown,
)
from fencepost.model.clients.tokens.store import clashes, is_unknown
from fencepost.model.language import NONE, action, bits, require


def compared_offset(s: State, c: C, node: int, operation: int) -> int:
    """Return the offset that a server compares with tokens and returns: the cache's or, with the fix, a component's."""
    return shown(s, node, compared(c, operation))


def names_other_cluster(s: State, call: Call) -> bool:
    """Return whether the server must reject the request's cluster id. An old server does not check cluster ids."""
    return not s.server[call.node].is_old and clashes(call.sent.cluster, s.cluster)


def is_checked_operation(c: C, operation: int) -> bool:
    """Return whether servers compare tokens for this operation. In the draft, they compare them only for reads."""
    return is_read(operation) or (c.unlisted_checked and operation == Operation.UNLISTED)


def is_behind(s: State, c: C, call: Call) -> bool:
    """Return whether the server is behind the request's token. An old server does not check the token."""
    return (
        not s.server[call.node].is_old
        and is_checked_operation(c, call.operation)
        and not is_unknown(call.sent.cluster)
        and call.sent.token > compared_offset(s, c, call.node, call.operation)
    )


def is_pinned(s: State, c: C, call: Call) -> bool:
    """Return whether the check, the body and the header use one image."""
    return c.token_read == TokenRead.PINNED and call.operation != Operation.WRITE and not s.server[call.node].is_old


def is_handled(c: C, call: Call) -> bool:
    """Return whether the request has been handled: the body is complete, or the write is committed."""
    return call.reads == (2 if c.torn_reads and call.operation == Operation.CACHE else 1)


def is_its_turn(s: State, c: C, call: Call) -> bool:
    """Return whether the server has answered all earlier requests on this connection.

    SocketServer.Processor mutes a connection from the arrival of a request until its response is sent, so a waiting
    request delays the requests behind it.
    """
    return not any(
        bits.contains(call.ahead, other) and s.call[other].status == Status.SENT for other in range(c.clients)
    )


def may_check(s: State, c: C, call: Call) -> bool:
    """Return whether the checks are the next step for this request."""
    is_next = c.check_first or is_pinned(s, c, call) or is_handled(c, call)
    return call.status == Status.SENT and not call.checked and is_next and is_its_turn(s, c, call)


def answer_with_error(s: State, c: C, call: Call, status: Status) -> None:
    """Send an error. Only the context in the header of INCONSISTENT_CLUSTER_ID can change a store."""
    token = s.server[call.node].cache if status == Status.INCONSISTENT else 0
    clear_answer(call)
    call.token = token
    call.cluster = s.cluster if status == Status.INCONSISTENT else 0
    clear_request(c, call)
    call.status = status


def lagging(s: State, c: C, operation: int) -> int:
    """Return the servers whose offset for this kind of request is behind the log."""
    return sum(
        bits.only(node)
        for node in range(c.nodes)
        if gets_metadata(c, node) and compared_offset(s, c, node, operation) < s.committed
    )


@action(client=Client)
def server_refuses_cluster(s: State, c: C, client: int) -> None:
    """A server returns INCONSISTENT_CLUSTER_ID for a request that names another cluster."""
    call = s.call[client]
    require(may_check(s, c, call))
    require(names_other_cluster(s, call))
    answer_with_error(s, c, call, Status.INCONSISTENT)


@action(client=Client)
def server_reports_stale_metadata(s: State, c: C, client: int) -> None:
    """A server that is behind the token returns STALE_METADATA immediately. The draft also allows it to wait.

    The model has no clock: a backoff lasts until each lagging server has advanced by at least one offset.
    """
    call = s.call[client]
    node = call.node if c.node_choice == NodeChoice.ANOTHER else 0
    require(c.on_lag == OnLag.ERROR)
    require(may_check(s, c, call))
    require(not names_other_cluster(s, call))
    require(is_behind(s, c, call))
    answer_with_error(s, c, call, Status.STALE)
    let_pass(s, client)
    call.node = node
    call.awaited = lagging(s, c, call.operation) if c.backoff else 0


@action(client=Client)
def server_passes_request(s: State, c: C, client: int) -> None:
    """A request passes a server's checks."""
    call = s.call[client]
    require(may_check(s, c, call))
    require(not is_pinned(s, c, call))
    require(not names_other_cluster(s, call))
    require(not is_behind(s, c, call))
    call.checked = True
    call.sent.token = NONE
    if not clashes(call.sent.cluster, s.cluster):
        call.sent.cluster = NONE


def has_token(s: State, c: C, call: Call) -> bool:
    """Return whether the response header contains a token that a client can use."""
    is_meant = c.unlisted_tokens or call.operation != Operation.UNLISTED
    return is_meant and not c.half_headers and not s.server[call.node].is_old


@action(client=Client)
def server_answers_from_one_image(s: State, c: C, client: int) -> None:
    """A server takes one image, checks the request against it, builds the body from it and returns its offset."""
    call = s.call[client]
    require(may_check(s, c, call))
    require(is_pinned(s, c, call))
    require(not names_other_cluster(s, call))
    require(not is_behind(s, c, call))
    body = shown(s, call.node, call.operation)
    token = compared_offset(s, c, call.node, call.operation) if has_token(s, c, call) else NONE
    clear_request(c, call)
    call.oldest = body
    call.newest = body
    call.token = token
    call.cluster = 0 if token == NONE else s.cluster
    call.status = Status.ANSWERED


@action(client=Client)
def server_reads_token_first(s: State, c: C, client: int) -> None:
    """A server reads the offset for the header before it builds the body, which the draft warns against."""
    call = s.call[client]
    require(c.token_read == TokenRead.BEFORE)
    require(call.status == Status.SENT)
    require(call.operation != Operation.WRITE)
    require(not s.server[call.node].is_old)
    require(call.checked or not c.check_first)
    require(call.reads == 0)
    require(call.token == NONE)
    require(is_its_turn(s, c, call))
    call.token = compared_offset(s, c, call.node, call.operation)


@action(client=Client)
def server_reads_metadata(s: State, c: C, client: int) -> None:
    """A server builds the body, or half of it, from its current metadata."""
    call = s.call[client]
    offset = shown(s, call.node, call.operation)
    require(call.status == Status.SENT)
    require(call.operation != Operation.WRITE)
    require(not is_pinned(s, c, call))
    require(not is_handled(c, call))
    require(call.checked or not c.check_first)
    require(is_its_turn(s, c, call))
    require(c.token_read != TokenRead.BEFORE or call.token != NONE or s.server[call.node].is_old)
    if call.reads == 0:
        call.oldest = offset
    call.newest = offset
    call.reads += 1


@action(client=Client)
def controller_commits_write(s: State, c: C, client: int) -> None:
    """The controller commits a change that a client requested, directly or through a broker, and builds the header."""
    call = s.call[client]
    require(call.status == Status.SENT)
    require(call.operation == Operation.WRITE)
    require(call.reads == 0)
    require(call.checked or not c.check_first)
    require(s.committed < c.offsets, bound=C.offsets)
    require(is_its_turn(s, c, call))
    commit(s, c)
    call.oldest = s.committed
    call.newest = s.committed
    call.token = s.committed if c.committed_token else s.server[CONTROLLER].cache
    call.reads = 1


def write_token(s: State, c: C, call: Call) -> int:
    """Return the token of a committed write: the server's cache offset, or the controller's token if that is used."""
    cache = s.server[call.node].cache
    if call.node == CONTROLLER or c.write_token == WriteToken.INNER:
        return max(call.token, cache)
    return cache


@action(client=Client)
def server_answers(s: State, c: C, client: int) -> None:
    """A server sends its response. If the server has not yet read the offset for the header, it does so now.

    ForwardingManager.parseResponse: a broker that has forwarded a write builds its own header. Such a broker may wait
    until its cache shows the write before it responds.
    """
    call = s.call[client]
    server = s.server[call.node]
    is_write = call.operation == Operation.WRITE
    require(call.status == Status.SENT)
    require(call.checked)
    require(is_handled(c, call))
    require(not is_write or c.write_token != WriteToken.WAIT or server.cache >= call.newest)
    if not has_token(s, c, call):
        call.token = NONE
    elif is_write:
        call.token = write_token(s, c, call)
    elif c.token_read == TokenRead.AFTER:
        call.token = compared_offset(s, c, call.node, call.operation)
    call.cluster = 0 if call.token == NONE else s.cluster
    clear_request(c, call)
    call.status = Status.ANSWERED
