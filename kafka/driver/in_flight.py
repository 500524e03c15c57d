"""Messages in flight in Kafka, as the model sees them: equal ones have numbers of their own at the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fencepost.model.language.records import Key

UNKNOWN = -1
"""The number of a message that is not in flight in Kafka: the driver knows none of this number and does nothing."""


class InFlight(dict["Key", list[int]]):
    """The numbers of the messages in flight, by what the model sees of them."""

    def __init__(self, messages: Iterable[tuple[Key, int]]) -> None:
        super().__init__()
        for message, number in messages:
            self.setdefault(message, []).append(number)

    def bag(self) -> Key:
        """Return them as a bag of the model."""
        return tuple(sorted(message for message, numbers in self.items() for _ in numbers))

    def number(self, message: Key) -> int:
        """Return the number of such a message."""
        return self.get(message, [UNKNOWN])[0]

    def beyond(self, bag: Sequence[Key]) -> Iterator[int]:
        """Return the numbers of those that a bag of the model does not have."""
        for message, numbers in self.items():
            yield from numbers[bag.count(message) :]
