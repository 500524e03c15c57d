"""Lemmas on leader discovery: what makes the rule of leader epochs inductive."""

from fencepost.model.clients.discovery.constants import C
from fencepost.model.clients.discovery.state import Stage, State
from fencepost.model.language import NONE, always


@always
def without_epoch_none_was_used(s: State, c: C) -> bool:
    """A client that knows no leader epoch of a topic has never used one."""
    return c.old_brokers > 0 or all(known.epoch != NONE or known.ghost_epoch == 0 for known in s.known)


@always
def metadata_has_leader_epochs(s: State, c: C) -> bool:
    """Where all brokers know leader epochs, no metadata response lacks them."""
    return c.old_brokers > 0 or s.refresh.stage != Stage.ANSWERED or not s.refresh.is_old


LEMMAS = (without_epoch_none_was_used, metadata_has_leader_epochs)
