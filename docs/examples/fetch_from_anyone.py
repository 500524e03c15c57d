"""KIP-320 without one check: a follower fetches from whichever replica it believes to be the leader, in any epoch."""

from fencepost.invariants.lineage import PROPERTIES as PUBLISHED
from fencepost.model.language import action, always, require, sometimes
from fencepost.model.lineage import base, kip320
from fencepost.model.lineage.base import C, Replica, State


@action(leader=Replica, follower=Replica)
def follower_fetch(s: State, c: C, leader: int, follower: int) -> None:
    """The follower copies the next record from the replica that it believes to be the leader, in any epoch."""
    l, f = s.replica[leader], s.replica[follower]
    require(base.is_following(f, leader))
    require(base.presumes_leadership(l, leader))
    require(f.end < l.end)
    base.replicate(s, follower, leader)


@always
def epochs_never_fall_in_a_log(s: State, c: C) -> bool:
    """In every log, each record's epoch is at least that of the record before it."""
    return all(
        s.replica[broker].log[offset - 1].epoch <= s.replica[broker].log[offset].epoch
        for broker in range(c.replicas)
        for offset in range(1, s.replica[broker].end)
    )


@sometimes
def log_spans_two_epochs(s: State, c: C) -> bool:
    """A log contains records of two leader epochs, so the order of epochs matters."""
    return any(r.end > 1 and r.log[0].epoch != r.log[r.end - 1].epoch for r in s.replica)


MACHINE = kip320.MACHINE.replacing(
    name="fetch-from-anyone", sentence="KIP-320 without the fence on fetches", follower_fetch=follower_fetch
)
PROPERTIES = (*PUBLISHED, epochs_never_fall_in_a_log, log_spans_two_epochs)
