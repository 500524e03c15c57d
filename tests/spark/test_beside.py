"""Sentences beside verdicts are right where Spark made the search: sessions of `models/beside.txt` on executors."""

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="these tests have an environment of their own: tox -e spark-long")

from fencepost.api.calls import on_spark
from fencepost.explorers.spark import explore
from fencepost.explorers.spark.session import Cluster, Exchange, spark
from pyspark import SparkContext

from tests.agreement.test_beside import BESIDE, play, write
from tests.spark.sparks import marks

pytestmark = [*marks("spark"), pytest.mark.long]


@pytest.fixture(scope="module")
def context() -> Iterator[SparkContext]:
    with spark(Cluster("local[2]")) as found:
        yield found


@pytest.mark.parametrize("title", [title for title, block in BESIDE.items() if "ENGINE" in block.answer])
def test_the_answer_is_right_on_executors(
    title: str, context: SparkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark takes over at the first state, so each search expands all its states there."""
    searched: list[int] = []

    class Soon(explore.Explore):
        def run(self, *start: Any) -> Any:
            self.handover, self.partitions = 1, 2
            searched.append(0)
            return super().run(*start)

    class Counted(Exchange):
        def run(self, *tasks: Any) -> Any:
            searched[-1] += 1
            return super().run(*tasks)

    monkeypatch.setattr(on_spark, "Explore", Soon)
    monkeypatch.setattr(explore, "Exchange", Counted)
    monkeypatch.setattr(on_spark, "started", lambda *_: nullcontext(context))
    monkeypatch.chdir(tmp_path)
    write(BESIDE[title])
    play(BESIDE[title], "spark")
    assert all(searched or [0]), f"a search was over before Spark had a level of it: {searched}"
