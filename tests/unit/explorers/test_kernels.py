"""Each kernel that does not depend on the model, against the shortest way to say the same."""

import mmap
import random
from typing import Any

import numpy as np
import pytest
from fencepost.explorers.native.compile import compiled
from fencepost.explorers.native.expansion import insert
from fencepost.explorers.native.llvm.libraries import HUGE, reserved
from fencepost.explorers.native.packed import OWNERS
from fencepost.explorers.native.store import Buffers, Partition

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


@pytest.mark.xdist_group("id-sequence-")
def test_successors_are_ordered_by_owner_and_keep_their_order(kernels: Any) -> None:
    choose = random.Random(2)  # noqa: S311 (no secret)
    owners = OWNERS
    for count in (0, 1, 5, 700):
        hashes = np.array([choose.randrange(1 << 64) for _ in range(count)], np.uint64)
        starts, order = np.zeros(owners + 1, np.int64), np.zeros(max(1, count), np.uint32)
        kernels.module.order_by_owner(hashes, count, starts, order)
        of = [int(item) >> 59 for item in hashes]
        assert list(order[:count]) == sorted(range(count), key=lambda n: of[n])
        assert list(starts) == [sum(item < owner for item in of) for owner in range(owners + 1)]


@pytest.mark.xdist_group("id-sequence-")
def test_partitions_keep_each_state_once_and_in_order(kernels: Any) -> None:
    choose = random.Random(3)  # noqa: S311 (no secret)
    owners = range(OWNERS)
    layout = kernels.source.layout
    parts = [Partition(kernels, layout.dtype, compact=False) for _ in owners]
    seen: list[dict[int, int]] = [{} for _ in owners]
    for number in range(60):
        values = [choose.randrange(60_000) for _ in range(1_500)]
        buffers = Buffers(layout.dtype, 1, len(values))
        buffers.words[0, :, 0] = values
        buffers.parents[0] = number
        kernels.module.hash_rows(buffers.words[0], buffers.hashes[0])
        kernels.module.order_by_owner(buffers.hashes[0], len(values), buffers.starts[0], buffers.order[0])
        for owner, part in enumerate(parts):
            insert(part, buffers, 1, owner)
        for value, h in zip(values, buffers.hashes[0], strict=True):
            seen[int(h) >> 59].setdefault(value, number)
    assert sum(part.count for part in parts) > 40_000
    for part, expected in zip(parts, seen, strict=True):
        assert part.rows[: part.count].view(np.uint64).tolist() == list(expected)
        assert part.parents[: part.count].tolist() == list(expected.values())
        assert part.count <= 0.8 * len(part.table)


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
    hashes, starts, order = (
        np.array([5 << 59, 1, 5 << 59], np.uint64),
        np.zeros(OWNERS + 1, np.int64),
        np.zeros(3, np.uint32),
    )
    call = kernels.module.order_by_owner.bound(hashes, 3, starts, order)
    for first in (5 << 59, 0):
        hashes[0] = first
        call()
        assert order.tolist() == sorted(range(3), key=lambda n: int(hashes[n]) >> 59)
    with pytest.raises(TypeError, match="order_by_owner got an array of float64"):
        kernels.module.order_by_owner.bound(hashes.astype(float), 3, starts, order)
