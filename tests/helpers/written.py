"""Machines that are written by hand as text: their head, and files of them."""

from __future__ import annotations

from tests.helpers.blocks import machines
from tests.helpers.places import MODELS

HEAD = '''"""A machine."""

from typing import Annotated

from fencepost.model.language import *


class C(Constants):
    three = shape(3, low=1, high=3, meaning="three")
    n = bound(3, low=1, high=9, meaning="n")
    none = bound(0, low=0, high=2, meaning="none")


'''


def texts(name: str) -> dict[str, str]:
    """Return the machines of a file, without their head, by name."""
    return machines(MODELS / name)
