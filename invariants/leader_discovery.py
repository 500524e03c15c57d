"""What KIP-951 promises of leader discovery, and witnesses that the model can do what the promises are about.

The ids are those of the catalogue: K951-S1 to K951-S6.
"""

from fencepost.model.clients.discovery.client import (
    client_applies_metadata,
    client_receives_response,
    client_sends_request,
    hinted_epoch,
    hinted_leader,
    hinted_topic,
    is_hint_accepted,
    may_send,
)
from fencepost.model.clients.discovery.constants import C
from fencepost.model.clients.discovery.state import Outcome, Stage, State, Work, newest
from fencepost.model.language import NONE, always, bits, sometimes, step
from fencepost.model.language.actions import properties_in


def was_chosen(s: State, partition: int, topic: int, leader: int, epoch: int) -> bool:
    """Say whether the controller ever made this broker leader in this epoch of this incarnation of the topic."""
    return any(
        s.image[image].partition[partition].topic == topic
        and s.image[image].partition[partition].leader == leader
        and s.image[image].partition[partition].epoch == epoch
        for image in range(s.newest + 1)
    )


def is_older_than_known(s: State, partition: int) -> bool:
    """Say whether the metadata response that has arrived has an older leader epoch of the same topic than the client knows."""
    known, told = s.known[partition], s.image[s.refresh.image].partition[partition]
    return (
        bits.contains(s.refresh.partitions, partition)
        and not s.refresh.is_old
        and told.topic == known.topic
        and told.epoch < known.epoch
    )


@always
def leader_epochs_never_fall(s: State, c: C) -> bool:
    """K951-S1: the leader epoch that the client uses for a topic is the newest that it has ever used for it."""
    return all(known.epoch in (NONE, known.ghost_epoch) for known in s.known)


@step(on=client_applies_metadata)
def stale_metadata_leaves_the_leader(before: State, after: State, c: C) -> bool:
    """K951-S2: metadata with an older leader epoch changes neither leader nor epoch."""
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
    """K951-S2b: metadata with an older leader epoch does not take away the endpoint at which the client's leader is."""
    return all(
        not is_older_than_known(before, partition)
        or before.endpoint[before.known[partition].leader] == NONE
        or before.endpoint[before.known[partition].leader] != newest(before).endpoint[before.known[partition].leader]
        or after.endpoint[before.known[partition].leader] == before.endpoint[before.known[partition].leader]
        for partition in range(c.partitions)
    )


@step(on=client_receives_response)
def hints_bring_newer_endpoints(before: State, after: State, c: C) -> bool:
    """K951-S3: no endpoint of a hint replaces one from a later registration of the same broker."""
    return all(after.endpoint[broker] >= before.endpoint[broker] for broker in range(c.brokers))


@step(on=client_applies_metadata)
def metadata_brings_newer_endpoints(before: State, after: State, c: C) -> bool:
    """K951-S3, for metadata: no endpoint of a metadata response replaces one from a later registration of the same broker."""
    return all(
        after.endpoint[broker] >= before.endpoint[broker]
        for broker in range(c.brokers)
        if after.endpoint[broker] != NONE
    )


@step(on=client_sends_request)
def immediate_retries_go_to_newer_epochs(before: State, after: State, c: C, broker: int) -> bool:
    """K951-S4: without backoff a batch is sent again only towards a newer leader epoch than at its last attempt."""
    return all(
        not may_send(before, c, partition, broker)
        or before.known[partition].attempt == NONE
        or before.known[partition].ghost_waited
        or before.known[partition].epoch > before.known[partition].attempt
        for partition in range(c.partitions)
    )


@always
def hints_are_true(s: State, c: C) -> bool:
    """K951-S5: the leader of a hint was the controller's choice for its epoch."""
    return all(
        s.request.stage != Stage.ANSWERED
        or not bits.contains(s.request.hinted, partition)
        or was_chosen(s, partition, hinted_topic(s, partition), hinted_leader(s, partition), hinted_epoch(s, partition))
        for partition in range(c.partitions)
    )


@always
def known_epochs_exist(s: State, c: C) -> bool:
    """HYP-6, as it shows in a state: a client that knows the topic's present id knows no leader epoch beyond the controller's."""
    return all(
        s.known[partition].topic != newest(s).partition[partition].topic
        or s.known[partition].epoch <= newest(s).partition[partition].epoch
        for partition in range(c.partitions)
    )


@step(on=client_receives_response)
def deliveries_are_validated(before: State, after: State, c: C) -> bool:
    """K951-S6: a consumer delivers nothing from a leader before its position was validated in that leader's epoch."""
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
    """A response has arrived with a hint that the client accepts."""
    return s.request.stage == Stage.ANSWERED and any(
        is_hint_accepted(s, c, partition) for partition in range(c.partitions)
    )


@sometimes
def metadata_is_stale(s: State, c: C) -> bool:
    """A metadata response has arrived that is older than what the client knows."""
    return s.refresh.stage == Stage.ANSWERED and any(
        is_older_than_known(s, partition) for partition in range(c.partitions)
    )


@sometimes
def retry_succeeds(before: State, after: State, c: C) -> bool:
    """A request for a partition succeeds in another epoch than it was first tried in."""
    return any(
        before.known[partition].work == Work.SENT
        and after.known[partition].work == Work.DONE
        and before.known[partition].epoch > 0
        for partition in range(c.partitions)
    )


@sometimes
def leader_has_moved_its_endpoint(s: State, c: C) -> bool:
    """The leader that the client knows is at another endpoint than the client believes."""
    return any(
        s.endpoint[known.leader] != NONE and s.endpoint[known.leader] < newest(s).endpoint[known.leader]
        for known in s.known
    )


@sometimes
def refresh_spares_an_error(before: State, after: State, c: C) -> bool:
    """Metadata brings a newer leader of a partition of which no request has failed since its last success."""
    is_there = before.refresh.stage == Stage.ANSWERED and after.refresh.stage == Stage.NONE
    return is_there and any(
        before.known[partition].attempt == NONE and after.known[partition].epoch > before.known[partition].epoch
        for partition in range(c.partitions)
    )


@sometimes
def hint_brings_an_endpoint(before: State, after: State, c: C) -> bool:
    """An answer to produce or fetch gives the client an endpoint that it did not have."""
    is_there = before.request.stage == Stage.ANSWERED and after.request.stage == Stage.NONE
    return is_there and any(before.endpoint[broker] != after.endpoint[broker] for broker in range(c.brokers))


@sometimes
def new_topic_is_known(s: State, c: C) -> bool:
    """The client knows the topic that was created anew."""
    return any(known.topic > 0 for known in s.known)


PROPERTIES = properties_in(globals())
