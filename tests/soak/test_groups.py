"""Tests that share a compiled machine name a group, and a group must stay in one process: otherwise each process
compiles it."""

from __future__ import annotations

import os

import pytest


@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="all tests run in one process")
@pytest.mark.xdist_group("kept-together")
def test_groups_reach_the_scheduler(request: pytest.FixtureRequest) -> None:
    """The scheduler reads the group from the name; pytest-xdist 3.8 fails to put it there under pytest 9.2."""
    assert request.node.nodeid.endswith("@kept-together")
