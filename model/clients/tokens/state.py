"""State records and initial state of the model of metadata reads.

The model simplifies the protocol to keep states small:

* The state of the cluster after each offset of its metadata log is represented by that offset. The log is represented
  by its committed end.
* A server's metadata is represented by the offset that its cache shows. All components that are updated after the cache
  are modelled as one, with its own offset. Properties of this component therefore cover whichever component lags most.
* A client has one call at a time. Two calls in flight from one store are modelled as two clients of one factory, each
  with its own connections. With `in_order`, they are two calls on shared connections.
* Requests and responses are not lost: a call that never ends has no effect, and a repeated call is a retry.
"""

from enum import IntEnum
from typing import Annotated

from fencepost.model.clients.tokens.constants import C
from fencepost.model.clients.tokens.operations import Operation
from fencepost.model.clients.tokens.store import Cluster, Context, MaybeCluster, MaybeOffset, Offset
from fencepost.model.language import NONE, Array, BitSet, Index, Per, Range, Record, action, bits


class Status(IntEnum):
    """The progress of a call: idle, sent, or answered in one of three ways."""

    IDLE = 0
    SENT = 1
    ANSWERED = 2
    STALE = 3
    INCONSISTENT = 4
    DISCONNECTED = 5


Node = Annotated[int, Index(C.nodes)]
MaybeNode = Annotated[int, Index(C.nodes, none=True)]
Nodes = Annotated[int, BitSet(C.nodes)]
Client = Annotated[int, Index(C.clients)]
Clients = Annotated[int, BitSet(C.clients)]
CONTROLLER = 0
"""The node of the active controller."""


class Server(Record):
    """A server: the offsets of its metadata cache and of the component; `is_old` if it does not support tokens."""

    cache: Offset
    component: Offset
    is_old: bool


class Store(Record):
    """A ConsistencyContextStore. The ghosts record the newest offsets that its clients have seen in a body, a write, a
    hint and another store. A hint is the information about a leader in a produce or fetch error (KIP-951).
    """

    latest: Context
    ghost_read: Offset
    ghost_written: Offset
    ghost_imported: Offset
    ghost_hinted: Offset


class Letter(Record):
    """A context that a user has serialized, and the newest offset known to its store's clients at that time.

    The store's clients know the bodies that were delivered, the writes that were acknowledged, and everything that was
    known when their imported contexts were serialized.
    """

    context: Context
    ghost_known: Offset


class Call(Record):
    """A client's call: its request at the server, which later becomes the response.

    `sent` is the context in the request header, cleared once it has been checked. `oldest` and `newest` are the offsets
    at which the body was read; for a write, both are the offset at which it was committed. `token` is the token in the
    response header, or NONE if it is missing, and `cluster` is its cluster id. `merged` is set if storeLatest takes two
    steps, and has compared but not yet stored the contexts. `awaited` contains the servers that have not advanced since
    the call was rejected, if clients wait for them (`backoff`). `ahead` contains the calls whose responses come before
    this one's, if connections are ordered (`in_order`). The ghosts are copies of the store's, made when the call began.
    """

    status: Status
    operation: Operation
    node: Node
    sent: Context
    checked: bool
    reads: Annotated[int, Range(0, 2)]
    oldest: Offset
    newest: Offset
    token: MaybeOffset
    cluster: Cluster
    merged: bool
    awaited: Nodes
    ahead: Clients
    ghost_read: Offset
    ghost_written: Offset
    ghost_imported: Offset
    ghost_hinted: Offset


class Budget(Record):
    """The remaining budget of faults and of users' mistakes."""

    restarts: Annotated[int, Range(0, C.restarts)]
    foreign_contexts: Annotated[int, Range(0, C.foreign_contexts)]
    wrong_contexts: Annotated[int, Range(0, C.wrong_contexts)]
    rebuilds: Annotated[int, Range(0, C.rebuilds)]


class State(Record):
    """The cluster with its committed offset, its servers, and the clients with their calls and stores. `connected` is
    the server to which a client has a connection, if this affects where it sends its next request.
    """

    cluster: Cluster
    committed: Offset
    server: Annotated[Array[Server], Per(Node)]
    store: Annotated[Array[Store], Per(Client)]
    call: Annotated[Array[Call], Per(Client)]
    connected: Annotated[Array[MaybeNode], Per(Client)]
    letter: Letter
    budget: Budget


@action()
def initial(s: State, c: C) -> None:
    """The log and all servers are at offset 0, and all stores are unknown (ConsistencyContextStore.empty)."""
    for node in range(c.nodes):
        s.server[node].is_old = node >= c.nodes - c.old_nodes
    for client in range(c.clients):
        clear_context(s.store[client].latest)
        s.connected[client] = NONE
    clear_context(s.letter.context)
    s.budget.restarts = c.restarts
    s.budget.foreign_contexts = c.foreign_contexts
    s.budget.wrong_contexts = c.wrong_contexts
    s.budget.rebuilds = c.rebuilds


def clear_context(context: Context) -> None:
    """Make a context unknown."""
    context.cluster = NONE
    context.token = NONE


def store_of(c: C, client: int) -> int:
    """Return the number of a client's store."""
    return 0 if c.one_store else client


def is_read(operation: int) -> bool:
    """Return whether the draft lists the operation as a read of metadata, whose token is checked."""
    return operation in (Operation.CACHE, Operation.COMPONENT)


def shown(s: State, node: int, operation: int) -> int:
    """Return the offset of the data that an operation reads at a server."""
    server = s.server[node]
    return server.component if operation == Operation.COMPONENT else server.cache


def let_pass(s: State, client: int) -> None:
    """Remove a call from its connection, so that the calls behind it move up."""
    for call in s.call:
        call.ahead = bits.without(call.ahead, client)


def clear_request(c: C, call: Call) -> None:
    """Clear a completed request's fields that are not read again; on an ordered connection, the response stays."""
    if not c.in_order:
        call.node = 0
    call.sent.cluster = 0
    call.sent.token = 0
    call.checked = False
    call.reads = 0
    call.merged = False


def clear_answer(call: Call) -> None:
    """Forget the body and the header."""
    call.oldest = 0
    call.newest = 0
    call.token = 0
    call.cluster = 0


def end_call(s: State, c: C, client: int) -> None:
    """End the call, so that its client may make the next one."""
    call = s.call[client]
    let_pass(s, client)
    clear_request(c, call)
    clear_answer(call)
    call.node = 0
    call.ahead = 0
    call.status = Status.IDLE
    call.operation = Operation.CACHE
    call.ghost_read = 0
    call.ghost_written = 0
    call.ghost_imported = 0
    call.ghost_hinted = 0


__all__ = [
    "CONTROLLER",
    "Call",
    "Client",
    "Cluster",
    "Context",
    "MaybeCluster",
    "MaybeOffset",
    "Node",
    "Offset",
    "Operation",
    "Server",
    "State",
    "Status",
    "Store",
    "clear_answer",
    "clear_context",
    "clear_request",
    "end_call",
    "initial",
    "is_read",
    "let_pass",
    "shown",
    "store_of",
]
