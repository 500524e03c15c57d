"""A replica's response to a consumer's fetch, computed from the replica, the offset and the design's rules."""

from enum import IntEnum

from fencepost.model.consumers.constants import (
    C,
    Errors,
    errors,
    gives_not_available,
    keeps_received,
    leader_refuses_too,
)
from fencepost.model.consumers.state import Case, Replica


class Reply(IntEnum):
    """The response to a fetch: records, nothing yet (the fetch is parked), or an error."""

    RECORDS = 0
    EMPTY = 1
    OFFSET_NOT_AVAILABLE = 2
    OUT_OF_RANGE = 3


def case_of(c: C, r: Replica, offset: int) -> int:
    """Return the offset's position relative to the replica's log (KIP-392, Out of range handling)."""
    if offset < r.start:
        return Case.TOO_SMALL
    if offset < r.high_watermark:
        return Case.READABLE
    if offset == r.high_watermark and not c.tail_is_uncommitted:
        return Case.TAIL
    if offset <= r.end:
        return Case.UNCOMMITTED
    if keeps_received(c) and offset <= r.received:
        return Case.UNAVAILABLE
    return Case.TOO_LARGE


def reply_to(c: C, r: Replica, leads: bool, offset: int) -> int:  # noqa: FBT001 (part of the question)
    """Return the replica's response to a fetch at the offset, if the leader epochs agree."""
    case = case_of(c, r, offset)
    if case == Case.READABLE:
        return Reply.RECORDS
    if case == Case.TAIL:
        return Reply.EMPTY
    if case == Case.UNCOMMITTED:
        refuses = leader_refuses_too(c) if leads else gives_not_available(c)
        return Reply.OFFSET_NOT_AVAILABLE if refuses else Reply.EMPTY
    if case == Case.UNAVAILABLE and gives_not_available(c):
        return Reply.OFFSET_NOT_AVAILABLE
    return Reply.OUT_OF_RANGE


def tells_too_small(c: C, r: Replica, offset: int) -> bool:
    """Return whether the error shows the consumer that its offset is below the log start."""
    return errors(c) != Errors.BARE and offset < r.start
