"""Every run of the catalogue is pinned, every archived trace is of its run, and those of profile `quick` are made."""

import pytest
from fencepost.counterexamples.replay import replay
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.explorers.search import judge
from fencepost.explorers.verdict import Options
from fencepost.invariants.catalogue import Profile, Run, runs, values_of
from fencepost.invariants.protocols import protocol

from tests.helpers.parameters import few

QUICK = [
    pytest.param(run, id=run.name, marks=pytest.mark.xdist_group(run.protocol))
    for run in runs()
    if run.profile is Profile.QUICK
]
ARCHIVED = [pytest.param(run, id=run.name) for run in runs() if run.trace]


@pytest.mark.parametrize("run", QUICK)
def test_a_run_of_the_quick_profile_finds_what_is_pinned(run: Run) -> None:
    found = judge(run, Options(workers=1))
    assert found.as_expected, found.differences


@pytest.mark.parametrize("run", few(ARCHIVED, 4))
def test_archived_traces_are_of_their_run_and_as_long_as_it_says(run: Run) -> None:
    for name, file in run.trace.items():
        found = replay(ARCHIVE / file)
        assert found.trace.prop is not None
        assert found.trace.prop.name == name
        assert found.trace.constants == protocol(run.protocol).machine.set_constants(values_of(run))
        assert name in run.worst or found.path.length == run.violated.get(name, found.path.length)
        assert name not in run.unreached


def test_every_figure_is_pinned() -> None:
    assert [run.name for run in runs() if not (run.distinct and run.depth)] == []


def test_every_archived_trace_belongs_to_a_run() -> None:
    named = {name for run in runs() for name in run.trace.values()}
    lineage = {"truncate-to-hwm-weak-isr", "kip101-weak-isr", "kip279-strong-isr", "kip320-first-try-weak-isr"}
    assert {file.stem for file in ARCHIVE.glob("*.trace")} == {name.removesuffix(".trace") for name in named} | lineage
