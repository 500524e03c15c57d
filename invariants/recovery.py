"""Properties of unclean recovery: which committed records the elected broker must have."""

from fencepost.model.language import NONE, always, bits, sometimes, step
from fencepost.model.language.actions import properties_in
from fencepost.model.recovery.machine import C, Replica, State, active, controller_recovers


def lacks(s: State, r: Replica) -> int:
    """Return the committed records that are missing from the log."""
    found = s.ghost_committed
    for offset in range(r.end):
        found = bits.without(found, r.log[offset].record)
    return found


@always
def leader_has_committed(s: State, c: C) -> bool:
    """UR-S1: a leader has every record that was ever committed."""
    return s.leader == NONE or lacks(s, s.replica[s.leader]) == 0


@step(on=controller_recovers)
def nobody_who_answered_had_more(before: State, after: State, c: C, broker: int) -> bool:
    """UR-S2: no broker that the controller queried has a committed record that the elected broker lacks."""
    return all(
        not bits.contains(active(before, c), other)
        or bits.is_subset(lacks(before, before.replica[broker]), lacks(before, before.replica[other]))
        for other in range(c.brokers)
    )


@step(on=controller_recovers)
def nobody_had_more(before: State, after: State, c: C, broker: int) -> bool:
    """UR-S3: no broker, not even one that is down or fenced, has a committed record that the elected broker lacks."""
    return all(bits.is_subset(lacks(before, before.replica[broker]), lacks(before, r)) for r in before.replica)


@sometimes
def recovery_keeps_everything(before: State, after: State, c: C) -> bool:
    """The broker that is elected uncleanly has every committed record."""
    unclean = before.isr | before.elr == 0 and before.leader == NONE and after.leader != NONE
    return unclean and before.ghost_committed != 0 and lacks(after, after.replica[after.leader]) == 0


@sometimes
def elr_member_leads(before: State, after: State, c: C) -> bool:
    """A member of the ELR is elected."""
    return (
        before.leader == NONE and after.leader != NONE and before.isr == 0 and bits.contains(before.elr, after.leader)
    )


PROPERTIES = properties_in(globals())
