"""Lemmas on metadata reads: what makes the promises of stores inductive."""

from fencepost.model.clients.tokens.constants import C
from fencepost.model.clients.tokens.state import State
from fencepost.model.language import always


@always
def nothing_is_half_stored(s: State, c: C) -> bool:
    """Where storeLatest is atomic, no call has compared contexts and not yet stored the later one."""
    return not c.atomic_store or not any(call.merged for call in s.call)


LEMMAS = (nothing_is_half_stored,)
