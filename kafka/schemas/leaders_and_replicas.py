"""KIP-951 and KIP-392: what an answer tells of the leader, and fetching from followers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.kafka.schemas.checks import decides, holds_if, in_order, not_built, span

if TYPE_CHECKING:
    from fencepost.kafka.schemas.checks import Seen
    from fencepost.kafka.schemas.classes import Classes

APIS = "kafka.server.KafkaApis"
COLLECTOR = "org.apache.kafka.clients.consumer.internals.FetchCollector"
SENDER = "org.apache.kafka.clients.producer.internals.Sender"
SELECTOR = "org.apache.kafka.common.replica.ReplicaSelector"
MOVED, FENCED = "Errors.NOT_LEADER_OR_FOLLOWER", "Errors.FENCED_LEADER_EPOCH"
ANSWERS = {"ProduceResponseData": 10, "FetchResponseData": 16}
"""The versions from which on answers have the endpoints of new leaders."""
ENDPOINTS = ("node_id", "host", "port", "rack")
LOG_START = "responses[].partitions[].log_start_offset"


@decides("SEED-951-10")
def with_existing_errors(kafka: Classes) -> Seen:
    """The errors that the current leader is looked up for."""
    produce, fetch = (kafka.code(APIS, name) for name in ("handleProduceRequest", "handleFetchRequest"))
    told = in_order(produce, MOVED, "getCurrentLeader") and in_order(fetch, MOVED, FENCED, "getCurrentLeader")
    what = "KafkaApis looks the leader up for NOT_LEADER_OR_FOLLOWER in answers to produce, for FENCED_LEADER_EPOCH too in those to fetch"
    return holds_if(told, what, "KafkaApis looks the leader up for other errors")


@decides("SEED-951-17")
def refresh_as_before(kafka: Classes) -> Seen:
    """Clients ask for metadata upon these errors, and take the leader from the answer besides."""
    consumer, producer = kafka.code(COLLECTOR, "handleInitializeErrors"), kafka.code(SENDER, "completeBatch")
    asks = in_order(consumer, MOVED, FENCED, "FetchUtils.requestMetadataUpdate")
    asks &= in_order(producer, "InvalidMetadataException", "ProducerMetadata.requestUpdate")
    owners = ("Metadata", "consumer.internals.ConsumerMetadata", "producer.internals.ProducerMetadata")
    takers = [
        name
        for owner in owners
        for name in kafka.callers(f"org.apache.kafka.clients.{owner}", "updatePartitionLeadership")
    ]
    what = f"FetchCollector.handleInitializeErrors and Sender.completeBatch ask for metadata; {', '.join(takers)} take the leader besides"
    return holds_if(asks and takers, what, what)


@decides("SEED-951-22")
def endpoint_with_leader(kafka: Classes) -> Seen:
    """The fields of both answers, from which versions on, and whether they come through."""
    seen = []
    for message, first in ANSWERS.items():
        fields = kafka.fields(message)
        have = [version for version, found in fields.items() if _tells(found)]
        seen.append(have == [version for version in fields if version >= first])
    leader = {"partitionIndex": 0, "currentLeader": {"leaderId": 3, "leaderEpoch": 8}}
    read = kafka.trip(
        "FetchResponseData",
        ANSWERS["FetchResponseData"],
        responses=[{"partitions": [leader]}],
        nodeEndpoints=[{"nodeId": 3, "host": "h", "port": 9092, "rack": "r"}],
    ).read
    carried = "leaderId=3, leaderEpoch=8" in read and "NodeEndpoint(nodeId=3, host='h', port=9092, rack='r')" in read
    what = "produce from version 10 and fetch from version 16 have id and epoch by partition, and node id, host, port and rack beside them"
    return holds_if(all(seen) and carried, what, f"otherwise than that: {read}")


@decides("SEED-951-25")
def rack_as_in_metadata(kafka: Classes) -> Seen:
    """The type of the rack here and there."""
    metadata = kafka.fields("MetadataResponseData")
    there = metadata[max(metadata)]["brokers[].rack"]
    here = {kafka.fields(message)[max(kafka.fields(message))]["node_endpoints[].rack"] for message in ANSWERS}
    what = f"{', '.join(here)} in both answers, {there} in the metadata response"
    return holds_if(here == {there}, what, what)


@decides("SEED-392-52")
def reset_after_check(kafka: Classes) -> Seen:
    """What a consumer does when its offset is out of range."""
    refers = kafka.code(COLLECTOR, "handleInitializeErrors")
    checks = [
        name
        for name in refers
        if "EpochEndOffset" in name or "OffsetsForLeaderEpoch" in name or "alidatePosition" in name
    ]
    resets = in_order(
        refers, "SubscriptionState.clearPreferredReadReplica", "SubscriptionState.requestOffsetResetIfPartitionAssigned"
    )
    if resets and not checks:
        return not_built(
            "out of range, a consumer turns from a follower to the leader, and from the leader to its reset policy: "
            "FetchCollector.handleInitializeErrors checks no truncation first"
        )
    return holds_if(checks and resets, f"{', '.join(checks)} before the reset", "neither a check nor a reset")


@decides("SEED-392-59")
def schemas_stay(kafka: Classes) -> Seen:
    """The fields of version 11 that version 10 has not."""
    new = [
        f"{field} in the {word}"
        for word in ("request", "response")
        for fields in [kafka.fields(f"Fetch{word.title()}Data")]
        for field in sorted(set(fields[11]) - set(fields[10]))
    ]
    return holds_if(not new, "versions 10 and 11 have the same fields", f"version 11 adds {' and '.join(new)}")


@decides("SEED-392-60")
def in_every_version(kafka: Classes) -> Seen:
    """The versions of the response without a log start offset."""
    fields = kafka.fields("FetchResponseData")
    without = [version for version, found in fields.items() if LOG_START not in found]
    return holds_if(
        not without, "every version has both", f"no log start offset in version {span(without)} of the response"
    )


@decides("SEED-392-63")
def selector_on_changes(kafka: Classes) -> Seen:
    """Who asks the selector."""
    callers = kafka.callers(SELECTOR, "select")
    if callers == ["ReplicaManager.findPreferredReadReplica"]:
        return not_built(
            "the selector is the broker's: only ReplicaManager.findPreferredReadReplica asks it, and no consumer has one"
        )
    return holds_if(False, "", f"it is asked by {', '.join(callers)}")


@decides("SEED-392-64")
def only_a_recommendation(kafka: Classes) -> Seen:
    """What a consumer reads and a broker is told in the version before follower fetching, which both then speak."""
    response = kafka.trip("FetchResponseData", 10, responses=[{"partitions": [{"partitionIndex": 0}]}])
    request = kafka.trip("FetchRequestData", 10, rackId="r")
    read, rack = response.value("preferredReadReplica"), request.value("rackId")
    what = f"in version 10 a request drops the consumer's rack without an error, and a response is read with replica {read}: none"
    return holds_if(read == "-1" and rack == "''" and not request.refused, what, request.refused or what)


def _tells(fields: dict[str, str]) -> bool:
    leader = any(path.endswith("current_leader.leader_epoch") for path in fields)
    return leader and all(f"node_endpoints[].{name}" in fields for name in ENDPOINTS)
