"""Lost messages, and messages that no longer have an effect."""

from fencepost.model.language import NONE, action, require
from fencepost.model.quorum.constants import C
from fencepost.model.quorum.follower import send_fetch
from fencepost.model.quorum.state import Id, LateFetch, Node, Phase, Role, State


@action(follower=Id)
def answer_is_lost(s: State, c: C, follower: int) -> None:
    """The response to a fetch is lost. The follower's request times out, and the follower fetches again."""
    f = s.node[follower]
    require(f.fetch.phase == Phase.ANSWERED)
    require(s.budget.losses > 0, bound=C.losses)
    s.budget.losses -= 1
    send_fetch(c, f)
    if c.clock:
        f.fetch.remaining += c.retry
    if c.counts_answers:
        s.ghost_credit[follower] += 1


def can_count(s: State, m: LateFetch) -> bool:
    """Return whether a late fetch can still reach a leader in its epoch."""
    return s.node[m.leader].role == Role.LEADER and s.node[m.leader].epoch == m.epoch


def forget_ends_below(l: Node, c: C, least: int) -> None:
    """Clear the log ends below `least`, which can no longer advance the high watermark."""
    for node in range(c.nodes):
        if l.known_end[node] < least:
            l.known_end[node] = NONE


def normalize(s: State, c: C) -> None:
    """Remove differences that cannot be observed.

    The differences are late fetches that no leader will serve, and log ends that can no longer advance a leader's high
    watermark. Such log ends are below the high watermark, or not beyond the epoch's start.
    """
    for l in s.node:
        if l.role == Role.LEADER:
            first = l.epoch_start + 1 if c.commits_beyond_epoch_start else l.epoch_start
            forget_ends_below(l, c, max(first, l.high_watermark + 1))
    for _ in range(c.late_fetches):
        for m in s.late_fetches:
            if not can_count(s, m):
                s.late_fetches.remove(m)
                break
