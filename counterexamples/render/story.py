"""A path for diagrams: the party that takes each step, the changes in each lane, and the messages.

A message is followed from the step that adds it to a bag or channel to the step that removes it, even if `normalize`
renumbers it. If a party reads another party's state without a message, a signal within one step connects the two.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fencepost.counterexamples.history import FOLDED, folded, transitions
from fencepost.counterexamples.render.parties import Lane, Parties, parties
from fencepost.counterexamples.states import Change, changes, difference
from fencepost.counterexamples.trace import Trace
from fencepost.model.language.domains import InFlight
from fencepost.model.language.interpreter import Path, Step, Transition
from fencepost.model.language.printing import show_message
from fencepost.model.language.records import ArrayOf, BagOf, Channel, FieldType, Key, Nested, Record, Scalar, fields

RECEIVED, FORGOTTEN, LOST, IN_FLIGHT, GONE = "received", "forgotten", "lost", "in flight", "taken out"
"""How a message ends: an action receives it as its parameter (`lost` if the action loses it), `normalize` drops it, it
is still in flight at the end, or an unrelated step removes it.
"""


@dataclass
class Flight:
    """A message. Steps are numbered from 1. `sent` is 0 for a message in the initial state, and `ended` is 0 for a
    message that is still in flight.
    """

    number: int
    bag: str
    record: type[Record]
    key: Key
    sender: Lane | None
    sent: int
    receiver: Lane | None = None
    ended: int = 0
    fate: str = IN_FLIGHT
    first: Key = ()

    @property
    def name(self) -> str:
        return f"{self.record.__name__} {self.number}"

    @property
    def text(self) -> str:
        return show_message(self.record, self.first)


class Signal(NamedTuple):
    """A step that informs another party or reads another party's state, without a message in a bag or channel."""

    sender: Lane
    receiver: Lane
    text: str


@dataclass
class Event:
    """A step: its text, its actor, its changes by party (ghosts and budgets: None), and the changes by `normalize`."""

    number: int
    step: Step
    text: str
    actor: Lane | None
    changed: dict[Lane | None, list[Change]]
    folded: str
    brief: str = ""
    """Parameters of the action, with messages by name, as in `m=AlterPartition 1`."""
    signals: list[Signal] = field(default_factory=list)
    sends: list[Flight] = field(default_factory=list)
    takes: list[Flight] = field(default_factory=list)


@dataclass(frozen=True)
class Story:
    parties: Parties
    events: tuple[Event, ...]
    flights: tuple[Flight, ...]


def story(trace: Trace, path: Path) -> Story:
    plain = trace.interpreter()
    found = parties(plain)
    mail = Mail(found, path.start)
    events = []
    for number, (before, happened) in enumerate(zip(path.states, transitions(trace, path), strict=False), 1):
        event = event_of(found, number, before, happened)
        event.takes, event.sends = mail.follow(event, before, happened)
        events.append(event)
    return Story(found, tuple(events), tuple(mail.flights))


def event_of(found: Parties, number: int, before: Key, happened: Transition) -> Event:
    record = found.plain.machine.state
    changed: dict[Lane | None, list[Change]] = {}
    for lane, change in _by_lane(found, record, before, happened.raw):
        changed.setdefault(lane, []).append(change)
    clause = folded(record, happened.raw, happened.after)
    actor = found.actor(happened.step, [lane for lane in changed if lane is not None], before)
    event = Event(
        number, happened.step, found.plain.show(happened.step), actor, changed, f"{clause} {FOLDED}" if clause else ""
    )
    event.signals = list(_signals(found, event, before, happened.raw))
    return event


def _by_lane(found: Parties, record: type[Record], before: Key, after: Key) -> Iterator[tuple[Lane | None, Change]]:
    kinds, places = dict(fields(record)), {name: place for place, (name, _) in enumerate(fields(record))}
    for change in changes(record, before, after):
        if change.is_message:
            continue
        kind = kinds.get(change.name) if not change.label else None
        if isinstance(kind, ArrayOf) and isinstance(kind.element, Scalar) and change.name in found.arrays:
            show, place = kind.element.domain.show, places[change.name]
            for index, (old, new) in enumerate(zip(before[place], after[place], strict=True)):
                if old != new:
                    yield found.arrays[change.name].get(index), Change("", change.name, show(old), show(new))
        else:
            yield found.of_field(change.label, change.name), change


def _signals(found: Parties, event: Event, before: Key, after: Key) -> Iterator[Signal]:
    actor = event.actor
    if actor is None:
        return
    named, cast, name = found.named(event.step), found.plain.machine.cast, event.step.action.name
    teacher = found.meant(cast.arrows.get(name, ""), event.step, before)
    pupil = found.meant(cast.tells.get(name, ""), event.step, after)
    if teacher is not None and teacher != actor:
        yield Signal(teacher, actor, "")
    for lane, changed in event.changed.items():
        if lane not in (None, actor, teacher):
            assert lane is not None
            yield Signal(actor, lane, ", ".join(dict.fromkeys(change.name for change in changed)))
    if pupil is not None and pupil != actor and pupil not in event.changed:
        yield Signal(actor, pupil, f"informed in step {event.number}")
    for name, domain in event.step.action.params:
        other = None if isinstance(domain, InFlight) else named.get(name)
        if (
            other is not None
            and other not in (actor, teacher, pupil)
            and other not in event.changed
            and actor != found.owner
        ):
            yield Signal(other, actor, "")


class Way(NamedTuple):
    name: str
    record: type[Record]
    at: tuple[int, ...]
    in_order: bool

    def messages(self, state: Key) -> Key:
        for place in self.at:
            state = state[place]
        return state[0][: state[1]] if self.in_order else state


def _ways(name: str, kind: FieldType, at: tuple[int, ...], start: Key) -> Iterator[Way]:
    if isinstance(kind, BagOf):
        yield Way(name, kind.record, at, in_order=False)
    elif isinstance(kind, Nested) and issubclass(kind.record, Channel):
        items = dict(fields(kind.record))["items"]
        assert isinstance(items, ArrayOf)
        assert isinstance(items.element, Nested)
        yield Way(name, items.element.record, at, in_order=True)
    elif isinstance(kind, ArrayOf):
        own: Any = start
        for place in at:
            own = own[place]
        for index in range(len(own)):
            yield from _ways(f"{name}[{index}]", kind.element, (*at, index), start)


class Mail:
    def __init__(self, found: Parties, start: Key) -> None:
        state = found.plain.machine.state
        self.parties = found
        self.bags = [
            way for place, (name, kind) in enumerate(fields(state)) for way in _ways(name, kind, (place,), start)
        ]
        self.flights: list[Flight] = []
        self.counts = Counter[type[Record]]()
        for way in self.bags:
            for key in way.messages(start):
                self.send(way.name, way.record, key, None, 0)

    def send(self, bag: str, record: type[Record], key: Key, sender: Lane | None, number: int) -> Flight:
        self.counts[record] += 1
        sender = self.parties.sender(record, key) or sender
        self.flights.append(Flight(self.counts[record], bag, record, key, sender, number, first=key))
        return self.flights[-1]

    def follow(self, event: Event, before: Key, happened: Transition) -> tuple[list[Flight], list[Flight]]:
        taken: list[Flight] = []
        sent: list[Flight] = []
        params = zip(happened.step.action.params, happened.step.args, strict=True)
        held = {(domain.bag, value) for (_, domain), value in params if isinstance(domain, InFlight)}
        event.brief = " ".join(self.briefly(happened.step))
        for way in self.bags:
            gone, come = difference(way.messages(before), way.messages(happened.raw))
            for key in gone:
                flight = self.flying(way.name, key)
                receiver = self.parties.receiver(way.record, key) or event.actor
                is_taken = (way.name, key) in held or (way.in_order and receiver is not None)
                flight.ended, flight.fate = event.number, self.fate(event, is_taken=is_taken)
                if flight.fate == RECEIVED:
                    flight.receiver = receiver
                taken.append(flight)
            sent += [self.send(way.name, way.record, key, event.actor, event.number) for key in come]
            self.normalize(way.name, way.messages(happened.raw), way.messages(happened.after), event.number)
        return taken, sent

    def fate(self, event: Event, *, is_taken: bool) -> str:
        losses = self.parties.plain.machine.cast.losses
        if self.parties.may_lose(event.step) and (losses is not None or event.actor is None):
            return LOST
        return RECEIVED if is_taken else GONE

    def briefly(self, step: Step) -> Iterator[str]:
        for (name, domain), value in zip(step.action.params, step.args, strict=True):
            text = self.flying(domain.bag, value).name if isinstance(domain, InFlight) else domain.show(value)
            yield f"{name}={text}"

    def normalize(self, bag: str, raw: Iterable[Key], after: Iterable[Key], number: int) -> None:
        """Match each message that `normalize` renumbers with the most similar message, and mark dropped messages."""
        gone, come = difference(raw, after)
        for key in come:
            old = max(gone, key=lambda item: sum(a == b for a, b in zip(item, key, strict=True)))
            gone.remove(old)
            self.flying(bag, old).key = key
        for key in gone:
            flight = self.flying(bag, key)
            flight.ended, flight.fate = number, FORGOTTEN

    def flying(self, bag: str, key: Key) -> Flight:
        return next(item for item in self.flights if not item.ended and item.bag == bag and item.key == key)
