"""Replication of records, high watermarks and leader epochs, and deletion of old records."""

from fencepost.model.consumers import log
from fencepost.model.consumers.constants import (
    Allowed,
    C,
    Selector,
    allowed,
    keeps_received,
    selector,
    tells_high_watermark,
)
from fencepost.model.consumers.state import Broker, Kind, Replica, State, has_leader, newest_leader
from fencepost.model.language import action, bits, require


def advance_high_watermark(s: State, c: C) -> None:
    """Advance the newest leader's high watermark to the smallest log end in the ISR, but never lower it."""
    l = newest_leader(s)
    reached = l.end
    for member in range(c.replicas):
        if member != s.leader[s.newest] and bits.contains(s.isr, member):
            reached = min(reached, s.replica[member].known_end)
    if reached > l.high_watermark:
        l.high_watermark = reached
        for offset in range(l.start, reached):
            s.ghost_committed[offset] = bits.with_member(s.ghost_committed[offset], l.log[offset])
        s.ghost_committed_end = max(s.ghost_committed_end, reached)


def forget_answer(r: Replica) -> None:
    """Clear the response to the replica's fetch."""
    r.answer.kind = Kind.NONE
    r.answer.epoch = 0
    r.answer.end = 0
    r.answer.high_watermark = 0


@action()
def leader_appends(s: State, c: C) -> None:
    """The leader appends a record in its epoch."""
    l = newest_leader(s)
    require(has_leader(s))
    require(l.end < c.records, bound=C.records)
    l.log[l.end] = s.newest
    l.end += 1
    advance_high_watermark(s, c)


@action(replica=Broker)
def replica_learns(s: State, c: C, replica: int) -> None:
    """A replica becomes leader or follower in the newest epoch. A response to an earlier fetch is dropped."""
    r = s.replica[replica]
    require(r.is_up)
    require(r.epoch < s.newest)
    r.epoch = s.newest
    forget_answer(r)
    if s.leader[s.newest] == replica:
        r.received = 0
        advance_high_watermark(s, c)


def is_follower(s: State, follower: int) -> bool:
    """Return whether the replica fetches from the newest leader in the newest leader epoch."""
    f = s.replica[follower]
    return f.is_up and has_leader(s) and f.epoch == s.newest and s.leader[s.newest] != follower


def is_out_of_range(s: State, follower: int) -> bool:
    """Return whether the follower's log ends outside the range of the leader's log."""
    l, f = newest_leader(s), s.replica[follower]
    return f.end < l.start or (f.end > l.end and f.end == f.start)


def departs(s: State, follower: int) -> bool:
    """Return whether the follower's log diverges from the leader's."""
    f = s.replica[follower]
    return log.departs(newest_leader(s), f.end, log.last_epoch(f))


def may_join(s: State, follower: int) -> bool:
    """Return whether the follower may join the ISR: its log has all committed records and reaches the epoch's start."""
    l, f = newest_leader(s), s.replica[follower]
    return not bits.contains(s.isr, follower) and f.end >= l.high_watermark and f.end >= log.starts_epoch_at(l)


def has_records(s: State, follower: int) -> bool:
    """Return whether the follower lacks records, reports a new log end with its fetch, or may join the ISR with it."""
    l, f = newest_leader(s), s.replica[follower]
    return f.known_end != f.end or f.end != l.end or may_join(s, follower)


def shown_start(c: C, f: Replica) -> int:
    """Return the log start that a fetch reports to the leader, or 0 if the leader's selector does not use it."""
    return f.start if selector(c) == Selector.LEADER and allowed(c) == Allowed.ISR else 0


def is_stale(s: State, c: C, follower: int) -> bool:
    """Return whether a response without records, and the next fetch, would change the follower or the leader."""
    l, f = newest_leader(s), s.replica[follower]
    return (
        f.high_watermark != log.clamp(f, l.high_watermark)
        or (keeps_received(c) and f.received != l.high_watermark)
        or (c.log_start_travels and f.start < l.start)
        or f.known_start != shown_start(c, f)
    )


def apply_records(f: Replica, c: C) -> None:
    """Append the record from a fetch response, then adopt the response's high watermark, and then its log start."""
    epoch, start, high_watermark = f.answer.epoch, f.answer.end, f.answer.high_watermark
    if epoch != 0:
        f.log[f.end] = epoch
        f.end += 1
    f.high_watermark = log.clamp(f, high_watermark)
    if keeps_received(c):
        f.received = high_watermark
    log.drop_below(f, min(start, f.high_watermark))
    forget_answer(f)


def may_answer(s: State, follower: int) -> bool:
    """Return whether the leader may answer the follower's fetch, with or without a record."""
    waits = is_follower(s, follower) and s.replica[follower].answer.kind == Kind.NONE
    return waits and not is_out_of_range(s, follower) and not departs(s, follower)


def answer(s: State, c: C, follower: int) -> None:
    """Record the content of the fetch, and send the next record with the high watermark from before the fetch.

    Partition.fetchRecords reads first and then records the fetch. A caught-up follower joins the ISR.
    """
    l, f = newest_leader(s), s.replica[follower]
    f.answer.kind = Kind.RECORDS
    f.answer.epoch = l.log[f.end] if f.end < l.end else 0
    f.answer.end = l.start if c.log_start_travels else 0
    f.answer.high_watermark = l.high_watermark
    f.known_end = f.end
    f.known_start = shown_start(c, f)
    if may_join(s, follower):
        s.isr = bits.with_member(s.isr, follower)
    advance_high_watermark(s, c)
    if not c.answers_in_flight:
        apply_records(f, c)


@action(follower=Broker)
def leader_answers_follower(s: State, c: C, follower: int) -> None:
    """The leader answers a fetch immediately: with the next record or, in some designs, with a new high watermark."""
    require(may_answer(s, follower))
    require(has_records(s, follower) or (tells_high_watermark(c) and is_stale(s, c, follower)))
    answer(s, c, follower)


@action(follower=Broker)
def follower_waits_in_vain(s: State, c: C, follower: int) -> None:
    """A fetch without available records is answered with the high watermark after replica.fetch.wait.max.ms."""
    require(not tells_high_watermark(c))
    require(may_answer(s, follower))
    require(not has_records(s, follower))
    require(is_stale(s, c, follower))
    answer(s, c, follower)


@action(follower=Broker)
def leader_reports_divergence(s: State, c: C, follower: int) -> None:
    """The leader reports where the logs diverge (KIP-595), and includes its own high watermark."""
    l, f = newest_leader(s), s.replica[follower]
    require(is_follower(s, follower))
    require(f.answer.kind == Kind.NONE)
    require(not is_out_of_range(s, follower))
    require(departs(s, follower))
    epoch = log.last_epoch(f)
    f.answer.kind = Kind.DIVERGING
    f.answer.epoch = log.floor_epoch(l, epoch)
    f.answer.end = log.end_of_epoch(l, epoch)
    f.answer.high_watermark = l.high_watermark if c.high_watermark_before_truncation else 0


@action(follower=Broker)
def leader_tells_out_of_range(s: State, c: C, follower: int) -> None:
    """The leader's log does not contain the fetch offset; the follower requests the offset at which to restart."""
    l, f = newest_leader(s), s.replica[follower]
    require(is_follower(s, follower))
    require(f.answer.kind == Kind.NONE)
    require(is_out_of_range(s, follower))
    f.answer.kind = Kind.RESTART
    f.answer.end = l.start if f.end < l.start else l.end


@action(follower=Broker)
def follower_appends(s: State, c: C, follower: int) -> None:
    """A follower appends the record, and adopts the high watermark (up to its own log end) and the log start.

    ReplicaFetcherThread.processPartitionData. Records below the leader's log start may differ from the leader's deleted
    records. No response shows the difference, so the follower must not keep those records (see `log_start_travels`).
    """
    f = s.replica[follower]
    require(f.answer.kind == Kind.RECORDS)
    apply_records(f, c)


@action(follower=Broker)
def follower_truncates(s: State, c: C, follower: int) -> None:
    """A follower truncates its log where the logs diverge, and keeps its high watermark until the next response."""
    f = s.replica[follower]
    require(f.answer.kind == Kind.DIVERGING)
    log.truncate(f, log.truncation_offset(f, f.answer.epoch, f.answer.end))
    forget_answer(f)


@action(follower=Broker)
def follower_starts_anew(s: State, c: C, follower: int) -> None:
    """A follower whose offset is out of range drops its log and continues at the offset that the leader names."""
    f = s.replica[follower]
    require(f.answer.kind == Kind.RESTART)
    log.restart(f, f.answer.end)
    forget_answer(f)


@action(follower=Broker)
def follower_trusts_diverging_answer(s: State, c: C, follower: int) -> None:
    """A follower adopts a diverging response's high watermark before it truncates (KAFKA-14704)."""
    f = s.replica[follower]
    require(c.high_watermark_before_truncation)
    require(f.answer.kind == Kind.DIVERGING)
    require(f.high_watermark != log.clamp(f, f.answer.high_watermark))
    f.high_watermark = log.clamp(f, f.answer.high_watermark)


@action(replica=Broker)
def retention_moves_log_start(s: State, c: C, replica: int) -> None:
    """A replica deletes its oldest record below the high watermark, independently of other replicas."""
    r = s.replica[replica]
    require(s.budget.retentions > 0, bound=C.retentions)
    require(r.is_up)
    require(r.start < r.high_watermark)
    log.drop_below(r, r.start + 1)
    s.budget.retentions -= 1
