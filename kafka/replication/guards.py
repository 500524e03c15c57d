"""The guards of `replication`, classified in `guards.toml` as checks in Kafka, physical conditions or bounds of the
model, and conditions on the steps to try.
"""

from collections.abc import Callable, Mapping
from typing import Any

from fencepost.kafka.driver.ablation import Ablation, Place
from fencepost.kafka.guard_tables import guard_tables
from fencepost.kafka.replication.brokers import REPLICA, STATE
from fencepost.kafka.replication.mapping import AS_BUILT, AS_DRIVEN, NOT_COMPARED, NOT_DRIVEN
from fencepost.model.cluster.controller import has_room
from fencepost.model.cluster.state import State, follows, is_running, leads, local, newest
from fencepost.model.language import NONE, bits
from fencepost.model.language.constants import Constants
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.language.records import Key

TABLES = guard_tables(__file__)
KAFKAS, GROUNDS = TABLES.kafka, TABLES.grounds


def _fetches(s: State, leader: int, follower: int) -> bool:
    return follows(s, follower, leader)


def _is_there(s: State, m: Any) -> bool:
    return is_running(s, m.leader) and m.broker_epoch == newest(s).broker_epoch[m.leader]


NEEDS: dict[str, Callable[..., bool]] = {
    "leader_appends": lambda s, _, leader: is_running(s, leader),
    "leader_handles_fetch": lambda s, _, leader, follower: is_running(s, leader) and _fetches(s, leader, follower),
    "leader_reports_divergence": lambda s, _, leader, follower: is_running(s, leader) and _fetches(s, leader, follower),
    "leader_handles_late_fetch": lambda s, _, m: is_running(s, m.leader),
    "leader_deletes_records": lambda s, _, leader, offset: offset > 0 and is_running(s, leader),
    "follower_is_out_of_range": lambda s, _, leader, follower: is_running(s, leader) and _fetches(s, leader, follower),
    "leader_learns_change_applied": lambda s, _, m: _is_there(s, m),
    "leader_learns_change_refused": lambda s, _, m: _is_there(s, m),
}

ELR_RULES = (
    *("last_known_leader", "last_known_leader_check", "unclean_shutdown", "elr_within_replicas", "elr_judged_by"),
    *("leaderless_elr_is_cleared", "failed_directory_leaves_elr", "fewer_directories_are_unclean"),
    "assignment_keeps_elr",
)
ELR_CHECKS = (
    ("operator-reassigns-replicas", "isr & active(c, image) != 0 or not bits.contains(image.missing, first)"),
)
_NO_ELR = "the rule concerns eligible leader replicas, which are off in this version"


def _leaders_see(s: State, c: Any, *, fenced: bool, stopping: bool) -> bool:
    images = [local(s, leader) for leader in range(c.brokers) if leads(s, leader)]
    return all((i.fenced != 0) is fenced and (i.stopping != 0) is stopping for i in images) and bool(images)


def _asked_for(s: State, c: Any, m: Any) -> tuple[bool, bool, bool]:
    i = newest(s)
    members = [b for b in range(c.brokers) if bits.contains(m.isr, b)]
    again = any(m.member_epoch[b] not in (NONE, i.broker_epoch[b]) for b in members)
    return m.isr & i.fenced != 0, m.isr & i.stopping != 0, again


CONDITIONS: dict[str, dict[str, Callable[..., bool]]] = {
    "leader_eligibility_check=off": {
        "fenced": lambda s, c, *_: _leaders_see(s, c, fenced=True, stopping=False),
        "shutting down": lambda s, c, *_: _leaders_see(s, c, fenced=False, stopping=True),
    },
    "is_eligible(s, c, m)": {
        "fenced": lambda s, c, m: _asked_for(s, c, m) == (True, False, False),
        "shutting down": lambda s, c, m: _asked_for(s, c, m) == (False, True, False),
        "broker epoch": lambda s, c, m: _asked_for(s, c, m) == (False, False, True),
    },
}
ANSWERS = {
    "leader_learns_change_applied": STATE["alter_partitions"],
    "leader_learns_change_refused": STATE["alter_partitions"],
    "follower_takes_late_answer": STATE["late_answers"],
}
_STATE_COMPARED = tuple(place for name, place in STATE.items() if name != "replica" and name not in NOT_COMPARED)
_REPLICA_COMPARED = tuple(place for name, place in REPLICA.items() if f"replica.{name}" not in NOT_COMPARED)


def _unseen(constants: Constants) -> Mapping[str, str]:
    return TABLES.unseen if constants.values["elr"] else {**TABLES.unseen, **dict.fromkeys(ELR_RULES, _NO_ELR)}


def _shadowed(constants: Constants) -> Mapping[Place, str]:
    return TABLES.shadowed if constants.values["elr"] else {**TABLES.shadowed, **dict.fromkeys(ELR_CHECKS, _NO_ELR)}


def _compared(_: Interpreter, key: Key) -> Key:
    replicas = tuple(tuple(r[place] for place in _REPLICA_COMPARED) for r in key[STATE["replica"]])
    return (*(key[place] for place in _STATE_COMPARED), replicas)


def _has_room(s: State, constants: Constants) -> bool:
    """Return whether the model's controller has capacity for another write and leader epoch, as Kafka always does."""
    c: Any = constants
    return bool(has_room(s, c)) and newest(s).leader_epoch < int(c.max_leader_epoch)


ABLATION = Ablation(
    kafkas=KAFKAS,
    physical=TABLES.physical,
    bounds=TABLES.bounds,
    not_driven=NOT_DRIVEN,
    rules=(*AS_BUILT, *AS_DRIVEN),
    unseen=_unseen,
    shadowed=_shadowed,
    needs=NEEDS,
    grounds=lambda _: GROUNDS,
    compared=_compared,
    answers=ANSWERS,
    has_room=_has_room,
    conditions=CONDITIONS,
)
