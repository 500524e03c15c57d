"""How a follower handles fetch responses. Modelled on AbstractFetcherThread and ReplicaFetcherThread."""

from fencepost.model.cluster import log
from fencepost.model.cluster.constants import C, Truncation
from fencepost.model.cluster.state import Answer, Broker, LateAnswer, Replica, State, follows, local
from fencepost.model.language import NONE, InFlight, action, bits, require


def forget_answer(r: Replica) -> None:
    """Clear a fetch response."""
    r.answer.kind = Answer.NONE
    r.answer.record = 0
    r.answer.epoch = 0
    r.answer.end = 0
    r.answer.high_watermark = 0
    r.answer.start = 0


def complete_writes(s: State, r: Replica) -> None:
    """Acknowledge a former leader's write once the high watermark passes the write's offset.

    This is unsafe (KAFKA-20634): the record may have been truncated in the meantime and replaced by another record.
    """
    for offset in range(r.high_watermark):
        if r.waiting[offset] != 0:
            s.ghost_acknowledged = bits.with_member(s.ghost_acknowledged, r.waiting[offset])
        r.waiting[offset] = 0


def is_skipped(s: State, c: C, follower: int, epoch: int) -> bool:
    """Return whether the follower skips a record of this epoch (UnifiedLog.analyzeAndValidateRecords, KAFKA-18723).

    The leader had no record of a later epoch when it sent the response.
    """
    return c.records_read_late and c.later_epochs_skipped and epoch > local(s, follower).leader_epoch


def append_records(s: State, c: C, follower: int) -> None:
    """Append the response's record, then adopt the response's high watermark (up to the log end) and log start."""
    r = s.replica[follower]
    record, epoch, high_watermark, start = r.answer.record, r.answer.epoch, r.answer.high_watermark, r.answer.start
    if record != 0 and not is_skipped(s, c, follower, epoch):
        log.append(r, record, epoch)
    r.high_watermark = max(min(high_watermark, r.end), r.start)
    r.start = max(r.start, min(start, r.high_watermark))
    r.last_epoch_lost = c.last_epoch_lost_on_empty and record == 0
    forget_answer(r)
    if c.acknowledge_after_leadership:
        complete_writes(s, r)


def truncate(c: C, r: Replica) -> None:
    """Truncate the log as a diverging response requires (truncateOnFetchResponse)."""
    epoch, end = r.answer.epoch, r.answer.end
    if epoch == NONE:
        log.truncate(r, r.high_watermark)
        r.truncating = False
    else:
        asks_again = c.truncation == Truncation.KIP_279 and log.floor_epoch(r, epoch) != epoch
        offset = min(end, r.end) if c.truncation == Truncation.KIP_101 else log.truncation_offset(r, epoch, end)
        log.truncate(r, offset)
        r.truncating = asks_again and r.end > 0
    if c.truncation_moves_checkpoint:
        r.checkpoint = min(r.checkpoint, r.start)
    r.last_epoch_lost = False
    forget_answer(r)


@action(follower=Broker)
def follower_appends(s: State, c: C, follower: int) -> None:
    """A follower appends the fetched record and adopts the leader's high watermark, which may be lower than its own.

    ReplicaFetcherThread.processPartitionData, UnifiedLog.maybeUpdateHighWatermark.
    """
    r = s.replica[follower]
    require(r.answer.kind == Answer.RECORDS)
    append_records(s, c, follower)


@action(follower=Broker)
def follower_truncates(s: State, c: C, follower: int) -> None:
    """A follower truncates its log where it diverges from the leader's log.

    AbstractFetcherThread.truncateOnFetchResponse. If the follower lacks the epoch that the leader names, it fetches
    again. If the leader's log lacks the follower's epoch, the follower truncates to its high watermark.
    """
    r = s.replica[follower]
    require(r.answer.kind == Answer.DIVERGING)
    truncate(c, r)


@action(follower=Broker)
def follower_trusts_diverging_answer(s: State, c: C, follower: int) -> None:
    """A follower adopts a diverging response's high watermark before it truncates (KAFKA-14704)."""
    r = s.replica[follower]
    require(c.high_watermark_before_truncation)
    require(r.answer.kind == Answer.DIVERGING)
    require(r.high_watermark != max(min(r.answer.high_watermark, r.end), r.start))
    r.high_watermark = max(min(r.answer.high_watermark, r.end), r.start)


def is_taken(s: State, c: C, m: LateAnswer) -> bool:
    """Return whether a follower accepts a response from an earlier leader epoch (processFetchRequest).

    The partition must be assigned to the same thread again, and the log end must be unchanged. A follower with an empty
    log must first find its truncation offset. Its thread does so only when it awaits no response. The thread checks a
    diverging response under a lock, releases the lock, and does not check again when it takes the lock to truncate.
    """
    r = s.replica[m.follower]
    is_judged = c.divergence_judged_apart and m.kind == Answer.DIVERGING
    return follows(s, m.follower, m.leader) and (
        is_judged
        or (
            r.end == m.offset
            and r.end > 0
            and (not c.answers_match_epoch or m.leader_epoch == local(s, m.follower).leader_epoch)
        )
    )


@action(m=InFlight("late_answers"))
def follower_takes_late_answer(s: State, c: C, m: LateAnswer) -> None:
    """A follower accepts a response from an earlier leader epoch, because the leader and the log end have not changed.
    Until KAFKA-18991, only the leader and the log end were compared. The leader's log may have changed in the meantime.
    """
    require(is_taken(s, c, m))
    follower, kind = m.follower, m.kind
    r = s.replica[follower]
    r.answer.kind = m.kind
    r.answer.record = m.record
    r.answer.epoch = m.epoch
    r.answer.end = m.end
    r.answer.high_watermark = m.high_watermark
    r.answer.start = m.start
    s.late_answers.remove(m)
    if kind == Answer.RECORDS:
        append_records(s, c, follower)
    else:
        truncate(c, r)


@action(m=InFlight("late_answers"))
def follower_ignores_late_answer(s: State, c: C, m: LateAnswer) -> None:
    """A follower ignores a response from an earlier leader epoch, and its thread fetches again."""
    require(not is_taken(s, c, m))
    s.late_answers.remove(m)


@action(m=InFlight("late_answers"))
def late_answer_is_lost(s: State, c: C, m: LateAnswer) -> None:
    """A response that a follower would accept is lost: the connection breaks, or the idle fetcher thread has ended."""
    require(is_taken(s, c, m))
    s.late_answers.remove(m)
