"""A lossy network: messages are resent with the same number, and the receiver acts on each number once."""

from typing import Annotated

from fencepost.model.language import (
    Bag,
    Cast,
    Constants,
    InFlight,
    Machine,
    Range,
    Record,
    Size,
    action,
    always,
    bound,
    require,
    sometimes,
)


class C(Constants):
    orders = bound(2, low=1, high=3, meaning="orders")
    losses = bound(1, low=0, high=3, meaning="messages that the network loses")


class Order(Record):
    """An order with its number."""

    number: Annotated[int, Range(0, C.orders)]


class State(Record):
    orders: Annotated[Bag[Order], Size(2)]
    sent: Annotated[int, Range(0, C.orders)]
    done: Annotated[int, Range(0, C.orders)]
    losses_left: Annotated[int, Range(0, C.losses)]


@action()
def initial(s: State, c: C) -> None:
    """No order has been sent."""
    s.losses_left = c.losses


@action()
def order(s: State, c: C) -> None:
    """The customer sends the next order once the last one is done."""
    require(s.sent < c.orders and s.sent == s.done)
    require(len(s.orders) < 2)
    s.sent += 1
    s.orders.add(number=s.sent)


@action()
def send_again(s: State, c: C) -> None:
    """The customer sends the order again, in case it was lost."""
    require(s.done < s.sent)
    require(len(s.orders) < 2)
    s.orders.add(number=s.sent)


@action(m=InFlight("orders"))
def receive(s: State, c: C, m: Order) -> None:
    """The shop carries out an order, unless it has already done so."""
    s.orders.remove(m)
    if m.number == s.done + 1:
        s.done += 1


@action(m=InFlight("orders"))
def lose(s: State, c: C, m: Order) -> None:
    """The network loses a message."""
    require(s.losses_left > 0, bound=C.losses)
    s.losses_left -= 1
    s.orders.remove(m)


@always
def nothing_is_done_twice(s: State, c: C) -> bool:
    """No more orders are carried out than were sent."""
    return s.done <= s.sent


@sometimes
def all_is_done(s: State, c: C) -> bool:
    """All orders are carried out although one message was lost."""
    return s.done == c.orders and s.losses_left == 0


CAST = Cast(
    parties={"customer": None, "shop": None},
    fields={"sent": "customer", "done": "shop"},
    actors={"order": "customer", "send_again": "customer"},
    receivers={"Order": "shop"},
)
MACHINE = Machine(
    "lossy-network", "Orders that are resent", State, C, initial, (order, send_again, receive, lose), cast=CAST
)
PROPERTIES = (nothing_is_done_twice, all_is_done)
