"""The back end on small texts: after all of LLVM's changes they mean what Python says."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fencepost.explorers.native.llvm.libraries import Library
from fencepost.explorers.native.llvm.objects import compiled
from fencepost.explorers.native.llvm.types import Unit

LEVELS = (0, 1, 2, 3)
LEAST, GREATEST, MOST = -(1 << 63), (1 << 63) - 1, (1 << 62) - 1
NUMBERS = [
    0, 1, -1, 2, -3, 7, 100, -128, 1 << 30, -(1 << 31), 3 << 60, MOST, -MOST, MOST + 1, GREATEST, GREATEST - 1, LEAST,
    LEAST + 1,
]  # fmt: skip


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
    made = kernels_of("".join(text_of(f"two{number}", text) for number, text in enumerate(TWO)), level)
    for number, (text, python) in enumerate(TWO.items()):
        for a, b in itertools.product(NUMBERS, repeat=2):
            found, wanted = int(made[f"two{number}"](a, b)), int(python(a, b))
            assert found == wanted or not LEAST <= wanted <= GREATEST, (text, a, b)


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
    for a, b in itertools.product([-4, 0, 3, 50, GREATEST - 2, LEAST + 1], [-5, 0, 4, 60, GREATEST, LEAST]):
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
