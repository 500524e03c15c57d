"""What a module of kernels imports, so that it also runs as plain Python: the marks that the translator reads, which do nothing here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


def kernel(function: F) -> F:
    """Mark a function that is called from outside; its parameters and its result are annotated as `unit.Unit` says."""
    return function


def helper(function: F) -> F:
    """Mark a function that kernels call."""
    return function


def prefetch(array: Any, *index: Any) -> None:
    """Ask for the cache line of an element before it is needed."""
    del array, index
