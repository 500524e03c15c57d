"""State records and initial state of the machine with controllers and brokers.

The model simplifies Kafka to keep states small:

* The election of a controller is one step, in which a majority of minimal size grants its votes. Voters outside this
  majority learn of the election later.
* A voter's fetch and its response are one step, unless the response is lost. A broker's fetch and its response are one
  step too, which brings metadata in batches of any size.
* A controller needs to know which records are committed only while it leads, because no other controller makes
  decisions or distributes metadata. Therefore, only leaders have a high watermark and a memory, and a new leader
  applies its log from the start once it knows which records are committed.
* A leader that is re-elected in the next epoch starts afresh, like any other leader. Kafka's leader continues with its
  memory and its pending responses, which is equivalent, because its log is unchanged.
* A broker stores the records that it has applied, but not those that it has fetched beyond them, which are never read.
* A follower's fetch of the partition and its response are one step, which brings all records. In a new leader epoch, a
  leader forgets what it knew about its followers. Metadata that changes nothing for a leader leaves its pending ISR
  change in place. The machine `replication` models Kafka's actual behaviour.
* Brokers neither stop nor restart, and keep their logs; any broker may be fenced. There is no ELR, no min ISR, and no
  unclean election.
* A leader requests one ISR change at a time. A request is dropped once its sender no longer waits for the response.
  Only copies of resent requests are kept, if there is room.
* A restart is one step.
"""

from enum import IntEnum
from typing import Annotated

from fencepost.model.controllers.constants import C
from fencepost.model.language import NONE, Array, Bag, BitSet, Index, Per, Range, Record, Size, action, bits

LOG_SIZE = C.max_epoch + C.decisions


class Status(IntEnum):
    """The progress of a leader's AlterPartition request."""

    NONE = 0
    UNSENT = 1
    SENT = 2
    HANDLED = 3
    ANSWERED = 4


class Reply(IntEnum):
    """A controller's response: the change is done, a member is ineligible, or the epochs are old."""

    APPLIED = 0
    INELIGIBLE = 1
    REFUSED = 2


Flag = Annotated[int, Range(0, 1)]
Controller = Annotated[int, Index(C.controllers)]
MaybeController = Annotated[int, Index(C.controllers, none=True)]
Controllers = Annotated[int, BitSet(C.controllers)]
Broker = Annotated[int, Index(C.brokers)]
MaybeBroker = Annotated[int, Index(C.brokers, none=True)]
Brokers = Annotated[int, BitSet(C.brokers)]
Epoch = Annotated[int, Range(0, C.max_epoch)]
Offset = Annotated[int, Range(0, LOG_SIZE)]
MaybeOffset = Annotated[int, Range(NONE, LOG_SIZE)]
LeaderEpoch = Annotated[int, Range(0, C.decisions * 3)]
PartitionEpoch = Annotated[int, Range(0, C.decisions * 3)]
"""A partition epoch. The bound is larger than the number of decisions, because repeated decisions count again."""
DataOffset = Annotated[int, Range(0, C.max_records)]
MaybeDataOffset = Annotated[int, Range(NONE, C.max_records)]
RecordId = Annotated[int, Range(0, C.max_records)]
"""A record of the partition, numbered from 1 in the order in which leaders append records; 0 means no record."""


class Change(Record):
    """A record of the metadata log, which describes a change (PartitionChangeRecord, BrokerRegistrationChangeRecord).

    A change to the partition contains the ISR (0 if unchanged) and, if `elects` is set, the leader. Epochs are counted
    during replay. `subject` is the broker that the record fences or unfences, as a set. A record without a change
    starts an epoch. `ghost_is_late` means that the record was written after another controller had been elected. In
    `ghost_log`, it also means that the record was committed in the epoch in which it was written.
    """

    epoch: Epoch
    changes_partition: bool
    isr: Brokers
    elects: bool
    leader: MaybeBroker
    subject: Brokers
    fences: bool
    ghost_is_late: bool


class Image(Record):
    """The state that a prefix of the metadata log produces: the partition, and the fenced brokers."""

    leader: MaybeBroker
    leader_epoch: LeaderEpoch
    isr: Brokers
    partition_epoch: PartitionEpoch
    fenced: Brokers


class Node(Record):
    """A controller: a voter of the quorum, and the state machine on top of it.

    `leads` means that the node believes that it leads the quorum; a later leader may exist. In `known_end`, a leader
    keeps the offset of each voter's last fetch in its epoch. `memory` is the state on which the node bases decisions,
    and `replayed` is the number of log records in it: those below `high_watermark` and, while active, its own.
    """

    epoch: Epoch
    leads: bool
    log: Annotated[Array[Change], Size(LOG_SIZE)]
    end: Offset
    high_watermark: Offset
    known_end: Annotated[Array[MaybeOffset], Per(Controller)]
    memory: Image
    replayed: Offset


class Request(Record):
    """A leader's AlterPartition request, and the response to it.

    Once the request is handled, the response is in `reply`. The response is sent once the high watermark reaches
    `offset`, which is where the controller's log ended when the request was handled.
    """

    status: Status
    to: Controller
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    isr: Brokers
    reply: Reply
    offset: Offset


class Entry(Record):
    """A record of the partition, in a broker's log."""

    record: RecordId
    epoch: LeaderEpoch


class Member(Record):
    """A broker: its metadata and its replica of the partition.

    `epoch` is the latest controller epoch that the broker knows, `applied` is the number of metadata records that it
    has applied, and `applied_epoch` is the epoch of the last applied record. `channel` is the controller to which the
    broker sends requests, until that controller fails. A leader keeps the last known `isr` and `partition_epoch`, the
    ISR that it has `proposed` (or 0), and the log end of each follower's last fetch in its leader epoch.
    """

    epoch: Epoch
    applied: Offset
    applied_epoch: Epoch
    metadata: Image
    channel: MaybeController
    log: Annotated[Array[Entry], Size(C.max_records)]
    end: DataOffset
    high_watermark: DataOffset
    isr: Brokers
    partition_epoch: PartitionEpoch
    proposed: Brokers
    known_end: Annotated[Array[MaybeDataOffset], Per(Broker)]
    request: Request


class LateRequest(Record):
    """A copy of a resent request, which a controller may still handle, although its sender ignores the response."""

    to: Controller
    leader: Broker
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    isr: Brokers


class Budget(Record):
    """The remaining budget of events."""

    decisions: Annotated[int, Range(0, C.decisions)]
    fences: Annotated[int, Range(0, C.fences)]
    shrinks: Annotated[int, Range(0, C.shrinks)]
    resends: Annotated[int, Range(0, C.resends)]
    crashes: Annotated[int, Range(0, C.crashes)]


class State(Record):
    """The quorum and the brokers.

    `ghost_log` contains, for each offset, the metadata record that was first below a controller's high watermark, and
    `ghost_image` contains their result. `ghost_committed` contains the partition's records below the highest high
    watermark of any leader, which are acknowledged.
    """

    node: Annotated[Array[Node], Per(Controller)]
    broker: Annotated[Array[Member], Per(Broker)]
    late_requests: Annotated[Bag[LateRequest], Size(C.late_requests)]
    written: Annotated[int, Range(0, C.max_records)]
    budget: Budget
    ghost_log: Annotated[Array[Change], Size(LOG_SIZE)]
    ghost_end: Offset
    ghost_image: Image
    ghost_committed: Annotated[Array[RecordId], Size(C.max_records)]
    ghost_committed_end: DataOffset


def clear(image: Image, c: C) -> None:
    """Reset to the state before the first record: broker 0 leads, the first replicas are in sync, none is fenced."""
    image.leader = 0
    image.leader_epoch = 0
    image.isr = bits.everyone(c.initial_isr)
    image.partition_epoch = 0
    image.fenced = 0


@action()
def initial(s: State, c: C) -> None:
    """Controller 0 is active in epoch 1, and every node knows it. The logs of the partition are empty."""
    for n in s.node:
        n.epoch = 1
        n.log[0].epoch = 1
        n.end = 1
        clear(n.memory, c)
        for voter in range(c.controllers):
            n.known_end[voter] = NONE
    s.node[0].leads = True
    s.node[0].high_watermark = 1
    s.node[0].replayed = 1
    for voter in range(1, c.controllers):
        s.node[0].known_end[voter] = 1
    for b in s.broker:
        b.channel = 0
        b.epoch = 1
        b.applied = 1
        b.applied_epoch = 1
        clear(b.metadata, c)
        for other in range(c.brokers):
            b.known_end[other] = NONE
    s.broker[0].isr = bits.everyone(c.initial_isr)
    s.ghost_log[0].epoch = 1
    s.ghost_end = 1
    clear(s.ghost_image, c)
    s.budget.decisions = c.decisions
    s.budget.fences = c.fences
    s.budget.shrinks = c.shrinks
    s.budget.resends = c.resends
    s.budget.crashes = c.crashes
