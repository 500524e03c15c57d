"""Bags in the symbolic engine: messages in canonical order, which a loop visits from the last to the first.

In a state, messages fill the first slots in ascending order, as under the plain semantics. A walk through a function
does not move messages: removing a message leaves a hole, and an added message gets a new slot at the end. A name always
refers to the same message. After a walk, `settle` restores the order and the size of bags.

Messages that contain an unbounded array or set cannot be compared, so code that could depend on the order of such
messages is rejected.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from fencepost.explorers.symbolic import terms
from fencepost.explorers.symbolic.frames import Refs
from fencepost.explorers.symbolic.places import Arr, Bag, Cell, Endless, Rec, agree, clone
from fencepost.explorers.symbolic.terms import Flag, Mask

Slots = list[tuple[Flag, Rec]]
"""Messages, each with a flag that is true if the message is present."""


def canonical(bag: Bag) -> Flag:
    """Return the condition that a bag is canonical: messages fill the first slots in ascending order."""
    found = [
        terms.either(first, terms.negate(second)) for first, second in zip(bag.present, bag.present[1:], strict=False)
    ]
    if bag.ordered:
        pairs = zip(bag.slots, bag.slots[1:], bag.present[1:], strict=False)
        found += [terms.either(terms.negate(on), not_after(one, other)) for one, other, on in pairs]
    return terms.both(*found)


def not_after(one: Rec, other: Rec) -> Flag:
    found: Flag = True
    for a, b in reversed(list(zip(_leaves(one), _leaves(other), strict=True))):
        earlier = terms.both(terms.negate(a), b) if terms.is_flag(a) and terms.is_flag(b) else terms.less(a, b)
        found = terms.either(earlier, terms.both(terms.equal(a, b), found))
    return found


def _leaves(place: Any) -> Iterator[Any]:
    """Yield the keys by which messages are compared, in order. The greatest members of sets are compared first."""
    if isinstance(place, Rec):
        for part in place.parts.values():
            yield from _leaves(part)
    elif isinstance(place, Arr):
        for item in place.items:
            yield from _leaves(item)
    elif isinstance(place.value, Mask):
        yield from reversed(place.value.bits)
    else:
        yield place.value


# -- in a walk


def is_full(bag: Bag) -> Flag:
    if len(bag.slots) == bag.room and all(flag is False for flag in bag.removed):
        return bag.present[-1] if bag.room else True
    return terms.at_most(bag.room, terms.total(bag.present))


def added(bag: Bag, where: Flag) -> Rec:
    """Add a message with zero fields at the end of a bag and return the message."""
    message: Rec = clone(bag.blank)
    bag.present.append(where)
    bag.removed.append(False)
    bag.slots.append(message)
    return message


def removed(bag: Bag, message: Refs, where: Flag) -> Flag:
    """Remove a message from a bag or, if the bag does not contain it, the first equal message. Return the condition
    that the bag contains neither. In a sorted bag, equal messages are adjacent, so removing any of them has the same
    effect.
    """
    missing: Flag = True
    others = []
    for on, item in message.options:
        place = next((number for number, slot in enumerate(bag.slots) if slot is item), None)
        if place is None:
            others.append((on, item))
            continue
        here = on  # a named message was in the bag when it got its name
        if bag.removed[place] is not False:  # it may have been removed since then
            here = terms.both(on, bag.present[place])
            others.append((terms.both(on, terms.negate(bag.present[place])), item))
        missing = terms.both(missing, terms.negate(here))
        _take(bag, place, terms.both(where, on))
    places = list(range(len(bag.slots)))
    if len(others) == 1 and others[0][1].origin >= 0 and all(_is_untouched(bag, place) for place in range(bag.room)):
        places.sort(key=lambda place: place != others[0][1].origin)
    for place in places if others else ():
        match = terms.either(*(terms.both(on, agree(bag.slots[place], item)) for on, item in others))
        here = terms.both(bag.present[place], match)
        _take(bag, place, terms.both(where, missing, here))
        missing = terms.both(missing, terms.negate(here))
    return missing


def _take(bag: Bag, place: int, where: Flag) -> None:
    where = terms.both(where, bag.present[place])
    bag.removed[place] = terms.either(bag.removed[place], where)
    bag.present[place] = terms.both(bag.present[place], terms.negate(where))


def _is_untouched(bag: Bag, place: int) -> bool:
    return place < len(bag.first) and _same(bag.slots[place], bag.first[place])


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Rec):
        return all(_same(part, other.parts[name]) for name, part in one.parts.items())
    if isinstance(one, Arr):
        return all(map(_same, one.items, other.items))
    if isinstance(one, Endless):
        return all(a is b for path in one.terms for a, b in zip(one.terms[path], other.terms[path], strict=True))
    return bool(one.value is other.value)


# -- after a walk


def settle(bag: Bag) -> Bag:
    room = range(bag.room)
    touched = [bag.ordered and not _is_untouched(bag, place) for place in room]
    if len(bag.slots) == bag.room and not any(touched) and all(flag is False for flag in bag.removed):
        return bag
    moved = [(bag.present[place], bag.slots[place]) for place in room if touched[place]]
    moved += zip(bag.present[bag.room :], bag.slots[bag.room :], strict=True)
    kept = [(False if touched[place] else bag.present[place], bag.slots[place]) for place in room]
    holes = [terms.either(bag.removed[place], bag.present[place] if touched[place] else False) for place in room]
    while any(hole is not False for hole in holes):
        kept, holes = _closed(bag, kept, holes)
    for on, message in moved:
        if on is not False:
            kept = _inserted(bag, kept, on, message)
    slots = [message for _, message in kept]
    return replace(bag, present=[on for on, _ in kept], slots=slots, first=slots, removed=[False] * bag.room)


def _closed(bag: Bag, slots: Slots, holes: list[Flag]) -> tuple[Slots, list[Flag]]:
    """Move later messages forward to close the first hole; return the new slots and the remaining holes."""
    found: Slots = []
    left: list[Flag] = []
    moves: Flag = False
    for place, (on, message) in enumerate(slots):
        moves = terms.either(moves, holes[place])
        last = place + 1 == len(slots)
        next_on, next_message = (False, bag.blank) if last else slots[place + 1]
        found.append((terms.choose(moves, next_on, on), _either_of(moves, next_message, message)))
        left.append(False if last else terms.both(moves, holes[place + 1]))
    return found, left


def _inserted(bag: Bag, slots: Slots, on: Flag, message: Rec) -> Slots:
    """Return the slots. If `on` holds, `message` is inserted after all messages, or, if the bag is ordered, after all
    messages that are not greater.
    """
    found: Slots = []
    shifts: Flag = False
    earlier: tuple[Flag, Rec] = (False, bag.blank)
    for held, item in slots:
        stays = terms.both(held, not_after(item, message)) if bag.ordered else held
        moved = _either_of(shifts, earlier[1], message)
        here = terms.both(on, terms.negate(stays))
        found.append((terms.choose(here, terms.choose(shifts, earlier[0], True), held), _either_of(here, moved, item)))
        shifts, earlier = terms.negate(stays), (held, item)
    return found


def _either_of(flag: Flag, one: Rec, other: Rec) -> Rec:
    found: Rec = one if flag is True else other if flag is False else _chosen(flag, one, other)
    return found


def _chosen(flag: Flag, one: Any, other: Any) -> Any:
    if isinstance(one, Cell):
        return Cell(one.kind, terms.choose(flag, one.value, other.value))
    if isinstance(one, Rec):
        return Rec(one.record, {name: _chosen(flag, part, other.parts[name]) for name, part in one.parts.items()})
    if isinstance(one, Arr):
        return Arr(one.label, [_chosen(flag, a, b) for a, b in zip(one.items, other.items, strict=True)])
    return one.chosen(flag, other)
