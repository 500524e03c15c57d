"""Settings of all tests."""

import gc
import os
from contextlib import suppress
from importlib import import_module

import pytest
from fencepost.explorers.native import compile as native
from fencepost.explorers.native.llvm.objects import CHEAP


def pytest_configure(config: pytest.Config) -> None:
    """When long tests are left out, compile machines cheaply, eight times as fast, and do not wait for the disk."""
    if config.getoption("-m") == "not long":
        native.load.__defaults__ = (CHEAP,)
        os.fsync = os.fstat


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let the second process of a whole run import from the last file on: the processes rewrite half of them each."""
    config = session.config
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw1" and config.args == config.getini("testpaths"):
        files = [file for folder in config.args for file in sorted((config.rootpath / folder).rglob("test_*.py"))]
        for file in reversed(files):
            with suppress(Exception, pytest.skip.Exception):  # collecting reports it
                import_module(".".join(file.relative_to(config.rootpath).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """Keep what was collected out of later searches for garbage."""
    gc.collect()
    gc.freeze()
