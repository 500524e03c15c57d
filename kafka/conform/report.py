"""What came of a run, as data in the words of the contract."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fencepost.kafka.conform.binding import Binding
    from fencepost.kafka.conform.run import Outcome
    from fencepost.kafka.driver.releases import Release
    from fencepost.model.language.constants import Constants

FORMAT = 1
PROTOCOL = "replication"
"""The protocol whose checks are taken out, and whose findings are settled."""


@dataclass
class Report:
    """What came of it. `transitions` counts those of the state graph, 0 where it was not made."""

    bound: Binding
    release: Release
    constants: Constants
    outcome: Outcome
    states: int = 0
    transitions: int = 0
    finding: str = ""
    """What a trace's property says of Kafka's state at the end of the history."""
    traces: dict[tuple[str, str], str] = field(default_factory=dict)
    """By kind of difference the file that replays it."""

    @property
    def verdict(self) -> str:
        """The verdict: conforms, differs, or undetermined where the run was ended before its end."""
        if self.outcome.times:
            return "differs"
        return "conforms" if self.outcome.complete and self.outcome.tally.compared else "undetermined"

    def data(self) -> dict[str, Any]:
        """Return the report in the words of the contract."""
        tally = self.outcome.tally
        return {
            "format": FORMAT,
            "protocol": self.bound.protocol,
            "kafka": self.release.version,
            "model": self.release.model,
            "constants": self.constants.shown,
            "states": self.states,
            "transitions": self.transitions,
            "executed": len(self.outcome.taken),
            "histories": tally.histories,
            "steps": tally.steps,
            "compared": tally.compared,
            "settled": tally.settled,
            "actions": [{"name": name, "executed": count} for name, count in sorted(tally.actions.items())],
            "not_compared": [
                *({"field": name, "why": why} for name, why in self.bound.not_compared.items()),
                *({"action": name.replace("_", "-"), "why": why} for name, why in self.bound.not_driven.items()),
            ],
            "limits": list(self.bound.limits),
            "set_aside": [{"why": why, "histories": count} for why, count in sorted(tally.aside.items())],
            "differences": [
                {
                    "trace": self.traces.get(kind),
                    "action": found.action,
                    "field": found.rows[0][0],
                    "model": found.rows[0][1],
                    "kafka": found.rows[0][2],
                    "steps": len(found.steps),
                    "histories": self.outcome.times[kind],
                }
                for kind, found in self.outcome.differences.items()
            ],
            "finding": self.finding,
            "lines": [
                {"class": item.name, "executed_lines": item.executed, "lines_in_all": item.lines}
                for item in self.outcome.lines
            ],
            "seconds": round(self.outcome.seconds, 3),
            "steps_per_second": round(self.outcome.rate, 1),
            "verdict": self.verdict,
        }
