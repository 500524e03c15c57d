"""The alternating bit protocol: each value arrives once, in order, although the channels lose messages.

This is Lamport's `AlternatingBit`. The channels may grow without limit, so the search bounds their length. If a step
would exceed the bound, TLC counts the step but discards the resulting state; in this model, a guard that names the
bound blocks the step.
"""

from typing import Annotated

from fencepost.model.language import (
    Cast,
    Channel,
    Constants,
    Machine,
    Range,
    Record,
    Size,
    action,
    always,
    capacity,
    leads_to,
    require,
    sometimes,
    strong,
    switch,
    weak,
)


class C(Constants):
    messages = capacity(2, low=1, high=4, meaning="messages in flight")
    answers = capacity(2, low=1, high=4, meaning="acknowledgements in flight")
    compares = switch(default=True, meaning="the sender waits until the last value is acknowledged")


Bit = Annotated[int, Range(0, 1)]
Value = Annotated[int, Range(0, 1)]


class Message(Record):
    bit: Bit
    value: Value


class Answer(Record):
    bit: Bit


class State(Record):
    messages: Annotated[Channel[Message], Size(C.messages)]
    answers: Annotated[Channel[Answer], Size(C.answers)]
    sent_bit: Bit
    acknowledged: Bit
    received_bit: Bit
    sent: Value
    received: Value


@action(bit=Bit, sent=Value, received=Value)
def initial(s: State, c: C, bit: int, sent: int, received: int) -> None:
    """Both bits are equal; the values are arbitrary."""
    s.sent_bit = bit
    s.acknowledged = bit
    s.received_bit = bit
    s.sent = sent
    s.received = received


@action(value=Value)
def send(s: State, c: C, value: int) -> None:
    """The sender sends the next value, with the bit flipped, once the last one is acknowledged."""
    require(s.acknowledged == s.sent_bit or not c.compares)
    require(len(s.messages) < c.messages, bound=C.messages)
    bit = 1 - s.sent_bit
    s.sent = value
    s.sent_bit = bit
    s.messages.add(bit=bit, value=value)


@action()
def send_again(s: State, c: C) -> None:
    """The sender resends the last value until it is acknowledged."""
    require(s.acknowledged != s.sent_bit)
    require(len(s.messages) < c.messages, bound=C.messages)
    s.messages.add(bit=s.sent_bit, value=s.sent)


@action()
def receive(s: State, c: C) -> None:
    """The receiver takes the first message; if its bit differs from the last one, it contains a new value."""
    require(len(s.messages) > 0)
    s.received_bit = s.messages[0].bit
    s.received = s.messages[0].value
    s.messages.popleft()


@action()
def acknowledge(s: State, c: C) -> None:
    """The receiver acknowledges the last bit that it received, at any time."""
    require(len(s.answers) < c.answers, bound=C.answers)
    s.answers.add(bit=s.received_bit)


@action()
def hear(s: State, c: C) -> None:
    """The sender takes the first acknowledgement."""
    require(len(s.answers) > 0)
    s.acknowledged = s.answers[0].bit
    s.answers.popleft()


@action(position=Annotated[int, Range(0, C.messages - 1)])
def lose_message(s: State, c: C, position: int) -> None:
    """A message at any position is lost: all others are removed and appended again."""
    require(position < len(s.messages))
    for at in range(len(s.messages)):
        bit, value = s.messages[0].bit, s.messages[0].value
        s.messages.popleft()
        if at != position:
            s.messages.add(bit=bit, value=value)


@action(position=Annotated[int, Range(0, C.answers - 1)])
def lose_answer(s: State, c: C, position: int) -> None:
    """An acknowledgement is lost."""
    require(position < len(s.answers))
    for at in range(len(s.answers)):
        bit = s.answers[0].bit
        s.answers.popleft()
        if at != position:
            s.answers.add(bit=bit)


@always
def what_is_acknowledged_was_received(s: State, c: C) -> bool:
    """If the sender's last value is acknowledged, the receiver has the value's bit; violated if `compares` is off."""
    return s.sent_bit == s.received_bit or s.acknowledged != s.sent_bit


@sometimes
def both_channels_are_full(s: State, c: C) -> bool:
    """Both channels are full."""
    return len(s.messages) == c.messages and len(s.answers) == c.answers


def waits(s: State, c: C, value: int) -> bool:
    return s.sent == value and s.sent_bit != s.acknowledged


def is_received(s: State, c: C, value: int) -> bool:
    return s.received == value


values_arrive = leads_to(
    "values-arrive",
    "A value that was sent eventually arrives, if it is resent repeatedly and is not lost every time.",
    when=waits,
    then=is_received,
    fair=(weak(send_again), weak(acknowledge), strong(receive), strong(hear)),
    value=Value,
)

MACHINE = Machine(
    "alternating-bit",
    "A sender and a receiver connected by channels that lose messages",
    State,
    C,
    initial,
    (send, send_again, receive, acknowledge, hear, lose_message, lose_answer),
    cast=Cast(
        parties={"sender": None, "receiver": None},
        fields={
            "sent_bit": "sender",
            "acknowledged": "sender",
            "sent": "sender",
            "received_bit": "receiver",
            "received": "receiver",
        },
        actors={
            "send": "sender",
            "send_again": "sender",
            "hear": "sender",
            "receive": "receiver",
            "acknowledge": "receiver",
        },
    ),
)
PROPERTIES = (what_is_acknowledged_was_received, both_channels_are_full, values_arrive)
