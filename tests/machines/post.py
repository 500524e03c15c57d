"""Messages between brokers, each of which arrives in the end."""

from typing import Annotated

from fencepost.model.language import *


class C(Constants):
    brokers = shape(2, low=2, high=3, meaning="brokers")
    in_flight = capacity(2, low=1, high=4, meaning="messages in flight")
    sends = bound(2, low=0, high=4, meaning="messages that are sent in all")


Broker = Annotated[int, Index(C.brokers)]


class Message(Record):
    to: Broker
    number: Annotated[int, Range(0, C.sends)]


class State(Record):
    messages: Annotated[Bag[Message], Size(C.in_flight)]
    sent: Annotated[int, Range(0, C.sends)]
    received: Annotated[int, Range(0, C.sends)]


@action()
def initial(s: State, c: C) -> None:
    """Nothing was sent."""


@action(to=Broker)
def send(s: State, c: C, to: int) -> None:
    """Somebody sends the next message."""
    require(s.sent < c.sends)
    require(len(s.messages) < c.in_flight)
    s.messages.add(to=to, number=s.sent)
    s.sent += 1


@action(m=InFlight("messages"))
def receive(s: State, c: C, m: Message) -> None:
    """A broker receives a message, in any order."""
    s.messages.remove(m)
    s.received += 1


@always
def nothing_is_made_up(s: State, c: C) -> bool:
    """Every message was sent before it was received."""
    return s.received + len(s.messages) == s.sent


@sometimes
def all_arrive(s: State, c: C) -> bool:
    """All messages arrive."""
    return s.received == c.sends


def everything_arrived(s: State, c: C) -> bool:
    return s.received == c.sends


everything_arrives = eventually(
    "everything-arrives",
    "Everything is sent and arrives in the end, if no message is put off for ever.",
    then=everything_arrived,
    fair=(weak(send), weak(receive, each="m")),
)

MACHINE = Machine("post", "Messages between brokers", State, C, initial, (send, receive))
PROPERTIES = (nothing_is_made_up, all_arrive, everything_arrives)
