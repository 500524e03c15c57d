"""Exit statuses of commands."""

from collections.abc import Iterable
from enum import IntEnum

from fencepost.explorers.verdict import Verdict


class Exit(IntEnum):
    AS_EXPECTED = 0
    """Every verdict is as expected. If no verdict was expected, every property holds."""
    FAILED = 1
    """A property is violated, an expectation is not met, or a page is stale."""
    BAD_INPUT = 2
    """The user requested something that does not exist or is impossible."""
    UNDETERMINED = 3
    """A search ended without a decision, or did not reach a witness."""
    WRONG = 4
    """Fencepost contradicts itself, or there was an unexpected error."""


_STATUS = {
    Verdict.HOLDS: Exit.AS_EXPECTED, Verdict.PROVED: Exit.AS_EXPECTED, Verdict.VIOLATED: Exit.FAILED,
    Verdict.UNREACHED: Exit.UNDETERMINED, Verdict.UNDETERMINED: Exit.UNDETERMINED, Verdict.NOT_FOUND: Exit.UNDETERMINED,
}  # fmt: skip
_WORST_FIRST = (Exit.WRONG, Exit.BAD_INPUT, Exit.FAILED, Exit.UNDETERMINED, Exit.AS_EXPECTED)


def exit_of(verdict: Verdict, expected: Verdict | None) -> Exit:
    if expected is None:
        return _STATUS[verdict]
    if verdict is expected:
        return Exit.AS_EXPECTED
    return Exit.UNDETERMINED if verdict is Verdict.UNDETERMINED else Exit.FAILED


def worst_exit(found: Iterable[Exit]) -> Exit:
    seen = set(found)
    return next((item for item in _WORST_FIRST if item in seen), Exit.AS_EXPECTED)
