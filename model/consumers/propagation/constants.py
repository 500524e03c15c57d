"""Sizes, budgets and rules for the propagation of high watermarks."""

from enum import IntEnum

from fencepost.model.language import Constants, bound, choice, switch


class Propagation(IntEnum):
    """The conditions under which a leader answers a fetch without having new records."""

    DATA_ONLY = 0
    TRACKED = 1
    REPORTED = 2


class C(Constants):
    """Constants of a run."""

    records = bound(2, low=1, high=4, meaning="total number of records that the leader appends")
    losses = bound(0, low=0, high=2, meaning="responses to the follower that are lost")
    another_follower = switch(default=True, meaning="records are committed only once a second follower also has them")
    behind = switch(
        default=False,
        meaning="initially, there is a committed record, but the follower does not know that it is committed",
    )
    propagation = choice(
        Propagation.TRACKED,
        meaning=(
            "when a fetch is answered without new records: data-only (never), tracked (if the high watermark last sent "
            "in the session is outdated), reported (if the reported high watermark is outdated, as in KIP-1166)"
        ),
    )
    session_is_new = switch(
        default=True, meaning="the first fetch opens a session, instead of adding the partition to a session"
    )
    answers_new_partition = switch(
        default=True, meaning="the first fetch of a partition that joins a session is answered, not parked (Q48)"
    )
    notes_what_it_sends = switch(default=True, meaning="the leader records the high watermark that it has sent")
    follower_trusts_its_log = switch(
        default=False, meaning="a follower treats all of its records as committed, without the leader's high watermark"
    )
    loss_opens_session = switch(default=True, meaning="after a lost response, the follower opens a new session")
    consumer = switch(default=False, meaning="a consumer reads from the follower")
    completes_consumer_fetches = switch(
        default=True,
        meaning="a consumer's parked fetch is completed when the follower's high watermark rises (KAFKA-14334)",
    )
