"""The kernels of a machine: they compute all successors of given states and check properties."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from fencepost.explorers.native.layout import WORD
from fencepost.explorers.native.llvm.builder import Builder, counted, only_if
from fencepost.explorers.native.llvm.checks import RARE
from fencepost.explorers.native.llvm.types import Sort, Value, Vector, number
from fencepost.explorers.native.lower.actions import Acting, Wanted
from fencepost.explorers.native.lower.columns import Columns
from fencepost.explorers.native.lower.lanes import LANES, Unsuited
from fencepost.explorers.native.lower.module import BYTES, PLAIN, Module
from fencepost.explorers.native.lower.shape import ERROR
from fencepost.model.language.actions import Kind, Property

EXPAND = (
    ("e", "Checks"), ("rows", "Rows"), ("first", "I64"), ("last", "I64"), ("number", "I64"), ("c", "Constants"),
    ("out", "Rows"), ("hashes", "U64p"), ("parents", "U32p"), ("codes", "I64p"), ("n", "I64"), ("fired", "I64p"),
    ("refused", "I64p"), ("found", "I64p"), ("alive", "U8p"),
)  # fmt: skip
"""Parameters of `expand` and how they are passed. `codes` is passed only if steps are numbered."""
JUDGE = (("e", "Checks"), ("rows", "Rows"), ("first", "I64"), ("last", "I64"), ("c", "Constants"), ("found", "I64p"))

CODES = (
    ("Expand", tuple(kind for name, kind in EXPAND if name != "codes"), "I64"),
    ("Judge", tuple(kind for _, kind in JUDGE), "None"),
)
"""Types of the kernels, as needed by kernels that call them by address."""


def write_expand(module: Module, wanted: Wanted) -> None:
    """Write `expand`, which appends all successors of the states first..last-1 to `n` and returns their number."""
    acting = [Acting(module, wanted, place).write() for place in range(len(module.program.actions))]
    parameters = [item for item in EXPAND if item[0] != "codes" or wanted.code is not None]
    build, given = module.kernel("expand", parameters, "I64")
    given.setdefault("codes", Value("null", Vector(number(0).type, 0)))  # type: ignore[arg-type]
    columns, count = write_columns(module, "columns"), build.slot(Sort.NUMBER)
    build.keep(count, given["n"])
    with blocks(module, build, given) as block:
        if module.bounds is not None:
            with counted(build, number(0), block.size) as item:
                module.bounds.clear(build, given["e"], item.at)
        if columns:
            build.call(f"@{columns}", Sort.NOTHING, [block.states, block.beside, groups(build, block.size)])
        values = {**given, "size": block.size, "start": block.first, "columns": block.beside}
        for name in acting:
            values["n"] = build.kept(count, Sort.NUMBER)
            passed = [values[parameter] for parameter, _ in Acting.PARAMETERS]
            build.keep(count, build.call(f"@{name}", Sort.NUMBER, [given["e"], given["c"], block.states, *passed]))
    module.finish(build, build.kept(count, Sort.NUMBER))


class Block(NamedTuple):
    """Unpacked states: their number, the row of the first one, and memory for columns, if any (`beside`)."""

    states: Value
    beside: Value
    first: Value
    size: Value


@contextmanager
def blocks(module: Module, build: Builder, given: dict[str, Value]) -> Iterator[Block]:
    e, first, last = given["e"], given["first"], given["last"]
    room = module.block * module.state.bytes
    states = Value(build.room(room), Vector(module.state, module.block))
    beside = Value(build.room(room) if module.in_columns else "null", BYTES)
    many = build.wrapped("*", groups(build, build.wrapped("-", last, first)), number(LANES))
    with counted(build, number(0), build.least([many, number(module.block)])) as item:
        module.rows.clear(build, build.read(*build.element(states, item.at)))
    start, top, body, end = build.slot(Sort.NUMBER), build.label(), build.label(), build.label()
    build.keep(start, first)
    build.jump(top)
    build.begin(top)
    at = build.kept(start, Sort.NUMBER)
    build.branch(build.compared("<", at, last), body, end)
    build.begin(body)
    size = build.least([build.wrapped("-", last, at), number(module.block)])
    with counted(build, number(0), size) as item:
        row = module.rows.row(build, e, given["rows"], build.wrapped("+", at, item.at))
        module.rows.unpack(build, e, row, build.read(*build.element(states, item.at)))
    yield Block(states, beside, at, size)
    build.keep(start, build.wrapped("+", at, number(module.block)))
    build.jump(top)
    build.begin(end)


def groups(build: Builder, states: Value) -> Value:
    return build.shifted(">>", build.wrapped("+", states, number(LANES - 1)), number(LANES.bit_length() - 1))


def write_columns(module: Module, name: str) -> str:
    used, module.columns = module.columns, set()
    if not used:
        return ""
    states = Vector(module.state, 0)
    build = Builder(name, [states, BYTES, Sort.NUMBER], attributes=f"noinline {PLAIN}")
    block, beside, many = build.arguments
    wide = sorted(item for item in used if item[1] > 1)
    words = sorted({offset // WORD for offset, size in used if size == 1})
    with counted(build, number(0), many) as item:
        first = build.wrapped("*", item.at, number(LANES))
        sources = [build.element(block, build.wrapped("+", first, number(n)))[0] for n in range(LANES)]
        target = build.scaled(beside.text, Vector(module.state, LANES), item.at)
        for word in words:
            at = [build.offset(source, WORD * word) for source in sources]
            write_bytes(build, at, build.offset(target, LANES * WORD * word))
        for offset, size in wide:
            for n, source in enumerate(sources):
                value = build.value(f"load i{8 * size}, ptr {build.offset(source, offset)}, align 1")
                build.emit(f"store i{8 * size} {value}, ptr {build.offset(target, LANES * offset + n * size)}, align 1")
    module.finish(build)
    return build.name


def write_bytes(build: Builder, sources: list[str], target: str) -> None:
    """Write the bytes of one word of each state as eight columns, by interleaving rows."""
    half, lanes = LANES // 2, f"<{LANES} x i8>"
    rows = [build.value(f"load <{half} x i8>, ptr {source}, align 8") for source in sources]
    low = ", ".join(f"i32 {n // 2 + LANES // 2 * (n % 2)}" for n in range(LANES))
    rows = [
        build.value(f"shufflevector <{half} x i8> {rows[n]}, <{half} x i8> {rows[n + half]}, <{LANES} x i32> <{low}>")
        for n in range(half)
    ]
    distance = half // 2
    while distance:
        mixed = []
        for part in range(0, len(rows), 2 * distance):
            for n in range(part, part + distance):
                for first in (0, half):
                    places = ", ".join(f"i32 {first + m // 2 + LANES * (m % 2)}" for m in range(LANES))
                    shuffled = (
                        f"shufflevector {lanes} {rows[n]}, {lanes} {rows[n + distance]}, <{LANES} x i32> <{places}>"
                    )
                    mixed.append((part, first, n, build.value(shuffled)))
        rows = [text for *_, text in sorted(mixed, key=lambda item: item[:3])]
        distance //= 2
    for n, row in enumerate(rows):
        build.emit(f"store {lanes} {row}, ptr {build.offset(target, LANES * n)}, align 16")


def write_judge(module: Module, properties: Sequence[Property]) -> None:
    """Write `judge`: `found[k]` becomes the least number of a state that decides property k.

    Properties are checked in columns where possible. If a check fails in a group of states, the group's decisions are
    undone, and its states are checked again one by one, because the failure may come after the deciding state.
    """

    def visit(build: Builder, given: dict[str, Value], at: Value, state: Value) -> None:
        for place, prop in enumerate(properties):
            judge_state(module, build, given, place, prop, at, state)

    module.over_states("judge_states", [("found", "I64p")], visit)
    build, given = module.kernel("judge", JUDGE)
    e = given["e"]
    columns = Columns(module, build, e, given["c"])
    before = build.mark()
    suited = [prop for prop in properties if module.in_columns and is_suited(module, columns, prop)]
    build.undo(before)
    reads, module.columns = bool(module.columns), set()
    if not suited:
        build.call("@judge_states", Sort.NOTHING, list(given.values()))
        module.finish(build)
        return
    with blocks(module, build, given) as block:
        if reads:
            build.call("@columns.judge", Sort.NOTHING, [block.states, block.beside, groups(build, block.size)])
        with counted(build, number(0), groups(build, block.size)) as item:
            group = build.wrapped("*", item.at, number(LANES))
            first = build.wrapped("+", block.first, group)
            size = build.least([build.wrapped("-", block.size, group), number(LANES)])
            columns.base = build.scaled(block.beside.text, Vector(module.state, LANES), item.at)
            found = [build.element(given["found"], number(place)) for place in range(len(properties))]
            known = [build.read(*place_of) for place_of in found]
            for place, prop in enumerate(properties):
                if prop in suited:
                    judge_group(columns, given, place, prop, first, size)
                    continue
                with counted(build, number(0), size) as lane:
                    state = build.read(*build.element(block.states, build.wrapped("+", group, lane.at)))
                    judge_state(module, build, given, place, prop, build.wrapped("+", first, lane.at), state)
            with only_if(build, module.failed(build, e), RARE):
                module.note(build, e, ERROR, number(0))
                for place_of, value in zip(found, known, strict=True):
                    build.write(*place_of, value)
                again = {**given, "first": first, "last": build.wrapped("+", first, size)}
                build.call("@judge_states", Sort.NOTHING, list(again.values()))
                with only_if(build, module.failed(build, e)):
                    build.give()
    module.finish(build)
    write_columns(module, "columns.judge")


def is_suited(module: Module, columns: Columns, prop: Property) -> bool:
    """Return whether a property can be checked in columns. To find out, the code is written and discarded."""
    read = set(module.columns)
    try:
        judge_in_columns(module, columns, prop)
    except Unsuited:
        module.columns = read
        return False
    return True


def judge_in_columns(module: Module, columns: Columns, prop: Property) -> Value:
    function = module.program.functions[module.program.properties[prop.name]]
    columns.slots[function.parameters[0]] = columns.state()
    holds = columns.as_flag(columns.body(function.body))
    return columns.bits(holds if prop.kind is Kind.SOMETIMES else columns.negated(holds))


def judge_group(
    columns: Columns, given: dict[str, Value], place: int, prop: Property, first: Value, size: Value
) -> None:
    """Check a property in a group of states, up to the first state known to decide it."""
    build = columns.build
    address, memory = build.element(given["found"], number(place))
    before = build.greatest([build.wrapped("-", build.read(address, memory), first), number(0)])
    many = build.least([before, size])._replace(low=0, high=LANES)
    with only_if(build, build.compared(">", many, number(0))):
        columns.active = build.wrapped("-", build.shifted("<<", number(1), many), number(1))
        decides = build.bitwise("&", judge_in_columns(columns.module, columns, prop), columns.active)
        with only_if(build, build.compared("!=", decides, number(0))):
            lane = Value(build.value(f"call i64 @llvm.cttz.i64(i64 {decides.text}, i1 true)"), Sort.NUMBER, 0, LANES)
            build.write(address, memory, build.wrapped("+", first, lane))


def judge_state(
    module: Module, build: Builder, given: dict[str, Value], place: int, prop: Property, at: Value, state: Value
) -> None:
    address, memory = build.element(given["found"], number(place))
    with only_if(build, build.compared("<", at, build.read(address, memory))):
        holds = module.predicate(build, given, module.program.properties[prop.name], [state])
        with only_if(build, holds if prop.kind is Kind.SOMETIMES else build.negated(holds)):
            build.write(address, memory, at)


def write_look(module: Module, views: Sequence[Property]) -> None:
    def visit(build: Builder, given: dict[str, Value], at: Value, state: Value) -> None:
        for place, view in enumerate(views):
            value = module.call(build, module.program.properties[view.name], given["e"], given["c"], [state])
            place_of = build.wrapped("+", build.wrapped("*", at, number(len(views))), number(place))
            build.write(*build.element(given["out"], place_of), value)

    module.over_states("look", [("out", "I64p")], visit)


def write_marks(module: Module, properties: Sequence[Property]) -> None:
    """Write `mark_k` (1 if `when` of property k holds, plus 2 if `then` does) and `cost_k`, the cost of steps."""
    for number_, prop in enumerate(properties):
        behaviour = module.program.behaviours[prop.name]
        many = len(prop.behaviour.params)

        def visit(build: Builder, given: dict[str, Value], at: Value, state: Value) -> None:
            values = [build.read(*build.element(given["args"], number(place))) for place in range(many)]  # noqa: B023
            found = number(0)
            for worth, function in ((1, behaviour.when), (2, behaviour.then)):  # noqa: B023
                if function is not None:
                    holds = module.predicate(build, given, function, [state, *values])
                    found = build.wrapped("+", found, build.wrapped("*", build.number(holds), number(worth)))
            build.write(*build.element(given["out"], at), found)

        module.over_states(f"mark_{number_}", [("args", "I64p"), ("out", "U8p")], visit)
        if behaviour.cost is not None:
            write_cost(module, f"cost_{number_}", behaviour.cost)


def write_cost(module: Module, name: str, function: int) -> None:
    build, given = module.kernel(
        name,
        [("e", "Checks"), ("before", "Rows"), ("after", "Rows"), ("count", "I64"), ("c", "Constants"), ("out", "I64p")],
    )
    e, one, other = given["e"], module.scratch(build), module.scratch(build)
    module.rows.clear(build, one)
    module.rows.clear(build, other)
    with counted(build, number(0), given["count"]) as item:
        module.rows.unpack(build, e, module.rows.row(build, e, given["before"], item.at), one)
        module.rows.unpack(build, e, module.rows.row(build, e, given["after"], item.at), other)
        build.write(*build.element(given["out"], item.at), module.call(build, function, e, given["c"], [one, other]))
        with only_if(build, module.failed(build, e)):
            module.note(build, e, 1, item.at)
            build.jump(item.end)
    module.finish(build)
