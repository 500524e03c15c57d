"""The kernels of a machine: all successors of some states, and what properties say of states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.explorers.native.llvm.types import Sort, Value, Vector, number
from fencepost.explorers.native.lower.actions import Acting, Wanted
from fencepost.explorers.native.lower.loops import counted, only_if
from fencepost.explorers.native.lower.module import BLOCK
from fencepost.model.language.actions import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fencepost.explorers.native.llvm.builder import Builder
    from fencepost.explorers.native.lower.module import Module
    from fencepost.model.language.actions import Property

EXPAND = (
    ("e", "Checks"), ("rows", "Rows"), ("first", "I64"), ("last", "I64"), ("number", "I64"), ("c", "Constants"),
    ("out", "Rows"), ("hashes", "U64p"), ("parents", "U32p"), ("codes", "I64p"), ("n", "I64"), ("fired", "I64p"),
    ("refused", "I64p"), ("found", "I64p"), ("alive", "U8p"),
)  # fmt: skip
"""The parameters of `expand` and how they are passed; `codes` only where steps are numbered."""
JUDGE = (("e", "Checks"), ("rows", "Rows"), ("first", "I64"), ("last", "I64"), ("c", "Constants"), ("found", "I64p"))


def write_expand(module: Module, wanted: Wanted) -> None:
    """Write `expand`: all successors of the states first..last-1 of one owner, behind the `n` that there are; return how many."""
    acting = [Acting(module, wanted, place).write() for place in range(len(module.program.actions))]
    parameters = [item for item in EXPAND if item[0] != "codes" or wanted.code is not None]
    build, given = module.kernel("expand", parameters, "I64")
    given.setdefault("codes", Value("null", Vector(number(0).type, 0)))  # type: ignore[arg-type]
    e, first, last = given["e"], given["first"], given["last"]
    block = Value(build.room(BLOCK * module.state.bytes), Vector(module.state, BLOCK))
    with counted(build, number(0), build.least([build.wrapped("-", last, first), number(BLOCK)])) as item:
        module.rows.clear(build, build.read(*build.element(block, item.at)))
    count, start = build.slot(Sort.NUMBER), build.slot(Sort.NUMBER)
    build.keep(count, given["n"])
    build.keep(start, first)
    top, body, end = build.label(), build.label(), build.label()
    build.jump(top)
    build.begin(top)
    at = build.kept(start, Sort.NUMBER)
    build.branch(build.compared("<", at, last), body, end)
    build.begin(body)
    size = build.least([build.wrapped("-", last, at), number(BLOCK)])
    with counted(build, number(0), size) as item:
        row = module.rows.row(build, e, given["rows"], build.wrapped("+", at, item.at))
        module.rows.unpack(build, e, row, build.read(*build.element(block, item.at)))
        if module.bounds is not None:
            module.bounds.clear(build, e, item.at)
    values = {**given, "size": size, "start": at}
    for name in acting:
        passed = [values[parameter] for parameter, _ in Acting.PARAMETERS]
        passed[[parameter for parameter, _ in Acting.PARAMETERS].index("n")] = build.kept(count, Sort.NUMBER)
        build.keep(count, build.call(f"@{name}", Sort.NUMBER, [e, given["c"], block, *passed]))
    build.keep(start, build.wrapped("+", at, number(BLOCK)))
    build.jump(top)
    build.begin(end)
    module.finish(build, build.kept(count, Sort.NUMBER))


def write_judge(module: Module, properties: Sequence[Property]) -> None:
    """Write `judge`: `found[k]` falls to the number of the first state that decides property k."""

    def visit(build: Builder, given: dict[str, Value], at: Value, state: Value) -> None:
        for place, prop in enumerate(properties):
            address, memory = build.element(given["found"], number(place))
            with only_if(build, build.compared("<", at, build.read(address, memory))):
                holds = module.predicate(build, given, module.program.properties[prop.name], [state])
                with only_if(build, holds if prop.kind is Kind.SOMETIMES else build.negated(holds)):
                    build.write(address, memory, at)

    module.over_states("judge", [("found", "I64p")], visit)


def write_look(module: Module, views: Sequence[Property]) -> None:
    """Write `look`: `out[n, k]` gets the number that view k makes of state n."""

    def visit(build: Builder, given: dict[str, Value], at: Value, state: Value) -> None:
        for place, view in enumerate(views):
            value = module.call(build, module.program.properties[view.name], given["e"], given["c"], [state])
            place_of = build.wrapped("+", build.wrapped("*", at, number(len(views))), number(place))
            build.write(*build.element(given["out"], place_of), value)

    module.over_states("look", [("out", "I64p")], visit)


def write_marks(module: Module, properties: Sequence[Property]) -> None:
    """Write `mark_k`: 1 where `when` of property k holds, 2 more where `then` does; and `cost_k`: what its steps cost."""
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
    """Write a kernel that computes what steps cost: from the states in `before` to those in `rows`, side by side."""
    build, given = module.kernel(
        name, [("e", "Checks"), ("before", "Rows"), ("after", "Rows"), ("count", "I64"), ("c", "Constants"), ("out", "I64p")]
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
