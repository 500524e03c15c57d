"""Schedules of Kafka's threads under Fray: a seed determines one, and a known race is found and attributed."""

from pathlib import Path

import fencepost.api as f
import pytest
from fencepost.kafka.fuzz.locks import locks, name_of
from fencepost.kafka.fuzz.schedules import Threads, installed_jdk, threads_release
from fencepost.model.language.errors import UsageError

from tests.helpers.commands import fencepost
from tests.kafka.kafkas import on_kafka


def _lacks_jdk() -> str:
    try:
        installed_jdk()
    except UsageError as error:
        return str(error)
    return ""


pytestmark = [
    on_kafka,
    pytest.mark.xdist_group("kafka"),
    pytest.mark.skipif(bool(_lacks_jdk()), reason=f"threads cannot run here: {_lacks_jdk()}"),
]


def digests(first: int, count: int) -> str:
    with Threads(threads_release("4.4.0")) as threads:
        *_, last = threads.histories("mixed", first, count)
    return last.digest


def test_a_seed_is_the_same_schedule_in_another_process() -> None:
    assert digests(1, 40) == digests(1, 40) != digests(2, 40)


def test_a_schedule_without_a_violation_is_replayed_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "one.fuzz"
    shape = "brokers=2 disks=1 partitions=1 replicas=2 min-isr=2 elr=1 faults=0"
    file.write_text(f"fencepost fuzz 1\n{shape}\nschedule 7 2\n")
    found = f.fuzz(kafka="4.4.0", threads=True, replay=file)
    assert (found.verdict, found.histories, found.data["scheduler"]) == ("nothing", 1, "pct")


def test_few_schedules_are_undetermined_and_say_how_many_locks_they_find() -> None:
    done = fencepost("fuzz", "--kafka", "4.4.0", "--threads", "--histories", "5")
    assert done.exit_code == 3
    assert done.stdout.startswith("No violation in 5 random schedules of threads of Kafka 4.4.0;")
    assert f"of {len(locks())} locks taken out of Kafka 4.4.0" in " ".join(done.stdout.split())


def test_the_locks_are_named_once() -> None:
    assert len({name_of(lock) for lock in locks()}) == len(locks()) == 50
