"""A scenario: the steps that reproduce a finding, the cluster that it needs, and the expected verdict."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from fencepost.kafka.clusters.stage import Stage
from fencepost.model.language.errors import UsageError, nearest

Harm = Literal["lost", "vanished", "out", "leaderless", "behind", "misassigned", "returned"]
Number = tuple[int, int]


@dataclass(frozen=True)
class Cause:
    """A bug that can cause the harm, in releases from `since` up to (but excluding) `repaired_in`."""

    repair: str
    since: Number = (4, 0)
    repaired_in: Number = (99, 0)


@dataclass(frozen=True)
class Scenario:
    """The reproduction of a finding on a cluster. `play` executes the steps; each of the `causes` is sufficient for the
    harm: an acknowledged record is lost, a record that was read vanishes, a broker cannot rejoin the cluster, a
    partition has no leader although a complete replica is available, a replica is not copied, a partition does not get
    the requested replicas, or a deleted record can be read again.
    """

    name: str
    title: str
    play: Callable[[Stage], None]
    brokers: tuple[int, ...]
    control: str
    settings: tuple[tuple[str, str], ...] = ()
    delays: bool = True
    disks: tuple[int, ...] = ()
    elr: bool | None = None
    """Whether ELR is on, if the release supports it; None uses the release's default."""
    elr_in_control: bool = True
    causes: tuple[Cause, ...] = ()
    voters: tuple[int, ...] = ()
    joining: tuple[int, ...] = ()
    since: Number = (4, 0)
    harm: Harm = "lost"

    def repairs(self, release: Number) -> tuple[str, ...]:
        return tuple(cause.repair for cause in self.causes if release < cause.repaired_in)

    def expected(
        self, release: Number, *, control: bool = False, repairs: Collection[str] = ()
    ) -> Harm | Literal["kept"]:
        harmful = any(
            cause.since <= release < cause.repaired_in and cause.repair not in repairs for cause in self.causes
        )
        return self.harm if harmful and not control else "kept"


def named(name: str, scenarios: Sequence[Scenario]) -> Scenario:
    found, name = {scenario.name: scenario for scenario in scenarios}, name.lower()
    if name not in found:
        raise UsageError(f"there is no scenario {name!r}.{nearest(name, found, 'The scenarios are:')}")
    return found[name]
