"""A follower's use of the answers to its fetches. After AbstractFetcherThread and ReplicaFetcherThread."""

from fencepost.model.cluster import log
from fencepost.model.cluster.constants import C, Truncation
from fencepost.model.cluster.state import Answer, Broker, Replica, State
from fencepost.model.language import NONE, action, bits, require


def forget_answer(r: Replica) -> None:
    """Drop the answer to the replica's fetch: it has been handled, or nobody waits for it any more."""
    r.answer.kind = Answer.NONE
    r.answer.record = 0
    r.answer.epoch = 0
    r.answer.end = 0
    r.answer.high_watermark = 0


def complete_writes(s: State, r: Replica) -> None:
    """Acknowledge what the replica appended when it led, once its high watermark passes the offset (KAFKA-20634).

    Unsafe: the record may have been cut off since, and another one stands there.
    """
    for offset in range(r.high_watermark):
        if r.waiting[offset] != 0:
            s.ghost_acknowledged = bits.with_member(s.ghost_acknowledged, r.waiting[offset])
        r.waiting[offset] = 0


@action(follower=Broker)
def follower_appends(s: State, c: C, follower: int) -> None:
    """A follower appends the fetched record and takes over the leader's high watermark, which
    may be lower than its own.

    ReplicaFetcherThread.processPartitionData; UnifiedLog.maybeUpdateHighWatermark keeps it within the log.
    """
    r = s.replica[follower]
    require(r.answer.kind == Answer.RECORDS)
    record, epoch, high_watermark = r.answer.record, r.answer.epoch, r.answer.high_watermark
    if record != 0:
        log.append(r, record, epoch)
    r.high_watermark = min(high_watermark, r.end)
    r.last_epoch_lost = c.last_epoch_lost_on_empty and record == 0
    forget_answer(r)
    if c.acknowledge_after_leadership:
        complete_writes(s, r)


@action(follower=Broker)
def follower_truncates(s: State, c: C, follower: int) -> None:
    """A follower cuts its log where the leader says that the logs depart; its high watermark is not updated before.

    AbstractFetcherThread.truncateOnFetchResponse. If it does not know the epoch that the leader names, it asks again.
    When the leader could not tell, it falls back on its own high watermark.
    """
    r = s.replica[follower]
    require(r.answer.kind == Answer.DIVERGING)
    epoch, end = r.answer.epoch, r.answer.end
    if epoch == NONE:
        log.truncate(r, r.high_watermark)
        r.truncating = False
    else:
        asks_again = c.truncation == Truncation.KIP_279 and log.floor_epoch(r, epoch) != epoch
        offset = min(end, r.end) if c.truncation == Truncation.KIP_101 else log.truncation_offset(r, epoch, end)
        log.truncate(r, offset)
        r.truncating = asks_again and r.end > 0
    r.last_epoch_lost = False
    forget_answer(r)


@action(follower=Broker)
def follower_trusts_diverging_answer(s: State, c: C, follower: int) -> None:
    """A follower takes over the high watermark of an answer that tells it to truncate, before it does (KAFKA-14704)."""
    r = s.replica[follower]
    require(c.high_watermark_before_truncation)
    require(r.answer.kind == Answer.DIVERGING)
    require(r.high_watermark != min(r.answer.high_watermark, r.end))
    r.high_watermark = min(r.answer.high_watermark, r.end)
