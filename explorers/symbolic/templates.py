"""Candidates for lemmas, from the schema alone: comparisons of the numbers of a state that stand
for the same sort of thing.

A candidate is one line of the modelling language, so every engine can judge it and a person can read it.
"""

from __future__ import annotations

import hashlib
import sys
from itertools import count, permutations
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from fencepost.explorers.running.cache import cache_folder
from fencepost.model.language.domains import BitSet, Index, Range, linear
from fencepost.model.language.records import ArrayOf, Channel, Nested, Record, Row, Scalar, fields

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from fencepost.model.language.actions import Property
    from fencepost.model.language.machine import Machine


class Field(NamedTuple):
    """A field: how it is written after its owner, and its domain."""

    path: str
    domain: Any

    @property
    def is_number(self) -> bool:
        """Whether it counts something."""
        return isinstance(self.domain, Range) and not isinstance(self.domain, Index)

    @property
    def is_index(self) -> bool:
        """Whether it names one of numbered things."""
        return isinstance(self.domain, Index)

    @property
    def is_set(self) -> bool:
        """Whether it is a set of numbered things."""
        return isinstance(self.domain, BitSet)

    def compares_with(self, other: Field) -> bool:
        """Say whether both count the same sort of thing: a constant bounds both."""
        return bool(linear(self.domain.high).terms.keys() & linear(other.domain.high).terms.keys())


class Table(NamedTuple):
    """An array of records of the state; `by_index`: one for each of numbered things, else looked up."""

    name: str
    by_index: bool
    fields: list[Field]


def scalars(record: type[Record], prefix: str = "") -> list[Field]:
    """Return the scalar fields of a record and of records inside it; no ghosts, no budgets."""
    found = []
    for name, kind in fields(record):
        if name.startswith(("ghost_", "budget")):
            continue
        if isinstance(kind, Scalar):
            found.append(Field(prefix + name, kind.domain))
        elif isinstance(kind, Nested) and not _is_sealed(kind):
            found += scalars(kind.record, f"{prefix}{name}.")
    return found


def tables(record: type[Record]) -> list[Table]:
    """Return the arrays of records of a state."""
    counts = {str(linear(item.domain.high)) for item in scalars(record) if item.is_index}
    for _, kind in fields(record):
        if isinstance(kind, ArrayOf) and isinstance(kind.element, Nested):
            counts |= {str(linear(item.domain.high)) for item in scalars(kind.element.record) if item.is_index}
    return [
        Table(name, str(kind.length - 1) in counts, scalars(kind.element.record))
        for name, kind in fields(record)
        if isinstance(kind, ArrayOf) and isinstance(kind.element, Nested)
        if not name.startswith("ghost_") and not _is_sealed(kind.element)
    ]


def _is_sealed(kind: Nested) -> bool:
    """Say whether models cannot name what is inside: of channels, and of rows of an array of arrays."""
    return issubclass(kind.record, Channel | Row)


def conditions(machine: Machine) -> Iterator[str]:
    """Yield candidates as expressions over `s`."""
    own, found = scalars(machine.state), tables(machine.state)
    yield from _of_state(own)
    for table in found:
        if table.by_index:
            yield from _of_each(table, own)
            yield from _of_pairs(table)
    for table in found:
        if not table.by_index:
            yield from _looked_up(table, found, own)


def _of_state(own: list[Field]) -> Iterator[str]:
    for one, other in permutations([item for item in own if item.is_number], 2):
        if one.compares_with(other):
            yield from (f"s.{one.path} <= s.{other.path}", f"s.{one.path} < s.{other.path}")
            yield f"s.{one.path} == s.{other.path} - 1"
    for item in own:
        for members in own:
            if (
                item.is_index
                and members.is_set
                and str(linear(members.domain.count) - 1) == str(linear(item.domain.high))
            ):
                yield f"s.{item.path} < 0 or bits.contains(s.{members.path}, s.{item.path})"


def _of_each(table: Table, own: list[Field]) -> Iterator[str]:
    each = f"for r in s.{table.name}"
    for one, other in permutations([item for item in table.fields if item.is_number], 2):
        if one.compares_with(other):
            yield f"all(r.{one.path} <= r.{other.path} {each})"
    for one in (item for item in table.fields if item.is_number):
        for other in (item for item in own if item.is_number and one.compares_with(item)):
            yield from (f"all(r.{one.path} <= s.{other.path} {each})", f"all(r.{one.path} < s.{other.path} {each})")
        for pointer in (item for item in table.fields if item.is_index):
            yield f"all((r.{one.path} < 0) == (r.{pointer.path} < 0) {each})"
    for pointer in (item for item in table.fields if item.is_index):
        for members in (item for item in table.fields if item.is_set):
            yield f"all(r.{pointer.path} < 0 or bits.contains(r.{members.path}, r.{pointer.path}) {each})"
    named = {item.path.rpartition(".")[2]: item for item in own}
    for one in (item for item in table.fields if item.is_set and item.path in named):
        for pointer in (item for item in own if item.is_index):
            for number in (item for item in table.fields if item.is_number):
                for other in (item for item in own if item.is_number and number.compares_with(item)):
                    yield (
                        f"all(s.{table.name}[i].{one.path} == s.{named[one.path].path} for i in "
                        f"range(len(s.{table.name})) if s.{pointer.path} == i and s.{table.name}[i].{number.path} == "
                        f"s.{other.path})"
                    )


def _of_pairs(table: Table) -> Iterator[str]:
    name = f"s.{table.name}"
    for number in (item for item in table.fields if item.is_number):
        for pointer in (item for item in table.fields if item.is_index):
            yield (
                f"all(a.{pointer.path} == b.{pointer.path} for a in {name} for b in {name} "
                f"if a.{number.path} == b.{number.path} and a.{number.path} >= 0)"
            )
            yield (
                f"all(a.{number.path} <= {name}[i].{number.path} for a in {name} for i in range(len({name})) "
                f"if a.{pointer.path} == i)"
            )


def _looked_up(table: Table, others: list[Table], own: list[Field]) -> Iterator[str]:
    """Yield that a number is a place in the table where the other fields of its owner stand."""
    name = f"s.{table.name}"
    for kept in table.fields:
        for other in (item for item in others if item.by_index and kept.path in {entry.path for entry in item.fields}):
            for number in (item for item in other.fields if item.is_number):
                yield (
                    f"all({name}[r.{number.path}].{kept.path} == r.{kept.path} for r in s.{other.name} "
                    f"if 0 <= r.{number.path} and r.{number.path} < len({name}))"
                )
        for one in (item for item in own if item.path.rpartition(".")[2] == kept.path):
            for number in (item for item in own if item.is_number):
                place = f"s.{number.path}"
                inside = f"not (0 <= {place} and {place} < len({name}))"
                same = f"{name}[{place}].{kept.path} == s.{one.path}"
                yield f"{inside} or {same}"
                for pointer, heard, reached in _heard(others, own, number):
                    yield (
                        f"any(s.{pointer} == i and s.{heard}[i].{reached} == {place} for i in range(len(s.{heard}))) "
                        f"or {inside} or {same}"
                    )


def _heard(others: list[Table], own: list[Field], number: Field) -> Iterator[tuple[str, str, str]]:
    """Yield (index, table, number in it) by which the one that an index names may have come as far as `number`."""
    for pointer in (item for item in own if item.is_index):
        for other in (item for item in others if item.by_index):
            for reached in (item for item in other.fields if item.is_number and item.compares_with(number)):
                yield pointer.path, other.name, reached.path


_HEAD = '''"""Candidates for lemmas on {name}, written by Fencepost."""

from fencepost.model.language import always, bits


'''
_ONE = '''@always
def lemma_{number}(s, c):
    """{condition}"""
    return {condition}


'''


def candidates(machine: Machine, taken: Container[str] = ()) -> tuple[Property, ...]:
    """Return the candidates as properties with names that are not taken; each one's sentence is its own text."""
    free = (number for number in count() if f"lemma-{number}" not in taken)
    found = dict(zip(dict.fromkeys(conditions(machine)), free))  # noqa: B905 (numbers have no end)
    text = _HEAD.format(name=machine.name)
    text += "".join(_ONE.format(number=number, condition=condition) for condition, number in found.items())
    digest = hashlib.sha256(text.encode()).hexdigest()[:20]
    path = cache_folder() / f"fencepost_lemmas_{digest}.py"
    path.write_text(text)
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module
    exec(compile(text, path, "exec"), vars(module))  # noqa: S102 (our own text, kept for `inspect`)
    return tuple(getattr(module, f"lemma_{number}") for number in found.values())
