"""A queue between a sender and a receiver, with a handshake over a wire on each side.

This is Lamport's `InnerFIFO`, from "Specifying Systems". A wire has a value and two bits, which differ while the
value has not been received. The queue may grow without limit, so the search bounds its length. If a step would exceed
the bound, TLC counts the step but discards the resulting state; here, a guard that names the bound blocks the step.
"""

from typing import Annotated

from fencepost.model.language import (
    Channel,
    Constants,
    Machine,
    Range,
    Record,
    Size,
    action,
    bound,
    capacity,
    require,
    sometimes,
    step,
)


class C(Constants):
    kinds = bound(3, low=1, high=4, meaning="different values")
    length = capacity(3, low=1, high=6, meaning="values that the queue holds")


Bit = Annotated[int, Range(0, 1)]
Value = Annotated[int, Range(0, C.kinds - 1)]


class Wire(Record):
    value: Value
    ready: Bit
    acknowledged: Bit


class Item(Record):
    value: Value


class State(Record):
    incoming: Wire
    outgoing: Wire
    queue: Annotated[Channel[Item], Size(C.length)]


def carries(wire: Wire) -> bool:
    """Return whether a wire carries a value that has not been received."""
    return wire.ready != wire.acknowledged


def put(wire: Wire, value: int) -> None:
    """Send a value over a wire."""
    wire.value = value
    wire.ready = 1 - wire.ready


def take(wire: Wire) -> None:
    """Receive the value that a wire carries."""
    wire.acknowledged = wire.ready


@action(before=Value, after=Value, one=Bit, other=Bit)
def initial(s: State, c: C, before: int, after: int, one: int, other: int) -> None:
    """The queue is empty and no wire carries a value; the values themselves are arbitrary."""
    s.incoming.value = before
    s.incoming.ready = one
    s.incoming.acknowledged = one
    s.outgoing.value = after
    s.outgoing.ready = other
    s.outgoing.acknowledged = other


@action(value=Value)
def send(s: State, c: C, value: int) -> None:
    """The sender sends a value to the queue."""
    require(not carries(s.incoming))
    put(s.incoming, value)


@action()
def enqueue(s: State, c: C) -> None:
    """The queue takes the sender's value."""
    require(carries(s.incoming))
    require(len(s.queue) < c.length, bound=C.length)
    s.queue.add(value=s.incoming.value)
    take(s.incoming)


@action()
def dequeue(s: State, c: C) -> None:
    """The queue sends its first value to the receiver."""
    require(len(s.queue) > 0)
    require(not carries(s.outgoing))
    put(s.outgoing, s.queue[0].value)
    s.queue.popleft()


@action()
def receive(s: State, c: C) -> None:
    """The receiver takes the queue's value."""
    require(carries(s.outgoing))
    take(s.outgoing)


@step(on=dequeue)
def the_oldest_value_is_sent(before: State, after: State, c: C) -> bool:
    """The receiver gets the oldest value in the queue, and the queue drops it."""
    return after.outgoing.value == before.queue[0].value and len(after.queue) == len(before.queue) - 1


@sometimes
def all_is_full(s: State, c: C) -> bool:
    """The queue is full, and both wires carry a value."""
    return len(s.queue) == c.length and carries(s.incoming) and carries(s.outgoing)


MACHINE = Machine("fifo", "A queue between two wires", State, C, initial, (send, enqueue, dequeue, receive))
PROPERTIES = (the_oldest_value_is_sent, all_is_full)
