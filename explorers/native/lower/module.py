"""A machine as an LLVM module: its functions, its actions' loops over states, and its kernels."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from fencepost.explorers.native.layout import Layout, packing_size
from fencepost.explorers.native.llvm import checks
from fencepost.explorers.native.llvm.builder import Builder, counted, only_if
from fencepost.explorers.native.llvm.checks import RARE, too_long
from fencepost.explorers.native.llvm.types import CELLS, Export, Lowered, Named, Sort, Type, Value, Vector, View, number
from fencepost.explorers.native.lower.bags import Bags
from fencepost.explorers.native.lower.code import Code
from fencepost.explorers.native.lower.lanes import LANES
from fencepost.explorers.native.lower.rows import Rows
from fencepost.explorers.native.lower.shape import ERROR, STATE, Shape
from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.nodes import Expression
from fencepost.explorers.program.ir.program import Function, Program, inside
from fencepost.explorers.program.subset.kinds import INT, Int, Rec
from fencepost.model.language.errors import ModelError

PLAIN = 'nounwind "no-builtins"'
CHECKS = Vector(CELLS["i64"], 0)
ROWS = Vector(CELLS["u64"], 0)
NUMBERS = Vector(CELLS["i64"], 0)
BYTES = Vector(CELLS["u8"], 0)
BLOCK = 64
"""Number of states unpacked together: few enough to fit in the fastest cache, but enough to be worth a call."""
STACK = 1 << 20
"""Maximum number of bytes that states may take on the stack, because some threads have only twice as much stack."""
_ASIDE = 2
"""Number of states on the stack, besides a block, that an action or a kernel needs as working memory."""


def block_of(size: int) -> tuple[int, bool]:
    """Return how many states are unpacked together (0 if none fits), and whether columns are used."""
    room = STACK // max(1, size) - _ASIDE
    halves = [BLOCK >> by for by in range(BLOCK.bit_length())]
    for states in halves:
        if states >= LANES and 2 * states <= room:
            return states, True
    return next((states for states in halves if states <= room), 0), False


class Counting(Protocol):
    def clear(self, build: Builder, e: Value, at: Value) -> None: ...

    def drop(self, build: Builder, e: Value, bound: str) -> None: ...


def symbol(made: Function, place: str) -> str:
    """Return the name that profilers show for a function; LLVM must accept it, and it must not use LLVM's prefix."""
    return f"{made.name}.{place}" if made.name.isascii() and made.name != "llvm" else place


class Module:
    """The module being written. The first two parameters of every function are the check array and the constants."""

    def __init__(self, program: Program, layout: Layout) -> None:
        self.program, self.layout = program, layout
        self.shape = Shape(program.machine, layout)
        self.texts: list[str] = []
        self.exports: dict[str, Export] = {}
        declared = self.shape.declared
        self.constants = Named(
            {name: (place, int(item.low), int(item.high)) for place, (name, item) in enumerate(declared.items())}
        )
        self.bags = Bags(CHECKS, self.texts)
        self.state = self.shape.record(program.machine.state)
        self.block, self.in_columns = block_of(self.state.bytes)
        if not self.block:
            raise ModelError(
                f"protocol {program.machine.name!r}: a state takes {self.state.bytes:,} bytes in memory, but compiled "
                f"code has room for only {STACK // (1 + _ASIDE):,}. Give its arrays and bags fewer elements, "
                "or write `engine='plain'`."
            )
        first = self.shape.reserve_all(packing_size(layout))
        self.rows = Rows(self.state, first, layout)
        self.switches: dict[tuple[int, int], int] = {}
        self.bounds: Counting | None = None
        self.columns: set[tuple[int, int]] = set()
        """Position and size in bytes of each number that conditions read by column."""
        self._written: dict[int, str] = {}
        self._plain = Plain(program.functions)

    def lowered(self) -> Lowered:
        text = "\n".join([checks.PREAMBLE, self.rows.hashing(CHECKS), *self.texts, checks.EPILOGUE])
        on_x86, elsewhere = (self.rows.text(CHECKS, x86=x86) for x86 in (True, False))
        return Lowered(text, tuple(self.exports.items()), on_x86, elsewhere)

    # -- functions

    def call(self, build: Builder, function: int, e: Value, c: Value, values: Sequence[Value]) -> Value:
        made = self.program.functions[function]
        return build.call(f"@{self.function(function)}", self.result(made), [e, c, *values])

    def result(self, function: Function) -> Type:
        if function.returns is None:
            return Sort.NOTHING
        return self.type(function.returns)

    def type(self, kind: nodes.Type) -> Type:
        if isinstance(kind, Int):
            return Sort.NUMBER
        if isinstance(kind, Rec):
            return self.shape.record(kind.record)
        return self.shape.memory(kind.field)  # type: ignore[return-value]

    def function(self, number_: int) -> str:
        if number_ not in self._written:
            made = self.program.functions[number_]
            self._written[number_] = symbol(made, f"function.{number_}")
            self.body(made, self._written[number_], made.body)
        return self._written[number_]

    def body(self, made: Function, symbol: str, statements: nodes.Block, attributes: str = PLAIN) -> None:
        kinds = [self.type(slot.type) for slot in made.parameters]
        build = Builder(symbol, [CHECKS, self.constants, *kinds], attributes=attributes)
        build.owned(0)
        code = Code(self, build, *build.arguments[:2])
        build.result = self.result(made)
        for slot, value in zip(made.parameters, build.arguments[2:], strict=True):
            code.bind(slot, value)
        code.block(statements)
        if build.at is not None:
            if build.result is Sort.NOTHING:
                build.give()
            else:
                build.give(Value("zeroinitializer", build.result))
        self.texts.append(build.text())

    def switch(self, build: Builder, e: Value, node: nodes.Switch) -> Value:
        key = (node.guard, node.part)
        if key not in self.switches:
            self.switches[key] = self.shape.reserve()
        return build.flag(self.cell(build, e, self.switches[key]))

    def is_plain(self, node: nodes.Expression) -> bool:
        return self._plain.is_plain(node)

    def drop(self, build: Builder, e: Value, bound: str) -> None:
        if self.bounds is not None:
            self.bounds.drop(build, e, bound)

    # -- the check array

    def cell(self, build: Builder, e: Value, place: int) -> Value:
        return build.read(*build.element(e, number(place)))

    def note(self, build: Builder, e: Value, place: int, value: Value) -> None:
        build.write(*build.element(e, number(place)), value)

    def failed(self, build: Builder, e: Value) -> Value:
        return build.flag(self.cell(build, e, ERROR))

    # -- kernels

    def kernel(
        self, name: str, parameters: Sequence[tuple[str, str]], result: str = "None"
    ) -> tuple[Builder, dict[str, Value]]:
        kinds = [self.passed(kind) for _, kind in parameters]
        build = Builder(name, kinds, exported=True, attributes=PLAIN)
        build.owned(0)
        build.result = Sort.NUMBER if result == "I64" else Sort.NOTHING
        self.exports[name] = (tuple(kind for _, kind in parameters), result)
        return build, dict(zip((parameter for parameter, _ in parameters), build.arguments, strict=True))

    def passed(self, kind: str) -> Type:
        known: dict[str, Type] = {"Checks": CHECKS, "Constants": self.constants, "Rows": ROWS, "I64": Sort.NUMBER}
        if kind in known:
            return known[kind]
        cell = CELLS[kind.rstrip("ps").lower()]
        return Vector(cell, 0) if kind.endswith("p") else View(cell, (None,) * kind.count("s"))

    def finish(self, build: Builder, value: Value | None = None) -> None:
        if value is None:
            build.give()
        else:
            build.give(value)
        self.texts.append(build.text())

    def scratch(self, build: Builder) -> Value:
        return Value(build.room(self.state.bytes), self.state)

    def over_states(
        self,
        name: str,
        more: Sequence[tuple[str, str]],
        visit: Callable[[Builder, dict[str, Value], Value, Value], None],
    ) -> None:
        """Write a kernel that visits the states first..last-1; at the first failure, it stops and records the state."""
        parameters = [("e", "Checks"), ("rows", "Rows"), ("first", "I64"), ("last", "I64"), ("c", "Constants"), *more]
        build, given = self.kernel(name, parameters)
        e, state = given["e"], self.scratch(build)
        self.rows.clear(build, state)
        with counted(build, given["first"], given["last"]) as item:
            self.rows.unpack(build, e, self.rows.row(build, e, given["rows"], item.at), state)
            visit(build, given, item.at, state)
            with only_if(build, self.failed(build, e), checks.RARE):
                self.note(build, e, STATE, item.at)
                build.jump(item.end)
        self.finish(build)

    def predicate(self, build: Builder, given: dict[str, Any], function: int, values: Sequence[Value]) -> Value:
        return build.flag(self.call(build, function, given["e"], given["c"], values))

    def sort(self, build: Builder, state: Value, bags: Sequence[str]) -> None:
        for name in bags:
            address, memory = build.field(state, name)
            self.bags.sort(build, Value(address, memory))  # type: ignore[arg-type]

    def disordered(self, function: Function) -> list[str]:
        return sorted(path for parameter, path in function.effects.disorders if parameter == 0)


MOST = 40
"""Maximum number of nodes to evaluate without need. For more nodes, even a mispredicted branch is cheaper."""
_SIMPLE = (
    nodes.Literal, nodes.Constant, nodes.Local, nodes.Field, nodes.Element, nodes.Unary, nodes.Binary, nodes.Compare,
    nodes.Not, nodes.Among, nodes.Extreme, nodes.Logic, nodes.Call,
)  # fmt: skip


class Plain:
    """Visitor that finds plain conditions, which have no loops, side effects, or checks that can fail."""

    def __init__(self, functions: tuple[Function, ...]) -> None:
        self.functions = functions
        self._sizes: dict[Expression, int | None] = {}

    def is_plain(self, node: Expression) -> bool:
        size = self.size(node)
        return size is not None and size <= MOST

    def size(self, node: Expression) -> int | None:
        if node not in self._sizes:
            self._sizes[node] = self._size(node)
        return self._sizes[node]

    def _size(self, node: Expression) -> int | None:
        total = 0
        for item in inside([node]):
            if not isinstance(item, _SIMPLE) or item.checks:
                return None
            if isinstance(item, nodes.Logic) and not all(_is_flag(value) for value in item.values):
                return None
            total += 1
            if isinstance(item, nodes.Call):
                more = self._size_of(self.functions[item.function])
                if more is None:
                    return None
                total += more
        return total

    def _size_of(self, function: Function) -> int | None:
        total = 0
        for statement in function.body:
            if not isinstance(statement, nodes.Assign | nodes.Return) or statement.value is None:
                return None
            size = self.size(statement.value)
            if size is None:
                return None
            total += size
        return total


def _is_flag(node: Expression) -> bool:
    return node.type == INT and node.low >= 0 and node.high <= 1


# -- Modules whose guards can be turned off at run time, so that one compilation serves every guard


class Masks:
    """Slots of the check array: a switch for each guard and part of a guard, and records of steps that left a domain.

    `slots[guard][part]` is 1 if a part of a guard is turned off, where part 0 is the whole guard. `first` is the row,
    counted from 1, of the first state with a step that leaves a domain; `times` is the number of such steps. `hard` is
    the code of an error that does not count as a refusal: an error in a property, or a number of more than 64 bits. If
    such an error prevented the evaluation of a guard, `unsure` also contains the error's code.
    """

    def __init__(self, module: Module) -> None:
        reserve = module.shape.reserve
        self.slots = [[reserve() for _ in range(1 + len(guard.parts))] for guard in module.program.guards]
        module.switches.update(
            {(n, part): slot for n, slots in enumerate(self.slots) for part, slot in enumerate(slots)}
        )
        self.first, self.times, self.hard, self.unsure = reserve(), reserve(), reserve(), reserve()

    def leave(self, module: Module, build: Builder, e: Value, row: Value, times: Value) -> None:
        code = module.cell(build, e, ERROR)
        with only_if(build, too_long(build, code), RARE):
            module.note(build, e, self.hard, code)
        module.note(build, e, ERROR, number(0))
        with only_if(build, build.compared("==", module.cell(build, e, self.first), number(0))):
            module.note(build, e, self.first, build.wrapped("+", row, number(1)))
        module.note(build, e, self.times, build.wrapped("+", module.cell(build, e, self.times), times))

    def unevaluated(self, module: Module, build: Builder, e: Value) -> None:
        code = module.cell(build, e, ERROR)
        with only_if(build, too_long(build, code), RARE):
            module.note(build, e, self.unsure, code)

    def broken(self, module: Module, build: Builder, e: Value, code: Value) -> None:
        """Record the code of an error in a property (0: no error); such an error never counts as a refusal."""
        with only_if(build, build.compared("!=", code, number(0)), RARE):
            module.note(build, e, self.hard, code)
