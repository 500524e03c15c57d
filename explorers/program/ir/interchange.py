"""A proof, based on the typed program, that values are interchangeable as declared.

If the proof fails, an error names the line.

The members of a numbered set, such as the brokers, are called things in this module. Numbers are classified by what
happens to them when things are renamed: unchanged numbers, renamed things, and sets of things. A thing may only be
compared for equality, used as an array index, or put into a set. A loop over things must have the same result for every
order of the things. Under these rules, renaming commutes with steps: renaming a state and then taking a step with
renamed arguments has the same result as taking the step and then renaming. Initial states may name things, because the
states reachable from a renamed initial state are the renamed states reachable from the original initial state.

The proof is conservative: a rejected model may still be symmetric. To check that no model is wrongly accepted, tests
verify on whole machines that every permutation commutes with every step of the plain semantics.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import IntFlag

from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.any_order import Rounds, last, why_pure
from fencepost.explorers.program.ir.nodes import BinaryOp, Block, Expression, FoldOp, Literal, Node, Order, Slot
from fencepost.explorers.program.ir.program import Function, Program, inside, within
from fencepost.explorers.program.ir.settled import settled
from fencepost.explorers.program.subset.kinds import INT, Arr, BagRef
from fencepost.explorers.program.subset.places import refusal
from fencepost.model.language import bits
from fencepost.model.language.constants import Constants
from fencepost.model.language.domains import NONE, Domain, InFlight, Linear, linear
from fencepost.model.language.errors import ModelError
from fencepost.model.language.records import ArrayOf, FieldType, Scalar, fields
from fencepost.model.language.symmetry import Things, things_of


class Kind(IntFlag):
    """Kinds of numbers under renaming. A number may have several kinds: -1 may mean no thing, or all things."""

    SAME = 1
    THING = 2
    SET = 4
    COUNT = 8
    BEYOND = 16
    """The set that contains only the number that follows the greatest thing."""
    TRUTH = 32
    """Renaming does not change whether the number is 0."""
    ZERO = 64


SAME, THING, SET, COUNT, BEYOND, TRUTH, ZERO = Kind
ANY = SAME | THING | SET | COUNT | BEYOND | TRUTH | ZERO
REFERENCE = Kind(0)


class Refused(Exception):  # noqa: N818 (never leaves this module)
    def __init__(self, node: Node, why: str) -> None:
        super().__init__(why)
        self.node, self.why = node, why


def require_interchangeable(program: Program, constants: Constants) -> None:
    """Raise ModelError for a line that distinguishes interchangeable things with these constants."""
    program = settled(program, constants)
    shown = Shown(program)
    for action in program.actions:
        shown.root(action.function, [parameter.domain for parameter in action.parameters])
    if program.normalize is not None:
        shown.root(program.normalize, [])
    for item in program.asked:
        if item.name in program.properties:
            shown.root(program.properties[item.name], [domain for _, domain in (item.on.params if item.on else ())])


class Shown:
    def __init__(self, program: Program) -> None:
        self.program, self.things = program, things_of(program.machine)
        self.known: dict[tuple[int, tuple[Kind, ...], frozenset[str]], Kind] = {}
        self.disordered: frozenset[str] = frozenset()
        """The bags that the current action may leave unsorted. They are sorted when the action ends."""

    def kind_of(self, domain: Domain) -> Kind:
        return THING if self.things.is_thing(domain) else SET if self.things.is_set(domain) else SAME

    def root(self, number: int, domains: Iterable[Domain | InFlight]) -> None:
        function = self.program.functions[number]
        self.disordered = frozenset(last(path) for _, path in function.effects.disorders)
        kinds = [REFERENCE if isinstance(item, InFlight) else self.kind_of(item) for item in domains]
        states = [REFERENCE] * (len(function.parameters) - len(kinds))
        self.call(number, (*states, *kinds))

    def call(self, number: int, kinds: tuple[Kind, ...]) -> Kind:
        function = self.program.functions[number]
        if function.python is bits.size and kinds == (SET,):
            return SAME  # it removes the members one by one, least first, but only counts them
        if (number, kinds, self.disordered) not in self.known:
            looked = Look(self, function, kinds)
            try:
                looked.whole()
            except Refused as error:
                what = f"interchangeable values are distinguished: {error.why}"
                raise refusal(function.python, error.node.at, what, "search without `symmetry=True`") from None
            self.known[number, kinds, self.disordered] = looked.gives
        return self.known[number, kinds, self.disordered]

    def leaves_out(self, kind: FieldType) -> bool:
        """Return whether clearing a part would set one of its things to 0, the number of the first thing."""
        return any(isinstance(item, Scalar) and self.things.is_thing(item.domain) for item in within(kind))


def names(things: Things, kind: FieldType) -> bool:
    """Return whether a part of a state names things; if so, renaming may change its position in a bag."""
    return any(
        things.is_named(item.domain)
        if isinstance(item, Scalar)
        else isinstance(item, ArrayOf) and things.is_by_thing(item)
        for item in within(kind)
    )


class Look:
    """Analysis of one function for parameters of known kinds, repeated until its local variables' kinds are stable."""

    def __init__(self, shown: Shown, function: Function, kinds: tuple[Kind, ...]) -> None:
        self.shown, self.function, self.things = shown, function, shown.things
        self.slots: dict[Slot, Kind] = dict(zip(function.parameters, kinds, strict=True))
        self.gives = ANY

    def whole(self) -> None:
        before = None
        while before != (before := (dict(self.slots), self.gives)):
            self.block(self.function.body)

    # -- statements

    def block(self, block: Block) -> None:
        for item in block:
            self.statement(item)

    def statement(self, item: nodes.Statement) -> None:
        match item:
            case nodes.Assign():
                self.assign(item.slot, self.value(item.value), item)
            case nodes.Store():
                self.fits(self.value(item.value), self.place(item.place), item)
            case nodes.Copy():
                self.value(item.place)
                self.value(item.source)
            case nodes.Require():
                self.truth(item.condition)
            case nodes.If():
                self.truth(item.test)
                self.block(item.then)
                self.block(item.other)
            case nodes.For():
                self.loop(item)
            case nodes.Return() if item.value is not None:
                found = self.value(item.value)
                self.gives = self.gives & found if item.value.type == INT else REFERENCE
                if item.value.type == INT and not self.gives:
                    raise Refused(item, "the function returns an interchangeable value here, but not elsewhere")
            case nodes.Evaluate():
                self.value(item.call)
            case nodes.Add():
                self.value(item.bag)
                assert isinstance(item.bag.type, BagRef)
                filled = {fill.name for fill in item.fills}
                for fill in item.fills:
                    self.fits(self.value(fill.value), self.shown.kind_of(fill.domain), fill)
                for name, kind in fields(item.bag.type.field.record):
                    if name not in filled and self.shown.leaves_out(kind):
                        raise Refused(
                            item, f"the omitted field `{name}` is 0, the number of the first interchangeable value"
                        )
            case nodes.Remove():
                self.value(item.bag)
                self.value(item.message)

    def assign(self, slot: Slot, kind: Kind, node: Node) -> None:
        if slot.type == INT:
            self.slots[slot] = self.slots.get(slot, ANY) & kind
            if not self.slots[slot]:
                raise Refused(node, f"`{slot.name}` is an interchangeable value here, but not elsewhere")

    def fits(self, kind: Kind, wanted: Kind, node: Node) -> None:
        if not kind & wanted:
            into = {SAME: "other numbers", THING: "an interchangeable value", SET: "a set of interchangeable values"}[
                wanted
            ]
            raise Refused(node, f"{said(kind)} is stored in a place for {into}")

    def loop(self, item: nodes.For) -> None:
        before = dict(self.slots)
        removal = removes_all(self.shown.program.functions, item)
        if removal is not None:
            self.value(removal[0])
            self.truth(removal[1])
            return
        unordered = self.bind(item, item.slot, item.source)
        try:
            if unordered:
                refuse(Rounds(self.shown.program.functions, self.function, item).why_not())
            self.block(item.body)
        except Refused as error:
            if not unordered or not isinstance(item.source, nodes.Numbers):
                raise
            self.slots = {**before, item.slot: SAME}
            try:
                self.block(item.body)
            except (Refused, ModelError):
                raise error from None

    def bind(self, node: Node, slot: Slot, source: nodes.Source) -> bool:
        """Bind a loop's variable; return whether the loop's items have no order."""
        if isinstance(source, nodes.Numbers):
            start, stop = self.value(source.start), self.value(source.stop)
            if ZERO in start and COUNT in stop:
                self.slots[slot] = THING
                return True
            if not start & stop & SAME:
                raise Refused(node, "a loop begins or ends at an interchangeable value")
            self.slots[slot] = SAME
            return False
        self.value(source)
        if isinstance(source.type, BagRef):
            is_sorted = not self.shown.disordered or (
                isinstance(source, nodes.Field) and source.name not in self.shown.disordered
            )
            return not is_sorted or names(self.things, source.type.field)
        assert isinstance(source.type, Arr)
        if isinstance(source.type.field.element, Scalar):
            self.slots[slot] = self.shown.kind_of(source.type.field.element.domain)
        return self.things.is_by_thing(source.type.field)

    # -- expressions

    def truth(self, node: Expression) -> None:
        if not self.value(node) & (SAME | SET | TRUTH):
            raise Refused(node, "an interchangeable value is compared with 0, the number of the first value")

    def same(self, node: Expression, what: str) -> None:
        kind = self.value(node)
        if not kind & SAME:
            raise Refused(node, f"{said(kind)} is {what}")

    def value(self, node: Expression) -> Kind:
        kind = self.part(node)
        return kind | COUNT if node.type == INT and kind & SAME and total_of(node) == self.things.count else kind

    def part(self, node: Expression) -> Kind:
        match node:
            case Literal():
                return SAME | SET | ZERO if node.value == 0 else SAME | THING | SET if node.value == NONE else SAME
            case nodes.Constant():
                return SAME
            case nodes.Local():
                return self.slots.get(node.slot, ANY if node.type == INT else REFERENCE)
            case nodes.Field() | nodes.Element():
                return self.place(node)
            case nodes.Length():
                self.value(node.of)
                return SAME
            case nodes.Unary() if node.operator is nodes.UnaryOp.INVERT:
                found = self.value(node.value) & (SAME | SET)
                if not found:
                    raise Refused(node, "an interchangeable value is used in arithmetic")
                return found
            case nodes.Unary():
                self.same(node.value, "used in arithmetic")
                return SAME
            case nodes.Binary():
                return self.binary(node)
            case nodes.Compare():
                return self.compare(node)
            case nodes.Among():
                for other in node.others:
                    self.compared(node, (node.item, Order.EQUAL, other))
                return SAME
            case nodes.Logic():
                return self.logic(node)
            case nodes.Not():
                self.truth(node.value)
                return SAME
            case nodes.Select():
                self.truth(node.test)
                found = self.value(node.then) & self.value(node.other)
                if node.type == INT and not found:
                    raise Refused(node, "the result is an interchangeable value in one case, but not in the other")
                return found
            case nodes.Extreme():
                for item in node.values:
                    self.same(item, "passed to min or max")
                return SAME
            case nodes.Fold():
                return self.fold(node)
            case nodes.Call():
                return self.shown.call(node.function, tuple(map(self.value, node.arguments)))
            case nodes.Fits() | nodes.Switch():
                self.truth(node.condition)
                return SAME
        raise Refused(node, "this expression may distinguish interchangeable values")

    def place(self, node: nodes.Field | nodes.Element) -> Kind:
        if isinstance(node, nodes.Field):
            self.value(node.owner)
        else:
            self.value(node.array)
            index, by_thing = self.value(node.index), self.things.is_by_thing(node.field)
            if by_thing and not index & THING:
                raise Refused(node, f"{said(index)} selects an interchangeable value")
            if not by_thing and not index & SAME:
                raise Refused(node, f"{said(index)} is the index of an ordered array")
        return self.shown.kind_of(node.kind.domain) if isinstance(node.kind, Scalar) else REFERENCE

    def binary(self, node: nodes.Binary) -> Kind:
        left, right = node.left, node.right
        match node.operator:
            case BinaryOp.AND if (
                isinstance(right, Literal)
                and right.value == 1
                and isinstance(left, nodes.Binary)
                and left.operator is BinaryOp.RIGHT
                and self.value(left.left) & SET
                and self.value(left.right) & THING
            ):
                return SAME  # the result only says whether it is a member
            case BinaryOp.AND | BinaryOp.OR | BinaryOp.XOR:
                one, other = self.value(left), self.value(right)
                if one & other & (SAME | SET):
                    return one & other & (SAME | SET)
                raise Refused(node, f"{said(one)} and {said(other)} are combined")
            case BinaryOp.LEFT if isinstance(left, Literal) and left.value == 1:
                count = self.value(right)
                if count & THING:
                    return SET | (SAME & count)
                return SAME | (BEYOND if COUNT in count else REFERENCE)
            case BinaryOp.SUBTRACT if isinstance(right, Literal) and right.value == 1 and BEYOND in self.value(left):
                return SAME | SET  # the set of all things
        for item in (left, right):
            self.same(item, "used in arithmetic")
        return SAME

    def compare(self, node: nodes.Compare) -> Kind:
        left = node.first
        for order, right in node.rest:
            self.compared(node, (left, order, right))
            left = right
        return SAME

    def compared(self, node: Expression, asked: tuple[Expression, Order, Expression]) -> None:
        left, order, right = asked
        one, other = self.value(left), self.value(right)
        if order in (Order.EQUAL, Order.DIFFERENT):
            if not one & other & (SAME | THING | SET):
                raise Refused(node, f"{said(one)} is compared with {said(other)}")
        elif not (one & other & SAME or asks_for_none(order, right) or asks_for_none(MIRROR[order], left)):
            raise Refused(node, "interchangeable values are compared by order")

    def logic(self, node: nodes.Logic) -> Kind:
        if is_membership(node, lambda members, item: bool(self.value(members) & SET and self.value(item) & THING)):
            return SAME
        found = ANY
        for item in node.values:
            self.truth(item)
            found &= self.value(item)
        return found or TRUTH

    def fold(self, node: nodes.Fold) -> Kind:
        unordered = False
        for clause in node.clauses:
            unordered |= self.bind(clause, clause.slot, clause.source)
            for test in clause.tests:
                self.truth(test)
        if node.operator is FoldOp.SUM:
            self.same(node.value, "used in arithmetic")
        else:
            self.truth(node.value)
        if unordered:
            refuse(why_pure(self.shown.program.functions, [node], stops=node.operator is not FoldOp.SUM))
        return SAME


def refuse(why: tuple[Node, str] | None) -> None:
    if why is not None:
        raise Refused(*why)


def said(kind: Kind) -> str:
    return (
        "a number" if kind & SAME else "an interchangeable value" if kind & THING else "a set of interchangeable values"
    )


def removes_all(functions: Sequence[Function], loop: nodes.For) -> tuple[Expression, Expression] | None:
    """Return the bag and the test of a loop that removes every message of the bag that passes the test, which must not
    read the bag. In a model, the outer loop removes the first match as many times as messages fit in the bag.
    """
    match loop:
        case nodes.For(
            source=nodes.Numbers(start=Literal(value=0), stop=stop),
            body=(
                nodes.For(
                    slot=slot,
                    source=nodes.Field(type=BagRef(field=field)) as bag,
                    body=(
                        nodes.If(
                            test=test,
                            then=(
                                nodes.Remove(bag=nodes.Field(name=name), message=nodes.Local(slot=removed)),
                                nodes.Break(),
                            ),
                            other=(),
                        ),
                    ),
                ),
            ),
        ) if name == bag.name and removed is slot and total_of(stop) == field.room:
            calls = [item for item in inside([test]) if isinstance(item, nodes.Call)]
            paths = (path for item in calls for _, path in functions[item.function].effects.reads)
            direct = (item.name for item in inside([test]) if isinstance(item, nodes.Field))
            read = {part.partition("[")[0] for path in (*paths, *direct) for part in path.split(".")}
            if bag.name not in read and not any(functions[item.function].effects.writes for item in calls):
                return bag, test
    return None


MIRROR = {Order.LESS: Order.MORE, Order.AT_MOST: Order.AT_LEAST, Order.MORE: Order.LESS, Order.AT_LEAST: Order.AT_MOST}


def asks_for_none(order: Order, right: Expression) -> bool:
    """Return whether a comparison only tests for NONE, as in `leader >= 0`."""
    orders = {0: (Order.AT_LEAST, Order.LESS), NONE: (Order.MORE, Order.AT_MOST)}
    return isinstance(right, Literal) and order in orders.get(right.value, ())


def total_of(node: Expression) -> Linear | None:
    match node:
        case Literal():
            return linear(node.value)
        case nodes.Constant():
            return Linear({node.name: 1})
        case nodes.Length() if isinstance(node.of.type, Arr):
            return node.of.type.field.length
        case nodes.Binary(operator=BinaryOp.ADD | BinaryOp.SUBTRACT):
            left, right = total_of(node.left), total_of(node.right)
            if left is not None and right is not None:
                return left + right if node.operator is BinaryOp.ADD else left - right
    return None


def is_membership(node: nodes.Logic, asked: Callable[[Expression, Expression], bool]) -> bool:
    """Return whether a condition is `item >= 0 and (members >> max(item, 0)) & 1`, with or without `== 1`."""
    if not node.conjunction or len(node.values) != 2:
        return False
    first, last = node.values
    match last:
        case nodes.Compare(first=inner, rest=((Order.EQUAL, Literal(value=1)),)):
            last = inner
    match first, last:
        case (
            nodes.Compare(first=nodes.Local(slot=item), rest=((Order.AT_LEAST, Literal(value=0)),)),
            nodes.Binary(
                operator=BinaryOp.AND,
                left=nodes.Binary(
                    operator=BinaryOp.RIGHT,
                    left=members,
                    right=nodes.Extreme(greatest=True, values=(nodes.Local(slot=other) as thing, Literal(value=0))),
                ),
                right=Literal(value=1),
            ),
        ) if item is other:
            return asked(members, thing)
    return False
