"""A trace as a Mermaid sequence diagram, with a participant for every party and an arrow for each received message.
Mermaid has no slanted arrows, so a message is drawn in the step that receives it, with a note in the step that sent it.
"""

from collections.abc import Iterable, Iterator

from fencepost.counterexamples.folding import fold
from fencepost.counterexamples.promises import kept
from fencepost.counterexamples.render.parties import ELSEWHERE, Lane
from fencepost.counterexamples.render.story import FORGOTTEN, IN_FLIGHT, LOST, RECEIVED, Event, Flight, Story, story
from fencepost.counterexamples.replay import Replay
from fencepost.counterexamples.states import Change
from fencepost.counterexamples.violating_binding import violated_for

NOTE = 56
"""Width in characters at which a line in the diagram is folded."""
SPECIAL = {"#": "#35;", ";": "#59;", "<": "#lt;", ">": "#gt;", "%": "#37;", "\n": " "}


def render(made: Replay, _model: str = "") -> str:
    history = story(made.trace, made.path)
    lines = ["sequenceDiagram", *(f"    {line}" for line in _lines(made, history))]
    return "\n".join(lines) + "\n"


def _lines(made: Replay, history: Story) -> Iterator[str]:
    lanes = history.parties.lanes
    everyone = _over(lanes)
    yield f"title {_escaped(made.trace.title)}"
    for lane in lanes:
        yield f"participant {_id(lane)} as {_escaped(lane.title)}"
    if not lanes or any(event.actor is None for event in history.events):
        yield f"participant {_id(None)} as {ELSEWHERE}"
    loop = made.path.loop
    for event in history.events:
        if loop == event.number - 1:
            yield "loop forever"
        yield from _event(event)
        for flight in history.flights:
            if flight.fate == FORGOTTEN and flight.ended == event.number:
                dropped = _text(f"{flight.name} is dropped, because it can no longer be observed")
                yield f"Note over {_id(flight.sender)}: {dropped}"
    if loop is not None:
        yield from () if loop == len(history.events) else ("end",)
    for flight in history.flights:
        if flight.fate == IN_FLIGHT:
            yield f"Note over {_id(flight.sender)}: {_text(f'{flight.name} is still in flight')}"
    if made.path.loop is not None:
        again = f"the steps after step {made.path.loop} repeat forever"
        ends = made.path.loop + 1 == made.path.length
        yield f"Note over {everyone}: {_text('nothing more happens' if ends else again)}"
    promises = kept(made.trace, made.path)
    if promises:
        yield f"Note over {everyone}: {_text('The loop is fair:', *promises)}"
    count = "1 state" if made.path.length == 1 else f"{made.path.length} states"
    yield f"Note over {everyone}: {_text(f'{violated_for(made.trace, made.path)}: {count}')}"


def _event(event: Event) -> Iterator[str]:
    actor = event.actor
    for flight in event.takes:
        yield from _arrival(event, flight)
    for signal in event.signals:
        if signal.receiver == actor:
            yield f"{_id(signal.sender)}-->>{_id(actor)}: {_text(signal.text or f'read in step {event.number}')}"
    notes = [
        f"{event.number} {event.step.action.label} {event.brief}".rstrip(),
        *_changed(event.changed.get(actor, ()), actor),
    ]
    notes += [f"sends {flight.name} {flight.text}" for flight in event.sends]
    if actor is not None:
        notes += _changed(event.changed.get(None, ()), None)
    yield f"Note over {_id(actor)}: {_text(*notes)}"
    for signal in event.signals:
        if signal.sender == actor:
            changed = _changed(event.changed.get(signal.receiver, ()), signal.receiver)
            yield f"{_id(actor)}->>{_id(signal.receiver)}: {_text(*(changed or [signal.text]))}"
    for lane, changes in event.changed.items():
        if actor is None and lane is not None:
            yield f"Note over {_id(lane)}: {_text(*_changed(changes, lane))}"


def _arrival(event: Event, flight: Flight) -> Iterator[str]:
    where = f"sent in step {flight.sent}" if flight.sent else "in flight initially"
    if flight.fate == RECEIVED:
        text = _text(f"{flight.name} {flight.text}", f"({where})")
        yield f"{_id(flight.sender or flight.receiver)}-){_id(flight.receiver)}: {text}"
    else:
        how = "is lost" if flight.fate == LOST else f"is removed in step {event.number}"
        yield f"Note over {_id(flight.sender or event.actor)}: {_text(f'{flight.name}, {where}, {how}')}"


def _changed(found: Iterable[Change], lane: Lane | None) -> list[str]:
    number = lane.title.rpartition(" ")[2] if lane else ""
    lines = []
    for change in found:
        first, dot, inner = change.label.partition(".")
        label = inner if first.endswith(f"[{number}]") and number.isdigit() else f"{first}{dot}{inner}"
        lines.append(f"{label}.{change}" if label else str(change))
    return [line.replace(" -> ", " → ") for line in lines]


def _over(lanes: tuple[Lane, ...]) -> str:
    if not lanes:
        return _id(None)
    return _id(lanes[0]) if len(lanes) == 1 else f"{_id(lanes[0])},{_id(lanes[-1])}"


def _id(lane: Lane | None) -> str:
    return "E" if lane is None else f"P{lane.place}"


def _text(*paragraphs: str) -> str:
    lines = [line for paragraph in paragraphs for line in fold(paragraph, NOTE)]
    return "<br/>".join(map(_escaped, lines))


def _escaped(text: str) -> str:
    return "".join(SPECIAL.get(sign, sign) for sign in text)
