"""`fencepost check` reports loops and costs, as text and as JSON, and writes traces of both."""

from pathlib import Path

import pytest

from tests.helpers.commands import data_of, fencepost
from tests.helpers.places import DOCS, MACHINES

ROOMS, COSTS = str(MACHINES / "rooms.py"), str(DOCS / "examples" / "cookbook" / "worst_case.py")


def test_json_tells_loop_values_and_costs() -> None:
    empty, lasting = data_of(fencepost("check", ROOMS, "--json", "--quiet"))["properties"]
    assert (empty["kind"], empty["verdict"], empty["loop"], empty["steps"]) == ("leads-to", "violated", 0, [])
    assert (lasting["for"], lasting["loop"], lasting["length"], len(lasting["steps"])) == ({"room": 0}, 1, 4, 3)
    cost = data_of(fencepost("check", COSTS, "--json", "--quiet"))["properties"][1]
    assert (cost["kind"], cost["verdict"], cost["for"], cost["loop"]) == ("at-most", "holds", {}, None)
    assert (cost["worst"], cost["best"], cost["bound"], cost["unit"]) == (3, 1, 3, "attempts")
    assert len(cost["steps"]) == cost["length"] - 1


def test_the_page_tells_fairness_loop_and_costs() -> None:
    assert "Nothing more happens" in fencepost("check", ROOMS, "--quiet").stdout
    page = fencepost("check", ROOMS, "--quiet", "-v").stdout
    assert "fairness: weak darken" in page
    assert "From here on, for ever" in page
    assert (
        "worst 3 attempts (bound 3), at least 1 attempts: a trace of "
        in fencepost("check", COSTS, "--quiet", "-v").stdout
    )


@pytest.mark.parametrize(
    ("model", "prop", "verdict"), [(ROOMS, "goes-dark", "violated"), (COSTS, "few-attempts", "worst")]
)
def test_trace_writes_what_replays(model: str, prop: str, verdict: str, tmp_path: Path) -> None:
    file = tmp_path / "x.trace"
    done = fencepost("check", model, "--property", prop, "--trace", str(file), "--quiet")
    assert done.exit_code == (1 if verdict == "violated" else 0)
    assert f"property: {prop}\n" in file.read_text()
    assert f"verdict: {verdict}\n" in file.read_text()
    assert fencepost("replay", str(file), "--model", model).exit_code == 0


def test_a_search_that_was_cut_short_says_nothing_of_whole_behaviours() -> None:
    for model in (ROOMS, COSTS):
        *_, last = data_of(fencepost("check", model, "--json", "--quiet", "--max-depth", "2"))["properties"]
        assert last["verdict"] == "undetermined"
