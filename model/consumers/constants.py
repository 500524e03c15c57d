"""Sizes, budgets and designs of fetching from followers.

`design` selects the rules: the older or the newer revision of KIP-392, or Kafka's code (apache/kafka 1eb7644). The
KIP's page mixes both revisions. Where the designs differ, a constant selects the rule (by default, the design's).
"""

from enum import IntEnum

from fencepost.model.language import Constants, bound, capacity, choice, switch


class Design(IntEnum):
    """The design that determines the default rules."""

    OLDER = 0
    NEWER = 1
    IMPLEMENTED = 2


class Option(IntEnum):
    """An option whose default depends on the design."""

    DESIGN = 0
    OFF = 1
    ON = 2


class Allowed(IntEnum):
    """The replicas, besides the leader, from which a consumer may fetch."""

    DESIGN = 0
    LEADER = 1
    ISR = 2
    ANY = 3


class Selector(IntEnum):
    """The side that chooses the replica: the leader, or the consumer (from the ISR or from all replicas)."""

    DESIGN = 0
    GIVEN_ISR = 1
    GIVEN_ALL = 2
    LEADER = 3


class Errors(IntEnum):
    """The content of an out-of-range response: one of two error codes, the log start and high watermark, or nothing."""

    DESIGN = 0
    TWO_CODES = 1
    BOUNDS = 2
    BARE = 3


class Reaction(IntEnum):
    """A consumer's reaction to an out-of-range response, unless the offset is known to be too small."""

    DESIGN = 0
    RESET = 1
    CHECK = 2
    CHECK_CASE_4 = 3
    LEADER_FIRST = 4


class Metadata(IntEnum):
    """How brokers learn of leaders: from pushed metadata, or from a log that their replicas also follow."""

    DESIGN = 0
    PUSHED = 1
    LOG = 2


class Policy(IntEnum):
    """auto.offset.reset."""

    EARLIEST = 0
    LATEST = 1
    NONE = 2


class Earliest(IntEnum):
    """The replica whose log start is the offset `earliest`."""

    DESIGN = 0
    RAISED = 1
    NEXT = 2
    LEADER = 3


class Latest(IntEnum):
    """The meaning of the offset `latest`."""

    HIGH_WATERMARK = 0
    LOG_END = 1


class Ends(IntEnum):
    """The event, besides errors and expiry, that ends a preference: new metadata, a new leader epoch, or none."""

    DESIGN = 0
    METADATA = 1
    LEADER = 2
    NEVER = 3


class EpochEnd(IntEnum):
    """The end that a leader reports for its newest epoch: its log end, high watermark, or reliable high watermark."""

    DESIGN = 0
    LOG_END = 1
    CLAMPED = 2
    GUARDED = 3


class C(Constants):
    """Constants of a run."""

    # sizes
    replicas = capacity(3, low=2, high=4, room=3, meaning="replicas of the partition; replica 0 is its first leader")
    records = capacity(3, low=1, high=5, room=3, meaning="highest offset that a log can reach")
    epochs = capacity(
        2, low=1, high=4, room=3, meaning="total number of leader epochs, one more than elections; the first epoch is 1"
    )

    # budgets
    unclean_elections = bound(0, low=0, high=2, meaning="elections from outside the ISR")
    shrinks = bound(1, low=0, high=3, meaning="times that the leader removes a follower from the ISR")
    retentions = bound(0, low=0, high=4, meaning="times that a replica moves its log start by one record")
    stops = bound(0, low=0, high=1, meaning="followers that stop permanently")
    late_errors = bound(0, low=0, high=1, meaning="late out-of-range responses from a preferred replica")

    # the design and its seven axes
    design = choice(Design.IMPLEMENTED, meaning="rules to follow: older, newer (revision of KIP-392), implemented")
    fetch_from = choice(Allowed.DESIGN, meaning="replicas from which a consumer may fetch: design, leader, isr, any")
    errors = choice(
        Errors.DESIGN, meaning="what out-of-range responses contain: design, two-codes, bounds, bare (nothing)"
    )
    not_available = choice(Option.DESIGN, meaning="a fetch may be answered with OFFSET_NOT_AVAILABLE: design, off, on")
    selector = choice(
        Selector.DESIGN, meaning="who chooses replicas: the leader, the consumer (given-isr, given-all), or the design"
    )
    reaction = choice(
        Reaction.DESIGN,
        meaning=(
            "reaction to an out-of-range offset not known to be too small: design, reset, check (ask the leader), "
            "check-case-4, leader-first"
        ),
    )
    leader_not_available = choice(Option.DESIGN, meaning="the leader also answers case 1 with OFFSET_NOT_AVAILABLE")
    metadata = choice(Metadata.DESIGN, meaning="how brokers' metadata is updated: design, pushed, log")

    # the consumer
    policy = choice(Policy.LATEST, meaning="auto.offset.reset: earliest, latest, none")
    position_epochs = switch(default=True, meaning="positions have the leader epoch of the last record read (KIP-320)")
    fetch_epochs = switch(
        default=True, meaning="fetches contain the consumer's leader epoch, which replicas check (KIP-320)"
    )
    without_epoch_asks = choice(
        Option.DESIGN, meaning="if a fetch without an epoch is out of range, the consumer asks the leader first"
    )
    nearest = bound(4, low=0, high=4, meaning="the replica in the consumer's rack; 4 means every replica")
    preference_ends = choice(
        Ends.DESIGN, meaning="the preference for a replica ends with: design, metadata, leader (a new leader), never"
    )
    errors_end_preference = switch(
        default=True, meaning="a preference ends if the replica is unreachable or in a later leader epoch (KAFKA-14379)"
    )
    knows_who_answered = switch(
        default=False, meaning="an out-of-range response starts a reset only if it comes from the leader"
    )
    refreshes_when_unavailable = switch(
        default=True, meaning="after OFFSET_NOT_AVAILABLE, the consumer requests metadata"
    )
    refreshes_after_check = switch(
        default=True, meaning="after a check with the leader, the consumer requests metadata before its next fetch"
    )
    earliest_from = choice(Earliest.DESIGN, meaning="`earliest` is the log start of: design, raised, next, leader")

    # replicas
    tail_is_uncommitted = switch(default=False, meaning="case 1 includes fetches at exactly the high watermark (Q41)")
    keeps_received = choice(
        Option.DESIGN, meaning="followers keep the last received high watermark even if it is above their log end"
    )
    log_start_travels = switch(
        default=True, meaning="responses to followers contain the leader's log start, which followers adopt"
    )
    high_watermark_before_truncation = switch(
        default=False,
        meaning="a follower adopts a diverging response's high watermark before it truncates (KAFKA-14704)",
    )

    # the leader
    tells_high_watermark = choice(
        Option.DESIGN, meaning="a new high watermark alone completes a follower's fetch (KAFKA-9952): design, off, on"
    )
    list_offsets_guard = switch(
        default=True,
        meaning="no latest offset is returned while the high watermark is below the epoch's start (KIP-207)",
    )
    latest_is = choice(Latest.HIGH_WATERMARK, meaning="the latest offset is: high-watermark, log-end")
    epoch_end = choice(EpochEnd.DESIGN, meaning="epoch ends that consumers get: design, log-end, clamped, guarded")
    valid_at_end = switch(default=True, meaning="a position at the end of its epoch is valid (Q49)")
    compares_epochs = switch(
        default=False, meaning="a response with an older epoch means truncation, regardless of its end offset"
    )
    tells_epoch_before = switch(
        default=False,
        meaning="an offset comes with the epoch of the preceding record (none at a log start), not the leader's",
    )

    # for large runs: steps that are merged
    answers_in_flight = switch(default=True, meaning="responses with records arrive at a follower in a separate step")
    asks_for_metadata = switch(
        default=True, meaning="metadata arrives only after a consumer has requested it, not at any time"
    )

    # observations
    asks_end_offsets = switch(default=False, meaning="clients request the latest offset, which must not decrease")
    watched_case = bound(0, low=0, high=4, meaning="which of KIP-392's four cases is watched; 0 means none")


def refuse(c: C) -> str | None:
    """Return the reason why these constants cannot be combined, or None if they can."""
    if c.unclean_elections >= c.epochs:
        return f"unclean_elections={c.unclean_elections} is more than epochs={c.epochs} allows: raise epochs."
    if c.reaction == Reaction.CHECK_CASE_4 and errors(c) != Errors.BOUNDS:
        return "reaction=check-case-4 needs the high watermark in out-of-range responses: set errors=bounds as well."
    if c.late_errors > 0 and reaction(c) != Reaction.LEADER_FIRST:
        return (
            f"late_errors={c.late_errors} needs consumers that ask the leader first: set reaction=leader-first, or "
            "version kafka-4.1."
        )
    return None


def allowed(c: C) -> int:
    """Return the replicas from which a consumer may fetch."""
    return (
        c.fetch_from if c.fetch_from != Allowed.DESIGN else (Allowed.ANY if c.design == Design.NEWER else Allowed.ISR)
    )


def errors(c: C) -> int:
    """Return the content of out-of-range responses."""
    return c.errors if c.errors != Errors.DESIGN else c.design + 1


def gives_not_available(c: C) -> bool:
    """Return whether OFFSET_NOT_AVAILABLE is a possible response to a fetch."""
    return c.not_available == Option.ON or (c.not_available == Option.DESIGN and c.design == Design.NEWER)


def selector(c: C) -> int:
    """Return who chooses the replica."""
    return c.selector if c.selector != Selector.DESIGN else c.design + 1


def reaction(c: C) -> int:
    """Return how a consumer reacts to an out-of-range response."""
    if c.reaction != Reaction.DESIGN:
        return c.reaction
    return Reaction.LEADER_FIRST if c.design == Design.IMPLEMENTED else c.design + 2


def leader_refuses_too(c: C) -> bool:
    """Return whether the leader, like followers, answers case 1 with an error."""
    given = c.leader_not_available
    return gives_not_available(c) and (given == Option.ON or (given == Option.DESIGN and c.design == Design.NEWER))


def has_metadata_log(c: C) -> bool:
    """Return whether a broker's metadata is never ahead of its replicas."""
    return c.metadata == Metadata.LOG or (c.metadata == Metadata.DESIGN and c.design == Design.IMPLEMENTED)


def asks_leader_without_epoch(c: C) -> bool:
    """Return whether a consumer without an epoch asks the leader before it resets."""
    return c.without_epoch_asks == Option.ON or (
        c.without_epoch_asks == Option.DESIGN and c.design == Design.IMPLEMENTED
    )


def earliest_from(c: C) -> int:
    """Return the replica whose log start is `earliest`."""
    if c.earliest_from != Earliest.DESIGN:
        return c.earliest_from
    return Earliest.LEADER if c.design == Design.IMPLEMENTED else Earliest.RAISED


def preference_ends(c: C) -> int:
    """Return the event, besides errors and expiry, that ends a preference for a replica."""
    if c.preference_ends != Ends.DESIGN:
        return c.preference_ends
    return Ends.LEADER if c.design == Design.IMPLEMENTED else Ends.METADATA


def tells_high_watermark(c: C) -> bool:
    """Return whether a new high watermark alone completes a follower's fetch."""
    return c.tells_high_watermark == Option.ON or (
        c.tells_high_watermark == Option.DESIGN and c.design != Design.IMPLEMENTED
    )


def keeps_received(c: C) -> bool:
    """Return whether followers keep a high watermark above their log end."""
    return c.keeps_received == Option.ON or (c.keeps_received == Option.DESIGN and c.design == Design.NEWER)


def epoch_end(c: C) -> int:
    """Return where a leader tells consumers that its newest epoch ends."""
    if c.epoch_end != EpochEnd.DESIGN:
        return c.epoch_end
    return EpochEnd.LOG_END if c.design == Design.IMPLEMENTED else EpochEnd.CLAMPED
