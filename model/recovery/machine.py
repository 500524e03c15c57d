"""Unclean recovery: which replica is elected once the ISR and ELR are empty, and which records are lost (KIP-966).

The model simplifies replication: a follower copies one record in one step, every broker knows the controller's
decisions, and a crash is noticed immediately. The model keeps only what a recovery rule uses: logs that end at
different offsets and epochs, and may have lost their last records.
"""

from enum import IntEnum
from typing import Annotated

from fencepost.model.language import (
    NONE,
    Array,
    BitSet,
    Cast,
    Constants,
    Index,
    Machine,
    Per,
    Range,
    Record,
    Size,
    action,
    bits,
    bound,
    capacity,
    choice,
    require,
    shape,
)


class Rule(IntEnum):
    """The replica that an unclean election chooses.

    ANY: any active replica (unclean.leader.election.enable). LAST_LEADER: the last leader, as in 4.0 and later.
    LONGEST_LOG: the replica with the longest log. LATEST_EPOCH: the replica with the latest epoch in its log. KIP_966:
    of the replicas with the latest epoch, the one with the longest log, as KIP-966 specifies. KNOWN_FIRST: like
    KIP_966, but members of the last known ELR are preferred.
    """

    ANY = 0
    LAST_LEADER = 1
    LONGEST_LOG = 2
    LATEST_EPOCH = 3
    KIP_966 = 4
    KNOWN_FIRST = 5


class Wait(IntEnum):
    """The brokers whose responses the controller awaits: none (Aggressive), the last known ELR (Balanced), or all."""

    NOBODY = 0
    LAST_KNOWN = 1
    EVERYONE = 2


class C(Constants):
    """Constants of a run."""

    brokers = shape(3, low=2, high=5, meaning="brokers, each with a replica of the partition")
    max_records = capacity(2, low=1, high=4, room=3, meaning="total number of records that producers write")
    max_leader_epoch = bound(4, low=0, high=12, meaning="last leader epoch; the first is 0")
    min_isr = bound(2, low=1, high=5, meaning="min.insync.replicas")
    crashes = bound(2, low=0, high=5, meaning="crashes, each of which may lose the end of a log")
    fences = bound(1, low=0, high=4, meaning="times that a broker is fenced, or leaves the ISR, without losing records")
    rule = choice(
        Rule.KIP_966,
        meaning="the replica that an unclean election chooses: any, last-leader, longest-log, latest-epoch, kip-966, "
        "known-first",
    )
    wait = choice(Wait.LAST_KNOWN, meaning="whose responses an unclean election awaits: nobody, last-known, everyone")


Broker = Annotated[int, Index(C.brokers)]
MaybeBroker = Annotated[int, Index(C.brokers, none=True)]
Brokers = Annotated[int, BitSet(C.brokers)]
Offset = Annotated[int, Range(0, C.max_records)]
Epoch = Annotated[int, Range(0, C.max_leader_epoch)]
RecordId = Annotated[int, Range(0, C.max_records)]
RecordIds = Annotated[int, BitSet(C.max_records + 1)]


class Entry(Record):
    """A record in a log."""

    record: RecordId
    epoch: Epoch


class Replica(Record):
    """A broker's log. `down` means that the broker has crashed."""

    down: bool
    log: Annotated[Array[Entry], Size(C.max_records)]
    end: Offset


class Budget(Record):
    """The remaining budget of faults."""

    crashes: Annotated[int, Range(0, C.crashes)]
    fences: Annotated[int, Range(0, C.fences)]


class State(Record):
    """The partition. `known` is the last known ELR.

    Members of the last known ELR have left the ISR or the ELR since the ISR was last large enough, and are now in
    neither of the two. `ghost_committed` contains the records that consumers could read, because all members of a large
    enough ISR had them.
    """

    leader: MaybeBroker
    leader_epoch: Epoch
    isr: Brokers
    elr: Brokers
    known: Brokers
    last_leader: MaybeBroker
    fenced: Brokers
    replica: Annotated[Array[Replica], Per(Broker)]
    written: RecordId
    budget: Budget
    ghost_committed: RecordIds


@action()
def initial(s: State, c: C) -> None:
    """Broker 0 leads, all brokers are in the ISR, and all logs are empty."""
    s.isr = bits.everyone(c.brokers)
    s.last_leader = NONE
    s.budget.crashes = c.crashes
    s.budget.fences = c.fences


def active(s: State, c: C) -> int:
    """Return the brokers that are running and not fenced."""
    found = 0
    for broker in range(c.brokers):
        if not s.replica[broker].down and not bits.contains(s.fenced, broker):
            found = bits.with_member(found, broker)
    return found


def common(one: Replica, other: Replica) -> int:
    """Return the offset up to which two logs are equal."""
    end = 0
    for offset in range(len(one.log)):
        alike = one.log[offset].record == other.log[offset].record and one.log[offset].epoch == other.log[offset].epoch
        if end == offset and offset < min(one.end, other.end) and alike:
            end += 1
    return end


def truncate(r: Replica, end: int) -> None:
    """Remove the records at `end` and above."""
    for offset in range(end, r.end):
        r.log[offset].record = 0
        r.log[offset].epoch = 0
    r.end = min(r.end, end)


def commit(s: State, c: C) -> None:
    """Commit the records that all ISR members have, if the ISR is large enough."""
    if s.leader != NONE and bits.size(s.isr) >= c.min_isr:
        r = s.replica[s.leader]
        reached = r.end
        for member in range(c.brokers):
            if bits.contains(s.isr, member):
                reached = min(reached, common(r, s.replica[member]))
        for offset in range(reached):
            s.ghost_committed = bits.with_member(s.ghost_committed, r.log[offset].record)


@action()
def leader_appends(s: State, c: C) -> None:
    """The leader appends the next record, if the ISR is large enough for acks=all."""
    require(s.written < c.max_records, bound=C.max_records)
    require(s.leader != NONE)
    require(bits.size(s.isr) >= c.min_isr)
    r = s.replica[s.leader]
    r.log[r.end].record = s.written + 1
    r.log[r.end].epoch = s.leader_epoch
    r.end += 1
    s.written += 1
    commit(s, c)


@action(follower=Broker)
def follower_fetches(s: State, c: C, follower: int) -> None:
    """A follower truncates its log where it diverges from the leader's, or copies the next record."""
    require(s.leader != NONE)
    r, f = s.replica[s.leader], s.replica[follower]
    alike = common(r, f)
    require(not f.down)
    require(alike < max(r.end, f.end))
    if alike < f.end:
        truncate(f, alike)
    else:
        f.log[f.end].record = r.log[f.end].record
        f.log[f.end].epoch = r.log[f.end].epoch
        f.end += 1
    commit(s, c)


@action(follower=Broker)
def follower_joins(s: State, c: C, follower: int) -> None:
    """A follower whose log contains the leader's whole log joins the ISR. A large enough ISR clears both ELRs."""
    require(s.leader != NONE)
    require(bits.contains(active(s, c), follower))
    require(not bits.contains(s.isr, follower))
    r, f = s.replica[s.leader], s.replica[follower]
    require(common(r, f) == max(r.end, f.end))
    s.isr = bits.with_member(s.isr, follower)
    s.elr = bits.without(s.elr, follower)
    s.known = bits.without(s.known, follower)
    forget_eligible(s, c)
    commit(s, c)


def forget_eligible(s: State, c: C) -> None:
    """Clear the ELR and the last known ELR if the ISR is large enough (maybePopulateTargetElr)."""
    if bits.size(s.isr) >= c.min_isr:
        s.elr = 0
        s.known = 0


def leave(s: State, c: C, broker: int, unclean: bool) -> None:  # noqa: FBT001
    """Remove a broker from the ISR. If the ISR is too small, the broker stays eligible unless records may be lost."""
    was = s.isr | s.elr
    s.isr = bits.without(s.isr, broker)
    eligible = was & ~s.isr
    s.elr = bits.without(eligible, broker) if unclean else eligible
    s.known = (was | s.known) & ~s.isr & ~s.elr
    forget_eligible(s, c)
    if s.leader == broker:
        s.last_leader = broker if s.isr == 0 else s.last_leader
        s.leader = NONE
    commit(s, c)


@action(broker=Broker)
def broker_is_fenced(s: State, c: C, broker: int) -> None:
    """The controller fences a running broker, or the leader removes it. The broker leaves the ISR but keeps its log."""
    require(s.budget.fences > 0, bound=C.fences)
    require(bits.contains(active(s, c), broker))
    s.fenced = bits.with_member(s.fenced, broker)
    s.budget.fences -= 1
    leave(s, c, broker, False)


@action(broker=Broker)
def broker_is_unfenced(s: State, c: C, broker: int) -> None:
    """The controller unfences a running broker."""
    require(bits.contains(s.fenced, broker))
    require(not s.replica[broker].down)
    s.fenced = bits.without(s.fenced, broker)


@action(broker=Broker, kept=Offset)
def broker_crashes(s: State, c: C, broker: int, kept: int) -> None:
    """A broker crashes, keeps the first records of its log, and leaves the ISR and ELR: its shutdown is unclean."""
    require(s.budget.crashes > 0, bound=C.crashes)
    r = s.replica[broker]
    require(not r.down)
    require(kept <= r.end)
    truncate(r, kept)
    r.down = True
    s.budget.crashes -= 1
    leave(s, c, broker, True)


@action(broker=Broker)
def broker_returns(s: State, c: C, broker: int) -> None:
    """A crashed broker runs again, with the records that remain in its log."""
    require(s.replica[broker].down)
    s.replica[broker].down = False
    s.fenced = bits.without(s.fenced, broker)


@action(broker=Broker)
def controller_elects(s: State, c: C, broker: int) -> None:
    """The controller elects an ISR member or, if the ISR is empty, an ELR member. Both have all committed records."""
    eligible = s.isr if s.isr != 0 else s.elr
    require(s.leader == NONE)
    require(bits.contains(eligible & active(s, c), broker))
    require(s.leader_epoch < c.max_leader_epoch, bound=C.max_leader_epoch)
    s.isr |= bits.only(broker)
    s.elr = bits.without(s.elr, broker)
    forget_eligible(s, c)
    lead(s, c, broker)


def lead(s: State, c: C, broker: int) -> None:
    """Make a broker the leader in a new leader epoch."""
    s.leader = broker
    s.leader_epoch += 1
    s.last_leader = NONE
    commit(s, c)


def latest(r: Replica) -> int:
    """Return the epoch of the last record, or NONE for an empty log."""
    return r.log[r.end - 1].epoch if r.end > 0 else NONE


def is_better(s: State, c: C, one: int, other: int) -> bool:
    """Return whether the recovery rule prefers one broker's log to another broker's log."""
    first, second = s.replica[one], s.replica[other]
    if c.rule == Rule.KNOWN_FIRST and bits.contains(s.known, one) != bits.contains(s.known, other):
        return bits.contains(s.known, one)
    if c.rule == Rule.LONGEST_LOG:
        return first.end > second.end
    if latest(first) != latest(second):
        return c.rule >= Rule.LATEST_EPOCH and latest(first) > latest(second)
    return c.rule >= Rule.KIP_966 and first.end > second.end


def awaited(s: State, c: C) -> int:
    """Return the brokers whose responses an unclean election requires."""
    if c.wait == Wait.EVERYONE:
        return bits.everyone(c.brokers)
    return s.known if c.wait == Wait.LAST_KNOWN else 0


@action(broker=Broker)
def controller_recovers(s: State, c: C, broker: int) -> None:
    """If the ISR and ELR are empty, the controller queries active replicas and elects one by the recovery rule. If
    several logs are equal, the controller may choose any of them. The elected replica becomes the only ISR member
    (UncleanRecoveryManager, KAFKA-15580; not in 4.4).
    """
    candidates = active(s, c)
    require(s.leader == NONE)
    require(s.isr | s.elr == 0)
    require(bits.contains(candidates, broker))
    require(bits.is_subset(awaited(s, c), candidates))
    require(c.rule != Rule.LAST_LEADER or broker == s.last_leader)
    require(not any(bits.contains(candidates, other) and is_better(s, c, other, broker) for other in range(c.brokers)))
    require(s.leader_epoch < c.max_leader_epoch, bound=C.max_leader_epoch)
    s.isr = bits.only(broker)
    s.known = 0
    lead(s, c, broker)


def refuse(c: C) -> str | None:
    """Return the reason why these constants cannot be combined, or None if they can."""
    if c.min_isr > c.brokers:
        return f"min_isr={c.min_isr} is more than brokers={c.brokers}: write min_isr={c.brokers} or less."
    return None


MACHINE = Machine(
    name="unclean-recovery",
    sentence="a partition without eligible leaders: which replica is elected, and which records are lost (KIP-966)",
    state=State,
    constants=C,
    initial=initial,
    actions=(
        leader_appends,
        follower_fetches,
        follower_joins,
        broker_is_fenced,
        broker_is_unfenced,
        broker_crashes,
        broker_returns,
        controller_elects,
        controller_recovers,
    ),
    refuse=refuse,
    source="KIP-966, Unclean Recovery; KAFKA-15580; apache/kafka: PartitionChangeBuilder, 4.3.1",
    cast=Cast(owner="controller", names={"replica": "broker"}),
)
