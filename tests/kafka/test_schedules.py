"""Schedules of Kafka's threads under Fray: a seed determines one, and it is replayed from its file."""

from pathlib import Path

import fencepost.api as f
import pytest
from fencepost.kafka.fuzz.schedules import Threads, installed_jdk, threads_release
from fencepost.model.language.errors import UsageError

from tests.kafka.kafkas import on_kafka

try:
    HAS_JDK = installed_jdk().is_dir()
except UsageError:
    HAS_JDK = False
on_jdk = pytest.mark.skipif(not HAS_JDK, reason="Fray needs a JDK 25")
pytestmark = [on_kafka, on_jdk, pytest.mark.xdist_group("kafka")]


def digest(first: int, count: int) -> str:
    with Threads(threads_release("4.4.0")) as threads:
        *_, last = threads.histories("mixed", first, count)
    return last.digest


def test_a_seed_is_the_same_schedule_in_another_process_and_from_a_file(tmp_path: Path) -> None:
    assert digest(1, 40) != digest(2, 40)
    (file := tmp_path / "one.fuzz").write_text("fencepost fuzz 1\na=2 b=1 c=1 d=2 e=2 f=1 g=0\nschedule 40 0 1\n")
    found = f.fuzz(kafka="4.4.0", threads=True, replay=file)
    assert (found.verdict, found.data["scheduler"], found.data["digest"]) == ("nothing", "mixed", digest(1, 40))
