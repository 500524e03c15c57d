"""The effects of larger constants and of messages that no action sends, derived from a program's code.

The analysis is conservative: every value must be searched unless larger constants are known to only add behaviours.
There are two cases in which a larger constant only adds behaviours: it is a bound that only its own guards read, or it
is the initial value of a budget that is spent in literal amounts and otherwise only compared with them. Two runs that
differ only in such a constant take the same steps until the run with the smaller constant refuses a step, so the run
with the larger constant reaches all states and errors of the other run.

A property about messages holds vacuously if no action that happened sends messages of that kind. The analysis of
messages covers only bags, and only the numbers in messages when they are sent.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from fencepost.explorers.program.ir import nodes, oversights
from fencepost.explorers.program.ir.nodes import BinaryOp, Expression, FoldOp, Node, Order, Slot
from fencepost.explorers.program.ir.program import Function, Program, inside
from fencepost.explorers.program.subset.kinds import BagRef, Rec
from fencepost.model.language.domains import linear
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import ArrayOf, BagOf, FieldType, Nested, Record, Scalar, fields

BUDGET = "budget"


def growing_bounds(program: Program) -> frozenset[str]:
    budgets = budgets_of(program)
    return frozenset(
        name
        for name in program.bounds
        if not why_not_guards_alone(program, name)
        or (name in budgets and not why_fewer_matter(program, name, errors=True))
    )


def budget_fields(machine: Machine) -> dict[str, FieldType]:
    budget = dict(fields(machine.state)).get(BUDGET)
    return dict(fields(budget.record)) if isinstance(budget, Nested) else {}


def budgets_of(program: Program) -> dict[str, str]:
    """Return the budgets whose bound is a single constant, as a map from the constant to the budget's field."""
    found = {}
    for name, field in budget_fields(program.machine).items():
        high = linear(getattr(field.domain, "high", 0)) if isinstance(field, Scalar) else linear(0)
        if len(high.names) == 1:
            found[next(iter(high.names))] = name
    return found


def why_not_guards_alone(program: Program, name: str) -> str:
    """Return why a bound may matter outside its own guards, or an empty string if it matters only in these guards."""
    if any(isinstance(node, nodes.Fits) and node.bound == name for node in _everything(program)):
        return "an effect is omitted if there is no room"
    if any(name in linear(total).names for total in oversights.sums_of_program(program)):
        return f"a domain is bounded by {name}"
    return f"{name} is read outside its own guards" if oversights.is_read(program, name) else ""


def why_fewer_matter(program: Program, name: str, *, errors: bool = False) -> str:
    """Return why a larger budget may not allow all behaviours of a smaller one, or an empty string if it allows all.

    `name` is the budget's constant. A larger budget may widen domains. If `errors` is set, a larger budget must not
    widen domains, because every error with a smaller budget must also occur with a larger one. Checks that reject
    constants are ignored, because a machine with rejected constants has no verdict.
    """
    field = budgets_of(program)[name]
    state = program.machine.state
    budget = dict(fields(state))[BUDGET]
    assert isinstance(budget, Nested)
    own = dict(fields(budget.record))[field]
    everywhere = [*oversights.sums_of_record(state), *oversights.sums_of_program(program, schema=False)]
    reading = sum(name in linear(total).names for total in everywhere)
    if not _is_from_zero(own, name) or (reading > 1 and errors) or name in _shrinking(program):
        return f"a domain depends on {name}"
    if sum(_times(item, budget.record) for _, item in fields(state)) != 1:
        return "budgets are stored in more than one field"
    if any(isinstance(node, nodes.Copy) and _holds(node.place.type, budget.record) for node in _everything(program)):
        return "budgets are copied"
    return _why_read(program, Place(f"{BUDGET}.{field}", field, budget.record), name)


def _shrinking(program: Program) -> set[str]:
    """Return the constants for which a larger value may do more than add possible values or capacity."""
    found = set(oversights.shrinking_in_record(program.machine.state))
    for action in (program.initial, *program.actions):
        found |= {name for item in action.parameters for name in oversights.shrinking_in_domain(item.domain)}
    for prop in program.asked:
        found |= {name for _, domain in prop.params for name in oversights.shrinking_in_domain(domain)}
        if prop.eventual is not None:
            found |= program.machine.constants.declared().keys()
    return found


class Place(NamedTuple):
    path: str
    field: str
    record: type[Record]

    def is_meant(self, node: Node) -> bool:
        return (
            isinstance(node, nodes.Field)
            and node.name == self.field
            and isinstance(node.owner.type, Rec)
            and node.owner.type.record is self.record
        )


def _why_read(program: Program, place: Place, name: str) -> str:
    acting = {action.function for action in program.actions}
    for function in program.functions:
        allowed: set[Node] = set()
        if function.number == program.initial.function and function.number not in acting:
            allowed = _given(function, place, name)
        elif function.number in acting:
            asked, least = _asked(function, place)
            allowed = asked | _spent(function, place, least)
        for node in inside(function.body):
            if node in allowed:
                continue
            if place.is_meant(node):
                return f"{function.name} reads or changes s.{place.path}"
            if isinstance(node, nodes.Constant) and node.name == name:
                return f"{function.name} reads {name}"
    return ""


def _given(function: Function, place: Place, name: str) -> set[Node]:
    """Return the nodes that initialize a budget with a constant, if there is exactly one initialization."""
    names = oversights.names_in(function)
    found: set[Node] = set()
    stores = [item for item in inside(function.body) if isinstance(item, nodes.Store) and place.is_meant(item.place)]
    for item in stores[:1] if len(stores) == 1 and stores[0] in function.body else ():
        if (
            oversights.path_of(item.place, names) == (0, place.path)
            and isinstance(item.value, nodes.Constant)
            and item.value.name == name
        ):
            found |= {item.place, item.value}
    return found


def _asked(function: Function, place: Place) -> tuple[set[Node], int]:
    """Return the reads with which guards test whether enough of a budget is left, and the amount that they require."""
    names, most = oversights.names_in(function), 0
    found: set[Node] = set()
    for guard in function.body:
        for part in _conjuncts(guard.condition) if isinstance(guard, nodes.Require) else ():
            node, least = _at_least(part)
            if node is not None and place.is_meant(node) and oversights.path_of(node, names) == (0, place.path):
                found.add(node)
                most = max(most, least)
    return found, most


def _conjuncts(condition: Expression) -> Iterator[Expression]:
    if isinstance(condition, nodes.Logic) and condition.conjunction:
        for value in condition.values:
            yield from _conjuncts(value)
    else:
        yield condition


def _at_least(part: Expression) -> tuple[Expression | None, int]:
    """Return the number that a condition tests, and the least value for which the condition holds."""
    if isinstance(part, nodes.Field):
        return part, 1
    if not isinstance(part, nodes.Compare) or len(part.rest) != 1:
        return None, 0
    left, (order, right) = part.first, part.rest[0]
    if order in (Order.LESS, Order.AT_MOST) or (order is Order.DIFFERENT and isinstance(left, nodes.Literal)):
        left, right = right, left
        order = {Order.LESS: Order.MORE, Order.AT_MOST: Order.AT_LEAST}.get(order, order)
    if not isinstance(right, nodes.Literal):
        return None, 0
    match order:
        case Order.MORE:
            return left, right.value + 1
        case Order.AT_LEAST:
            return left, right.value
        case Order.DIFFERENT if right.value == 0:
            return left, 1
    return None, 0


def _spent(function: Function, place: Place, least: int) -> set[Node]:
    """Return the nodes of a budget's only store, if the store never spends more than guards require."""
    names = oversights.names_in(function)
    stores = [item for item in inside(function.body) if isinstance(item, nodes.Store) and place.is_meant(item.place)]
    looped = {node for item in inside(function.body) if isinstance(item, nodes.For) for node in inside(item.body)}
    if len(stores) != 1 or stores[0] in looped:
        return set()
    item = stores[0]
    match item.value:
        case nodes.Binary(operator=BinaryOp.SUBTRACT, left=left, right=nodes.Literal(value=by)) if 0 <= by <= least:
            if oversights.path_of(item.place, names) == oversights.path_of(left, names) == (0, place.path):
                return {item.place, left}
    return set()


def _everything(program: Program) -> Iterable[Node]:
    return (node for function in program.functions for node in inside(function.body))


def _is_from_zero(field: FieldType, name: str) -> bool:
    domain = field.domain if isinstance(field, Scalar) else None
    high = linear(getattr(domain, "high", 0))
    return getattr(domain, "low", None) == 0 and not high.offset and list(high.terms.items()) == [(name, 1)]


def _times(field: FieldType, record: type[Record]) -> int:
    match field:
        case Nested() | BagOf():
            inner = sum(_times(item, record) for _, item in fields(field.record))
            return inner + (field.record is record)
        case ArrayOf():
            return 2 * _times(field.element, record)
    return 0


def _holds(kind: object, record: type[Record]) -> bool:
    if not isinstance(kind, Rec):
        return True
    return kind.record is record or any(_times(item, record) for _, item in fields(kind.record))


class Sent:
    def __init__(self, program: Program, happened: Collection[str]) -> None:
        self.program = program
        actions = [program.initial, *(item for item in program.actions if item.name in happened)]
        starts = [program.of(item) for item in actions]
        if program.normalize is not None:
            starts.append(program.functions[program.normalize])
        self.bags = {path for made in starts for number, path in made.effects.writes if number == 0}
        self.nodes = [item for made in self._called(starts) for item in inside(made.body)]

    def _called(self, starts: list[Function]) -> list[Function]:
        found: dict[int, Function] = {}
        left = list(starts)
        while left:
            made = left.pop()
            if made.number not in found:
                found[made.number] = made
                left += [self.program.functions[number] for number in made.calls]
        return list(found.values())

    def values(self, record: type[Record], name: str) -> set[int] | None:
        """Return the numbers that a message's field may have, or None if they are not all literals."""
        found: set[int] = set()
        for item in self.nodes:
            match item:
                case nodes.Add() if isinstance(item.bag.type, BagRef) and item.bag.type.field.record is record:
                    fill = next((one.value for one in item.fills if one.name == name), None)
                    if fill is not None and not isinstance(fill, nodes.Literal):
                        return None
                    found.add(0 if fill is None else fill.value)
                case nodes.Store(place=nodes.Field() as place) if place.name == name and place.owner.type == Rec(
                    record
                ):
                    return None
                case nodes.Copy() if item.place.type == Rec(record):
                    return None
        return found

    # conditions that always hold

    def is_idle(self, made: Function) -> bool:
        names = oversights.names_in(made)
        *before, last = made.body
        for item in before:
            if not (
                isinstance(item, nodes.Assign) or (isinstance(item, nodes.For) and self.is_empty(item.source, names))
            ):
                return False
        if not isinstance(last, nodes.Return) or last.value is None:
            return False
        through = any(isinstance(item, nodes.For) for item in before)
        is_true = isinstance(last.value, nodes.Literal) and last.value.value != 0
        return (through and is_true) or self.is_certain(last.value, names)

    def is_certain(self, value: nodes.Expression, names: Mapping[Slot, oversights.Where]) -> bool:
        """Return whether a condition holds because its loops are empty."""
        match value:
            case nodes.Fold(operator=FoldOp.ALL):
                return self.is_nothing(value, names)
            case nodes.Not(value=nodes.Fold(operator=FoldOp.ANY) as inner):
                return self.is_nothing(inner, names)
            case nodes.Logic():
                certain = [self.is_certain(item, names) for item in value.values]
                return all(certain) if value.conjunction else any(certain)
        return False

    def is_nothing(self, fold: nodes.Fold, names: Mapping[Slot, oversights.Where]) -> bool:
        for clause in fold.clauses:
            if self.is_empty(clause.source, names) or any(self.is_missing(clause, test) for test in clause.tests):
                return True
        return fold.operator is FoldOp.ALL and self.is_certain(fold.value, names)

    def is_empty(self, source: nodes.Source, names: Mapping[Slot, oversights.Where]) -> bool:
        if not isinstance(source, nodes.Expression) or not isinstance(source.type, BagRef):
            return False
        where = oversights.path_of(source, names)
        return where is not None and where[1] not in self.bags

    def is_missing(self, clause: nodes.Clause, test: nodes.Expression) -> bool:
        """Return whether a test, such as `m.kind == FETCH`, requires a value that no message has."""
        if isinstance(test, nodes.Logic) and test.conjunction:
            return any(self.is_missing(clause, part) for part in test.values)
        if not isinstance(clause.source, nodes.Expression) or not isinstance(clause.source.type, BagRef):
            return False
        for field, number in _compared(test):
            if isinstance(field.owner, nodes.Local) and field.owner.slot is clause.slot:
                known = self.values(clause.source.type.field.record, field.name)
                return known is not None and number not in known
        return False


def _compared(test: nodes.Expression) -> Iterator[tuple[nodes.Field, int]]:
    if isinstance(test, nodes.Compare) and len(test.rest) == 1 and test.rest[0][0] is Order.EQUAL:
        for one, other in ((test.first, test.rest[0][1]), (test.rest[0][1], test.first)):
            if isinstance(one, nodes.Field) and isinstance(other, nodes.Literal):
                yield one, other.value
