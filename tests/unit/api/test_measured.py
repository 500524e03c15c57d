"""Evidence belongs to what was executed: sentences on Kafka's classes and on crashes apply to one machine and to the
driven constants.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fencepost.api import check
from fencepost.api.asking.targets import Question, ask
from fencepost.api.topics.measured import beyond, driven_rows, is_measured, machine_mark
from fencepost.api.topics.version_notes import version_notes
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.cluster import controller
from fencepost.model.cluster.machine import MACHINE

from tests.helpers.commands import data_of, fencepost
from tests.helpers.places import MACHINES, ROOT

SHRINK = str(MACHINES / "shrink_any_epoch.py")
SMALL = ("--set", "brokers=2", "--set", "min_isr=2", "--set", "max_leader_epoch=1", "--set", "fences=0")
DRIVEN = "1,242,753 of its steps were executed on Kafka 4.1.2's own classes, with no difference; 1,565 histories were"
CRASHES = "The measured crashes apply to"


def noted(question: Question) -> str:
    return " ".join(version_notes(question))


def notes_of(*arguments: str) -> str:
    return " ".join(data_of(fencepost("check", *arguments, "--json"))["notes"])


@pytest.mark.long
def test_the_model_as_it_is_has_its_evidence() -> None:
    assert is_measured(machine_mark(MACHINE)), "drive it again: `python -m benchmarks.figures.conformance covers`"
    assert DRIVEN in noted(ask("replication", version="kafka-4.1", constants={"min_isr": 2}))
    apart = DRIVEN.replace(", with no", ", with each of these values but never with all of them, with no")
    assert apart in noted(ask("replication", version="kafka-4.1"))
    left = sum(int(row["aside"].replace(",", "")) for row in driven_rows("kafka-4.1", machine_mark(MACHINE)))
    assert left == 1_565
    assert CRASHES in notes_of("replication", "--version", "kafka-4.1", *SMALL)


@pytest.mark.parametrize(
    ("constants", "said"),
    [
        ({"brokers": 5}, "brokers=5 (executed: 2 to 3)"),
        ({"fetch_broker_epoch_check": False}, "fetch_broker_epoch_check=false (executed: true)"),
        ({"reassignments": 1, "movable": 3}, "reassignments=1 (executed: 0), movable=3 (executed: 0)"),
    ],
)
def test_constants_beyond_those_that_were_driven_are_named(constants: dict[str, Any], said: str) -> None:
    question = ask("replication", version="kafka-4.1", constants=constants)
    assert f"With these constants, the model was not compared with Kafka 4.1.2's classes: {said}." in noted(question)
    assert len(beyond(question, machine_mark(MACHINE))) == len(constants)


@pytest.mark.long
def test_a_rule_that_is_set_otherwise_has_no_table_of_crashes() -> None:
    changed = notes_of("replication", "--version", "kafka-4.1", *SMALL, "--set", "maximal_isr=off")
    assert CRASHES not in changed
    assert "own classes" not in changed


@pytest.mark.long
def test_a_variant_has_no_evidence_of_its_base_and_is_blamed_for_what_its_base_does_not_do() -> None:
    notes = notes_of(SHRINK, "--version", "kafka-4.4-repaired", *SMALL, "--no-normalize")
    assert "This model is a variant of replication, not the model that was compared with Kafka's classes." in notes
    assert "replication itself does not allow the shortest history that violates applied-requests-are-current" in notes
    for wrong in ("own classes", CRASHES, "these settings allow it", "so a `holds` verdict"):
        assert wrong not in notes
    sizes = {"brokers": 2, "min_isr": 2, "max_leader_epoch": 1, "fences": 0}
    of_release = noted(ask(SHRINK, version="kafka-4.1", constants=sizes))
    assert "own classes" not in of_release
    assert "kafka-4.1 contains HYP-1, until" in of_release


@pytest.mark.long
def test_a_base_that_has_the_same_history_is_not_said_to_lack_it() -> None:
    """Whatever the action is called, and though steps are about states that `normalize` has folded."""
    item = MACHINE.action("broker_applies_metadata")
    variant = MACHINE.replacing(name="own", sentence="other names", **{item.name: replace(item, name="renamed")})
    constants = {"brokers": 2, "unclean_election": True}
    given = {"version": "kafka-4.1-repaired", "constants": constants, "only": ["leader-has-acknowledged"]}
    found = check(variant, PROTOCOLS["replication"].properties, **given)
    assert "renamed" in str(found.properties[0].path)
    assert "No single fix prevents the shortest history that violates leader-has-acknowledged" in " ".join(found.notes)
    assert "itself does not allow" not in " ".join(found.notes)


def test_a_helper_that_is_changed_in_its_module_takes_the_evidence_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controller, "passes_epoch_checks", passes_epoch_checks)
    assert not is_measured(machine_mark(MACHINE))
    assert "own classes" not in noted(ask("replication", version="kafka-4.1"))
    assert "This model is edited, " in noted(ask("replication", version="kafka-4.1"))


def passes_epoch_checks(c: Any, image: Any, m: Any) -> bool:
    """Accept every request of the leader."""
    return bool(m.leader == image.leader or c.request_epoch_checks)


@pytest.mark.long
def test_a_model_that_is_edited_in_a_copy_has_no_evidence_and_a_clone_that_does_not_run_is_said(tmp_path: Path) -> None:
    package = tmp_path / "site" / "fencepost"
    shutil.copytree(ROOT / "cli" / "root", package)
    for room in ("model", "invariants", "explorers", "counterexamples", "kafka", "api", "cli"):
        shutil.copytree(ROOT / room, package / room)
    shutil.copytree(ROOT / "api" / "testing", package / "testing")
    edited = package / "model" / "cluster" / "controller.py"
    text = edited.read_text()
    where = "        and m.partition_epoch == image.partition_epoch\n"
    assert where in text
    edited.write_text(text.replace(where, "        and m.partition_epoch <= image.partition_epoch\n"))
    arguments = ("check", "replication", "--version", "kafka-4.1", *SMALL, "--max-states", "500")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "COLUMNS": "500"}
    made = subprocess.run(
        [sys.executable, "-m", "fencepost", *arguments],
        env=environment, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert "This model is edited, not the model that was compared with Kafka's" in " ".join(made.stdout.split())
    assert "own classes" not in made.stdout
    assert CRASHES not in made.stdout
    assert "cluster/controller.py differs from the installed file in " in made.stderr
    assert f"Run `pip install -e {ROOT}` to use the edited models." in made.stderr


def test_advice_of_an_edited_model_says_that_its_crashes_are_not_counted_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from fencepost.api.topics import advising

    edited = "The installed model was edited"
    assert edited not in " ".join(fencepost("advise", "--kafka", "4.1").stdout.split())
    monkeypatch.setattr(advising, "_is_as_measured", lambda _: False)
    assert edited in " ".join(fencepost("advise", "--kafka", "4.1").stdout.split())
