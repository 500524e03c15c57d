"""`fencepost show TRACE --format kafka-test`: a test for Kafka's committers that fails on a release and passes with
the repair."""

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from fencepost.counterexamples.replay import replay
from fencepost.explorers.running.cache import cache_folder
from fencepost.invariants.protocols import Protocol
from fencepost.kafka.clusters.kit import REPAIRS, Kit, kit
from fencepost.kafka.conform.binding import REPLICATION
from fencepost.kafka.conform.upstream import TEMPLATE, kafka_test
from fencepost.kafka.driver.releases import adapt_classes, classes_in, fetch_jars, tool
from fencepost.model.cluster.constants import C
from fencepost.model.cluster.machine import MACHINE
from fencepost.model.cluster.partition_change import append_image, change_isr
from fencepost.model.cluster.state import AlterPartition, State
from fencepost.model.language import InFlight, action
from fencepost.model.language.interpreter import Step

from tests.helpers.commands import fencepost, refused
from tests.helpers.places import ARCHIVE, MACHINES
from tests.kafka.kafkas import on_kafka

JUNIT = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>fencepost</groupId>
  <artifactId>junit</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.junit.platform</groupId>
      <artifactId>junit-platform-console-standalone</artifactId>
      <version>1.13.4</version>
    </dependency>
    <dependency>
      <groupId>org.mockito</groupId>
      <artifactId>mockito-core</artifactId>
      <version>5.20.0</version>
    </dependency>
  </dependencies>
</project>
"""
FINDINGS = {
    "replication-hyp-1-loss": ("hyp-1", "high watermark ==> expected: <0> but was: <1>"),
    "replication-hyp-3": ("hyp-3", "expected: <[0, 1]> but was: <[0]>"),
    "replication-hyp-3-loss": ("hyp-3", "high watermark ==> expected: <0> but was: <1>"),
}
"""Archived traces with the repair that their tests pass with, and what they say without it."""


def written(name: str) -> str:
    found = fencepost("show", str(ARCHIVE / f"{name}.trace"), "--format", "kafka-test")
    assert found.exit_code == 0, found.stderr
    return found.stdout


def test_the_leaders_steps_are_calls_and_the_others_comments() -> None:
    body = written("replication-hyp-1")
    calls = [line.strip() for line in body.partition("@Test")[2].partition("/** The leader applies")[0].splitlines()]
    assert [line for line in calls if line.startswith(("append", "fetch", "apply", "answer", "assert"))] == [
        "applyMetadata(1, 0, 0, List.of(0, 1, 2));", 'append("record-1");', "fetch(2, 100L, 0L, 0, -1);",
        "fetch(2, 100L, 1L, 0, 0);", "applyMetadata(1, 2, 2, List.of(1, 2));",
        'assertEquals(0L, log.highWatermark(), "high watermark");', "assertEquals(Set.of(1, 2), maximalIsr());",
    ]  # fmt: skip
    assert "// controller-elects-preferred broker=0" in calls
    assert "testAReElectedLeaderCommitsBasedOnAnOutdatedLogEnd()" in body
    assert not re.search(r"@[A-Z_]+@|// until|// since|LeaderAndIsrRequest", body), "left of the template"
    assert body.count("{") == body.count("}")
    assert "LeaderAndIsrRequest" in TEMPLATE.read_text()


def test_metadata_with_an_equal_partition_epoch_keeps_that_epoch() -> None:
    body = written("replication-hyp-3")
    assert "answer(0, 1, List.of(0));" in body
    assert "applyMetadata(0, 0, 1, List.of(0));\n        assertEquals(0L" in body
    assert "assertEquals(Set.of(0, 1), maximalIsr());" in body


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("kip320-first-try-weak-isr", "the trace's protocol is"),
        ("replication-hyp-8", "cannot be expressed in a test of one `Partition`"),
        ("replication-b02", "elects a broker other than the preferred leader"),
        ("replication-b51", "needs log directories"),
        ("replication-b06", "this history cannot become a test"),
    ],
)
def test_a_trace_that_no_test_can_be_made_of_is_refused(name: str, said: str) -> None:
    assert said in refused("show", str(next(iter(ARCHIVE.glob(f"{name}*.trace")))), "--format", "kafka-test")


@action(m=InFlight("alter_partitions"))
def takes_any_member(s: State, c: C, m: AlterPartition) -> None:
    """Skip the controller's check of the ISR members in a request."""
    append_image(s)
    change_isr(s, c, m.isr, s.elr, m.leader)
    s.alter_partitions.remove(m)


def test_a_variant_passes_on_a_release_and_its_test_names_the_step_that_kafka_refuses() -> None:
    trace = replay(ARCHIVE / "replication-b09-kip-903.trace").trace
    variant = MACHINE.replacing(name="any-member", sentence="", controller_applies_alter_partition=takes_any_member)
    constants = REPLICATION.as_built("kafka-4.4", trace.constants)
    steps = (*trace.steps[:-1], Step(variant.action("takes-any-member"), trace.steps[-1].args))
    body = kafka_test(replace(trace, protocol=Protocol(variant, ()), constants=constants, prop=None, steps=steps))
    assert "and fails with the rules of any-member: see takes-any-member" in body
    assert "partition().partitionEpoch, Map.of(0, epoch(0, 0), 1, epoch(1, 1)));" in body
    assert 'assertEquals(Set.of(0), set(partition().isr), "ISR");' in body


def test_a_grant_that_changes_only_the_partition_epoch_is_tested_by_that_epoch(tmp_path: Path) -> None:
    trace, model = str(tmp_path / "s.trace"), str(MACHINES / "shrink_any_epoch.py")
    settings = ("--version", "kafka-4.4-repaired", "--set", "brokers=2", "--set", "min_isr=2", "--no-normalize")
    fencepost("check", model, *settings, "--property", "applied-requests-are-current", "--trace", trace)
    body = fencepost("show", trace, "--model", model, "--format", "kafka-test").stdout
    assert "fails with the rules of shrink-any-epoch" in body
    assert 'assertEquals(partitionEpoch, partition().partitionEpoch, "partition epoch");' in body


def test_the_class_is_called_like_its_file_and_the_release_is_an_option_of_this_format(tmp_path: Path) -> None:
    target = tmp_path / "ReElectedLeaderTest.java"
    asked = ("show", str(ARCHIVE / "replication-hyp-1.trace"))
    found = fencepost(*asked, "--format", "kafka-test", "--output", str(target))
    assert found.exit_code == 0, found.stderr
    assert "public class ReElectedLeaderTest {" in target.read_text()
    assert "--kafka applies to --format kafka-test" in refused(*asked, "--kafka", "4.1.2")


def run_on(release: Kit, text: str, folder: Path) -> str:
    """Compile a test against a release if it is not yet in the folder, run it, and return what JUnit says."""
    junit = fetch_jars(JUNIT, cache_folder() / "kafka" / "junit-5", "JUnit and Mockito")
    [package], [name] = (re.findall(rf"^{what} (\S+\w)", text, re.MULTILINE) for what in ("package", "public class"))
    source, jars = folder / f"{name}.java", [str(release.jars / "*"), str(junit / "*")]
    if not source.exists():
        source.write_text(text)
        command = [tool("javac"), "-Xlint:none", "-cp", os.pathsep.join(jars), "-d", str(folder), str(source)]
        compiled = subprocess.run(command, capture_output=True, text=True, check=False)
        assert compiled.returncode == 0, compiled.stderr
    first = [str(release.first)] if release.first else []
    path = os.pathsep.join([*first, str(folder), *jars])
    words = ["org.junit.platform.console.ConsoleLauncher", "execute", "--select-class", f"{package}.{name}"]
    command = [
        tool("java"), "-XX:TieredStopAtLevel=1", "-Xmx256m", "-cp", path, *words, "--disable-banner", "--details",
        "tree",
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


@pytest.mark.long
@on_kafka
@pytest.mark.parametrize("version", ["4.1.2", "4.2.1", "4.3.1", "4.4.0"])
@pytest.mark.parametrize("name", FINDINGS)
def test_it_fails_on_the_release_and_passes_with_the_repair(name: str, version: str, tmp_path: Path) -> None:
    release, (repair, said) = kit(version), FINDINGS[name]
    text = kafka_test(replay(ARCHIVE / f"{name}.trace").trace, "PartitionTraceTest", (version, release.jars))
    failed = run_on(release, text, tmp_path)
    assert "1 tests failed" in failed, failed
    assert said in failed.replace("[1, 0]", "[0, 1]"), failed  # the order of Java's sets differs between processes
    passed = run_on(release.repaired((repair,), tmp_path / "first"), text, tmp_path)
    assert "1 tests successful" in passed, passed


WITHOUT_FINDING = ("b09-kip-903", "b10-kafka-15221", "b12-kip-841", "hyp-9", "hyp-10-completed")
"""Histories that Kafka's own rules refuse or a repair changes."""


@pytest.mark.long
@on_kafka
@pytest.mark.parametrize("version", ["4.1.2", "4.4.0"])
@pytest.mark.parametrize("name", WITHOUT_FINDING)
def test_what_a_release_does_in_other_histories(name: str, version: str, tmp_path: Path) -> None:
    release = kit(version)
    text = kafka_test(replay(ARCHIVE / f"replication-{name}.trace").trace, "", (version, release.jars))
    said = run_on(release, text, tmp_path)
    fails = (name, version) == ("hyp-10-completed", "4.4.0")  # before 4.3, such a reassignment does not end
    assert f"1 tests {'failed' if fails else 'successful'}" in said, said


IN_REPORTS = {
    "hyp-10": ("RemovedReplicaElrTest", 2, ("expected: <[]> but was: <[3]>", "expected: <[2]> but was: <[1, 2]>")),
    "hyp-13": ("ClearedElrIndexTest", 3,
        ("expected: <false> but was: <true>", "existed in isrMembers, but not in the topics map")),
    "hyp-11": ("MinIsrBeforeIsrTest", 1, ("Verification in order failure",)),
    "hyp-16": ("LostDiskElrTest", 2, ("expected: <[]> but was: <[2]>", "expected: <false> but was: <true>")),
    "hyp-17": ("AssignedDiskElrTest", 2, ("expected: <[1]> but was: <[]>", "expected: <-1> but was: <2>")),
    "hyp-18": ("OfflineReplicaIsrTest", 1, ("expected: <INELIGIBLE_REPLICA> but was: <NONE>",)),
    "hyp-21": ("DeletedTopicConfigTest", 1, ("expected: <{}> but was: <{retention.ms=1000}>",)),
}  # fmt: skip
"""Reports with a test: its class, its number of methods, and the results on a release."""
RELEASED = {
    "hyp-17": ("4.0.2", "4.1.2", "4.2.1"), "hyp-18": ("4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0"),
    "hyp-21": ("3.9.2", "4.1.2", "4.4.0"),
}  # fmt: skip
"""Releases on which the test of a report fails, if they are not the newest ones."""


@pytest.mark.long
@on_kafka
@pytest.mark.parametrize(
    ("finding", "version"),
    [(name, version) for name in IN_REPORTS for version in RELEASED.get(name, ("4.3.1", "4.4.0"))],
)
def test_the_test_in_a_report_fails_and_passes_with_the_repair(finding: str, version: str, tmp_path: Path) -> None:
    release, (name, methods, said) = kit(version), IN_REPORTS[finding]
    text = adapt_classes((REPAIRS / f"{name}.java").read_text(), classes_in(release.jars))
    failed = run_on(release, text, tmp_path)
    assert f"{methods} tests failed" in failed, failed
    assert all(words in failed for words in said), failed
    passed = run_on(release.repaired((finding,), tmp_path / "first"), text, tmp_path)
    assert f"{methods} tests successful" in passed, passed
