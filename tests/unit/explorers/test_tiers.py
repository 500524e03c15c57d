"""Any code of a search, cheap or optimized or alternating, gives the same results, trace for trace."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fencepost.explorers.native import tiers
from fencepost.explorers.native.compile import NAMED, Source, Tier, begin, generate, is_ready, load
from fencepost.explorers.native.llvm import libraries
from fencepost.explorers.native.llvm.objects import CHEAP, LEVEL
from fencepost.explorers.native.tiers import seconds_to_come, states_to_come
from fencepost.explorers.verdict import Options, Result

from tests.helpers.commands import KIP320, refused
from tests.helpers.questions import MACHINES, ask, group, shared

GRID = {"width": 60, "starts": 4, "resting": 1}
KIP101 = {"replicas": 2}
QUESTIONS = [
    pytest.param("grid", GRID, True, marks=group("grid", GRID)),
    pytest.param("kip101", KIP101, False, marks=[group("kip101", KIP101), pytest.mark.long]),
]
LEVELS = (
    *(1, 6, 30, 138, 366, 1170, 2715, 5673, 10836, 18648, 28818, 40629, 53691, 66432, 77400, 84072, 85404, 78909),
    *(66447, 49422, 32916, 19542, 9939, 3660, 834, 96),
)
"""The results of kip320 at its usual constants."""


@pytest.fixture(autouse=True, scope="module")
def usual() -> Iterator[None]:
    """Optimize code by default, as outside of tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(load, "__defaults__", (LEVEL,))
        yield


def source_of(name: str, values: dict[str, int]) -> Source:
    machine, properties = MACHINES[name]
    return generate(machine, machine.set_constants(values), properties, normalize=True)


def tiers_of(result: Result) -> list[str]:
    return [item.tier for item in result.compiled]


@pytest.mark.parametrize(("name", "values", "compact"), QUESTIONS)
def test_every_tier_finds_the_same_with_any_number_of_workers(
    name: str, values: dict[str, int], compact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = Options(workers=1, deadlock=True, compact=compact)
    wanted = shared(ask(name, values, options))
    for tier in Tier:
        monkeypatch.setenv(NAMED, tier)
        for workers in (1, 3):
            found = ask(name, values, replace(options, workers=workers))
            assert tiers_of(found) == (["cheap", "optimized", "exact"] if tier is Tier.SWAP else [tier])
            assert shared(found) == wanted


@pytest.mark.long
@pytest.mark.parametrize(("name", "values", "compact"), QUESTIONS)
def test_a_search_that_changes_over_may_stop_and_go_on_with_other_code(
    name: str, values: dict[str, int], compact: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Options(workers=2, deadlock=True, compact=compact)
    wanted = shared(ask(name, values, whole))
    for number, tier in enumerate((Tier.SWAP, Tier.EXACT, Tier.CHEAP, Tier.SWAP)):
        monkeypatch.setenv(NAMED, tier)
        limit = 300 * (number + 1) if number < 3 else None
        part = ask(name, values, replace(whole, max_states=limit, checkpoint=str(tmp_path), resume=number > 0))
        assert part.complete == (limit is None)
    assert shared(part) == wanted


def other_process() -> Any:
    return tiers._optimizer._running[1]._process if tiers._optimizer._running is not None else None


def wait(_: object) -> None:
    while (process := other_process()) is not None and process.poll() is None:
        time.sleep(0.01)


@pytest.fixture
def cold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start without compiled code, and make every search seem worth optimized code."""
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(libraries, "_loaded", type(libraries._loaded)())
    monkeypatch.setattr(tiers, "WORTH", -1)
    monkeypatch.setattr(tiers, "WORTH_EXACT", float("inf"))
    monkeypatch.setattr(tiers, "ENOUGH", 0)
    monkeypatch.setattr(tiers, "_optimizer", tiers._Optimizer())


@pytest.mark.usefixtures("cold")
def test_a_search_that_goes_on_changes_over_to_code_that_was_optimized_meanwhile_and_is_kept() -> None:
    name, values = "grid", {"width": 20}
    source = source_of(name, values)
    assert not is_ready(source)
    found = ask(name, values, Options(workers=2), tell=wait)
    assert tiers_of(found) == ["cheap", "optimized"]
    assert all(item.seconds > 0 and item.memory > 0 and not item.kept for item in found.compiled)
    assert begin(source).level == LEVEL
    again = ask(name, values, Options(workers=2), tell=wait)
    assert tiers_of(again) == ["optimized"]
    assert shared(again) == shared(found)


@pytest.mark.usefixtures("cold")
def test_a_search_goes_on_with_its_code_if_the_other_process_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    def kill(_: object) -> None:
        if (process := other_process()) is not None:
            process.kill()
            process.wait(timeout=300)

    found = ask("grid", {"width": 20}, Options(workers=1), tell=kill)
    assert tiers_of(found) == ["cheap"]
    assert shared(found) == shared(ask("grid", {"width": 20}, Options(workers=1)))
    (text,) = caplog.messages
    assert text.startswith("note: the code could not be optimized, so the search continues without optimization: ")


@pytest.mark.usefixtures("cold")
def test_the_other_process_ends_with_this_one() -> None:
    seen: list[Any] = []
    ask("grid", {"width": 20}, Options(workers=1), tell=lambda _: seen.append(other_process()))
    tiers._optimizer.end()
    processes = list(filter(None, seen))
    assert processes
    assert all(process.poll() is not None for process in processes)


@pytest.mark.usefixtures("cold")
def test_a_short_search_has_nothing_optimized_and_a_long_one_begins_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert tiers.WORTH > 1
    source = source_of("kip101", KIP101)
    if not is_ready(source) or begin(source).level == CHEAP:
        assert tiers_of(ask("kip101", KIP101, Options(workers=1))) == ["cheap"]
    assert begin(source, seconds=3600).level == LEVEL


def test_the_rest_of_a_search_is_estimated_from_the_growth_of_its_levels() -> None:
    total = sum(LEVELS)
    for depth in range(8, len(LEVELS)):
        known = sum(LEVELS[:depth])
        if known > total / 10:
            assert 0.5 < (known + states_to_come(LEVELS[:depth])) / total < 1.2
    assert states_to_come(LEVELS[:6]) == 0
    assert states_to_come([10**n for n in range(9)]) < float("inf")
    assert seconds_to_come([1, 10, 100], 0, 11.0) == 100
    assert seconds_to_come([1, 10, 12], 0, 100.0) > seconds_to_come([1, 10, 8], 0, 100.0)
    assert seconds_to_come([1, 10, 100], 1, 10.0) == 100
    assert seconds_to_come([1], 0, 8.0) == 8


def test_an_unknown_tier_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAMED, "fast")
    said = "FENCEPOST_TIER is 'fast', which is not a tier. The tiers are: cheap, optimized, exact, swap.\n"
    assert refused(*KIP320) == f"fencepost: {said}"
