"""Histories of `fencepost fuzz` as files and in words."""

import re
from dataclasses import replace
from pathlib import Path

import fencepost.api as f
import pytest
from fencepost.api.asking.watching import Watch
from fencepost.api.calls import fuzz
from fencepost.invariants.figures.store import load
from fencepost.kafka.driver.releases import KAFKA, Release
from fencepost.kafka.fuzz import locks, schedules
from fencepost.kafka.fuzz.histories import PROFILES, REPAIRED_IN, WORDS, Alarm, Progress, Script, Step, words
from fencepost.kafka.fuzz.sight import OWN, PLANTS, UNFIT, drawn_plants, figure_of, sight
from fencepost.model.language.errors import UsageError

from benchmarks.figures.recall import DEFECTS

SHAPE = "brokers=2 disks=1 partitions=1 replicas=2 min-isr=2 elr=1 faults=1"
ALARM = Alarm(7, "lost", "record 1 is lost", "", SHAPE, (Step("produce 0 0 0"), Step("kill 1 0 0", "leader 0")), 90)
JAVA = KAFKA / "fuzz" / "java" / "fencepost"


def test_a_script_with_its_story_is_read_as_it_was() -> None:
    told = ALARM.script.text(ALARM, "4.3.1")
    assert "# broker 1 is killed; its disks stay intact" in told
    assert Script.parse(told, "x.fuzz") == ALARM.script == Script(SHAPE, ("produce 0 0 0", "kill 1 0 0"))
    assert ALARM.script.line() == f"{SHAPE}|produce 0 0 0;kill 1 0 0"


def test_what_is_no_script_or_cannot_be_read_is_refused_with_its_name(tmp_path: Path) -> None:
    told = "fencepost fuzz 1\n"
    for text in ("", "another file\n", f"{told}{SHAPE}\nexplode 1\n", f"{told}brokers=2\nkill 1\n", "\0"):
        with pytest.raises(UsageError, match=r"x\.fuzz is not a history"):
            Script.parse(text, "x.fuzz")
    for path in (tmp_path / "none.fuzz", tmp_path):
        with pytest.raises(UsageError, match="cannot be read"):
            Script.read(path)


def test_every_verb_of_the_driver_has_its_words_and_the_profiles_are_its_own() -> None:
    known = re.findall(r'case "([a-z-]+)"', (JAVA / "Cluster.java").read_text().partition("void act(Step step)")[2])
    assert set(known) == set(WORDS)
    assert words("lag 0 1 2") == "follower 2 of partition 1 is too slow for leader 0"
    drawn = re.search(r"DRAWN = List.of\((.*)\);", (JAVA / "Fuzz.java").read_text())
    assert drawn is not None
    assert set(PROFILES) == {"mixed", *OWN, *re.findall(r'"(\w+)"', drawn[1])}


def test_each_defect_of_an_old_release_was_found() -> None:
    rows = load("recall")["rows"]
    assert [row["name"] for row in rows] == [defect.name for defect in DEFECTS]
    assert all(row["seed"] and row["script"].partition("|")[2].count(";") + 1 == row["steps"] for row in rows)
    assert {(defect.name, defect.says) for defect in DEFECTS} >= set(REPAIRED_IN.values())


def test_the_table_is_of_the_plants_that_its_seed_draws() -> None:
    own = [(figure_of(profile), plants) for profile, plants in OWN.items()]
    for name, plants in (("sight", drawn_plants()), *own):
        assert sorted(row["plant"] for row in load(name)["plants"]) == sorted(plant.name for plant in plants)
    names = [plant.name for plants in (PLANTS, *OWN.values()) for plant in plants]
    assert len(set(names)) == len(names)
    names = {lock.rpartition(".")[2].replace(" ", ".") for lock in locks.locks()}
    assert {row["plant"] for row in load(schedules.FIGURE)["plants"]} <= names


def test_more_histories_find_no_fewer_plants_and_no_more_are_said_than_were_tried() -> None:
    few, many = sight(1), sight(10_000)
    assert few is not None
    assert many is not None
    assert 0 < few.found < many.found < many.planted
    assert many.planted == sum(row["why"] != UNFIT for row in load("sight")["plants"])
    assert (many.histories, many.profile) == (load("sight")["histories"], load("sight")["profile"])


SCHEDULED = Script(SHAPE, ("schedule 17 2 1",))


def test_a_schedule_is_a_script_with_its_seed_and_scheduler() -> None:
    alarm = replace(ALARM, seed=17, schedule="schedule 17 2 1", steps=(Step("thread 0: produce on broker 0"),))
    assert Script.parse(alarm.script.text(alarm, "4.3.1"), "x.fuzz") == SCHEDULED
    assert (SCHEDULED.schedule, ALARM.script.schedule) == ((17, 2, 1), None)


def test_options_of_threads_and_histories_are_not_mixed(tmp_path: Path) -> None:
    for given, script, says in (
        ({"scheduler": "pct"}, ALARM.script, "`scheduler=` was given without"),
        ({"threads": True, "profile": "disks"}, SCHEDULED, "`profile=` does not apply"),
        ({"threads": True, "scheduler": "pst"}, SCHEDULED, "there is no scheduler 'pst'"),
        ({"threads": True}, ALARM.script, "a history as `replay=` does not apply"),
        ({}, SCHEDULED, "a schedule as `replay=` was given without"),
    ):
        (tmp_path / "x.fuzz").write_text(script.text())
        with pytest.raises(UsageError, match=says):
            f.fuzz(kafka="4.4.0", replay=tmp_path / "x.fuzz", **given)  # type: ignore[arg-type]


def test_threads_without_the_jdk_of_fray_are_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedules, "JDK", 1)
    with pytest.raises(UsageError, match="needs a JDK 1 with jlink"):
        schedules.installed_jdk()


def test_a_missing_table_of_locks_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(fuzz, "LOCKS", "none")
    for is_threads in (True, False):
        found = fuzz._Found(Release("4.4.0", "", tmp_path, tmp_path), "mixed", 1, None, Watch(), is_threads=is_threads)
        found.progress = Progress(fuzz.LEAST, 9, 1.0, "0")
        assert ("such a run would overlook" in found.result(1.0).sight) is is_threads
