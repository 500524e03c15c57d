"""Sizes, budgets and switches of the machine that combines the controllers and the brokers.

A switch that is on by default is one of Kafka's checks or rules; turning a switch off restores the bug that it
prevents. A switch that is off by default adds an optional or a faulty behaviour.
"""

from enum import IntEnum

from fencepost.model.language import Constants, bound, capacity, choice, shape, switch


class Applied(IntEnum):
    """The records that brokers apply to their metadata."""

    COMMITTED = 0
    FETCHED = 1


class C(Constants):
    """Constants of a run."""

    # sizes
    controllers = shape(3, low=1, high=3, meaning="controllers, all of them voters; controller 0 is active first")
    brokers = shape(
        2, low=2, high=3, meaning="brokers, each with a replica of the partition; broker 0 is its first leader"
    )
    max_epoch = capacity(2, low=1, high=5, room=4, meaning="last controller epoch; the first is 1")
    decisions = capacity(
        2, low=0, high=6, room=4, meaning="total number of records that controllers write, not counting control records"
    )
    max_records = capacity(1, low=0, high=3, room=1, meaning="total number of records that partition leaders append")
    initial_isr = bound(2, low=1, high=3, meaning="size of the initial ISR: the leader and the lowest-numbered others")
    late_requests = capacity(
        1, low=0, high=2, room=1, meaning="AlterPartition requests in flight that a newer request has replaced"
    )

    # budgets
    fences = bound(1, low=0, high=4, meaning="times that a controller fences a broker")
    shrinks = bound(1, low=0, high=4, meaning="times that a leader requests the removal of an ISR member")
    resends = bound(0, low=0, high=3, meaning="times that a leader gets no response and resends its request")
    crashes = bound(0, low=0, high=3, meaning="restarts of a controller")

    # controllers
    flush_lags = switch(
        default=False, meaning="a restarted controller may lose writes of its epoch that no other voter has confirmed"
    )
    records_per_fetch = bound(
        16, low=1, high=16, meaning="maximum number of records in the response to a voter's fetch"
    )
    commits_beyond_epoch_start = switch(
        default=True, meaning="the high watermark must be above the start of the epoch, not just at it (KAFKA-12619)"
    )
    fences_deposed_controllers = switch(
        default=True,
        meaning="a node that knows a later controller epoch rejects records from a leader of an older epoch",
    )
    catches_up_before_deciding = switch(
        default=True,
        meaning=("a new controller is active once its epoch's start is committed and all earlier records are applied"),
    )
    answers_after_commit = switch(
        default=True, meaning="a response is sent only once the state that it is based on is committed"
    )
    reverts_uncommitted = switch(default=True, meaning="a deposed controller reverts to the committed state")
    refuses_unknown_epochs = switch(
        default=True, meaning="a controller with older state than the leader returns NOT_CONTROLLER (KAFKA-14154)"
    )

    # brokers
    brokers_apply = choice(Applied.COMMITTED, meaning="brokers apply records that are: committed, fetched")
    channel_never_goes_back = switch(
        default=True, meaning="a broker ignores active controllers whose epoch is older than the latest epoch it knows"
    )
    asks_again_after_failover = switch(
        default=True,
        meaning="a leader that gets no response resends its request to the next controller without reverting anything",
    )


def refuse(c: C) -> str | None:
    """Return the reason why these constants cannot be combined, or None if they can."""
    if c.initial_isr > c.brokers:
        return f"initial_isr={c.initial_isr} is more than brokers={c.brokers}."
    return None
