"""Findings on clusters of Kafka: a record is lost, and with the repair it is not."""

import signal

import psutil
import pytest

from tests.helpers.commands import data_of, fencepost, start
from tests.helpers.ports import first_of_free_ports
from tests.kafka.kafkas import on_kafka


@pytest.mark.long
@on_kafka
@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        *(
            (f"{words} --kafka {release}", verdict)
            for release in ("4.1.2", "4.4.0")
            for words, verdict in (
                ("hyp-1", "lost"), ("hyp-1 --control", "kept"), ("hyp-1 --repaired", "kept"),
                ("hyp-10", "lost"), ("hyp-10 --repaired", "kept"),
            )
        ),
        ("hyp-17 --kafka 4.0.2", "lost"),
        ("hyp-17 --kafka 4.1.2 --control", "kept"),
        ("hyp-17-cold-start --kafka 4.2.1 --repaired", "kept"),
        ("hyp-17-two-disks --kafka 4.1.2 --repair hyp-16", "lost"),
        ("hyp-17-two-disks --kafka 4.1.2 --repair hyp-17", "lost"),
        ("hyp-17-two-disks --kafka 4.1.2 --repaired", "kept"),
        ("hyp-18 --kafka 4.4.0", "leaderless"),
        ("hyp-18 --kafka 4.4.0 --repaired", "kept"),
        ("hyp-28 --kafka 4.4.0", "out"),
        ("hyp-28 --kafka 4.4.0 --repaired", "kept"),
        ("hyp-29 --kafka 4.4.0", "returned"),
        ("hyp-30 --kafka 4.4.0", "out"),
        ("hyp-31 --kafka 4.4.0", "behind"),
        ("hyp-32 --kafka 4.4.0", "misassigned"),
        ("hyp-33 --kafka 4.4.0", "leaderless"),
        ("hyp-34 --kafka 4.4.0", "behind"),
        ("hyp-35 --kafka 4.4.0", "lost"),
        ("hyp-36 --kafka 4.4.0", "lost"),
        ("hyp-36 --kafka 3.9.2", "kept"),
        ("hyp-37 --kafka 4.4.0", "vanished"),
        ("hyp-38 --kafka 4.4.0", "leaderless"),
    ],
)  # fmt: skip
def test_a_finding_does_harm_until_all_repairs_are_there_and_its_control_does_none(words: str, verdict: str) -> None:
    port = str(first_of_free_ports())
    made = fencepost("reproduce", *words.split(), "--port", port, "--json", "--quiet")
    found = data_of(made)
    assert (found["verdict"], made.exit_code) == (verdict, 0), found
    assert (found["lost"] > 0) == (verdict == "lost")
    if words.startswith(("hyp-17", "hyp-36")):  # disks
        assert found["lost"] in (0, 100)
    elif words.startswith("hyp-35"):  # two of five voters lead
        assert found["lost_records"] == ["LOST"]
    elif words.startswith(("hyp-1 ", "hyp-10 ")):
        assert found["seconds"] < 180


@pytest.mark.long
@on_kafka
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_cluster_ends_with_the_command(number: signal.Signals) -> None:
    with start("reproduce", "hyp-1", "--kafka", "4.1.2", "--port", str(first_of_free_ports())) as run:
        assert run.stdout is not None
        while "create topic" not in run.stdout.readline():
            assert run.poll() is None
        nodes = psutil.Process(run.pid).children(recursive=True)
        assert len(nodes) == 5
        run.send_signal(number)
    gone, alive = psutil.wait_procs(nodes, timeout=30)
    assert (len(gone), alive) == (5, [])
