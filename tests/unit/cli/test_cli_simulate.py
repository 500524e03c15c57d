"""`fencepost simulate`: its output, its exit status, and the trace that it writes."""

from pathlib import Path

import pytest

from tests.helpers.commands import data_of, fencepost

KIP101 = ["simulate", "kip101", "--seed", "0", "--walks", "2000"]
KIP320 = ["simulate", "kip320", "--set", "replicas=2", "--walks", "500"]

pytestmark = pytest.mark.xdist_group("kip101")


@pytest.mark.parametrize(("expect", "status"), [("", 3), ("not-found", 0), ("violated", 1), ("holds", 1)])
def test_an_expectation_decides_on_the_exit_status(expect: str, status: int) -> None:
    done = fencepost(*KIP320, *(["--expect", expect] if expect else []), "--json")
    assert done.exit_code == status
    assert not expect or data_of(done)["as_expected"] is (status == 0)


def test_json_tells_the_walks_and_what_they_found() -> None:
    done = fencepost(*KIP101, "--json", "--property", "strong-isr", "--property", "leader-changes")
    found = data_of(done)
    assert done.exit_code == 1
    said = {"format": 1, "protocol": "kip101", "engine": "walk", "verdict": "violated", "complete": True, "seed": 0}
    assert {**said, "walks": 2_000, "depth": 100}.items() <= found.items()
    strong, changes = found["properties"]
    assert (strong["name"], strong["verdict"], strong["trace"]) == ("strong-isr", "violated", None)
    assert strong["shrunk"]["length"] == len(strong["steps"]) + 1 == 11
    assert strong["shrunk"]["shortest"] is True
    assert strong["length"] >= strong["shrunk"]["length"]
    assert strong["walks"] >= 1
    assert (changes["verdict"], changes["length"]) == ("holds", 3)
    assert found["steps"] == sum(item["fired"] for item in found["actions"])


def test_the_trace_is_written_and_replays(tmp_path: Path) -> None:
    file = tmp_path / "found.trace"
    done = fencepost(*KIP101, "--trace", str(file))
    assert f"the trace of strong-isr is in {file}: `fencepost replay {file}` replays it" in done.stderr
    assert fencepost("replay", str(file)).exit_code == 0
    assert "log_size=1" in file.read_text()


def test_coverage_tells_how_often_each_action_fired() -> None:
    done = fencepost(*KIP320, "--coverage", "--weight", "leader-write=0", "--weight", "become-leader=4")
    assert "fired  action" in done.stdout
    assert "leader-write=0 become-leader=4, all others 1" in done.stdout
    assert "never fired" in done.stdout
