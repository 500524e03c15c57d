"""Fields of Kafka that the model lacks, compared if two histories lead to one state of the model.

A field that differs is hidden from the comparison of states. If it affects Kafka's later behaviour, a later step
differs: so hidden fields are named, and tried by a path cover, which takes every transition from some history.
"""

import re
from collections import Counter
from dataclasses import dataclass, field

from fencepost.kafka.driver.process import Driver
from fencepost.kafka.replication.brokers import Brokers
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.language.records import Key

_SNAPSHOTS = "state of idempotent producers (not used here) is written down at a restart and when a log is cut"

_TIMES = "a restart writes the time index, in which nothing here looks for a time"

_LOG = "broker.partition.log"
_INDEX = f"{_LOG}.localLog.segments.segments.lazyTimeIndex.indexWrapper.index"
_STATE = "broker.partition.remoteReplicasMap.replicaState"

NAMED: dict[str, str] = {
    "broker.fetch.lag": "a figure for metrics",
    "broker.fetch.state": "a follower with an empty log looks once more where to truncate before its next fetch",
    f"{_LOG}.localLog.segments.segments.bytesSinceLastIndexEntry": "when the next entry of the offset index is due",
    f"{_INDEX}.entries": _TIMES,
    f"{_INDEX}.lastEntry.timestamp": _TIMES,
    f"{_LOG}.producerStateManager.lastSnapOffset": _SNAPSHOTS,
    f"{_LOG}.producerStateManager.snapshots.offset": _SNAPSHOTS,
    f"{_STATE}.lastCaughtUpTimeMs": "both times are longer ago than the lag time",
    f"{_STATE}.lastFetchLeaderLogEndOffset": "read with the time of the fetch, which is put long ago",
}
"""Known hidden fields, and why each is irrelevant."""


@dataclass
class Hidden:
    """Dumps by model state, and the fields in which dumps of one state differ, with counts and two values."""

    dumps: dict[Key, dict[str, str]] = field(default_factory=dict)
    again: int = 0
    fields: Counter[str] = field(default_factory=Counter)
    examples: dict[str, tuple[str, str]] = field(default_factory=dict)

    def compare(self, state: Key, dump: dict[str, str]) -> None:
        """Compare a dump with the first one of the same state."""
        first = self.dumps.setdefault(state, dump)
        if first is dump:
            return
        self.again += 1
        differing = set()
        for path in first.keys() | dump.keys():
            one, other = first.get(path, "absent"), dump.get(path, "absent")
            if one != other:
                name = re.sub(r"\[[0-9]+\]", "", path)
                differing.add(name)
                self.examples.setdefault(name, (one, other))
        self.fields.update(differing)


class Watched(Brokers):
    """An execution that looks at all of Kafka's fields after each step."""

    def __init__(self, driver: Driver, plain: Interpreter, hidden: Hidden) -> None:
        super().__init__(driver, plain)
        self.hidden = hidden

    def followed(self) -> None:
        """Compare Kafka's fields with those of another history in the same state."""
        self.hidden.compare(self.at, self.driver.tell("dump"))
