"""The parties of a protocol: brokers, the controller, clients. Each party has a lane in a diagram.

The code works with any schema. An array of records or values indexed by the acting party has a lane for each element. A
record of the state has a lane too, unless the protocol's cast names an owner for all such records.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from fencepost.counterexamples.states import is_aside
from fencepost.model.language.actions import Action
from fencepost.model.language.domains import NONE, Domain, Index, InFlight, Linear, domain_of
from fencepost.model.language.errors import ModelError
from fencepost.model.language.interpreter import Interpreter, Step
from fencepost.model.language.records import ArrayOf, Channel, Key, Nested, Record, Scalar, fields

ELSEWHERE = "environment"
"""Lane for steps that no party takes, such as steps of the network or of an operator."""


class Lane(NamedTuple):
    place: int
    title: str


@dataclass(frozen=True)
class Parties:
    plain: Interpreter
    lanes: tuple[Lane, ...]
    arrays: dict[str, dict[int, Lane]]
    """Lanes, keyed by field of the state and then by index of the array."""
    records: dict[str, Lane]
    """Lanes, keyed by field of the state."""
    owner: Lane | None
    counts: dict[str, dict[int, Lane]]
    """Lanes, keyed by the text of the domain that indexes them."""

    def indexed(self, domain: Domain | InFlight, value: Any) -> Lane | None:
        if not isinstance(domain, Index) or value == NONE:
            return None
        return self.counts.get(_text(domain.count), {}).get(int(value))

    def named(self, step: Step) -> dict[str, Lane]:
        found: dict[str, Lane] = {}
        for (name, domain), value in zip(step.action.params, step.args, strict=True):
            pairs = [(name, domain, value)]
            if isinstance(domain, InFlight):
                record = self.plain.message_class(domain)
                pairs = [
                    (inner, field.domain, item)
                    for (inner, field), item in zip(fields(record), value, strict=True)
                    if isinstance(field, Scalar)
                ]
            for inner, kind, item in pairs:
                lane = self.indexed(kind, item)
                if lane is not None:
                    found.setdefault(inner, lane)
        return found

    def of_field(self, label: str, name: str) -> Lane | None:
        """Return the owner of a field. `label` is an array element, such as `replica[1].follower[0]`, or empty."""
        if label:
            array, _, rest = label.partition("[")
            index = int(rest.partition("]")[0])
            return self.arrays.get(array, {}).get(index) or self.records.get(array.partition(".")[0], self.owner)
        field = name.partition(".")[0]
        return self.records.get(field, None if self.is_nobodys(field) else self.owner)

    def is_nobodys(self, field: str) -> bool:
        return is_aside(field) or field in self.plain.machine.cast.nobodys

    def meant(self, text: str, step: Step, state: Key) -> Lane | None:
        named = self.named(step)
        titles = {lane.title: lane for lane in self.lanes}
        return (
            named.get(text) or titles.get(text) or (self._at(text, step, state) if "." in text or "[" in text else None)
        )

    def _at(self, path: str, step: Step, key: Key) -> Lane | None:
        state = value = self.plain.schema.restore(key)
        record: type[Record] = self.plain.machine.state
        known = {name: item for (name, _), item in zip(step.action.params, step.args, strict=True)}
        domain: Domain | None = None
        for part in path.split("."):
            name, _, index = part.rstrip("]").partition("[")
            kind = dict(fields(record)).get(name)
            if kind is None or (index and index not in known and not hasattr(state, index)):
                raise ModelError(
                    f"Cast: in path {path!r} of action {step.action.label!r}, {record.__name__} has no field {part!r}."
                )
            value = getattr(value, name)
            if index and isinstance(kind, ArrayOf):
                value, kind = value[known[index] if index in known else getattr(state, index)], kind.element
            if isinstance(kind, Nested):
                record = kind.record
            domain = kind.domain if isinstance(kind, Scalar) else None
        return None if domain is None else self.indexed(domain, value)

    def actor(self, step: Step, touched: list[Lane], before: Key) -> Lane | None:
        """Return the party that takes a step: the one that the cast or the action names, or that the step changes."""
        declared = self.plain.machine.cast.actors.get(step.action.name)
        if declared is not None:
            return self.meant(declared, step, before)
        named = self.named(step)
        titles = {lane.title: lane for lane in self.lanes}
        for word in step.action.name.split("_"):
            if word in named or word in titles:
                return named.get(word) or titles[word]
        takes_message = any(isinstance(domain, InFlight) for _, domain in step.action.params)
        receiver = None if self.may_lose(step) else self._receiver_of(step)
        if receiver is not None:
            return receiver
        own = [lane for lane in named.values() if lane in touched] or touched
        rest = [] if takes_message else list(named.values())
        return next(iter([*own, *rest]), None)

    def may_lose(self, step: Step) -> bool:
        losses = self.plain.machine.cast.losses
        if losses is not None:
            return step.action.name in losses
        return any(word in LOSING for word in step.action.name.split("_"))

    def sender(self, record: type[Record], key: Key) -> Lane | None:
        return self._declared(self.plain.machine.cast.senders, record, key)

    def receiver(self, record: type[Record], key: Key) -> Lane | None:
        return self._declared(self.plain.machine.cast.receivers, record, key)

    def _receiver_of(self, step: Step) -> Lane | None:
        for (_, domain), value in zip(step.action.params, step.args, strict=True):
            if isinstance(domain, InFlight):
                return self.receiver(self.plain.message_class(domain), value)
        return None

    def _declared(self, by_class: Mapping[str, str], record: type[Record], key: Key) -> Lane | None:
        name = by_class.get(record.__name__)
        if name is None:
            return None
        for (inner, field), value in zip(fields(record), key, strict=True):
            if inner == name and isinstance(field, Scalar):
                return self.indexed(field.domain, value)
        return next((lane for lane in self.lanes if lane.title == name), None)


LOSING = ("lose", "loses", "lost", "loss", "drop", "drops", "dropped")


def parties(plain: Interpreter) -> Parties:
    machine, schema = plain.machine, plain.schema
    words = {word for item in machine.actions for word in item.name.split("_")}
    acting: dict[str, list[str]] = {}
    for item in machine.actions:
        for name, domain in _acting(plain, item):
            acting.setdefault(_text(domain.count), []).append(name)
    lanes: list[Lane] = []
    arrays: dict[str, dict[int, Lane]] = {}
    counts: dict[str, dict[int, Lane]] = {}
    records: dict[str, Lane] = {}

    def add(title: str) -> Lane:
        lanes.append(Lane(len(lanes), title))
        return lanes[-1]

    owner = add(machine.cast.owner) if machine.cast.owner else None
    for noun, alias in machine.cast.parties.items():
        which = None if alias is None else domain_of(alias)
        if isinstance(which, Index):
            count = which.count.value(plain.constants.values)
            counts[_text(which.count)] = {index: add(f"{noun} {index}") for index in range(count)}
        else:
            add(noun)
    known = {lane.title: lane for lane in lanes}
    records |= {name: known[party] for name, party in machine.cast.fields.items()}
    for name, field in fields(machine.state):
        if name in records:
            continue
        is_nobodys = is_aside(name) or name in machine.cast.nobodys
        if isinstance(field, ArrayOf) and not is_aside(name) and _text(field.length) in {**acting, **counts}:
            of = _text(field.length)
            if of not in counts:
                agree = isinstance(field.element, Scalar) or (len(set(acting[of])) == 1 and name not in words)
                noun = machine.cast.names.get(name, acting[of][0] if agree else name)
                counts[of] = {index: add(f"{noun} {index}") for index in range(schema.length(field))}
            arrays[name] = counts[of]
        elif isinstance(field, Nested) and not (issubclass(field.record, Channel) or is_nobodys or owner):
            records[name] = add(machine.cast.names.get(name, name))
    return Parties(plain, tuple(lanes), arrays, records, owner, counts)


def _acting(plain: Interpreter, item: Action) -> Iterator[tuple[str, Index]]:
    words = item.name.split("_")
    for place, (name, domain) in enumerate(item.params):
        if isinstance(domain, Index) and (place == 0 or name in words):
            yield name, domain
        elif isinstance(domain, InFlight):
            for inner, field in fields(plain.message_class(domain)):
                if isinstance(field, Scalar) and isinstance(field.domain, Index) and inner in words:
                    yield inner, field.domain


def _text(count: Linear) -> str:
    return f"{sorted(count.terms.items())}+{count.offset}"
