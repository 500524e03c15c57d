"""Liveness of a KIP-392 consumer (K392-L1, L2, Q3), checked only if named because it needs the state graph."""

from fencepost.model.consumers.answers import Reply
from fencepost.model.consumers.constants import C
from fencepost.model.consumers.fetching import (
    consumer_cannot_connect,
    consumer_finds_offset_out_of_range,
    consumer_finds_offset_unavailable,
    consumer_gets_late_error,
    consumer_gets_metadata,
    consumer_is_fenced,
    consumer_reads,
    is_served,
    metadata_expires,
    reply,
)
from fencepost.model.consumers.offsets import (
    consumer_cannot_ask,
    consumer_finds_position_valid,
    consumer_finds_truncation,
    consumer_resets_to_earliest,
    consumer_resets_to_latest,
)
from fencepost.model.consumers.replication import (
    follower_appends,
    follower_starts_anew,
    follower_truncates,
    follower_waits_in_vain,
    leader_answers_follower,
    leader_reports_divergence,
    leader_tells_out_of_range,
    replica_learns,
)
from fencepost.model.consumers.selection import preference_expires
from fencepost.model.consumers.state import Broker, Doing, Offset, State, has_leader, newest_leader
from fencepost.model.language import NONE, at_most, bits, leads_to, strong, weak
from fencepost.model.language.actions import properties_in

CONSUMER = (
    weak(
        consumer_reads,
        consumer_finds_offset_unavailable,
        consumer_finds_offset_out_of_range,
        consumer_is_fenced,
        consumer_gets_late_error,
        consumer_cannot_connect,
        consumer_finds_position_valid,
        consumer_finds_truncation,
        consumer_cannot_ask,
        consumer_resets_to_latest,
        consumer_resets_to_earliest,
    ),
    strong(consumer_gets_metadata, each="broker"),
    weak(replica_learns, each="replica"),
)
"""A consumer that keeps requesting metadata eventually gets metadata from every broker."""
REPLICATION = (
    weak(
        leader_answers_follower,
        follower_waits_in_vain,
        leader_reports_divergence,
        leader_tells_out_of_range,
        each="follower",
    ),
    weak(follower_appends, follower_truncates, follower_starts_anew, each="follower"),
)
TIMERS = (metadata_expires, preference_expires)


def is_resetting(s: State, c: C) -> bool:
    """Return whether the consumer is applying its reset policy."""
    return s.consumer.doing == Doing.RESETTING


def fetches_without_error(s: State, c: C) -> bool:
    """Return whether the consumer's next fetch is served without an error, or the consumer has failed."""
    consumer = s.consumer
    return consumer.doing == Doing.RAISED or (
        consumer.doing == Doing.FETCHING and is_served(s, c) and reply(s, c) in (Reply.RECORDS, Reply.EMPTY)
    )


def lacks_data(s: State, c: C, offset: int) -> bool:
    """Return whether the consumer waits at `offset` on an out-of-sync replica for a record committed at the leader."""
    consumer = s.consumer
    return (
        consumer.doing == Doing.FETCHING
        and consumer.position == offset
        and consumer.preferred != NONE
        and not bits.contains(s.isr, consumer.preferred)
        and (not is_served(s, c) or reply(s, c) != Reply.RECORDS)
        and has_leader(s)
        and newest_leader(s).start <= offset < newest_leader(s).high_watermark
    )


def has_data_or_all_are_in_sync(s: State, c: C, offset: int) -> bool:
    """Return whether the consumer no longer waits at `offset`, or all replicas are in sync."""
    return has_moved_on(s, c, offset) or s.isr == bits.everyone(c.replicas)


def has_moved_on(s: State, c: C, offset: int) -> bool:
    """Return whether the consumer's position is not `offset`, or the consumer has raised an error."""
    return s.consumer.position != offset or s.consumer.doing == Doing.RAISED


def meets_error(s: State, c: C, offset: int) -> bool:
    """Return whether a preferred replica is down, or answers the consumer's fetch at `offset` with an error."""
    consumer = s.consumer
    return (
        consumer.doing == Doing.FETCHING
        and consumer.position == offset
        and consumer.preferred != NONE
        and (
            not s.replica[consumer.preferred].is_up
            or s.replica[consumer.preferred].epoch > consumer.epoch
            or (is_served(s, c) and reply(s, c) in (Reply.OFFSET_NOT_AVAILABLE, Reply.OUT_OF_RANGE))
        )
    )


def has_left(s: State, c: C, offset: int) -> bool:
    """Return whether the consumer has no preferred replica, is served without an error, or has left `offset`."""
    return s.consumer.preferred == NONE or fetches_without_error(s, c) or has_moved_on(s, c, offset)


def is_behind(s: State, c: C) -> bool:
    """Return whether a new leader's high watermark is below the committed end."""
    return has_leader(s) and newest_leader(s).high_watermark < s.ghost_committed_end


def is_not_behind(s: State, c: C) -> bool:
    """Return whether the newest leader knows all that is committed, or does not yet know that it leads."""
    return not is_behind(s, c)


def has_not_heard(s: State, c: C, follower: int) -> bool:
    """Return whether an ISR member has records that its leader, but not the member itself, knows to be committed."""
    f = s.replica[follower]
    return (
        f.is_up
        and has_leader(s)
        and f.epoch == s.newest
        and bits.contains(s.isr, follower)
        and f.high_watermark < min(newest_leader(s).high_watermark, f.known_end)
    )


def has_heard(s: State, c: C, follower: int) -> bool:
    """Return whether the follower knows of each commit that its leader knows of, or is not a running ISR member."""
    return not has_not_heard(s, c, follower)


resets_end = leads_to(
    "resets-end",
    "K392-L1: a consumer that follows its reset policy eventually fetches without an error.",
    when=is_resetting,
    then=fetches_without_error,
    fair=(*CONSUMER, *REPLICATION),
    without=TIMERS,
)

consumers_get_data = leads_to(
    "consumers-get-data",
    "K392-L2: a consumer whose replica stays out of sync eventually gets the next record.",
    when=lacks_data,
    then=has_data_or_all_are_in_sync,
    fair=(*CONSUMER, weak(metadata_expires), strong(preference_expires)),
    offset=Offset,
)

consumers_get_data_soon = leads_to(
    "consumers-get-data-soon",
    "K392-L2: a consumer whose replica stays out of sync gets the next record without waiting for its preference to "
    "expire.",
    when=lacks_data,
    then=has_data_or_all_are_in_sync,
    fair=(*CONSUMER, weak(metadata_expires)),
    without=(preference_expires,),
    offset=Offset,
)

errors_are_acted_on = leads_to(
    "errors-are-acted-on",
    "K392-L2: a consumer stops fetching from a replica that returns errors, without waiting for a timer or for that "
    "replica.",
    when=meets_error,
    then=has_left,
    fair=CONSUMER,
    without=TIMERS,
    offset=Offset,
)

fetches_until_known = at_most(
    "fetches-until-known",
    "K392-Q3: the number of follower fetches that are answered before a new leader's high watermark is correct.",
    when=is_behind,
    then=is_not_behind,
    costs={
        leader_answers_follower: 1,
        leader_reports_divergence: 1,
        leader_tells_out_of_range: 1,
        follower_waits_in_vain: 1,
    },
    unit="fetches",
    bound=C.replicas - 1,
    fair=(*CONSUMER, *REPLICATION),
)

waits_until_known = at_most(
    "waits-until-known",
    "K392-Q3: a new leader's high watermark becomes correct without any fetch being parked for the maximum wait.",
    when=is_behind,
    then=is_not_behind,
    costs={follower_waits_in_vain: 1},
    unit="maximum waits",
    bound=0,
    fair=(*CONSUMER, *REPLICATION),
)

waits_until_heard = at_most(
    "waits-until-heard",
    "K392-Q3: an ISR member learns that records in its log are committed without any fetch being parked for the "
    "maximum wait.",
    when=has_not_heard,
    then=has_heard,
    costs={follower_waits_in_vain: 1},
    unit="maximum waits",
    bound=0,
    fair=(*CONSUMER, *REPLICATION),
    follower=Broker,
)

PROPERTIES = properties_in(globals())
