"""`fencepost reproduce` without Kafka: stories on stand-ins, refusals, and no process left running."""

import re
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil
import pytest
from click.testing import Result
from fencepost.kafka.clusters import kit as kits
from fencepost.kafka.clusters.cluster import ClusterError, log_end
from fencepost.kafka.clusters.kit import REPAIRS, Kit
from fencepost.kafka.clusters.reproduce import SCENARIOS, Asked, Report, _elr, reproduce
from fencepost.kafka.clusters.scenario import Cause, Scenario
from fencepost.kafka.clusters.stage import Line, Stage
from fencepost.model.language.errors import UsageError

from tests.helpers.commands import data_of, fencepost, refused
from tests.helpers.places import ROOT
from tests.helpers.ports import first_of_free_ports

pytestmark = pytest.mark.xdist_group("clusters")  # they search for free ports
FAKE = ROOT / "tests" / "helpers" / "fake_kafka.py"


class FakeKit(Kit):
    """A release whose programs are stand-ins that behave as `version` says."""

    @property
    def number(self) -> tuple[int, int]:
        return (4, 1)

    def java(self, main: str, *words: str) -> list[str]:
        return [sys.executable, str(FAKE), self.version, main, *words]

    def tool(self, main: str, *words: str) -> list[str]:
        return [sys.executable, "-c", f"print('{main.rpartition('.')[2]}', '{words[-1]}')"]

    def repaired(self, findings: Sequence[str], folder: Path) -> Kit:
        folder.mkdir()
        return FakeKit(self.version, self.jars, self.more, self.tools, self.classes, folder, ",".join(findings))


def fake(behaviour: str = "works") -> Kit:
    return FakeKit(behaviour, Path(), Path(), Path(), Path())


def scenario(play: Callable[[Stage], None], **more: object) -> Scenario:
    told = {"name": "small", "title": "a small story", "control": "nothing", "causes": (Cause("hyp-1"),)}
    return Scenario(play=play, brokers=(1, 2), **told, **more)


def played(play: Callable[[Stage], None], behaviour: str = "works", seconds: float = 30) -> tuple[Report, list[Line]]:
    lines: list[Line] = []
    report = reproduce(
        scenario(play, delays=False), Asked(port=first_of_free_ports(), seconds=seconds), fake(behaviour), lines.append
    )
    return report, lines


def children() -> set[int]:
    return {found.pid for found in psutil.Process().children(recursive=True)}


def loses(stage: Stage) -> None:
    stage.create([1, 2], min_isr=2)
    stage.send("first", "failed", "LOST")
    stage.acknowledged("first", "failed", "LOST")
    stage.kill(2)
    stage.stop(1)
    stage.finish(isr=[1, 2])


def keeps(stage: Stage) -> None:
    stage.send("first")
    stage.must_acknowledge("first")


def waits_in_vain(stage: Stage) -> None:
    stage.send("first")
    stage.wait(leader=2, seconds=0.3)


def test_a_record_that_was_acknowledged_and_cannot_be_read_is_lost() -> None:
    report, lines = played(loses)
    assert (report.verdict, report.lost, report.readable) == ("lost", ["LOST"], ["first", "failed"])
    assert report.acknowledged == ["first", "LOST"]
    assert lines[-1].text == "2 acknowledged, 2 readable: 1 acknowledged record is LOST."
    data = report.data()
    assert (data["acknowledged"], data["lost"], data["lost_records"], data["expected"]) == (2, 1, ["LOST"], "lost")
    assert [line["text"] for line in data["steps"]] == [line.text for line in lines]


def test_a_story_without_a_loss_keeps_and_what_does_not_come_about_is_undetermined() -> None:
    report, lines = played(keeps)
    assert (report.verdict, report.lost) == ("kept", [])
    assert lines[-1].text == "1 acknowledged, 1 readable: no acknowledged record is lost."
    report, lines = played(waits_in_vain)
    assert (report.verdict, report.why) == ("undetermined", "not reached: leader 2")
    assert lines[-1].text == "Undetermined: not reached: leader 2."
    report, _ = played(lambda stage: stage.pause(60), seconds=5)
    assert (report.verdict, report.why) == ("undetermined", "not reached: the time limit is exceeded")


def test_nothing_is_left_of_a_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("fencepost.kafka.clusters.reproduce.MEMORY_FOLDER", tmp_path)
    before, seen = children(), []
    for story in (lambda stage: seen.extend(tmp_path.iterdir()) or loses(stage), waits_in_vain):
        played(story)
    assert (len(seen), children(), list(tmp_path.iterdir())) == (1, before, [])


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        ("format-fails", "the nodes' directories could not be formatted:\nthe id is not an id"),
        ("node-dies", "node 100 of Kafka node-dies ended while starting; its log ends:\nERROR the disk is full"),
        ("client-dies", "the client process ended with status 4 during 'elect'"),
        ("client-garbles", "the client answered 'elect' with invalid JSON: b'what?"),
    ],
)
def test_a_program_that_fails_is_one_message_and_no_process(behaviour: str, said: str) -> None:
    before = children()
    with pytest.raises((ClusterError, UsageError)) as caught:
        played(lambda stage: stage.elect(), behaviour)
    assert said in str(caught.value)
    assert children() == before


def test_a_port_that_is_taken_or_beyond_the_last_is_one_message_and_no_process() -> None:
    before = children()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for asked, said in (
            (port, f"port {port} of 127.0.0.1 is used by another.*`port=`"),
            (65534, "65535 is the last"),
        ):
            with pytest.raises(UsageError, match=said):
                reproduce(scenario(keeps, delays=asked == port), Asked(port=asked), fake(), lambda _: None)
    assert children() == before


def test_what_the_operators_tools_print_is_in_the_story() -> None:
    _, lines = played(lambda stage: stage.reassign_by_tool([1, 2], "--execute"))
    texts = [(line.kind, line.text) for line in lines]
    assert ("operator", "kafka-reassign-partitions.sh --reassignment-json-file to-1-2.json --execute") in texts
    assert ("log", "ReassignPartitionsCommand --execute") in texts


def test_logs_settings_and_disks_are_kept_where_it_was_asked(tmp_path: Path) -> None:
    def writes(stage: Stage) -> None:
        keeps(stage)
        disk = stage.cluster.folder / "data-1"
        (disk / "t-0").mkdir(parents=True)
        for name in ("meta.properties", ".lock", "t-0/leader-epoch-checkpoint", "t-0/0.log", "t-0/0.index"):
            (disk / name).touch()
        stage.kill(1)
        stage.start(1)
        (disk / "t-0/0.log").unlink()

    reproduce(scenario(writes, delays=False), Asked(port=first_of_free_ports(), keep=tmp_path), fake(), lambda _: None)

    def kept(folder: str) -> set[str]:
        return {str(path.relative_to(tmp_path / folder)) for path in (tmp_path / folder).rglob("*")}

    assert kept("data-1") == {"meta.properties", "t-0", "t-0/leader-epoch-checkpoint"}
    assert kept("before-start-data-1") == kept("data-1") | {"t-0/0.log"}
    assert {f"{node}.{kind}" for node in (100, 1, 2) for kind in ("log", "properties")} <= kept(".")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Return a function that runs the command on stand-ins with one story, by default one that loses a record."""
    monkeypatch.setattr("fencepost.kafka.clusters.kit.kit", lambda *_: fake())

    def run(*words: str, play: Callable[[Stage], object] = loses) -> Result:
        monkeypatch.setattr("fencepost.kafka.clusters.reproduce.SCENARIOS", (scenario(play, delays=False),))
        return fencepost("reproduce", "small", "--kafka", "4.1.2", "--port", str(first_of_free_ports()), *words)

    return run


RUN = """
import sys
from pathlib import Path
from tests.unit.kafka.test_clusters import fake, scenario
from fencepost.kafka.clusters.reproduce import Asked, reproduce
print("begun", flush=True)
story = scenario(lambda stage: stage.pause(100), delays=False)
reproduce(story, Asked(port={port}), fake(), lambda line: print(line.text, flush=True))
"""


@pytest.mark.long
def test_a_cluster_whose_starter_is_killed_ends() -> None:
    port = first_of_free_ports()
    command = [sys.executable, "-c", RUN.format(port=port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT) as run:
        end = time.monotonic() + 60
        while len(nodes := psutil.Process(run.pid).children()) < 4:  # three nodes and the client
            assert run.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
        run.kill()
    gone, alive = psutil.wait_procs(nodes, timeout=20)
    assert (len(gone), alive) == (4, [])


@pytest.fixture
def hears_ctrl_c() -> Iterator[None]:
    """Receive SIGINT as from a terminal, even in a run that was started with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("hears_ctrl_c")
def test_sigterm_and_ctrl_c_end_the_command_with_its_cluster(command: Callable[..., Result]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        before = children()
        found = command(play=lambda _, number=number: signal.raise_signal(number) or time.sleep(30))
        assert found.exit_code == 3, found.stderr
        assert children() == before


@pytest.mark.parametrize(
    ("release", "words", "said"),
    [
        ("4.3.1", ["hyp-17", "--repaired"], "hyp-17 needs no fix on Kafka 4.3.1, which already contains it"),
        ("4.3.1", ["hyp-17-two-disks", "--repair", "hyp-17"],
            "there is no fix 'hyp-17' for hyp-17-two-disks on Kafka 4.3.1. The fixes are: hyp-16."),
        ("4.3.1", ["hyp-17-two-disks", "--repair", "hyp-16", "--repaired"],
            "`--repaired` selects all fixes, and `--repair` some of them"),
        ("4.0.2", ["hyp-10"],
            "hyp-10 cannot run on Kafka 4.0.2: it needs a rule or a default setting of Kafka 4.1."),
    ],
)  # fmt: skip
def test_a_repair_that_a_release_has_or_nobody_knows_and_a_rule_that_it_lacks_are_refused(
    release: str, words: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = Kit(release, Path(), Path(), Path(), Path())
    monkeypatch.setattr("fencepost.kafka.clusters.kit.kit", lambda *_: used)
    assert said in refused("reproduce", *words, "--kafka", release)


def test_the_status_is_by_what_was_expected(command: Callable[..., Result]) -> None:
    asked = ("", "--control", "--repaired", "--control --expect lost", "--expect kept", "--budget 1ms")
    assert [command(*words.split()).exit_code for words in asked] == [0, 1, 1, 0, 1, 3]


def test_json_has_the_story_and_the_counts(command: Callable[..., Result]) -> None:
    found = command("--json")
    data = data_of(found)
    assert (data["format"], data["finding"], data["verdict"], data["expected"]) == (1, "small", "lost", "lost")
    assert "A producer sends" in found.stderr
    quiet = command("--quiet")
    assert quiet.stdout.splitlines() == ["small on Kafka works: lost"]
    assert quiet.stderr == ""


def test_without_a_name_the_findings_are_listed() -> None:
    found = fencepost("reproduce", "--json")
    assert [row["name"] for row in data_of(found)["findings"]] == [item.name for item in SCENARIOS]
    assert "hyp-10-b" in fencepost("reproduce").stdout


def test_every_repair_has_its_diff() -> None:
    repairs = {cause.repair for item in SCENARIOS for cause in item.causes}
    assert repairs == {path.stem for path in REPAIRS.glob("*.diff")}


def test_the_end_of_a_log_follows_its_last_complete_batch() -> None:
    def batch(base: int, records: int) -> bytes:
        return struct.pack(">qi", base, 49) + bytes(11) + struct.pack(">i", records - 1) + bytes(34)

    whole = batch(0, 3) + batch(3, 1)
    assert [log_end(whole[:size]) for size in (0, 61, 100, 122)] == [0, 3, 3, 4]


def test_what_is_expected_of_a_story_depends_on_the_release_its_control_and_every_repair() -> None:
    by_name = {item.name: item for item in SCENARIOS}
    late, both = by_name["hyp-10-b"], by_name["hyp-17-two-disks"]
    verdicts = [late.expected((4, 1)), late.expected((4, 4)), late.expected((4, 4), control=True)]
    assert verdicts == ["kept", "lost", "kept"]
    assert [both.expected((4, 1), repairs=some) for some in ((), ("hyp-17",), ("hyp-16",))] == ["lost"] * 3
    assert both.expected((4, 1), repairs=("hyp-17", "hyp-16")) == "kept"
    assert (both.repairs((4, 4)), both.expected((4, 4))) == (("hyp-16",), "lost")
    assert by_name["hyp-17"].expected((4, 3)) == "kept"


def test_a_partition_without_a_leader_or_its_replicas_is_harm_where_nothing_is_lost() -> None:
    late = "The partition had no leader although a complete replica was available."
    others = "The partition did not get the replicas that the operator requested."
    behind = "The replica of broker 2 was not copied."
    for harm, found, said in (("leaderless", True, late), ("behind", [2], behind), ("misassigned", True, others)):
        report, lines = played(lambda stage, harm=harm, found=found: keeps(stage) or setattr(stage, harm, found))
        assert (report.verdict, report.lost) == (harm, [])
        assert lines[-1].text.endswith(said)


def test_a_deleted_record_that_can_be_read_has_returned() -> None:
    def deletes(stage: Stage) -> None:
        keeps(stage)
        stage.delete_records()
        stage.write("second")

    report, lines = played(deletes)
    assert (report.verdict, report.returned, report.acknowledged) == ("returned", ["first"], ["second"])
    assert lines[-1].text == "1 deleted record can be read again."


def test_a_record_that_a_consumer_has_read_and_that_is_gone_has_vanished() -> None:
    def reads_early(stage: Stage) -> None:
        stage.send("first", "EARLY", seconds=5)
        stage.acknowledged("first", "EARLY")
        stage.consumed = stage.readable("read_committed")

    report, lines = played(reads_early)
    assert (report.verdict, report.lost, report.vanished) == ("vanished", [], ["EARLY"])
    assert lines[-1].text.endswith("no acknowledged record is lost. A record that a consumer has read is lost.")


def test_repairs_are_named_in_the_story_and_applied_together() -> None:
    lines: list[Line] = []
    asked = Asked(port=first_of_free_ports(), repairs=("hyp-16", "hyp-17"))
    report = reproduce(scenario(keeps, delays=False), asked, fake(), lines.append)
    assert "Fixed: hyp-16 and hyp-17." in [line.text for line in lines]
    assert (report.data()["repaired"], report.data()["repairs"]) == (True, ["hyp-16", "hyp-17"])


def test_eligible_leader_replicas_are_turned_on_only_where_a_story_needs_them() -> None:
    plain, needs = scenario(keeps), scenario(keeps, elr=True)
    assert [_elr(plain, Asked(), fake()), _elr(needs, Asked(), fake())] == [None, True]
    assert _elr(needs, Asked(), Kit("3.9.2", Path(), Path(), Path(), Path())) is None
    assert _elr(scenario(keeps, elr_in_control=False), Asked(control=True), fake()) is False


def test_releases_whose_jars_bring_no_logging_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[str] = []
    monkeypatch.setattr(kits, "fetch_jars", lambda pom, jars, _: asked.append(pom) or jars)

    def lacks(*there: str) -> set[str]:
        jars = tmp_path / "-".join(("jars", *there))
        jars.mkdir()
        for name in there:
            (jars / f"{name}.jar").touch()
        kits._more("4.0.2", jars)
        return set(re.findall(r"<artifactId>(log4j-.*)</artifactId>", asked[-1]))

    assert lacks() == {"log4j-api", "log4j-core", "log4j-1.2-api", "log4j-slf4j-impl"}
    assert lacks("log4j-core-2.25.3", "log4j-api-2.25.3") == {"log4j-slf4j-impl"}
    assert lacks("slf4j-reload4j-1.7.36") == lacks("log4j-core-2.24.3", "log4j-slf4j-impl-2.24.3") == set()


def test_tools_of_4_3_1_are_taken_for_4_4_0(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[str] = []

    def brought(pom: str, jars: Path, what: str) -> Path:
        asked.append(what)
        assert "kafka-tools</artifactId>\n      <version>4.3.1</version>" in pom
        return jars

    monkeypatch.setattr(kits, "fetch_jars", brought)
    assert kits._tools("4.4.0", tmp_path).parts[-2:] == ("4.3.1", "tools")
    assert asked == ["Kafka 4.3.1's command-line tools"]
    (tmp_path / "kafka-tools-4.5.0.jar").touch()
    assert kits._tools("4.5.0", tmp_path) == tmp_path
