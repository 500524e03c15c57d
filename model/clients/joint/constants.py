"""Sizes, budgets and switches of leader hints with consistency tokens. The defaults follow both texts literally."""

from fencepost.model.language import Constants, bound, capacity, switch


class C(Constants):
    """Constants of a run."""

    # sizes
    brokers = capacity(2, low=2, high=3, room=3, meaning="brokers, each with a replica of the partition")
    changes = capacity(
        3, low=1, high=4, room=3, meaning="last offset of the metadata log; every record changes the leader"
    )
    recreations = bound(0, low=0, high=1, meaning="times that the topic is deleted and created again")
    old_brokers = bound(0, low=0, high=2, meaning="brokers that send hints, but not tokens (the highest-numbered)")

    # the broker
    check_first = switch(
        default=False,
        meaning="the token of a metadata request is checked before the request is handled, not afterwards",
    )
    one_image = switch(
        default=False, meaning="the check, the body and the token use one image, of the cache or of the replica"
    )
    hint_tokens = switch(
        default=True, meaning="answers with a hint also carry a token, as the draft requires of all answers"
    )
    replica_lags = switch(
        default=False, meaning="a broker's replica, which provides the hints, lags behind the broker's cache"
    )

    # the client
    in_order = switch(
        default=False, meaning="requests to the same broker share a connection, and the broker handles them in order"
    )
    hint_epoch_check = switch(
        default=True, meaning="a hint is accepted only if its leader epoch is newer than the one the client knows"
    )
    metadata_epoch_check = switch(
        default=True, meaning="metadata with an older leader epoch does not change the leader"
    )
    rejects_late = switch(default=False, meaning="metadata with a token below the store's is dropped and re-requested")
    refuses_untokened = switch(default=False, meaning="metadata without a token is dropped and re-requested")
    hints_by_token = switch(
        default=False, meaning="a hint is accepted only if its answer has a token that is not below the store's"
    )


def refuse(c: C) -> str | None:
    """Return the reason why these constants cannot be combined, or None if they can."""
    if c.old_brokers >= c.brokers:
        return (
            f"old_brokers={c.old_brokers} leaves no broker that supports tokens: with brokers={c.brokers}, write at "
            f"most {c.brokers - 1}."
        )
    return None
