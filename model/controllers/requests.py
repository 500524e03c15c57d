"""A leader's AlterPartition request, which may be resent or dropped."""

from fencepost.model.controllers.constants import C
from fencepost.model.controllers.state import Member, Reply, Status
from fencepost.model.language import NONE


def forget_request(b: Member) -> None:
    """Clear the request and its proposal."""
    b.proposed = 0
    b.request.status = Status.NONE
    b.request.to = 0
    b.request.leader_epoch = 0
    b.request.partition_epoch = 0
    b.request.isr = 0
    b.request.reply = Reply.APPLIED
    b.request.offset = 0


def disconnect(b: Member) -> None:
    """Close the channel, so that the request must be sent again."""
    b.request.status = Status.UNSENT
    b.request.to = 0
    b.request.reply = Reply.APPLIED
    b.request.offset = 0
    b.channel = NONE


def say_not_controller(c: C, b: Member) -> None:
    """Answer with NOT_CONTROLLER: the broker looks for the active controller and resends its request. The broker cannot
    know whether the request was or will be applied, so the broker must not revert its proposal.
    """
    disconnect(b)
    if not c.asks_again_after_failover:
        forget_request(b)
