"""What came of tries: which checks and rules the comparison notices, and what Kafka answered to what the model refuses."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fencepost.explorers.program.removal import guards
from fencepost.kafka.conform.report import FORMAT

if TYPE_CHECKING:
    from fencepost.kafka.conform.binding import Binding
    from fencepost.kafka.conform.refusals import Refusals
    from fencepost.kafka.conform.seeing import Row
    from fencepost.kafka.driver.releases import Release


@dataclass
class Noticed:
    """The rows of one release, and the refusals if any were tried."""

    bound: Binding
    release: Release
    rows: list[Row] = field(default_factory=list)
    refusals: Refusals | None = None
    seconds: float = 0.0

    @property
    def noticed(self) -> int:
        """Checks and rules whose absence was noticed."""
        return sum(row.is_noticed for row in self.rows)

    @property
    def drivable(self) -> int:
        """Checks and rules that show in what is driven."""
        return sum(not row.why or row.is_noticed for row in self.rows)

    @property
    def verdict(self) -> str:
        """The verdict: conforms if all that shows was noticed and Kafka did nothing that the model forbids."""
        forbids = self.refusals is not None and bool(self.refusals.forbidden)
        return "conforms" if all(row.is_well for row in self.rows) and not forbids else "differs"

    def data(self) -> dict[str, Any]:
        """Return the report in the words of the contract."""
        classes = Counter(
            str(self.bound.ablation.whose(guard)) for guard in guards(self.bound.machine) if not guard.part
        )
        return {
            "format": FORMAT,
            "protocol": self.bound.protocol,
            "kafka": self.release.version,
            "model": self.release.model,
            "guards": dict(sorted(classes.items())),
            "noticed": self.noticed,
            "drivable": self.drivable,
            "ablated": [row.data() for row in self.rows],
            "refusals": self.refusals.data() if self.refusals is not None else None,
            "seconds": round(self.seconds, 3),
            "verdict": self.verdict,
        }
