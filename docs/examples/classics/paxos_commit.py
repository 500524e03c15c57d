"""Paxos Commit, by Gray and Lamport: two-phase commit that survives a failure of its coordinator.

The acceptors run one instance of Paxos per resource manager, which chooses the manager's decision. In ballot 0 a
manager proposes its own value. If another process suspects that the manager has failed, it leads a later ballot, and
proposes `ABORTED` unless another value may have been chosen. This is `PaxosCommit` from the TLA+ examples, with three
acceptors; a quorum is identified by the acceptor that it leaves out.
"""

from enum import IntEnum
from typing import Annotated

from fencepost.model.language import (
    NONE,
    Array,
    Constants,
    Index,
    Machine,
    Per,
    Record,
    action,
    always,
    require,
    shape,
    sometimes,
    switch,
)

ACCEPTORS = 3


class C(Constants):
    managers = shape(2, low=1, high=3, meaning="resource managers")
    ballots = shape(2, low=1, high=3, meaning="ballots of each instance")
    respects_votes = switch(default=True, meaning="a later ballot proposes the value of the latest vote that it knows")


Manager = Annotated[int, Index(C.managers)]
Acceptor = Annotated[int, Index(ACCEPTORS)]
Ballot = Annotated[int, Index(C.ballots)]
MaybeBallot = Annotated[int, Index(C.ballots, none=True)]


class Phase(IntEnum):
    WORKING = 0
    PREPARED = 1
    COMMITTED = 2
    ABORTED = 3


class Value(IntEnum):
    NOTHING = 0
    PREPARED = 1
    ABORTED = 2


class Vote(Record):
    ballot: MaybeBallot
    value: Value


class Promise(Record):
    sent: bool
    vote: Vote


class Sent(Record):
    """The messages of a ballot: 1a, each acceptor's 1b, the value of 2a, and each acceptor's 2b."""

    opened: bool
    promise: Annotated[Array[Promise], Per(Acceptor)]
    asked: Value
    voted: Annotated[Array[bool], Per(Acceptor)]


class Instance(Record):
    """The messages about a manager, and the acceptors' latest ballots and votes."""

    sent: Annotated[Array[Sent], Per(Ballot)]
    latest: Annotated[Array[Ballot], Per(Acceptor)]
    vote: Annotated[Array[Vote], Per(Acceptor)]


class State(Record):
    phase: Annotated[Array[Phase], Per(Manager)]
    instance: Annotated[Array[Instance], Per(Manager)]
    commit_sent: bool
    abort_sent: bool


@action()
def initial(s: State, c: C) -> None:
    """Every manager is working, and no message has been sent."""
    for manager in range(c.managers):
        for acceptor in range(ACCEPTORS):
            s.instance[manager].vote[acceptor].ballot = NONE


@action(manager=Manager)
def prepare(s: State, c: C, manager: int) -> None:
    """A manager prepares, and proposes in ballot 0 that it is prepared."""
    require(s.phase[manager] == Phase.WORKING)
    s.phase[manager] = Phase.PREPARED
    s.instance[manager].sent[0].asked = Value.PREPARED


@action(manager=Manager)
def choose_to_abort(s: State, c: C, manager: int) -> None:
    """A manager aborts, and proposes in ballot 0 that it has aborted."""
    require(s.phase[manager] == Phase.WORKING)
    s.phase[manager] = Phase.ABORTED
    s.instance[manager].sent[0].asked = Value.ABORTED


@action(manager=Manager)
def commit(s: State, c: C, manager: int) -> None:
    """A manager receives the decision to commit, and commits."""
    require(s.commit_sent)
    s.phase[manager] = Phase.COMMITTED


@action(manager=Manager)
def abort(s: State, c: C, manager: int) -> None:
    """A manager receives the decision to abort, and aborts."""
    require(s.abort_sent)
    s.phase[manager] = Phase.ABORTED


@action(ballot=Ballot, manager=Manager)
def phase_1a(s: State, c: C, ballot: int, manager: int) -> None:
    """A later ballot about a manager starts."""
    require(ballot > 0)
    s.instance[manager].sent[ballot].opened = True


@action(acceptor=Acceptor, ballot=Ballot, manager=Manager)
def phase_1b(s: State, c: C, acceptor: int, ballot: int, manager: int) -> None:
    """An acceptor promises to join no earlier ballot about a manager, and reports its latest vote."""
    i = s.instance[manager]
    promise = i.sent[ballot].promise[acceptor]
    require(i.sent[ballot].opened)
    require(i.latest[acceptor] < ballot)
    i.latest[acceptor] = ballot
    promise.sent = True
    promise.vote = i.vote[acceptor]


def value_to_ask_for(message: Sent, leaves_out: int, c: C) -> Value:
    """Return the value of the latest vote in a quorum, or `ABORTED` if there is no vote."""
    latest = NONE
    value = Value.ABORTED
    for acceptor in range(ACCEPTORS):
        vote = message.promise[acceptor].vote
        if acceptor != leaves_out and c.respects_votes and vote.ballot > latest:
            latest = vote.ballot
            value = vote.value
    return value


@action(ballot=Ballot, manager=Manager, leaves_out=Acceptor)
def phase_2a(s: State, c: C, ballot: int, manager: int, leaves_out: int) -> None:
    """A later ballot with a quorum of promises proposes their latest vote's value, or to abort if there is no vote."""
    message = s.instance[manager].sent[ballot]
    require(ballot > 0)
    require(message.asked == Value.NOTHING)
    require(all(message.promise[acceptor].sent or acceptor == leaves_out for acceptor in range(ACCEPTORS)))
    message.asked = value_to_ask_for(message, leaves_out, c)


@action(acceptor=Acceptor, ballot=Ballot, manager=Manager)
def phase_2b(s: State, c: C, acceptor: int, ballot: int, manager: int) -> None:
    """An acceptor that has promised no later ballot votes for the proposed value."""
    i = s.instance[manager]
    asked = i.sent[ballot].asked
    require(asked != Value.NOTHING)
    require(i.latest[acceptor] <= ballot)
    i.latest[acceptor] = ballot
    i.vote[acceptor].ballot = ballot
    i.vote[acceptor].value = asked
    i.sent[ballot].voted[acceptor] = True


def is_chosen(s: State, manager: int, value: int) -> bool:
    """Return whether a quorum has voted for a value in the same ballot about a manager."""
    return any(message.asked == value and 2 * sum(message.voted) > ACCEPTORS for message in s.instance[manager].sent)


@action()
def decide_to_commit(s: State, c: C) -> None:
    """Commit is announced once `PREPARED` is chosen for every manager."""
    require(all(is_chosen(s, manager, Value.PREPARED) for manager in range(c.managers)))
    s.commit_sent = True


@action()
def decide_to_abort(s: State, c: C) -> None:
    """Abort is announced once `ABORTED` is chosen for a manager."""
    require(any(is_chosen(s, manager, Value.ABORTED) for manager in range(c.managers)))
    s.abort_sent = True


@always
def decisions_agree(s: State, c: C) -> bool:
    """If one manager commits, no manager aborts; violated if `respects_votes` is off."""
    return not (any(phase == Phase.ABORTED for phase in s.phase) and any(phase == Phase.COMMITTED for phase in s.phase))


@sometimes
def a_later_ballot_commits(s: State, c: C) -> bool:
    """All managers commit although a later ballot was needed."""
    return all(phase == Phase.COMMITTED for phase in s.phase) and all(
        not (2 * sum(i.sent[0].voted) > ACCEPTORS) for i in s.instance
    )


MACHINE = Machine(
    "paxos-commit",
    "Two-phase commit in which acceptors decide",
    State,
    C,
    initial,
    (
        prepare,
        choose_to_abort,
        commit,
        abort,
        phase_1a,
        phase_1b,
        phase_2a,
        phase_2b,
        decide_to_commit,
        decide_to_abort,
    ),
)
PROPERTIES = (decisions_agree, a_later_ballot_commits)
