"""Properties of the propagation of a high watermark: its delay (K392-Q1) and its cost (K392-Q1b). The maximum wait is
replica.fetch.wait.max.ms, or fetch.max.wait.ms for a consumer. A round trip is two messages.
"""

from fencepost.model.consumers.propagation.constants import C
from fencepost.model.consumers.propagation.machine import (
    answer_is_lost,
    consumer_fetch_is_completed,
    consumer_fetch_times_out,
    consumer_fetches,
    follower_gets_answer,
    leader_appends,
    leader_gets_fetch,
    other_follower_catches_up,
    parked_fetch_is_completed,
    parked_fetch_times_out,
)
from fencepost.model.consumers.propagation.state import Offset, Phase, State
from fencepost.model.language import always, at_most, sometimes, strong, weak

FAIR = (
    weak(leader_gets_fetch),
    weak(parked_fetch_is_completed, parked_fetch_times_out),
    weak(follower_gets_answer, answer_is_lost),
    strong(consumer_fetches, consumer_fetch_is_completed, consumer_fetch_times_out),
)
TIMEOUTS = (parked_fetch_times_out, consumer_fetch_times_out)


@always
def follower_is_never_ahead(s: State, c: C) -> bool:
    """SEED-392-7: within a leader epoch the follower's high watermark is never above the leader's."""
    return s.high_watermark <= s.leader_high_watermark <= s.end


@sometimes
def everything_is_known(s: State, c: C) -> bool:
    """The follower knows that all records are committed."""
    return s.high_watermark == c.records


@sometimes
def fetch_is_parked(s: State, c: C) -> bool:
    """The follower's fetch waits at the leader."""
    return s.fetch.phase == Phase.PARKED


@sometimes
def committed_record_is_hidden(s: State, c: C) -> bool:
    """SEED-392-8: the follower has a committed record that it may not yet return to consumers."""
    return s.high_watermark < s.leader_high_watermark <= s.end


def is_committed(s: State, c: C, offset: int) -> bool:
    """Return whether the leader knows that the record at `offset` is committed, and the follower does not."""
    return s.high_watermark <= offset < s.leader_high_watermark


def is_known(s: State, c: C, offset: int) -> bool:
    """Return whether the follower knows that the record at `offset` is committed."""
    return offset < s.high_watermark


def is_unread(s: State, c: C, offset: int) -> bool:
    """Return whether the follower knows that the record at `offset` is committed, and the consumer has not read it."""
    return c.consumer and s.position <= offset < s.high_watermark


def is_read(s: State, c: C, offset: int) -> bool:
    """Return whether the consumer has read the record at `offset`."""
    return offset < s.position


def has_just_begun(s: State, c: C) -> bool:
    """Return whether no record was appended, and the first fetch is in flight."""
    return s.leader_end == 0 and s.fetch.phase == Phase.SENT


def is_at_rest(s: State, c: C) -> bool:
    """Return whether all records are appended and committed, and the follower's fetch is parked."""
    return s.leader_high_watermark == c.records and s.fetch.phase == Phase.PARKED


messages_until_known = at_most(
    "messages-until-known",
    "K392-Q1: a follower learns of a commit after at most three messages (one and a half round trips).",
    costs={leader_gets_fetch: 1, follower_gets_answer: 1},
    unit="messages",
    bound=3,
    when=is_committed,
    then=is_known,
    fair=FAIR,
    offset=Offset,
)

waits_until_known = at_most(
    "waits-until-known",
    "K392-Q1: a follower learns of a commit without any fetch being parked for the maximum wait.",
    costs={parked_fetch_times_out: 1},
    unit="maximum waits",
    bound=0,
    when=is_committed,
    then=is_known,
    fair=FAIR,
    offset=Offset,
)

waits_until_read = at_most(
    "waits-until-read",
    "K392-Q1: once the follower knows of a commit, a consumer gets the record without the maximum wait.",
    costs={consumer_fetch_times_out: 1},
    unit="maximum waits",
    bound=0,
    when=is_unread,
    then=is_read,
    fair=FAIR,
    offset=Offset,
)

fetches_in_all = at_most(
    "fetches-in-all",
    "K392-Q1b: the follower sends at most two fetches per record, one to open the session, and one parked fetch.",
    costs={leader_gets_fetch: 1},
    unit="fetches",
    bound=C.records * 2 + C.losses + 2,
    when=has_just_begun,
    then=is_at_rest,
    fair=(*FAIR, weak(leader_appends), weak(other_follower_catches_up)),
    without=TIMEOUTS,
)

no_fetch_without_records = at_most(
    "no-fetch-without-records",
    "B27: the follower sends at most one fetch per record, and one parked fetch.",
    costs={leader_gets_fetch: 1},
    unit="fetches",
    bound=C.records + C.losses + 1,
    when=has_just_begun,
    then=is_at_rest,
    fair=(*FAIR, weak(leader_appends), weak(other_follower_catches_up)),
    without=TIMEOUTS,
)

PROPERTIES = (follower_is_never_ahead, everything_is_known, fetch_is_parked, committed_record_is_hidden)
ON_REQUEST = (messages_until_known, waits_until_known, waits_until_read, fetches_in_all, no_fetch_without_records)
