"""A lock: clients send messages to acquire and release it, one client holds it at a time, and clients may crash.

`fencepost new NAME` writes a copy of this file, to be edited into your own model: change the records, then the actions,
then the properties. `fencepost check` finds violated properties.
"""

from enum import IntEnum
from typing import Annotated

from fencepost.model.language import (
    NONE,
    Array,
    Bag,
    Cast,
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
    at_most,
    bound,
    capacity,
    leads_to,
    require,
    shape,
    sometimes,
    step,
    strong,
    weak,
)


class C(Constants):
    """The constants of a run, such as `clients=3`."""

    clients = shape(2, low=1, high=4, meaning="clients")
    in_flight = capacity(4, low=2, high=8, meaning="messages in flight")
    crashes = bound(1, low=0, high=3, meaning="crashes in total")


Client = Annotated[int, Index(C.clients)]
MaybeClient = Annotated[int, Index(C.clients, none=True)]


class Phase(IntEnum):
    """The phase of a client."""

    IDLE = 0
    WAITING = 1
    HOLDING = 2


class Kind(IntEnum):
    """The kind of a message."""

    ASK = 0
    GRANT = 1
    RELEASE = 2


class Message(Record):
    """A message between a client and the server."""

    client: Client
    kind: Kind


class Session(Record):
    """The state of a client."""

    phase: Phase


class State(Record):
    """The whole state, in which every field starts at 0."""

    holder: MaybeClient
    session: Annotated[Array[Session], Per(Client)]
    messages: Annotated[Bag[Message], Size(C.in_flight)]
    crashes_left: Annotated[int, Range(0, C.crashes)]


@action()
def initial(s: State, c: C) -> None:
    """The lock is free."""
    s.holder = NONE
    s.crashes_left = c.crashes


@action(client=Client)
def client_asks(s: State, c: C, client: int) -> None:
    """A client asks for the lock."""
    require(s.session[client].phase == Phase.IDLE)
    require(len(s.messages) < c.in_flight, bound=C.in_flight)
    s.session[client].phase = Phase.WAITING
    s.messages.add(client=client, kind=Kind.ASK)


@action(m=InFlight("messages"))
def server_grants(s: State, c: C, m: Message) -> None:
    """The server grants the lock to a client if it is free."""
    require(m.kind == Kind.ASK)
    require(s.holder == NONE)
    s.holder = m.client
    s.messages.remove(m)
    s.messages.add(client=m.client, kind=Kind.GRANT)


@action(m=InFlight("messages"))
def client_takes(s: State, c: C, m: Message) -> None:
    """A waiting client takes the lock; a client that no longer waits, because it crashed, returns it."""
    require(m.kind == Kind.GRANT)
    s.messages.remove(m)
    if s.session[m.client].phase == Phase.WAITING:
        s.session[m.client].phase = Phase.HOLDING
    else:
        s.messages.add(client=m.client, kind=Kind.RELEASE)


@action(client=Client)
def client_releases(s: State, c: C, client: int) -> None:
    """A client releases the lock."""
    require(s.session[client].phase == Phase.HOLDING)
    require(len(s.messages) < c.in_flight, bound=C.in_flight)
    s.session[client].phase = Phase.IDLE
    s.messages.add(client=client, kind=Kind.RELEASE)


@action(m=InFlight("messages"))
def server_frees(s: State, c: C, m: Message) -> None:
    """The server learns that the lock is free."""
    require(m.kind == Kind.RELEASE)
    s.holder = NONE
    s.messages.remove(m)


@action(client=Client)
def client_crashes(s: State, c: C, client: int) -> None:
    """A client crashes and forgets everything; if it held the lock, the server notices the closed connection."""
    require(s.crashes_left > 0, bound=C.crashes)
    require(s.session[client].phase != Phase.IDLE)
    require(len(s.messages) < c.in_flight, bound=C.in_flight)
    s.crashes_left -= 1
    if s.session[client].phase == Phase.HOLDING:
        s.messages.add(client=client, kind=Kind.RELEASE)
    s.session[client].phase = Phase.IDLE


@always
def one_holds(s: State, c: C) -> bool:
    """At most one client holds the lock."""
    return sum(session.phase == Phase.HOLDING for session in s.session) <= 1


@always(client=Client)
def the_server_knows(s: State, c: C, client: int) -> bool:
    """The server knows which client holds the lock."""
    return s.session[client].phase != Phase.HOLDING or s.holder == client


@step(client=Client)
def nobody_takes_it_over(before: State, after: State, c: C, client: int) -> bool:
    """No client holds the lock without having waited for it."""
    return after.session[client].phase != Phase.HOLDING or before.session[client].phase != Phase.IDLE


@sometimes
def everybody_waits(s: State, c: C) -> bool:
    """All clients wait at the same time, so the server has a choice."""
    return all(session.phase == Phase.WAITING for session in s.session)


def waits(s: State, c: C, client: int) -> bool:
    """Return whether a client waits."""
    return s.session[client].phase == Phase.WAITING


def waits_no_longer(s: State, c: C, client: int) -> bool:
    """Return whether a client does not wait."""
    return not waits(s, c, client)


def holds(s: State, c: C, client: int) -> bool:
    """Return whether a client holds the lock."""
    return s.session[client].phase == Phase.HOLDING


def holds_no_longer(s: State, c: C, client: int) -> bool:
    """Return whether a client does not hold the lock."""
    return not holds(s, c, client)


who_waits_gets_it = leads_to(
    "who-waits-gets-it",
    "A waiting client eventually holds the lock if messages arrive and the holder releases it.",
    when=waits,
    then=waits_no_longer,
    fair=(
        strong(server_grants, each="m.client"),
        weak(client_takes, each="m"),
        strong(client_releases, each="client"),
        weak(server_frees, each="m"),
    ),
    client=Client,
)

few_ask_meanwhile = at_most(
    "few-ask-meanwhile",
    "While one client holds the lock, every other client requests it once, and once more after a crash.",
    costs={client_asks: 1},
    unit="requests",
    bound=C.clients + C.crashes,
    when=holds,
    then=holds_no_longer,
    fair=(strong(client_releases, each="client"),),
    client=Client,
)

MACHINE = Machine(
    "lock",
    "Clients that ask a server for a lock",
    State,
    C,
    initial,
    (client_asks, server_grants, client_takes, client_releases, server_frees, client_crashes),
    cast=Cast(parties={"server": None, "client": Client}, fields={"holder": "server"}),  # shown in diagrams
)
PROPERTIES = (one_holds, the_server_knows, nobody_takes_it_over, everybody_waits, who_waits_gets_it, few_ask_meanwhile)
