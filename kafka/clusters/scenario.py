"""What a scenario is: a story, the cluster that it is played on, and what is expected of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fencepost.model.language.errors import UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fencepost.kafka.clusters.stage import Stage

Harm = Literal["lost", "out"]


@dataclass(frozen=True)
class Scenario:
    """A finding on a cluster. `play` is the story; `harms_since` is the first release that it does harm on.

    The harm is that a record which was acknowledged is lost, or that a broker stays out of the cluster.
    """

    name: str
    title: str
    play: Callable[[Stage], None]
    brokers: tuple[int, ...]
    control: str
    """What a run with --control leaves out."""
    settings: tuple[tuple[str, str], ...] = ()
    delays: bool = True
    disks: tuple[int, ...] = ()
    """Brokers that have a second disk."""
    elr_in_control: bool = True
    repair: str = ""
    since: tuple[int, int] = (4, 0)
    harm: Harm = "lost"
    harms_since: tuple[int, int] = (4, 0)

    def expected(self, release: tuple[int, int], *, control: bool, repaired: bool) -> Harm | Literal["kept"]:
        """Return what is expected of a run."""
        return "kept" if control or repaired or release < self.harms_since else self.harm


def named(name: str, scenarios: Sequence[Scenario]) -> Scenario:
    """Return the scenario of this name."""
    found = {scenario.name: scenario for scenario in scenarios}
    if name not in found:
        raise UsageError(
            f"there is no scenario {name!r}.{nearest(name, list(found))} Scenarios are: {', '.join(found)}."
        )
    return found[name]
