"""Sizes, budgets and switches of leader discovery. The defaults follow KIP-951 as implemented in Kafka (apache/kafka
1eb7644). Where the KIP's text is ambiguous, a constant selects the interpretation.
"""

from enum import IntEnum

from fencepost.model.language import Constants, bound, capacity, choice, switch


class Accepts(IntEnum):
    """The hints that a client accepts, depending on the leader epoch that it knows."""

    NEWER = 0
    OTHER_LEADER = 1
    NOT_OLDER = 2
    ANY = 3


class HintFrom(IntEnum):
    """The source of the leader and the epoch in a broker's hint."""

    REPLICA = 0
    CACHE = 1
    BOTH = 2
    EITHER = 3


class Endpoints(IntEnum):
    """The endpoints that a client adopts from a response with hints."""

    ALL = 0
    ACCEPTED = 1
    NEWER = 2


class SkipsBackoff(IntEnum):
    """The cases in which a failed batch is retried immediately."""

    NEW_EPOCH = 0
    ANY_NEWS = 1
    NEVER = 2


class C(Constants):
    """Constants of a run."""

    # sizes
    brokers = capacity(3, low=2, high=4, room=3, meaning="brokers, each with a replica of every partition")
    partitions = capacity(1, low=1, high=2, room=2, meaning="partitions that the client writes to or reads from")
    changes = capacity(3, low=0, high=6, room=5, meaning="total number of changes to the cluster's metadata")
    elections = bound(2, low=0, high=4, meaning="leader elections")
    restarts = bound(0, low=0, high=2, meaning="broker restarts, each of which changes the broker's endpoint")
    recreations = bound(0, low=0, high=1, meaning="times that a topic is deleted and created again")
    late_broker = switch(default=False, meaning="the last broker joins the cluster later")
    history = switch(default=False, meaning="leaders move and broker 1 restarts only before the client acts")
    old_brokers = bound(0, low=0, high=3, meaning="brokers whose metadata lacks leader epochs (the highest-numbered)")
    silent_brokers = bound(0, low=0, high=3, meaning="brokers without KIP-951, so without hints (the highest-numbered)")
    lagging_brokers = bound(
        7, low=0, high=7, meaning="brokers that may answer once from old metadata: 0 to 6; 7 means all, at any time"
    )

    # the broker
    hints = switch(default=True, meaning="produce and fetch errors name the current leader (KIP-951)")
    hints_by_epoch = switch(
        default=False, meaning="a hint is sent only if the request's leader epoch is older (KIP-951's text)"
    )
    hint_from = choice(
        HintFrom.REPLICA,
        meaning="a hint's leader and epoch come from: replica, cache, both (one from each), either (the cache if the "
        "broker has lost its replica)",
    )
    hint_endpoints = switch(
        default=True, meaning="hints carry the leader's endpoint (NodeEndpoints: host, port and rack)"
    )
    replica_lags = switch(default=False, meaning="a broker's replicas lag behind its metadata cache")
    hint_topic_id = switch(
        default=False, meaning="hints carry the topic ID, and only hints for the known ID are accepted"
    )
    metadata_epoch_stale = switch(
        default=False, meaning="metadata names the right leader with an old epoch (KAFKA-9212)"
    )

    # the client
    consumer = switch(
        default=False, meaning="the client fetches, with leader epochs in its requests; otherwise it produces"
    )
    accepts = choice(
        Accepts.NEWER,
        meaning="which hints are accepted: newer, other-leader (also equal, if the leader differs), not-older, any",
    )
    endpoints = choice(
        Endpoints.ALL, meaning="which endpoints are adopted: all (in a response with an accepted hint), accepted, newer"
    )
    skips_backoff = choice(
        SkipsBackoff.NEW_EPOCH, meaning="when a batch is resent immediately: new-epoch, any-news, never"
    )
    metadata_epoch_check = switch(
        default=True, meaning="metadata with an older leader epoch does not change the leader (KIP-320)"
    )
    topic_id_check = switch(
        default=True, meaning="metadata with another topic ID replaces the known metadata (KAFKA-12257)"
    )
    keeps_leader_endpoint = switch(
        default=False, meaning="metadata does not change the endpoint of a leader that stays"
    )
    refresh_in_time = switch(default=False, meaning="a backoff lasts until the requested metadata has arrived")
    refreshes_after_hint = switch(default=True, meaning="a client asks for metadata even if it has accepted a hint")
    partial_refresh = switch(
        default=False, meaning="a client may ask for the metadata of one partition's topic at any time"
    )
    rebootstraps = switch(
        default=False, meaning="a client that can reach none of its known brokers bootstraps again (KIP-899)"
    )
    validates_position = switch(
        default=True, meaning="a consumer validates its position before it fetches from a new leader"
    )


def refuse(c: C) -> str | None:
    """Return the reason why these constants cannot be combined, or None if they can."""
    if c.hint_from in (HintFrom.BOTH, HintFrom.EITHER) and not c.replica_lags:
        return (
            "hint_from=both and hint_from=either differ from the others only while replicas lag: "
            "set replica_lags=on as well."
        )
    if c.hints_by_epoch and not c.consumer:
        return "hints_by_epoch compares the request's leader epoch, but Produce has none: set consumer=on as well."
    if c.history and (c.brokers < 3 or c.partitions < 2 or c.changes < 5 or c.elections < 2 or c.restarts < 1):
        return (
            "history needs at least brokers=3, partitions=2, changes=5, elections=2 and restarts=1: set these as well."
        )
    return None
