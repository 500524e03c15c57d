"""Findings on clusters of Kafka: a record is lost, and with the repair it is not."""

import signal

import psutil
import pytest

from tests.helpers.commands import data_of, fencepost, start
from tests.helpers.ports import first_of_free_ports
from tests.kafka.kafkas import on_kafka


@pytest.mark.long
@on_kafka
@pytest.mark.parametrize("release", ["4.1.2", "4.4.0"])
@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        (["hyp-1"], "lost"),
        (["hyp-1", "--control"], "kept"),
        (["hyp-1", "--repaired"], "kept"),
        (["hyp-10"], "lost"),
        (["hyp-10", "--repaired"], "kept"),
    ],
)
def test_a_finding_loses_an_acknowledged_record_and_its_control_and_repair_do_not(
    words: list[str], verdict: str, release: str
) -> None:
    made = fencepost("reproduce", *words, "--kafka", release, "--port", str(first_of_free_ports()), "--json", "--quiet")
    found = data_of(made)
    assert (found["verdict"], made.exit_code) == (verdict, 0), found
    assert (found["lost"] > 0) == (verdict == "lost")
    assert found["seconds"] < 180


@pytest.mark.long
@on_kafka
@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        (["hyp-17", "--kafka", "4.0.2"], "lost"),
        (["hyp-17", "--kafka", "4.1.2", "--control"], "kept"),
        (["hyp-17-cold-start", "--kafka", "4.2.1", "--repaired"], "kept"),
        (["hyp-17-two-disks", "--kafka", "4.1.2", "--repair", "hyp-16"], "lost"),
        (["hyp-17-two-disks", "--kafka", "4.1.2", "--repair", "hyp-17"], "lost"),
        (["hyp-17-two-disks", "--kafka", "4.1.2", "--repaired"], "kept"),
        (["hyp-18", "--kafka", "4.4.0"], "leaderless"),
        (["hyp-18", "--kafka", "4.4.0", "--repaired"], "kept"),
        (["hyp-28", "--kafka", "4.4.0"], "out"),
        (["hyp-28", "--kafka", "4.4.0", "--repaired"], "kept"),
        (["hyp-29", "--kafka", "4.4.0"], "returned"),
        (["hyp-30", "--kafka", "4.4.0"], "out"),
        (["hyp-31", "--kafka", "4.4.0"], "behind"),
        (["hyp-32", "--kafka", "4.4.0"], "misassigned"),
        (["hyp-33", "--kafka", "4.4.0"], "leaderless"),
        (["hyp-34", "--kafka", "4.4.0"], "behind"),
        (["hyp-36", "--kafka", "4.4.0"], "lost"),
        (["hyp-36", "--kafka", "3.9.2"], "kept"),
    ],
)
def test_disks_that_fail_do_harm_until_all_repairs_are_there(words: list[str], verdict: str) -> None:
    made = fencepost("reproduce", *words, "--port", str(first_of_free_ports()), "--json", "--quiet")
    found = data_of(made)
    assert (found["verdict"], made.exit_code) == (verdict, 0), found
    assert found["lost"] == (100 if verdict == "lost" else 0)


@pytest.mark.long
@on_kafka
def test_two_of_five_voters_lead() -> None:
    made = fencepost(
        "reproduce", "hyp-35", "--kafka", "4.4.0", "--port", str(first_of_free_ports()), "--json", "--quiet"
    )
    assert (made.exit_code, data_of(made)["lost_records"]) == (0, ["LOST"])


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
