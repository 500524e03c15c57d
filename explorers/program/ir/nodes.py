"""The nodes of the typed program, compared by identity. Failures are in capitals. See `docs/developing/program.md`."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from fencepost.explorers.program.subset.kinds import INT, Arr, BagRef, Int, Rec
from fencepost.model.language.domains import Domain
from fencepost.model.language.records import ArrayOf, FieldType, fields

LEAST, MOST = -(1 << 63), (1 << 63) - 1
"""The range of numbers in every engine. A number outside it is an error, except in the plain semantics."""

Type = Int | Rec | Arr | BagRef


class Failure(IntEnum):
    """The ways in which a node can fail. The numbers are the error codes of compiled code."""

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
    """The position of a node in its file. It has the attributes of `ast` nodes, so error messages accept both."""

    lineno: int
    col_offset: int
    end_lineno: int
    end_col_offset: int


@dataclass(frozen=True, slots=True, eq=False)
class Slot:
    """A local variable of a function, with a unique number and one type; it has no name if translation created it."""

    number: int
    name: str
    type: Type


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Node:
    """A node with its position and with its own checks that may fail."""

    at: At
    checks: Failures = NEVER


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Expression(Node):
    """An expression. The value of an expression is a number (flags and enum members are numbers), or a reference to a
    record, array or bag. A number lies between `low` and `high` for all values of the run's constants.
    """

    low: int = LEAST
    high: int = MOST
    type: Type = INT


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Expression):
    """A number in the source: a literal, a module's number, or an enum member."""

    value: int


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Expression):
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Local(Expression):
    slot: Slot


@dataclass(frozen=True, slots=True, eq=False)
class Field(Expression):
    """A field of a record: its number if it is a scalar, otherwise a reference to its content."""

    owner: Expression
    name: str

    @property
    def kind(self) -> FieldType:
        assert isinstance(self.owner.type, Rec)
        return dict(fields(self.owner.type.record))[self.name]


@dataclass(frozen=True, slots=True, eq=False)
class Element(Expression):
    """An array's element: its number if it is a scalar, otherwise a reference. INDEX: the index may be invalid."""

    array: Expression
    index: Expression

    @property
    def field(self) -> ArrayOf:
        assert isinstance(self.array.type, Arr)
        return self.array.type.field

    @property
    def kind(self) -> FieldType:
        return self.field.element


@dataclass(frozen=True, slots=True, eq=False)
class Length(Expression):
    """The number of elements of an array, or of messages in a bag."""

    of: Expression


class UnaryOp(StrEnum):
    NEGATE = "-"
    INVERT = "~"
    ABSOLUTE = "abs"


@dataclass(frozen=True, slots=True, eq=False)
class Unary(Expression):
    """An operator with a single operand. NUMBER: the result may exceed 64 bits."""

    operator: UnaryOp
    value: Expression


class BinaryOp(StrEnum):
    """Operators with two operands. `//` and `%` round down; their right operand is a positive literal."""

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
    """An operator with two operands. NUMBER: the result may exceed 64 bits. SHIFT: the count may be negative."""

    operator: BinaryOp
    left: Expression
    right: Expression


class Order(StrEnum):
    EQUAL = "=="
    DIFFERENT = "!="
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="


@dataclass(frozen=True, slots=True, eq=False)
class Compare(Expression):
    """A chain of comparisons: 1 if all hold, otherwise 0. An operand is evaluated only if earlier comparisons hold."""

    first: Expression
    rest: tuple[tuple[Order, Expression], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Among(Expression):
    """1 if a number equals one of the others (if `negated`, none of them), otherwise 0. All numbers are evaluated."""

    item: Expression
    others: tuple[Expression, ...]
    negated: bool


@dataclass(frozen=True, slots=True, eq=False)
class Logic(Expression):
    """`and` (`conjunction`) or `or` of numbers: the first operand that decides, otherwise the last operand."""

    conjunction: bool
    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Not(Expression):
    """1 if the number is 0, otherwise 0."""

    value: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Select(Expression):
    """`then` if the test is not 0, otherwise `other`. The result is a number or a reference to a record."""

    test: Expression
    then: Expression
    other: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Extreme(Expression):
    """The least (or, if `greatest`, the greatest) of two or more numbers. All are evaluated."""

    greatest: bool
    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Numbers(Node):
    """The numbers from `start` to `stop` - 1 in a loop over `range`."""

    start: Expression
    stop: Expression


Source = Numbers | Expression
"""Items of a loop: numbers, or a reference to an array or a bag."""


@dataclass(frozen=True, slots=True, eq=False)
class Clause(Node):
    """A single loop of a fold, such as `for slot in source if test if test`."""

    slot: Slot
    source: Source
    tests: tuple[Expression, ...]


class FoldOp(StrEnum):
    ALL = "all"
    ANY = "any"
    SUM = "sum"


@dataclass(frozen=True, slots=True, eq=False)
class Fold(Expression):
    """An `all`, `any` or `sum` over loops. `all` and `any` stop once decided. NUMBER: a sum may exceed 64 bits."""

    operator: FoldOp
    clauses: tuple[Clause, ...]
    value: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Call(Expression):
    """A call to a helper, which may change record arguments. `function` is the helper's index in `Program.functions`.
    In an expression, the helper returns a number or a reference. A helper without a result occurs only in `Evaluate`.
    """

    function: int
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Fits(Expression):
    """1 if an effect's condition is not 0; otherwise 0, and the constant `bound` makes the action omit the effect."""

    bound: str
    condition: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Switch(Expression):
    """A condition that can be turned off at run time, and is then 1: part `part` of a guard (0: the whole guard)."""

    guard: int
    part: int
    condition: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Assign(Node):
    """Assign a number or a reference to a slot."""

    slot: Slot
    value: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Store(Node):
    """Store a number in a scalar field or element. The value is evaluated first. Then the place is evaluated, which
    checks its indices. Finally, the domain is checked. VALUE: the value may be outside the domain.
    """

    place: Field | Element
    value: Expression
    domain: Domain


@dataclass(frozen=True, slots=True, eq=False)
class Copy(Node):
    """Copy a record into another place of the same class. The source record is evaluated before the place."""

    place: Field | Element
    source: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Require(Node):
    """A guard: the action happens only if the condition is not 0. `number` counts the guards of an action from 0.
    `bound` is the constant whose limit the guard enforces, or None if the guard is a rule of the protocol.
    """

    number: int
    condition: Expression
    bound: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class If(Node):
    test: Expression
    then: "Block"
    other: "Block"


@dataclass(frozen=True, slots=True, eq=False)
class For(Node):
    """Run a block once for each item of a source, which is evaluated once, before the first iteration. The block may
    assign to the slot; the next iteration still takes the source's next item.
    """

    slot: Slot
    source: Source
    body: "Block"


@dataclass(frozen=True, slots=True, eq=False)
class Break(Node):
    """Leave the innermost loop."""


@dataclass(frozen=True, slots=True, eq=False)
class Continue(Node):
    """Continue with the next iteration of the innermost loop."""


@dataclass(frozen=True, slots=True, eq=False)
class Return(Node):
    """Return from the function with a number, a reference to a record, or nothing."""

    value: Expression | None


@dataclass(frozen=True, slots=True, eq=False)
class Evaluate(Node):
    """Call a helper for its effects and discard its result."""

    call: Call


@dataclass(frozen=True, slots=True, eq=False)
class Fill(Node):
    """The value for a scalar field of a new message. VALUE: the value may be outside the domain."""

    name: str
    value: Expression
    domain: Domain


@dataclass(frozen=True, slots=True, eq=False)
class Add(Node):
    """Append a message to the bag. If `slot` is given, the slot refers to the new message.

    The bag is evaluated first, then all values, in order; then FULL is checked, and finally each value's domain. The
    bag changes only after all checks. Omitted fields are zero.
    """

    bag: Expression
    fills: tuple[Fill, ...]
    slot: Slot | None


@dataclass(frozen=True, slots=True, eq=False)
class Remove(Node):
    """Remove a message if it is in the bag, otherwise the first equal message. ABSENT: the bag may contain neither."""

    bag: Expression
    message: Expression


Statement = Assign | Store | Copy | Require | If | For | Break | Continue | Return | Evaluate | Add | Remove
Block = tuple[Statement, ...]
