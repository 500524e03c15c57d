"""A lease that one server gives to clients, written without a record for either: a flag for each client, and numbers
of the server."""

from typing import Annotated

from fencepost.model.language import *


class C(Constants):
    clients = shape(2, low=1, high=3, meaning="clients")


Client = Annotated[int, Index(C.clients)]
MaybeClient = Annotated[int, Index(C.clients, none=True)]


class Ask(Record):
    by: Client


class Grant(Record):
    to: Client


class State(Record):
    granted: Annotated[int, Range(0, 3)]
    holder: MaybeClient
    last: Annotated[Array[MaybeClient], Per(Client)]
    leased: Annotated[Array[bool], Per(Client)]
    asks: Annotated[Bag[Ask], Size(2)]
    grants: Annotated[Bag[Grant], Size(2)]


@action()
def initial(s: State, c: C) -> None:
    """Nobody has the lease."""
    s.holder = -1


@action(who=Client)
def wants(s: State, c: C, who: int) -> None:
    require(all(m.by != who for m in s.asks))
    require(not s.leased[who])
    s.asks.add(by=who)


@action(m=InFlight("asks"))
def give(s: State, c: C, m: Ask) -> None:
    require(s.holder == -1)
    s.granted += 1
    s.holder = m.by
    s.last[m.by] = m.by
    s.grants.add(to=m.by)
    s.asks.remove(m)


@action(m=InFlight("asks"))
def refuse(s: State, c: C, m: Ask) -> None:
    require(s.holder != -1)
    s.asks.remove(m)


@action(m=InFlight("grants"))
def take(s: State, c: C, m: Grant) -> None:
    s.leased[m.to] = True
    s.grants.remove(m)
    for other in s.asks:
        if other.by == m.to:
            s.asks.remove(other)


@action(m=InFlight("asks"))
def lose(s: State, c: C, m: Ask) -> None:
    s.asks.remove(m)


@sometimes
def somebody_has_it(s: State, c: C) -> bool:
    """A client has the lease, and no question is left."""
    return any(s.leased) and len(s.asks) == 0


CAST = Cast(
    parties={"server": None, "client": Client},
    fields={"granted": "server", "holder": "server"},
    actors={"wants": "who"},
    senders={"Ask": "by", "Grant": "server"},
    receivers={"Ask": "server", "Grant": "to"},
)
MACHINE = Machine("lease", "A lease", State, C, initial, (wants, give, refuse, take, lose), cast=CAST)
PROPERTIES = (somebody_has_it,)
