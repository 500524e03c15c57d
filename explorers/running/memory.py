"""The memory of this process: what it has used, and what it may take."""

from __future__ import annotations

import sys
from pathlib import Path

UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes that the system counts in."""
DEFAULT_SHARE = 0.8
"""The share of the available memory that a search takes by default."""


def peak_memory() -> int:
    """Return how many bytes this process has used at most; 0 where the system does not say, as in WebAssembly."""
    try:
        import resource
    except ModuleNotFoundError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT


def default_memory() -> int:
    """Return the bytes that a search may take by default: a share of what is available to this process."""
    import psutil

    available = int(psutil.virtual_memory().available)
    limit = _control_group_rest()
    return int(DEFAULT_SHARE * (available if limit is None else min(available, limit)))


def _control_group_rest() -> int | None:
    """Return the free memory below a container's limit, or None without one; the system's own figure ignores it."""
    folder = Path("/sys/fs/cgroup")
    try:
        return int((folder / "memory.max").read_text()) - int((folder / "memory.current").read_text())
    except (OSError, ValueError):  # no such file, or "max"
        return None
