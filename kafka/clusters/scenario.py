"""A scenario: a story, its cluster, and its expected verdict."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from fencepost.kafka.clusters.stage import Stage
from fencepost.model.language.errors import UsageError, nearest

Harm = Literal["lost", "out", "leaderless"]
Number = tuple[int, int]
"""The first two numbers of a release."""


@dataclass(frozen=True)
class Cause:
    """A defect that can cause the harm, in releases from `since` to before `repaired_in`."""

    repair: str
    since: Number = (4, 0)
    repaired_in: Number = (99, 0)


@dataclass(frozen=True)
class Scenario:
    """A finding on a cluster. `play` is the story, and each of its `causes` alone can do the harm.

    The harm is that an acknowledged record is lost, that a broker stays out of the cluster, or that a partition has no
    leader although a complete replica is back.
    """

    name: str
    title: str
    play: Callable[[Stage], None]
    brokers: tuple[int, ...]
    control: str
    """The step that a control run leaves out."""
    settings: tuple[tuple[str, str], ...] = ()
    delays: bool = True
    disks: tuple[int, ...] = ()
    """Brokers with a second disk."""
    elr: bool | None = None
    """Whether eligible leader replicas are on or off, if the release has them; None keeps the default."""
    elr_in_control: bool = True
    causes: tuple[Cause, ...] = ()
    since: Number = (4, 0)
    harm: Harm = "lost"

    def repairs(self, release: Number) -> tuple[str, ...]:
        """Return the repairs that a release lacks."""
        return tuple(cause.repair for cause in self.causes if release < cause.repaired_in)

    def expected(
        self, release: Number, *, control: bool = False, repairs: Collection[str] = ()
    ) -> Harm | Literal["kept"]:
        """Return the expected outcome of a run on a release with some repairs."""
        harmful = any(
            cause.since <= release < cause.repaired_in and cause.repair not in repairs for cause in self.causes
        )
        return self.harm if harmful and not control else "kept"


def named(name: str, scenarios: Sequence[Scenario]) -> Scenario:
    """Return the scenario of this name."""
    found, name = {scenario.name: scenario for scenario in scenarios}, name.lower()
    if name not in found:
        raise UsageError(
            f"there is no scenario {name!r}.{nearest(name, list(found))} Scenarios are: {', '.join(found)}."
        )
    return found[name]
