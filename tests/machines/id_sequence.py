"""Numbers given out one after the other: max_id + 2 states. After hachikuji/kafka-specification, IdSequence."""

from typing import Annotated

from fencepost.model.language import Constants, Machine, Range, Record, action, always, bound, require, sometimes, step


class C(Constants):
    max_id = bound(3, low=0, high=100_000, meaning="last id; the first is 0")


class State(Record):
    """The next id to give out; max_id + 1 when none is left."""

    next_id: Annotated[int, Range(0, C.max_id + 1)]


@action()
def initial(s: State, c: C) -> None:
    """No id is given out."""


@action(id=Range(0, C.max_id))
def give_out(s: State, c: C, id: int) -> None:  # noqa: A002 (the word of the specification)
    require(id == s.next_id)
    s.next_id = id + 1


@always
def ids_are_bounded(s: State, c: C) -> bool:
    """The next id is at most one beyond the last."""
    return 0 <= s.next_id <= c.max_id + 1


@step(on=give_out)
def ids_are_not_repeated(before: State, after: State, c: C, id: int) -> bool:  # noqa: A002 (as above)
    """What is given out once is below the next id ever after."""
    return before.next_id <= id < after.next_id


@sometimes
def ids_run_out(s: State, c: C) -> bool:
    return s.next_id > c.max_id


MACHINE = Machine("id-sequence", "ids are given out in order until none is left", State, C, initial, (give_out,),
    source="hachikuji/kafka-specification, IdSequence")  # fmt: skip

PROPERTIES = (ids_are_bounded, ids_are_not_repeated, ids_run_out)
