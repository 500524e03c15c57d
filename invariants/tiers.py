"""Properties of tiered storage: all retained records can be read, and retention deletes no more than it should."""

from fencepost.model.language import NONE, always, bits, leads_to, sometimes, weak
from fencepost.model.language.actions import properties_in
from fencepost.model.tiers.state import Broker, C, Replica, State, in_tier, leads
from fencepost.model.tiers.tiering import broker_ends_copy, find_tiered, leader_looks_up_tier


def is_deleted(s: State, r: Replica, offset: int) -> bool:
    """Return whether a record of a log was deleted on purpose."""
    return bits.contains(s.tier[r.log[offset].epoch].ghost_deleted, offset)


def is_kept(s: State, r: Replica, offset: int) -> bool:
    """Return whether a record of a log is on the replica's disk or in the tier."""
    return offset >= r.first or in_tier(s, r.log[offset].epoch, offset)


def is_read(s: State, r: Replica, offset: int) -> bool:
    """Return whether a record can be read, from the disk or, if it is below the local log start, from the tier."""
    return offset >= r.first if offset >= r.local else in_tier(s, r.log[offset].epoch, offset)


@always
def committed_records_are_kept(s: State, c: C) -> bool:
    """TS-S1: a committed record is on the leader's disk or in the tier, unless it was deleted on purpose."""
    if s.leader == NONE:
        return True
    r = s.replica[s.leader]
    return all(is_deleted(s, r, offset) or is_kept(s, r, offset) for offset in range(r.start, r.high_watermark))


@always
def readers_get_what_is_kept(s: State, c: C) -> bool:
    """TS-S2: a reader gets each retained, committed record from the leader, without an out-of-range error."""
    if s.leader == NONE:
        return True
    r = s.replica[s.leader]
    return all(
        is_deleted(s, r, offset) or not is_kept(s, r, offset) or is_read(s, r, offset)
        for offset in range(r.start, r.high_watermark)
    )


@always
def retention_keeps_its_size(s: State, c: C) -> bool:
    """TS-S3: retention leaves at least retention.bytes, or deletes nothing."""
    return not s.ghost_early


@always
def log_starts_follow_deletions(s: State, c: C) -> bool:
    """TS-S4: every record below the leader's log start was deleted on purpose."""
    if s.leader == NONE:
        return True
    deleted = 0
    for epoch in range(c.leader_epochs):
        deleted |= s.tier[epoch].ghost_deleted
    return bits.is_subset(bits.everyone(s.replica[s.leader].start), deleted)


@always
def log_starts_are_looked_up(s: State, c: C) -> bool:
    """TS-S5: after a leader has read or deleted from the tier, its log starts at the first remaining record."""
    return not s.ghost_low


@sometimes
def record_is_in_the_tier_alone(s: State, c: C) -> bool:
    """A record of the leader's log is in the tier, and no longer on the leader's disk."""
    return s.leader != NONE and s.replica[s.leader].start < s.replica[s.leader].first


@sometimes
def follower_is_rebuilt_from_the_tier(s: State, c: C) -> bool:
    """A follower has rebuilt its log with records that were never on its disk."""
    return any(
        not leads(s, broker) and s.replica[broker].start < s.replica[broker].first > s.replica[broker].tiered
        for broker in range(c.brokers)
    )


@sometimes
def retention_deletes_in_the_tier(s: State, c: C) -> bool:
    """Retention has deleted a segment of the tier."""
    return s.budget.deletions == c.deletions and any(
        s.tier[epoch].ghost_deleted != 0 for epoch in range(c.leader_epochs)
    )


@sometimes
def copy_is_left_half_done(s: State, c: C) -> bool:
    """The tier contains a copy that no broker will complete."""
    return any(
        s.tier[epoch].segment[offset].begun > 0 for epoch in range(c.leader_epochs) for offset in range(c.log_size)
    )


@sometimes
def epochs_differ_in_the_tier(s: State, c: C) -> bool:
    """The tier contains a record that differs from the leader's record at the same offset."""
    if s.leader == NONE:
        return False
    r = s.replica[s.leader]
    found = False
    for epoch in range(c.leader_epochs):
        for offset in range(r.start, r.high_watermark):
            found = found or (r.log[offset].epoch != epoch and in_tier(s, epoch, offset))
    return found


PROPERTIES = properties_in(globals())


def has_forgotten(s: State, c: C, broker: int) -> bool:
    """Return whether the leader does not know that some segments of its log are in the tier."""
    r = s.replica[broker]
    return leads(s, broker) and r.tiered < find_tiered(s, c, r)


def has_not_forgotten(s: State, c: C, broker: int) -> bool:
    """Return whether the leader knows of all segments of its log that are in the tier, or no longer leads."""
    return not has_forgotten(s, c, broker)


tiered_offsets_are_known = leads_to(
    "tiered-offsets-are-known",
    "TS-L1: a leader eventually knows which part of its log is in the tier, and may delete that part from its disk.",
    when=has_forgotten,
    then=has_not_forgotten,
    fair=(weak(leader_looks_up_tier, each="leader"), weak(broker_ends_copy, each="broker")),
    broker=Broker,
)

LIVENESS = (tiered_offsets_are_known,)
