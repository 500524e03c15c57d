"""Guards that stand on one line, and a `normalize` that a step property must not see."""

from typing import Annotated

from fencepost.model.language import Bag, Constants, Machine, Range, Record, Size, action, bound, require, step

Small = Annotated[int, Range(0, 3)]


class C(Constants):
    sends = bound(2, low=0, high=3, meaning="messages that are sent")


class Message(Record):
    """A number, and one that `normalize` drops."""

    number: Small
    mark: Small


class State(Record):
    sent: Small
    box: Annotated[Bag[Message], Size(C.sends)]


@action()
def initial(s: State, c: C) -> None:
    """Nothing was sent."""


@action(number=Range(0, 3))
def send(s: State, c: C, number: int) -> None:
    """A message is sent, each with another mark."""
    require(number > 0); require(number < 3); require(s.sent < c.sends)  # fmt: skip # noqa: E702 (what it is for)
    s.sent += 1
    s.box.add(number=number, mark=s.sent)


def normalize(s: State, c: C) -> None:
    """Drop the marks, and turn numbers round, so that messages change places."""
    for m in s.box:
        if m.mark > 0:
            m.number = 3 - m.number
        m.mark = 0


def ascends(s: State) -> bool:
    last = 3
    for m in s.box:
        if m.number > last:
            return False
        last = m.number
    return True


@step()
def what_is_sent_is_marked(before: State, after: State, c: C) -> bool:
    """A step property sees the bag in order, and what `normalize` will drop."""
    return ascends(before) and ascends(after) and any(m.mark == after.sent for m in after.box)


MACHINE = Machine("lines", "Guards on one line", State, C, initial, (send,), normalize)
PROPERTIES = (what_is_sent_is_marked,)
