"""Liveness of a replica of the metadata log, and the delay before the replica learns of a commit.

All properties apply after the last fault, when there are no more elections, restarts or lost responses. K1166-L1 and
K1166-L2 may rely on timeouts; the properties about the purpose of KIP-1166 may not. The delay, in ticks, is measured on
machines with a clock. SEED-1166-3 is about the content of responses in today's Kafka.
"""

from fencepost.invariants.quorum import is_alone
from fencepost.model.language import NONE, always, at_most, bits, leads_to, sometimes, step, weak
from fencepost.model.language.actions import properties_in
from fencepost.model.quorum import log
from fencepost.model.quorum.broker import broker_applies_metadata
from fencepost.model.quorum.clock import time_passes
from fencepost.model.quorum.constants import C
from fencepost.model.quorum.election import (
    candidate_wins,
    leader_resigns,
    majority,
    node_learns_leader,
    node_loses_disk,
    node_restarts,
    observer_hears_nothing,
    quorum_elects,
    removed_leader_resigns,
    voter_stands,
    voter_votes,
)
from fencepost.model.quorum.follower import follower_appends, follower_truncates
from fencepost.model.quorum.leader import (
    departs,
    leader_appends,
    leader_appends_no_op,
    leader_handles_fetch,
    leader_removes_itself,
    parked_fetch_times_out,
    reaches,
    voters_of,
)
from fencepost.model.quorum.network import answer_is_lost
from fencepost.model.quorum.registration import (
    controller_asks_to_register,
    is_heard,
    leader_registers_controller,
    registration_times_out,
)
from fencepost.model.quorum.state import Id, Phase, Registration, State, leads

FIRST_RECORD = 1
"""Number of the controller's record whose commit starts the measured delay."""

_FAULTS = (
    quorum_elects,
    voter_stands,
    voter_votes,
    candidate_wins,
    removed_leader_resigns,
    node_restarts,
    node_loses_disk,
    answer_is_lost,
)
_APPENDS = (leader_appends, leader_appends_no_op, leader_removes_itself)
_MESSAGES = (
    weak(leader_handles_fetch, each=("leader", "follower")),
    weak(follower_appends, each="follower"),
    weak(follower_truncates, each="follower"),
)
_LEARNS = weak(node_learns_leader, each=("node", "leader"))
_TIMEOUTS = weak(parked_fetch_times_out, each="follower")
_CLOCK = (
    *_MESSAGES,
    _TIMEOUTS,
    weak(broker_applies_metadata, each="node"),
    weak(leader_appends_no_op, each="leader"),
    weak(time_passes),
)


def is_connected(s: State, node: int) -> bool:
    """Return whether the node follows a leader."""
    n = s.node[node]
    return n.leader != NONE and not n.failed and leads(s, max(n.leader, 0))


def is_behind(s: State, c: C, node: int) -> bool:
    """Return whether the node follows a leader whose high watermark it does not know."""
    return is_connected(s, node) and s.node[node].high_watermark < s.node[max(s.node[node].leader, 0)].high_watermark


def is_not_behind(s: State, c: C, node: int) -> bool:
    """Return whether the node knows its leader's high watermark, or has no leader."""
    return not is_behind(s, c, node)


def is_ahead(s: State, c: C, node: int) -> bool:
    """Return whether the node knows a higher high watermark than its leader."""
    return is_connected(s, node) and s.node[node].high_watermark > s.node[max(s.node[node].leader, 0)].high_watermark


def is_not_ahead(s: State, c: C, node: int) -> bool:
    """Return whether the node has no leader, or its leader's high watermark is at least the node's."""
    return not is_ahead(s, c, node)


def is_divergent(s: State, c: C, node: int) -> bool:
    """Return whether the node's log diverges from its leader's."""
    return is_connected(s, node) and departs(s, max(s.node[node].leader, 0), node)


def is_not_divergent(s: State, c: C, node: int) -> bool:
    """Return whether the node has no leader, or the node's log does not diverge from the leader's."""
    return not is_divergent(s, c, node)


def has_nothing_to_fetch(s: State, c: C, node: int) -> bool:
    """Return whether the node follows a leader and has fetched everything that this leader can send."""
    leader = max(s.node[node].leader, 0)
    return is_connected(s, node) and not departs(s, leader, node) and s.node[node].end >= readable(s, c, node)


def readable(s: State, c: C, node: int) -> int:
    """Return the end of the records that the node can read; a consumer reads only committed records."""
    l = s.node[max(s.node[node].leader, 0)]
    return max(l.high_watermark, 0) if c.consumer and node == c.nodes - 1 else l.end


def rests(s: State, c: C, node: int) -> bool:
    """Return whether the node's fetch is parked, or the node has something to fetch."""
    return s.node[node].fetch.phase == Phase.PARKED or not has_nothing_to_fetch(s, c, node)


def does_not_know_commit(s: State, c: C, node: int) -> bool:
    """Return whether the node does not know that its leader has committed the first record."""
    if not is_connected(s, node):
        return False
    l = s.node[max(s.node[node].leader, 0)]
    offset = log.offset_of(l, FIRST_RECORD)
    return offset != NONE and s.node[node].high_watermark <= offset < l.high_watermark


def somebody_does_not_know(s: State, c: C) -> bool:
    """Return whether a connected node does not know that the first record is committed."""
    return any(does_not_know_commit(s, c, node) for node in range(c.nodes))


def everybody_knows(s: State, c: C) -> bool:
    """Return whether the first record is uncommitted, or every connected node knows that the record is committed."""
    return not somebody_does_not_know(s, c)


def some_broker_lacks_commit(s: State, c: C) -> bool:
    """Return whether the first record is committed and missing from a broker's metadata."""
    return any(lacks_commit(s, c, node) for node in range(c.voters, c.nodes))


def lacks_commit(s: State, c: C, node: int) -> bool:
    """Return whether the broker's leader has committed the first record and the broker has not applied it."""
    if not is_connected(s, node):
        return False
    l = s.node[max(s.node[node].leader, 0)]
    offset = log.offset_of(l, FIRST_RECORD)
    return offset != NONE and s.node[node].applied <= offset < l.high_watermark


def every_broker_shows_commit(s: State, c: C) -> bool:
    """Return whether the first record is uncommitted, or in every connected broker's metadata."""
    return not some_broker_lacks_commit(s, c)


def leads_alone(s: State, c: C, node: int) -> bool:
    """Return whether the node leads and no majority of the voters follows it."""
    return leads(s, node) and is_alone(s, c, node)


def leads_with_others(s: State, c: C, node: int) -> bool:
    """Return whether a majority follows the node, or the node no longer leads."""
    return not leads_alone(s, c, node)


leaders_without_majority_resign = leads_to(
    "leaders-without-majority-resign",
    "KR-L1: a leader that is not followed by a majority of the voters eventually gains a majority or stops leading.",
    when=leads_alone,
    then=leads_with_others,
    fair=(weak(leader_resigns, each="leader"), weak(removed_leader_resigns, each="leader")),
    without=(),
    node=Id,
)

replicas_learn_the_high_watermark = leads_to(
    "replicas-learn-the-high-watermark",
    "K1166-L1: once appends stop, every connected replica eventually reaches its leader's high watermark.",
    when=is_behind,
    then=is_not_behind,
    fair=(*_MESSAGES, _TIMEOUTS),
    without=(*_FAULTS, *_APPENDS),
    node=Id,
)

replicas_learn_the_high_watermark_without_timeouts = leads_to(
    "replicas-learn-the-high-watermark-without-timeouts",
    "The purpose of KIP-1166: every connected replica eventually reaches its leader's high watermark, without any "
    "append or timeout.",
    when=is_behind,
    then=is_not_behind,
    fair=_MESSAGES,
    without=(*_FAULTS, *_APPENDS, parked_fetch_times_out),
    node=Id,
)

leaders_catch_up_with_replicas = leads_to(
    "leaders-catch-up-with-replicas",
    "K1166-L2: a leader eventually catches up with a replica's higher high watermark, if the leader's voters fetch.",
    when=is_ahead,
    then=is_not_ahead,
    fair=(*_MESSAGES, _LEARNS),
    without=(*_FAULTS, *_APPENDS, parked_fetch_times_out),
    node=Id,
)

divergent_replicas_truncate_without_timeouts = leads_to(
    "divergent-replicas-truncate-without-timeouts",
    "B37: a replica whose log diverges from its leader's log eventually truncates it, without any timeout.",
    when=is_divergent,
    then=is_not_divergent,
    fair=_MESSAGES,
    without=(*_FAULTS, *_APPENDS, parked_fetch_times_out),
    node=Id,
)

replicas_come_to_rest = leads_to(
    "replicas-come-to-rest",
    "K1166-Q3: if a replica has nothing to fetch, its fetch is eventually parked, so it stops sending fetches.",
    when=has_nothing_to_fetch,
    then=rests,
    fair=_MESSAGES,
    without=(*_FAULTS, *_APPENDS, parked_fetch_times_out),
    node=Id,
)

commit_is_known_in_time = at_most(
    "commit-is-known-in-time",
    "K1166-Q1, K1166-Q2: every replica learns of a record's commit within `longest_delay` ticks.",
    costs={time_passes: 1},
    unit="ticks",
    bound=C.longest_delay,
    when=somebody_does_not_know,
    then=everybody_knows,
    fair=_CLOCK,
)

commit_is_visible_in_time = at_most(
    "commit-is-visible-in-time",
    "Every broker's metadata contains a record within `longest_delay` ticks of the record's commit.",
    costs={time_passes: 1},
    unit="ticks",
    bound=C.longest_delay,
    when=some_broker_lacks_commit,
    then=every_broker_shows_commit,
    fair=_CLOCK,
)


@step()
def answers_show_the_latest_high_watermark(before: State, after: State, c: C) -> bool:
    """SEED-1166-3: every response contains the high watermark that the leader knows when it sends the response."""
    return all(
        before.node[node].fetch.phase == Phase.ANSWERED
        or after.node[node].fetch.phase != Phase.ANSWERED
        or after.node[node].fetch.high_watermark == after.node[max(after.node[node].leader, 0)].high_watermark
        for node in range(c.nodes)
    )


def is_lost(s: State, c: C, node: int) -> bool:
    """Return whether an observer has lost its leader while there is a leader of its epoch or of a later one."""
    n = s.node[node]
    return n.lost > 0 and any(leads(s, leader) and l.epoch >= n.epoch for leader, l in enumerate(s.node))


def is_not_lost(s: State, c: C, node: int) -> bool:
    """Return whether an observer follows a leader, or there is no leader of its epoch or of a later epoch."""
    return not is_lost(s, c, node)


observers_find_the_leader = leads_to(
    "observers-find-the-leader",
    "KR-L2: an observer whose fetch timeout has expired eventually fetches from a leader again.",
    when=is_lost,
    then=is_not_lost,
    fair=(*_MESSAGES, _LEARNS),
    without=(*_FAULTS, *_APPENDS, observer_hears_nothing),
    node=Id,
)


def may_register(s: State, c: C, node: int) -> bool:
    """Return whether the controller of `node` is unregistered while some controller is active."""
    n = s.node[node]
    is_active = any(is_heard(s, leader) for leader in range(c.nodes))
    return bits.contains(voters_of(s, c, n), node) and n.registration != Registration.DONE and is_active


def need_not_register(s: State, c: C, node: int) -> bool:
    """Return whether `node` has no unregistered controller, or no controller is active."""
    return not may_register(s, c, node)


controllers_register = leads_to(
    "controllers-register",
    "KR-L3: every controller is eventually registered, if a controller is active.",
    when=may_register,
    then=need_not_register,
    fair=(weak(controller_asks_to_register, each="node"), weak(leader_registers_controller, each=("leader", "node"))),
    without=(*_FAULTS, registration_times_out),
    node=Id,
)


@step()
def active_nodes_have_committed(before: State, after: State, c: C) -> bool:
    """KR-S10: a controller becomes active only while its node leads and has committed the start of its epoch."""
    return all(
        after.node[node].active <= before.node[node].active
        or (leads(after, node) and after.node[node].high_watermark > after.node[node].epoch_start)
        for node in range(c.nodes)
    )


@always
def removed_voters_stay_out(s: State, c: C) -> bool:
    """KR-S11: a voter that an operator has removed does not add itself again. Applies only with `auto_join`."""
    return not c.auto_join or s.added == NONE or s.added != s.removed


def can_be_elected(s: State, c: C, candidate: int, down: int) -> bool:
    """Return whether a majority of the voters can reach and would elect a candidate while a given node is down."""
    n = s.node[candidate]
    voters = voters_of(s, c, n)
    electors = sum(
        voter != down
        and bits.contains(voters, voter)
        and (voter == candidate or reaches(s, c, n, voter))
        and log.is_up_to_date(n, s.node[voter])
        for voter in range(c.nodes)
    )
    return (
        bits.contains(voters, candidate) and not bits.contains(s.unreached, candidate) and electors >= majority(voters)
    )


@always
def voters_can_elect(s: State, c: C) -> bool:
    """KR-S12: two voters, or any two of three voters, can always elect a leader that they can reach."""
    return all(
        any(can_be_elected(s, c, candidate, down) for candidate in range(c.nodes) if candidate != down)
        for down in range(c.nodes)
        if c.voters > 2 or down >= c.voters
    )


@sometimes
def lost_observer_asks_another(before: State, after: State, c: C) -> bool:
    """An observer that has lost its leader follows a node that is not among its configured nodes."""
    return any(
        before.node[node].lost > 0
        and after.node[node].leader != NONE
        and not bits.contains(c.bootstrap, max(after.node[node].leader, 0))
        for node in range(c.nodes)
    )


@sometimes
def restarted_node_is_active_again(before: State, after: State, c: C) -> bool:
    """A controller becomes active in a later epoch than the first."""
    return any(
        after.node[node].active > before.node[node].active and after.node[node].epoch > 1 for node in range(c.nodes)
    )


PROPERTIES = properties_in(globals())
