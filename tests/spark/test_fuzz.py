"""Random histories of Kafka's classes on Spark: the same as in one process, also if the run continues later."""

from pathlib import Path

import fencepost.api as f
import pytest

pytest.importorskip("pyspark", reason="these tests have an environment of their own: tox -e audit")

from fencepost.api.calls import on_spark
from pyarrow import parquet

from tests.kafka.kafkas import on_kafka
from tests.spark.sparks import marks

pytestmark = [*marks("audit-spark"), on_kafka, pytest.mark.long]


def test_histories_on_executors_are_those_of_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_spark, "HISTORIES_PER_TASK", 7)
    rows = []
    for name, cluster, counts in (("one", None, [30]), ("spark", f.Cluster("local[2]"), [16, 30])):
        for count in counts:
            given = {"kafka": "4.4.0", "profile": "crashes", "seed": 5, "output": tmp_path / name}
            found = f.fuzz(**given, histories=count, cluster=cluster)
            assert found.histories == count
        tables = [parquet.read_table(path).to_pylist() for path in sorted((tmp_path / name).glob("*.parquet"))]
        assert len(tables) == len(counts)
        rows.append((found.verdict, [row for table in tables for row in table]))
    assert rows[0] == rows[1]
    digests = {f.fuzz(**{**given, "output": None}, histories=20, cluster=on).data["digest"] for on in (None, cluster)}
    assert len(digests) == 1
