"""Tiered storage: logs whose older segments are in remote storage, here called the tier (KIP-405).

The model covers log start and local log start, copied and deleted segments, leader changes concurrent with tier
operations, and followers that rebuild their logs from the tier. Simplifications: A follower copies one record per step,
or truncates in one step to where the logs differ. Every broker knows the controller's decisions. A segment contains
records of one epoch. The tier's metadata is up to date on every broker.
"""

from fencepost.model.language import NONE, Machine, Version, action, bits, require
from fencepost.model.tiers import tiering
from fencepost.model.tiers.state import (
    Broker,
    C,
    Replica,
    State,
    in_tier,
    initial,
    leads,
    leave_copy,
    move_start,
    restart_at,
)


def parting(r: Replica, f: Replica) -> int:
    """Return the offset where a follower's log diverges from the leader's, or its log end if it does not diverge."""
    found = min(r.end, f.end)
    for offset in range(f.end):
        if max(r.start, f.start) <= offset < min(found, r.end) and r.log[offset].epoch != f.log[offset].epoch:
            found = offset
    return found


def commit(s: State, c: C) -> None:
    """Commit the records that all ISR members have (Partition.maybeIncrementLeaderHW)."""
    if s.leader != NONE:
        r = s.replica[s.leader]
        reached = r.end
        for member in range(c.brokers):
            if bits.contains(s.isr, member):
                reached = min(reached, parting(r, s.replica[member]))
        r.high_watermark = max(r.high_watermark, reached)


@action(leader=Broker)
def leader_appends(s: State, c: C, leader: int) -> None:
    """The leader appends a record."""
    r = s.replica[leader]
    require(leads(s, leader))
    require(r.end < c.log_size, bound=C.log_size)
    r.log[r.end].epoch = s.leader_epoch
    r.end += 1
    commit(s, c)


def agrees(s: State, follower: int) -> bool:
    """Return whether there is a leader whose log agrees with the follower's up to the follower's end."""
    f = s.replica[follower]
    return s.leader not in (NONE, follower) and parting(s.replica[max(s.leader, 0)], f) == f.end


@action(follower=Broker)
def follower_fetches(s: State, c: C, follower: int) -> None:
    """A follower copies the next record from the leader's disk, with the high watermark and the log start."""
    require(agrees(s, follower))
    r, f = s.replica[s.leader], s.replica[follower]
    copies = f.end < r.end
    reached = min(r.high_watermark, f.end + 1 if copies else f.end)
    require(f.end >= max(r.local, r.first))
    require(copies or reached > f.high_watermark or (f.start < r.start <= reached))
    if copies:
        f.log[f.end].epoch = r.log[f.end].epoch
        f.end += 1
    f.high_watermark = max(f.high_watermark, reached)
    if f.start < r.start <= f.high_watermark:
        move_start(f, r.start)
    commit(s, c)


@action(follower=Broker)
def follower_truncates(s: State, c: C, follower: int) -> None:
    """A follower truncates its log where it diverges from the leader's (UnifiedLog.truncateTo).

    If the logs diverge below the follower's local log start, the follower's log restarts at that offset, without older
    records. The truncation never changes highestOffsetInRemoteStorage.
    """
    require(s.leader not in (NONE, follower))
    f = s.replica[follower]
    end = parting(s.replica[s.leader], f)
    require(end < f.end)
    if f.first > end:
        restart_at(f, c, end, end)
    else:
        for offset in range(end, f.end):
            f.log[offset].epoch = 0
        f.end = end
        f.start = min(f.start, end)
        f.high_watermark = min(f.high_watermark, end)
    if c.truncation_lowers_tiered:
        f.tiered = min(f.tiered, end)


@action(follower=Broker)
def follower_starts_over(s: State, c: C, follower: int) -> None:
    """A follower whose log ends below its leader's log start empties it and goes on there (fetchOffsetAndTruncate)."""
    require(s.leader not in (NONE, follower))
    r, f = s.replica[s.leader], s.replica[follower]
    require(f.end < r.start)
    restart_at(f, c, r.start, r.start)


@action(follower=Broker)
def follower_rebuilds(s: State, c: C, follower: int) -> None:
    """A follower whose fetch offset is only in the tier rebuilds its log from the tier.

    The leader answers OFFSET_MOVED_TO_TIERED_STORAGE. The follower rebuilds the log start, epochs and high watermark up
    to the leader's local log start (TierStateMachine). If the tier lacks a segment up to there, the follower retries.
    """
    require(agrees(s, follower))
    r, f = s.replica[s.leader], s.replica[follower]
    require(r.start <= f.end < r.local)
    require(in_tier(s, r.log[r.local - 1].epoch, r.local - 1))
    restart_at(f, c, r.start, r.local)
    for offset in range(r.start, r.local):
        f.log[offset].epoch = r.log[offset].epoch
    commit(s, c)


@action(follower=Broker)
def leader_adds_follower(s: State, c: C, follower: int) -> None:
    """A follower that has all committed records joins the ISR."""
    require(agrees(s, follower))
    require(not bits.contains(s.isr, follower))
    require(s.replica[follower].end >= s.replica[s.leader].high_watermark)
    s.isr = bits.with_member(s.isr, follower)


@action(follower=Broker)
def leader_removes_follower(s: State, c: C, follower: int) -> None:
    """A follower that lags leaves the ISR."""
    require(s.leader not in (NONE, follower))
    require(bits.contains(s.isr, follower))
    require(s.replica[follower].end < s.replica[s.leader].end)
    s.isr = bits.without(s.isr, follower)
    commit(s, c)


@action(broker=Broker)
def controller_elects(s: State, c: C, broker: int) -> None:
    """The controller elects an ISR member or, uncleanly, another broker; the old leader may still be running."""
    is_clean = bits.contains(s.isr, broker)
    r = s.replica[broker]
    require(s.leader_epoch + 1 < c.leader_epochs, bound=C.leader_epochs)
    require(not leads(s, broker))
    require(is_clean or s.budget.unclean > 0, bound=C.unclean)
    s.leader = broker
    s.leader_epoch += 1
    r.copied = NONE
    leave_copy(s, r)
    if not is_clean:
        s.budget.unclean -= 1
        s.isr = bits.only(broker)
    commit(s, c)


@action(broker=Broker)
def broker_restarts(s: State, c: C, broker: int) -> None:
    """A broker stops cleanly and restarts: it no longer leads, and no longer has its information about the tier.

    LogLoader: before KAFKA-15351, the broker's log then starts with the first local segment.
    """
    r = s.replica[broker]
    require(s.budget.restarts > 0, bound=C.restarts)
    s.budget.restarts -= 1
    if not c.restart_keeps_log_start:
        move_start(r, r.first)
    r.local = max(r.start, r.first)
    r.tiered = 0
    r.copied = NONE
    leave_copy(s, r)
    r.moved = False
    if leads(s, broker):
        s.leader = NONE


_ONE_TASK = {"expiry_seeds": 0, "expiry_waits": 1}
_3_8 = {**_ONE_TASK, "finished_copies_count": 0}
_3_7 = {**_3_8, "log_start_is_monotonic": 0, "move_is_noticed": 0}
_3_6 = {**_3_7, "local_start_moves_first": 0, "restart_moves_local_start": 0, "copied_within_epoch": 0}
VERSIONS = (
    Version(
        "kafka-3.6",
        "without KAFKA-15241, KAFKA-15695 and all later fixes",
        _3_6,
        (
            Version(
                "kafka-3.6-rc",
                "the branch before 3.6.0, without KAFKA-15351",
                {"leader_adopts_log_start": 0, "restart_keeps_log_start": 0},
            ),
        ),
    ),
    Version(
        "kafka-3.7",
        "like 3.7.1 and 3.7.2, with KAFKA-16073; without KAFKA-16711, KAFKA-16890",
        _3_7,
        (Version("kafka-3.7.0", "without KAFKA-16073", {"local_start_moves_first": 0}),),
    ),
    Version(
        "kafka-3.8",
        "as 3.8.1, with KAFKA-17062",
        _ONE_TASK,
        (Version("kafka-3.8.0", "without KAFKA-17062", {"finished_copies_count": 0}),),
    ),
    Version("kafka-4.3", "3.9 to 4.3.1: separate tasks copy and expire segments (KAFKA-16853)", {"expiry_seeds": 0}),
    Version("kafka-4.4", "with KAFKA-20732", {}),
)

MACHINE = Machine(
    name="tiers",
    sentence="logs whose older segments are in a tier: copying and deleting segments, and rebuilding logs (KIP-405)",
    state=State,
    constants=C,
    initial=action()(initial),
    actions=(
        *(leader_appends, follower_fetches, follower_truncates, follower_starts_over, follower_rebuilds),
        *(leader_adds_follower, leader_removes_follower, controller_elects, broker_restarts),
        *(tiering.leader_looks_up_tier, tiering.follower_looks_up_tier, tiering.leader_starts_copy),
        *(tiering.broker_ends_copy, tiering.broker_fails_copy, tiering.broker_deletes_segment),
        *(tiering.broker_moves_local_start, tiering.leader_expires_segments, tiering.leader_deletes_records),
        tiering.leader_moves_directory,
    ),
    versions=VERSIONS,
    source="KIP-405; apache/kafka: RemoteLogManager, UnifiedLog, TierStateMachine, 4.3.1 and 4.4.0",
)
