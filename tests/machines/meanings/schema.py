"""The state that every sentence is about."""

from enum import IntEnum, auto
from typing import Annotated

from fencepost.model.language import Array, Bag, Constants, Index, Per, Range, Record, Size, bound, choice, shape


class Case(IntEnum):
    """Which action happens."""

    NOTHING = 0
    FLAGS_ARE_NUMBERS = auto()
    DIVISION_ROUNDS_DOWN = auto()
    SHIFTS_ROUND_DOWN = auto()
    A_NEGATIVE_SHIFT_IS_AN_ERROR = auto()
    A_HUGE_SHIFT_IS_AN_ERROR = auto()
    SIGNS_OF_FLAGS = auto()
    A_LONG_SUM_IS_REFUSED = auto()
    LOGIC_GIVES_THE_OPERAND_THAT_DECIDES = auto()
    LOGIC_STOPS_WHERE_IT_IS_DECIDED = auto()
    ONE_WAY_OF_A_CONDITIONAL_IS_EVALUATED = auto()
    A_CHAIN_EVALUATES_ITS_MIDDLE_ONCE = auto()
    A_CHAIN_STOPS_WHERE_IT_FAILS = auto()
    IN_EVALUATES_EVERY_NUMBER = auto()
    NOT_IN_EVALUATES_EVERY_NUMBER = auto()
    LEAST_EVALUATES_EVERY_NUMBER = auto()
    OPERANDS_FROM_LEFT_TO_RIGHT = auto()
    ARGUMENTS_FROM_LEFT_TO_RIGHT = auto()
    THE_VALUE_BEFORE_THE_PLACE = auto()
    AN_AUGMENTED_PLACE_IS_FOUND_ONCE = auto()
    AN_AUGMENTED_PLACE_IS_READ_FIRST = auto()
    SEVERAL_NAMES_AT_ONCE = auto()
    A_HELPER_CHANGES_THE_RECORD_IT_IS_GIVEN = auto()
    A_HELPER_GETS_A_NUMBER_AS_IT_IS = auto()
    A_HELPER_GIVES_THE_RECORD_ITSELF = auto()
    A_RECORD_THAT_IS_STORED_IS_COPIED = auto()
    A_NAME_STANDS_FOR_A_PLACE = auto()
    A_NAME_KEEPS_ITS_PLACE = auto()
    A_SOURCE_IS_EVALUATED_ONCE = auto()
    ENDS_OF_A_RANGE_ARE_EVALUATED_ONCE = auto()
    A_CHANGED_VARIABLE_DOES_NOT_CHANGE_THE_LOOP = auto()
    ELEMENTS_ARE_READ_IN_THEIR_ROUND = auto()
    A_VARIABLE_KEEPS_ITS_LAST_VALUE = auto()
    A_RANGE_THAT_RUNS_BACKWARDS_IS_EMPTY = auto()
    CONTINUE_AND_BREAK = auto()
    RETURN_LEAVES_EVERY_LOOP = auto()
    A_GENERATORS_VARIABLE_IS_ITS_OWN = auto()
    THE_FIRST_SOURCE_IS_OUTSIDE_THE_GENERATOR = auto()
    A_SHADOWED_PARAMETER_IS_NO_INDEX = auto()
    ANY_STOPS_AT_WHAT_DECIDES = auto()
    FOLDS_OF_NOTHING = auto()
    CLAUSES_NEST = auto()
    A_LATER_CLAUSE_MAY_TAKE_A_NAME = auto()
    A_BAG_FROM_THE_LAST_MESSAGE = auto()
    MESSAGES_ARE_ORDERED_FIELD_BY_FIELD = auto()
    WHAT_IS_ADDED_COMES_LAST = auto()
    A_LOOP_SEES_WHAT_WAS_THERE = auto()
    THE_MESSAGE_AT_HAND_MAY_BE_REMOVED = auto()
    THE_MESSAGE_ITSELF_IS_REMOVED = auto()
    A_CHANGED_MESSAGE_STAYS_IN_ITS_STEP = auto()
    A_CHANGED_MESSAGE_MOVES_AFTER_ITS_STEP = auto()
    FIELDS_BEFORE_THE_MESSAGE_IS_THERE = auto()
    A_FULL_BAG_BEFORE_A_WRONG_FIELD = auto()
    A_RECEIVED_MESSAGE_IS_A_COPY = auto()
    A_MESSAGE_THAT_IS_NOT_THERE = auto()
    NONE_AS_AN_INDEX = auto()
    AN_INDEX_BEFORE_A_VALUE = auto()
    A_VALUE_OUTSIDE_ITS_DOMAIN = auto()
    WHAT_IS_NOT_EVALUATED_IS_NO_ERROR = auto()
    A_GUARD_PROTECTS_THOSE_AFTER_IT = auto()
    A_LOCAL_BEFORE_A_GUARD_IS_EVALUATED = auto()
    WITHOUT_A_VALUE_NO_GUARD_IS_EVALUATED = auto()
    NONE_IS_NEVER_TRIED = auto()


class C(Constants):
    """Which case, and what `out` is then."""

    case = choice(Case.NOTHING, meaning="the action that happens")
    want = bound(0, low=-1_000_000, high=1_000_000, meaning="what it leaves")
    things = shape(3, low=1, high=4, meaning="things")
    none = bound(0, low=0, high=1, meaning="nothing, as the size of a domain")


Small = Annotated[int, Range(-9, 9)]
Thing = Annotated[int, Index(C.things)]
MaybeThing = Annotated[int, Index(C.things, none=True)]


class Pair(Record):
    """Two numbers."""

    first: Small
    second: Small


class Holder(Record):
    """An array in a record."""

    values: Annotated[Array[Small], Size(2)]
    pair: Pair


class Message(Record):
    """A message, with an array of records."""

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
