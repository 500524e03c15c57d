"""Propagation of a high watermark to a follower, as a machine."""

from fencepost.model.consumers.propagation.constants import C, Propagation
from fencepost.model.consumers.propagation.state import Phase, State, initial
from fencepost.model.language import NONE, Cast, Machine, Version, action, require


def is_stale(s: State, c: C) -> bool:
    """Return whether the leader considers the follower's high watermark outdated (KIP-392, KIP-1166)."""
    if c.propagation == Propagation.TRACKED:
        return s.sent < s.leader_high_watermark or s.sent == NONE
    return c.propagation == Propagation.REPORTED and s.fetch.high_watermark < s.leader_high_watermark


def has_news(s: State, c: C) -> bool:
    """Return whether the leader answers the pending fetch, which otherwise waits up to replica.fetch.wait.max.ms."""
    return s.fetch.end < s.leader_end or is_stale(s, c)


def advance_high_watermark(s: State, c: C) -> None:
    """Advance the high watermark to the smallest log end in the ISR."""
    reached = min(s.known_end, s.other_end) if c.another_follower else s.known_end
    s.leader_high_watermark = max(s.leader_high_watermark, reached)


def is_quiet(s: State, c: C) -> bool:
    """Return whether no message is in flight and no parked fetch can be completed."""
    return (
        s.fetch.phase == Phase.PARKED
        and not has_news(s, c)
        and (not c.consumer or (s.is_parked and not (c.completes_consumer_fetches and s.position < s.high_watermark)))
    )


def answer(s: State, c: C) -> None:
    """Send all records and the high watermark, and record the high watermark sent."""
    s.fetch.phase = Phase.ANSWERED
    s.fetch.end = s.leader_end
    s.fetch.high_watermark = s.leader_high_watermark
    if c.notes_what_it_sends:
        s.sent = s.leader_high_watermark


@action()
def leader_appends(s: State, c: C) -> None:
    """The leader appends a record."""
    require(s.leader_end < c.records, bound=C.records)
    s.leader_end += 1


@action()
def other_follower_catches_up(s: State, c: C) -> None:
    """The leader learns that the other follower has one more record."""
    require(c.another_follower)
    require(s.other_end < s.leader_end)
    s.other_end += 1
    advance_high_watermark(s, c)


@action()
def leader_gets_fetch(s: State, c: C) -> None:
    """The leader learns the follower's log end, advances the high watermark, and answers or parks the fetch."""
    require(s.fetch.phase == Phase.SENT)
    s.known_end = s.fetch.end
    advance_high_watermark(s, c)
    if has_news(s, c):
        answer(s, c)
    else:
        s.fetch.phase = Phase.PARKED


@action()
def parked_fetch_is_completed(s: State, c: C) -> None:
    """A parked fetch is completed because there are records or a new high watermark."""
    require(s.fetch.phase == Phase.PARKED)
    require(has_news(s, c))
    answer(s, c)


@action()
def parked_fetch_times_out(s: State, c: C) -> None:
    """A parked fetch is completed after the maximum wait, with the records and the high watermark at that time."""
    require(is_quiet(s, c))
    answer(s, c)


def send_fetch(s: State) -> None:
    """Send the follower's next fetch."""
    s.fetch.phase = Phase.SENT
    s.fetch.end = s.end
    s.fetch.high_watermark = s.high_watermark


@action()
def follower_gets_answer(s: State, c: C) -> None:
    """The follower appends the records, adopts the high watermark, and fetches again."""
    require(s.fetch.phase == Phase.ANSWERED)
    s.end = s.fetch.end
    s.high_watermark = s.fetch.end if c.follower_trusts_its_log else min(s.fetch.high_watermark, s.fetch.end)
    send_fetch(s)


@action()
def answer_is_lost(s: State, c: C) -> None:
    """The connection breaks before the response arrives; the follower fetches again, in a new session if necessary."""
    require(s.losses > 0, bound=C.losses)
    require(s.fetch.phase == Phase.ANSWERED)
    s.losses -= 1
    if c.loss_opens_session:
        s.sent = NONE
    send_fetch(s)


@action()
def consumer_fetches(s: State, c: C) -> None:
    """A consumer reads the records below the follower's high watermark; without such records, the fetch is parked."""
    require(c.consumer)
    require(not s.is_parked)
    s.is_parked = s.position >= s.high_watermark
    s.position = max(s.position, s.high_watermark)


@action()
def consumer_fetch_is_completed(s: State, c: C) -> None:
    """The follower's high watermark advances, which completes the consumer's parked fetch (KAFKA-14334)."""
    require(c.completes_consumer_fetches)
    require(s.is_parked)
    require(s.position < s.high_watermark)
    s.is_parked = False
    s.position = s.high_watermark


@action()
def consumer_fetch_times_out(s: State, c: C) -> None:
    """The consumer's parked fetch is completed after the maximum wait, with the records readable at that time."""
    require(c.consumer)
    require(is_quiet(s, c))
    s.is_parked = False
    s.position = max(s.position, s.high_watermark)


MACHINE = Machine(
    name="watermark-propagation",
    sentence=(
        "how a follower and its consumer learn of a new high watermark: with records, tracked, or reported (KIP-392)"
    ),
    state=State,
    constants=C,
    initial=initial,
    actions=(
        leader_appends,
        other_follower_catches_up,
        leader_gets_fetch,
        parked_fetch_is_completed,
        parked_fetch_times_out,
        follower_gets_answer,
        answer_is_lost,
        consumer_fetches,
        consumer_fetch_is_completed,
        consumer_fetch_times_out,
    ),
    versions=(
        Version(
            "data-only",
            "only new records complete a parked fetch, as before KIP-392 and in Kafka today",
            {"propagation": Propagation.DATA_ONLY},
        ),
        Version("kip-392", "the leader tracks the high watermark in the fetch session", {}),
        Version(
            "reported", "the follower reports its high watermark, as in KIP-1166", {"propagation": Propagation.REPORTED}
        ),
    ),
    source="KIP-392, High watermark propagation; KAFKA-9731, KAFKA-9952, KAFKA-14334",
    cast=Cast(
        parties={"leader": None, "follower": None, "consumer": None},
        fields={
            **dict.fromkeys(("leader_end", "leader_high_watermark", "known_end", "other_end", "sent"), "leader"),
            **dict.fromkeys(("end", "high_watermark"), "follower"),
            **dict.fromkeys(("position", "is_parked"), "consumer"),
        },
        actors={
            "other_follower_catches_up": "leader",
            "parked_fetch_is_completed": "leader",
            "parked_fetch_times_out": "leader",
        },
        arrows={"leader_gets_fetch": "follower", "follower_gets_answer": "leader", "consumer_fetches": "follower"},
        nobodys=("fetch", "losses"),
    ),
)
