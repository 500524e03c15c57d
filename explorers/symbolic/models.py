"""Conversion of z3's models to plain states that are as small as possible; the plain semantics checks them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import z3
from fencepost.explorers.symbolic import places, terms
from fencepost.explorers.symbolic.pool import Asking
from fencepost.explorers.symbolic.system import Happening, System
from fencepost.explorers.symbolic.terms import Flag, Members, Num, Value
from fencepost.model.language.domains import NONE, BitSet, Domain, InFlight, Range, linear
from fencepost.model.language.records import Key, Nested, fields

MOST_REFUSED = 100
"""Number of combinations of constants after which the search gives up if the machine rejects all of them."""
SIZES = (1, 2, 3, 5, 8)
"""Sizes to try first, in order to find a small counterexample."""


@dataclass(frozen=True)
class Pair:
    """A counterexample to induction: two plain states, the step between them, and the run's constants."""

    constants: dict[str, int]
    before: Key
    action: str
    args: tuple[Any, ...]
    after: Key
    size: int
    """Number of values in the state before the step that differ from their initial values."""


def smallest_model(system: System, asking: Asking, before: places.Rec, happened: Happening) -> Any:
    """Return a model of the assumptions with a small state near an initial state, or None if z3 finds no model. The
    constants are in their ranges, and all values in the states and arguments are in the domains that these constants
    determine, so that the plain semantics accepts them. All questions asked to make the state smaller share the time
    limit of a single question.
    """
    solver = asking.solver
    solver.push()
    solver.add(*(terms.boolean(strict(system, place)) for place in (before, happened.after)))
    solver.add(*strict_arguments(system, happened))
    if ask_allowed(system, asking) != z3.sat:
        solver.pop()
        return None
    model = solver.model()
    with asking.together():
        _make_small(system, asking, before)
    if ask_allowed(system, asking) == z3.sat:
        model = solver.model()
    solver.pop()
    return model


def _make_small(system: System, asking: Asking, before: places.Rec) -> None:
    solver = asking.solver
    numbers = [
        cell.value.term
        for _, cell in places.cells(before)
        if isinstance(cell, places.Cell) and isinstance(cell.value, Num)
    ]
    numbers += [item.term for item in system.lifting.values.values() if isinstance(item, Num)]
    for size in SIZES:
        small = z3.And([term <= size for term in numbers])
        if ask_allowed(system, asking, small) == z3.sat:
            solver.add(small)
            break
    first = next(iter(system.initial())).after
    for (_, cell), (_, start) in zip(places.cells(before), places.cells(first), strict=True):
        for wish in _wishes(cell, start):
            if ask_allowed(system, asking, wish) == z3.sat:
                solver.add(terms.boolean(wish))


def ask_allowed(system: System, asking: Asking, *flags: Flag, inside: Flag = True) -> Any:
    """Return z3's answer for constants in their ranges. The machine accepts the constants of every model found.
    Constants that the machine rejects are excluded only if `inside` holds. After too many rejected combinations, the
    answer is unknown.
    """
    for _ in range(MOST_REFUSED):
        said = asking.ask(*flags, inside)
        if said != z3.sat or system.machine.refuse is None or not system.lifting.names:
            return said
        number_of = number_under(asking.solver.model())
        try:
            values = {name: number_of(value) for name, value in system.lifting.values.items()}
        except OpenValueError:
            return z3.unknown
        if not system.machine.refuse(system.machine.constants(**values)):
            return said
        refused = terms.both(*(terms.equal(value, values[name]) for name, value in system.lifting.values.items()))
        asking.add(terms.implies(inside, terms.negate(refused)))
    return z3.unknown


def _wishes(cell: Any, start: Any) -> Iterator[Flag]:
    if isinstance(cell, places.Cell):
        yield terms.equal(cell.value, start.value)
    elif isinstance(cell, places.Bag):
        for on in cell.present:
            yield terms.negate(on)
        for slot in cell.slots:
            for _, item in places.cells(slot):
                yield terms.equal(item.value, 0)


def strict(system: System, place: places.Rec) -> Flag:
    """Return the condition that the lifted constants are in their ranges, and all values in their domains."""
    return terms.both(*strict_constants(system), *_strict(system, place, Nested(place.record)))


def strict_constants(system: System) -> list[Flag]:
    declared = system.constants.declared()
    values = system.lifting.values.items()
    return [terms.at_most(item, int(declared[name].high)) for name, item in values if isinstance(item, Num)]


def strict_arguments(system: System, happened: Happening) -> Iterator[Any]:
    params = happened.move.action.params if happened.move.action else ()
    for (_, domain), value in zip(params, happened.args, strict=True):
        if isinstance(domain, Range):
            yield from map(terms.boolean, _between(system, domain, value))
            if system.lifting.is_lifted(domain.low):
                low = places.length_of(system.lifting, linear(domain.low))
                yield terms.boolean(terms.either(terms.negate(terms.equal(low, NONE)), terms.at_most(0, value)))


def _between(system: System, domain: Range, value: Value) -> Iterator[Flag]:
    if system.lifting.is_lifted(domain.low):
        yield terms.at_most(places.length_of(system.lifting, linear(domain.low)), value)
    if system.lifting.is_lifted(domain.high):
        yield terms.at_most(value, places.length_of(system.lifting, linear(domain.high)))


def _strict(system: System, place: Any, field: Any) -> Iterator[Flag]:
    if isinstance(place, places.Rec):
        for name, kind in fields(field.record):
            yield from _strict(system, place.parts[name], kind)
    elif isinstance(place, places.Arr | places.Bag):
        inner = field.element if isinstance(place, places.Arr) else Nested(field.record)
        for item in place.items if isinstance(place, places.Arr) else place.slots:
            yield from _strict(system, item, inner)
    elif isinstance(place, places.Endless):
        yield from _strict_elements(system, place)
    else:
        yield from _strict_scalar(system, field.domain, place.value)


def _strict_scalar(system: System, domain: Domain, value: Value) -> Iterator[Flag]:
    if isinstance(domain, Range):
        yield from _between(system, domain, value)
    if isinstance(domain, BitSet) and system.lifting.is_lifted(domain.count):
        count = places.length_of(system.lifting, linear(domain.count))
        yield from (
            terms.either(terms.less(item, count), terms.negate(terms.member(value, item)))
            for item in range(places.MOST_MEMBERS)
        )


def _strict_elements(system: System, place: places.Endless) -> Iterator[Flag]:
    domains = {path: domain for path, _, domain in places.scalars(place.element, "", place.label)}
    for index in range(plain_length(system, place)):
        for path, kind in place.kinds.items():
            if not kind.flag and not kind.bits:
                term = z3.Select(place.terms[path][0], index)
                value = Members(term) if kind.endless else Num(term, None, None)
                found = terms.both(kind.domain(value), *_strict_scalar(system, domains[path], value))
                yield terms.either(terms.at_most(place.length, index), found)


def plain_length(system: System, place: places.Endless) -> int:
    """Return the greatest length of an unbounded array for constants in their ranges."""
    declared = system.constants.declared()
    values = {
        name: int(declared[name].high) if name in system.lifting.names else int(value)
        for name, value in system.constants.values.items()
    }
    return place.size.value(values)


class OpenValueError(Exception):
    """Error for a term whose value in z3's model contains a quantifier and is therefore not a number."""


OPEN = 1_000
"""Time limit for z3 in milliseconds, for a value with a quantifier."""


def value_under(model: Any) -> Callable[[Any], int]:
    """Return a function that gives a term's plain value in a model, and raises OpenValueError if z3 gives no value."""

    def value_of(term: Any) -> int:
        found = model.eval(term, model_completion=True)
        if not _is_value(found):
            found = _closed(found)
        return int(z3.is_true(found)) if z3.is_bool(found) else int(found.as_long())

    return value_of


def _is_value(found: Any) -> bool:
    return bool(z3.is_int_value(found) or z3.is_true(found) or z3.is_false(found))


def _closed(found: Any) -> Any:
    value = z3.FreshConst(found.sort())
    for solver in (z3.Solver(), z3.Then("simplify", "qe", "smt").solver()):
        solver.set("timeout", OPEN)
        solver.add(value == found)
        if solver.check() == z3.sat:
            only = solver.model().eval(value, model_completion=True)
            if _is_value(only) and solver.check(value != only) == z3.unsat:
                return only
    raise OpenValueError(f"z3 gives no value for {found}")


def number_under(model: Any) -> Callable[[Value], int]:
    return lambda value: places.plain(value, value_under(model))


def arguments(model: Any, before: places.Rec, happened: Happening) -> tuple[Any, ...]:
    value_of, number_of = value_under(model), number_under(model)
    action = happened.move.action
    found: list[Any] = []
    for (_, domain), value in zip(action.params if action else (), happened.args, strict=True):
        if isinstance(domain, InFlight):
            found.append(places.key_under(before.parts[domain.bag].slots[value], value_of, number_of))
        else:
            found.append(number_of(value))
    return tuple(found)


def pair_of(system: System, model: Any, before: places.Rec, happened: Happening) -> Pair:
    value_of, number_of = value_under(model), number_under(model)
    action = happened.move.action
    first = places.key_under(before, value_of, number_of)
    start = places.key_under(next(iter(system.initial())).after, value_of, number_of)
    return Pair(
        constants={name: number_of(value) for name, value in system.lifting.values.items()},
        before=first,
        action=action.name if action else "",
        args=arguments(model, before, happened),
        after=places.key_under(happened.after, value_of, number_of),
        size=differences(first, start),
    )


def differences(one: Any, other: Any) -> int:
    if not isinstance(one, tuple):
        return int(one != other)
    if not isinstance(other, tuple):
        return 1
    return sum(differences(a, b) for a, b in zip(one, other, strict=False)) + abs(len(one) - len(other))
