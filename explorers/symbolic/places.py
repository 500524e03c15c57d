"""The values of a symbolic state: cells, records, arrays, bags, and unbounded arrays. A conditional store keeps the old
value if the condition fails, so states are never copied to follow a branch.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import z3
from fencepost.explorers.symbolic import terms
from fencepost.explorers.symbolic.terms import Flag, Mask, Members, Num, Value
from fencepost.model.language.constants import Constants
from fencepost.model.language.domains import BitSet, Domain, Extreme, Index, Linear, Member, Range, linear
from fencepost.model.language.domains import Flag as FlagDomain
from fencepost.model.language.errors import UsageError
from fencepost.model.language.records import ArrayOf, FieldType, Nested, Record, Scalar, fields

MOST_MEMBERS = 62
"""Maximum number of members of a plain set, whatever the constants are."""


class Kind(NamedTuple):
    """The values of a cell: a flag, a set of `bits` members, or a number from `low` to `high` (None if unbounded).
    `endless` marks a set without a greatest member.
    """

    label: str
    low: int | None
    high: int | None
    bits: int = 0
    flag: bool = False
    endless: bool = False

    def fresh(self, name: str) -> Value:
        if self.flag:
            return terms.boolean_variable(name)
        if self.endless:
            return Members(z3.Array(name, z3.IntSort(), z3.BoolSort()))
        if self.bits:
            return Mask(tuple(terms.boolean_variable(f"{name}#{bit}") for bit in range(self.bits)))
        if self.low == self.high and self.low is not None:
            return self.low
        return Num(terms.integer(name), self.low, self.high)

    def typed(self, value: Value) -> Flag:
        if self.flag:
            found = value if not isinstance(value, int) else bool(value) if value in (0, 1) else None
            return True if found is not None and not isinstance(value, Num | Mask) else self._between(value, 0, 1)
        if self.endless:
            return isinstance(value, Members) or terms.at_most(0, value)
        if self.bits:
            if isinstance(value, int):
                return 0 <= value < 1 << self.bits
            if isinstance(value, Mask):
                return terms.negate(terms.either(value.sign, *value.bits[self.bits :]))
            return self._between(value, 0, (1 << self.bits) - 1)
        return self._between(value, self.low, self.high)

    @staticmethod
    def _between(value: Value, low: int | None, high: int | None) -> Flag:
        found = terms.number(value)
        return terms.both(low is None or terms.at_most(low, found), high is None or terms.at_most(found, high))

    def cast(self, value: Value) -> Value:
        if self.flag:
            return terms.truth(value)
        if self.endless:
            return terms.endless_members(value)
        if self.bits:
            found = terms.mask(value)
            return Mask(tuple(found.bit(bit) for bit in range(self.bits)))
        return terms.number(value)

    def narrow(self, value: Value) -> Value:
        """Return a stored value, its bounds narrowed to the domain; a value outside it ends the step with an error."""
        if not isinstance(value, Num):
            return value
        low = self.low if value.lo is None or (self.low is not None and self.low > value.lo) else value.lo
        high = self.high if value.hi is None or (self.high is not None and self.high < value.hi) else value.hi
        return value if low is not None and high is not None and low > high else Num(value.term, low, high)

    def domain(self, term: Value) -> Flag:
        if not isinstance(term, Num):
            return True
        return terms.both(self.low is None or term.term >= self.low, self.high is None or term.term <= self.high)


@dataclass
class Cell:
    kind: Kind
    value: Value

    def get(self) -> Value:
        return self.value

    def put(self, value: Value, where: Flag) -> None:
        self.value = terms.choose(where, self.kind.narrow(self.kind.cast(value)), self.value)


@dataclass
class Rec:
    record: type[Record]
    parts: dict[str, Any]
    origin: int = -1

    def part(self, name: str) -> Any:
        return self.parts[name]


@dataclass
class Arr:
    label: str
    items: list[Any]

    @property
    def length(self) -> Value:
        return len(self.items)

    def options(self, index: Value) -> Iterator[tuple[Flag, Any]]:
        low, high = terms.bounds(index)
        last = len(self.items) - 1
        for place in range(max(low or 0, 0), min(last if high is None else high, last) + 1):
            yield terms.equal(index, place), self.items[place]


@dataclass
class Endless:
    """An array of unbounded length: for each field, a z3 array from indices to values.

    `terms` maps the path of each field (empty for an array of scalars) to a term or, for a set, to one term per member.
    `base` contains the original terms. `facts` contains domain constraints only for the elements that were read.
    """

    label: str
    element: Scalar | Nested
    size: Linear
    length: Value
    kinds: dict[str, Kind]
    terms: dict[str, tuple[Any, ...]]
    base: dict[str, tuple[Any, ...]]
    facts: dict[Any, Flag]

    def note(self, path: str, index: Any) -> None:
        """Record that an element of the array's original content was read, so its value must be in its domain."""
        everywhere = z3.Int("any") if _is_quantified(index) else None
        first = z3.Select(self.base[path][0], index if everywhere is None else everywhere)
        fact = self.kinds[path].domain(Num(first, None, None))
        if everywhere is None:
            self.facts[first] = fact
        else:
            self.facts[path] = z3.ForAll([everywhere], terms.boolean(fact))

    def chosen(self, flag: Flag, other: "Endless") -> "Endless":
        pairs = {path: zip(terms, other.terms[path], strict=True) for path, terms in self.terms.items()}
        return replace(self, terms={path: tuple(z3.If(flag, a, b) for a, b in items) for path, items in pairs.items()})

    def options(self, index: Value) -> Iterator[tuple[Flag, Any]]:
        yield True, (View if isinstance(self.element, Nested) else Slot)(self, terms.as_term(index), "")


def _is_quantified(index: Any) -> bool:
    """Return whether an index contains a quantified variable. Shared subterms are visited once."""
    seen, left = set(), [index]
    while left:
        item = left.pop()
        if item.get_id() in seen:
            continue
        if z3.is_const(item) and str(item).startswith("any."):
            return True
        seen.add(item.get_id())
        left += item.children()
    return False


@dataclass
class View:
    array: Endless
    index: Any
    path: str
    origin: int = -1

    @property
    def record(self) -> type[Record]:
        assert isinstance(self.array.element, Nested)
        found = self.array.element.record
        for name in self.path.split(".")[:-1]:
            field = dict(fields(found))[name]
            assert isinstance(field, Nested)
            found = field.record
        return found

    def part(self, name: str) -> Any:
        path = self.path + name
        is_slot = path in self.array.kinds
        return Slot(self.array, self.index, path) if is_slot else View(self.array, self.index, f"{path}.")


@dataclass
class Slot:
    array: Endless
    index: Any
    path: str

    @property
    def kind(self) -> Kind:
        return self.array.kinds[self.path]

    def get(self) -> Value:
        found = [z3.Select(term, self.index) for term in self.array.terms[self.path]]
        if self.kind.endless:
            return Members(found[0])
        if self.kind.bits:
            return Mask(tuple(found))
        if self.kind.flag:
            return found[0]
        self.array.note(self.path, self.index)
        return Num(found[0], self.kind.low, self.kind.high)

    def put(self, value: Value, where: Flag) -> None:
        new = terms.choose(where, self.kind.cast(value), self.get())
        leaves = list(_leaves_of(self.kind, new))
        self.array.terms[self.path] = tuple(
            z3.Store(term, self.index, leaf) for term, leaf in zip(self.array.terms[self.path], leaves, strict=True)
        )


def _leaves_of(kind: Kind, value: Value) -> Iterator[Any]:
    if kind.bits:
        yield from (terms.boolean(flag) for flag in value.bits)
    elif kind.endless:
        yield value.term
    else:
        yield terms.boolean(value) if kind.flag else terms.as_term(value)


@dataclass
class Bag:
    """Messages in flight, in slots and in canonical order (see `bags`); a slot is in use if `present` is true."""

    label: str
    record: type[Record]
    room: int
    present: list[Flag]
    slots: list[Rec]
    blank: Rec
    """A message whose fields are all zero."""
    first: list[Rec]
    removed: list[Flag]
    """Whether each slot's message has been removed."""
    ordered: bool
    fact: Flag = True
    """The condition that a bag of variables is in canonical order."""


# -- going through a state


def cells(place: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (path, cell) for every value in a place. Unbounded arrays and bags are yielded whole."""
    if isinstance(place, Rec):
        for name, part in place.parts.items():
            yield from cells(part, f"{path}.{name}" if path else name)
    elif isinstance(place, Arr):
        for index, item in enumerate(place.items):
            yield from cells(item, f"{path}[{index}]")
    else:
        yield path, place


def clone(place: Any) -> Any:
    if isinstance(place, Cell):
        return Cell(place.kind, place.value)
    if isinstance(place, Rec):
        return Rec(place.record, {name: clone(part) for name, part in place.parts.items()}, place.origin)
    if isinstance(place, Arr):
        return Arr(place.label, [clone(item) for item in place.items])
    if isinstance(place, Bag):
        return replace(
            place,
            present=list(place.present),
            slots=[clone(item) for item in place.slots],
            first=place.slots,
            removed=[False] * len(place.slots),
            fact=True,
        )
    return replace(place, terms=dict(place.terms))


def agree(one: Any, other: Any) -> Flag:
    if isinstance(one, Rec):
        return terms.both(*(agree(part, other.parts[name]) for name, part in one.parts.items()))
    if isinstance(one, Arr):
        return terms.both(*(agree(a, b) for a, b in zip(one.items, other.items, strict=True)))
    if isinstance(one, Bag):
        slots = zip(one.present, other.present, one.slots, other.slots, strict=True)
        return terms.both(*(terms.both(terms.equal(p, q), terms.implies(p, agree(a, b))) for p, q, a, b in slots))
    if isinstance(one, Endless):
        return terms.both(
            *(a == b for path in one.terms for a, b in zip(one.terms[path], other.terms[path], strict=True))
        )
    return terms.equal(one.value, other.value)


class Lifting:
    """Lifted constants. Each one represents every value from its low bound to its greatest value, if one is given."""

    def __init__(self, constants: Constants, names: Mapping[str, int | None]) -> None:
        self.constants, self.names = constants, dict(names)
        self.values: dict[str, Value] = {}
        declared = constants.declared()
        for name, value in constants.values.items():
            if name in self.names:
                self.values[name] = Num(terms.integer(f"c.{name}"), declared[name].low, self.names[name])
            else:
                self.values[name] = bool(value) if declared[name].kind is bool else int(value)

    def domain(self) -> Flag:
        lifted = [(name, item) for name, item in self.values.items() if isinstance(item, Num)]
        return terms.both(*(Kind(name, item.lo, item.hi).domain(item) for name, item in lifted))

    def is_lifted(self, value: Linear | int) -> bool:
        found = linear(value)
        for name in found.terms:
            lifted = [inner for inner in name.names if inner in self.names] if isinstance(name, Extreme) else []
            if lifted:
                raise UsageError(
                    f"`unbounded=` names {lifted[0]!r}, but the model uses {name}: leave {lifted[0]} bounded, that is, "
                    f"write `{lifted[0]}=N`."
                )
        return any(name in self.names for name in found.terms)

    def bound(self, value: Linear | int) -> int | None:
        return None if self.is_lifted(value) else linear(value).value(self.constants.values)

    def top(self, value: Linear | int) -> int | None:
        """Return a sum's greatest value, or None if it is unbounded; raise UsageError as `is_lifted` does."""
        if not self.is_lifted(value):
            return self.bound(value)
        found = linear(value)
        total = found.offset
        for name, factor in found.terms.items():
            most = self.names[name] if name in self.names and factor > 0 else None
            if name in self.names and most is None:
                return None
            total += factor * (Linear({name: 1}).value(self.constants.values) if most is None else most)
        return total

    def kind(self, label: str, domain: Domain) -> Kind:
        if isinstance(domain, FlagDomain):
            return Kind(label, 0, 1, flag=True)
        if isinstance(domain, BitSet) and self.is_lifted(domain.count):
            return Kind(label, None, None, endless=True)
        if isinstance(domain, BitSet):
            count = self.fixed(domain.count, label)
            return Kind(label, None, None, bits=count) if count else Kind(label, 0, 0)
        if isinstance(domain, Index):
            self.fixed(domain.count, label)
        if isinstance(domain, Range):
            return Kind(label, self.bound(domain.low), self.top(domain.high))
        assert isinstance(domain, Member)
        low, high = domain.bounds(self.constants.values)
        return Kind(label, low, high)

    def fixed(self, value: Linear | int, label: str) -> int:
        found = self.bound(value)
        if found is None:
            name = next(name for name in linear(value).terms if name in self.names)
            raise UsageError(
                f"`unbounded=` names {name!r}, which is the size of {label}: sets, bags and numbered sets have a "
                f"fixed size in a proof. Leave {name} bounded: write `{name}=N`."
            )
        return found


# -- making states


def build(lifting: Lifting, record: type[Record], leaf: Callable[[str, Kind], Value], path: str) -> Rec:
    """Return a record whose cells are `leaf(path, kind)`, and whose unbounded arrays and bags consist of variables."""
    of, items = record.__name__, fields(record)
    return Rec(record, {name: _build(lifting, field, leaf, path + name, f"{of}.{name}") for name, field in items})


def _build(lifting: Lifting, field: FieldType, leaf: Callable[[str, Kind], Value], path: str, label: str) -> Any:
    if isinstance(field, Scalar):
        kind = lifting.kind(label, field.domain)
        return Cell(kind, kind.cast(leaf(path, kind)))
    if isinstance(field, Nested):
        return build(lifting, field.record, leaf, f"{path}.")
    if isinstance(field, ArrayOf):
        if lifting.is_lifted(field.length):
            return _endless(lifting, field, leaf, path, label)
        count = field.length.value(lifting.constants.values)
        return Arr(label, [_build(lifting, field.element, leaf, f"{path}[{index}]", label) for index in range(count)])
    room = lifting.fixed(field.room, label)
    slots = [build(lifting, field.record, leaf, f"{path}[{slot}].") for slot in range(room)]
    present = [terms.truth(leaf(f"{path}[{slot}]?", Kind(label, 0, 1, flag=True))) for slot in range(room)]
    blank = zero(lifting, field.record)
    return Bag(label, field.record, room, present, slots, blank, slots, [False] * room, is_comparable(blank))


def is_comparable(place: Any) -> bool:
    """Return whether a record can be compared with others of its class: nothing in it may be unbounded."""
    if isinstance(place, Rec | Arr):
        return all(map(is_comparable, place.parts.values() if isinstance(place, Rec) else place.items))
    return isinstance(place, Cell) and not isinstance(place.value, Members)


def _endless(lifting: Lifting, field: ArrayOf, leaf: Callable[[str, Kind], Value], path: str, label: str) -> Endless:
    kinds = {name: lifting.kind(of, domain) for name, of, domain in scalars(field.element, "", label)}
    terms: dict[str, tuple[Any, ...]] = {}
    for name, kind in kinds.items():
        sort = z3.BoolSort() if kind.flag or kind.bits else z3.IntSort()
        if kind.endless:
            sort = z3.ArraySort(z3.IntSort(), z3.BoolSort())
        value = leaf(f"{path}[].{name}", kind)
        if isinstance(value, int):  # all elements are equal
            terms[name] = tuple(z3.K(z3.IntSort(), item) for item in _leaves_of(kind, kind.cast(value)))
        else:
            names = [f"{path}[].{name}#{bit}" for bit in range(kind.bits)] or [f"{path}[].{name}"]
            terms[name] = tuple(z3.Array(f"{value_name(value)}:{item}", z3.IntSort(), sort) for item in names)
    return Endless(label, field.element, field.length, length_of(lifting, field.length), kinds, terms, dict(terms), {})


def value_name(value: Value) -> str:
    if isinstance(value, Mask):
        return str(value.bits[0]) if value.bits else ""
    return str(value.term) if isinstance(value, Num | Members) else str(value)


def length_of(lifting: Lifting, length: Linear) -> Value:
    found: int | Num = length.offset
    for name, factor in length.terms.items():
        value = lifting.values.get(name)
        if isinstance(name, Extreme):
            value = name.of(part.value(lifting.constants.values) for part in name.parts)
        found = terms.plus(found, terms.times(value, factor))
    return found


def scalars(field: FieldType, path: str, label: str) -> Iterator[tuple[str, str, Domain]]:
    if isinstance(field, Scalar):
        yield path, label, field.domain
    elif isinstance(field, Nested):
        for name, inner in fields(field.record):
            yield from scalars(inner, f"{path}.{name}" if path else name, f"{field.record.__name__}.{name}")
    else:
        raise UsageError(
            f"`unbounded=` makes the array {label} unbounded, but its elements contain arrays: remove the constant "
            "of its size from `unbounded=`."
        )


def fresh(lifting: Lifting, record: type[Record], prefix: str) -> tuple[Rec, Flag]:
    made = build(lifting, record, lambda path, kind: kind.fresh(prefix + path), "")
    return made, in_domain(made)


def in_domain(place: Any) -> Flag:
    found = []
    for _, item in cells(place):
        if isinstance(item, Cell):
            found.append(item.kind.domain(item.value))
        elif isinstance(item, Bag):
            found += [item.fact, *(in_domain(slot) for slot in item.slots)]
        elif isinstance(item, Endless):
            found += item.facts.values()
    return terms.both(*found)


def zero(lifting: Lifting, record: type[Record]) -> Rec:
    return build(lifting, record, lambda _, kind: False if kind.flag else 0, "")


def inner(place: Any, length: int) -> Iterable[Any]:
    if isinstance(place, Rec):
        return place.parts.values()
    if isinstance(place, View):
        return [place.part(name) for name, _ in fields(place.record)]
    return place.items if isinstance(place, Arr) else [item for at in range(length) for _, item in place.options(at)]


# -- reading a state back


def key_under(place: Any, value_of: Callable[[Any], Any], length_under: Callable[[Value], int]) -> Any:
    """Return a place's content as a key. `value_of` maps a term to its plain value."""
    if isinstance(place, Cell | Slot):
        return plain(place.get(), value_of)
    if isinstance(place, Bag):
        slots = zip(place.present, place.slots, strict=True)
        found = [key_under(slot, value_of, length_under) for on, slot in slots if plain(on, value_of)]
        return tuple(found if place.ordered else sorted(found))
    length = length_under(place.length) if isinstance(place, Endless) else 0
    return tuple(key_under(item, value_of, length_under) for item in inner(place, length))


def plain(value: Value, value_of: Callable[[Any], Any]) -> int:
    if isinstance(value, int):
        return int(value)
    if isinstance(value, Mask):
        found = sum(1 << bit for bit, flag in enumerate(value.bits) if plain(flag, value_of))
        return found - (plain(value.sign, value_of) << len(value.bits))
    if isinstance(value, Members):
        return sum(1 << item for item in range(MOST_MEMBERS) if plain(z3.Select(value.term, item), value_of))
    return int(value_of(value.term if isinstance(value, Num) else value))
