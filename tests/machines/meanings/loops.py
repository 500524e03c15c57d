"""What loops, generators, parameters and guards mean."""

from fencepost.model.language import *

from tests.machines.meanings.schema import C, Case, MaybeThing, State, Thing, finish, starts


@action()
def a_source_is_evaluated_once(s: State, c: C) -> None:
    """What a loop runs over is evaluated once, before the first round."""
    require(starts(s, c, Case.A_SOURCE_IS_EVALUATED_ONCE))
    holder = s.holders[0]
    found = 0
    for value in holder.values:
        found = 10 * found + value
        holder = s.holders[1]
    finish(s, 100 * found + holder.values[0])


@action()
def ends_of_a_range_are_evaluated_once(s: State, c: C) -> None:
    """So are the ends of a range."""
    require(starts(s, c, Case.ENDS_OF_A_RANGE_ARE_EVALUATED_ONCE))
    last, found = 3, 0
    for number in range(last):
        last = 1
        found = 10 * found + number
    finish(s, 10 * found + last)


@action()
def a_changed_variable_does_not_change_the_loop(s: State, c: C) -> None:
    """A variable that is given another value in the body has its next value in the next round all the same."""
    require(starts(s, c, Case.A_CHANGED_VARIABLE_DOES_NOT_CHANGE_THE_LOOP))
    found = 0
    for number in range(3):
        found = 10 * found + number
        number += 5  # noqa: PLW2901 (what the sentence is about)
        found = 10 * found + number
    finish(s, found)


@action()
def elements_are_read_in_their_round(s: State, c: C) -> None:
    """An element of an array is read at the start of its round."""
    require(starts(s, c, Case.ELEMENTS_ARE_READ_IN_THEIR_ROUND))
    found = 0
    for value in s.values:
        s.values[2] = 9
        found = 10 * found + value
    finish(s, found)


@action()
def a_variable_keeps_its_last_value(s: State, c: C) -> None:
    """After a loop its variable has the value of the last round, or the one from before if there was no round."""
    require(starts(s, c, Case.A_VARIABLE_KEEPS_ITS_LAST_VALUE))
    first, second = 7, 8
    for first in range(3):
        s.x = first
    for second in range(s.x, 2):
        s.x = second
    finish(s, 10 * first + second)


@action()
def a_range_that_runs_backwards_is_empty(s: State, c: C) -> None:
    """A range whose end is not above its start has no numbers; it may begin below 0."""
    require(starts(s, c, Case.A_RANGE_THAT_RUNS_BACKWARDS_IS_EMPTY))
    found = 5
    for number in range(3, s.x):
        found = number
    for number in range(s.nobody, 2):
        found = 10 * found + number + 1
    finish(s, found)


@action()
def continue_and_break(s: State, c: C) -> None:
    """`continue` goes to the next round of the innermost loop, `break` leaves it."""
    require(starts(s, c, Case.CONTINUE_AND_BREAK))
    found = 0
    for outer in range(3):
        for inner in range(5):
            if inner == 1:
                continue
            if inner == 3:
                break
            found = 10 * found + inner
        if outer == 1:
            break
    finish(s, found)


def first_above(s: State, limit: int) -> int:
    """Return the place of the first value above a limit, found in nested loops."""
    for _ in range(2):
        for place in range(3):
            if s.values[place] > limit:
                return place
    return NONE


@action()
def return_leaves_every_loop(s: State, c: C) -> None:
    """`return` leaves all loops of its function."""
    require(starts(s, c, Case.RETURN_LEAVES_EVERY_LOOP))
    finish(s, 10 * first_above(s, 1) + first_above(s, 9))


@action()
def a_generators_variable_is_its_own(s: State, c: C) -> None:
    """The variable of a generator is its own: a name around it that is spelt alike keeps its value."""
    require(starts(s, c, Case.A_GENERATORS_VARIABLE_IS_ITS_OWN))
    number = 4
    found = sum(number for number in range(3))
    finish(s, 10 * found + number)


@action()
def the_first_source_is_outside_the_generator(s: State, c: C) -> None:
    """The first source of a generator is evaluated outside of it, where that name is the one around it."""
    require(starts(s, c, Case.THE_FIRST_SOURCE_IS_OUTSIDE_THE_GENERATOR))
    number = 4
    finish(s, sum(10 * number for number in range(number)) + number)


@action(value=Thing)
def a_shadowed_parameter_is_no_index(s: State, c: C, value: int) -> None:
    """What is known of a parameter is not known of a generator's variable that shadows it: its index is checked."""
    require(starts(s, c, Case.A_SHADOWED_PARAMETER_IS_NO_INDEX))
    require(value == 0)
    finish(s, any(s.values[value] == 9 for value in s.values))


@action()
def any_stops_at_what_decides(s: State, c: C) -> None:
    """`all` and `any` stop at the value that decides; `sum` goes through all."""
    require(starts(s, c, Case.ANY_STOPS_AT_WHAT_DECIDES))
    found = any(s.values[place] == 2 for place in range(9))
    missing = all(s.values[place] == 1 for place in range(9))
    finish(s, 10 * found + missing)


@action()
def folds_of_nothing(s: State, c: C) -> None:
    """Of nothing, `all` is 1, `any` is 0 and `sum` is 0."""
    require(starts(s, c, Case.FOLDS_OF_NOTHING))
    found = 100 * all(s.x > v for v in range(s.x)) + 10 * any(s.x == v for v in range(s.x))
    finish(s, found + sum(v for v in range(s.x)))


@action()
def clauses_nest(s: State, c: C) -> None:
    """Later clauses of a generator run inside earlier ones, and a test keeps them from being evaluated."""
    require(starts(s, c, Case.CLAUSES_NEST))
    finish(s, sum(10 * a + s.values[b] for a in range(3) if a != 1 for b in range(a, 3) if b != a))


@action()
def a_later_clause_may_take_a_name(s: State, c: C) -> None:
    """A later clause may give a name of an earlier one to its own items; where it looks for them, the name is the
    earlier one's."""
    require(starts(s, c, Case.A_LATER_CLAUSE_MAY_TAKE_A_NAME))
    finish(s, sum(10 * a + b for b in range(3) for a, b in enumerate(reversed(range(b)))))


@action()
def a_guard_protects_those_after_it(s: State, c: C) -> None:
    """A guard that does not hold ends the step: nothing after it is evaluated."""
    require(starts(s, c, Case.A_GUARD_PROTECTS_THOSE_AFTER_IT))
    require(s.nobody >= 0)
    require(s.values[s.nobody] == 0)
    finish(s, 1)


@action()
def otherwise(s: State, c: C) -> None:
    """What happens where a guard has refused."""
    require(starts(s, c, Case.A_GUARD_PROTECTS_THOSE_AFTER_IT))
    finish(s, 2)


@action()
def a_local_before_a_guard_is_evaluated(s: State, c: C) -> None:
    """Code before a guard is evaluated before it, whatever the guard says."""
    require(starts(s, c, Case.A_LOCAL_BEFORE_A_GUARD_IS_EVALUATED))
    found = s.values[s.nobody]
    require(s.x == 5)
    finish(s, found)


@action(number=Range(1, C.none))
def without_a_value_no_guard_is_evaluated(s: State, c: C, number: int) -> None:
    """If a parameter has no value, nothing of the action is evaluated."""
    require(c.case != Case.WITHOUT_A_VALUE_NO_GUARD_IS_EVALUATED or s.values[s.nobody] == 0)
    require(starts(s, c, Case.WITHOUT_A_VALUE_NO_GUARD_IS_EVALUATED))
    finish(s, number)


@action()
def nobody_is_there(s: State, c: C) -> None:
    """What happens beside an action that has no value for its parameter."""
    require(starts(s, c, Case.WITHOUT_A_VALUE_NO_GUARD_IS_EVALUATED))
    finish(s, 3)


@action(thing=MaybeThing)
def none_is_never_tried(s: State, c: C, thing: int) -> None:
    """NONE is never a value of a parameter whose domain starts with it."""
    require(starts(s, c, Case.NONE_IS_NEVER_TRIED))
    require(thing <= 0)
    finish(s, 5 + thing)


ACTIONS = tuple(item for item in vars().values() if isinstance(item, Action))
