"""Clients send numbered requests to a server over a network that loses, delays, reorders and repeats messages.

A client waits for the answer to its request and may send it again meanwhile. The server remembers the last number
of each client, so that a repeated request is answered but not run again; the switch `deduplicate` takes that away.
Made to exercise what a machine with messages can use, most of all bags that hold several equal messages.
"""

from enum import IntEnum
from typing import Annotated

from fencepost.model.language import *

MOST_REQUESTS = 5
"""What `requests` may be at most: the domain of a sum over clients needs a number here."""


class Phase(IntEnum):
    IDLE = 0
    WAITING = 1
    DONE = 2


class Resend(IntEnum):
    NEVER = 0
    WHEN_LOST = 1
    ALWAYS = 2


class C(Constants):
    clients = shape(2, low=1, high=3, meaning="clients")
    requests = bound(1, low=1, high=MOST_REQUESTS, meaning="requests that each client makes")
    resends = capacity(2, low=0, high=4, meaning="requests that are sent again, in all")
    losses = bound(1, low=0, high=5, meaning="messages that get lost, in all")
    resend = choice(Resend.ALWAYS, meaning="when a waiting client may send its request again")
    deduplicate = switch(default=True, meaning="the server runs a request only if its number is new")


Client = Annotated[int, Index(C.clients)]
Number = Annotated[int, Range(0, C.requests)]


class Request(Record):
    client: Client
    number: Number
    again: bool


class Progress(Record):
    number: Number
    repeated: bool


class Response(Record):
    client: Client
    number: Number
    progress: Annotated[Array[Progress], Per(Client)]


class ClientState(Record):
    """A client: `number` is its latest request, `seen` the requests of all clients that it knows to have run."""

    phase: Phase
    number: Number
    seen: Annotated[int, Range(0, C.clients * MOST_REQUESTS)]


class Server(Record):
    """The server: the last request of each client, whether it got one twice, and how many requests really ran."""

    progress: Annotated[Array[Progress], Per(Client)]
    ghost_runs: Annotated[Array[Annotated[int, Range(0, C.requests + C.resends)]], Per(Client)]


class State(Record):
    """Clients, server, network, and what is left of the budgets.

    A client has one request that was not answered and whatever it has sent again: no bag holds more.
    """

    client: Annotated[Array[ClientState], Per(Client)]
    server: Server
    requests: Annotated[Bag[Request], Size(C.clients + C.resends)]
    responses: Annotated[Bag[Response], Size(C.clients + C.resends)]
    resends_left: Annotated[int, Range(0, C.resends)]
    losses_left: Annotated[int, Range(0, C.losses)]


def is_awaited(s: State, m: Response) -> bool:
    client = s.client[m.client]
    return client.phase == Phase.WAITING and client.number == m.number


def on_its_way(s: State, client: int) -> bool:
    number = s.client[client].number
    return any(m.client == client and m.number == number for m in s.requests) or any(
        m.client == client and m.number == number for m in s.responses
    )


@action()
def initial(s: State, c: C) -> None:
    """Nothing is sent and the budgets are whole."""
    s.resends_left = c.resends
    s.losses_left = c.losses


@action(client=Client)
def send(s: State, c: C, client: int) -> None:
    me = s.client[client]
    require(me.phase == Phase.IDLE)
    require(me.number < c.requests)
    me.number += 1
    me.phase = Phase.WAITING
    s.requests.add(client=client, number=me.number, again=False)


@action(client=Client)
def send_again(s: State, c: C, client: int) -> None:
    me = s.client[client]
    require(me.phase == Phase.WAITING)
    require(s.resends_left > 0)
    require(c.resend != Resend.NEVER)
    require(c.resend == Resend.ALWAYS or not on_its_way(s, client))
    s.resends_left -= 1
    s.requests.add(client=client, number=me.number, again=True)


@action(request=InFlight("requests"))
def serve(s: State, c: C, request: Request) -> None:
    """The server runs a request that is new and answers every request with the progress of all clients."""
    last = s.server.progress[request.client]
    is_new = request.number > last.number
    if is_new or not c.deduplicate:
        s.server.ghost_runs[request.client] += 1
    if is_new:
        last.number = request.number
    else:
        last.repeated = True
    s.requests.remove(request)
    answer = s.responses.add(client=request.client, number=request.number)
    for client in range(c.clients):
        answer.progress[client] = s.server.progress[client]


@action(response=InFlight("responses"))
def receive(s: State, c: C, response: Response) -> None:
    me = s.client[response.client]
    require(is_awaited(s, response))
    me.phase = Phase.DONE if me.number == c.requests else Phase.IDLE
    me.seen = sum(p.number for p in response.progress)
    s.responses.remove(response)


@action(request=InFlight("requests"))
def lose_request(s: State, c: C, request: Request) -> None:
    require(s.losses_left > 0)
    s.losses_left -= 1
    s.requests.remove(request)


@action(response=InFlight("responses"))
def lose_response(s: State, c: C, response: Response) -> None:
    require(s.losses_left > 0)
    s.losses_left -= 1
    s.responses.remove(response)


def drop_unawaited(s: State, c: C) -> None:
    """Drop answers that nobody waits for: no client will ever take them."""
    for m in s.responses:
        if not is_awaited(s, m):
            s.responses.remove(m)


@always
def requests_run_once(s: State, c: C) -> bool:
    """The server has run each request at most once; fails without `deduplicate`, if requests are sent again."""
    return all(s.server.ghost_runs[client] <= s.server.progress[client].number for client in range(c.clients))


@always
def answered_requests_have_run(s: State, c: C) -> bool:
    return all(
        s.server.progress[client].number == s.client[client].number
        for client in range(c.clients)
        if s.client[client].phase != Phase.WAITING
    )


@always
def answers_know_their_own_request(s: State, c: C) -> bool:
    """The progress in an answer covers the request that it answers, and is covered by the server's."""
    return all(
        m.progress[m.client].number >= m.number
        and all(m.progress[i].number <= s.server.progress[i].number for i in range(c.clients))
        for m in s.responses
    )


@always
def repeats_are_paid_for(s: State, c: C) -> bool:
    """No more requests are in flight a second time than the budget has paid for."""
    return sum(1 for m in s.requests if m.again) <= c.resends - s.resends_left


@step(on=serve)
def server_never_goes_back(before: State, after: State, c: C, request: Request) -> bool:
    """Serving takes one request out of flight, puts one answer in, and touches the progress of one client only."""
    return (
        len(after.requests) == len(before.requests) - 1
        and len(after.responses) == len(before.responses) + 1
        and all(
            after.server.progress[i].number >= before.server.progress[i].number
            if i == request.client
            else after.server.progress[i].number == before.server.progress[i].number
            for i in range(c.clients)
        )
    )


@step()
def clients_never_forget(before: State, after: State, c: C) -> bool:
    """An answer never tells a client of fewer requests than the one before, as it was made after that was received."""
    return all(
        after.client[i].number >= before.client[i].number and after.client[i].seen >= before.client[i].seen
        for i in range(c.clients)
    )


@sometimes
def everyone_is_done(s: State, c: C) -> bool:
    return all(client.phase == Phase.DONE for client in s.client)


MACHINE = Machine(
    name="mailbox",
    sentence="clients send numbered requests to a server over a network that loses and repeats messages",
    state=State,
    constants=C,
    initial=initial,
    actions=(send, send_again, serve, receive, lose_request, lose_response),
    normalize=drop_unawaited,
    versions=(
        Version("careful", "the server runs a request only if its number is new", {"deduplicate": 1}),
        Version("careless", "the server runs whatever it gets", {"deduplicate": 0}),
    ),
)

PROPERTIES = (
    requests_run_once, answered_requests_have_run, answers_know_their_own_request, repeats_are_paid_for,
    server_never_goes_back, clients_never_forget, everyone_is_done,
)  # fmt: skip
