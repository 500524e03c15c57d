"""KIP-279: a new follower finds the last record that both logs share, and truncates after it.

KIP-279 fixes a bug in KIP-101: a leader that knows neither the follower's last epoch nor a later epoch cannot say where
the epoch ends, so the follower truncates to its high watermark. For example, both replicas have a committed record of
epoch 0. Replica 1 leads in epoch 1 and writes a record that is not replicated. Replica 0, elected for epoch 2, has no
record of epoch 1. Replica 1 does not know that the first record is committed, and therefore also drops it (12 states
with two replicas and three epochs). Modelled on hachikuji/kafka-specification, Kip279.
"""

from fencepost.model.language import action, require
from fencepost.model.lineage import base, kip101
from fencepost.model.lineage.base import C, Epoch, Replica, State


@action(leader=Replica, follower=Replica, epoch=Epoch)
def become_follower_and_truncate(s: State, c: C, leader: int, follower: int, epoch: int) -> None:
    """A replica learns of its leader and truncates to where their logs diverge (KIP-279).

    The leader answers from its current log, regardless of its epoch and role.
    """
    l, f = s.replica[leader], s.replica[follower]
    require(base.is_news_of_leader(s, follower, leader, epoch))
    base.truncate(f, base.last_matching_end(l, f))
    base.follow(s, follower, epoch)


MACHINE = kip101.MACHINE.replacing(
    name="kip279",
    sentence="KIP-279: a new follower truncates to where its log and the leader's diverge",
    become_follower_and_truncate=become_follower_and_truncate,
)
