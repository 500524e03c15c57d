"""Checks in your own test suite: a machine, its properties, and their expected verdicts.

    from fencepost.testing import check

    def test_epochs() -> None:
        check(MACHINE, PROPERTIES, brokers=3)

Under pytest the fixture `fencepost` does the same with the options of the run (see `pytest_plugin`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fencepost.testing.checks import Search, check, describe, judge, replay

__all__ = ["Search", "check", "describe", "judge", "replay"]


def __getattr__(name: str) -> Any:
    """Return a name of `checks`: pytest loads this package at its start, in every project that has Fencepost."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from fencepost.testing import checks

    return getattr(checks, name)
