"""The state, the controller and the leader in the five published models.

There is one partition. Followers copy one record per step, and replicas may learn of the controller's decisions late.
Modelled on Jason Gustafson's specification (hachikuji/kafka-specification, KafkaReplication).
"""

from typing import Annotated

from fencepost.model.language import (
    NONE,
    Array,
    BitSet,
    Cast,
    Constants,
    Index,
    Per,
    Range,
    Record,
    Size,
    action,
    bits,
    bound,
    capacity,
    require,
    shape,
)


class C(Constants):
    """Sizes of the lineage models."""

    replicas = shape(3, low=1, high=5, meaning="replicas of the partition")
    log_size = capacity(2, low=1, high=8, meaning="records that a log can hold")
    max_records = bound(2, low=0, high=100, meaning="total number of records written")
    max_leader_epoch = capacity(2, low=0, high=15, meaning="last leader epoch; the first is 0")


CAST = Cast(
    owner="controller",
    names={"replica": "broker"},
    arrows={"become_leader": "controller", "become_follower_and_truncate": "controller"},
    nobodys=("next_record",),
)

Replica = Annotated[int, Index(C.replicas)]
MaybeReplica = Annotated[int, Index(C.replicas, none=True)]
Replicas = Annotated[int, BitSet(C.replicas)]
Offset = Annotated[int, Range(0, C.log_size)]
Epoch = Annotated[int, Range(0, C.max_leader_epoch)]
MaybeEpoch = Annotated[int, Range(NONE, C.max_leader_epoch)]


class Entry(Record):
    """A record in a log."""

    id: Annotated[int, Range(0, C.max_records)]
    epoch: Epoch


class LeaderAndIsr(Record):
    """A leader, a leader epoch and an ISR."""

    leader: MaybeReplica
    isr: Replicas


class ReplicaState(Record):
    """A replica: its log, its high watermark, and its view of the leader and the ISR."""

    log: Annotated[Array[Entry], Size(C.log_size)]
    end: Offset
    high_watermark: Offset
    leader_epoch: MaybeEpoch
    leader: MaybeReplica
    isr: Replicas


class State(Record):
    """The partition. For each epoch `e` below `next_leader_epoch`, `request[e]` is the controller's decision."""

    replica: Annotated[Array[ReplicaState], Per(Replica)]
    next_record: Annotated[int, Range(0, C.max_records)]
    next_leader_epoch: Annotated[int, Range(0, C.max_leader_epoch + 1)]
    request: Annotated[Array[LeaderAndIsr], Size(C.max_leader_epoch + 1)]
    quorum_epoch: MaybeEpoch
    quorum: LeaderAndIsr


@action()
def initial(s: State, c: C) -> None:
    """All logs are empty, every replica is in the ISR, there is no leader, and later epochs are undecided."""
    for r in s.replica:
        r.leader_epoch = NONE
        r.leader = NONE
    for epoch in range(c.max_leader_epoch + 1):
        s.request[epoch].leader = NONE
    s.quorum_epoch = NONE
    s.quorum.leader = NONE
    s.quorum.isr = bits.everyone(c.replicas)


def presumes_leadership(r: ReplicaState, replica: int) -> bool:
    """Return whether the replica believes that it leads."""
    return r.leader == replica


def is_following(f: ReplicaState, leader: int) -> bool:
    """Return whether the replica believes that `leader` leads, in any epoch."""
    return f.leader == leader


def is_true_leader(s: State, leader: int) -> bool:
    """Return whether the controller's latest decision makes this replica the leader, and the replica knows it."""
    r = s.replica[leader]
    return s.quorum.leader == leader and r.leader == leader and r.leader_epoch == s.quorum_epoch


def has_offset(r: ReplicaState, offset: int) -> bool:
    """Return whether the log contains a record at this offset."""
    return offset < r.end


def same_entry(a: ReplicaState, b: ReplicaState, offset: int) -> bool:
    """Return whether both logs contain the same record at this offset."""
    return (
        offset < a.end
        and offset < b.end
        and a.log[offset].id == b.log[offset].id
        and a.log[offset].epoch == b.log[offset].epoch
    )


def last_matching_end(a: ReplicaState, b: ReplicaState) -> int:
    """Return the offset after the last record that both logs have at the same offset, or 0."""
    end = 0
    for offset in range(min(a.end, b.end)):
        if same_entry(a, b, offset):
            end = offset + 1
    return end


def latest_epoch(r: ReplicaState) -> int:
    """Return the epoch of the last record. The log must not be empty."""
    return r.log[r.end - 1].epoch


def high_watermark_reached_epoch(l: ReplicaState) -> bool:
    """Return whether all records from before the leader's epoch are below its high watermark."""
    hw = l.high_watermark
    return hw == l.end or (has_offset(l, hw) and l.log[hw].epoch == l.leader_epoch)


def append(r: ReplicaState, record: int, epoch: int) -> None:
    """Append one record at the end of the log."""
    r.log[r.end].id = record
    r.log[r.end].epoch = epoch
    r.end += 1


def truncate(r: ReplicaState, offset: int) -> None:
    """Remove the records from `offset` onward; the high watermark is lowered to the new log end."""
    for dropped in range(offset, r.end):
        r.log[dropped].id = 0
        r.log[dropped].epoch = 0
    r.end = offset
    r.high_watermark = min(offset, r.high_watermark)


def replicate(s: State, follower: int, leader: int) -> None:
    """Copy the next record and the leader's high watermark to the follower."""
    f, l = s.replica[follower], s.replica[leader]
    next_record = l.log[f.end]
    append(f, next_record.id, next_record.epoch)
    f.high_watermark = min(l.high_watermark, f.end)


def follow(s: State, follower: int, epoch: int) -> None:
    """Make the follower adopt the controller's decision for an epoch."""
    f = s.replica[follower]
    f.leader_epoch = epoch
    f.leader = s.request[epoch].leader
    f.isr = s.request[epoch].isr


def is_news_of_leader(s: State, follower: int, leader: int, epoch: int) -> bool:
    """Return whether the controller's decision for `epoch` is new to the follower and names `leader`."""
    return (
        follower != leader
        and epoch < s.next_leader_epoch
        and s.request[epoch].leader == leader
        and epoch > s.replica[follower].leader_epoch
    )


def decide(s: State, leader: int, isr: int) -> None:
    """The controller starts a new leader epoch with a leader and an ISR."""
    epoch = s.next_leader_epoch
    s.quorum_epoch = epoch
    s.quorum.leader = leader
    s.quorum.isr = isr
    s.request[epoch].leader = leader
    s.request[epoch].isr = isr
    s.next_leader_epoch = epoch + 1


def update_isr(s: State, leader: int, isr: int) -> None:
    """Change the ISR directly, without a new epoch or a new decision, as with ZooKeeper."""
    s.quorum.isr = isr
    s.replica[leader].isr = isr


@action(leader=Replica)
def controller_elect_leader(s: State, c: C, leader: int) -> None:
    """The controller elects a member of the ISR that does not lead."""
    require(s.next_leader_epoch <= c.max_leader_epoch, bound=C.max_leader_epoch)
    require(bits.contains(s.quorum.isr, leader))
    require(s.quorum.leader != leader)
    decide(s, leader, s.quorum.isr)


@action(replica=Replica)
def controller_shrink_isr(s: State, c: C, replica: int) -> None:
    """The controller removes a failed replica from the ISR; if it was the leader, the partition has no leader.

    When the last ISR member fails, it stays in the ISR. Otherwise, no replica could ever be elected again.
    """
    require(s.next_leader_epoch <= c.max_leader_epoch, bound=C.max_leader_epoch)
    require(s.quorum.leader == replica or bits.contains(s.quorum.isr, replica))
    isr = bits.without(s.quorum.isr, replica)
    if s.quorum.leader == replica:
        decide(s, NONE, s.quorum.isr if s.quorum.isr == bits.only(replica) else isr)
    else:
        decide(s, s.quorum.leader, isr)


@action(leader=Replica, epoch=Epoch)
def become_leader(s: State, c: C, leader: int, epoch: int) -> None:
    """A replica learns that the controller made it leader; it may have skipped earlier decisions."""
    require(epoch < s.next_leader_epoch)
    require(s.request[epoch].leader == leader)
    require(epoch > s.replica[leader].leader_epoch)
    follow(s, leader, epoch)


@action(leader=Replica)
def leader_write(s: State, c: C, leader: int) -> None:
    """A replica that believes, perhaps wrongly, that it leads appends the next record."""
    l = s.replica[leader]
    require(presumes_leadership(l, leader))
    require(s.next_record < c.max_records, bound=C.max_records)
    require(l.end < c.log_size, bound=C.log_size)
    append(l, s.next_record, l.leader_epoch)
    s.next_record += 1
