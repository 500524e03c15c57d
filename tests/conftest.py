"""Settings of all tests."""

import pytest
from fencepost.explorers.native import compile as native
from fencepost.explorers.native.llvm.objects import CHEAP


def pytest_configure(config: pytest.Config) -> None:
    """Compile machines cheaply when long tests are left out: optimizing takes eight times as long.

    Searches start with such code too; with `-m long`, code is optimized.
    """
    if config.getoption("-m") == "not long":
        native.load.__defaults__ = (CHEAP,)
