"""Properties of KIP-951's leader discovery, with their witnesses, liveness, and lemmas.

The properties' catalogue ids are K951-S1 to K951-S6, L1 and Q1. L1, S4 and Q1 need the whole state graph, so they are
checked only if named. Fairness: brokers eventually get metadata and respond, and clients send requests.
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
    hinted_topic,
    is_hint_accepted,
    may_send,
)
from fencepost.model.clients.discovery.constants import C
from fencepost.model.clients.discovery.controller import broker_starts
from fencepost.model.clients.discovery.state import Outcome, Partition, Stage, State, Work, newest
from fencepost.model.language import NONE, always, at_most, bits, leads_to, sometimes, step, strong, weak
from fencepost.model.language.actions import properties_in


def was_chosen(s: State, partition: int, topic: int, leader: int, epoch: int) -> bool:
    """Return whether the controller ever made the broker the leader in this epoch of the topic's incarnation."""
    return any(
        s.image[image].partition[partition].topic == topic
        and s.image[image].partition[partition].leader == leader
        and s.image[image].partition[partition].epoch == epoch
        for image in range(s.newest + 1)
    )


def is_older_than_known(s: State, partition: int) -> bool:
    """Return whether the metadata response has an older leader epoch than the client knows for the same topic."""
    known, told = s.known[partition], s.image[s.refresh.image].partition[partition]
    return (
        bits.contains(s.refresh.partitions, partition)
        and not s.refresh.is_old
        and told.topic == known.topic
        and told.epoch < known.epoch
    )


@always
def leader_epochs_never_fall(s: State, c: C) -> bool:
    """K951-S1: the leader epoch that the client uses for a topic never decreases."""
    return all(known.epoch in (NONE, known.ghost_epoch) for known in s.known)


@step(on=client_applies_metadata)
def stale_metadata_leaves_the_leader(before: State, after: State, c: C) -> bool:
    """K951-S2: metadata with an older leader epoch changes neither the client's leader nor its leader epoch."""
    return all(
        not is_older_than_known(before, partition)
        or (
            after.known[partition].leader == before.known[partition].leader
            and after.known[partition].epoch == before.known[partition].epoch
        )
        for partition in range(c.partitions)
    )


@step(on=client_applies_metadata)
def stale_metadata_leaves_the_endpoint(before: State, after: State, c: C) -> bool:
    """K951-S2b: metadata with an older leader epoch does not remove the endpoint of the client's leader."""
    return all(
        not is_older_than_known(before, partition)
        or before.endpoint[before.known[partition].leader] == NONE
        or before.endpoint[before.known[partition].leader] != newest(before).endpoint[before.known[partition].leader]
        or after.endpoint[before.known[partition].leader] == before.endpoint[before.known[partition].leader]
        for partition in range(c.partitions)
    )


@step(on=client_receives_response)
def hints_bring_newer_endpoints(before: State, after: State, c: C) -> bool:
    """K951-S3: a hint's endpoint never replaces one from a later registration of the same broker."""
    return all(after.endpoint[broker] >= before.endpoint[broker] for broker in range(c.brokers))


@step(on=client_applies_metadata)
def metadata_brings_newer_endpoints(before: State, after: State, c: C) -> bool:
    """K951-S3: metadata never replaces an endpoint with one from an earlier registration of the same broker."""
    return all(
        after.endpoint[broker] >= before.endpoint[broker]
        for broker in range(c.brokers)
        if after.endpoint[broker] != NONE
    )


@step(on=client_sends_request)
def immediate_retries_go_to_newer_epochs(before: State, after: State, c: C, broker: int) -> bool:
    """K951-S4: a batch is resent without backoff only in a newer leader epoch than that of its last attempt."""
    return all(
        not may_send(before, c, partition, broker)
        or before.known[partition].attempt == NONE
        or before.known[partition].ghost_waited
        or before.known[partition].epoch > before.known[partition].attempt
        for partition in range(c.partitions)
    )


@always
def hints_are_true(s: State, c: C) -> bool:
    """K951-S5: the leader in a hint was the controller's choice for the epoch in the hint."""
    return all(
        s.request.stage != Stage.ANSWERED
        or not bits.contains(s.request.hinted, partition)
        or was_chosen(s, partition, hinted_topic(s, partition), hinted_leader(s, partition), hinted_epoch(s, partition))
        for partition in range(c.partitions)
    )


@always
def known_epochs_exist(s: State, c: C) -> bool:
    """HYP-6: a client with the current topic id never knows a later leader epoch than the controller does."""
    return all(
        s.known[partition].topic != newest(s).partition[partition].topic
        or s.known[partition].epoch <= newest(s).partition[partition].epoch
        for partition in range(c.partitions)
    )


@step(on=client_receives_response)
def deliveries_are_validated(before: State, after: State, c: C) -> bool:
    """K951-S6: a consumer delivers no record from a leader before the position is validated in that leader's epoch."""
    request = before.request
    return not c.consumer or all(
        not bits.contains(request.partitions, partition)
        or request.outcome[partition] != Outcome.SUCCESS
        or request.epoch[partition] != before.known[partition].epoch
        or before.known[partition].is_validated
        for partition in range(c.partitions)
    )


@sometimes
def hint_is_accepted(s: State, c: C) -> bool:
    """A response contains a hint that the client accepts."""
    return s.request.stage == Stage.ANSWERED and any(
        is_hint_accepted(s, c, partition) for partition in range(c.partitions)
    )


@sometimes
def metadata_is_stale(s: State, c: C) -> bool:
    """A metadata response has an older leader epoch than the client knows."""
    return s.refresh.stage == Stage.ANSWERED and any(
        is_older_than_known(s, partition) for partition in range(c.partitions)
    )


@sometimes
def retry_succeeds(before: State, after: State, c: C) -> bool:
    """A request succeeds in a later leader epoch than that of its first attempt."""
    return any(
        before.known[partition].work == Work.SENT
        and after.known[partition].work == Work.DONE
        and before.known[partition].epoch > 0
        for partition in range(c.partitions)
    )


@sometimes
def leader_has_moved_its_endpoint(s: State, c: C) -> bool:
    """The client has an outdated endpoint for the leader that it knows."""
    return any(
        s.endpoint[known.leader] != NONE and s.endpoint[known.leader] < newest(s).endpoint[known.leader]
        for known in s.known
    )


@sometimes
def refresh_spares_an_error(before: State, after: State, c: C) -> bool:
    """Metadata names a newer leader of a partition before a request to the previous leader fails."""
    is_there = before.refresh.stage == Stage.ANSWERED and after.refresh.stage == Stage.NONE
    return is_there and any(
        before.known[partition].attempt == NONE and after.known[partition].epoch > before.known[partition].epoch
        for partition in range(c.partitions)
    )


@sometimes
def hint_brings_an_endpoint(before: State, after: State, c: C) -> bool:
    """A client learns a new endpoint from a produce or fetch response."""
    is_there = before.request.stage == Stage.ANSWERED and after.request.stage == Stage.NONE
    return is_there and any(before.endpoint[broker] != after.endpoint[broker] for broker in range(c.brokers))


@sometimes
def new_topic_is_known(s: State, c: C) -> bool:
    """The client knows the recreated topic."""
    return any(known.topic > 0 for known in s.known)


PROPERTIES = properties_in(globals())


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
"""A client that keeps requesting metadata eventually sends a request to each broker."""


def is_misled(s: State, c: C, partition: int) -> bool:
    """Return whether the client uses the wrong leader, or a leader epoch that the leader rejects."""
    known, told = s.known[partition], newest(s).partition[partition]
    return known.leader != told.leader or (c.consumer and known.epoch not in (NONE, told.epoch))


def is_right(s: State, c: C, partition: int) -> bool:
    """Return whether the client uses the controller's leader and that leader's endpoint."""
    leader = s.known[partition].leader
    return not is_misled(s, c, partition) and s.endpoint[leader] == newest(s).endpoint[leader]


def is_wrong(s: State, c: C, partition: int) -> bool:
    """Return whether the client uses a wrong leader, epoch or endpoint."""
    return not is_right(s, c, partition)


clients_find_the_leader = leads_to(
    "clients-find-the-leader",
    "K951-L1: a client with a wrong leader or endpoint for a partition eventually finds the right one.",
    when=is_wrong,
    then=is_right,
    fair=FAIR,
    partition=Partition,
)


def has_failed(s: State, c: C) -> bool:
    """Return whether the client has just received the first error for partition 0."""
    request = s.request
    return (
        request.stage == Stage.ANSWERED
        and bits.contains(request.partitions, 0)
        and request.outcome[0] != Outcome.SUCCESS
    )


def is_told(s: State, c: C) -> bool:
    """Return whether the first error for partition 0 has just arrived, with a hint naming the controller's leader."""
    told = newest(s).partition[0]
    is_true = hinted_leader(s, 0) == told.leader and hinted_epoch(s, 0) == told.epoch
    return has_failed(s, c) and bits.contains(s.request.hinted, 0) and is_true


def has_succeeded(s: State, c: C) -> bool:
    """Return whether partition 0's batch is complete."""
    return s.known[0].work == Work.DONE


def cost_of_retry(before: State, after: State, c: C) -> int:
    """Return 1 for a step that resends partition 0's batch without a backoff."""
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
"""Actions that count as round trips, including a consumer's OffsetsForLeaderEpoch requests."""

immediate_retries = at_most(
    "immediate-retries",
    "K951-S4: between an error and success, a batch is resent without backoff at most once per leader epoch.",
    when=has_failed,
    then=has_succeeded,
    costs=cost_of_retry,
    bound=C.elections,
    unit="retries",
    fair=FAIR,
)

round_trips = at_most(
    "round-trips-to-success",
    "K951-Q1: the number of further requests that a batch needs between an error and success.",
    when=has_failed,
    then=has_succeeded,
    costs=ROUND_TRIPS,
    unit="round trips",
    fair=FAIR,
)

told_round_trips = at_most(
    "round-trips-once-told",
    "K951-Q1: once an error has named the new leader, a batch succeeds within two round trips.",
    when=is_told,
    then=has_succeeded,
    costs=ROUND_TRIPS,
    bound=2,
    unit="round trips",
    fair=FAIR,
)

backoffs = at_most(
    "backoffs-to-success",
    "K951-Q1: the number of backoffs that a batch waits for between an error and success.",
    when=has_failed,
    then=has_succeeded,
    costs={backoff_ends: 1},
    unit="backoffs",
    fair=FAIR,
)

refreshes = at_most(
    "refreshes-to-success",
    "K951-Q1: the number of metadata refreshes that a batch waits for between an error and success.",
    when=has_failed,
    then=has_succeeded,
    costs=cost_of_refresh,
    unit="refreshes",
    fair=FAIR,
)

LIVENESS = (clients_find_the_leader, immediate_retries, told_round_trips, round_trips, backoffs, refreshes)


# -- lemmas, which make the rule of leader epochs inductive


@always
def without_epoch_none_was_used(s: State, c: C) -> bool:
    """A client that knows no leader epoch of a topic has never used a leader epoch of that topic."""
    return c.old_brokers > 0 or all(known.epoch != NONE or known.ghost_epoch == 0 for known in s.known)


@always
def metadata_has_leader_epochs(s: State, c: C) -> bool:
    """If all brokers know leader epochs, every metadata response contains them."""
    return c.old_brokers > 0 or s.refresh.stage != Stage.ANSWERED or not s.refresh.is_old


LEMMAS = (without_epoch_none_was_used, metadata_has_leader_epochs)
