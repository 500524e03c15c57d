"""State records and initial state of the replication model.

The model simplifies Kafka to keep states small:

* The controller is the newest image in a window of images, and a broker's metadata is an index into that window.
  Brokers that lag by more than `metadata_lag` images are not covered.
* A broker registers and applies the image of its registration in one step, so the newest image contains every running
  broker's epoch. Broker epochs count incarnations. The broker also starts in that step, with at most `early_starts`
  exceptions.
* A follower always has a fetch in flight. The fetch's content follows from the follower's log and leader epoch, so only
  responses and requests whose sender has crashed or stopped are stored. A fetch handled after its sender has entered
  another epoch could equally have been handled before; at most `late_answers` responses to such fetches are kept.
* The leader epoch cache follows from the log and the leader epoch. Epochs in which a former leader wrote nothing have
  no start here; in this case, Kafka needs another round trip.
* A write is acknowledged in the step in which the high watermark passes it.
"""

from enum import IntEnum
from typing import Annotated

from fencepost.model.cluster.constants import C
from fencepost.model.language import NONE, Array, Bag, BitSet, Index, Per, Range, Record, Size, action, bits, largest


class Life(IntEnum):
    """State of a broker's process."""

    RUNNING = 0
    STOPPED = 1
    CRASHED = 2


class Answer(IntEnum):
    """A leader's fetch response. STOPPED: the follower applied FENCED to its new leader epoch and stopped fetching."""

    NONE = 0
    RECORDS = 1
    DIVERGING = 2
    FENCED = 3
    STOPPED = 4


class Move(IntEnum):
    """Whether the controller knows which directory contains the log.

    ASSIGNED: the controller knows. REGISTERED: the broker has registered without the previous directory. BEGUN: the
    broker is still registered with the previous directory, which was replaced or removed.
    """

    ASSIGNED = 0
    REGISTERED = 1
    BEGUN = 2


class Status(IntEnum):
    """The progress of an AlterPartition request: sent, or answered by the controller. STRAY: a copy of a request that
    was already answered. The leader no longer waits for this copy, but the controller cannot know that.
    """

    SENT = 0
    APPLIED = 1
    INELIGIBLE = 2
    REFUSED = 3
    STRAY = 4


Broker = Annotated[int, Index(C.brokers)]
MaybeBroker = Annotated[int, Index(C.brokers, none=True)]
Brokers = Annotated[int, BitSet(C.brokers)]
Movable = Annotated[int, BitSet(C.movable)]
"""The brokers whose replicas can be added and removed; empty if there are no reassignments."""
Offset = Annotated[int, Range(0, C.max_records)]
MaybeOffset = Annotated[int, Range(NONE, C.max_records)]
Epoch = Annotated[int, Range(0, C.max_leader_epoch)]
MaybeEpoch = Annotated[int, Range(NONE, C.max_leader_epoch)]
BrokerEpoch = Annotated[int, Range(0, C.crashes + C.clean_stops)]
MaybeBrokerEpoch = Annotated[int, Range(NONE, C.crashes + C.clean_stops)]
PartitionEpoch = Annotated[
    int,
    Range(
        0,
        3 * C.fences
        + 3 * C.crashes
        + 5 * C.clean_stops
        + 2 * C.shrinks
        + C.elections
        + C.brokers
        + 5 * C.reassignments
        + C.cancels
        + C.raises
        + C.lowers
        + 3 * C.directory_failures
        + 2 * C.directory_removals
        + 2 * C.disk_replacements,
    ),
]
ImageIndex = Annotated[int, Index(C.metadata_lag + 1)]
RecordId = Annotated[int, Range(0, C.max_records)]
"""A record's number, counted from 1 in the order in which leaders append records; 0 means no record."""
RecordIds = Annotated[int, BitSet(C.max_records + 1)]
Raise = Annotated[int, Range(-1 * C.lowers, C.raises)]
"""How far min ISR is above or below its initial value: always 0 if operators do not change min ISR."""

Early = Annotated[int, Range(0, C.early_starts)]
"""1 if an unregistered process is running, otherwise 0; always 0 if `early_starts` is 0."""


Directories = Annotated[int, BitSet(C.directories)]
"""Brokers whose log directory may fail or be replaced."""
Offline = Annotated[int, Range(0, C.directory_failures)]
"""1 if a replica's log directory has failed, otherwise 0."""
Moved = Annotated[int, Range(0, 2 * C.directory_removals + 2 * C.disk_replacements)]
"""Whether the controller knows the directory of the log (see `Move`)."""


LogStart = Annotated[int, Range(0, largest(C.deletions, C.expirations))]
"""The offset at which a log starts, which is always 0 if no records are deleted."""
Deleted = Annotated[int, BitSet(5 * largest(C.deletions, C.expirations))]
"""The set of deleted records, which is always empty if there are no deletions."""


class Image(Record):
    """The controller's state after some records, as seen by brokers. `missing` contains brokers without a replica."""

    leader: MaybeBroker
    leader_epoch: Epoch
    partition_epoch: PartitionEpoch
    isr: Brokers
    fenced: Brokers
    stopping: Brokers
    missing: Movable
    raised: Raise
    broker_epoch: Annotated[Array[BrokerEpoch], Per(Broker)]


class Entry(Record):
    """A record in a log."""

    record: RecordId
    epoch: Epoch


class FollowerState(Record):
    """A follower's state as of its last fetch, as known to the leader, or NONE. `start` is the follower's log start."""

    end: MaybeOffset
    start: LogStart
    broker_epoch: MaybeBrokerEpoch


class FetchAnswer(Record):
    """The response to a follower's fetch, in flight.

    In a RECORDS response, `record` is 0 if there is only a high watermark. In a DIVERGING response, `epoch` and `end`
    say where the leader's log diverges from the follower's; `epoch` is NONE if this is unknown.
    """

    kind: Answer
    record: RecordId
    epoch: MaybeEpoch
    end: Offset
    high_watermark: Offset
    start: LogStart


class Replica(Record):
    """A broker, its log, and its state in memory as leader or as follower.

    `epoch_start` is the log end at which the broker began to lead in its current leader epoch, or 0 for a follower. If
    the broker restarted in that epoch, records of the same epoch may precede `epoch_start`. `waiting[offset]` is the
    record whose write is acknowledged once the high watermark passes `offset`, or 0. `checked` contains the follower
    that may join the ISR according to its log end, until the leader reads the broker epoch in a separate step (before
    KAFKA-15221). `recent` contains followers that were caught up within the lag time, if the leader waits for them.
    `truncating` is set until a follower has queried its truncation offset (before Fetch contained the last epoch).
    `raised` gives the min ISR that the broker uses, which may come from an image other than the one that it has
    applied. `early` is set while a new, unregistered process is running; `life` then still describes the previous
    process. `offline` is set if the log's directory has failed. Records below `start` are deleted, though the files
    may still contain them; `checkpoint` is the last checkpointed log start.
    """

    life: Life
    early: Early
    applied: ImageIndex
    raised: Raise
    log: Annotated[Array[Entry], Size(C.max_records)]
    start: LogStart
    checkpoint: LogStart
    end: Offset
    high_watermark: Offset
    isr: Brokers
    partition_epoch: PartitionEpoch
    proposed_isr: Brokers
    epoch_start: Offset
    checked: Brokers
    recent: Brokers
    follower: Annotated[Array[FollowerState], Per(Broker)]
    waiting: Annotated[Array[RecordId], Size(C.max_records)]
    answer: FetchAnswer
    truncating: bool
    last_epoch_lost: bool
    offline: Offline
    moved: Moved


class AlterPartition(Record):
    """A leader's request to change the ISR, which later becomes the response; `raised` gives the sender's min ISR."""

    status: Status
    leader: Broker
    broker_epoch: BrokerEpoch
    leader_epoch: Epoch
    partition_epoch: PartitionEpoch
    isr: Brokers
    raised: Raise
    member_epoch: Annotated[Array[MaybeBrokerEpoch], Per(Broker)]


class LateFetch(Record):
    """A fetch request whose sender has crashed or stopped."""

    leader: Broker
    follower: Broker
    broker_epoch: MaybeBrokerEpoch
    leader_epoch: Epoch
    offset: Offset
    last_epoch: MaybeEpoch
    start: LogStart


class LateAnswer(Record):
    """A response to a fetch whose sender has left the fetch's leader epoch. The sender's thread still awaits the
    response. `offset` and `leader_epoch` are copied from the fetch; the other fields are as in `FetchAnswer`.
    """

    leader: Broker
    follower: Broker
    leader_epoch: Epoch
    offset: Offset
    kind: Answer
    record: RecordId
    epoch: MaybeEpoch
    end: Offset
    high_watermark: Offset
    start: LogStart


class Budget(Record):
    """The remaining budget of faults and of operators' actions."""

    crashes: Annotated[int, Range(0, C.crashes)]
    clean_stops: Annotated[int, Range(0, C.clean_stops)]
    fences: Annotated[int, Range(0, C.fences)]
    shrinks: Annotated[int, Range(0, C.shrinks)]
    lags: Annotated[int, Range(0, C.lags)]
    elections: Annotated[int, Range(0, C.elections)]
    disk_swaps: Annotated[int, Range(0, C.disk_swaps)]
    directory_failures: Annotated[int, Range(0, C.directory_failures)]
    directory_removals: Annotated[int, Range(0, C.directory_removals)]
    disk_replacements: Annotated[int, Range(0, C.disk_replacements)]
    resends: Annotated[int, Range(0, C.resends)]
    reassignments: Annotated[int, Range(0, C.reassignments)]
    cancels: Annotated[int, Range(0, C.cancels)]
    raises: Annotated[int, Range(0, C.raises)]
    lowers: Annotated[int, Range(0, C.lowers)]
    elr_disables: Annotated[int, Range(0, C.elr_disables)]
    early_starts: Annotated[int, Range(0, C.early_starts)]


class State(Record):
    """The partition. `image[newest]` is the controller's state, together with the fields that brokers do not read.

    `offline` contains replicas whose directory is not online in their broker's registration. The directory has failed,
    or the broker has registered without it (PartitionRegistration.directory, BrokerRegistration.hasOnlineDir). `adding`
    and `removing` are the replicas that the current reassignment adds and removes. `ghost_committed` contains, for each
    offset, the record that was first below a leader's high watermark. `ghost_deleted` contains the records that were
    deleted on purpose. `ghost_low_watermark` is the highest offset below which a leader has reported that all live
    replicas have deleted their records (DeleteRecords). `ghost_stale` contains ISR members that have restarted since
    the fetch on which their membership is based.
    """

    image: Annotated[Array[Image], Size(C.metadata_lag + 1)]
    newest: ImageIndex
    elr: Brokers
    elr_disabled: Annotated[int, Range(0, C.elr_disables)]
    last_known_leader: MaybeBroker
    offline: Directories
    adding: Movable
    removing: Movable
    replica: Annotated[Array[Replica], Per(Broker)]
    alter_partitions: Annotated[Bag[AlterPartition], Size(C.alter_partitions)]
    late_fetches: Annotated[Bag[LateFetch], Size(C.late_fetches)]
    late_answers: Annotated[Bag[LateAnswer], Size(C.late_answers)]
    written: Annotated[int, Range(0, C.max_records)]
    budget: Budget
    ghost_committed: Annotated[Array[RecordId], Size(C.max_records)]
    ghost_committed_end: Offset
    ghost_acknowledged: RecordIds
    ghost_stale: Brokers
    ghost_deleted: Deleted
    ghost_low_watermark: LogStart


@action()
def initial(s: State, c: C) -> None:
    """All brokers run with empty logs in leader epoch 0. The leader and the lowest-numbered others form the ISR."""
    first = s.image[0]
    first.leader = c.initial_leader
    first.isr = bits.only(c.initial_leader)
    for broker in range(c.brokers):
        is_spare = c.movable - c.spare <= broker < c.movable
        if is_spare:
            first.missing = bits.with_member(first.missing, broker)
        elif broker != c.initial_leader and bits.size(first.isr) < c.initial_isr:
            first.isr = bits.with_member(first.isr, broker)
    s.last_known_leader = NONE
    for r in s.replica:
        for f in r.follower:
            f.end = NONE
            f.broker_epoch = NONE
    s.replica[c.initial_leader].isr = first.isr
    if c.waits_for_joining:
        s.replica[c.initial_leader].recent = bits.without(first.isr, c.initial_leader)
    s.budget.crashes = c.crashes
    s.budget.clean_stops = c.clean_stops
    s.budget.fences = c.fences
    s.budget.shrinks = c.shrinks
    s.budget.lags = c.lags
    s.budget.elections = c.elections
    s.budget.disk_swaps = c.disk_swaps
    s.budget.directory_failures = c.directory_failures
    s.budget.directory_removals = c.directory_removals
    s.budget.disk_replacements = c.disk_replacements
    s.budget.resends = c.resends
    s.budget.reassignments = c.reassignments
    s.budget.cancels = c.cancels
    s.budget.raises = c.raises
    s.budget.lowers = c.lowers
    s.budget.elr_disables = c.elr_disables
    s.budget.early_starts = c.early_starts


def newest(s: State) -> Image:
    """Return the controller's current state."""
    return s.image[s.newest]


def local(s: State, broker: int) -> Image:
    """Return the image that a running broker has applied."""
    return s.image[s.replica[broker].applied]


def is_running(s: State, broker: int) -> bool:
    """Return whether the broker's process is running and registered."""
    return s.replica[broker].life == Life.RUNNING


def has_process(s: State, broker: int) -> bool:
    """Return whether a process of the broker is running, registered or not."""
    return is_running(s, broker) or s.replica[broker].early != 0


def leads(s: State, broker: int) -> bool:
    """Return whether the broker is running, has its log and believes that it leads. A newer leader may exist."""
    return is_running(s, broker) and local(s, broker).leader == broker and s.replica[broker].offline == 0


def has_elr(s: State, c: C) -> bool:
    """Return whether ELR is on in this run, and has not been turned off (FeatureControlManager.isElrFeatureEnabled)."""
    return c.elr and s.elr_disabled == 0


def heeds_elr(s: State, c: C) -> bool:
    """Return whether ELR members may be elected, which Kafka allows even after ELR is turned off (HYP-14)."""
    return has_elr(s, c) or c.stale_elr_elects


def replicas(c: C, image: Image) -> int:
    """Return the brokers that have a replica."""
    return bits.everyone(c.brokers) & ~image.missing


def effective_min_isr(c: C, image: Image, raised: int) -> int:
    """Return min ISR, capped at the number of replicas (Partition.effectiveMinIsr, getTopicEffectiveMinIsr)."""
    min_isr = c.min_isr + raised
    return min_isr if image.missing == 0 else min(min_isr, bits.size(replicas(c, image)))


def min_isr_of(s: State, c: C, broker: int) -> int:
    """Return the min ISR that a running broker uses."""
    return effective_min_isr(c, local(s, broker), s.replica[broker].raised)


def follows(s: State, follower: int, leader: int) -> bool:
    """Return whether the follower is running, has an online replica, and fetches from `leader`."""
    image = local(s, follower)
    return (
        follower != leader
        and has_process(s, follower)
        and image.leader == leader
        and not bits.contains(image.missing, follower)
        and s.replica[follower].offline == 0
    )


def awaits_late_answer(s: State, follower: int, leader: int) -> bool:
    """Return whether the follower's thread for this leader still waits for a response from an earlier leader epoch.

    A fetcher thread has only one fetch in flight (BrokerBlockingSender).
    """
    return any(m.follower == follower and m.leader == leader for m in s.late_answers)


def has_current_leader(s: State) -> bool:
    """Return whether the controller's leader is running and knows that it leads in the current epoch."""
    image = newest(s)
    if image.leader == NONE:
        return False
    return leads(s, image.leader) and local(s, image.leader).leader_epoch == image.leader_epoch


def is_sent(m: AlterPartition) -> bool:
    """Return whether the message is a request that the controller has not answered."""
    return m.status in (Status.SENT, Status.STRAY)


def is_copy(one: AlterPartition, other: AlterPartition) -> bool:
    """Return whether two messages are the same request, or a request and the answer to it."""
    return (
        one.leader == other.leader
        and one.broker_epoch == other.broker_epoch
        and one.leader_epoch == other.leader_epoch
        and one.partition_epoch == other.partition_epoch
        and one.isr == other.isr
    )
