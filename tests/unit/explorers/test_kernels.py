"""Each machine-independent kernel, against the shortest equivalent code."""

import mmap
import random
from typing import Any

import numpy as np
import pytest
from fencepost.explorers.native.compile import compiled
from fencepost.explorers.native.llvm.libraries import HUGE, reserved
from fencepost.explorers.native.packed import OWNERS

from tests.agreement.test_keys import plain_hash
from tests.machines import id_sequence


@pytest.fixture(scope="module")
def kernels() -> Any:
    """Compiled kernels of the smallest machine: rows of one word."""
    machine = id_sequence.MACHINE
    return compiled(machine, machine.set_constants({}), id_sequence.PROPERTIES)


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


@pytest.mark.xdist_group("id-sequence-")
def test_a_bound_call_is_the_call_that_it_stands_for(kernels: Any) -> None:
    hashes, starts = np.array([5 << 59, 1, 5 << 59], np.uint64), np.zeros(OWNERS + 1, np.int64)
    order = np.zeros(3, np.uint32)
    call = kernels.module.order_by_owner.bound(hashes, 3, starts, order)
    for first in (5 << 59, 0):
        hashes[0] = first
        call()
        assert order.tolist() == sorted(range(3), key=lambda n: int(hashes[n]) >> 59)
    with pytest.raises(TypeError, match="order_by_owner got an array of float64"):
        kernels.module.order_by_owner.bound(hashes.astype(float), 3, starts, order)
