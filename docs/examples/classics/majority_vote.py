"""Majority vote by Boyer and Moore: one pass over a sequence finds the only value that can have a majority.

This is `Majority` from the TLA+ examples, checked on all sequences of up to five elements drawn from three values.
`initial` has one parameter per element; elements after the end are 0, so that no sequence occurs twice.
"""

from typing import Annotated

from fencepost.model.language import (
    Array,
    Constants,
    Machine,
    Range,
    Record,
    Size,
    action,
    always,
    bound,
    eventually,
    require,
    sometimes,
    weak,
)

LENGTH = 5


class C(Constants):
    kinds = bound(3, low=1, high=4, meaning="different values")


Value = Annotated[int, Range(0, C.kinds - 1)]
Length = Annotated[int, Range(0, LENGTH)]


class State(Record):
    sequence: Annotated[Array[Value], Size(LENGTH)]
    length: Length
    at: Length
    candidate: Value
    count: Length


@action(length=Length, candidate=Value, v0=Value, v1=Value, v2=Value, v3=Value, v4=Value)
def initial(s: State, c: C, length: int, candidate: int, v0: int, v1: int, v2: int, v3: int, v4: int) -> None:
    """The sequence and the first candidate are arbitrary."""
    require(length > 0 or v0 == 0)
    require(length > 1 or v1 == 0)
    require(length > 2 or v2 == 0)
    require(length > 3 or v3 == 0)
    require(length > 4 or v4 == 0)
    s.length = length
    s.candidate = candidate
    s.sequence[0] = v0
    s.sequence[1] = v1
    s.sequence[2] = v2
    s.sequence[3] = v3
    s.sequence[4] = v4


@action()
def look(s: State, c: C) -> None:
    """The next value counts for or against the candidate; if the count is 0, the value becomes the candidate."""
    require(s.at < s.length)
    value = s.sequence[s.at]
    s.at += 1
    if s.count == 0:
        s.candidate = value
        s.count = 1
    elif s.candidate == value:
        s.count += 1
    else:
        s.count -= 1


def seen(s: State, value: int) -> int:
    """Return how often a value has occurred so far."""
    return sum(s.sequence[position] == value for position in range(s.at))


@always
def no_other_value_has_a_majority(s: State, c: C) -> bool:
    """At the end, any value other than the candidate makes up at most half of the sequence."""
    return s.at < s.length or all(value == s.candidate or 2 * seen(s, value) <= s.length for value in range(c.kinds))


@always
def the_count_is_a_lead(s: State, c: C) -> bool:
    """All values so far, except `count` copies of the candidate, can form pairs of different values (inductive)."""
    rest = s.at - s.count
    return (
        s.count <= seen(s, s.candidate)
        and 2 * (seen(s, s.candidate) - s.count) <= rest
        and all(value == s.candidate or 2 * seen(s, value) <= rest for value in range(c.kinds))
    )


@sometimes
def the_candidate_has_no_majority(s: State, c: C) -> bool:
    """The candidate can lack a majority: the algorithm does not detect this."""
    return s.at == s.length and s.count > 0 and 2 * seen(s, s.candidate) < s.length


def has_ended(s: State, c: C) -> bool:
    return s.at == s.length


it_ends = eventually("it-ends", "The sequence is read to its end.", then=has_ended, fair=(weak(look),))

MACHINE = Machine("majority-vote", "A single pass that finds the only possible majority", State, C, initial, (look,))
PROPERTIES = (no_other_value_has_a_majority, the_count_is_a_lead, the_candidate_has_no_majority, it_ends)
