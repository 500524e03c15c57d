"""What all tests run under."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.explorers.native import compile as native
from fencepost.explorers.native.llvm.objects import CHEAP

if TYPE_CHECKING:
    import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Let machines be compiled cheaply where tests that are long are left out: optimizing takes eight times as long.

    Searches begin with such code too; with `-m long`, code is optimized.
    """
    if config.getoption("-m") == "not long":
        native.load.__defaults__ = (CHEAP,)
