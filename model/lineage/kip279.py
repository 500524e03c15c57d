"""KIP-279: a new follower goes back to the last record that both logs share, and truncates after it.
"""

from fencepost.model.language import action, require
from fencepost.model.lineage import base, kip101
from fencepost.model.lineage.base import C, Epoch, Replica, State


@action(leader=Replica, follower=Replica, epoch=Epoch)
def become_follower_and_truncate(s: State, c: C, leader: int, follower: int, epoch: int) -> None:
    """A replica learns of its leader and truncates to where their logs part (KIP-279).

    The leader's log is read as it is, in whatever epoch or role the leader is.
    """
    l, f = s.replica[leader], s.replica[follower]
    require(base.is_news_of_leader(s, follower, leader, epoch))
    base.truncate(f, base.last_matching_end(l, f))
    base.follow(s, follower, epoch)


MACHINE = kip101.MACHINE.replacing(
    name="kip279",
    sentence="KIP-279: a new follower truncates to where its log and the leader's part",
    become_follower_and_truncate=become_follower_and_truncate,
)
