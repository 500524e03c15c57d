"""Every size of the lineage that the catalogue has, on threads and on real executor processes: the native counts."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="these tests have an environment of their own: tox -e spark-long")

from fencepost.explorers.search import search
from fencepost.explorers.spark.session import Cluster, spark
from fencepost.explorers.verdict import Options
from fencepost.invariants.catalogue import runs_of
from fencepost.invariants.protocols import LINEAGE, protocol

from tests.spark.sparks import marks
from tests.spark.test_explore import alike, explored

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.explorers.verdict import Result
    from pyspark import SparkContext

pytestmark = [pytest.mark.long, *marks("spark")]
SIZES = {run.name: run for run in runs_of(*LINEAGE)}


@pytest.fixture(scope="module", params=["local[2]", "local-cluster[2,1,2048]"])
def context(request: pytest.FixtureRequest) -> Iterator[SparkContext]:
    with spark(Cluster(request.param)) as found:
        yield found


@cache
def native(name: str) -> Result:
    run = SIZES[name]
    found = protocol(run.protocol)
    return search(found.machine, found.machine.set_constants(run.constants), found.properties, Options(workers=1))


@pytest.mark.parametrize("name", SIZES)
def test_spark_finds_what_the_native_engine_finds(context: SparkContext, name: str) -> None:
    run = SIZES[name]
    handover = max(40, max(native(name).levels) // 3)
    found = explored(context, run.protocol, dict(run.constants), handover=handover)
    assert found.distinct == run.distinct
    alike(found, native(name))
