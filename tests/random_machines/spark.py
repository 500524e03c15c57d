"""A sample of random machines on Spark: each state of theirs travels between partitions, from the first level on."""

import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from fencepost.explorers.spark.explore import Explore
from fencepost.explorers.spark.session import Cluster, spark
from fencepost.explorers.spark.work import Origin
from fencepost.model.language.errors import ModelError
from pyspark import SparkContext

from tests.random_machines.case import Case, said
from tests.random_machines.comparisons import goes_wrong_in_behaviours, of_states
from tests.random_machines.engines import load
from tests.random_machines.machines import numbered


def differs(context: SparkContext, text: str, case: Case) -> str:
    if goes_wrong_in_behaviours(case):
        return ""
    origin = Origin("random", (("random_machine.py", text),), (), (), normalize=True)
    found = origin.protocol()
    judged = tuple(item for item in found.properties if not item.kind.over_behaviours)
    asked = Explore(found.machine, origin.constants(), judged, case.options, origin, origin.kernels(), 2, 1)
    return case.differs(said(lambda: asked.run(lambda: nullcontext(context))), of_states(case))


def run(first: int, count: int) -> dict[str, Any]:
    """Compare so many machines that the language takes, and return what was seen."""
    row: dict[str, Any] = {"machines": 0, "states": 0, "machines with a runtime error": 0, "differences": []}
    with tempfile.TemporaryDirectory() as folder, spark(Cluster("local[2]")) as context:
        seed = first
        while row["machines"] < count:
            try:
                machine, properties = load(numbered(seed), Path(folder))
            except ModelError:
                continue
            finally:
                seed += 1
            case = Case(machine, properties, machine.set_constants({}), seed - 1)
            row["machines with a runtime error"] += "error" in case.expected
            how = differs(context, numbered(case.seed), case)
            row["differences"] += [f"machine {case.seed}: {how}"] * bool(how)
            row["machines"] += 1
            row["states"] += len(case.plain.parents)
            del sys.modules[machine.state.__module__]
    return row
