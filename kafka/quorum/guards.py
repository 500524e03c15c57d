"""The guards of the model `quorum` and their kinds, the rules that Kafka implements, and the constants to try."""

from collections.abc import Callable

from fencepost.kafka.driver.ablation import Ablation, Check, Place, read_sizes
from fencepost.kafka.quorum.mapping import AS_BUILT, NOT_COMPARED, NOT_DRIVEN
from fencepost.kafka.quorum.nodes import FETCH, NO_FETCH, NODE, STATE, without_forgotten
from fencepost.model.language import NONE, bits
from fencepost.model.language.constants import Constants
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.language.records import Key
from fencepost.model.quorum.state import Phase, Role, State, leads

NOT_ELECTED = ("it is not elected",)
_CLIENT = "KafkaRaftClient"
_LEADER = ("NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH")
_VALIDATE = f"{_CLIENT}.validateLeaderOnlyRequest"

KAFKAS: dict[tuple[str, str], Check] = {
    ("quorum-elects", "bits.is_subset(electors, voters_of(s, c, n))"): Check(
        f"{_CLIENT}.maybeSendPreVoteRequests: only voters get requests", NOT_ELECTED
    ),
    ("quorum-elects", "bits.size(electors) == majority(voters_of(s, c, n))"): Check(
        "EpochElection.isVoteGranted", NOT_ELECTED
    ),
    (
        "quorum-elects",
        (
            "all((log.is_up_to_date(n, s.node[node]) and (not s.node[node].failed) for node in range(c.nodes) if "
            "bits.contains(electors, node)))"
        ),
    ): Check("QuorumState.canGrantVote: the candidate's log is not up to date", NOT_ELECTED),
    (
        "quorum-elects",
        (
            "not c.pre_vote or all((hears_nothing(s, c, node) or (node != candidate and may_grant_pre_vote(s, c, node, "
            "entered_epoch(c, n))) for node in range(c.nodes) if bits.contains(electors, node)))"
        ),
    ): Check("LeaderState.canGrantVote, FollowerState.canGrantVote: a leader is known", NOT_ELECTED),
    ("voter-stands", "bits.contains(voters_of(s, c, n), node)"): Check(
        f"{_CLIENT}.pollUnattached: an observer does not become a candidate", ("it is not a candidate",)
    ),
    ("voter-votes", "bits.contains(voters_of(s, c, n), voter)"): Check(
        f"{_CLIENT}.maybeSendVoteRequests: only voters get requests", ("it gets no request",)
    ),
    (
        "voter-votes",
        "v.epoch < epoch or (v.epoch == epoch and v.voted == NONE and (v.leader == NONE) and log.is_up_to_date(n, v))",
    ): Check(
        "QuorumState.canGrantVote: the voter has already voted, has a leader, or has a later log than the candidate",
        ("",),
    ),
    ("candidate-wins", "bits.size(n.granted) >= majority(voters_of(s, c, n))"): Check(
        "EpochElection.isVoteGranted", ("it has not won the election",)
    ),
    (
        "node-learns-leader",
        "n.epoch < l.epoch or (n.epoch == l.epoch and n.leader == NONE and (n.role != Role.LEADER))",
    ): Check(f"{_CLIENT}.handleBeginQuorumEpochRequest", ("FENCED_LEADER_EPOCH", "")),
    ("leader-appends", "leads(s, leader)"): Check(f"{_CLIENT}.prepareAppend", ("NOT_LEADER",)),
    ("leader-appends-no-op", "leads(s, leader)"): Check(f"{_CLIENT}.prepareAppend", ("NOT_LEADER",)),
    ("leader-handles-fetch", "is_sent(s, leader, follower)"): Check(_VALIDATE, _LEADER),
    ("leader-handles-late-fetch", "l.role == Role.LEADER"): Check(_VALIDATE, _LEADER),
    ("leader-handles-late-fetch", "l.epoch == m.epoch"): Check(_VALIDATE, _LEADER),
    ("leader-handles-late-fetch", "not log.departs(l, m.offset, m.last_epoch)"): Check(
        "RaftLog.validateOffsetAndEpoch: a diverging epoch", ("",)
    ),
    ("leader-handles-late-fetch", "not needs_snapshot(c, l, m.offset, m.last_epoch)"): Check(
        "RaftLog.validateOffsetAndEpoch: the answer names a snapshot", ("",)
    ),
}

PHYSICAL: dict[str, tuple[Place | str, ...]] = {
    "a stopped node does nothing": (r"not (n|v|s\.node\[node\])\.failed",),
    "which message has arrived": (
        *(r"n\.role == Role\.CANDIDATE", r"voter != candidate", r"node != leader"),
        ("node-learns-leader", "leads(s, leader)"),
        *(r"f\.fetch\.phase == Phase\.\w+", r"(not )?f\.fetch\.diverging", r"f\.fetch\.snapshot (==|>) 0"),
    ),
    "a candidate votes for itself": (("quorum-elects", "bits.contains(electors, candidate)"),),
    "a leader resigns before its election timeout expires": (("voter-stands", "not leads(s, node)"),),
    "only a follower has a fetch timeout": (
        ("voter-hears-nothing", "s.node[node].leader != NONE"),
        ("observer-hears-nothing", "n.leader != NONE"),
    ),
    "only a leader waits for fetches of a majority": (("leader-resigns", "leads(s, leader)"),),
    "a follower fetches before the timeout": (("leader-resigns", "not is_followed_by_majority(s, c, leader)"),),
}

BOUNDS: dict[str, tuple[Place | str, ...]] = {
    "a budget": (r"s\.budget\.\w+ > 0|s\.written < c\.max_records",),
    "the maximum epoch": (r"epoch <= c\.max_epoch",),
    "always true under Kafka's rules": (
        ("voter-stands", "not c.pre_vote or would_win(s, c, node)"),
        ("quorum-elects", "all((reaches(s, c, n, node) for node in range(c.nodes) if bits.contains(electors, node)))"),
        ("voter-votes", "reaches(s, c, n, voter)"),
        ("node-learns-leader", "not bits.contains(s.unreached, leader)"),
        ("node-learns-leader", "hears_of(s, c, node, leader)"),
        ("voter-hears-nothing", "c.pre_vote"),
        ("leader-resigns", "c.check_quorum"),
        ("node-restarts", "loses == 0 or (c.flush_lags and unflushed(n) > 0)"),
        ("leader-appends", "not c.clock or is_everyone_connected(s, c)"),
        ("leader-appends", "c.no_op_interval == 0 or s.budget.no_ops > 1"),
        ("leader-appends-no-op", "c.no_op_interval == 0 or s.no_op_due == 0"),
        ("parked-fetch-times-out", "not c.clock or f.fetch.remaining == 0"),
        r"arrived\(c, f\.fetch\)",
    ),
    "elections take one step, or one step per vote": (
        ("quorum-elects", "not c.real_votes"),
        ("voter-stands", "c.real_votes"),
    ),
    "an observer fetches from another server in the step in which it learns of a leader": (
        ("voter-hears-nothing", "bits.contains(voters_of(s, c, s.node[node]), node)"),
    ),
    "the fetch timeout of a voter is a separate action": (
        ("observer-hears-nothing", "not bits.contains(voters_of(s, c, n), node)"),
    ),
    "a snapshot without new records has no effect": (("node-takes-snapshot", "end > n.start"),),
}


def _elects(s: State, constants: Constants, candidate: int, electors: int) -> bool:
    """Return whether the outcome of an election depends only on the nodes' logs and leaders. A node that gets a request
    with a later epoch enters that epoch, even if the node rejects the request. In Kafka, more than a majority of the
    electors may vote for a candidate; in the model, the other electors learn of the leader later.
    """
    n, asked = s.node[candidate], [s.node[node] for node in range(len(s.node)) if bits.contains(electors, node)]
    waits = n.role == Role.FOLLOWER and n.leader == NONE
    are_few = len(asked) <= int(constants.values["voters"]) // 2 + 1
    are_there = all(one.epoch == n.epoch and not one.failed for one in asked)
    return waits and are_few and are_there


def _waits(s: State, _: Constants, node: int) -> bool:
    n = s.node[node]
    return n.role != Role.LEADER and n.leader == NONE and not n.failed


def _left(s: State, _: Constants, leader: int, follower: int) -> bool:
    l, f = s.node[leader], s.node[follower]
    follows_nobody = f.epoch == l.epoch and f.leader == NONE and f.role == Role.FOLLOWER
    return not l.failed and l.role == Role.RESIGNED and follows_nobody and leader != follower


NEEDS: dict[str, Callable[..., bool]] = {
    "quorum_elects": _elects,
    "voter_stands": _waits,
    "voter_votes": lambda s, _, voter, candidate: (
        s.node[candidate].role == Role.CANDIDATE and voter != candidate and not s.node[voter].failed
    ),
    "candidate_wins": lambda s, _, candidate: s.node[candidate].role == Role.CANDIDATE,
    "node_learns_leader": lambda s, c, node, leader: (
        node != leader and leads(s, leader) and not s.node[node].failed and node < int(c.values["voters"])
    ),
    "leader_appends": lambda s, _, leader: not s.node[leader].failed,
    "leader_appends_no_op": lambda s, _, leader: not s.node[leader].failed,
    "leader_handles_fetch": _left,
    "leader_handles_late_fetch": lambda s, _, m: not s.node[m.leader].failed,
}

VOTE_BY_VOTE = ("voter-stands", "voter-votes", "candidate-wins")
_ONE_STEP = "with pre-votes, an election is one step"
_FAILED_ELECTION = "a failed election increases epochs; the actions for single votes have the same checks"


def _shadowed(constants: Constants) -> dict[tuple[str, str], str]:
    if constants.values["pre_vote"]:
        return {key: _ONE_STEP for key in KAFKAS if key[0] in VOTE_BY_VOTE}
    return {key: _FAILED_ELECTION for key in KAFKAS if key[0] == "quorum-elects"}


UNSEEN: dict[str, str] = {
    "leader_always_counted": "no leader removes itself in the driver",
    "lone_voter_resigns": "the compared graphs have more than one voter",
    "consumer_waits_for": "the log has no consumers in the driver",
    "completes_on_high_watermark=reporting": "every node reports its high watermark in the driver",
    "logs_start_with_snapshots": "contents of snapshots are not compared",
    "former_voters_join": "voters are static in the driver",
    "endpoints_tried": "voters are static in the driver",
    "registers_again": "ControllerRegistrationManager is not part of the driver",
    "notified": "no node has a controller in the compared graphs; `listeners` would add controllers",
    "observers_return": "no observer loses its leader in the compared graphs; `fetch_timeouts` would allow this",
    "timeout_answers_anew": "if a change completes all parked fetches, an answer computed in advance is never outdated",
}
"""Reasons why a changed rule has no visible effect in any executed history, by constant or by constant and value."""

WITH_1166: dict[str, str] = dict.fromkeys(
    (
        "compares_high_watermarks",
        "completes_on_high_watermark",
        "high_watermark_source",
        "reports",
        "parks_before_first_commit",
        "empty_answers_raise_high_watermark",
    ),
    "the rule concerns Fetch version 18, which this release lacks",
)


def _unseen(constants: Constants) -> dict[str, str]:
    found = UNSEEN if constants.values["version_18"] else {**UNSEEN, **WITH_1166}
    if constants.values["pre_vote"]:
        return {**found, "check_quorum": "leaders that never resign would not grant pre-votes"}
    return found


GROUNDS = read_sizes(
    "nodes=3 max_records=1 max_epoch=2",
    "nodes=3 max_records=1 max_epoch=3 late_fetches=1",
    "nodes=4 max_records=1 max_epoch=2 no_ops=1",
    "nodes=3 max_records=1 max_epoch=3 restarts=1 losses=1 late_fetches=1",
    "nodes=3 max_records=1 max_epoch=2 snapshots=1 late_fetches=1",
)
LOST = read_sizes("nodes=3 max_records=2 max_epoch=3 disk_losses=1")
VOTES = read_sizes("nodes=4 real_votes=1 max_records=0 max_epoch=2", "nodes=3 real_votes=1 max_records=1 max_epoch=3")


_NODE_COMPARED = tuple(
    place for name, place in NODE.items() if name not in ("fetch", "log") and f"node.{name}" not in NOT_COMPARED
)
_FETCH_COMPARED = tuple(place for name, place in FETCH.items() if f"node.fetch.{name}" not in NOT_COMPARED)
_STATE_COMPARED = tuple(place for name, place in STATE.items() if name != "node" and name not in NOT_COMPARED)


def _compared(plain: Interpreter, key: Key) -> Key:
    votes = bool(plain.constants.values["real_votes"])
    state = without_forgotten(plain, key)
    return (*(state[place] for place in _STATE_COMPARED), *(_node(n, votes=votes) for n in state[STATE["node"]]))


def _node(n: Key, *, votes: bool) -> Key:
    if n[NODE["failed"]]:
        return (1,)
    fetch = n[NODE["fetch"]]
    if fetch[FETCH["phase"]] == Phase.PARKED:
        fetch = (int(Phase.PARKED), *NO_FETCH[1:])
    kept = [n[place] for place in _NODE_COMPARED if votes or place != NODE["voted"]]
    return (*kept, n[NODE["log"]][n[NODE["start"]] :], tuple(fetch[place] for place in _FETCH_COMPARED))


ABLATION = Ablation(
    kafkas=KAFKAS,
    physical=PHYSICAL,
    bounds=BOUNDS,
    not_driven=NOT_DRIVEN,
    rules=AS_BUILT,
    values={"version_18": (0, 31)},
    unseen=_unseen,
    shadowed=_shadowed,
    needs=NEEDS,
    grounds=lambda constants: GROUNDS if constants.values["pre_vote"] else (*GROUNDS, *VOTES),
    lost=LOST,
    compared=_compared,
    answers={"leader_handles_late_fetch": STATE["late_fetches"]},
)
