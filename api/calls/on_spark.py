"""A search on Spark, in a session that is started for it."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.api.asking.targets import Question
    from fencepost.api.asking.watching import Watch
    from fencepost.explorers.native.compile import Kernels
    from fencepost.explorers.spark.session import Cluster
    from fencepost.explorers.verdict import Options, Result
    from pyspark import SparkContext


def search_on(question: Question, options: Options, kernels: Kernels, watch: Watch, cluster: Cluster) -> Result:
    """Search on Spark; a session is started for this search and stopped after it."""
    from fencepost.explorers.spark.explore import Explore
    from fencepost.explorers.spark.machines import Origin
    from fencepost.explorers.spark.session import look_for_java, spark

    values = tuple((name, int(value)) for name, value in question.constants.values.items())
    names = tuple(item.name for item in question.properties)
    origin = Origin(question.name, question.protocol.files, values, names, options.normalize)
    search = Explore(
        question.protocol.machine, question.constants, question.properties, options, origin, kernels,
        cluster.partitions, cluster.handover, watch.telling(question.name),
    )  # fmt: skip

    @contextmanager
    def start() -> Iterator[SparkContext]:
        with ExitStack() as stack:
            with watch.busy(f"{question.name}: starting Spark with master {cluster.shown}"):
                context = stack.enter_context(spark(cluster))
            yield context

    look_for_java()
    return search.run(start)
