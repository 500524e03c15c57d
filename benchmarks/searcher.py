"""A process that searches machines on request, with this or an earlier version of the project.

The process is started by its path. It reads questions, one line of JSON each, and answers each with one line. Times
exclude compilation.
"""

import json
import os
import resource
import sys
import time
from importlib import import_module
from typing import Any

from fencepost.explorers.native.search import Search
from fencepost.explorers.verdict import Options
from fencepost.invariants.protocols import protocol

KIBIBYTE = 1024


def main() -> None:
    os.environ["FENCEPOST_TIER"] = "exact"  # start with the code of a long search, as the earlier version does
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Search once. The question contains `protocol`, `constants`, and the options of the search.

    With `folder`, the model comes from the package `before` in that folder.
    """
    found = protocol(question.pop("protocol"))
    machine, judged = found.machine, found.properties
    if "folder" in question:
        sys.path.insert(0, question.pop("folder"))
        machine = import_module("before.cluster.machine").MACHINE
        judged = import_module("before.replication").PROPERTIES
    constants = machine.set_constants(question.pop("constants"))
    properties = tuple(item for item in judged if not item.kind.over_behaviours)
    made = Search(machine, constants, properties, Options(**question))
    before, began = time.process_time(), time.perf_counter()
    result = made.run()
    wall, processor = time.perf_counter() - began, time.process_time() - before
    return {
        "wall": wall,
        "processor": processor,
        "distinct": result.distinct,
        "generated": result.generated,
        "depth": result.depth,
        "complete": result.complete,
        "store_bytes": result.store_bytes,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIBIBYTE,
    }


if __name__ == "__main__":
    main()
