"""The checks of claims: each answers for one release, with what it has seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fencepost.kafka.schemas.classes import Classes

ClaimCheck = Callable[["Classes"], "Observation"]


class ClaimVerdict(StrEnum):
    """Verdict of a release on a claim."""

    HOLDS = "holds"
    DIFFERS = "differs"
    """The release has what the claim is about, and it is otherwise."""
    NOT_BUILT = "not built"
    """The release has nothing of what the claim is about."""


@dataclass(frozen=True)
class Observation:
    """A verdict, and what was seen in the classes."""

    verdict: ClaimVerdict
    what: str


def holds_if(condition: object, what: str, otherwise: str) -> Observation:
    """Return the observations, by whether they agree with the claim."""
    return Observation(ClaimVerdict.HOLDS, what) if condition else Observation(ClaimVerdict.DIFFERS, otherwise)


def not_built(what: str) -> Observation:
    """Say that a release has nothing of what the claim is about."""
    return Observation(ClaimVerdict.NOT_BUILT, what)


def in_order(refers: list[str], *names: str) -> bool:
    """Return whether a method refers to these, one after another."""
    rest = iter(refers)
    return all(name in rest for name in names)


def span(versions: list[int]) -> str:
    """Return versions in words, which stand together."""
    return f"{versions[0]} to {versions[-1]}" if len(versions) > 1 else ", ".join(map(str, versions)) or "none"
