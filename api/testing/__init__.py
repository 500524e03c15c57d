"""Checks for your own test suite: a machine, its properties, and their expected verdicts.

    from fencepost.testing import check

    def test_epochs() -> None:
        check(MACHINE, PROPERTIES, brokers=3)

Under pytest, the fixture `fencepost` does the same with pytest's command-line options (see `pytest_plugin`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fencepost.testing.checks import Search, check, describe, judge, replay

__all__ = ["Search", "check", "describe", "judge", "replay"]


def __getattr__(name: str) -> Any:
    """Import a name from `checks` on first use, because pytest loads this package at startup."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from fencepost.testing import checks

    return getattr(checks, name)
