"""KIP-101: a new follower queries where its own last epoch ends in the leader's log, and truncates there.

KIP-101 replaces truncation to the high watermark, which loses records: a follower learns that a record is committed
only with its next fetch. For example, replica 1, an ISR member, fetches a record, and the leader advances its high
watermark past it. Replica 1 then learns of a new leader epoch, perhaps with the same leader, and truncates to its own
high watermark, which is below the record. Because replica 1 is still in the ISR, it can be elected without the record
(10 states with two replicas). Modelled on hachikuji/kafka-specification, Kip101.
"""

from fencepost.model.language import action, require
from fencepost.model.lineage import base, truncate_to_hwm
from fencepost.model.lineage.base import C, Epoch, Replica, ReplicaState, State


def end_of_epoch(l: ReplicaState, epoch: int, unknown: int) -> int:
    """Return where `epoch` ends in the leader's log, or `unknown` if the log has neither this epoch nor a later one."""
    if l.end > 0 and base.latest_epoch(l) == epoch:
        return l.end
    for offset in range(l.end):
        if l.log[offset].epoch > epoch:
            return offset
    return unknown


def truncation_offset(l: ReplicaState, f: ReplicaState) -> int:
    """Return where the follower's last epoch ends in the leader's log, or its high watermark if this is unknown."""
    return 0 if f.end == 0 else end_of_epoch(l, base.latest_epoch(f), f.high_watermark)


@action(leader=Replica, follower=Replica, epoch=Epoch)
def become_follower_and_truncate(s: State, c: C, leader: int, follower: int, epoch: int) -> None:
    """A replica learns of its leader and truncates to where its own last epoch ends in the leader's log (KIP-101).

    The leader answers from its current log, regardless of its epoch and role. As published, if the leader's answer is
    beyond the follower's log end, the follower waits forever.
    """
    l, f = s.replica[leader], s.replica[follower]
    offset = truncation_offset(l, f)
    require(base.is_news_of_leader(s, follower, leader, epoch))
    require(offset <= f.end)
    base.truncate(f, offset)
    base.follow(s, follower, epoch)


MACHINE = truncate_to_hwm.MACHINE.replacing(
    name="kip101",
    sentence="KIP-101: a new follower truncates to where its last leader epoch ends in the leader's log",
    become_follower_and_truncate=become_follower_and_truncate,
)
