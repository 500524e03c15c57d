"""Where a search stands: all that a checkpoint keeps beside the partitions, and what a search tells while it runs."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Progress:
    """What a search tells while it runs."""

    distinct: int
    generated: int
    depth: int
    frontier: int
    expanded: int
    seconds: float
    levels: list[int]


@dataclass
class Position:
    """Where a search stands: all that a checkpoint has to keep beside the partitions."""

    depth: int = 1
    next_round: int = 0
    starts: list[int] = field(default_factory=list)
    """For each owner the number of the first state of the level that is being expanded."""
    ends: list[int] = field(default_factory=list)
    judged: list[int] = field(default_factory=list)
    """For each owner how many states the properties were evaluated on."""
    levels: list[int] = field(default_factory=list)
    fired: list[int] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    deadlocks: int = 0
    deadlock: int = -1
    initial: int = 0
    found: dict[str, int] = field(default_factory=dict)
    """For each decided property the state, as owner + number * OWNERS, that decides it; for steps the state before."""
    seconds: float = 0.0
