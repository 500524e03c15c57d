"""The guards of the model `quorum` and their kinds, from `guards.toml`, and conditions on the steps to try."""

from collections.abc import Callable, Mapping

from fencepost.kafka.driver.ablation import Ablation, read_sizes
from fencepost.kafka.guard_tables import guard_tables
from fencepost.kafka.quorum.mapping import AS_BUILT, NOT_COMPARED, NOT_DRIVEN
from fencepost.kafka.quorum.nodes import FETCH, NO_FETCH, NODE, STATE, without_forgotten
from fencepost.model.language import NONE, bits
from fencepost.model.language.constants import Constants
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.language.records import Key
from fencepost.model.quorum.state import Phase, Role, State, leads

TABLES = guard_tables(__file__)
KAFKAS, GROUNDS = TABLES.kafka, TABLES.grounds


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


def _unseen(constants: Constants) -> Mapping[str, str]:
    found = TABLES.unseen if constants.values["version_18"] else {**TABLES.unseen, **WITH_1166}
    if constants.values["pre_vote"]:
        return {**found, "check_quorum": "leaders that never resign would not grant pre-votes"}
    return found


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
    physical=TABLES.physical,
    bounds=TABLES.bounds,
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
