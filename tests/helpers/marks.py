"""Marks that say when a test runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable


def few(items: Iterable[Any], every: int, *, several: bool = False) -> list[Any]:
    """Return parameters of which `./test` asks about each so many-th, the first included, and `./test all` about all.

    `several`: an item has the values of several parameters.
    """
    found = []
    for place, item in enumerate(items):
        if place % every == 0:
            found.append(item)
        elif hasattr(item, "marks"):
            found.append(pytest.param(*item.values, marks=[*item.marks, pytest.mark.long], id=item.id))
        else:
            found.append(pytest.param(*(item if several else (item,)), marks=pytest.mark.long))
    return found
