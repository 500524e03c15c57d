"""The former name of `fencepost.testing`, for suites that import it."""

from fencepost.testing.checks import Search, check, judge, replay, told

__all__ = ["Search", "check", "judge", "replay", "told"]
