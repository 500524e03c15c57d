"""Schedules of Kafka's threads under Fray: one is taken again from its file."""

from pathlib import Path

import fencepost.api as f
import pytest
from fencepost.kafka.fuzz.schedules import installed_jdk
from fencepost.model.language.errors import UsageError

from tests.kafka.kafkas import on_kafka

try:
    HAS_JDK = installed_jdk().is_dir()
except UsageError:
    HAS_JDK = False
on_jdk = pytest.mark.skipif(not HAS_JDK, reason="Fray needs a JDK 25")
pytestmark = [on_kafka, on_jdk, pytest.mark.xdist_group("kafka")]


def test_a_schedule_is_taken_again_from_its_file(tmp_path: Path) -> None:
    (file := tmp_path / "one.fuzz").write_text("fencepost fuzz 1\na=2 b=1 c=1 d=2 e=2 f=1 g=0\nschedule 40 0 31\n")
    found = f.fuzz(kafka="4.4.0", threads=True, replay=file)
    assert (found.verdict, found.histories, found.data["scheduler"]) == ("nothing", 10, "mixed")
    assert found.data["steps"] > 1_000
