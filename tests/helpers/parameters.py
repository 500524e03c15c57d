"""Parameters of tests: constants in a line, and subsets of many parameters for `./test`."""

from collections.abc import Iterable
from typing import Any

import pytest


def few(items: Iterable[Any], every: int, *, several: bool = False) -> list[Any]:
    """Return parameters of which `./test` takes every n-th, from the first on, and `./test all` takes all."""
    found = []
    for place, item in enumerate(items):
        if place % every == 0:
            found.append(item)
        elif hasattr(item, "marks"):
            found.append(pytest.param(*item.values, marks=[*item.marks, pytest.mark.long], id=item.id))
        else:
            found.append(pytest.param(*(item if several else (item,)), marks=pytest.mark.long))
    return found


def sized(text: str) -> dict[str, int]:
    """Return constants by name, from a text such as `brokers=2 max_records=1`."""
    return {name: int(value) for name, _, value in (item.partition("=") for item in text.split())}


def words(text: str) -> list[str]:
    return text.split()
