"""State records and initial state of the model of fetching from followers.

The model simplifies Kafka to keep states small:

* A leader never truncates, so an offset and a leader epoch identify a record: a log is an array of epochs.
* The controller is represented by the ISR and the list of leaders, one per epoch. The newest leader changes the ISR in
  one step, and only followers in its epoch fetch from it. A deposed leader that does not know its successor keeps its
  log and high watermark, and still serves consumers. The machine `replication`, not this one, covers problems with
  AlterPartition and broker epochs.
* A follower's fetch is two steps: the leader sends the response, and the follower applies it. A response contains one
  record and the high watermark from before the fetch.
* A consumer's request and its response are one step, except for out-of-range responses from a preferred replica, of
  which `late_errors` may arrive at any time.
* Each replica moves its own log start, and responses contain the leader's log start. A follower whose log ends below
  the leader's log start empties the log and continues at the leader's log start.
"""

from enum import IntEnum
from typing import Annotated

from fencepost.model.consumers.constants import C, Selector, selector
from fencepost.model.language import NONE, Array, BitSet, Index, Per, Range, Record, Size, action, bits

FIRST = 1
"""The first leader epoch; 0 means no epoch, or no record."""


class Kind(IntEnum):
    """A leader's response to a follower's fetch: none yet, a record or a high watermark, a truncation, or a restart."""

    NONE = 0
    RECORDS = 1
    DIVERGING = 2
    RESTART = 3


class Case(IntEnum):
    """A fetch offset relative to a replica's log: one of KIP-392's four cases, or one of two cases without an error."""

    READABLE = 0
    UNCOMMITTED = 1
    UNAVAILABLE = 2
    TOO_SMALL = 3
    TOO_LARGE = 4
    TAIL = 5


class Doing(IntEnum):
    """The consumer's task: fetch, validate a leader epoch, check after an error, wait for metadata, reset, or fail."""

    FETCHING = 0
    VALIDATING = 1
    CHECKING = 2
    UPDATING = 3
    RESETTING = 4
    RAISED = 5


Broker = Annotated[int, Index(C.replicas)]
MaybeBroker = Annotated[int, Index(C.replicas, none=True)]
Brokers = Annotated[int, BitSet(C.replicas)]
Offset = Annotated[int, Range(0, C.records)]
MaybeOffset = Annotated[int, Range(NONE, C.records)]
Epoch = Annotated[int, Range(0, C.epochs)]
Epochs = Annotated[int, BitSet(C.epochs + 1)]


class Answer(Record):
    """The response to a follower's fetch, in flight.

    RECORDS: `epoch` is the epoch of the single record, or 0 if there is none, and `end` is the leader's log start.
    DIVERGING: the leader's log has `epoch` up to `end`. RESTART: the follower's log restarts at `end`.
    """

    kind: Kind
    epoch: Epoch
    end: Offset
    high_watermark: Offset


class Replica(Record):
    """A broker's replica, in the newest leader epoch that it knows.

    The replica's log contains the records from `start` to `end`, represented by their epochs. `received` is the last
    high watermark received, which is kept only if the design needs it. `known_end` and `known_start` are the replica's
    log end and log start as the newest leader knows them (NONE and 0 before the first fetch).
    """

    is_up: bool
    epoch: Epoch
    log: Annotated[Array[Epoch], Size(C.records)]
    start: Offset
    end: Offset
    high_watermark: Offset
    received: Offset
    known_end: MaybeOffset
    known_start: Offset
    answer: Answer


class Consumer(Record):
    """The consumer: its position, its view of the leader and the ISR, and its preferred replica.

    `position_epoch` is the epoch of the record before the position, or the epoch that came with a reset; 0 if unknown.
    `raised_by` is the replica whose response caused a reset. An out-of-range response that `late_from` sent to a
    fetch at `late_offset` is in flight. There are three ghosts: the epoch of the record before the position, in the
    log that provided the position (0 if the log starts there); the epochs of all records read; and whether the
    consumer's last response was an error in the watched case.
    """

    doing: Doing
    position: Offset
    position_epoch: Epoch
    epoch: Epoch
    isr: Brokers
    preferred: MaybeBroker
    raised_by: Broker
    wants_metadata: bool
    late_from: MaybeBroker
    late_offset: Offset
    ghost_before: Epoch
    ghost_read: Annotated[Array[Epoch], Size(C.records)]
    ghost_met: bool


class Budget(Record):
    """The remaining budget of events."""

    unclean_elections: Annotated[int, Range(0, C.unclean_elections)]
    shrinks: Annotated[int, Range(0, C.shrinks)]
    retentions: Annotated[int, Range(0, C.retentions)]
    stops: Annotated[int, Range(0, C.stops)]
    late_errors: Annotated[int, Range(0, C.late_errors)]


class State(Record):
    """The partition and the consumer. `leader[epoch]` is the leader in each epoch up to `newest`.

    There are three ghosts: for each offset, the epochs of all records that were ever below a leader's high watermark;
    the end of these records; and the largest "latest" offset that a client has received.
    """

    leader: Annotated[Array[Broker], Size(C.epochs + 1)]
    newest: Epoch
    isr: Brokers
    replica: Annotated[Array[Replica], Per(Broker)]
    consumer: Consumer
    budget: Budget
    ghost_committed: Annotated[Array[Epochs], Size(C.records)]
    ghost_committed_end: Offset
    ghost_latest: Offset


@action()
def initial(s: State, c: C) -> None:
    """Replica 0 leads in the first epoch, all logs are empty and in sync, and the consumer fetches from replica 0."""
    s.newest = FIRST
    s.isr = bits.everyone(c.replicas)
    for replica in range(c.replicas):
        s.replica[replica].is_up = True
        s.replica[replica].epoch = FIRST
        s.replica[replica].known_end = NONE
    s.consumer.epoch = FIRST
    s.consumer.isr = s.isr if selector(c) != Selector.LEADER else 0
    s.consumer.preferred = NONE
    s.budget.unclean_elections = c.unclean_elections
    s.budget.shrinks = c.shrinks
    s.budget.retentions = c.retentions
    s.consumer.late_from = NONE
    s.budget.stops = c.stops
    s.budget.late_errors = c.late_errors


def newest_leader(s: State) -> Replica:
    """Return the newest leader's replica."""
    return s.replica[s.leader[s.newest]]


def has_leader(s: State) -> bool:
    """Return whether the newest leader knows that it leads."""
    return newest_leader(s).epoch == s.newest


def believes_to_lead(s: State, replica: int) -> bool:
    """Return whether the replica believes that it leads."""
    return s.leader[s.replica[replica].epoch] == replica
