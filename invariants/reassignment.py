"""Witnesses on reassignments: that each thing that operators do happens, and what comes of it."""

from fencepost.model.cluster.constants import C
from fencepost.model.cluster.state import State, is_running, local, newest
from fencepost.model.language import bits, sometimes
from fencepost.model.language.actions import properties_in


def loses_its_replica(before: State, after: State, broker: int) -> bool:
    """Say whether a running broker learns in this step that it has no replica any more."""
    return (
        is_running(before, broker)
        and is_running(after, broker)
        and not bits.contains(local(before, broker).missing, broker)
        and bits.contains(local(after, broker).missing, broker)
    )


def gets_a_replica(before: State, after: State, broker: int) -> bool:
    """Say whether a running broker learns in this step that it has a replica now."""
    return (
        is_running(before, broker)
        and is_running(after, broker)
        and bits.contains(local(before, broker).missing, broker)
        and not bits.contains(local(after, broker).missing, broker)
    )


@sometimes
def reassignment_ends(before: State, after: State, c: C) -> bool:
    """A reassignment that was under way ends, and takes a replica from somebody."""
    return newest(after).missing & ~newest(before).missing & before.removing != 0 and after.adding | after.removing == 0


@sometimes
def reassignment_is_replaced(before: State, after: State, c: C) -> bool:
    """An operator gives other targets while a reassignment is under way."""
    return after.budget.reassignments < before.budget.reassignments and before.adding | before.removing != 0


@sometimes
def added_member_is_taken_back(before: State, after: State, c: C) -> bool:
    """A reassignment is cancelled that has brought a replica into the ISR."""
    return after.budget.cancels < before.budget.cancels and newest(before).isr & before.adding != 0


@sometimes
def removed_replica_deletes_records(before: State, after: State, c: C) -> bool:
    """A broker learns that it has no replica any more, and deletes a log with records."""
    return any(
        loses_its_replica(before, after, broker) and before.replica[broker].end > 0 for broker in range(c.brokers)
    )


@sometimes
def added_replica_starts_empty(before: State, after: State, c: C) -> bool:
    """A broker without a replica learns that it has one, and starts with an empty log."""
    return any(gets_a_replica(before, after, broker) for broker in range(c.brokers))


PROPERTIES = properties_in(globals())
