"""The pages of entries and checks, built once in each process."""

from __future__ import annotations

from functools import cache

from fencepost.site import build


@cache
def built() -> dict[str, str]:
    """Return the pages; do not change them."""
    return build.built()
