"""A client's view of a protocol: the leader, the ISR, and the records that are acknowledged or readable."""

from fencepost.model.cluster.constants import C
from fencepost.model.cluster.state import State, has_current_leader, newest
from fencepost.model.language import NONE
from fencepost.model.lineage import base


def leader(s: State, c: C) -> int:
    """Return the leader in the controller's latest decision."""
    return newest(s).leader


def leader_epoch(s: State, c: C) -> int:
    """Return the leader epoch in the controller's latest decision."""
    return newest(s).leader_epoch


def isr(s: State, c: C) -> int:
    """Return the in-sync replicas in the controller's latest decision."""
    return newest(s).isr


def acknowledged(s: State, c: C) -> int:
    """Return the records that producers know to be written."""
    return s.ghost_acknowledged


def readable(s: State, c: C) -> int:
    """Return the records that the leader serves to consumers, in order; empty while no leader knows that it leads."""
    if not has_current_leader(s):
        return NONE
    r = s.replica[newest(s).leader]
    shown = 0
    for offset in range(r.start, r.high_watermark):
        shown = shown * (c.max_records + 1) + r.log[offset].record
    return shown


REPLICATION = (leader, leader_epoch, isr, acknowledged, readable)


def quorum_leader(s: base.State, c: base.C) -> int:
    """Return the leader in the controller's latest decision."""
    return s.quorum.leader


def quorum_isr(s: base.State, c: base.C) -> int:
    """Return the in-sync replicas."""
    return s.quorum.isr


def leader_shows(s: base.State, c: base.C) -> int:
    """Return the records that the leader serves to consumers, in order; empty unless the leader knows that it leads."""
    if s.quorum.leader == NONE or not base.is_true_leader(s, s.quorum.leader):
        return NONE
    r = s.replica[s.quorum.leader]
    shown = 0
    for offset in range(r.high_watermark):
        shown = shown * (c.max_records + 1) + r.log[offset].id + 1
    return shown


LINEAGE = (quorum_leader, quorum_isr, leader_shows)
