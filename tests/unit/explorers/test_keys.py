"""States stored as keys: a table against a dictionary, searches against rows, and a damaged node."""

import errno
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fencepost.explorers.cross_check import CrossCheckError, cross_check
from fencepost.explorers.native import store
from fencepost.explorers.native.compile import shared
from fencepost.explorers.native.keys import KeyTable, Trees, missing, steps_of
from fencepost.explorers.native.packed import FACTS, FIRST_LEFTS, KNOWN, LEFTS, SLOTS
from fencepost.explorers.native.search import Search
from fencepost.explorers.verdict import Options
from fencepost.invariants.protocols import protocol
from fencepost.model.language.errors import MismatchError

from tests.helpers.parameters import words

MODULE = SimpleNamespace(**shared())
pytestmark = pytest.mark.xdist_group("keys")


@pytest.mark.parametrize("spread", [1 << 17, 70, 2], ids=["everywhere", "few on one side", "nearly one"])
def test_a_table_holds_the_keys_that_were_entered_while_it_grows_and_they_widen(spread: int) -> None:
    choose = random.Random(spread)  # noqa: S311 (no secret)
    trees: Any = SimpleNamespace(bits=(16, 16))
    table = KeyTable(MODULE, np.zeros(FACTS, np.int64), trees)
    known = list({choose.randrange(spread) | choose.randrange(1 << 17) << 32: 0 for _ in range(30_000)})
    narrow = sorted(known, key=lambda key: key & 0xFFFFFFFF >= 1 << 16 or key >> 48 > 0)
    keys = np.array(narrow, np.uint64)
    fitting = sum(key & 0xFFFFFFFF < 1 << 16 and key >> 48 == 0 for key in known)
    table.enter(keys[:fitting])
    assert table.find(keys[:fitting]).tolist() == list(range(fitting))
    trees.bits = (17, 19)
    table.fit()
    table.enter(keys)
    assert (table.facts[KNOWN], table.facts[LEFTS], table.facts[FIRST_LEFTS]) == (len(keys), 17, 16)
    assert table.listed(len(keys)).tolist() == narrow
    assert table.find(keys).tolist() == list(range(len(keys)))
    others = np.array([key ^ 1 << choose.choice((0, 5, 32, 48)) for key in narrow], np.uint64)
    numbers = {key: number for number, key in enumerate(narrow)}
    assert table.find(others).tolist() == [numbers.get(key, -1) for key in others.tolist()]
    assert spread < 1 << 16 or len(keys) / int(table.facts[SLOTS]) > 0.75
    with pytest.raises(MismatchError, match="equal"):
        table.enter(np.concatenate((keys, keys[:1])))


@pytest.mark.parametrize("words", [2, 3, 5, 8])
def test_rows_are_their_keys(words: int) -> None:
    choose = np.random.default_rng(words)
    rows = choose.integers(0, 40, (20_000, words), np.uint64) << np.uint64(45)
    trees = Trees(MODULE, words)
    keys = missing(len(rows))
    assert set(trees.keys(rows).tolist()) == {int(missing(1)[0])}
    trees.add(rows, keys)
    assert (trees.rows(keys) == rows).all()
    assert (trees.keys(rows) == keys).all()
    assert len(set(keys.tolist())) == len({row.tobytes() for row in rows})
    assert len(steps_of(words)) == 2 * words - 2


def searched(large: int, **options: Any) -> Any:
    given = protocol("replication")
    version = next(item for item in given.machine.versions if item.name == "kafka-4.1")
    constants = given.machine.set_constants({**version.values, "brokers": 2})
    properties = tuple(item for item in given.properties if not item.kind.over_behaviours)
    made: Any = Search(given.machine, constants, properties, Options(**{"workers": 1, **options}))
    made.large = large
    made.result = made.run()
    return made


@pytest.fixture(scope="module")
def rows() -> Any:
    return searched(1 << 40)


NAMES = words("distinct generated depth levels properties fired guards bounds deadlocks why_stopped")


def require_same(made: Any, rows: Any) -> None:
    for one, other in zip(made.partitions, rows.partitions, strict=True):
        assert (one.read() == other.read()).all()
        assert (one.parents[: one.count] == other.parents[: other.count]).all()
    assert [getattr(made.result, name) for name in NAMES] == [getattr(rows.result, name) for name in NAMES]


@pytest.mark.long
@pytest.mark.parametrize(("large", "workers"), [(0, 2), (7_000, 1)], ids=["at once", "later"])
def test_a_search_finds_the_same_with_keys_and_notices_a_damaged_node(rows: Any, large: int, workers: int) -> None:
    made = searched(large, workers=workers)
    assert all(part.keys is not None for part in made.partitions)
    require_same(made, rows)
    assert cross_check(made, made.result, 300).states == 300
    if not large:
        made.trees.nodes[1][200] ^= np.uint64(1)
        with pytest.raises(CrossCheckError):
            cross_check(made, made.result, 3_000)


@pytest.mark.long
@pytest.mark.parametrize("large", [0, 7_000, 1 << 40], ids=["keys", "later", "rows"])
def test_a_search_that_spills_finds_the_same_on_the_disk_and_goes_on_after_a_full_one(
    rows: Any, large: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "FIRST_ROWS", 16)
    spill, kept = tmp_path / "spill", tmp_path / "kept"
    spill.mkdir()
    allowed, spilled, kinds = [60], store.spilled, set()

    def counted(size: int, kind: Any, folder: Path) -> Any:
        allowed[0] -= 1
        kinds.add(np.dtype(kind).name)
        if allowed[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return spilled(size, kind, folder)

    monkeypatch.setattr(store, "spilled", counted)
    stopped = searched(large, spill=str(spill), checkpoint=str(kept), workers=2).result
    assert stopped.why_stopped == f"there is no space left in {spill}: No space left on device"
    assert (stopped.complete, stopped.kept) == (False, True)
    allowed[0] = 1 << 40
    made = searched(large, spill=str(spill), checkpoint=str(kept), resume=True, workers=2)
    assert made.result.complete
    assert not list(spill.iterdir())
    assert all(isinstance(part.parents, np.memmap) for part in made.partitions)
    assert kinds == ({"uint32", "uint64"} if large < 1 << 40 else {"uint32"})
    assert 4 * made.distinct <= made.spilled_bytes < made.store_bytes
    if large < 1 << 40:
        assert all(part.keys is not None for part in made.partitions)
        require_same(made, rows)
    else:
        assert made.result.levels == rows.result.levels


@pytest.mark.long
@pytest.mark.parametrize("spill", [True, False])
@pytest.mark.parametrize(("first", "then"), [(0, 1 << 40), (1 << 40, 0), (0, 0)])
def test_a_checkpoint_does_not_depend_on_the_store(
    rows: Any, tmp_path: Path, first: int, then: int, *, spill: bool
) -> None:
    folder = str(tmp_path)
    assert not searched(first, checkpoint=folder, max_states=30_000).result.complete
    made = searched(then, checkpoint=folder, resume=True, spill=folder if spill else None)
    assert all((part.keys is None) is bool(then) for part in made.partitions)
    require_same(made, rows)


@pytest.mark.long
@pytest.mark.parametrize("compact", [False, True])
def test_a_checkpoint_with_empty_partitions_is_resumed_on_disk(rows: Any, tmp_path: Path, *, compact: bool) -> None:
    options: Any = {"checkpoint": str(tmp_path), "spill": str(tmp_path), "compact": compact}
    searched(1 << 40, **options, max_states=5)
    made = searched(1 << 40, **options, resume=True).result
    assert (made.complete, made.levels) == (True, rows.result.levels)
