"""Paxos: acceptors vote in ballots, and what a quorum of them has voted for in one ballot is chosen for ever.

Lamport's `Paxos`, without leaders and learners, which the TLA+ examples count with one acceptor and one value. A
message that was sent stays. As there is at most one of each kind for a ballot, or for an acceptor in a ballot, a set of
messages is an array with a place for each of them.
"""

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


class C(Constants):
    acceptors = shape(3, low=1, high=3, meaning="acceptors")
    ballots = shape(2, low=1, high=3, meaning="ballots")
    options = shape(2, low=1, high=3, meaning="values that may be chosen")
    respects_votes = switch(default=True, meaning="a ballot asks for the value of the latest vote that it has heard of")


Acceptor = Annotated[int, Index(C.acceptors)]
Ballot = Annotated[int, Index(C.ballots)]
Value = Annotated[int, Index(C.options)]
MaybeBallot = Annotated[int, Index(C.ballots, none=True)]
MaybeValue = Annotated[int, Index(C.options, none=True)]


class Promise(Record):
    """An acceptor's message 1b: it takes part in no earlier ballot, and has voted like this."""

    sent: bool
    voted_in: MaybeBallot
    voted_for: MaybeValue


class Message(Record):
    """What was sent in a ballot: 1a by its leader, 1b by acceptors, and the value of 2a, or NONE."""

    opened: bool
    promise: Annotated[Array[Promise], Per(Acceptor)]
    asked: MaybeValue
    voted: Annotated[Array[bool], Per(Acceptor)]


class State(Record):
    """The messages of each ballot; for each acceptor its latest ballot, and its latest vote."""

    sent: Annotated[Array[Message], Per(Ballot)]
    latest: Annotated[Array[MaybeBallot], Per(Acceptor)]
    voted_in: Annotated[Array[MaybeBallot], Per(Acceptor)]
    voted_for: Annotated[Array[MaybeValue], Per(Acceptor)]


@action()
def initial(s: State, c: C) -> None:
    """No message was sent."""
    for ballot in range(c.ballots):
        s.sent[ballot].asked = NONE
    for acceptor in range(c.acceptors):
        s.latest[acceptor] = NONE
        s.voted_in[acceptor] = NONE
        s.voted_for[acceptor] = NONE


@action(ballot=Ballot)
def phase_1a(s: State, c: C, ballot: int) -> None:
    """A ballot is opened."""
    s.sent[ballot].opened = True


@action(acceptor=Acceptor, ballot=Ballot)
def phase_1b(s: State, c: C, acceptor: int, ballot: int) -> None:
    """An acceptor promises to take part in no earlier ballot, and says how it has voted."""
    promise = s.sent[ballot].promise[acceptor]
    require(s.sent[ballot].opened)
    require(ballot > s.latest[acceptor])
    s.latest[acceptor] = ballot
    promise.sent = True
    promise.voted_in = s.voted_in[acceptor]
    promise.voted_for = s.voted_for[acceptor]


def latest_vote(message: Message) -> int:
    """Return the latest ballot in which somebody who promised has voted, or NONE."""
    latest = NONE
    for promise in message.promise:
        if promise.sent and promise.voted_in > latest:
            latest = promise.voted_in
    return latest


@action(ballot=Ballot, value=Value)
def phase_2a(s: State, c: C, ballot: int, value: int) -> None:
    """A ballot in which a quorum has promised asks for the value of their latest vote, or for any if there was none."""
    message = s.sent[ballot]
    latest = latest_vote(message)
    require(message.asked == NONE)
    require(2 * sum(promise.sent for promise in message.promise) > c.acceptors)
    require(
        latest == NONE
        or not c.respects_votes
        or any(
            promise.sent and promise.voted_in == latest and promise.voted_for == value for promise in message.promise
        )
    )
    message.asked = value


@action(acceptor=Acceptor, ballot=Ballot)
def phase_2b(s: State, c: C, acceptor: int, ballot: int) -> None:
    """An acceptor that has promised nothing later votes as it is asked to."""
    asked = s.sent[ballot].asked
    require(asked != NONE)
    require(ballot >= s.latest[acceptor])
    s.latest[acceptor] = ballot
    s.voted_in[acceptor] = ballot
    s.voted_for[acceptor] = asked
    s.sent[ballot].voted[acceptor] = True


def is_chosen(s: State, c: C, ballot: int) -> bool:
    """Return whether a quorum has voted in this ballot, and so for its value."""
    return 2 * sum(s.sent[ballot].voted) > c.acceptors


@always
def one_value_is_chosen(s: State, c: C) -> bool:
    """No two ballots choose different values; fails without `respects_votes`."""
    return all(
        s.sent[ballot].asked == s.sent[other].asked
        for ballot in range(c.ballots)
        for other in range(ballot)
        if is_chosen(s, c, ballot) and is_chosen(s, c, other)
    )


@always
def votes_are_those_that_were_asked_for(s: State, c: C) -> bool:
    """An acceptor's latest vote was sent, for the value of its ballot, and in no ballot later than it takes part in."""
    return all(
        s.voted_in[acceptor] == NONE
        or (
            s.sent[s.voted_in[acceptor]].voted[acceptor]
            and s.sent[s.voted_in[acceptor]].asked == s.voted_for[acceptor]
            and s.voted_in[acceptor] <= s.latest[acceptor]
        )
        for acceptor in range(c.acceptors)
    )


@sometimes
def the_last_ballot_chooses(s: State, c: C) -> bool:
    """A value is chosen in the last ballot, after another ballot was opened."""
    return is_chosen(s, c, c.ballots - 1) and s.sent[0].opened


MACHINE = Machine(
    "paxos",
    "Acceptors that choose a value by voting in ballots",
    State,
    C,
    initial,
    (phase_1a, phase_1b, phase_2a, phase_2b),
)
PROPERTIES = (one_value_is_chosen, votes_are_those_that_were_asked_for, the_last_ballot_chooses)
