"""State records and initial state of the propagation model.

A leader and a follower are both in the ISR, in one leader epoch. Only the log end of the other follower is modelled.
The follower always has one fetch in flight. Time is measured in messages, each of which takes half a round trip. The
maximum wait is longer than any exchange of messages, so it ends only when no message is in flight.
"""

from enum import IntEnum
from typing import Annotated

from fencepost.model.consumers.propagation.constants import C
from fencepost.model.language import NONE, Range, Record, action


class Phase(IntEnum):
    """The progress of the follower's fetch."""

    SENT = 0
    PARKED = 1
    ANSWERED = 2


Offset = Annotated[int, Range(0, C.records)]
MaybeOffset = Annotated[int, Range(NONE, C.records)]


class Fetch(Record):
    """The follower's fetch, or the response with the end of its records and the high watermark. Before the response,
    `high_watermark` is the high watermark that the follower reports.
    """

    phase: Phase
    end: Offset
    high_watermark: Offset


class State(Record):
    """The leader and the follower, the fetch between them, the last high watermark sent, and the consumer.

    The last high watermark sent is NONE if the leader has not sent a high watermark in this session. `known_end` is the
    follower's log end as the leader knows it, and `other_end` is the other follower's log end.
    """

    leader_end: Offset
    leader_high_watermark: Offset
    known_end: Offset
    other_end: Offset
    end: Offset
    high_watermark: Offset
    fetch: Fetch
    sent: MaybeOffset
    losses: Annotated[int, Range(0, C.losses)]
    position: Offset
    is_parked: bool


@action()
def initial(s: State, c: C) -> None:
    """Both logs are empty or have one committed record, and the follower sends its first fetch."""
    if c.behind:
        s.leader_end = 1
        s.end = 1
        s.leader_high_watermark = 1
        s.known_end = 1
        s.other_end = 1
    s.fetch.end = s.end
    s.losses = c.losses
    s.sent = NONE if c.session_is_new or c.answers_new_partition else s.leader_high_watermark
