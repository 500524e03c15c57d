"""Compiled code means what Python says; results of more than 64 bits are noted."""

import itertools
import mmap
import operator
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fencepost.explorers.native import compile as compiling
from fencepost.explorers.native.layout import layout_of
from fencepost.explorers.native.llvm import checks
from fencepost.explorers.native.llvm.libraries import HUGE, Library, reserved
from fencepost.explorers.native.llvm.objects import compiled
from fencepost.explorers.native.llvm.types import Unit, number
from fencepost.explorers.native.lower.code import Code
from fencepost.explorers.native.lower.module import Module
from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.nodes import LEAST, MOST, At, BinaryOp, Failure, Slot, UnaryOp
from fencepost.explorers.program.ir.translate import translate
from fencepost.explorers.program.subset.kinds import INT

from tests.agreement.test_keys import plain_hash
from tests.machines import id_sequence

LEVELS = (0, 1, 2, 3)
NUMBERS = [
    *(0, 1, -1, 2, -3, 7, 100, -128, 1 << 30, -(1 << 31), 3 << 60, (1 << 62) - 1, 1 - (1 << 62), 1 << 62, -(1 << 62)),
    *(MOST, MOST - 1, LEAST, LEAST + 1),
]


def kernels_of(text: str, level: int = 1) -> dict[str, Any]:
    return dict(Library(compiled(Unit(text), level=level)).kernels())


def text_of(name: str, expression: str) -> str:
    return f"@kernel\ndef {name}(a: I64, b: I64) -> I64:\n    return {expression}\n\n\n"


TWO: dict[str, Callable[[int, int], int]] = {
    "a + b": lambda a, b: a + b,
    "a - b": lambda a, b: a - b,
    "a & b": lambda a, b: a & b,
    "a | b": lambda a, b: a | b,
    "a ^ b": lambda a, b: a ^ b,
    "min(a, b, 7)": lambda a, b: min(a, b, 7),
    "max(a, b, -3)": lambda a, b: max(a, b, -3),
    "a < b": lambda a, b: a < b,
    "a <= b": lambda a, b: a <= b,
    "a == b": lambda a, b: a == b,
    "a != b": lambda a, b: a != b,
    "-3 <= a < b": lambda a, b: -3 <= a < b,
    "(a != 0) and not (b != 0) or a == 7": lambda a, b: (a != 0 and b == 0) or a == 7,
    "(a if a > b else 0 - 1) + (b > 0)": lambda a, b: (a if a > b else 0 - 1) + (b > 0),
    "0 - a": lambda a, _: -a,
    "-1 - a": lambda a, _: ~a,
    "a // 3": lambda a, _: a // 3,
    "a % 3": lambda a, _: a % 3,
    "a // 8": lambda a, _: a // 8,
    "a % 8": lambda a, _: a % 8,
    "a // 1 + a % 1": lambda a, _: a,
    "a >> 5": lambda a, _: a >> 5,
}


@pytest.mark.parametrize("level", LEVELS)
def test_operators_are_those_of_python_where_the_result_fits(level: int) -> None:
    made = kernels_of("".join(text_of(f"two{place}", text) for place, text in enumerate(TWO)), level)
    for place, (text, python) in enumerate(TWO.items()):
        for a, b in itertools.product(NUMBERS, repeat=2):
            found, wanted = int(made[f"two{place}"](a, b)), int(python(a, b))
            assert found == wanted or not LEAST <= wanted <= MOST, (text, a, b)


LOOPS = """
@kernel
def counted(a: I64, b: I64, c: I64, out: I64s) -> I64:
    n = 0
    for k in range(a, b, STEP):
        if k == c:
            continue
        out[n] = k
        n += 1
        b = a
        if n == 40:
            break
    return n


@kernel
def last(a: I64, b: I64) -> I64:
    k = -7
    for k in range(a, b, STEP):
        pass
    return k


@kernel
def sought(a: I64, b: I64) -> I64:
    while True:
        a += 3
        if a > b:
            break
        if a % 8 != 0:
            continue
        return a
    return -1
"""


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("step", [1, -1])
def test_loops_are_those_of_python(step: int, level: int) -> None:
    text = LOOPS.replace("STEP", str(step))
    made = kernels_of(text, level)
    scope: dict[str, Any] = {"kernel": lambda function: function}
    exec("from __future__ import annotations\n" + text, scope)  # noqa: S102 (our own text)
    for a, b in itertools.product([-4, 0, 3, 50, MOST - 2, LEAST + 1], [-5, 0, 4, 60, MOST, LEAST]):
        one, other = np.zeros(41, np.int64), np.zeros(41, np.int64)
        assert made["counted"](a, b, 3, one) == scope["counted"](a, b, 3, other), (a, b)
        assert one.tolist() == other.tolist()
        assert abs(a - b) >= 1000 or made["last"](a, b) == scope["last"](a, b), (a, b)
        assert max(abs(a), abs(b)) >= 1000 or made["sought"](a, b) == scope["sought"](a, b), (a, b)


def test_words_wrap_and_narrow_numbers_keep_their_lower_bits() -> None:
    text = """
@kernel
def mixed(a: U64, b: U64) -> U64:
    z = (a ^ (b >> np.uint64(7))) * np.uint64(0x9E3779B97F4A7C15) + ~b - np.uint64(1)
    return z if a < b else z % np.uint64(10)


@kernel
def narrow(a: I64, out: U8s, outs: U32ss) -> I64:
    out[1] = a
    outs[1, 2] = a
    return np.uint32(a) + np.int64(np.uint8(a))
"""
    made = kernels_of(text)
    words = [0, 1, 5, 1 << 63, (1 << 64) - 1, 0x123456789ABCDEF0]
    for a, b in itertools.product(words, repeat=2):
        z = ((a ^ (b >> 7)) * 0x9E3779B97F4A7C15 + ~b - 1) % (1 << 64)
        assert made["mixed"](a, b) == (z if a < b else z % 10)
    out, outs = np.zeros(2, np.uint8), np.zeros((2, 3), np.uint32)
    for a in NUMBERS:
        assert made["narrow"](a, out, outs) == (a & 0xFFFFFFFF) + (a & 0xFF)
        assert out.tolist() == [0, a & 0xFF]
        assert outs.tolist() == [[0, 0, 0], [0, 0, a & 0xFFFFFFFF]]


def test_an_array_of_another_kind_is_refused() -> None:
    made = kernels_of("@kernel\ndef first(a: U32s) -> I64:\n    return a[0]\n")
    assert made["first"](np.array([7], np.uint32)) == 7
    for wrong in (np.array([7], np.int32), np.array([[7]], np.uint32), np.arange(4, dtype=np.uint32)[::2]):
        with pytest.raises(TypeError, match=r"^first got an array of "):
            made["first"](wrong)


HERE = At(1, 0, 1, 0)
COUNTS = [0, 1, 2, 30, 61, 62, 63, 64, 200, MOST, -1, -64, LEAST]
LEFT, RIGHT = (Slot(n, name, INT) for n, name in enumerate("ab"))
ALL = frozenset({Failure.NUMBER, Failure.SHIFT})
OPERATIONS: dict[BinaryOp, Callable[[int, int], int]] = {
    BinaryOp.ADD: operator.add, BinaryOp.SUBTRACT: operator.sub, BinaryOp.MULTIPLY: operator.mul,
    BinaryOp.AND: operator.and_, BinaryOp.OR: operator.or_, BinaryOp.XOR: operator.xor,
}  # fmt: skip
ONE: dict[UnaryOp, Callable[[int], int]] = {
    UnaryOp.NEGATE: operator.neg, UnaryOp.INVERT: operator.invert, UnaryOp.ABSOLUTE: abs,
}  # fmt: skip
A, B = (nodes.Local(slot, at=HERE) for slot in (LEFT, RIGHT))


def binary(item: BinaryOp, right: nodes.Expression = B, checks: frozenset[Failure] = ALL) -> nodes.Binary:
    return nodes.Binary(item, A, right, at=HERE, checks=checks)


def node_kernels(made: dict[str, nodes.Expression], level: int) -> Callable[[str, int, int], tuple[int, int]]:
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
    made: dict[str, nodes.Expression] = {item.name: binary(item) for item in OPERATIONS}
    made |= {item.name: nodes.Unary(item, A, at=HERE, checks=ALL) for item in ONE}
    ask = node_kernels(made, level)
    for a, b in itertools.product(NUMBERS, repeat=2):
        wanted_of = {item.name: python(a, b) for item, python in OPERATIONS.items()}
        wanted_of |= {item.name: python(a) for item, python in ONE.items()}
        for name, wanted in wanted_of.items():
            found, code = ask(name, a, b)
            assert (code == 0) == (LEAST <= wanted <= MOST), (name, a, b)
            assert code or found == wanted, (name, a, b)


@pytest.mark.parametrize("level", LEVELS)
def test_shifts_are_those_of_python_and_a_negative_count_is_noted(level: int) -> None:
    ask = node_kernels({"left": binary(BinaryOp.LEFT), "right": binary(BinaryOp.RIGHT)}, level)
    for a, b in itertools.product(NUMBERS, COUNTS):
        if b < 0:
            assert ask("left", a, b)[1] == ask("right", a, b)[1] == checks.SHIFT, (a, b)
            continue
        assert ask("right", a, b) == (a >> min(b, 200), 0), (a, b)
        wanted, (found, code) = a << min(b, 200), ask("left", a, b)
        assert (code == 0) == (LEAST <= wanted <= MOST), (a, b)
        assert code or found == wanted, (a, b)


@pytest.fixture(scope="module")
def kernels() -> Any:
    """Compiled kernels of the smallest machine: rows of one word."""
    machine = id_sequence.MACHINE
    return compiling.compiled(machine, machine.set_constants({}), id_sequence.PROPERTIES)


@pytest.mark.xdist_group("id-sequence-")
def test_the_compiled_hash_is_that_of_its_text(kernels: Any) -> None:
    choose = random.Random(1)  # noqa: S311 (no secret)
    words = np.array([choose.randrange(1 << 64) for _ in range(500)], np.uint64).reshape(-1, 1)
    hashes = np.empty(len(words), np.uint64)
    kernels.module.hash_rows(words, hashes)
    assert [plain_hash(word) for word in words] == [int(item) for item in hashes]
    assert len(set(hashes)) == len(words)


def test_memory_of_huge_pages_begins_on_one_and_is_as_long_as_asked() -> None:
    rows = np.dtype([("words", "<u8", (5,))])
    for count in (1, 1000, 2 * HUGE // rows.itemsize + 1, 400_000):
        found = reserved(count, rows)
        assert (len(found), found.dtype) == (count, rows)
        found["words"] = np.arange(5)
        assert found[-1]["words"].tolist() == [0, 1, 2, 3, 4]
        if count * rows.itemsize >= 2 * HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
            assert found.ctypes.data % HUGE == 0
