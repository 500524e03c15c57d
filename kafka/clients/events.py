"""Events of a client's history, in order, which are judged and recorded."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

NOBODY = -1
"""An absent leader, epoch or offset."""

Kind = Literal[
    "request", "answer", "hint", "metadata", "preferred", "committing", "lost", "written", "delivered", "acked",
    "failed", "reported", "truncated", "settled", "moved", "died",
]  # fmt: skip
"""`lost`: a log was truncated. `written`: a record was appended to the log or given to the producer. `reported`: the
client reported an error. `truncated`: it reported a truncation, a loss or a reset. `moved`: the cluster changed.
`preferred`: a fetch was answered by the name of the replica to read from. `committing`: the application commits a
position. `died`: the process of the client died."""


@dataclass(frozen=True)
class Event:
    """One event. Epochs are those on the wire; `topic` is the number of times the topic was recreated.

    `since` of a request is the earliest time at which the client can have sent it, having read the previous answer on
    its connection.
    """

    kind: Kind
    at: float
    api: str = ""
    broker: int = NOBODY
    partition: int = NOBODY
    topic: int = 0
    leader: int = NOBODY
    epoch: int = NOBODY
    offset: int = NOBODY
    fetched: int = NOBODY
    """The leader epoch of the previous record, as in a Fetch or OffsetForLeaderEpoch request."""
    since: float = 0.0
    error: str = ""
    value: str = ""
    producer: str = ""
    sequence: int = NOBODY
    """The producer id and epoch, and the first sequence, of an idempotent producer's batch."""
    named: bool = False
    """Whether a hint came with the leader's endpoint."""
    happened: bool = False
    """Whether a reported truncation is real: records that the client had read are missing from the leader's log."""

    def data(self) -> dict[str, Any]:
        """Return the event as JSON, without empty fields."""
        plain = {item.name: item.default for item in self.__dataclass_fields__.values()}
        shown = {name: value for name, value in asdict(self).items() if value != plain[name]}
        return shown | {name: round(shown[name], 4) for name in ("at", "since") if name in shown}


@dataclass
class Play:
    """All events of one history with one client, and how far the client followed the history."""

    role: str
    partitions: int
    events: list[Event] = field(default_factory=list)
    wanted: int = 0
    followed: int = 0
    """The requests in the history, and those that the client sent at the right time."""
    backoff: float = 0.0
    has_old_brokers: bool = False
    """Whether some brokers know no leader epochs, so that truncation may go unnoticed."""
    logs: dict[tuple[int, int], list[str]] = field(default_factory=dict)
    """The final values in the leader's log, for each partition and creation of its topic."""
    restarts: bool = False
    """Whether a second client takes over in the middle, knowing only the committed positions."""
    resets: bool = False
    """Whether the reset policy is latest, so that a consumer may skip records without a report."""
    is_idempotent: bool = False
    """Whether the producer is idempotent, with several requests in flight."""
    broken: str = ""
    """Why the client could not be driven to the end."""
    begun_again: str = ""
    """Why the first play failed, if there were two."""

    @property
    def is_dead(self) -> bool:
        """Whether the process of the client died."""
        return any(event.kind == "died" for event in self.events)
