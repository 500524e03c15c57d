"""Runs of the quorum model: every bug has its twin, and delays match the pages."""

import pytest
from fencepost.explorers.search import search as native
from fencepost.explorers.search import values_of
from fencepost.explorers.verdict import Options, Verdict
from fencepost.invariants import quorum
from fencepost.invariants.catalogue import runs_of
from fencepost.model.quorum.machine import MACHINE
from fencepost.site.tables import SLOW, shares

from tests.helpers.parameters import few
from tests.helpers.search import explore

pytestmark = pytest.mark.xdist_group("quorum")

RUNS = runs_of("quorum")
BY_NAME = {run.name: run for run in RUNS}
SMALL = [run.name for run in RUNS if not run.properties and "clock" not in run.name and (run.distinct or 0) < 60_000]


@pytest.mark.long
@pytest.mark.parametrize("records", [1, 2])
@pytest.mark.parametrize("title", ["2 voters and an observer, comparison only", "2 voters and a broker"])
def test_the_plain_semantics_finds_what_the_engine_finds(title: str, records: int) -> None:
    values = {**values_of(BY_NAME[f"quorum {title}"]), "max_records": records}
    found = native(MACHINE, MACHINE.set_constants(values), quorum.PROPERTIES, Options(workers=1))
    plain = explore(MACHINE, values, quorum.PROPERTIES)
    assert (plain.distinct, plain.depth) == (found.distinct, found.depth)
    violated = [item for item in found.properties if item.verdict is Verdict.VIOLATED]
    assert plain.violated == {item.name: item.path and item.path.length for item in violated}


@pytest.mark.parametrize("name", few(SMALL, 15))
def test_verdicts_and_lengths_are_the_same_without_normalizing(name: str) -> None:
    asked = tuple(item for item in quorum.PROPERTIES if not item.kind.over_behaviours)
    constants = MACHINE.set_constants(values_of(BY_NAME[name]))
    found = [native(MACHINE, constants, asked, Options(workers=1, normalize=it)) for it in (True, False)]
    assert all(item.complete for item in found)
    lengths = [[(item.verdict, item.path and item.path.length) for item in it.properties] for it in found]
    assert lengths[0] == lengths[1]


SHARES = {
    "kafka-4.0 clock, 17 and 17": (2, 3), "clock, 18 to 17": (2, 3), "clock, 17 to 18": (1, 3),
    "clock, 18 and 18": (0, 3), "clock, comparison only": (1, 3), "clock, completion only": (1, 3),
}  # fmt: skip
"""Numbers of maximum waits and messages on the worst path."""


@pytest.mark.parametrize("title", SHARES)
def test_the_worst_delay_is_so_many_maximum_waits_and_messages(title: str) -> None:
    assert shares(BY_NAME[f"quorum {title}"], BY_NAME[f"quorum {title}{SLOW}"]) == SHARES[title]


def test_two_runs_that_are_no_pair_are_not_taken_for_one() -> None:
    fast, other = BY_NAME["quorum clock, 18 and 18"], BY_NAME["quorum clock, empty answers ignored"]
    with pytest.raises(ValueError, match=r"never$|never\."):
        shares(fast, other)
