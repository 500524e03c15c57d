"""Properties of moves between directories: acknowledged records are kept, and the controller learns the directory."""

from fencepost.model.language import NONE, always, bits, leads_to, sometimes, weak
from fencepost.model.language.actions import properties_in
from fencepost.model.moves import machine
from fencepost.model.moves.machine import C, State


@always
def served_leader_has_acknowledged(s: State, c: C) -> bool:
    """DM-S1: a leader replica that its broker serves has all acknowledged records."""
    return not (s.leads and s.broker.serves) or s.end >= s.ghost_acknowledged


@always
def good_directories_stay_online(s: State, c: C) -> bool:
    """DM-S2: no directory is offline unless it has failed."""
    return bits.size(s.offline) <= c.failures - s.budget.failures


@sometimes
def move_is_complete(s: State, c: C) -> bool:
    """A record has moved to directory 1, which is assigned to the replica, and no request is in flight."""
    idle = s.copy == NONE and s.broker.ready.to == NONE and s.broker.sent.to == NONE
    return s.log == 1 and s.assigned == 1 and s.end > 0 and idle


PROPERTIES = properties_in(globals())


def is_misplaced(s: State, c: C) -> bool:
    """Return whether a replica leads without being served, or is served from a directory not assigned to it."""
    return s.log != s.assigned if s.broker.serves else s.leads


def is_not_misplaced(s: State, c: C) -> bool:
    """Return whether a replica is served from its assigned directory, or does not lead."""
    return not is_misplaced(s, c)


directory_is_assigned = leads_to(
    "directory-is-assigned",
    "DM-L1: eventually, the directory of a replica's log is assigned, or the replica is offline and does not lead.",
    when=is_misplaced,
    then=is_not_misplaced,
    fair=(
        *(weak(machine.broker_copies), weak(machine.broker_sends_assignment), weak(machine.broker_gets_answer)),
        *(weak(machine.controller_assigns_directory), weak(machine.broker_applies_metadata)),
    ),
)
LIVENESS = (directory_is_assigned,)
