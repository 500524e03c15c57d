"""The exceptions. A message has three parts: what was given, why it is rejected, and what to write instead."""

from collections.abc import Collection, Iterable
from typing import Any


class FencepostError(Exception):
    """The base class of all errors that Fencepost raises deliberately."""


class UsageError(FencepostError, ValueError):
    """The user requested something that does not exist or cannot be done (exit status 2)."""


class UnkeptError(UsageError):
    """Something cannot be saved as requested. The answer is unaffected."""


class ModelError(FencepostError, TypeError):
    """A model's source is outside the language (exit status 2)."""


class DomainError(FencepostError, ValueError):
    """A model put a value outside its domain, or an index outside its array (exit status 2).

    `states` contains the keys of the states on the path to the error, and `steps` contains the steps between these
    states. If a search found the error, the path begins at an initial state. If the path is unknown, `states` contains
    only the current state. If the error occurred before the first state, `states` is empty.
    """

    states: tuple[Any, ...] = ()
    steps: tuple[Any, ...] = ()


class MismatchError(FencepostError, AssertionError):
    """Two engines disagree, or a trace does not replay: an internal error (exit status 4)."""


class ExpectationError(FencepostError, AssertionError):
    """A verdict differs from the expected verdict of a test suite."""


class UndeterminedError(FencepostError, RuntimeError):
    """A search ended without a decision, which does not count as success."""


class DisabledError(FencepostError):
    """A guard does not hold, so the action cannot happen in this state."""


FEW = 20
"""Maximum number of known words that a message lists beside a suggestion."""


def nearest(word: str, known: Collection[str], listed: str = "", *, least: float = 0.5) -> str:
    """Return `` Did you mean 'x'?`` if a known word is similar. If `listed` is given, it introduces a list of all known
    words or, if there are too many, of three similar words.
    """
    import difflib

    several = bool(listed) and len(known) > FEW
    close = difflib.get_close_matches(word, known, n=3 if several else 1, cutoff=least)
    said = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
    return said if not listed or (close and several) else f"{said} {listed} {', '.join(known) or 'none'}."


def require_known(names: Iterable[str], known: Collection[str], lacks: str, listed: str) -> None:
    """Raise UsageError for the first unknown name. The message contains the phrases `lacks` and `listed`."""
    for name in names:
        if name not in known:
            raise UsageError(f"{lacks} {name!r}.{nearest(str(name), known, f'{listed}:')}")
