"""Runs of the quorum model: every bug has its twin, and delays match the pages."""

import re

import pytest
from fencepost.explorers.search import search as native
from fencepost.explorers.search import values_of
from fencepost.explorers.verdict import Options, PropertyResult, Verdict
from fencepost.invariants import quorum
from fencepost.invariants.catalogue import runs_of
from fencepost.model.quorum.machine import MACHINE
from fencepost.site.tables import SLOW, shares

from tests.helpers.parameters import few
from tests.helpers.places import DOCS
from tests.helpers.search import Search

pytestmark = pytest.mark.xdist_group("quorum")

RUNS = runs_of("quorum")
BY_NAME = {run.name: run for run in RUNS}
SMALL = [run.name for run in RUNS if not run.properties and "clock" not in run.name and (run.distinct or 0) < 60_000]


@pytest.mark.parametrize(
    ("title", "records"),
    [
        pytest.param("2 voters and an observer, comparison only", 1, marks=pytest.mark.long),
        pytest.param("2 voters and an observer, comparison only", 2, marks=pytest.mark.long),
        pytest.param("2 voters and a broker", 1, marks=pytest.mark.long),
        pytest.param("2 voters and a broker", 2, marks=pytest.mark.long),
    ],
)
def test_the_plain_semantics_finds_what_the_engine_finds(title: str, records: int) -> None:
    values = {**values_of(BY_NAME[f"quorum {title}"]), "max_records": records}
    found = native(MACHINE, MACHINE.set_constants(values), quorum.PROPERTIES, Options(workers=1))
    search = Search(MACHINE, values, quorum.PROPERTIES)
    for _ in search.levels():
        pass
    assert (search.found.distinct, search.found.depth) == (found.distinct, found.depth)
    assert search.found.violated == {
        item.name: length_of(item) for item in found.properties if item.verdict is Verdict.VIOLATED
    }


@pytest.mark.parametrize("name", few(SMALL, 15))
def test_verdicts_and_lengths_are_the_same_without_normalizing(name: str) -> None:
    asked = tuple(item for item in quorum.PROPERTIES if not item.kind.over_behaviours)
    constants = MACHINE.set_constants(values_of(BY_NAME[name]))
    found = [native(MACHINE, constants, asked, Options(workers=1, normalize=it)) for it in (True, False)]
    assert all(item.complete for item in found)
    lengths = [[(item.verdict, item.path and item.path.length) for item in it.properties] for it in found]
    assert lengths[0] == lengths[1]


def length_of(item: PropertyResult) -> int:
    assert item.path is not None
    return item.path.length


SHARES = {
    "kafka-4.0 clock, 17 and 17": (2, 3),
    "clock, 18 to 17": (2, 3),
    "clock, 17 to 18": (1, 3),
    "clock, 18 and 18": (0, 3),
    "clock, comparison only": (1, 3),
    "clock, completion only": (1, 3),
}
"""Numbers of maximum waits and messages on the worst path."""


@pytest.mark.parametrize("title", SHARES)
def test_the_worst_delay_is_so_many_maximum_waits_and_messages(title: str) -> None:
    assert shares(BY_NAME[f"quorum {title}"], BY_NAME[f"quorum {title}{SLOW}"]) == SHARES[title]


def test_two_runs_that_are_no_pair_are_not_taken_for_one() -> None:
    fast, other = BY_NAME["quorum clock, 18 and 18"], BY_NAME["quorum clock, empty answers ignored"]
    with pytest.raises(ValueError, match=r"never$|never\."):
        shares(fast, other)


@pytest.mark.parametrize("name", ["kafka/findings/kip-1166.md", "kafka/quorum.md"])
def test_settings_that_the_pages_on_the_quorum_name_exist(name: str) -> None:
    written = re.sub(r"<!-- cases .*?<!-- end -->", "", (DOCS / name).read_text(), flags=re.DOTALL)
    settings = set(re.findall(r"`([a-z_]+)=[a-z0-9-]+`", written))
    assert settings <= set(MACHINE.constants.declared())
