"""`fencepost conform` where it cannot run: one message, exit status 2, and no process left."""

import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from fencepost.invariants.protocols import protocol
from fencepost.kafka.conform.binding import REPLICATION
from fencepost.kafka.driver import releases as kafka
from fencepost.kafka.driver.process import Driver, DriverError
from fencepost.kafka.driver.releases import fetch_jars, model_of, tool
from fencepost.kafka.driver.walks import Cover, state_graph
from fencepost.kafka.replication.brokers import REPLICA, STATE
from fencepost.kafka.replication.mapping import ACTIONS, FIELDS, NOT_COMPARED, NOT_DRIVEN
from fencepost.model.language.errors import UsageError
from fencepost.model.language.interpreter import Interpreter

from tests.helpers.commands import program, refused
from tests.kafka.kafkas import KAFKA, on_kafka
from tests.unit.kafka.test_clusters import children

MACHINE = protocol("replication").machine
KAFKA_41 = dict(MACHINE.version("kafka-4.1").values)


class Script(kafka.Release):
    """A release whose driver is a few lines of Python, given as its `model`."""

    def command(self, folder: str) -> list[str]:  # noqa: ARG002 (it writes no files)
        return [sys.executable, "-c", self.model]


GREETING = 'print(\'{"kafka": "4.1.2"}\', flush=True)\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import sys; sys.exit('no memory')", "died at 'its start' with status 1, saying:\nno memory"),
        ("print('hello', flush=True)", "gave an invalid answer to 'its start': b'hello'"),
        ("print('{}', flush=True)", "printed an unexpected first line"),
        ("import time; time.sleep(60)", "did not answer 'its start' within 0.5 s; the driver was ended"),
        (GREETING + "input(); print('[1]', flush=True)", "gave an invalid answer to 'look': b'[1]'"),
        (GREETING + "input(); print('{}', flush=True)", "gave an unexpected answer to 'look'"),
        (GREETING + 'input(); print(\'{"changed": "class X"}\', flush=True)', "lacks class X, which the driver needs"),
        (GREETING + 'input(); print(\'{"broken": "trace"}\', flush=True)', "failed on 'look': it throws trace."),
        (GREETING + "input(); import os; os._exit(3)", "died at 'look' with status 3 without output"),
        (GREETING + "input(); import time; time.sleep(60)", "did not answer 'look' within 0.5 s"),
    ],
)
def test_a_driver_that_dies_hangs_or_prints_garbage_is_one_message_and_no_process(text: str, said: str) -> None:
    before = children()
    with (
        pytest.raises(DriverError) as caught,
        Driver(Script(KAFKA, text, Path(), Path()), patience=0.5 if "sleep" in text else 30) as driver,
    ):
        driver.ask("look")
    assert said in str(caught.value)
    assert children() == before


def test_a_run_that_was_stopped_for_a_while_goes_on() -> None:
    """As with Ctrl-Z: one wait takes too long, and then the answer comes."""
    answers = GREETING + "input(); print('{\"state\": {}}', flush=True); input()"
    with Driver(Script(KAFKA, answers, Path(), Path()), patience=30) as driver:
        waits: list[Any] = [[]]
        select = driver._selector.select
        driver._selector.select = lambda seconds: waits.pop() if waits else select(seconds)
        assert driver.ask("look") == {"state": {}}


def test_what_maven_says_is_told_without_its_advertisement(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program(tmp_path / "mvn", "printf '\\033[0m[ERROR] no network\\n[ERROR] \\n[ERROR] use -X\\n'; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(UsageError) as caught:
        fetch_jars("", tmp_path / "jars", "the jars")
    assert str(caught.value).splitlines()[:2] == ["Maven did not download the jars:", "no network"]
    assert "use -X" not in str(caught.value)
    assert "`jars=`" in str(caught.value)


def test_without_java_or_with_an_old_one_the_new_one_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    message = refused("conform", "replication", "--kafka", KAFKA)
    assert f"`java` was not found: it is not in JAVA_HOME={tmp_path}" in message
    assert "openjdk-17-jdk-headless" in message
    program(tmp_path / "bin" / "java", "echo 'openjdk version \"11.0.2\"' >&2")
    assert "need Java 17 or newer" in refused("conform", "replication", "--kafka", KAFKA)


def test_a_release_is_compared_with_the_rules_of_its_line() -> None:
    named = {"3.9.0": "3.9.0", "4.1.0-rc1": "4.1", "3.7.1": "3.9", "4.5.0-SNAPSHOT": "4.4", "trunk": "4.4"}
    assert {version: model_of(version) for version in named} == {v: f"kafka-{line}" for v, line in named.items()}


@on_kafka
def test_an_unknown_release_is_refused_with_the_nearest_one() -> None:
    message = refused("conform", "replication", "--kafka", "4.9.1")
    assert "The driver does not support Kafka 4.9.1" in message
    assert KAFKA in message


@on_kafka
def test_without_maven_the_message_names_jars(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("JAVA_HOME", str(Path(tool("java")).resolve().parent.parent))
    monkeypatch.setenv("PATH", str(tmp_path))
    message = refused("conform", "replication", "--kafka", KAFKA)
    assert "Maven (`mvn`) was not found" in message
    assert "--jars" in message


@on_kafka
def test_a_damaged_jar_and_jars_of_another_release_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "kafka-clients-4.1.2.jar"
    file.write_bytes(b"no jar")
    assert "cannot be read as a jar of Kafka" in refused("conform", "replication", "--jars", str(tmp_path))
    with zipfile.ZipFile(file, "w") as jar:
        jar.writestr("kafka/kafka-version.properties", "version=4.9.9\n")
    assert "are Kafka 4.9.9" in refused("conform", "replication", "--jars", str(tmp_path), "--kafka", KAFKA)


@pytest.mark.long
@on_kafka
def test_a_folder_without_kafkas_classes_does_not_compile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    with zipfile.ZipFile(tmp_path / "kafka-clients-4.1.2.jar", "w") as jar:
        jar.writestr("kafka/kafka-version.properties", "version=4.1.2\n")
    said = refused("conform", "replication", "--jars", str(tmp_path))
    assert "a class has changed, or a jar is missing or damaged" in said


@pytest.mark.long
@on_kafka
def test_rules_that_kafka_has_cannot_be_switched() -> None:
    rule = "fetch_broker_epoch_check"
    assert rule in refused("conform", "replication", "--kafka", KAFKA, "--without", rule)


def test_every_action_and_every_field_is_mapped_or_named_as_not() -> None:
    assert {item.name for item in MACHINE.actions} == set(ACTIONS) | set(NOT_DRIVEN)
    assert not set(ACTIONS) & set(NOT_DRIVEN)
    every = {name for name in STATE if name != "replica"} | {f"replica.{name}" for name in REPLICA}
    assert every == set(FIELDS) | set(NOT_COMPARED)
    assert not set(FIELDS) & set(NOT_COMPARED)


def test_every_release_is_driven_as_its_version_is_built() -> None:
    for version in set(kafka.RELEASES.values()):
        assert REPLICATION.why_not(version, MACHINE.set_constants(dict(MACHINE.version(version).values))) is None
    elr = MACHINE.set_constants({**dict(MACHINE.version("kafka-3.9").values), "elr": 1})
    assert REPLICATION.why_not("kafka-3.9", elr) == "elr=0 differs from Kafka or the driver"


@pytest.mark.long
def test_a_cover_takes_every_transition_and_each_walk_begins_at_the_start() -> None:
    sizes = {"brokers": 2, "crashes": 0, "shrinks": 0, "max_leader_epoch": 1}
    plain = Interpreter(MACHINE, MACHINE.set_constants({**KAFKA_41, **sizes}))
    graph = state_graph(plain, 5_000)
    assert graph is not None
    taken = set()
    for walk in Cover(graph).walks():
        at = graph.graph["initial"]
        for item in walk:
            assert plain.apply(at, item.step).after == item.after
            taken.add((at, item.step))
            at = item.after
    assert len(taken) == graph.number_of_edges()
    assert state_graph(plain, 100) is None, "it is too large"
