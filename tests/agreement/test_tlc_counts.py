"""The native engine gives the counts, depths, verdicts and trace lengths that TLC gives for the published models.

For constants without a TLC run, it agrees with a search written by hand that shares no code with this one.
"""

import pytest
from fencepost.explorers.search import search
from fencepost.explorers.verdict import Options, Verdict
from fencepost.invariants.catalogue import runs_of
from fencepost.invariants.protocols import protocol

from benchmarks import handwritten
from tests.machines import LINEAGE

PUBLISHED = {
    # R L N E, and per model of the lineage: distinct states and depth; the first to violate weak-isr and strong-isr.
    "2/2/2/1": ((1_251, 16), (1_177, 15), (1_177, 15), (1_165, 15), (957, 15)),
    "2/2/2/2": ((10_131, 20), (9_045, 18), (9_027, 18), (8_429, 18), (5_973, 18)),
    "3/2/2/1": ((67_807, 21), (59_788, 22), (60_106, 22), (59_092, 22), (39_619, 22)),
    "3/2/2/2": (None, None, None, (1_437_076, 28), (737_794, 26)),
}
"""TLC's table again, so that a slip in the catalogue cannot confirm itself."""
VIOLATIONS = {
    ("truncate-to-hwm", "2/2/2/2"): (9, 10),
    ("truncate-to-hwm", "3/2/2/1"): (9, 9),
    ("kip101", "2/2/2/2"): (12, 12),
    ("kip101", "3/2/2/1"): (None, 12),
    ("kip279", "3/2/2/1"): (None, 12),
    ("kip320-first-try", "3/2/2/2"): (12, 13),
}
"""States of the shortest traces to violations of weak-isr and strong-isr."""
RUNS = runs_of(*LINEAGE)
RUNS_BY_NAME = {run.name: run for run in RUNS}
FOUND_HERE = {("truncate-to-hwm", "2/2/2/1")}
"""Rows whose properties TLC did not check, and which are violated."""


def test_the_catalogue_has_every_row_of_the_published_table() -> None:
    for sizes, figures in PUBLISHED.items():
        for name, figure in zip(LINEAGE, figures, strict=True):
            if figure is not None:
                run = RUNS_BY_NAME[f"{name} {sizes}"]
                assert (run.distinct, run.depth) == figure
                if (name, sizes) not in FOUND_HERE:
                    weak, strong = VIOLATIONS.get((name, sizes), (None, None))
                    assert (run.violated.get("weak-isr"), run.violated.get("strong-isr")) == (weak, strong), run.name


ORACLE = [
    (1, 1, 1, 0),
    (1, 2, 3, 2),
    (1, 1, 2, 1),
    (2, 1, 1, 0),
    (2, 1, 3, 2),
    (2, 2, 3, 0),
    (2, 2, 1, 2),
    (2, 2, 3, 1),
    (2, 1, 2, 2),
    (3, 1, 1, 1),
    (3, 2, 1, 0),
    (3, 1, 3, 1),
    (3, 2, 3, 0),
    (2, 3, 2, 1),
    (2, 3, 3, 2),
    (2, 2, 0, 2),
]
"""Replicas, log size, records and last epoch, for rows outside TLC's table."""


@pytest.mark.parametrize(
    "sizes",
    [
        pytest.param(item, id="/".join(map(str, item)), marks=pytest.mark.xdist_group(f"kip320-{item[0]}"))
        for item in ORACLE
    ],
)
def test_the_native_engine_finds_what_a_search_by_hand_finds(sizes: tuple[int, int, int, int]) -> None:
    names = ("replicas", "log_size", "max_records", "max_leader_epoch")
    kip320 = protocol("kip320")
    constants = kip320.machine.set_constants(dict(zip(names, sizes, strict=True)))
    result = search(kip320.machine, constants, kip320.properties, Options(workers=1))
    expected = handwritten.search(*sizes)
    holds = {
        name: result.of(name).verdict is Verdict.HOLDS for name in ("weak-isr", "strong-isr", "leader-in-isr-or-none")
    }
    assert (result.distinct, result.generated, result.depth) == (expected.distinct, expected.generated, expected.depth)
    assert holds == {
        "weak-isr": expected.weak_isr_holds,
        "strong-isr": expected.strong_isr_holds,
        "leader-in-isr-or-none": True,
    }
