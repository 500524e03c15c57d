"""The state that every sentence is about."""

from enum import IntEnum
from typing import Annotated

from fencepost.model.language import Array, Bag, Constants, Index, Per, Range, Record, Size, bound, choice, shape

Case = IntEnum(
    "Case",
    """
    NOTHING FLAGS_ARE_NUMBERS DIVISION_ROUNDS_DOWN SHIFTS_ROUND_DOWN A_NEGATIVE_SHIFT_IS_AN_ERROR
    A_HUGE_SHIFT_IS_AN_ERROR SIGNS_OF_FLAGS A_LONG_SUM_IS_REFUSED LOGIC_GIVES_THE_OPERAND_THAT_DECIDES
    LOGIC_STOPS_WHERE_IT_IS_DECIDED ONE_WAY_OF_A_CONDITIONAL_IS_EVALUATED A_CHAIN_EVALUATES_ITS_MIDDLE_ONCE
    A_CHAIN_STOPS_WHERE_IT_FAILS IN_EVALUATES_EVERY_NUMBER NOT_IN_EVALUATES_EVERY_NUMBER
    LEAST_EVALUATES_EVERY_NUMBER OPERANDS_FROM_LEFT_TO_RIGHT ARGUMENTS_FROM_LEFT_TO_RIGHT THE_VALUE_BEFORE_THE_PLACE
    AN_AUGMENTED_PLACE_IS_FOUND_ONCE AN_AUGMENTED_PLACE_IS_READ_FIRST SEVERAL_NAMES_AT_ONCE
    A_HELPER_CHANGES_THE_RECORD_IT_IS_GIVEN A_HELPER_GETS_A_NUMBER_AS_IT_IS A_HELPER_GIVES_THE_RECORD_ITSELF
    A_RECORD_THAT_IS_STORED_IS_COPIED A_NAME_STANDS_FOR_A_PLACE A_NAME_KEEPS_ITS_PLACE A_SOURCE_IS_EVALUATED_ONCE
    ENDS_OF_A_RANGE_ARE_EVALUATED_ONCE A_CHANGED_VARIABLE_DOES_NOT_CHANGE_THE_LOOP ELEMENTS_ARE_READ_IN_THEIR_ROUND
    A_VARIABLE_KEEPS_ITS_LAST_VALUE A_RANGE_THAT_RUNS_BACKWARDS_IS_EMPTY CONTINUE_AND_BREAK RETURN_LEAVES_EVERY_LOOP
    A_GENERATORS_VARIABLE_IS_ITS_OWN THE_FIRST_SOURCE_IS_OUTSIDE_THE_GENERATOR A_SHADOWED_PARAMETER_IS_NO_INDEX
    ANY_STOPS_AT_WHAT_DECIDES FOLDS_OF_NOTHING CLAUSES_NEST A_LATER_CLAUSE_MAY_TAKE_A_NAME
    A_BAG_FROM_THE_LAST_MESSAGE MESSAGES_ARE_ORDERED_FIELD_BY_FIELD WHAT_IS_ADDED_COMES_LAST
    A_LOOP_SEES_WHAT_WAS_THERE THE_MESSAGE_AT_HAND_MAY_BE_REMOVED THE_MESSAGE_ITSELF_IS_REMOVED
    A_CHANGED_MESSAGE_STAYS_IN_ITS_STEP A_CHANGED_MESSAGE_MOVES_AFTER_ITS_STEP FIELDS_BEFORE_THE_MESSAGE_IS_THERE
    A_FULL_BAG_BEFORE_A_WRONG_FIELD A_RECEIVED_MESSAGE_IS_A_COPY A_MESSAGE_THAT_IS_NOT_THERE NONE_AS_AN_INDEX
    AN_INDEX_BEFORE_A_VALUE A_VALUE_OUTSIDE_ITS_DOMAIN WHAT_IS_NOT_EVALUATED_IS_NO_ERROR
    A_GUARD_PROTECTS_THOSE_AFTER_IT A_LOCAL_BEFORE_A_GUARD_IS_EVALUATED WITHOUT_A_VALUE_NO_GUARD_IS_EVALUATED
    NONE_IS_NEVER_TRIED
    """,
    start=0,
)


class C(Constants):
    case = choice(Case.NOTHING, meaning="the action that happens")
    want = bound(0, low=-1_000_000, high=1_000_000, meaning="what it leaves")
    things = shape(3, low=1, high=4, meaning="things")
    none = bound(0, low=0, high=1, meaning="nothing, as the size of a domain")


Small = Annotated[int, Range(-9, 9)]
Thing = Annotated[int, Index(C.things)]
MaybeThing = Annotated[int, Index(C.things, none=True)]


class Pair(Record):
    first: Small
    second: Small


class Holder(Record):
    values: Annotated[Array[Small], Size(2)]
    pair: Pair


class Message(Record):
    number: Small
    pairs: Annotated[Array[Pair], Size(2)]


class State(Record):
    """`out` is what a case leaves."""

    pc: Annotated[int, Range(0, 9)]
    out: Annotated[int, Range(-1_000_000, 1_000_000)]
    x: Small
    nobody: MaybeThing
    flag: bool
    values: Annotated[Array[Small], Per(Thing)]
    holders: Annotated[Array[Holder], Size(2)]
    box: Annotated[Bag[Message], Size(3)]


def bump(s: State) -> int:
    """Count on, and return the new number."""
    s.x += 1
    return s.x


def starts(s: State, c: C, case: int) -> bool:
    """Say whether this case happens, and has not happened yet."""
    return c.case == case and s.pc == 0


def finish(s: State, found: int) -> None:
    """Leave what was found."""
    s.out = found
    s.pc = 9
