"""State records and initial state of the model that combines hints and tokens.

The model simplifies Kafka to keep states small:

* There is one partition. The controller's log is the list of leaders. Every record changes the leader, so each offset
  stands for one leader, in one epoch of one topic incarnation, and lower offsets stand for older leaders.
* There is one client with one store, one produce or fetch request in flight, and one metadata request. The client's
  reads, writes, backoffs and endpoints are left out (see `leader-discovery`): it may send either request at any time.
* A body is read in one step. The model `metadata-reads` covers bodies built from several reads, components, writes and
  several clusters.
"""

from enum import IntEnum
from typing import Annotated

from fencepost.model.clients.joint.constants import C
from fencepost.model.language import NONE, Array, Index, Per, Range, Record, Size, action


class Stage(IntEnum):
    """The progress of a request."""

    NONE = 0
    SENT = 1
    ANSWERED = 2


class First(IntEnum):
    """The first of the two requests, if they share a connection."""

    NEITHER = 0
    REQUEST = 1
    REFRESH = 2


Broker = Annotated[int, Index(C.brokers)]
Offset = Annotated[int, Range(0, C.changes)]
MaybeOffset = Annotated[int, Range(NONE, C.changes)]
Topic = Annotated[int, Range(0, C.recreations)]


class Leader(Record):
    """A record of the metadata log: the topic incarnation, the leader, and the leader's epoch."""

    topic: Topic
    leader: Broker
    epoch: Offset


class BrokerState(Record):
    """A broker: the offsets that its metadata cache and its replica have reached."""

    cache: Offset
    replica: Offset


class Known(Record):
    """The leader that the client uses. The ghost field records the offset of the metadata that named the leader."""

    topic: Topic
    leader: Broker
    epoch: Offset
    ghost_offset: Offset


class Call(Record):
    """A request, which later becomes its response.

    `sent` is the token in the request header, which is cleared once it has been checked; `token` is the token in the
    response header. Both are NONE if there is no token. If the response names a leader (`names_leader`), `body` is the
    offset of the metadata that it was built from: metadata responses always name leaders, but produce and fetch
    responses only if they are errors. The ghost field records the newest offset that the client had received in the
    other kind of response when it sent this request.
    """

    stage: Stage
    broker: Broker
    sent: MaybeOffset
    is_checked: bool
    is_handled: bool
    names_leader: bool
    body: Offset
    token: MaybeOffset
    ghost_told: Offset


class State(Record):
    """The metadata log, the brokers, and the client with its store and its requests.

    `token` is the store's token. `first` is NEITHER unless connections are ordered (`in_order`) and both requests are
    at the same broker. The ghosts record the newest offsets of the hints that the client has accepted and of the
    metadata that it has read.
    """

    log: Annotated[Array[Leader], Size(C.changes + 1)]
    newest: Offset
    recreations: Topic
    broker: Annotated[Array[BrokerState], Per(Broker)]
    known: Known
    token: MaybeOffset
    request: Call
    refresh: Call
    first: First
    ghost_hinted: Offset
    ghost_read: Offset


@action()
def initial(s: State, c: C) -> None:
    """Broker 0 leads in epoch 0, which all nodes know; the store is empty (ConsistencyContextStore.empty)."""
    s.recreations = c.recreations
    s.token = NONE


def clear(call: Call) -> None:
    """Clear a completed request."""
    call.stage = Stage.NONE
    call.broker = 0
    call.sent = 0
    call.is_checked = False
    call.is_handled = False
    call.names_leader = False
    call.body = 0
    call.token = 0
    call.ghost_told = 0
