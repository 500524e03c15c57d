"""A search that ends early reports that in its verdict, its text and its exit status."""

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from fencepost.explorers.liveness.engine import Engine
from fencepost.explorers.running.interrupts import Stopped
from fencepost.explorers.verdict import LEFT, out_of_memory

from tests.helpers.commands import KIP101, KIP320, data_of, fencepost, fixed, refused, start, wait_for_work
from tests.unit.cli.test_cli_ablate import WANDERER

ENDLESS = ["check", "kip320", "--set", "log_size=4", "--set", "max_records=60"]


def test_a_limit_that_nobody_set_says_where_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencepost.explorers.running.interrupts.default_memory", lambda: 1000)
    own, given = (data_of(fencepost(*KIP320, *more, "--json"))["why_stopped"] for more in ([], ["--memory", "600K"]))
    assert own.endswith("was reached (80% of the available memory; `--memory` sets another limit)")
    assert given.startswith("the memory limit of 1 MiB")


SAVED = "the search so far is saved in {}: the same search with `--resume` continues from there"


def resumed(asked: list[str], begun: dict[str, Any]) -> None:
    """Assert that a search which was begun is resumed from its checkpoint, and ends as if it had not been stopped."""
    whole, ended = data_of(fencepost(*asked[:-2])), data_of(fencepost(*asked, "--resume"))
    assert begun["verdict"] == "undetermined"
    assert begun["notes"][0].startswith(SAVED.format(asked[-1]))
    assert ended.pop("notes") == [
        "the search continued from a checkpoint: states and time are totals over all parts of the search."
    ]
    assert whole.pop("notes") == []
    assert fixed(ended) == fixed(whole)


def test_a_search_is_kept_where_its_behaviours_are_not_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut_short(_: Engine) -> None:
        raise Stopped(out_of_memory(1))

    asked = ["check", WANDERER, "--json", "--checkpoint", str(tmp_path / "kept")]
    with monkeypatch.context() as patch:
        patch.setattr(Engine, "prepare", cut_short)
        begun = data_of(fencepost(*asked))
    assert begun["distinct"] == 3
    resumed(asked, begun)


def test_nothing_is_said_to_be_kept_where_the_model_goes_wrong(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    text = Path(WANDERER).read_text().replace("    require(s.place < c.far)\n", "", 1)
    file.write_text(text.replace("0 <= s.place <= c.far", "s.place == 0"))
    folder = tmp_path / "kept"
    found = data_of(fencepost("check", str(file), "--checkpoint", str(folder), "--json"))
    assert (found["verdict"], found["why_stopped"]) == ("violated", LEFT)
    assert "is out of its domain" in found["notes"][-1]
    assert not [note for note in found["notes"] if "kept" in note]
    assert not (folder / "manifest.json").exists()


def test_a_checkpoint_of_another_question_is_refused_before_anything_is_compiled(tmp_path: Path) -> None:
    checkpoint = ["--checkpoint", str(tmp_path / "kept")]
    fencepost(*KIP101, *checkpoint, "--max-states", "2000")
    message = refused("check", "kip101", *checkpoint, "--set", "replicas=4", "--set", "log_size=4", "--resume")
    assert "compil" not in message
    assert "belongs to another search: the checkpoint has replicas=2 log_size=2, but this search has" in message


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_with_a_partial_result(number: signal.Signals) -> None:
    fencepost("check", "kip320", "--max-depth", "1")  # to compile it
    process = start(*ENDLESS, "--json", "--quiet")
    wait_for_work(process)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    found = json.loads(stdout)
    assert (process.returncode, stderr) == (3, "")
    assert (found["verdict"], found["complete"]) == ("undetermined", False)
    assert found["why_stopped"] == f"{number.name} was received"


def test_ctrl_c_while_compiling_ends_with_an_empty_result(tmp_path: Path) -> None:
    own = {"FENCEPOST_CACHE": str(tmp_path), "FENCEPOST_TIER": "optimized"}
    process = start(*KIP320, "--json", "--checkpoint", str(tmp_path / "kept"), **own)
    assert process.stderr is not None
    assert process.stderr.readline() == "compiling kip320 for 2 replicas ... (cached for the next run)\n"
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=600)
    assert (process.returncode, stderr) == (3, "")
    assert re.fullmatch(
        r"SIGINT was received while (preparing kip320|compiling kip320 for 2 replicas): "
        r"nothing was searched, and no checkpoint was written",
        json.loads(stdout)["why_stopped"],
    )
