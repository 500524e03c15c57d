"""Witnesses on what operators configure: that min ISR matters, that different values of it are acted on, and that a stale ELR elects."""

from fencepost.model.cluster.constants import C
from fencepost.model.cluster.state import State, effective_min_isr, is_running, leads, local, min_isr_of, newest
from fencepost.model.language import NONE, bits, sometimes
from fencepost.model.language.actions import properties_in


def is_under_min_isr(s: State, c: C) -> bool:
    """Say whether the ISR is smaller than the controller's min ISR."""
    return bits.size(newest(s).isr) < effective_min_isr(c, newest(s), newest(s).raised)


@sometimes
def raise_leaves_too_few(before: State, after: State, c: C) -> bool:
    """An operator raises min ISR above the size of the ISR."""
    return (
        newest(after).raised > newest(before).raised and not is_under_min_isr(before, c) and is_under_min_isr(after, c)
    )


@sometimes
def lower_is_enough(before: State, after: State, c: C) -> bool:
    """An operator lowers min ISR to the size of the ISR."""
    return (
        newest(after).raised < newest(before).raised and is_under_min_isr(before, c) and not is_under_min_isr(after, c)
    )


@sometimes
def change_clears_the_elr(before: State, after: State, c: C) -> bool:
    """Another min ISR makes eligible leader replicas ineligible."""
    return newest(after).raised != newest(before).raised and before.elr != 0 and after.elr == 0


@sometimes
def configs_are_published_apart(s: State, c: C) -> bool:
    """A broker acts on the min ISR of another image than that of the partition."""
    return any(
        is_running(s, broker) and s.replica[broker].raised != local(s, broker).raised for broker in range(c.brokers)
    )


@sometimes
def leader_goes_by_a_smaller_min_isr(s: State, c: C) -> bool:
    """A leader with the newest ISR acts on a smaller min ISR than the controller."""
    return any(
        leads(s, broker)
        and s.replica[broker].isr == newest(s).isr
        and min_isr_of(s, c, broker) < effective_min_isr(c, newest(s), newest(s).raised)
        for broker in range(c.brokers)
    )


@sometimes
def stale_elr_elects(before: State, after: State, c: C) -> bool:
    """Somebody is elected for being in an ELR that was left when an operator turned ELR off."""
    return (
        before.elr_disabled == 1 and newest(before).leader == NONE and bits.contains(before.elr, newest(after).leader)
    )


PROPERTIES = properties_in(globals())
