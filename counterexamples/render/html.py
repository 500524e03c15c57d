"""A trace as one self-contained page: a space-time diagram to click or step through, each state as pictures.

The page asks for nothing from elsewhere: style and script are in it. Without a script it shows every step at once.
"""

from __future__ import annotations

import inspect
import linecache
from typing import TYPE_CHECKING, Any, NamedTuple

from fencepost.counterexamples.history import transitions
from fencepost.counterexamples.prevention import known_as, preventions
from fencepost.counterexamples.promises import kept
from fencepost.counterexamples.render.drawing import drawing
from fencepost.counterexamples.render.markup import card_html
from fencepost.counterexamples.render.pictures import Card, cards
from fencepost.counterexamples.render.story import FORGOTTEN, GONE, LOST, story
from fencepost.counterexamples.sources import place_of, promises
from fencepost.counterexamples.violating_binding import violated_for, violating_binding

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.counterexamples.prevention import Line
    from fencepost.counterexamples.render.story import Event, Flight, Story
    from fencepost.counterexamples.replay import Replay
    from fencepost.counterexamples.trace import Trace
    from fencepost.model.language.actions import Property
    from fencepost.model.language.interpreter import Path

TEMPLATE, FIGURE = "page.html.jinja", "figure.html.jinja"


class Scene(NamedTuple):
    """One state with the step that led to it; `number` 0 is the initial state."""

    number: int
    label: str
    parameters: str
    sentence: str
    source: str
    actor: str
    cards: list[Card]
    taken: list[Flight]
    sent: list[Flight]
    flying: list[Flight]
    ended: list[Flight]
    folded: str


def render(made: Replay, _model: str = "", *, more: str = "") -> str:
    """Return the page as text; `more` is a piece of HTML that stands at its end."""
    return _filled(TEMPLATE, {**_content(made, story(made.trace, made.path)), "more": more})


def figure(trace: Trace, path: Path) -> str:
    """Return the diagram alone, as a piece of a page that is somebody else's."""
    sentence = trace.prop.sentence if trace.prop else ""
    shown = {"finding": violated_for(trace, path), "states": path.length, "sentence": sentence}
    return _filled(FIGURE, {**shown, "drawing": drawing(story(trace, path))})


def _filled(template: str, content: dict[str, Any]) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("fencepost.counterexamples.render", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template(template).render(**content)
    return "\n".join(line.rstrip() for line in page.splitlines() if line.strip()) + "\n"


def _content(made: Replay, history: Story) -> dict[str, Any]:
    trace = made.trace
    found = preventions(trace, made.path)
    first = [item for number, item in enumerate(found) if number == 0 or item.is_usual]
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
        "sentences": _paragraphs(trace.prop),
        "property_source": place_of(trace.prop.function).shown if trace.prop else "",
        "promises": promises(trace.prop) if trace.prop else (),
        "bugs": known_as(trace, found),
        "remedies": first,
        "others": [item for item in found if item not in first],
        "code": _code,
        "card_html": card_html,
    }


def _scenes(made: Replay, history: Story) -> list[Scene]:
    start, initial = made.path.start, made.trace.protocol.machine.initial
    flying = [flight for flight in history.flights if not flight.sent]
    scenes = [
        Scene(
            0,
            "initial",
            "",
            initial.sentence,
            _source(initial.function),
            "",
            cards(history.parties, start, start),
            [],
            [],
            flying,
            [],
            "",
        )
    ]
    steps = zip(history.events, made.path.states, transitions(made.trace, made.path), strict=False)
    for event, before, happened in steps:
        scenes.append(_scene(history, event, cards(history.parties, before, happened.raw)))
    return scenes


def _scene(history: Story, event: Event, shown: list[Card]) -> Scene:
    number = event.number
    return Scene(
        number,
        event.step.action.label,
        event.brief,
        event.step.action.sentence,
        _source(event.step.action.function),
        event.actor.title if event.actor else "",
        shown,
        event.takes,
        event.sends,
        [item for item in history.flights if item.sent < number and (not item.ended or item.ended > number)],
        [item for item in history.flights if item.ended == number and item.fate in (FORGOTTEN, LOST, GONE)],
        event.folded,
    )


def _source(function: Callable[..., Any]) -> str:
    return place_of(function).shown


def _code(line: Line) -> str:
    """Return the line of a model as it stands there."""
    return linecache.getline(str(line.place.file), line.place.line).strip()


def _paragraphs(prop: Property | None) -> list[str]:
    text = (prop.text or inspect.getdoc(prop.function) or "") if prop else ""
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n") if paragraph.strip()]
