"""What a client of KIP-951 does in the end, and what it costs until then: on request, since it takes the whole graph of states.

Fair is what does not fail for ever: brokers get metadata, answer, and are asked; batches are sent. K951-L1, S4 and Q1.
"""

from fencepost.model.clients.discovery.brokers import (
    broker_answers_after_reassignment,
    broker_answers_refresh,
    broker_answers_request,
    broker_learns,
    replicas_follow,
)
from fencepost.model.clients.discovery.client import (
    backoff_ends,
    client_applies_metadata,
    client_bootstraps_again,
    client_cannot_connect,
    client_fails_to_validate,
    client_has_more,
    client_receives_response,
    client_refreshes,
    client_sends_request,
    client_validates_position,
    hinted_epoch,
    hinted_leader,
)
from fencepost.model.clients.discovery.constants import C
from fencepost.model.clients.discovery.controller import broker_starts
from fencepost.model.clients.discovery.state import Outcome, Partition, Stage, State, Work, newest
from fencepost.model.language import NONE, at_most, bits, leads_to, strong, weak

FAIR = (
    weak(broker_starts, each="broker"),
    weak(broker_learns, each="broker"),
    weak(replicas_follow, each="broker"),
    strong(client_sends_request, client_cannot_connect, each="broker"),
    weak(broker_answers_request, broker_answers_after_reassignment),
    weak(client_receives_response),
    weak(backoff_ends, each="partition"),
    weak(client_has_more, each="partition"),
    strong(client_refreshes, each="broker"),
    strong(client_bootstraps_again, each="broker"),
    weak(broker_answers_refresh),
    weak(client_applies_metadata),
    strong(client_validates_position, client_fails_to_validate, each="partition"),
)
"""A client asks each broker for metadata if it asks again and again: it chooses at random, or in turn."""


def is_misled(s: State, c: C, partition: int) -> bool:
    """Say whether the client uses another leader than the controller's, or with an epoch that the leader refuses."""
    known, told = s.known[partition], newest(s).partition[partition]
    return known.leader != told.leader or (c.consumer and known.epoch not in (NONE, told.epoch))


def is_right(s: State, c: C, partition: int) -> bool:
    """Say whether the client uses the controller's leader, at the endpoint where that is."""
    leader = s.known[partition].leader
    return not is_misled(s, c, partition) and s.endpoint[leader] == newest(s).endpoint[leader]


def is_wrong(s: State, c: C, partition: int) -> bool:
    """Say whether the client does not."""
    return not is_right(s, c, partition)


clients_find_the_leader = leads_to(
    "clients-find-the-leader",
    "K951-L1: a client that is wrong about a partition's leader, or about where that is, finds it in the end.",
    when=is_wrong,
    then=is_right,
    fair=FAIR,
    partition=Partition,
)


def has_failed(s: State, c: C) -> bool:
    """Say whether a first error for partition 0 has just reached the client."""
    request = s.request
    return (
        request.stage == Stage.ANSWERED
        and bits.contains(request.partitions, 0)
        and request.outcome[0] != Outcome.SUCCESS
    )


def is_told(s: State, c: C) -> bool:
    """Say whether a first error for partition 0 has just reached the client, with the controller's leader in it."""
    told = newest(s).partition[0]
    is_true = hinted_leader(s, 0) == told.leader and hinted_epoch(s, 0) == told.epoch
    return has_failed(s, c) and bits.contains(s.request.hinted, 0) and is_true


def has_succeeded(s: State, c: C) -> bool:
    """Say whether the batch of partition 0 is done."""
    return s.known[0].work == Work.DONE


def cost_of_retry(before: State, after: State, c: C) -> int:
    """Return 1 for a step in which partition 0's batch is sent again without a backoff."""
    known = before.known[0]
    is_sent = known.work == Work.READY and after.known[0].work == Work.SENT
    return 1 if is_sent and known.attempt != NONE and not known.ghost_waited else 0


def cost_of_refresh(before: State, after: State, c: C) -> int:
    """Return 1 for a step in which metadata arrives while partition 0's batch waits for its backoff."""
    is_there = before.refresh.stage == Stage.ANSWERED and after.refresh.stage == Stage.NONE
    return 1 if is_there and before.known[0].work == Work.BACKOFF else 0


ROUND_TRIPS = {
    broker_answers_request: 1,
    broker_answers_after_reassignment: 1,
    client_validates_position: 1,
    client_fails_to_validate: 1,
}
"""What takes a round trip: requests, and a consumer's OffsetsForLeaderEpoch."""

immediate_retries = at_most(
    "immediate-retries",
    "K951-S4: from an error to success a batch is sent again without backoff at most once for each leader epoch.",
    when=has_failed,
    then=has_succeeded,
    costs=cost_of_retry,
    bound=C.elections,
    unit="retries",
    fair=FAIR,
)

round_trips = at_most(
    "round-trips-to-success",
    "K951-Q1: from an error to success a batch takes so many more requests.",
    when=has_failed,
    then=has_succeeded,
    costs=ROUND_TRIPS,
    unit="round trips",
    fair=FAIR,
)

told_round_trips = at_most(
    "round-trips-once-told",
    "K951-Q1: once an error has named the new leader, success takes two round trips at most.",
    when=is_told,
    then=has_succeeded,
    costs=ROUND_TRIPS,
    bound=2,
    unit="round trips",
    fair=FAIR,
)

backoffs = at_most(
    "backoffs-to-success",
    "K951-Q1: from an error to success a batch waits for so many backoffs.",
    when=has_failed,
    then=has_succeeded,
    costs={backoff_ends: 1},
    unit="backoffs",
    fair=FAIR,
)

refreshes = at_most(
    "refreshes-to-success",
    "K951-Q1: from an error to success a batch waits for so many metadata refreshes.",
    when=has_failed,
    then=has_succeeded,
    costs=cost_of_refresh,
    unit="refreshes",
    fair=FAIR,
)

PROPERTIES = (clients_find_the_leader, immediate_retries, told_round_trips, round_trips, backoffs, refreshes)
