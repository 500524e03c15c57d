"""`fencepost check` without a protocol: the catalogue's runs, compared with their expectations."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from fencepost.api.calls.catalogue import CatalogueResult
from fencepost.cli.commands.catalogue import headline
from fencepost.explorers.running.interrupts import BY_KEYBOARD
from fencepost.invariants.catalogue import Profile, Run, runs

from tests.helpers.commands import fencepost

BY_NAME = {item.name: item for item in runs()}
CHOSEN = (BY_NAME["kip101 2/2/2/2"], BY_NAME["kip320 2/2/2/2"])


@pytest.fixture(autouse=True)
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, *CHOSEN)


def put(monkeypatch: pytest.MonkeyPatch, *chosen: Run) -> None:
    monkeypatch.setattr(
        "fencepost.api.calls.catalogue.runs", lambda: tuple(replace(item, profile=Profile.QUICK) for item in chosen)
    )


def check(*args: str) -> Result:
    return fencepost("check", *args)


def test_runs_that_find_what_they_must_end_with_status_0() -> None:
    result = check("-v")
    assert result.exit_code == 0
    head, names, kip101, traces, kip320, *rest = result.stdout.splitlines()
    assert head.split() == ["protocol", "constants", "expected", "->", "found", "distinct", "depth", "time"]
    assert names.split() == ["replicas/log_size/max_records/max_leader_epoch"]
    assert kip101.split()[:7] == ["kip101", "2/2/2/2", "violated", "->", "violated", "9,045", "18"]
    assert traces.split(maxsplit=0) == ["weak-isr: shortest trace 12 states; strong-isr: shortest trace 12 states"]
    assert kip320.split()[:7] == ["kip320", "2/2/2/2", "holds", "->", "holds", "5,973", "18"]
    assert " ".join(rest[1:3]).startswith("2 runs, all as expected: 1 holds, 1 shows the expected violation")


def test_runs_are_counted_by_what_they_had_to_find() -> None:
    counts, done = {"holds": 11, "violated": 34, "unreached": 9}, {"as_expected": True, "complete": True}
    ran = tuple({"verdict": word, **done, "omission": 1e-9} for word, count in counts.items() for _ in range(count))
    assert headline(CatalogueResult(Profile.QUICK, ran, ())) == (
        "54 runs, all as expected, up to fingerprint collisions (at most 5.4e-08): 11 hold, 34 show the expected "
        "violation (published bugs, drafts, releases of Kafka), 9 have a witness that is not reached, as expected."
    )


@pytest.mark.parametrize(
    ("place", "change", "difference"),
    [
        (0, {"distinct": 9044}, "distinct states: 9,045, but 9,044 are pinned"),
        (0, {"violated": {"weak-isr": 12}}, "strong-isr: violated, expected holds"),
        (0, {"violated": {"weak-isr": 11, "strong-isr": 12}},
            "weak-isr: the shortest trace has 12 states, but 11 are"),
        (1, {"violated": {"weak-isr": 9}}, "weak-isr: holds, expected violated"),
    ],
)  # fmt: skip
def test_a_difference_is_named_and_ends_with_status_1(
    monkeypatch: pytest.MonkeyPatch, place: int, change: dict[str, Any], difference: str
) -> None:
    put(monkeypatch, *(replace(run, **change) if at == place else run for at, run in enumerate(CHOSEN)))
    result = check()
    assert difference in result.stdout
    assert result.stdout.startswith("2 runs: 1 as expected, 1 not as expected.\n\nprotocol ")
    assert CHOSEN[1 - place].protocol not in result.stdout
    assert result.exit_code == 1


def test_a_run_that_is_cut_short_is_undetermined_and_the_next_is_run_unless_the_budget_of_all_is_used_up() -> None:
    result = check("--max-depth", "5")
    assert result.stdout.count("the search did not finish: the depth limit of 5 was reached") == 2
    assert "2 runs: 0 as expected, 2 cut short." in result.stdout
    assert "holds ->" in result.stdout
    assert "-> holds" not in result.stdout
    assert result.exit_code == 3
    result = check("--budget", "1ms")
    assert "2 runs: 0 as expected, 1 cut short, 1 not begun." in result.stdout
    assert "Stopped: the time limit of 0.001 s for all runs was reached." in result.stdout
    assert result.exit_code == 3


def test_an_unfinished_catalogue_is_resumed_with_no_run_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = ["--checkpoint", str(tmp_path / "kept"), "--json"]
    begun = json.loads(check(*kept, "--max-states", "6000").stdout)["runs"]
    assert [item["complete"] for item in begun] == [False, True]
    result = check(*kept, "--resume")
    resumed = json.loads(result.stdout)["runs"]
    assert (result.exit_code, resumed[0]["distinct"], resumed[1]) == (0, 9045, begun[1])
    put(monkeypatch, CHOSEN[0], replace(CHOSEN[1], depth=17))
    again = json.loads(check(*kept, "--resume").stdout)["runs"]
    assert again[1]["differences"] == ["depth: 18, but 17 are pinned"]


def test_ctrl_c_ends_the_catalogue_after_the_run_that_it_hit(monkeypatch: pytest.MonkeyPatch) -> None:
    from fencepost.explorers.search import judge

    def interrupted(item: Run, *rest: Any) -> Any:
        made, _ = judge(item, *rest)
        return replace(made, complete=False, why_stopped=BY_KEYBOARD), ("the search did not finish",)

    monkeypatch.setattr("fencepost.api.calls.catalogue.judge", interrupted)
    result = check()
    assert "2 runs: 0 as expected, 1 cut short, 1 not begun." in result.stdout
    assert "Stopped: SIGINT was received." in result.stdout
    assert result.exit_code == 3
