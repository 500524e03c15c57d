"""The nodes of the typed program: the expressions, places and statements of a model whose text has been checked.

`docs/developing/program.md` says what each node means, in which order its parts are evaluated, and how it can fail.
Nodes are compared by identity: two places in a text are two nodes, even where they read the same.
"""

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from fencepost.explorers.program.subset.kinds import INT, Arr, BagRef, Int, Rec
from fencepost.model.language.domains import Domain

LEAST, MOST = -(1 << 63), (1 << 63) - 1
"""The numbers that every engine has; a result outside them is an error on all but the plain one."""

Type = Int | Rec | Arr | BagRef


class Failure(IntEnum):
    """How a node can fail. The numbers are the codes that compiled code leaves."""

    INDEX = 1
    VALUE = 2
    SHIFT = 3
    FULL = 4
    ABSENT = 5
    NUMBER = 6


Failures = frozenset[Failure]
NEVER: Failures = frozenset()


@dataclass(frozen=True, slots=True)
class At:
    """Where a node stands in its file; the names are those of `ast`, so that messages point at either."""

    lineno: int
    col_offset: int
    end_lineno: int
    end_col_offset: int


@dataclass(frozen=True, slots=True, eq=False)
class Slot:
    """A local of a function: a number that is unique in it, and a type that never changes.

    Two names that are spelt alike in different scopes (a generator's variable and a parameter) are two slots. A slot
    without a name was made by the translation.
    """

    number: int
    name: str
    type: Type


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Node:
    """Something that stands somewhere, and which of its own checks may fail, its parts left out."""

    at: At
    checks: Failures = NEVER


# -- expressions


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Expression(Node):
    """A value: a number (flags and enum members are numbers) or a reference to a record, an array or a bag.

    A number lies from `low` to `high`, whatever the constants of the run.
    """

    low: int = LEAST
    high: int = MOST
    type: Type = INT


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Expression):
    """A number that the text gives: written out, a module's number, an enum member."""

    value: int


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Expression):
    """The value of a constant of the run."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Local(Expression):
    """The content of a slot."""

    slot: Slot


@dataclass(frozen=True, slots=True, eq=False)
class Field(Expression):
    """A field of a record: its number if it is a scalar, else a reference to what the field holds."""

    owner: Expression
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Element(Expression):
    """An element of an array: its number if it is a scalar, else a reference. INDEX: the index is checked."""

    array: Expression
    index: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Length(Expression):
    """How many elements an array has, or how many messages are in a bag."""

    of: Expression


class UnaryOp(StrEnum):
    """Operators of one number."""

    NEGATE = "-"
    INVERT = "~"
    ABSOLUTE = "abs"


@dataclass(frozen=True, slots=True, eq=False)
class Unary(Expression):
    """An operator of one number. NUMBER: the result may leave 64 bits."""

    operator: UnaryOp
    value: Expression


class BinaryOp(StrEnum):
    """Operators of two numbers; `//` and `%` round down, and their right side is a positive literal."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "//"
    MODULO = "%"
    AND = "&"
    OR = "|"
    XOR = "^"
    LEFT = "<<"
    RIGHT = ">>"


@dataclass(frozen=True, slots=True, eq=False)
class Binary(Expression):
    """An operator of two numbers. NUMBER: the result may leave 64 bits. SHIFT: the count may be negative."""

    operator: BinaryOp
    left: Expression
    right: Expression


class Order(StrEnum):
    """How two numbers are compared."""

    EQUAL = "=="
    DIFFERENT = "!="
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="


@dataclass(frozen=True, slots=True, eq=False)
class Compare(Expression):
    """A chain of comparisons: 1 if all hold, else 0. An operand is evaluated once, and only if those before it hold."""

    first: Expression
    rest: tuple[tuple[Order, Expression], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Among(Expression):
    """Whether a number is one of others (or, `negated`, none of them). All are evaluated, whichever is equal."""

    item: Expression
    others: tuple[Expression, ...]
    negated: bool


@dataclass(frozen=True, slots=True, eq=False)
class Logic(Expression):
    """`and` (`conjunction`) or `or` of numbers: the value of the first operand that decides, else of the last one."""

    conjunction: bool
    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Not(Expression):
    """1 if the number is 0, else 0."""

    value: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Select(Expression):
    """`then` if the test is not 0, else `other`: numbers or references to records. Only one is evaluated."""

    test: Expression
    then: Expression
    other: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Extreme(Expression):
    """The least (or, `greatest`, the greatest) of two numbers or more. All are evaluated."""

    greatest: bool
    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Numbers(Node):
    """The numbers of a loop over `range`: from `start` to below `stop`."""

    start: Expression
    stop: Expression


Source = Numbers | Expression
"""The items of a loop: numbers, or a reference to an array or a bag."""


@dataclass(frozen=True, slots=True, eq=False)
class Clause(Node):
    """`for slot in source if test if test`: one of the loops of a fold."""

    slot: Slot
    source: Source
    tests: tuple[Expression, ...]


class FoldOp(StrEnum):
    """The operation of a fold on its values."""

    ALL = "all"
    ANY = "any"
    SUM = "sum"


@dataclass(frozen=True, slots=True, eq=False)
class Fold(Expression):
    """`all`, `any` or `sum` over nested loops. `all` and `any` stop at the value that decides. NUMBER: as for a sum."""

    operator: FoldOp
    clauses: tuple[Clause, ...]
    value: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Call(Expression):
    """A call of a helper: `function` is its place in `Program.functions`. It may change what it is given references to.

    As a part of an expression it gives a number or a reference; a helper that returns nothing
    stands in `Evaluate` only.
    """

    function: int
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Fits(Expression):
    """1 if an effect's condition is not 0, else 0: constant `bound` then makes it leave something out."""

    bound: str
    condition: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Switch(Expression):
    """A condition that can be turned off while the program runs: 1 where it is off, else the condition.

    `guard` counts the guards of the program, `part` is 0 for the guard as a whole, else the number of a part of it.
    Only the pass `masks.with_switches` makes these.
    """

    guard: int
    part: int
    condition: Expression


# -- statements


@dataclass(frozen=True, slots=True, eq=False)
class Assign(Node):
    """Let a slot hold a number or a reference."""

    slot: Slot
    value: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Store(Node):
    """Store a number in a scalar field or element. The value is evaluated first, then the place.

    VALUE: the value may be outside the domain. An index inside the place is checked before the value is.
    """

    place: Field | Element
    value: Expression
    domain: Domain


@dataclass(frozen=True, slots=True, eq=False)
class Copy(Node):
    """Copy a record into another place of the same class. The source is evaluated before the place."""

    place: Field | Element
    source: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Require(Node):
    """A guard: the action happens only if the condition is not 0. `number` counts the guards of its action from 0.

    `bound` is the constant that it stands for alone, None if it is a rule of the protocol.
    """

    number: int
    condition: Expression
    bound: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class If(Node):
    """Run one of two blocks."""

    test: Expression
    then: "Block"
    other: "Block"


@dataclass(frozen=True, slots=True, eq=False)
class For(Node):
    """Run a block once for each item of a source, which is evaluated once, before the first round.

    The block may give the slot another value; the next round starts from the source's own count all the same.
    """

    slot: Slot
    source: Source
    body: "Block"


@dataclass(frozen=True, slots=True, eq=False)
class Break(Node):
    """Leave the innermost loop."""


@dataclass(frozen=True, slots=True, eq=False)
class Continue(Node):
    """Go on with the next round of the innermost loop."""


@dataclass(frozen=True, slots=True, eq=False)
class Return(Node):
    """Leave the function, with a number or a reference to a record if it gives one."""

    value: Expression | None


@dataclass(frozen=True, slots=True, eq=False)
class Evaluate(Node):
    """Call a helper for what it does; what it returns is dropped."""

    call: Call


@dataclass(frozen=True, slots=True, eq=False)
class Fill(Node):
    """A scalar field that a new message is given. VALUE: the value may be outside the domain."""

    name: str
    value: Expression
    domain: Domain


@dataclass(frozen=True, slots=True, eq=False)
class Add(Node):
    """Put a message in flight, as the last one of the bag, and let `slot` (if there is one) refer to it.

    First the bag is evaluated, then all values, in order; then FULL is checked, then each value against its domain;
    only then does the bag change. Fields that are not filled are zero.
    """

    bag: Expression
    fills: tuple[Fill, ...]
    slot: Slot | None


@dataclass(frozen=True, slots=True, eq=False)
class Remove(Node):
    """Take out a message: itself if it lies in this bag, else the first equal one. ABSENT: no message is equal."""

    bag: Expression
    message: Expression


Statement = Assign | Store | Copy | Require | If | For | Break | Continue | Return | Evaluate | Add | Remove
Block = tuple[Statement, ...]
