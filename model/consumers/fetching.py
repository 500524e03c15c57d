"""How a consumer handles fetch responses. Modelled on AbstractFetch, FetchCollector and SubscriptionState."""

from fencepost.model.consumers.answers import Reply, case_of, reply_to, tells_too_small
from fencepost.model.consumers.constants import (
    C,
    Earliest,
    Ends,
    Policy,
    Reaction,
    Selector,
    asks_leader_without_epoch,
    earliest_from,
    has_metadata_log,
    preference_ends,
    reaction,
    selector,
)
from fencepost.model.consumers.state import Broker, Consumer, Doing, State, believes_to_lead
from fencepost.model.language import NONE, action, require


def believed_leader(s: State) -> int:
    """Return the leader of the newest epoch that the consumer knows."""
    return s.leader[s.consumer.epoch]


def target(s: State) -> int:
    """Return the replica from which the consumer fetches."""
    return s.consumer.preferred if s.consumer.preferred != NONE else believed_leader(s)


def is_served(s: State, c: C) -> bool:
    """Return whether the replica from which the consumer fetches is up and in the consumer's leader epoch (KIP-320).

    The consumer does not send a second fetch to a replica whose response is in flight.
    """
    r = s.replica[target(s)]
    return r.is_up and target(s) != s.consumer.late_from and (r.epoch == s.consumer.epoch or not c.fetch_epochs)


def reply(s: State, c: C) -> int:
    """Return the response to the consumer's next fetch, if that fetch is served."""
    return reply_to(c, s.replica[target(s)], believes_to_lead(s, target(s)), s.consumer.position)


def note_case(s: State, c: C) -> None:
    """Record an error if the fetch is in the watched case of KIP-392."""
    if c.watched_case > 0 and case_of(c, s.replica[target(s)], s.consumer.position) == c.watched_case:
        s.consumer.ghost_met = True


def start_reset(s: State, c: C) -> None:
    """Apply the reset policy, or pass the error to the user if there is no policy."""
    consumer = s.consumer
    if c.policy == Policy.NONE:
        consumer.doing = Doing.RAISED
    else:
        consumer.doing = Doing.RESETTING
        consumer.raised_by = target(s) if earliest_from(c) == Earliest.RAISED else 0


@action()
def consumer_reads(s: State, c: C) -> None:
    """The consumer gets the record at its position from a replica with a higher high watermark."""
    consumer = s.consumer
    require(consumer.doing == Doing.FETCHING)
    require(is_served(s, c))
    require(reply(s, c) == Reply.RECORDS)
    epoch = s.replica[target(s)].log[consumer.position]
    consumer.ghost_read[consumer.position] = epoch
    consumer.ghost_before = epoch
    consumer.ghost_met = False
    consumer.position += 1
    consumer.position_epoch = epoch if c.position_epochs else 0


def ask_for_metadata(s: State, c: C) -> None:
    """Record a metadata request, if metadata arrives only on request in the model."""
    s.consumer.wants_metadata = c.asks_for_metadata


@action()
def consumer_finds_offset_unavailable(s: State, c: C) -> None:
    """After OFFSET_NOT_AVAILABLE, the consumer retries and requests metadata, because another replica may have the
    offset. In Kafka's code, the preference for the replica ends too (FetchUtils.requestMetadataUpdate).
    """
    consumer = s.consumer
    require(consumer.doing == Doing.FETCHING)
    require(is_served(s, c))
    require(is_told_unavailable(s, c))
    require(c.refreshes_when_unavailable)
    require(c.asks_for_metadata)
    require(not consumer.wants_metadata)
    note_case(s, c)
    if preference_ends(c) == Ends.LEADER and c.errors_end_preference:
        consumer.preferred = NONE
    ask_for_metadata(s, c)


def is_told_unavailable(s: State, c: C) -> bool:
    """Return whether the response to the consumer's next fetch is OFFSET_NOT_AVAILABLE."""
    r = s.replica[target(s)]
    by_bounds = (
        reaction(c) == Reaction.CHECK_CASE_4
        and reply(s, c) == Reply.OUT_OF_RANGE
        and r.start <= s.consumer.position <= r.received
    )
    return reply(s, c) == Reply.OFFSET_NOT_AVAILABLE or by_bounds


@action()
def consumer_finds_offset_out_of_range(s: State, c: C) -> None:
    """After an out-of-range error, the consumer asks the leader, fetches from the leader, or applies its reset policy.

    KIP-392, Out of range handling; FetchCollector.handleInitializeErrors: an error ends the preference for a replica.
    """
    consumer = s.consumer
    require(consumer.doing == Doing.FETCHING)
    require(is_served(s, c))
    require(reply(s, c) == Reply.OUT_OF_RANGE)
    require(not is_told_unavailable(s, c))
    note_case(s, c)
    is_small = tells_too_small(c, s.replica[target(s)], consumer.position)
    goes_to_leader = consumer.preferred != NONE
    if reaction(c) == Reaction.LEADER_FIRST:
        if goes_to_leader:
            consumer.preferred = NONE
        else:
            start_reset(s, c)
    elif is_small or reaction(c) == Reaction.RESET:
        start_reset(s, c)
    elif consumer.position_epoch != 0:
        consumer.doing = Doing.CHECKING
    elif asks_leader_without_epoch(c) and goes_to_leader:
        consumer.preferred = NONE
    else:
        start_reset(s, c)


@action()
def preferred_replica_refuses_late(s: State, c: C) -> None:
    """A preferred replica responds that the offset is out of range, but the response is delayed."""
    consumer = s.consumer
    require(s.budget.late_errors > 0, bound=C.late_errors)
    require(consumer.doing == Doing.FETCHING)
    require(consumer.preferred != NONE)
    require(consumer.late_from == NONE)
    require(is_served(s, c))
    require(reply(s, c) == Reply.OUT_OF_RANGE)
    s.budget.late_errors -= 1
    consumer.late_from = consumer.preferred
    consumer.late_offset = consumer.position


@action()
def consumer_gets_late_error(s: State, c: C) -> None:
    """A late out-of-range response ends any preference; if there is none, it counts as the leader's response.

    FetchCollector.handleInitializeErrors compares only the fetch offset of the response. A consumer without a valid
    position ignores the response.
    """
    consumer = s.consumer
    offset, sender = consumer.late_offset, consumer.late_from
    require(sender != NONE)
    consumer.late_from = NONE
    consumer.late_offset = 0
    if consumer.doing == Doing.FETCHING:
        if consumer.preferred != NONE:
            consumer.preferred = NONE
        elif offset == consumer.position and not (c.knows_who_answered and sender != believed_leader(s)):
            start_reset(s, c)


@action()
def consumer_is_fenced(s: State, c: C) -> None:
    """A replica in a later leader epoch rejects the fetch; the consumer requests metadata and drops its preference."""
    consumer = s.consumer
    require(c.fetch_epochs)
    require(consumer.doing == Doing.FETCHING)
    require(s.replica[target(s)].is_up)
    require(s.replica[target(s)].epoch > consumer.epoch)
    require(
        (c.errors_end_preference and consumer.preferred != NONE)
        or (c.asks_for_metadata and not consumer.wants_metadata)
    )
    if c.errors_end_preference:
        consumer.preferred = NONE
    ask_for_metadata(s, c)


@action()
def consumer_cannot_connect(s: State, c: C) -> None:
    """The broker is down or has lost the replica; the consumer requests metadata and drops its preference.

    AbstractFetch.handleFetchFailure; NOT_LEADER_OR_FOLLOWER in FetchCollector. Metadata still shows it as online.
    """
    consumer = s.consumer
    require(consumer.doing == Doing.FETCHING)
    require(not s.replica[target(s)].is_up)
    require(
        (c.errors_end_preference and consumer.preferred != NONE)
        or (c.asks_for_metadata and not consumer.wants_metadata)
    )
    if c.errors_end_preference:
        consumer.preferred = NONE
    ask_for_metadata(s, c)


@action()
def metadata_expires(s: State, c: C) -> None:
    """After metadata.max.age, the consumer requests metadata, even without an error."""
    require(c.asks_for_metadata)
    require(s.consumer.doing != Doing.RAISED)
    require(not s.consumer.wants_metadata)
    require(has_old_metadata(s, c))
    ask_for_metadata(s, c)


def has_old_metadata(s: State, c: C) -> bool:
    """Return whether new metadata could change anything for the consumer."""
    consumer = s.consumer
    ends = consumer.preferred != NONE and preference_ends(c) == Ends.METADATA
    return consumer.epoch < s.newest or consumer.isr != known_isr(s, c) or ends


def known_isr(s: State, c: C) -> int:
    """Return the ISR that a consumer adopts: the current one, or none if the leader chooses the replica."""
    return s.isr if selector(c) != Selector.LEADER else 0


def told_epoch(s: State, c: C, broker: int) -> int:
    """Return the leader epoch in a broker's metadata. Pushed metadata may be ahead of the broker's replica."""
    return s.replica[broker].epoch if has_metadata_log(c) else s.newest


@action(broker=Broker)
def consumer_gets_metadata(s: State, c: C, broker: int) -> None:
    """The consumer adopts the leader, epoch and ISR in the metadata. A new leader epoch ends the preference for a
    replica and starts validation. Metadata with an older leader epoch is ignored.
    SubscriptionState.maybeValidatePosition: the preference stays unless the leader or the epoch is new. According to
    KIP-392, the consumer's plugin chooses again whenever metadata arrives.
    """
    consumer = s.consumer
    epoch = told_epoch(s, c, broker)
    require(consumer.wants_metadata or not c.asks_for_metadata)
    require(consumer.wants_metadata or consumer.doing == Doing.UPDATING or has_old_metadata(s, c))
    require(consumer.doing != Doing.RAISED)
    require(s.replica[broker].is_up)
    require(epoch >= consumer.epoch)
    is_new = epoch > consumer.epoch
    consumer.wants_metadata = False
    consumer.epoch = epoch
    consumer.isr = known_isr(s, c)
    ends = preference_ends(c)
    if ends == Ends.METADATA or (is_new and ends == Ends.LEADER):
        consumer.preferred = NONE
    if consumer.doing == Doing.UPDATING:
        consumer.doing = Doing.FETCHING
    if is_new and consumer.doing == Doing.FETCHING and must_validate(consumer):
        consumer.doing = Doing.VALIDATING


def must_validate(consumer: Consumer) -> bool:
    """Return whether the consumer must validate its position after a leader change."""
    return consumer.position_epoch != 0
