"""The space-time diagram of a history: time goes down, a lane for every party, messages as slanted arrows.

Coordinates are in pixels of the drawing; the page draws what is described here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from fencepost.counterexamples.render.parties import ELSEWHERE
from fencepost.counterexamples.render.story import FORGOTTEN, IN_FLIGHT, RECEIVED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.counterexamples.render.parties import Lane
    from fencepost.counterexamples.render.story import Flight, Story

LABELS, LANE, ROW, TOP = 290, 140, 40, 46
"""Width of the actions' column, distance of lanes and of steps, height of the lanes' names."""
GAP = 13
"""How far an arrow stays away from the middle of a step's disc."""


class Disc(NamedTuple):
    """A step at its party."""

    step: int
    x: float
    y: float
    label: str
    parameters: str


class Arrow(NamedTuple):
    """A message or a signal: from step `start` to step `end`, from which on it is drawn as arrived."""

    kind: str
    start: int
    end: int
    path: str
    title: str
    label: str
    x: float
    y: float


@dataclass(frozen=True)
class Drawing:
    """Everything that is drawn."""

    width: int
    height: int
    lanes: tuple[tuple[float, str], ...]
    discs: tuple[Disc, ...]
    arrows: tuple[Arrow, ...]
    row: int = ROW
    top: int = TOP
    labels: int = LABELS

    @property
    def bottom(self) -> int:
        """Where lanes end."""
        return self.height - 14


def drawing(history: Story) -> Drawing:
    """Return the diagram of a history."""
    lanes = [lane.title for lane in history.parties.lanes]
    if not lanes or any(
        item is None for item in (*(e.actor for e in history.events), *(f.sender for f in history.flights))
    ):
        lanes.append(ELSEWHERE)
    made = _Drawing(history, len(lanes))
    return Drawing(
        width=LABELS + LANE * len(lanes),
        height=made.y(len(history.events) + 1) + GAP,
        lanes=tuple((made.at(place), title) for place, title in enumerate(lanes)),
        discs=tuple(made.discs()),
        arrows=tuple(made.arrows()),
    )


class _Drawing:
    """Places in one drawing."""

    def __init__(self, history: Story, count: int) -> None:
        self.history, self.count = history, count

    def at(self, place: int) -> float:
        """Return where a lane is."""
        return LABELS + LANE * (place + 0.5)

    def x(self, lane: Lane | None) -> float:
        """Return where a party's lane is; the last one is that of what happens elsewhere."""
        return self.at(self.count - 1 if lane is None else lane.place)

    def y(self, step: int) -> int:
        """Return where a step is; 0 is the initial state."""
        return TOP + ROW * step + ROW // 2

    def discs(self) -> Iterator[Disc]:
        """Yield a disc for each step."""
        for event in self.history.events:
            yield Disc(event.number, self.x(event.actor), self.y(event.number), event.step.action.label, event.brief)

    def arrows(self) -> Iterator[Arrow]:
        """Yield an arrow for each message and signal."""
        for event in self.history.events:
            for signal in event.signals:
                here, there, y = self.x(signal.sender), self.x(signal.receiver), self.y(event.number)
                sign = 1 if there > here else -1
                end = there - sign * (GAP if signal.receiver == event.actor else 3)
                start = here + sign * (GAP if signal.sender == event.actor else 3)
                path = f"M{start:g} {y} L{end:g} {y}"
                title = f"{signal.sender.title} to {signal.receiver.title}: {signal.text or event.step.action.label}"
                yield Arrow("signal", event.number, event.number, path, title, "", 0, 0)
        for flight in self.history.flights:
            yield self.flight(flight)

    def flight(self, flight: Flight) -> Arrow:
        """Return the arrow of one message, which ends in nothing if nobody received it."""
        last = flight.ended or len(self.history.events) + 1
        x, y, end_y = self.x(flight.sender), self.y(flight.sent), self.y(last)
        to = self.x(flight.receiver) if flight.fate == RECEIVED else x + LANE * 0.35
        if flight.fate == IN_FLIGHT:
            end_y -= ROW // 2
        where = {
            RECEIVED: f"received in step {last}",
            FORGOTTEN: f"dropped in step {last}: it can no longer be observed",
        }
        title = f"{flight.name} {flight.text}: sent in step {flight.sent}, {where.get(flight.fate, flight.fate)}"
        kind = flight.fate.replace(" ", "-")
        if abs(to - x) < 1:  # from a party to itself: around its lane
            bend = x + LANE * 0.4
            path = f"M{x + GAP:g} {y} C{bend:g} {y} {bend:g} {end_y} {x + GAP:g} {end_y}"
            return Arrow(kind, flight.sent, last, path, title, flight.name, bend, (y + end_y) / 2)
        length = ((to - x) ** 2 + (end_y - y) ** 2) ** 0.5
        dx, dy = (to - x) / length, (end_y - y) / length
        tip = GAP if flight.fate == RECEIVED else 0
        path = f"M{x + dx * GAP:.1f} {y + dy * GAP:.1f} L{to - dx * tip:.1f} {end_y - dy * tip:.1f}"
        if flight.fate == RECEIVED:
            return Arrow(kind, flight.sent, last, path, title, flight.name, x + (to - x) * 0.5, y + (end_y - y) * 0.5)
        return Arrow(kind, flight.sent, last, path, title, flight.name, to + LANE * 0.3, end_y + 9)
