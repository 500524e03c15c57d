"""State records and initial state of the quorum model.

The model simplifies Kafka to keep states small:

* A restart is one step. A node that is down is not distinguished from a slow one: neither takes a step. Its log, epoch
  and vote stay on disk.
* A follower always has one fetch in flight. Until the leader handles the fetch, the fetch's content follows from the
  follower's state. Fetches from an epoch that the follower has left are kept in `late_fetches` if there is room.
* Records in a response are read from the leader's log when the follower receives the response. A leader only appends
  while it leads, so the log still contains these records. When a leader leaves its epoch, its responses in flight are
  lost. A follower that receives one later could have received it earlier.
* An election is one step in which a majority of minimal size grants its votes, unless `real_votes` is on. Voters
  outside this majority learn of the leader later.
* A node takes a snapshot and deletes its log up to the snapshot's end in one step, and fetches a snapshot in one step.
  The content of a snapshot stays in `log`.
* A node that has lost its leader waits for an announcement from the next leader.
"""

from enum import IntEnum
from typing import Annotated

from fencepost.model.language import NONE, Array, Bag, BitSet, Index, Per, Range, Record, Size, action
from fencepost.model.quorum.constants import C, Notified

NO_EPOCH = 0
"""The epoch of an empty log; the first leader's epoch is 1."""
LEADER_CHANGE = 0
"""The control record with which a leader starts its epoch. The controller's records are numbered from 1."""


class Role(IntEnum):
    """A node's role in the quorum. Followers and observers fetch from `leader`, if known. RESIGNED: the node has led in
    its epoch, but no longer leads. Without `check_quorum`, it is a follower without a leader.
    """

    FOLLOWER = 0
    CANDIDATE = 1
    LEADER = 2
    RESIGNED = 3


class Phase(IntEnum):
    """The progress of a follower's fetch: sent, parked by the leader, or answered."""

    SENT = 0
    PARKED = 1
    ANSWERED = 2


class Registration(IntEnum):
    """The progress of a controller's registration. LOST: a request whose response will never arrive."""

    NONE = 0
    SENT = 1
    LOST = 2
    DONE = 3


LOG_SIZE = C.max_records + C.max_epoch + C.no_ops + C.removals + C.additions + C.updates + C.restarts
Id = Annotated[int, Index(C.nodes)]
MaybeId = Annotated[int, Index(C.nodes, none=True)]
Ids = Annotated[int, BitSet(C.nodes)]
Offset = Annotated[int, Range(0, LOG_SIZE)]
MaybeOffset = Annotated[int, Range(NONE, LOG_SIZE)]
Epoch = Annotated[int, Range(0, C.max_epoch)]
Snapshot = Annotated[int, Range(0, 32 * C.snapshots)]
"""The end of a snapshot, or 0 if there is none."""
RecordId = Annotated[int, Range(0, C.max_records + 2 + C.additions + C.updates * 2)]
"""A record's id: 0 for an epoch's start, up to `max_records` for the controller's records, higher for others."""
Ticks = Annotated[int, Range(0, C.max_wait + C.latency + C.retry)]


class Entry(Record):
    """A record in a log."""

    record: RecordId
    epoch: Epoch


class Fetch(Record):
    """A follower's fetch. `remaining` counts the ticks until the message arrives, or until a parked fetch times out.

    In a parked or answered fetch, `high_watermark` is the value that the leader had when it built the response, or NONE
    if unknown. In an answered fetch, `end` is the end of the response's records or, if `diverging`, the offset where
    the logs diverge. A response without records may name a `snapshot` by its end.
    """

    phase: Phase
    diverging: bool
    snapshot: Snapshot
    end: Offset
    high_watermark: MaybeOffset
    remaining: Ticks


class Node(Record):
    """A voter or an observer. `high_watermark` is NONE while it is unknown.

    A leader stores `epoch_start`, the offset of its LeaderChange record; `known_end`, the offset of each node's last
    fetch; `sent`, the last high watermark sent to each node, if the rules use it; and `flushed`, the flushed end of its
    log, if flushing may lag. A candidate stores the votes that it was `granted`. `fetched` says whether the node has
    received a response from its leader; this is recorded only if pre-votes depend on it. `lost` means that the node is
    an observer whose fetch timeout has expired, `active` means that its controller was notified that the node leads,
    and `failed` means that the node stopped because it had to truncate below its high watermark. `registration` is the
    progress of its controller's registration. `received` is the last high watermark sent to the node, if the node
    reports this value. `applied` is the number of log records that a broker has applied to its metadata. `start` is
    where the node's log starts: the part of `log` below `start` is in the node's snapshot.
    """

    role: Role
    epoch: Epoch
    leader: MaybeId
    voted: MaybeId
    granted: Ids
    fetched: bool
    lost: Annotated[int, Range(0, C.fetch_timeouts)]
    active: Annotated[int, Range(0, C.listeners)]
    registration: Annotated[int, Range(0, 3 * C.registration_timeouts)]
    failed: bool
    log: Annotated[Array[Entry], Size(LOG_SIZE)]
    start: Snapshot
    end: Offset
    flushed: Offset
    high_watermark: MaybeOffset
    received: MaybeOffset
    applied: Offset
    epoch_start: Offset
    known_end: Annotated[Array[MaybeOffset], Per(Id)]
    sent: Annotated[Array[MaybeOffset], Per(Id)]
    fetch: Fetch


class LateFetch(Record):
    """A fetch request whose sender has left the epoch in which it sent the request."""

    leader: Id
    follower: Id
    epoch: Epoch
    offset: Offset
    last_epoch: Epoch


class Budget(Record):
    """The remaining budget of faults and of operators' actions."""

    restarts: Annotated[int, Range(0, C.restarts)]
    disk_losses: Annotated[int, Range(0, C.disk_losses)]
    losses: Annotated[int, Range(0, C.losses)]
    fetch_timeouts: Annotated[int, Range(0, C.fetch_timeouts)]
    removals: Annotated[int, Range(0, C.removals)]
    additions: Annotated[int, Range(0, C.additions)]
    updates: Annotated[int, Range(0, C.updates)]
    registration_timeouts: Annotated[int, Range(0, C.registration_timeouts)]
    snapshots: Annotated[int, Range(0, C.snapshots)]
    no_ops: Annotated[int, Range(0, C.no_ops)]


class State(Record):
    """The quorum. `unreached` is the set of voters that no node can reach after an update of their endpoints.

    `removed` is the leader that a removal record in a log removes from the voters; `added` is the new voter.
    `ghost_committed` contains, for each offset, the record that was first below a leader's high watermark.
    `ghost_credit` counts, for each node, the responses without records that it may still get immediately in this epoch.
    """

    node: Annotated[Array[Node], Per(Id)]
    written: Annotated[int, Range(0, C.max_records)]
    removed: MaybeId
    added: MaybeId
    unreached: Annotated[int, Range(0, 31 * C.updates)]
    late_fetches: Annotated[Bag[LateFetch], Size(C.late_fetches)]
    no_op_due: Annotated[int, Range(0, C.no_op_interval)]
    budget: Budget
    ghost_committed: Annotated[Array[Entry], Size(LOG_SIZE)]
    ghost_committed_end: Offset
    ghost_credit: Annotated[Array[Annotated[int, Range(NONE, LOG_SIZE + C.losses + 2)]], Per(Id)]


def leads(s: State, node: int) -> bool:
    """Return whether the node believes that it leads. A leader of a later epoch may exist."""
    return s.node[node].role == Role.LEADER and not s.node[node].failed


def follows(s: State, follower: int, leader: int) -> bool:
    """Return whether the follower fetches from `leader`, in the leader's epoch."""
    return s.node[follower].leader == leader and not s.node[follower].failed and leads(s, leader)


def is_everyone_connected(s: State, c: C) -> bool:
    """Return whether every node leads or follows a leader."""
    return all(leads(s, node) or s.node[node].leader != NONE for node in range(c.nodes))


@action()
def initial(s: State, c: C) -> None:
    """Node 0 leads in epoch 1, elected by the first voters; no other node has read its LeaderChange record yet."""
    for n in s.node:
        n.leader = NONE
        n.voted = NONE
        n.high_watermark = NONE
        n.received = NONE
        for node in range(c.nodes):
            n.known_end[node] = NONE
            n.sent[node] = NONE
    s.removed = NONE
    s.added = NONE
    first = s.node[0]
    first.role = Role.LEADER
    for node in range(c.voters // 2 + 1):
        s.node[node].epoch = 1
        s.node[node].voted = 0 if c.real_votes else NONE
    first.log[0].record = LEADER_CHANGE
    first.log[0].epoch = 1
    first.end = 1
    first.active = int(c.listeners and c.notified == Notified.READ)
    s.no_op_due = c.no_op_interval
    s.budget.restarts = c.restarts
    s.budget.disk_losses = c.disk_losses
    s.budget.losses = c.losses
    s.budget.fetch_timeouts = c.fetch_timeouts
    s.budget.removals = c.removals
    s.budget.additions = c.additions
    s.budget.updates = c.updates
    s.budget.registration_timeouts = c.registration_timeouts
    s.budget.snapshots = c.snapshots
    s.budget.no_ops = c.no_ops
