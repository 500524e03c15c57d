"""Producers: each record is sent once, with acks=all, to a broker that believes it is the leader."""

from fencepost.model.cluster import log
from fencepost.model.cluster.constants import C
from fencepost.model.cluster.leader import advance_high_watermark
from fencepost.model.cluster.state import Broker, State, leads, local, min_isr_of
from fencepost.model.language import action, bits, require


@action(leader=Broker)
def leader_appends(s: State, c: C, leader: int) -> None:
    """A leader, even a deposed one, appends the next record if the committed ISR that it knows is large enough.
    Partition.appendRecordsToLeader. The write is acknowledged when the high watermark passes its offset.
    """
    r = s.replica[leader]
    require(s.written < c.max_records, bound=C.max_records)
    require(leads(s, leader))
    require(bits.size(r.isr) >= min_isr_of(s, c, leader))
    require(r.checked == 0)
    record = s.written + 1
    r.waiting[r.end] = record
    log.append(r, record, local(s, leader).leader_epoch)
    s.written += 1
    advance_high_watermark(s, c, leader)
