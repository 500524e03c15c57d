"""What a follower does with the answers to its fetches. After AbstractFetcherThread and ReplicaFetcherThread."""

from fencepost.model.cluster import log
from fencepost.model.cluster.constants import C, Truncation
from fencepost.model.cluster.leader import acknowledge
from fencepost.model.cluster.state import Answer, Broker, Replica, State
from fencepost.model.language import NONE, action, require


def forget_answer(r: Replica) -> None:
    """Drop the answer to the replica's fetch: it has been handled, or nobody waits for it any more."""
    r.answer.kind = Answer.NONE
    r.answer.record = 0
    r.answer.epoch = 0
    r.answer.end = 0
    r.answer.high_watermark = 0


@action(follower=Broker)
def follower_appends(s: State, c: C, follower: int) -> None:
    """A follower appends the fetched record and takes over the leader's high watermark, which may be lower than its own.

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
        acknowledge(s, c, r)


@action(follower=Broker)
def follower_truncates(s: State, c: C, follower: int) -> None:
    """A follower cuts its log where the leader says that the logs depart; its high watermark is not updated before.

    AbstractFetcherThread.truncateOnFetchResponse. If it does not know the epoch that the leader names, it asks again.
    When the leader could not tell, it falls back on its own high watermark.
    """
    r = s.replica[follower]
    require(r.answer.kind == Answer.DIVERGING)
    epoch, end, high_watermark = r.answer.epoch, r.answer.end, r.answer.high_watermark
    if c.high_watermark_before_truncation:
        r.high_watermark = min(high_watermark, r.end)
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
