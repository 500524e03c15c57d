"""Events of a client's history, in chronological order; histories are judged and archived."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

SLACK = 0.05
"""Seconds that a client may take to pass information between its threads."""
NOBODY = -1
"""The value that stands for a missing leader, epoch or offset."""


def name_of(leader: int) -> str:
    return "no broker" if leader == NOBODY else f"broker {leader}"


Kind = Literal[
    "request", "answer", "hint", "metadata", "preferred", "committing", "lost", "written", "delivered", "acked",
    "failed", "reported", "truncated", "settled", "moved", "died", "omitted",
]  # fmt: skip
"""`lost`: a log was truncated. `written`: a record was appended to the log or passed to the producer. `reported`: the
client reported an error. `truncated`: it reported a truncation, a loss or a reset. `moved`: the cluster changed.
`preferred`: the answer to a fetch named a preferred replica. `committing`: the application commits an offset. `died`:
the client's process crashed. `omitted`: a metadata answer lacked the partition."""


@dataclass(frozen=True)
class Event:
    """An event. Epochs are the ones sent on the wire; `topic` counts how often the topic was recreated.

    For a request, `since` is the earliest time at which the client could have sent it: the time at which it could read
    the previous answer on the connection.
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
    """Leader epoch of the previous record, as sent in a Fetch or OffsetForLeaderEpoch request."""
    since: float = 0.0
    error: str = ""
    value: str = ""
    producer: str = ""
    sequence: int = NOBODY
    """Producer id, producer epoch and first sequence number of a batch from an idempotent producer."""
    named: bool = False
    """Whether a leader hint contained the leader's endpoint."""
    happened: bool = False
    """Whether a reported truncation is real: the leader's log lacks records that the client had read."""

    def data(self) -> dict[str, Any]:
        plain = {item.name: item.default for item in self.__dataclass_fields__.values()}
        shown = {name: value for name, value in asdict(self).items() if value != plain[name]}
        return shown | {name: round(shown[name], 4) for name in ("at", "since") if name in shown}


@dataclass
class Play:
    """All events of a history that was played to one client, and how closely the client followed the history."""

    role: str
    partitions: int
    events: list[Event] = field(default_factory=list)
    wanted: int = 0
    followed: int = 0
    """The number of requests that the history expects, and how many of them the client sent in time."""
    backoff: float = 0.0
    has_old_brokers: bool = False
    """Whether some brokers do not support leader epochs, so that a truncation may go undetected."""
    logs: dict[tuple[int, int], list[str]] = field(default_factory=dict)
    restarts: bool = False
    """Whether the consumer is replaced midway by a new one, which knows only the committed offsets."""
    resets: bool = False
    """Whether the reset policy is `latest`, so that a consumer may skip records silently."""
    lease: float = 0.0
    """Seconds for which a consumer keeps a preferred replica, or 0 if the lease is longer than the history."""
    is_idempotent: bool = False
    """Whether the producer is idempotent and has several requests in flight."""
    lag: float = 0.0
    """Longest time, in seconds, for which the machine was too busy to run the brokers, and perhaps the client."""
    pauses: dict[float, float] = field(default_factory=dict)
    """Each answer that named another leader: its time, and the end of the pause before further answers."""
    broken: str = ""
    begun_again: str = ""
    """If the history was played twice, why the first attempt failed."""

    @property
    def slack(self) -> float:
        return SLACK + self.lag

    def known_at(self, since: float) -> float:
        """Return the time of the latest answer that a client must have read if it sends a request at time `since`."""
        return max([since - self.slack, *(at for at, end in self.pauses.items() if end <= since)])

    @property
    def is_dead(self) -> bool:
        return any(event.kind == "died" for event in self.events)
