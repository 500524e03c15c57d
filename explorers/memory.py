"""The memory of this process."""

from __future__ import annotations

import resource
import sys

UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes that the system counts in."""


def peak_memory() -> int:
    """Return how many bytes this process has used at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT
