"""A lease: a server lets one client at a time write. The model that every mistake is made in."""

from enum import IntEnum
from typing import Annotated

from fencepost.model.language import (
    NONE,
    Array,
    Bag,
    Constants,
    Index,
    InFlight,
    Machine,
    Per,
    Range,
    Record,
    Size,
    action,
    always,
    bound,
    leads_to,
    require,
    shape,
    sometimes,
    step,
    weak,
)


class Kind(IntEnum):
    """The sort of a message."""

    GRANT = 0
    RELEASE = 1


class C(Constants):
    """Sizes."""

    clients = shape(2, low=1, high=3, meaning="clients")
    lease = bound(2, low=1, high=4, meaning="ticks that a lease lasts")
    writes = bound(2, low=0, high=3, meaning="writes in all")


Client = Annotated[int, Index(C.clients)]
MaybeClient = Annotated[int, Index(C.clients, none=True)]
Time = Annotated[int, Range(0, C.lease)]


class Message(Record):
    """A message to a client."""

    to: Client
    kind: Kind


class Session(Record):
    """The knowledge of a client."""

    left: Time
    writing: bool


class State(Record):
    """The whole state."""

    holder: MaybeClient
    session: Annotated[Array[Session], Per(Client)]
    messages: Annotated[Bag[Message], Size(2)]
    written: Annotated[int, Range(0, C.writes)]


@action()
def initial(s: State, c: C) -> None:
    """The lease is free."""
    s.holder = NONE


def is_free(s: State) -> bool:
    """Say whether the lease is free."""
    return s.holder == NONE


@action(client=Client)
def grant(s: State, c: C, client: int) -> None:
    """The server gives the lease to a client."""
    require(is_free(s))
    require(len(s.messages) < 2)
    s.holder = client
    s.messages.add(to=client, kind=Kind.GRANT)


@action(m=InFlight("messages"))
def receive(s: State, c: C, m: Message) -> None:
    """A client learns that it has the lease."""
    require(m.kind == Kind.GRANT)
    s.session[m.to].left = c.lease
    s.messages.remove(m)


@action(client=Client)
def write(s: State, c: C, client: int) -> None:
    """A client that has time left writes."""
    session = s.session[client]
    require(session.left > 0)
    require(s.written < c.writes)
    session.writing = True
    s.written += 1


@action()
def tick(s: State, c: C) -> None:
    """Time goes by: a lease that has run out is free again."""
    require(s.holder != NONE)
    for session in s.session:
        if session.left > 0:
            session.left -= 1
            session.writing = False
    if all(session.left == 0 for session in s.session):
        s.holder = NONE


@always
def one_writes(s: State, c: C) -> bool:
    """At most one client writes."""
    return sum(session.writing for session in s.session) <= 1


@step()
def writes_are_kept(before: State, after: State, c: C) -> bool:
    """No write is undone."""
    return after.written >= before.written


@sometimes
def all_is_written(s: State, c: C) -> bool:
    """All writes happen."""
    return s.written == c.writes


def is_held(s: State, c: C) -> bool:
    """Say whether a client has the lease."""
    return s.holder != NONE


def is_free_again(s: State, c: C) -> bool:
    """Say whether the lease is free again."""
    return is_free(s)


gets_free = leads_to("gets-free", "A lease ends.", when=is_held, then=is_free_again, fair=(weak(tick), weak(receive)))

MACHINE = Machine("lease", "A lease", State, C, initial, (grant, receive, write, tick))
PROPERTIES = (one_writes, writes_are_kept, all_is_written, gets_free)
