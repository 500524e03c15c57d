"""The messages between nodes that scenarios delay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.kafka.clusters.cluster import CONTROLLER
from fencepost.kafka.clusters.proxy import ALTER_PARTITION, FETCH, Flow

if TYPE_CHECKING:
    from typing import Literal


def fetches(follower: int, of: int) -> Flow:
    """Return the fetches by which a follower copies the log of a leader."""
    return Flow(of, f"broker-{follower}-fetcher", FETCH)


def metadata(broker: int, way: Literal["requests", "answers"] = "requests") -> Flow:
    """Return the fetches by which a broker gets the metadata log from the controller; its heartbeats are others."""
    return Flow(CONTROLLER, f"raft-client-{broker}", FETCH, way)


def alterations(broker: int, way: Literal["requests", "answers"] = "requests") -> Flow:
    """Return the requests by which a leader asks the controller to change the ISR."""
    return Flow(CONTROLLER, str(broker), ALTER_PARTITION, way)
