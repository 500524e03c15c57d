"""Parts of what tests ask of the runs of a protocol."""

from collections import Counter
from collections.abc import Iterable

from fencepost.counterexamples.trace import ARCHIVE
from fencepost.explorers.search import judge
from fencepost.explorers.verdict import Options
from fencepost.invariants.catalogue import Evidence, Run, evidence


def archived(name: str) -> set[str]:
    return {file.name for file in ARCHIVE.glob(f"{name}-*")}


def fired_in(runs: Iterable[Run]) -> Counter[str]:
    """Explore runs, assert that they find what is pinned, and return how often each action happened in all of them."""
    fired: Counter[str] = Counter()
    for run in runs:
        found = judge(run, Options(workers=1))
        assert found.as_expected, (run.name, found.differences)
        fired.update(found.result.fired)  # keeps those that never happened, at 0
    return fired


def evidence_on(*names: str) -> list[Evidence]:
    return [item for item in evidence().values() if any(case.run.protocol in names for case in item.cases)]
