"""A trace as one self-contained page: a space-time diagram to click or step through, with each state as pictures.

The page contains its style and script, and loads nothing else. Without scripts, the page shows every step at once. In
the diagram, time runs downwards, each party has a lane, and messages are slanted arrows. Coordinates are in pixels.
"""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from fencepost.counterexamples.history import transitions
from fencepost.counterexamples.prevention import Line, known_as, preventions
from fencepost.counterexamples.promises import kept
from fencepost.counterexamples.render import story
from fencepost.counterexamples.render.parties import ELSEWHERE, Lane
from fencepost.counterexamples.render.pictures import Card, card_html, cards
from fencepost.counterexamples.replay import Replay
from fencepost.counterexamples.sources import place_of, promises
from fencepost.counterexamples.trace import Trace
from fencepost.counterexamples.violating_binding import violated_for, violating_binding
from fencepost.explorers.paths import holds_at_end
from fencepost.model.language.actions import Property
from fencepost.model.language.errors import FencepostError
from fencepost.model.language.interpreter import Path

if TYPE_CHECKING:
    from jinja2 import Environment

LABELS, LANE, ROW, TOP = 290, 140, 40, 46
"""Width of the action column, distance between lanes, distance between steps, and height of the lanes' names."""
GAP = 13
"""Distance of an arrow from the centre of a step's disc."""


class Disc(NamedTuple):
    step: int
    x: float
    y: float
    label: str
    parameters: str


class Arrow(NamedTuple):
    """The arrow of a message or a signal, from step `start` to step `end`. Its label is at `x` and `y`."""

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
    width: int
    height: int
    lanes: tuple[tuple[float, str], ...]
    discs: tuple[Disc, ...]
    arrows: tuple[Arrow, ...]
    row: int = ROW
    top: int = TOP

    @property
    def bottom(self) -> int:
        return self.height - 14


def drawing(history: story.Story) -> Drawing:
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
    def __init__(self, history: story.Story, count: int) -> None:
        self.history, self.count = history, count

    def at(self, place: int) -> float:
        return LABELS + LANE * (place + 0.5)

    def x(self, lane: Lane | None) -> float:
        return self.at(self.count - 1 if lane is None else lane.place)

    def y(self, step: int) -> int:
        return TOP + ROW * step + ROW // 2

    def discs(self) -> Iterator[Disc]:
        for event in self.history.events:
            yield Disc(event.number, self.x(event.actor), self.y(event.number), event.step.action.label, event.brief)

    def arrows(self) -> Iterator[Arrow]:
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

    def flight(self, flight: story.Flight) -> Arrow:
        last = flight.ended or len(self.history.events) + 1
        x, y, end_y = self.x(flight.sender), self.y(flight.sent), self.y(last)
        to = self.x(flight.receiver) if flight.fate == story.RECEIVED else x + LANE * 0.35
        if flight.fate == story.IN_FLIGHT:
            end_y -= ROW // 2
        where = {
            story.RECEIVED: f"received in step {last}",
            story.FORGOTTEN: f"dropped in step {last}, because it can no longer be observed",
        }
        title = f"{flight.name} {flight.text}: sent in step {flight.sent}, {where.get(flight.fate, flight.fate)}"
        kind = flight.fate.replace(" ", "-")
        if abs(to - x) < 1:  # an arrow from a party to itself goes around its lane
            bend = x + LANE * 0.4
            path = f"M{x + GAP:g} {y} C{bend:g} {y} {bend:g} {end_y} {x + GAP:g} {end_y}"
            return Arrow(kind, flight.sent, last, path, title, flight.name, bend, (y + end_y) / 2)
        length = ((to - x) ** 2 + (end_y - y) ** 2) ** 0.5
        dx, dy = (to - x) / length, (end_y - y) / length
        tip = GAP if flight.fate == story.RECEIVED else 0
        path = f"M{x + dx * GAP:.1f} {y + dy * GAP:.1f} L{to - dx * tip:.1f} {end_y - dy * tip:.1f}"
        if flight.fate == story.RECEIVED:
            return Arrow(kind, flight.sent, last, path, title, flight.name, x + (to - x) * 0.5, y + (end_y - y) * 0.5)
        return Arrow(kind, flight.sent, last, path, title, flight.name, to + LANE * 0.3, end_y + 9)


TEMPLATE, FIGURE = "page.html.jinja", "figure.html.jinja"


class Scene(NamedTuple):
    """A state with the step that led to it. Number 0 is the initial state."""

    number: int
    label: str
    parameters: str
    sentence: str
    source: str
    actor: str
    cards: list[Card]
    flying: list[story.Flight]
    taken: Sequence[story.Flight] = ()
    sent: Sequence[story.Flight] = ()
    ended: Sequence[story.Flight] = ()
    folded: str = ""


def render(made: Replay, _model: str = "", *, more: str = "") -> str:
    return _filled(TEMPLATE, {**_content(made, story.story(made.trace, made.path)), "more": more})


def figure(trace: Trace, path: Path) -> str:
    sentence = trace.prop.sentence if trace.prop else ""
    shown = {"finding": violated_for(trace, path), "states": path.length, "sentence": sentence}
    return _filled(FIGURE, {**shown, "drawing": drawing(story.story(trace, path))})


def _filled(template: str, content: dict[str, Any]) -> str:
    page = _templates().get_template(template).render(**content)
    return "\n".join(line.rstrip() for line in page.splitlines() if line.strip()) + "\n"


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("fencepost.counterexamples.render", ".")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def _content(made: Replay, history: story.Story) -> dict[str, Any]:
    trace = made.trace
    found = preventions(trace, made.path)
    first = [item for number, item in enumerate(found) if number == 0 or item.is_usual]
    text = (trace.prop.text or inspect.getdoc(trace.prop.function) or "") if trace.prop else ""
    return {
        "trace": trace,
        "machine": trace.protocol.machine,
        "finding": violated_for(trace, made.path),
        "states": made.path.length,
        "repeats": made.path.loop,
        "fair": kept(trace, made.path),
        "culprit": violating_binding(trace, made.path),
        "drawing": drawing(history),
        "scenes": _scenes(made, history),
        "constants": [pair.partition("=") for pair in trace.constants_text.split()],
        "property": trace.prop,
        "sentences": [" ".join(paragraph.split()) for paragraph in text.split("\n\n") if paragraph.strip()],
        "property_source": place_of(trace.prop.function).shown if trace.prop else "",
        "ending": _ending(made),
        "broken": () if trace.prop else _broken(made),
        "promises": promises(trace.prop) if trace.prop else (),
        "bugs": known_as(trace, found),
        "remedies": first,
        "others": [item for item in found if item not in first],
        "code": _code,
        "card_html": card_html,
    }


def _ending(made: Replay) -> tuple[str, str]:
    trace = made.trace
    if trace.kafka:
        return "Difference", f"After the last step, Kafka {trace.kafka} behaves differently from the model."
    if trace.recorded:
        return "Record", "The controller's steps are recorded; all other steps are assumed."
    return "Deadlock", "No action is enabled in the last state."


def _broken(made: Replay) -> list[tuple[Property, int]]:
    trace, path = made.trace, made.path
    plain, taken = trace.interpreter(), [None, *transitions(trace, path)]
    found = []
    for prop in trace.protocol.every_property:
        if not prop.kind.must_hold or prop.kind.over_behaviours:
            continue
        with suppress(FencepostError):
            for number, step in enumerate(taken):
                if holds_at_end(plain, prop, path.states[: number + 1], step) is False:
                    found.append((prop, number))
                    break
    return sorted(found, key=lambda item: item[1])


def _scenes(made: Replay, history: story.Story) -> list[Scene]:
    start, initial = made.path.start, made.trace.protocol.machine.initial
    flying = [flight for flight in history.flights if not flight.sent]
    shown = cards(history.parties, start, start)
    scenes = [Scene(0, "initial", "", initial.sentence, _source(initial.function), "", shown, flying)]
    steps = zip(history.events, made.path.states, transitions(made.trace, made.path), strict=False)
    for event, before, happened in steps:
        scenes.append(_scene(history, event, cards(history.parties, before, happened.raw)))
    return scenes


def _scene(history: story.Story, event: story.Event, shown: list[Card]) -> Scene:
    number, action = event.number, event.step.action
    ended = (item for item in history.flights if item.ended == number)
    return Scene(
        number,
        action.label,
        event.brief,
        action.sentence,
        _source(action.function),
        event.actor.title if event.actor else "",
        shown,
        [item for item in history.flights if item.sent < number and (not item.ended or item.ended > number)],
        event.takes,
        event.sends,
        [item for item in ended if item.fate in (story.FORGOTTEN, story.LOST, story.GONE)],
        event.folded,
    )


def _source(function: Callable[..., Any]) -> str:
    return place_of(function).shown


def _code(line: Line) -> str:
    return linecache.getline(str(line.place.file), line.place.line).strip()
