"""States built by hand from named fields. A user can take actions in these states, and see which guards block an action
and which properties hold.

lock = f.in_hand("lock.py", clients=2) | s = lock.state(holder=0, session={0: {"phase": Phase.HOLDING}}) | lock.take(s,
"client-releases", client=0) # or, as `lock.steps(s)` writes it: "client-releases client=0"
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral
from pathlib import Path
from typing import Any

from fencepost.api.answers.counterexample import changes_of
from fencepost.api.asking.arguments import call
from fencepost.api.asking.targets import ask
from fencepost.counterexamples.states import parts
from fencepost.counterexamples.values import arguments, describe
from fencepost.explorers.paths import values_of
from fencepost.explorers.program.subset.program import check, guards_of
from fencepost.invariants.protocols import Protocol
from fencepost.model.language import Constants, Machine, Property, records
from fencepost.model.language.actions import Action
from fencepost.model.language.domains import Domain, InFlight
from fencepost.model.language.errors import DisabledError, UsageError, require_known
from fencepost.model.language.interpreter import Interpreter, Step


class Held:
    """A state whose fields are read as in a model. States with equal contents are equal."""

    def __init__(self, hand: InHand, key: records.Key) -> None:
        self._hand, self._key = hand, key
        self._record = hand.plain.schema.restore(key)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._record, name)

    def __copy__(self) -> Held:
        return Held(self._hand, self._key)

    def __deepcopy__(self, _: dict[int, Any]) -> Held:
        return Held(self._hand, self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        lines = []
        for part in parts(self._hand.machine.state, self._key):
            shown = [
                f"{cell.name} {cell.text}"
                if cell.messages is None
                else f"{cell.name} {' '.join(cell.messages) or 'empty'}"
                for cell in part.cells
            ]
            if shown:
                lines.append(f"{part.label}: {', '.join(shown)}" if part.label else ", ".join(shown))
        return "\n".join(lines)

    def changes_to(self, after: Held) -> list[str]:
        """Return the differences from another state, with one difference per line."""
        return list(changes_of(self._hand.machine.state, self._key, after._key))


class InHand:
    """A machine with given constants, tried by hand under the plain semantics."""

    def __init__(self, machine: Machine, properties: tuple[Property, ...], plain: Interpreter) -> None:
        self.machine, self.properties, self.plain = machine, properties, plain
        self.guards = guards_of(check(machine, properties))

    def initial(self) -> list[Held]:
        return [Held(self, key) for key in self.plain.initial_states()]

    def state(self, start: Held | None = None, /, **values: Any) -> Held:
        """Return the first initial state, or the state `like`, with the named fields changed.

        A record accepts a dictionary, an array accepts a list or a dictionary by index, and a bag or a channel accepts
        a list of messages. A number may be written as the word that traces use, such as `holder="none"` or
        `phase="holding"`.
        """
        record = self.plain.schema.restore((start or self.initial()[0])._key)
        _fill(record, self.machine.state, values)
        return Held(self, self.plain.schema.key(record))

    def steps(self, state: Held) -> list[str]:
        """Return every possible step, written as in a trace."""
        return [self.plain.show(item.step) for item in self.plain.transitions(state._key)]

    def take(self, state: Held, action: str, /, **values: Any) -> Held:
        """Return the state after an action; if a guard blocks the action, raise UsageError and name the guard."""
        step = self._step(state, action, values)
        try:
            return Held(self, self.plain.apply(state._key, step).after)
        except DisabledError as error:
            raise UsageError(
                f"{self.plain.show(step)} is not possible here, because {self._refusal(step, error)}: take another "
                "step, or start from another state."
            ) from error

    def why_not(self, state: Held, action: str, /, **values: Any) -> str:
        """Return the guard that blocks an action, or an empty string if the action is enabled."""
        step = self._step(state, action, values)
        try:
            self.plain.apply(state._key, step)
        except DisabledError as error:
            return self._refusal(step, error)
        return ""

    def holds(self, state: Held, name: str) -> bool:
        found, name = {item.name: item for item in self.properties}, name.replace("_", "-")
        require_known((name,), found, f"protocol {self.machine.name!r} has no property", "The properties are")
        prop = found[name]
        if prop.over_steps or prop.eventual is not None:
            raise UsageError(
                f"property {prop.name!r} concerns more than one state: name an @always or a @sometimes property."
            )
        return self.plain.holds(prop, state._key)

    def _refusal(self, step: Step, error: DisabledError) -> str:
        number = self.guards.refused(step.action, error)
        if number >= 0:
            return f"`require({self.guards.texts(step.action)[number]})` refuses"
        return "the message is not in flight"

    def _step(self, state: Held, name: str, values: Mapping[str, Any]) -> Step:
        label, _, written = name.strip().partition(" ")
        item = self.machine.action(label)
        if written and not values:
            return Step(item, arguments(self.plain, item, label, written))
        known = [param for param, _ in item.params]
        require_known(values, known, f"action {item.label!r} has no parameter", "Parameters are")
        missing = [param for param in known if param not in values]
        if missing:
            raise UsageError(f"action {item.label!r} needs a value for {missing[0]!r}: write {missing[0]}=...")
        return Step(item, tuple(self._argument(item, state, name, values[name]) for name in known))

    def _argument(self, item: Action, state: Held, name: str, value: Any) -> Any:
        domain = dict(item.params)[name]
        if not isinstance(domain, InFlight):
            return self._parameter(item, name, domain, value)
        kind = self.plain.message_class(domain)
        if isinstance(value, kind):
            return records.key_of(value)
        _look_at(f"parameter {name!r}", value, Mapping, "a dictionary of fields of a message in flight")
        wanted = {}
        for field, given in value.items():
            place = _field(kind, field)
            wanted[field] = _number(field, place.domain.spellings() if isinstance(place, records.Scalar) else {}, given)
        messages = getattr(self.plain.schema.restore(state._key), domain.bag)
        found = [item for item in messages if all(getattr(item, field) == number for field, number in wanted.items())]
        if not found:
            raise UsageError(f"{domain.bag} contains no message {value!r}: name the fields of a message in flight.")
        return records.key_of(found[0])

    def _parameter(self, item: Action, name: str, domain: Domain, value: Any) -> int:
        number = _number(f"parameter {name!r}", domain.spellings(), value)
        every = values_of(self.plain.schema, domain)
        if number not in every:
            raise UsageError(
                f"{value!r} is not in the domain of parameter {name!r} of action {item.label!r}: "
                f"expected {describe(domain, every.start, every.stop - 1)}."
            )
        return number


@call
def in_hand(
    what: Machine | Protocol | str | Path,
    properties: Iterable[Property] | None = None,
    *,
    constants: Mapping[str, Any] | Constants | None = None,
    version: str = "",
    **more: Any,
) -> InHand:
    """Return a protocol to try by hand, given by name, by file, or as a machine with its properties."""
    question = ask(what, properties, constants=constants, version=version, more=more)
    machine = question.protocol.machine
    return InHand(machine, question.protocol.properties, Interpreter(machine, question.constants))


def _field(record: type[records.Record], name: str) -> records.FieldType:
    known = dict(records.fields(record))
    require_known((name,), known, f"record {record.__name__} has no field", "The fields are")
    return known[name]


def _number(what: str, words: Mapping[str, int], value: Any) -> int:
    if isinstance(value, set | frozenset) and all(isinstance(item, int) and item >= 0 for item in value):
        return sum(1 << item for item in value)
    if isinstance(value, str):
        if value.lower() not in words:
            others = f", or one of: {', '.join(words)}" if words else ""
            raise UsageError(f"{what} cannot be {value!r}: expected a number{others}.")
        return words[value.lower()]
    _look_at(what, value, Integral, "a whole number")
    return int(value)


def _look_at(what: str, value: Any, kind: type, wanted: str) -> None:
    if not isinstance(value, kind):
        raise UsageError(f"{what} cannot be {value!r}: expected {wanted}.")


def _fill(record: Any, kind: type[records.Record], values: Mapping[str, Any]) -> None:
    _look_at(f"record {kind.__name__}", values, Mapping, "a dictionary of its fields")
    for name, value in values.items():
        field = _field(kind, name)
        if isinstance(field, records.Scalar):
            setattr(record, name, _number(f"{kind.__name__}.{name}", field.domain.spellings(), value))
        else:
            _fill_place(getattr(record, name), field, value)


def _fill_place(place: Any, field: records.FieldType, value: Any) -> None:
    if isinstance(field, records.BagOf) or isinstance(place, records.Channel):
        for message in list(place) if isinstance(field, records.BagOf) else ():
            place.remove(message)
        if isinstance(place, records.Channel):
            place.clear()
        _look_at("what is in flight", value, Iterable, "a list of messages")
        for item in value:
            _fill(place.add(), field.record if isinstance(field, records.BagOf) else _message_of(field), item)
    elif isinstance(field, records.ArrayOf):
        _look_at("an array", value, Iterable, "a list, or a dictionary by index")
        for index, item in value.items() if isinstance(value, Mapping) else enumerate(value):
            _look_at("an index", index, Integral, "a whole number")
            if isinstance(field.element, records.Scalar):
                place[index] = _number(f"element {index}", field.element.domain.spellings(), item)
            else:
                _fill_place(place[index], field.element, item)
    elif isinstance(place, records.Row):
        _fill_place(place.items, dict(records.fields(field.record))["items"], value)  # type: ignore[union-attr]
    else:
        _fill(place, field.record, value)  # type: ignore[union-attr]


def _message_of(field: records.FieldType) -> type[records.Record]:
    items = dict(records.fields(field.record))["items"]  # type: ignore[union-attr]
    assert isinstance(items, records.ArrayOf)
    return items.element.record  # type: ignore[union-attr]
