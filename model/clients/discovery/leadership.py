"""A client's rules for using information about leaders, as pure functions of plain or symbolic numbers."""

from fencepost.model.clients.discovery.constants import Accepts
from fencepost.model.language import NONE


def accepts_hint(rule: int, known_epoch: int, known_leader: int, epoch: int, leader: int) -> bool:
    """Metadata.updatePartitionLeadership: return whether a hint replaces the leader that the client knows.

    Kafka's rule is NEWER: the epoch must be greater. A client that knows no epoch accepts any hint.
    """
    if known_epoch == NONE or epoch > known_epoch or rule == Accepts.ANY:
        return True
    return epoch == known_epoch and (
        rule == Accepts.NOT_OLDER or (rule == Accepts.OTHER_LEADER and leader != known_leader)
    )


def accepts_metadata(known_epoch: int, epoch: int, is_other_topic: int) -> bool:
    """Metadata.updateLatestMetadata: return whether a metadata response replaces the leader that the client knows."""
    return is_other_topic == 1 or known_epoch == NONE or epoch >= known_epoch
