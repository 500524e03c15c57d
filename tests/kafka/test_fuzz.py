"""Random histories of Kafka's classes: what they must find, and that a seed determines a history."""

import signal
from contextlib import suppress
from pathlib import Path

import fencepost.api as f
import psutil
import pytest
from fencepost.invariants.figures.store import load
from fencepost.kafka.clusters.kit import kit
from fencepost.kafka.fuzz.histories import Fuzzer, Progress, Repaired, Script, fuzz_release
from fencepost.kafka.fuzz.sight import OF_PRODUCERS, OF_SESSIONS, OWN, SESSIONS, TRANSACTIONS, measure
from fencepost.model.language.errors import UsageError

from tests.helpers.commands import fencepost, start
from tests.kafka.kafkas import on_kafka

pytestmark = [on_kafka, pytest.mark.xdist_group("kafka")]


def known(shape: str, steps: str) -> Script:
    return Script(shape, tuple(steps.split("; ")))


LAST_LEADER = known(
    "brokers=2 disks=1 partitions=1 replicas=2 min-isr=2 elr=1 faults=1",
    "produce 0; fetch 1 0; follow 1 0; fetch 1 0; kill 1; stop 0; replace 1",
)
"""HYP-17: the last leader returns with a new disk and is elected."""
SHAPE = "partitions=1 replicas=2 min-isr=2 elr=1"
KNOWN = {
    "hyp-21": known(f"brokers=2 disks=1 {SHAPE} faults=0",
        "min-isr 1; recreate 0; stop 1; start 1; publish 1; publish 0; stop 0; heartbeat 1; produce 0"),
    "hyp-24": known(f"brokers=2 disks=2 {SHAPE} faults=2", "stop 1; fail 0 0; fence 0"),
    "hyp-25": known(f"brokers=2 disks=2 {SHAPE} faults=1",
        "kill 0; stop 1; start 0; publish 0; heartbeat 0; recreate 0; fail 0 0"),
    "hyp-26": known("brokers=2 disks=1 partitions=1 replicas=2 min-isr=1 elr=1 faults=0",
        "produce 0; fetch 1 0; follow 1 0; fetch 1 0; follow 1 0; delete 0; fetch 1 0; follow 1 0; stop 1; "
        "recreate 0; publish 0; start 1; kill 1; produce 0"),
    "hyp-27": known(f"brokers=2 disks=2 {SHAPE} faults=1",
        "move 1 0 1; produce 0; copy 1; assign 1; fetch 1 0; follow 1 0; fetch 1; stop 1; start 1; publish 1; stop 0"),
    "hyp-28": known(f"brokers=2 disks=2 {SHAPE} faults=1",
        "move 1 0 1; stop 1; take 1 0; start 1; publish 1; assign 1; stop 1"),
    "hidden-checkpoint": known("brokers=3 disks=2 partitions=1 replicas=3 min-isr=2 elr=1 faults=1",
        "move 0 0 1; work 0; kill 0; take 0; start 0; publish 0; publish 1; produce 1; fetch 0 1; follow 0 1; "
        "stop 0; start 0; checkpoint 0; kill 0"),
    "hyp-34": known("brokers=2 disks=2 partitions=2 replicas=2 min-isr=2 elr=1 faults=2",
        "move 1 1 1; stop 1; kill 0; boot 0"),
    "failed-while-moved": known(f"brokers=2 disks=2 {SHAPE} faults=1",
        "move 1 0 1; copy 1; fence 0; publish 1 0; fail 1 0"),
    "replicated-transaction": known("brokers=2 disks=1 partitions=2 replicas=2 min-isr=2 elr=0 faults=0",
        "write 1 1 1; abort 1; mark 1 1 1; fetch 0 1; follow 0 1; fence 0; fence 1; publish 1; heartbeat 1; "
        "publish 1; publish 0; fetch 0 1; heartbeat 0; publish 1; follow 0 1; fetch 0 1; alter 1; follow 0 1; "
        "publish 1; produce 1 1; fence 1; fetch 0 1; follow 0 1; mark 1 1 1; heartbeat 1; publish 0; publish "
        "1; fetch 1; follow 1; fetch 1; alter 0; elect 1; delete 0 1; publish 1; mark 1 1 1"),
    # the follower's position in a segment of the replaced log becomes the position of the high watermark in the new log
    "hyp-37": known(f"brokers=2 disks=2 {SHAPE} faults=1",
        "write 0; fetch 1 0; follow 1 0; roll 0; fetch 1 0; move 0 0 1; copy 0; assign 0; copy 0; produce 0"),
    "hyp-8": known("brokers=2 disks=1 partitions=1 replicas=2 min-isr=1 elr=0 faults=0",
        "fence 0; publish 0; heartbeat 0; publish 1; fetch 0 1; fence 0; publish 1; resend 1; alter 1 1; produce 1; "
        "produce 1; heartbeat 0; answer 1 1; alter 1"),
    "hyp-38": known("brokers=3 disks=2 partitions=2 replicas=2 min-isr=2 elr=1 faults=2",
        "reassign 0 0 2; publish 2; fail 2 1"),
    "left-out-start": known("brokers=2 disks=1 partitions=2 replicas=2 min-isr=2 elr=1 faults=1",
        "sessions; produce 1 1; fetch 0 1; follow 0 1; fetch 0 1; follow 0 1; delete 1 1; fetch 0 1; "
        "produce 1 1; kill 1"),
}  # fmt: skip
"""Histories of 4.4.0 that are findings, as `fencepost fuzz` shortened them."""


def digest(seed: int, count: int) -> str:
    with Fuzzer(fuzz_release("4.3.1", None)) as fuzzer:
        *_, last = fuzzer.histories("mixed", seed, count)
    assert isinstance(last, Progress)
    return last.digest


def test_a_failed_disk_that_is_trusted_is_found_in_120_histories(tmp_path: Path) -> None:
    found = f.fuzz(kafka="4.3.1", profile="disks", histories=120, output=tmp_path)
    assert found.findings.get("HYP-16")
    script = next(tmp_path.glob("hyp-16-*.fuzz"))
    assert len(Script.read(script).steps) <= 16
    again = f.fuzz(kafka="4.3.1", replay=script)
    assert (again.verdict, again.findings) == ("known", {"HYP-16": 1})


def test_too_few_histories_are_undetermined_and_say_how_well_they_see() -> None:
    done = fencepost("fuzz", "--kafka", "4.4.0", "--histories", "5", "--seed", "5")
    assert done.exit_code == 3
    assert done.stdout.startswith("No violation in 5 random histories of Kafka 4.4.0;")
    assert "5 histories of profile mixed find" in " ".join(done.stdout.split())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_the_command(number: signal.Signals) -> None:
    process = start("fuzz", "--kafka", "4.4.0", "--histories", "100000", "--seed", "5")
    classes: list[psutil.Process] = []
    try:
        while not classes:
            assert process.poll() is None
            with suppress(psutil.Error):
                classes = [it for it in psutil.Process(process.pid).children() if "fencepost.Fuzz" in it.cmdline()]
        process.send_signal(number)
        process.communicate(timeout=60)
    finally:
        process.kill()
    assert psutil.wait_procs(classes, timeout=20)[1] == []
    assert process.returncode == (3 if number == signal.SIGTERM else -number)


@pytest.mark.parametrize(("release", "loses"), [("4.1.2", True), ("4.4.0", False)])
def test_a_last_leader_with_a_new_disk_loses_where_the_assignment_empties_the_elr(release: str, loses: bool) -> None:
    with Fuzzer(fuzz_release(release, None)) as fuzzer:
        alarm = fuzzer.replayed(LAST_LEADER)
    assert (alarm is not None) == loses
    if alarm is not None:
        assert "without record 1, which was acknowledged" in alarm.message
        assert alarm.steps[-1].state == "leader 1 epoch 1 ISR [1] ELR [0] logs 1 down"


def test_a_defect_that_a_later_release_repaired_is_known_by_this_release() -> None:
    release = fuzz_release("4.1.1", None)
    row = next(row for row in load("recall")["rows"] if row["name"] == "KAFKA-19571")
    shape, _, steps = row["script"].partition("|")
    with Repaired(release, kit("4.1.1")) as repaired:
        for message, name in (("takes a directory offline", "KAFKA-19571"), ("other", "gone by 4.1.2")):
            assert repaired._repaired_in(Script(shape, tuple(steps.split(";"))), message) == (name,)


def test_a_seed_is_the_same_history_in_another_process() -> None:
    assert digest(1, 30) == digest(1, 30) != digest(2, 30)


@pytest.mark.parametrize("release", ["4.1.2", "4.4.0"])
def test_a_late_batch_is_no_part_of_the_next_transaction(release: str) -> None:
    shape = f"brokers=2 disks=1 {SHAPE} faults=1"
    steps = "verify 0 0 1; abort 1; mark 0 0 1; append 0; fetch 1 0; follow 1 0; fetch 1 0; write 0 0 1; commit 1"
    with Fuzzer(fuzz_release(release, None)) as fuzzer:
        assert fuzzer.replayed(known(shape, steps)) is None


@pytest.mark.parametrize("profile", OWN)
def test_a_release_without_the_classes_of_a_profile_is_refused(profile: str) -> None:
    with pytest.raises(UsageError, match=rf"'{profile}' needs Kafka 3\.8 or newer"):
        f.fuzz(kafka="3.7.2", profile=profile)


def test_a_history_with_elr_is_refused_on_a_release_without_it(tmp_path: Path) -> None:
    (tmp_path / "last.fuzz").write_text(LAST_LEADER.text())
    with pytest.raises(UsageError, match=r"needs ELR, which Kafka .* does not have: replace elr=1"):
        f.fuzz(kafka="3.9.2", replay=tmp_path / "last.fuzz")


@pytest.mark.parametrize("release", ["3.8.1", "4.1.2", "4.4.0"])
def test_a_session_is_continued_evicted_and_lost_in_a_restart(release: str) -> None:
    shape = "brokers=2 disks=1 partitions=2 replicas=2 min-isr=2 elr=0 faults=0"
    fetched = "fetch 1 0; follow 1 0; produce 0; fetch 1 0; follow 1 0; late-fetch 1 0"
    steps = (
        f"sessions; {fetched}; open 0; open 0; open 0; open 0; {fetched}; send 1 0; kill 0; serve; follow 1 0; start 0"
    )
    with Fuzzer(fuzz_release(release, None)) as fuzzer:
        assert fuzzer.replayed(known(shape, steps)) is None


def test_a_session_that_forgets_the_new_fetch_offset_is_found() -> None:
    plant = next(plant for plant in OF_SESSIONS if plant.call == "fetchOffset")
    ((_, found, why),) = measure("4.4.0", SESSIONS, 10, (plant,))
    assert found is not None
    assert "the fetch session has [" in why


def test_an_index_that_forgets_aborted_transactions_is_found() -> None:
    plant = next(plant for plant in OF_PRODUCERS if plant.method == "updateTxnIndex")
    ((_, found, why),) = measure("4.4.0", TRANSACTIONS, 10, (plant,))
    assert found is not None
    assert "aborted transactions [], and the log has [Aborted" in why


def test_a_finding_is_known_by_its_repair_and_no_other() -> None:
    release = fuzz_release("4.4.0", None)
    with Fuzzer(release) as fuzzer, Repaired(release, kit("4.4.0")) as repaired:
        for name, script in KNOWN.items():
            alarm = fuzzer.replayed(script)
            assert alarm is not None, name
            assert "fencepost-kafka-" not in alarm.message
            assert (repaired.explained(alarm)[0], repaired._fixed[0].replayed(script)) == ((name,), alarm)
