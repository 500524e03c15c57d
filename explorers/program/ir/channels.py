"""A channel as the record that engines see: an array of messages, and how many of its places are in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.explorers.program.ir.lifted import field_of
from fencepost.explorers.program.ir.nodes import (
    Binary,
    BinaryOp,
    Copy,
    Element,
    Failure,
    For,
    Literal,
    Local,
    Numbers,
    Store,
)
from fencepost.explorers.program.subset.kinds import INT, Arr, Rec
from fencepost.model.language.records import Nested, Scalar, fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.explorers.program.ir.nodes import At, Expression, Slot, Statement, Type
    from fencepost.explorers.program.ir.views import Made
    from fencepost.model.language.records import Record

VALUE = frozenset([Failure.VALUE])
INDEX = frozenset([Failure.INDEX])
NUMBER = frozenset([Failure.NUMBER])


class Channels:
    """What happens to one channel, as statements."""

    def __init__(self, channel: Made, at: At, slot: Callable[[str, Type], Slot]) -> None:
        self.channel, self.at, self.slot = channel, at, slot

    @property
    def message(self) -> type[Record]:
        """The class of the messages."""
        items = field_of(self.channel(), "items", self.at).type
        assert isinstance(items, Arr)
        assert isinstance(items.field.element, Nested)
        return items.field.element.record

    def end(self) -> Expression:
        """Return how many messages there are."""
        return field_of(self.channel(), "items_end", self.at)

    def change(self, by: int) -> Expression:
        """Return how many messages there are, and so many more."""
        return Binary(BinaryOp.ADD, self.end(), Literal(by, at=self.at), at=self.at, checks=NUMBER)

    def count(self, value: Expression) -> Statement:
        """Return a store of the number of messages: it fails where the channel is full, or empty."""
        place = field_of(self.channel(), "items_end", self.at)
        assert isinstance(place.owner.type, Rec)
        kind = dict(fields(place.owner.type.record))["items_end"]
        assert isinstance(kind, Scalar)
        return Store(place, value, kind.domain, at=self.at, checks=VALUE)

    def item(self, index: Expression) -> Element:
        """Return a place in the array."""
        items = field_of(self.channel(), "items", self.at)
        return Element(items, index, at=self.at, checks=INDEX, type=Rec(self.message))

    def moved(self, last: Made) -> list[Statement]:
        """Return a loop that moves all messages but the first a place forward."""
        slot = self.slot("", INT)
        here: Made = lambda: Local(slot, at=self.at)  # noqa: E731 (a node at each call)
        after = Binary(BinaryOp.ADD, here(), Literal(1, at=self.at), at=self.at, checks=NUMBER)
        copy = Copy(self.item(here()), self.item(after), at=self.at)
        return [For(slot, Numbers(Literal(0, at=self.at), last(), at=self.at), (copy,), stores=False, at=self.at)]
