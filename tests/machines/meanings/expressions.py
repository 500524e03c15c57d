"""What expressions, assignments and calls mean."""

from fencepost.model.language import *

from tests.machines.meanings.schema import C, Case, Holder, Pair, State, bump, finish, starts


@action()
def flags_are_numbers(s: State, c: C) -> None:
    """Flags are 0 and 1, enum members are their numbers, and a comparison gives 0 or 1."""
    require(starts(s, c, Case.FLAGS_ARE_NUMBERS))
    finish(s, 100 * (True + True) + 10 * (s.x == 0) + (Case.FLAGS_ARE_NUMBERS - 1) + (s.x > 0))


@action()
def division_rounds_down(s: State, c: C) -> None:
    """`//` and `%` round down."""
    require(starts(s, c, Case.DIVISION_ROUNDS_DOWN))
    finish(s, 10 * (-7 // 2) + (-7 % 3))


@action()
def shifts_round_down(s: State, c: C) -> None:
    """`>>` rounds down, by any number of bits: far enough it gives 0 or -1."""
    require(starts(s, c, Case.SHIFTS_ROUND_DOWN))
    far = s.x + 70
    finish(s, 100 * (-5 >> 1) + 10 * (-5 >> far) + (5 >> far))


@action()
def a_negative_shift_is_an_error(s: State, c: C) -> None:
    """A shift by a negative number is an error."""
    require(starts(s, c, Case.A_NEGATIVE_SHIFT_IS_AN_ERROR))
    finish(s, 1 << s.nobody)


@action()
def a_huge_shift_is_an_error(s: State, c: C) -> None:
    """So is a shift by more bits than there is room for."""
    require(starts(s, c, Case.A_HUGE_SHIFT_IS_AN_ERROR))
    far = 1 << 60 + s.x
    finish(s, 1 << far)


@action()
def signs_of_flags(s: State, c: C) -> None:
    """`-x`, `~x` and `abs(x)` of a flag are those of its number: `~x` is -1 - x."""
    require(starts(s, c, Case.SIGNS_OF_FLAGS))
    s.flag = True
    finish(s, 100 * -s.flag + 10 * ~s.flag + abs(-s.flag))


@action()
def a_long_sum_is_refused(s: State, c: C) -> None:
    """Numbers are unbounded; an engine that holds 64 bits refuses anything larger, and nothing wraps."""
    require(starts(s, c, Case.A_LONG_SUM_IS_REFUSED))
    t = 1 << 61 + s.x
    t = t + t + t + t + t + t + t + t
    far = 64 + s.x
    finish(s, t >> far)


@action()
def logic_gives_the_operand_that_decides(s: State, c: C) -> None:
    """`and` and `or` give the operand that decides, not 0 or 1."""
    require(starts(s, c, Case.LOGIC_GIVES_THE_OPERAND_THAT_DECIDES))
    finish(s, 100 * (s.x or 5) + 10 * (3 and 4) + (s.x and 7))


@action()
def logic_stops_where_it_is_decided(s: State, c: C) -> None:
    """Operands after the one that decides are not evaluated."""
    require(starts(s, c, Case.LOGIC_STOPS_WHERE_IT_IS_DECIDED))
    found = (s.x and bump(s)) + (1 or bump(s))  # noqa: SIM222 (what the sentence is about)
    finish(s, 10 * found + s.x)


@action()
def one_way_of_a_conditional_is_evaluated(s: State, c: C) -> None:
    """`a if test else b` evaluates the test, then one of the two."""
    require(starts(s, c, Case.ONE_WAY_OF_A_CONDITIONAL_IS_EVALUATED))
    found = bump(s) * 10 if bump(s) == 1 else s.values[s.nobody]
    finish(s, found + s.x)


@action()
def a_chain_evaluates_its_middle_once(s: State, c: C) -> None:
    """A chain of comparisons evaluates each operand once."""
    require(starts(s, c, Case.A_CHAIN_EVALUATES_ITS_MIDDLE_ONCE))
    found = 0 < bump(s) < 2
    finish(s, 10 * found + s.x)


@action()
def a_chain_stops_where_it_fails(s: State, c: C) -> None:
    """Operands after the comparison that fails are not evaluated."""
    require(starts(s, c, Case.A_CHAIN_STOPS_WHERE_IT_FAILS))
    found = 5 < bump(s) < s.values[s.nobody]
    finish(s, 10 * found + s.x)


@action()
def in_evaluates_every_number(s: State, c: C) -> None:
    """`x in (a, b)` evaluates all of its numbers, whichever is equal."""
    require(starts(s, c, Case.IN_EVALUATES_EVERY_NUMBER))
    finish(s, s.x in (0, s.values[s.nobody]))


@action()
def not_in_evaluates_every_number(s: State, c: C) -> None:
    """So does `not in`."""
    require(starts(s, c, Case.NOT_IN_EVALUATES_EVERY_NUMBER))
    found = s.x not in (0, bump(s), bump(s))
    finish(s, 10 * found + s.x)


@action()
def least_evaluates_every_number(s: State, c: C) -> None:
    """`min` and `max` evaluate all of their numbers, each once."""
    require(starts(s, c, Case.LEAST_EVALUATES_EVERY_NUMBER))
    found = max(bump(s), bump(s)) * 10 + min(bump(s), 9)
    finish(s, 10 * found + s.x)


@action()
def operands_from_left_to_right(s: State, c: C) -> None:
    """Operands are evaluated from left to right, and a field is read when its turn comes."""
    require(starts(s, c, Case.OPERANDS_FROM_LEFT_TO_RIGHT))
    finish(s, 1000 * s.x + 100 * bump(s) + 10 * s.x + bump(s))


def digits(a: int, b: int, d: int) -> int:
    """Return three digits as one number."""
    return 100 * a + 10 * b + d


@action()
def arguments_from_left_to_right(s: State, c: C) -> None:
    """Arguments are evaluated from left to right, then the helper is called."""
    require(starts(s, c, Case.ARGUMENTS_FROM_LEFT_TO_RIGHT))
    finish(s, digits(bump(s), s.x + 1, bump(s)))


@action()
def the_value_before_the_place(s: State, c: C) -> None:
    """An assignment evaluates its value first, then the place: first the record or the array, then the index."""
    require(starts(s, c, Case.THE_VALUE_BEFORE_THE_PLACE))
    s.values[bump(s)] = s.x + 5
    finish(s, 10 * s.values[1] + s.x)


@action()
def an_augmented_place_is_found_once(s: State, c: C) -> None:
    """`place += value` evaluates the place once."""
    require(starts(s, c, Case.AN_AUGMENTED_PLACE_IS_FOUND_ONCE))
    s.values[bump(s)] += 4
    finish(s, 100 * s.values[1] + 10 * s.values[2] + s.x)


@action()
def an_augmented_place_is_read_first(s: State, c: C) -> None:
    """It reads the place, then evaluates the value, then writes."""
    require(starts(s, c, Case.AN_AUGMENTED_PLACE_IS_READ_FIRST))
    s.x += bump(s) + 3
    finish(s, s.x)


@action()
def several_names_at_once(s: State, c: C) -> None:
    """`a, b = x, y` evaluates all values before it assigns a name."""
    require(starts(s, c, Case.SEVERAL_NAMES_AT_ONCE))
    a, b = bump(s), bump(s)
    a, b = b, a
    finish(s, 10 * a + b)


def write(pair: Pair, number: int) -> int:
    """Store a number in a pair."""
    pair.first = number
    return number + 1


@action()
def a_helper_changes_the_record_it_is_given(s: State, c: C) -> None:
    """A helper gets the record itself: what it writes there is written for its caller."""
    require(starts(s, c, Case.A_HELPER_CHANGES_THE_RECORD_IT_IS_GIVEN))
    pair = s.holders[1].pair
    more = write(pair, 4)
    finish(s, 100 * s.holders[1].pair.first + 10 * pair.first + more)


def twice(number: int) -> int:
    """Return a number doubled, in a local of its own."""
    found = number
    found += number
    return found


@action()
def a_helper_gets_a_number_as_it_is(s: State, c: C) -> None:
    """A helper gets a number, not the place that it was read from."""
    require(starts(s, c, Case.A_HELPER_GETS_A_NUMBER_AS_IT_IS))
    found = 3
    finish(s, 10 * twice(found) + found)


def chosen(s: State, index: int) -> Holder:
    """Return a holder."""
    if index == 0:
        return s.holders[0]
    return s.holders[index]


@action()
def a_helper_gives_the_record_itself(s: State, c: C) -> None:
    """A helper that returns a record returns the record itself."""
    require(starts(s, c, Case.A_HELPER_GIVES_THE_RECORD_ITSELF))
    chosen(s, bump(s)).pair.second = 6
    holder = chosen(s, 1)
    holder.pair.first = 5
    finish(s, 100 * s.holders[1].pair.first + 10 * s.holders[1].pair.second + s.x)


@action()
def a_record_that_is_stored_is_copied(s: State, c: C) -> None:
    """A record that is stored is copied, with all that is in it: two places never share one."""
    require(starts(s, c, Case.A_RECORD_THAT_IS_STORED_IS_COPIED))
    s.holders[1] = s.holders[0]
    s.holders[0].values[0] = 7
    s.holders[0].pair.first = 7
    finish(s, 10 * s.holders[1].values[0] + s.holders[1].pair.first)


@action()
def a_name_stands_for_a_place(s: State, c: C) -> None:
    """A name for a record stands for its place: it sees what is written there, and writes there."""
    require(starts(s, c, Case.A_NAME_STANDS_FOR_A_PLACE))
    pair = s.holders[0].pair
    s.holders[0].pair.first = 4
    pair.second = 3
    finish(s, 10 * pair.first + s.holders[0].pair.second)


@action()
def a_name_keeps_its_place(s: State, c: C) -> None:
    """Which place that is, is decided when the name is given: a later index changes nothing."""
    require(starts(s, c, Case.A_NAME_KEEPS_ITS_PLACE))
    index = 0
    holder = s.holders[index]
    values = s.holders[s.x].values
    index += 1
    s.x += 1
    holder.pair.first = index
    values[0] = 8
    finish(s, 100 * s.holders[0].pair.first + 10 * s.holders[1].pair.first + s.holders[0].values[0])


@action()
def none_as_an_index(s: State, c: C) -> None:
    """An index outside its array is an error; NONE is one like any other."""
    require(starts(s, c, Case.NONE_AS_AN_INDEX))
    finish(s, s.values[s.nobody])


@action()
def an_index_before_a_value(s: State, c: C) -> None:
    """The index of a store is checked before its value."""
    require(starts(s, c, Case.AN_INDEX_BEFORE_A_VALUE))
    s.values[s.x + 3] = s.x + 99
    finish(s, 1)


@action()
def a_value_outside_its_domain(s: State, c: C) -> None:
    """A value outside the domain of the place that it is stored in is an error."""
    require(starts(s, c, Case.A_VALUE_OUTSIDE_ITS_DOMAIN))
    s.values[1] += 9
    finish(s, 1)


@action()
def what_is_not_evaluated_is_no_error(s: State, c: C) -> None:
    """An expression that is not evaluated raises no error."""
    require(starts(s, c, Case.WHAT_IS_NOT_EVALUATED_IS_NO_ERROR))
    found = (s.nobody != NONE and s.values[s.nobody] == 1) or (s.values[s.nobody] if s.nobody >= 0 else 3)
    finish(s, found)


ACTIONS = tuple(item for item in vars().values() if isinstance(item, Action))
