"""The exceptions, one class for each kind of reader.

A message has three parts: what was given, why it is rejected, and what to write instead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any


class FencepostError(Exception):
    """The root of all errors that Fencepost raises on purpose."""


class UsageError(FencepostError, ValueError):
    """The user requested something that does not exist or cannot be done (exit status 2)."""


class UnkeptError(UsageError):
    """Something cannot be saved as requested. The answer is unaffected."""


class ModelError(FencepostError, TypeError):
    """The text of a model is outside the language (exit status 2)."""


class DomainError(FencepostError, ValueError):
    """A model put a value outside its domain, or an index outside its array (exit status 2).

    `states` are the keys of the states on the path to the error, and `steps` lead from one to the next; if a search
    found the error, the path begins at an initial state. If the path is unknown, `states` contains only the current
    state; before the first state, it is empty.
    """

    states: tuple[Any, ...] = ()
    steps: tuple[Any, ...] = ()


class MismatchError(FencepostError, AssertionError):
    """Two engines disagree, or a trace does not replay: an internal error (exit status 4)."""


class ExpectationError(FencepostError, AssertionError):
    """A verdict differs from the one that a test suite expects."""


class UndeterminedError(FencepostError, RuntimeError):
    """A search ended without a decision, which does not count as success."""


class DisabledError(FencepostError):
    """A guard does not hold, so the action cannot happen in this state."""


def nearest(word: str, known: list[str], *, least: float = 0.5) -> str:
    """Return `` Did you mean 'x'?`` for the most similar known word, or an empty string if none is similar."""
    import difflib

    close = difflib.get_close_matches(word, known, n=1, cutoff=least)
    return f" Did you mean {close[0]!r}?" if close else ""


def require_known(names: Iterable[str], known: Collection[str], lacks: str, listed: str) -> None:
    """Raise UsageError for the first unknown name. The message contains the phrases `lacks` and `listed`."""
    for name in names:
        if name not in known:
            raise UsageError(f"{lacks} {name!r}.{nearest(str(name), list(known))} {listed}: {', '.join(known)}.")
