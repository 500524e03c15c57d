"""The former name of `fencepost.testing`, for suites that import it."""

from fencepost.testing.checks import Search, check, describe, judge, replay, told

__all__ = ["Search", "check", "describe", "judge", "replay", "told"]
