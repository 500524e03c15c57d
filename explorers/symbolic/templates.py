"""Automatic discovery of lemmas: candidates are derived from the schema alone, and the inductive candidates are kept.

A candidate compares two numbers of a state that have the same meaning. Every candidate is one line of the modelling
language, which every engine can check and people can read.
"""

import hashlib
import sys
import time
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import replace
from itertools import count, permutations, product
from types import ModuleType
from typing import Any, NamedTuple

from fencepost.explorers.running.cache import cache_folder
from fencepost.explorers.symbolic.proof import Proof, Settings, prove
from fencepost.explorers.verdict import Verdict
from fencepost.model.language.actions import Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.domains import BitSet, Index, Range, linear
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import ArrayOf, Channel, Key, Nested, Record, Row, Scalar, fields


class Field(NamedTuple):
    path: str
    domain: Any

    def compares_with(self, other: "Field") -> bool:
        """Return whether the same constant bounds both fields; if so, both fields count the same things."""
        return bool(linear(self.domain.high).terms.keys() & linear(other.domain.high).terms.keys())


class Table(NamedTuple):
    """The state, or an array of records in the state (`by_index`: one record per member of a numbered set)."""

    name: str
    by_index: bool
    fields: list[Field]

    @property
    def numbers(self) -> list[Field]:
        return [item for item in self.fields if isinstance(item.domain, Range) and not isinstance(item.domain, Index)]

    @property
    def indices(self) -> list[Field]:
        return [item for item in self.fields if isinstance(item.domain, Index)]

    @property
    def sets(self) -> list[Field]:
        return [item for item in self.fields if isinstance(item.domain, BitSet)]


def scalars(record: type[Record], prefix: str = "") -> list[Field]:
    """Return the scalar fields of a record and its nested records, except ghost variables and budgets."""
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
    arrays = [
        (name, kind.length, kind.element)
        for name, kind in fields(record)
        if isinstance(kind, ArrayOf) and isinstance(kind.element, Nested)
    ]
    every = [*scalars(record), *(item for _, _, kind in arrays for item in scalars(kind.record))]
    counts = {str(linear(item.domain.high)) for item in every if isinstance(item.domain, Index)}
    return [
        Table(name, str(length - 1) in counts, scalars(kind.record))
        for name, length, kind in arrays
        if not name.startswith("ghost_") and not _is_sealed(kind)
    ]


def _is_sealed(kind: Nested) -> bool:
    """Return whether a record is a channel or a row of a nested array, whose fields models cannot name."""
    return issubclass(kind.record, Channel | Row)


def conditions(machine: Machine) -> Iterator[str]:
    own, found = Table("", by_index=False, fields=scalars(machine.state)), tables(machine.state)
    yield from _of_state(own)
    for table in found:
        if table.by_index:
            yield from _of_each(table, own)
            yield from _of_pairs(table)
    for table in found:
        if not table.by_index:
            yield from _looked_up(table, [item for item in found if item.by_index], own)


def _of_state(own: Table) -> Iterator[str]:
    for one, other in permutations(own.numbers, 2):
        if one.compares_with(other):
            yield from (f"s.{one.path} <= s.{other.path}", f"s.{one.path} < s.{other.path}")
            yield f"s.{one.path} == s.{other.path} - 1"
    for item in own.indices:
        for members in own.sets:
            if str(linear(members.domain.count) - 1) == str(linear(item.domain.high)):
                yield f"s.{item.path} < 0 or bits.contains(s.{members.path}, s.{item.path})"


def _of_each(table: Table, own: Table) -> Iterator[str]:
    each = f"for r in s.{table.name}"
    for one, other in permutations(table.numbers, 2):
        if one.compares_with(other):
            yield f"all(r.{one.path} <= r.{other.path} {each})"
    for one in table.numbers:
        for other in filter(one.compares_with, own.numbers):
            yield from (f"all(r.{one.path} <= s.{other.path} {each})", f"all(r.{one.path} < s.{other.path} {each})")
        for pointer in table.indices:
            yield f"all((r.{one.path} < 0) == (r.{pointer.path} < 0) {each})"
    for pointer, members in product(table.indices, table.sets):
        yield f"all(r.{pointer.path} < 0 or bits.contains(r.{members.path}, r.{pointer.path}) {each})"
    named = {item.path.rpartition(".")[2]: item for item in own.fields}
    name = f"s.{table.name}"
    for one, pointer, number in product(table.sets, own.indices, table.numbers):
        for other in filter(number.compares_with, own.numbers) if one.path in named else ():
            yield (
                f"all({name}[i].{one.path} == s.{named[one.path].path} for i in range(len({name})) "
                f"if s.{pointer.path} == i and {name}[i].{number.path} == s.{other.path})"
            )


def _of_pairs(table: Table) -> Iterator[str]:
    name = f"s.{table.name}"
    for number, pointer in product(table.numbers, table.indices):
        yield (
            f"all(a.{pointer.path} == b.{pointer.path} for a in {name} for b in {name} "
            f"if a.{number.path} == b.{number.path} and a.{number.path} >= 0)"
        )
        yield (
            f"all(a.{number.path} <= {name}[i].{number.path} for a in {name} for i in range(len({name})) "
            f"if a.{pointer.path} == i)"
        )


def _looked_up(table: Table, others: list[Table], own: Table) -> Iterator[str]:
    """Yield candidates that compare an owner's fields with those of the table element to which the owner refers."""
    name = f"s.{table.name}"
    for kept in table.fields:
        for other in (item for item in others if kept.path in {entry.path for entry in item.fields}):
            for number in other.numbers:
                yield (
                    f"all({name}[r.{number.path}].{kept.path} == r.{kept.path} for r in s.{other.name} "
                    f"if 0 <= r.{number.path} and r.{number.path} < len({name}))"
                )
        ones = [item for item in own.fields if item.path.rpartition(".")[2] == kept.path]
        for one, number in product(ones, own.numbers):
            place = f"s.{number.path}"
            inside = f"not (0 <= {place} and {place} < len({name}))"
            same = f"{name}[{place}].{kept.path} == s.{one.path}"
            yield f"{inside} or {same}"
            for pointer, other in product(own.indices, others):
                for reached in (item for item in other.numbers if item.compares_with(number)):
                    heard = f"s.{other.name}"
                    yield (
                        f"any(s.{pointer.path} == i and {heard}[i].{reached.path} == {place} "
                        f"for i in range(len({heard}))) or {inside} or {same}"
                    )


_HEAD = '''"""Candidates for lemmas on {name}, written by Fencepost."""

from fencepost.model.language import always, bits


'''
_ONE = '''@always
def lemma_{number}(s, c):
    """{condition}"""
    return {condition}


'''


def candidates(machine: Machine, taken: Container[str] = ()) -> tuple[Property, ...]:
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
    exec(compile(text, path, "exec", dont_inherit=True), vars(module))  # noqa: S102 (our own text, kept for `inspect`)
    return tuple(getattr(module, f"lemma_{number}") for number in found.values())


def not_refuted(
    machine: Machine, constants: Constants, candidates: tuple[Property, ...], states: Iterable[Key]
) -> tuple[Property, ...]:
    plain = Interpreter(machine, constants)
    left = list(candidates)
    for key in states:
        state = plain.schema.restore(key)
        left = [item for item in left if item.function(state, constants)]
    return tuple(left)


def strengthen(
    machine: Machine,
    constants: Constants,
    properties: tuple[Property, ...],
    candidates: tuple[Property, ...],
    settings: Settings,
    seconds: float,
    tell: Callable[[int, int], None] | None = None,
) -> tuple[Proof, tuple[Property, ...]]:
    """Prove properties together with candidates. Return the proof and the lemmas that the proof needs. Unnecessary
    lemmas are dropped one by one, for at most `seconds`. Ctrl-C ends the search and returns the results so far.
    """
    quick = replace(settings, explain=False)
    made = prove(machine, constants, (*properties, *candidates), quick, tell)
    if made.why_stopped:
        return made, ()
    kept = tuple(item for item in candidates if made.of(item.name).verdict is Verdict.PROVED)
    if not _proves(made, properties):
        return prove(machine, constants, (*properties, *kept), settings, tell), kept
    began = time.perf_counter()
    for item in kept:
        if time.perf_counter() - began > seconds:
            break
        fewer = tuple(other for other in kept if other is not item)
        tried = prove(machine, constants, (*properties, *fewer), quick)
        if tried.why_stopped:
            return replace(made, why_stopped=tried.why_stopped), kept
        if _proves(tried, (*properties, *fewer)):
            kept = fewer
    plain = prove(machine, constants, (*properties, *kept), settings, tell)
    return replace(made, why_stopped=plain.why_stopped) if plain.why_stopped else plain, kept


def _proves(made: Proof, properties: tuple[Property, ...]) -> bool:
    return all(made.of(item.name).verdict is Verdict.PROVED for item in properties)
