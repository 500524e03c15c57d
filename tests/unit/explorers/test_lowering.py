"""Operators of the typed program as compiled code: equal to Python's on edge values, with an error code for results of
more than 64 bits.
"""

import itertools
import operator
from collections.abc import Callable

import numpy as np
import pytest
from fencepost.explorers.native.layout import layout_of, moves
from fencepost.explorers.native.llvm import checks
from fencepost.explorers.native.llvm.libraries import Library
from fencepost.explorers.native.llvm.objects import compiled
from fencepost.explorers.native.llvm.types import number
from fencepost.explorers.native.lower.code import Code
from fencepost.explorers.native.lower.module import Module, Plain
from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.nodes import LEAST, MOST, At, BinaryOp, Failure, Slot, UnaryOp
from fencepost.explorers.program.ir.program import inside
from fencepost.explorers.program.ir.translate import translate
from fencepost.explorers.program.subset.kinds import INT
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language.interpreter import Interpreter

from tests.helpers.engines import layout_under
from tests.machines import id_sequence
from tests.unit.explorers.test_native_errors import wide

HERE = At(1, 0, 1, 0)
LEVELS = (0, 1, 2, 3)
NUMBERS = [0, 1, -1, 2, -3, 7, 100, 1 << 30, 3 << 60, (1 << 62) - 1, -(1 << 62), MOST - 1, MOST, LEAST + 1, LEAST]
COUNTS = [0, 1, 2, 30, 61, 62, 63, 64, 200, MOST, -1, -64, LEAST]
LEFT, RIGHT = (Slot(n, name, INT) for n, name in enumerate("ab"))
ALL = frozenset({Failure.NUMBER, Failure.SHIFT})
TWO: dict[BinaryOp, Callable[[int, int], int]] = {
    BinaryOp.ADD: operator.add, BinaryOp.SUBTRACT: operator.sub, BinaryOp.MULTIPLY: operator.mul,
    BinaryOp.AND: operator.and_, BinaryOp.OR: operator.or_, BinaryOp.XOR: operator.xor,
}  # fmt: skip
ONE: dict[UnaryOp, Callable[[int], int]] = {
    UnaryOp.NEGATE: operator.neg, UnaryOp.INVERT: operator.invert, UnaryOp.ABSOLUTE: abs,
}  # fmt: skip
A, B = (nodes.Local(slot, at=HERE) for slot in (LEFT, RIGHT))


def binary(item: BinaryOp, right: nodes.Expression = B, checks: frozenset[Failure] = ALL) -> nodes.Binary:
    return nodes.Binary(item, A, right, at=HERE, checks=checks)


def literal(value: int) -> nodes.Literal:
    return nodes.Literal(value, at=HERE, low=value, high=value)


def kernels_of(made: dict[str, nodes.Expression], level: int) -> Callable[[str, int, int], tuple[int, int]]:
    """Return a function that calls a kernel of two numbers: its result, and its error code."""
    module = Module(translate(id_sequence.MACHINE), layout_of(id_sequence.State, id_sequence.MACHINE.set_constants({})))
    for name, node in made.items():
        given = [("e", "Checks"), ("c", "Constants"), ("a", "I64"), ("b", "I64"), ("out", "I64p")]
        build, values = module.kernel(name, given)
        code = Code(module, build, values["e"], values["c"])
        code.bind(LEFT, values["a"])
        code.bind(RIGHT, values["b"])
        build.write(*build.element(values["out"], number(0)), code.number(node))
        module.finish(build)
    kernels = Library(compiled(module.lowered(), level=level)).kernels()

    def ask(name: str, a: int, b: int) -> tuple[int, int]:
        e, out = np.zeros(200, np.int64), np.zeros(1, np.int64)
        kernels[name](e, np.zeros(8, np.int64), a, b, out)
        return int(out[0]), int(e[0])

    return ask


@pytest.mark.parametrize("level", LEVELS)
def test_sums_products_and_bits_are_those_of_python_and_what_does_not_fit_is_noted(level: int) -> None:
    made: dict[str, nodes.Expression] = {item.name: binary(item) for item in TWO}
    made |= {item.name: nodes.Unary(item, A, at=HERE, checks=ALL) for item in ONE}
    ask = kernels_of(made, level)
    for a, b in itertools.product(NUMBERS, repeat=2):
        wanted_of = {item.name: python(a, b) for item, python in TWO.items()}
        wanted_of |= {item.name: python(a) for item, python in ONE.items()}
        for name, wanted in wanted_of.items():
            found, code = ask(name, a, b)
            assert (code == 0) == (LEAST <= wanted <= MOST), (name, a, b)
            assert code or found == wanted, (name, a, b)


@pytest.mark.parametrize("level", LEVELS)
def test_shifts_are_those_of_python_and_a_negative_count_is_noted(level: int) -> None:
    ask = kernels_of({"left": binary(BinaryOp.LEFT), "right": binary(BinaryOp.RIGHT)}, level)
    for a, b in itertools.product(NUMBERS, COUNTS):
        if b < 0:
            assert ask("left", a, b)[1] == ask("right", a, b)[1] == checks.SHIFT, (a, b)
            continue
        assert ask("right", a, b) == (a >> min(b, 200), 0), (a, b)
        wanted, (found, code) = a << min(b, 200), ask("left", a, b)
        assert (code == 0) == (LEAST <= wanted <= MOST), (a, b)
        assert code or found == wanted, (a, b)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("divisor", [1, 2, 3, 8, 1000])
def test_division_rounds_down(level: int, divisor: int) -> None:
    by, no_checks = literal(divisor), frozenset[Failure]()
    made = {"whole": BinaryOp.DIVIDE, "rest": BinaryOp.MODULO}
    ask = kernels_of({name: binary(item, by, no_checks) for name, item in made.items()}, level)
    for a in NUMBERS:
        assert (ask("whole", a, 0)[0], ask("rest", a, 0)[0]) == divmod(a, divisor)


@pytest.mark.parametrize("decide", [all, any])
def test_logic_gives_the_operand_that_decides_also_where_one_is_known(decide: Callable[..., bool]) -> None:
    conjunction = decide is all
    parts = {"known": [literal(2), literal(0), literal(5)], "mixed": [A, literal(3), B]}
    ask = kernels_of({n: nodes.Logic(conjunction, tuple(v), at=HERE) for n, v in parts.items()}, 1)
    assert ask("known", 0, 0) == (0 if conjunction else 2, 0)
    for a, b in itertools.product((0, 1, 7), repeat=2):
        assert ask("mixed", a, b)[0] == ((a and b) if conjunction else (a or 3))


def test_bits_of_a_mask_are_gathered_in_six_steps() -> None:
    for mask in (0, 1, 0xFF00FF, 0x8000000000000001, 0x0F0F0F0F0F0F0F0F, (1 << 64) - 1, 0x123456789ABCDEF0):
        for bits in (0, (1 << 64) - 1, 0xDEADBEEFCAFEF00D, 0x5555555555555555):
            found = bits & mask
            for step, move in enumerate(moves(mask)):
                moved = found & move
                found = (found ^ moved) | moved >> (1 << step)
            wanted = [bits >> place & 1 for place in range(64) if mask >> place & 1]
            assert found == sum(bit << place for place, bit in enumerate(wanted))


def test_only_conditions_that_cannot_fail_and_do_not_loop_are_evaluated_whole() -> None:
    program = translate(PROTOCOLS["kip320"].machine)
    plain = Plain(program.functions)
    found = {guard.text: plain.is_plain(guard.condition) for guard in program.guards}
    assert found["base.is_news_of_leader(s, follower, leader, epoch)"]
    assert not found["base.high_watermark_reached_epoch(l)"], "the high watermark may be outside the log"
    for guard in (item for item in program.guards if plain.is_plain(item.condition)):
        calls = [item for item in inside([guard.condition]) if isinstance(item, nodes.Call)]
        called = itertools.chain(*(program.functions[item.function].body for item in calls))
        for item in inside([guard.condition, *called]):
            assert not item.checks
            assert not isinstance(item, nodes.Fold | nodes.For | nodes.Store)


def test_states_are_unpacked_as_they_are_read_where_numbers_lie_across_words() -> None:
    machine, constants = wide.MACHINE, wide.MACHINE.set_constants({})
    layout = layout_under(machine, constants)
    plain = Interpreter(machine, constants)
    keys = list(plain.initial_states())
    for key in keys:
        keys += [item.after for item in plain.transitions(key) if item.after not in keys][: 60 - len(keys)]
    rows = layout.encode(keys)
    found, place, across = layout.unpack(rows), 0, 0
    for leaf in layout.leaves:
        numbers = np.ndarray(len(rows), f"i{leaf.bytes}", found.data, leaf.offset, (layout.wide.itemsize,))
        mask = (1 << leaf.bits) - 1
        wanted = [((int.from_bytes(row.tobytes(), "little") >> place) - leaf.low & mask) + leaf.low for row in rows]
        assert numbers.tolist() == wanted
        across += place // 64 != (place + leaf.bits - 1) // 64 and any(wanted)
        place += leaf.bits
    assert across
    assert [layout.decode(row) for row in rows] == keys
