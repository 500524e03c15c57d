"""The pages on replication say what the catalogue says."""

from __future__ import annotations

import re

import pytest
from fencepost.invariants.catalogue import Profile, runs_of
from fencepost.model.cluster.machine import MACHINE
from fencepost.site.tables import measured

from tests.helpers.places import DOCS

PAGES = ("kafka/findings.md", "use/proofs.md", "kafka/replication.md")
RUNS = tuple(run for run in runs_of("replication") if not run.properties)
BY_NAME = {run.name: run for run in RUNS}


@pytest.mark.parametrize("name", PAGES)
def test_runs_and_switches_that_the_text_names_exist(name: str) -> None:
    text = re.sub(r"<!-- cases .*?<!-- end -->", "", (DOCS / name).read_text(), flags=re.DOTALL).replace("\n", " ")
    titles = re.findall(r"\*((?:kafka-\d\.\d )?\d brokers.*?)\*", text)
    assert [title for title in titles if f"replication {title}" not in BY_NAME] == []
    settings = re.findall(r"`([a-z_]+)=[a-z0-9-]+`", text)
    assert [item for item in settings if item not in MACHINE.constants.declared()] == []


def test_what_was_measured_is_what_is_pinned() -> None:
    """If not: `python -m benchmarks.figures.catalogue`."""
    for name, found in measured().items():
        assert (found["distinct"], found["depth"]) == (BY_NAME[name].distinct, BY_NAME[name].depth)
    assert {run.name for run in RUNS if run.profile is not Profile.FULL} <= set(measured())
