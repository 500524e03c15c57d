"""Paxos: acceptors vote in ballots, and a value is chosen forever once a quorum has voted for it in one ballot.

This is Lamport's `Paxos` without leaders and learners; the TLA+ examples give its number of states for one acceptor and
one value. Sent messages are kept. There is at most one message of each kind per ballot, or per acceptor and ballot, so
an array with one element per possible message can hold all of them.
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
    respects_votes = switch(default=True, meaning="a ballot proposes the value of the latest vote that it knows")


Acceptor = Annotated[int, Index(C.acceptors)]
Ballot = Annotated[int, Index(C.ballots)]
Value = Annotated[int, Index(C.options)]
MaybeBallot = Annotated[int, Index(C.ballots, none=True)]
MaybeValue = Annotated[int, Index(C.options, none=True)]


class Promise(Record):
    """An acceptor's message 1b, which promises to join no earlier ballot and contains the acceptor's latest vote."""

    sent: bool
    voted_in: MaybeBallot
    voted_for: MaybeValue


class Message(Record):
    """The messages sent in a ballot: 1a by its leader, 1b by acceptors, and the value of 2a, or NONE."""

    opened: bool
    promise: Annotated[Array[Promise], Per(Acceptor)]
    asked: MaybeValue
    voted: Annotated[Array[bool], Per(Acceptor)]


class State(Record):
    """The messages of each ballot, and each acceptor's latest ballot and latest vote."""

    sent: Annotated[Array[Message], Per(Ballot)]
    latest: Annotated[Array[MaybeBallot], Per(Acceptor)]
    voted_in: Annotated[Array[MaybeBallot], Per(Acceptor)]
    voted_for: Annotated[Array[MaybeValue], Per(Acceptor)]


@action()
def initial(s: State, c: C) -> None:
    """No message has been sent."""
    for ballot in range(c.ballots):
        s.sent[ballot].asked = NONE
    for acceptor in range(c.acceptors):
        s.latest[acceptor] = NONE
        s.voted_in[acceptor] = NONE
        s.voted_for[acceptor] = NONE


@action(ballot=Ballot)
def phase_1a(s: State, c: C, ballot: int) -> None:
    """A ballot starts."""
    s.sent[ballot].opened = True


@action(acceptor=Acceptor, ballot=Ballot)
def phase_1b(s: State, c: C, acceptor: int, ballot: int) -> None:
    """An acceptor promises to join no earlier ballot, and reports its latest vote."""
    promise = s.sent[ballot].promise[acceptor]
    require(s.sent[ballot].opened)
    require(ballot > s.latest[acceptor])
    s.latest[acceptor] = ballot
    promise.sent = True
    promise.voted_in = s.voted_in[acceptor]
    promise.voted_for = s.voted_for[acceptor]


def latest_vote(message: Message) -> int:
    """Return the ballot of the latest vote that a promise reports, or NONE."""
    latest = NONE
    for promise in message.promise:
        if promise.sent and promise.voted_in > latest:
            latest = promise.voted_in
    return latest


@action(ballot=Ballot, value=Value)
def phase_2a(s: State, c: C, ballot: int, value: int) -> None:
    """A ballot with a quorum of promises proposes the value of their latest vote, or any value if there is none."""
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
    """An acceptor that has promised no later ballot votes for the proposed value."""
    asked = s.sent[ballot].asked
    require(asked != NONE)
    require(ballot >= s.latest[acceptor])
    s.latest[acceptor] = ballot
    s.voted_in[acceptor] = ballot
    s.voted_for[acceptor] = asked
    s.sent[ballot].voted[acceptor] = True


def is_chosen(s: State, c: C, ballot: int) -> bool:
    """Return whether a quorum has voted in this ballot. All of its votes are for the same value."""
    return 2 * sum(s.sent[ballot].voted) > c.acceptors


@always
def one_value_is_chosen(s: State, c: C) -> bool:
    """No two ballots choose different values; violated if `respects_votes` is off."""
    return all(
        s.sent[ballot].asked == s.sent[other].asked
        for ballot in range(c.ballots)
        for other in range(ballot)
        if is_chosen(s, c, ballot) and is_chosen(s, c, other)
    )


@always
def votes_are_those_that_were_asked_for(s: State, c: C) -> bool:
    """An acceptor's latest vote is for its ballot's value, and this ballot is at most the acceptor's latest one."""
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
    """A value is chosen in the last ballot, after another ballot was started."""
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
