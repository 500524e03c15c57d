"""How a follower or observer handles fetch responses (KafkaRaftClient.handleFetchResponse, FollowerState)."""

from fencepost.model.language import NONE, action, require
from fencepost.model.quorum import log
from fencepost.model.quorum.constants import C, Report
from fencepost.model.quorum.fetch import arrived
from fencepost.model.quorum.state import Fetch, Id, Node, Phase, State


def clear(fetch: Fetch) -> None:
    """Clear a fetch and its response."""
    fetch.phase = Phase.SENT
    fetch.diverging = False
    fetch.snapshot = 0
    fetch.end = 0
    fetch.high_watermark = 0
    fetch.remaining = 0


def go_on(c: C, n: Node) -> None:
    """Send the next fetch after the leader's response was handled."""
    n.fetched = c.fresh_followers_grant
    send_fetch(c, n)


def send_fetch(c: C, n: Node) -> None:
    """Send the next fetch."""
    clear(n.fetch)
    n.fetch.remaining = c.latency if c.clock else 0


def raise_high_watermark(c: C, f: Node, high_watermark: int) -> None:
    """Adopt the leader's high watermark, up to the follower's log end; ignore an unknown high watermark."""
    if high_watermark != NONE:
        f.high_watermark = min(high_watermark, f.end)
        if c.reports == Report.RECEIVED:
            f.received = high_watermark


@action(follower=Id)
def follower_appends(s: State, c: C, follower: int) -> None:
    """A follower appends the response's records, adopts the high watermark, and fetches again."""
    f = s.node[follower]
    require(f.fetch.phase == Phase.ANSWERED)
    require(not f.fetch.diverging)
    require(f.fetch.snapshot == 0)
    require(arrived(c, f.fetch))
    l = s.node[f.leader]
    has_records = f.fetch.end > f.end
    high_watermark = f.fetch.high_watermark
    for offset in range(f.end, f.fetch.end):
        log.append(f, l.log[offset].record, l.log[offset].epoch)
    if has_records or c.empty_answers_raise_high_watermark:
        raise_high_watermark(c, f, high_watermark)
    go_on(c, f)


def told_epoch(l: Node, epoch: int, end: int) -> int:
    """Return the epoch that ends at `end` according to the leader's response to a query about `epoch`.

    The leader's log may have changed meanwhile. If the leader's log started after `epoch`, `end` is its log start.
    """
    return epoch if log.start_above(l, epoch) < end else log.floor_epoch(l, epoch)


@action(follower=Id)
def follower_truncates(s: State, c: C, follower: int) -> None:
    """A follower truncates its log where the logs diverge, and fails if that offset is below its high watermark.

    The follower does not use the high watermark of a diverging response (compare KAFKA-14704 in data replication).
    """
    f = s.node[follower]
    require(f.fetch.phase == Phase.ANSWERED)
    require(f.fetch.diverging)
    require(arrived(c, f.fetch))
    l = s.node[f.leader]
    epoch = told_epoch(l, log.last_epoch(f), f.fetch.end)
    offset = log.truncation_offset(f, epoch, f.fetch.end)
    if c.diverging_high_watermark_counts:
        raise_high_watermark(c, f, f.fetch.high_watermark)
    if offset < max(f.high_watermark, f.start) and c.refuses_truncation_below_high_watermark:
        f.failed = True
        clear(f.fetch)
    else:
        log.truncate(f, offset)
        go_on(c, f)
