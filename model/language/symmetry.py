"""Symmetry: states that are equal up to renaming interchangeable things count as one state.

A machine declares an `Index` of interchangeable things. A permutation renames the things wherever they occur: in
numbers of that index, in sets of such numbers, and as the indices of arrays with one element per thing. The canonical
form of a state is the least of its permutations. Permutations are ordered first by each thing's values that do not
refer to things, and then by the whole key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import permutations
from typing import TYPE_CHECKING, Any

from fencepost.model.language.constants import Constants
from fencepost.model.language.domains import BitSet, Domain, Index, Linear, domain_of, linear
from fencepost.model.language.errors import UsageError
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import ArrayOf, BagOf, FieldType, Key, Nested, Record, Scalar, fields

if TYPE_CHECKING:
    Renaming = Callable[[Any, tuple[int, ...]], Any]

MOST = 5
"""Maximum number of interchangeable values: each state is compared with up to 120 permutations."""


class Things:
    """The interchangeable things of a machine, represented by their number."""

    def __init__(self, count: Linear) -> None:
        self.count = count

    def is_thing(self, domain: Domain) -> bool:
        """Return whether a domain consists of interchangeable things, with or without NONE."""
        return isinstance(domain, Index) and domain.count == self.count

    def is_set(self, domain: Domain) -> bool:
        """Return whether the values of a domain are sets of interchangeable things."""
        return isinstance(domain, BitSet) and linear(domain.count) == self.count

    def is_named(self, domain: Domain) -> bool:
        """Return whether the values of a domain are interchangeable things, or sets of them."""
        return self.is_thing(domain) or self.is_set(domain)

    def is_by_thing(self, kind: ArrayOf) -> bool:
        """Return whether an array has an element for each interchangeable thing."""
        return kind.length == self.count


def things_of(machine: Machine) -> Things:
    """Return the interchangeable things that a machine declares; raise UsageError if it declares none."""
    domain = domain_of(machine.interchangeable)
    if not isinstance(domain, Index):
        raise UsageError(
            f"protocol {machine.name!r} declares no interchangeable values: omit `symmetry=True`, or declare them in "
            "the machine, as in interchangeable=Replica."
        )
    return Things(domain.count)


class Symmetry:
    """The permutations of a machine's interchangeable things under given constants."""

    def __init__(self, machine: Machine, constants: Constants) -> None:
        self.things = things_of(machine)
        self.count = self.things.count.value(constants.values)
        if self.count > MOST:
            raise UsageError(
                f"protocol {machine.name!r} has {self.count} interchangeable values, but a state is compared with the "
                f"permutations of at most {MOST}: omit `symmetry=True`, or use fewer values."
            )
        self.permutations = tuple(permutations(range(self.count)))
        self._rename = self._record(machine.state)
        self._traits = list(self._by_thing(machine.state))

    def named(self, initial: Iterable[Key]) -> str:
        """Return the constant that counts the things, with a note if initial states distinguish some of them."""
        keys = set(initial)
        alike = all(self.renamed(key, to) in keys for key in keys for to in self.permutations)
        return f"{self.things.count!r}{'' if alike else ' (initial states distinguish some of them)'}"

    def renamed(self, key: Key, to: tuple[int, ...]) -> Key:
        """Return a state in which each interchangeable thing n is renamed to `to[n]`."""
        found: Key = key if self._rename is None else self._rename(key, to)
        return found

    def order(self, key: Key) -> tuple[Any, ...]:
        """Return a state's sort key: for each thing, the numbers that `own` returns, and then the state's key."""
        return self.own(key), key

    def own(self, key: Key) -> tuple[tuple[int, ...], ...]:
        """Return, for each interchangeable thing, the numbers in its records that do not name such things."""
        return tuple(tuple(leaf for trait in self._traits for leaf in trait(key, n)) for n in range(self.count))

    def canonical(self, key: Key) -> Key:
        """Return the least permutation of a state by `order`, which sorts the things' numbers."""
        own = self.own(key)
        least = tuple(sorted(own))
        sorting = (to for to in self.permutations if all(least[to[n]] == own[n] for n in range(self.count)))
        return min(self.renamed(key, to) for to in sorting)

    # -- renaming: None if no part refers to a thing

    def _record(self, record: type[Record]) -> Renaming | None:
        parts = [self._field(kind) for _, kind in fields(record)]
        if not any(parts):
            return None
        return lambda key, to: tuple(
            value if part is None else part(value, to) for part, value in zip(parts, key, strict=True)
        )

    def _field(self, kind: FieldType) -> Renaming | None:
        match kind:
            case Scalar() if self.things.is_thing(kind.domain):
                return lambda value, to: value if value < 0 else to[value]
            case Scalar() if self.things.is_set(kind.domain):
                return lambda value, to: sum(1 << to[n] for n in range(self.count) if value >> n & 1)
            case Nested():
                return self._record(kind.record)
            case BagOf():
                message = self._record(kind.record)
                return message and (lambda bag, to: tuple(sorted(message(item, to) for item in bag)))
            case ArrayOf():
                return self._array(kind)
        return None

    def _array(self, kind: ArrayOf) -> Renaming | None:
        inner = self._field(kind.element)

        def elements(array: Any, to: tuple[int, ...]) -> tuple[Any, ...]:
            return array if inner is None else tuple(inner(item, to) for item in array)

        def by_thing(array: Any, to: tuple[int, ...]) -> tuple[Any, ...]:
            found = elements(array, to)
            return tuple(found[to.index(n)] for n in range(self.count))

        if self.things.is_by_thing(kind):
            return by_thing
        return elements if inner else None

    # -- the numbers of a thing

    def _by_thing(self, record: type[Record]) -> Iterator[Callable[[Key, int], tuple[int, ...]]]:
        """Yield, for each array of things that is in no array or bag, a function that returns a thing's numbers."""
        for place, (_, kind) in enumerate(fields(record)):
            if isinstance(kind, ArrayOf) and self.things.is_by_thing(kind):
                yield partial(self._own, place, kind.element)
            elif isinstance(kind, Nested):
                yield from (partial(_within, place, inner) for inner in self._by_thing(kind.record))

    def _own(self, place: int, kind: FieldType, key: Key, n: int) -> tuple[int, ...]:
        return tuple(traits(self.things, kind, key[place][n]))


def _within(place: int, inner: Callable[[Key, int], tuple[int, ...]], key: Key, n: int) -> tuple[int, ...]:
    return inner(key[place], n)


def traits(things: Things, kind: FieldType, value: Any) -> Iterator[int]:
    """Yield the numbers in a part of a state that do not name things, except those in bags and in arrays of things."""
    match kind:
        case Scalar():
            if not things.is_named(kind.domain):
                yield int(value)
        case Nested():
            for (_, inner), item in zip(fields(kind.record), value, strict=True):
                yield from traits(things, inner, item)
        case ArrayOf() if not things.is_by_thing(kind):
            for item in value:
                yield from traits(things, kind.element, item)
