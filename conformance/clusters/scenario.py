"""What a scenario is: a story, the cluster that it is played on, and what is expected of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fencepost.model.language.errors import UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    from fencepost.conformance.clusters.stage import Stage


@dataclass(frozen=True)
class Scenario:
    """A finding on a cluster. `play` is the story; `loses_since` is the first release that it loses a record on."""

    name: str
    title: str
    play: Callable[[Stage], None]
    brokers: tuple[int, ...]
    control: str
    """What a run with --control leaves out."""
    settings: tuple[tuple[str, str], ...] = ()
    delays: bool = True
    elr_in_control: bool = True
    repair: str = ""
    since: tuple[int, int] = (4, 0)
    loses_since: tuple[int, int] = (4, 0)

    def expected(self, release: tuple[int, int], *, control: bool, repaired: bool) -> Literal["lost", "kept"]:
        """Return what is expected of a run."""
        return "kept" if control or repaired or release < self.loses_since else "lost"


def named(name: str, scenarios: Sequence[Scenario]) -> Scenario:
    """Return the scenario of this name."""
    found = {scenario.name: scenario for scenario in scenarios}
    if name not in found:
        raise UsageError(f"there is no scenario {name!r}.{nearest(name, list(found))} Scenarios are: {', '.join(found)}.")
    return found[name]
