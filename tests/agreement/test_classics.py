"""Small systems that others have counted, and published models counted by TLC: states, depths, verdicts and lengths.

For constants without a TLC run, the native engine agrees with a search written by hand that shares no code with it.
"""

import tomllib
from functools import cache
from typing import Any

import fencepost.api as f
import pytest
from fencepost.explorers.search import search
from fencepost.explorers.verdict import Options, Verdict
from fencepost.invariants.catalogue import runs_of
from fencepost.invariants.protocols import protocol

from benchmarks import tuples
from tests.helpers.parameters import few, words
from tests.helpers.places import DOCS
from tests.machines import LINEAGE

FOLDER = DOCS / "examples" / "classics"
PAGE = (DOCS / "model" / "known-systems.md").read_text()
DATA = tomllib.loads((FOLDER / "published.toml").read_text())
COUNTS, BROKEN = DATA["count"], DATA["broken"]
PLAIN_STATES = 500  # most states of a system that the plain semantics explores here; larger ones take it seconds


def named(rows: list[dict[str, Any]]) -> list[Any]:
    found = []
    for row in rows:
        name = "-".join([row["model"], *(f"{name}={value}" for name, value in row.get("constants", {}).items())])
        marks = [pytest.mark.xdist_group(f"classic-{row['model']}"), *[pytest.mark.long] * row.get("long", False)]
        found.append(pytest.param(row, id=name, marks=marks))
    return found


def check(row: dict[str, Any], engine: str = "native") -> Any:
    return checked(row["model"], tuple(row.get("constants", {}).items()), engine)


@cache
def checked(model: str, constants: tuple[tuple[str, Any], ...], engine: str) -> Any:
    return f.check(FOLDER / f"{model}.py", engine=engine, workers=1, constants=dict(constants))


@pytest.mark.parametrize("row", few(named(COUNTS), 2))
def test_the_states_are_as_many_as_others_have_counted(row: dict[str, Any]) -> None:
    found = check(row)
    expected = row.get("counted", row["published"])
    assert [found.distinct, found.generated, found.depth][: len(expected)] == expected
    assert found.verdict is f.Verdict.HOLDS
    assert found.warnings == ()


PLAIN = [row for row in COUNTS if row["published"][0] <= PLAIN_STATES]


@pytest.mark.parametrize("row", named(PLAIN))
def test_the_plain_semantics_finds_the_same(row: dict[str, Any]) -> None:
    native, plain = (
        (item.distinct, item.generated, item.depth, [(prop.name, prop.verdict) for prop in item.properties])
        for item in (check(row), check(row, "plain"))
    )
    assert plain == native


@pytest.mark.parametrize("row", named(BROKEN))
def test_a_rule_that_is_left_out_is_missed(row: dict[str, Any]) -> None:
    assert check(row).of(row["violated"]).verdict is f.Verdict.VIOLATED


def test_a_count_of_ours_that_differs_has_its_reason_and_as_many_states() -> None:
    for row in (row for row in COUNTS if "counted" in row):
        assert row["counted"] != row["published"]
        assert row["counted"][0] == row["published"][0]
        assert row["because"]


def test_the_page_has_every_count_and_its_source() -> None:
    for row in COUNTS:
        (line,) = (line for line in PAGE.splitlines() if f"(../examples/classics/{row['model']}.py)" in line)
        star = "\\*" if "counted" in row else ""
        assert f"{' / '.join(f'{number:,}' for number in row['published'])}{given(row)}{star}" in line


def given(row: dict[str, Any]) -> str:
    values = ", ".join(f"{name}={value}" for name, value in row.get("constants", {}).items())
    return f" ({values})" if values else ""


@pytest.mark.parametrize("row", named([row for row in COUNTS if "cut" in row]))
def test_with_the_steps_that_a_bound_cuts_off_the_count_is_the_published_one(row: dict[str, Any]) -> None:
    found = check(row)
    cut = sum(guard.refused for guard in found.guards if guard.condition in row["cut"])
    assert [found.distinct, found.generated + cut, found.depth] == row["published"]


PUBLISHED: dict[str, tuple[tuple[int, int] | None, ...]] = {
    "2/2/2/1": ((1_251, 16), (1_177, 15), (1_177, 15), (1_165, 15), (957, 15)),
    "2/2/2/2": ((10_131, 20), (9_045, 18), (9_027, 18), (8_429, 18), (5_973, 18)),
    "3/2/2/1": ((67_807, 21), (59_788, 22), (60_106, 22), (59_092, 22), (39_619, 22)),
    "3/2/2/2": (None, None, None, (1_437_076, 28), (737_794, 26)),
}
"""TLC's table again, so that a slip in the catalogue cannot confirm itself: by R/L/N/E, per model of the lineage,
distinct states and depth."""
VIOLATIONS = {
    ("truncate-to-hwm", "2/2/2/2"): (9, 10),
    ("truncate-to-hwm", "3/2/2/1"): (9, 9),
    ("kip101", "2/2/2/2"): (12, 12),
    ("kip101", "3/2/2/1"): (None, 12),
    ("kip279", "3/2/2/1"): (None, 12),
    ("kip320-first-try", "3/2/2/2"): (12, 13),
}
"""States of the shortest traces to violations of weak-isr and strong-isr."""
FOUND_HERE = ("truncate-to-hwm", "2/2/2/1")  # a row whose properties TLC did not check, and which are violated


def test_the_catalogue_has_every_row_of_the_published_table() -> None:
    runs = {run.name: run for run in runs_of(*LINEAGE)}
    for sizes, figures in PUBLISHED.items():
        for name, figure in zip(LINEAGE, figures, strict=True):
            if figure is not None:
                run = runs[f"{name} {sizes}"]
                found = run.violated.get("weak-isr"), run.violated.get("strong-isr")
                assert (run.distinct, run.depth) == figure
                assert (name, sizes) == FOUND_HERE or found == VIOLATIONS.get((name, sizes), (None, None)), run.name


ORACLE = words(
    "1/1/1/0 1/2/3/2 1/1/2/1 2/1/1/0 2/1/3/2 2/2/3/0 2/2/1/2 2/2/3/1 2/1/2/2 3/1/1/1 3/2/1/0 3/1/3/1 3/2/3/0 2/3/2/1 "
    "2/3/3/2 2/2/0/2"
)
"""Replicas, log size, records and last epoch, for rows outside TLC's table."""


@pytest.mark.parametrize(
    "row", [pytest.param(row, marks=pytest.mark.xdist_group(f"kip320-{row[0]}")) for row in ORACLE]
)
def test_the_native_engine_finds_what_a_search_by_hand_finds(row: str) -> None:
    names, sizes = ("replicas", "log_size", "max_records", "max_leader_epoch"), [*map(int, row.split("/"))]
    kip320 = protocol("kip320")
    constants = kip320.machine.set_constants(dict(zip(names, sizes, strict=True)))
    result = search(kip320.machine, constants, kip320.properties, Options(workers=1))
    expected = tuples.search(*sizes)
    wanted = {"weak-isr": expected.weak_isr_holds, "strong-isr": expected.strong_isr_holds}
    wanted |= {"leader-in-isr-or-none": True}
    assert (result.distinct, result.generated, result.depth) == (expected.distinct, expected.generated, expected.depth)
    assert {name: result.of(name).verdict is Verdict.HOLDS for name in wanted} == wanted
