"""Claims of KIP-903, KIP-951, KIP-392 and the consistency token draft about schemas, versions and code paths."""

from collections.abc import Iterable

from fencepost.invariants.catalogue import entries
from fencepost.kafka.schemas.classes import (
    MESSAGES,
    ClaimCheck,
    Classes,
    Observation,
    holds_if,
    in_order,
    jars_of,
    not_built,
    not_built_if,
    span,
)
from fencepost.kafka.schemas.quorum_claims import CLAIMS as QUORUM_CLAIMS

PARTITION = "kafka.cluster.Partition"
IDS = "topics[].partitions[].new_isr[]"
EPOCHS = "topics[].partitions[].new_isr_with_epochs[]"
MEMBER = f"{MESSAGES}.AlterPartitionRequestData$BrokerState"
ZOOKEEPER = "kafka.controller.KafkaController"
FIRST_EPOCHS, FIRST_STATE = 3, 15
"""The first version of AlterPartition with broker epochs, and the first version of Fetch with a replica state."""


def expansion_by_fetch(kafka: Classes) -> Observation:
    chain = {
        name: kafka.callers(PARTITION, name)
        for name in ("prepareIsrExpand", "maybeExpandIsr", "updateFollowerFetchState")
    }
    what = "; ".join(f"{name} is called only by {', '.join(callers)}" for name, callers in chain.items())
    expected = [["Partition.maybeExpandIsr"], ["Partition.updateFollowerFetchState"], ["Partition.fetchRecords"]]
    return holds_if(list(chain.values()) == expected, what, what)


def last_epoch_kept(kafka: Classes) -> Observation:
    kept = kafka.tell("kept")["kept"]
    what = f"after fetches with broker epochs 5 and 9, the leader's Replica contains {' and '.join(kept)}"
    return holds_if(kept == ["5", "9"], what, what)


def epochs_instead_of_ids(kafka: Classes) -> Observation:
    fields = kafka.fields("AlterPartitionRequestData")
    ids = [version for version, found in fields.items() if IDS in found]
    epochs = [version for version, found in fields.items() if f"{EPOCHS}.broker_epoch" in found]
    what = f"of versions {span(list(fields))}, those with bare ids are {span(ids)}, those with epochs {span(epochs)}"
    return holds_if(ids[-1:] == [FIRST_EPOCHS - 1] and ids + epochs == list(fields), what, what)


def unsupported_is_minus_one(kafka: Classes) -> Observation:
    unset = kafka.trip("AlterPartitionRequestData", FIRST_EPOCHS, topics=[_topic(epoch=None)])
    refers = kafka.code("org.apache.kafka.controller.ReplicationControlManager", "ineligibleReplicasForIsr")
    compares = in_order(
        refers, "AlterPartitionRequestData$BrokerState.brokerEpoch", "long -1l", "BrokerRegistration.epoch"
    )
    found = _epoch(unset.read)
    what = (
        f"if unset, it reads as {found}; ineligibleReplicasForIsr compares it with -1 before it looks at the "
        "registration's epoch"
    )
    return holds_if(
        compares and found == "-1", what, f"if unset, it reads as {found}; the controller does not compare it with -1"
    )


def replica_state(kafka: Classes) -> Observation:
    fields = kafka.fields("FetchRequestData")
    plain = [version for version, found in fields.items() if "replica_id" in found]
    states = [version for version, found in fields.items() if "replica_state.replica_epoch" in found]
    tagged = all(" tag " in fields[version]["replica_state"] for version in states)
    what = (
        f"of versions {span(list(fields))}, those with a plain replica id are {span(plain)}, those with a tagged "
        f"replica state {span(states)}"
    )
    return holds_if(tagged and plain[-1:] == [FIRST_STATE - 1] and plain + states == list(fields), what, what)


def consumers_fetch_is_smaller(kafka: Classes) -> Observation:
    before, after = kafka.built("consumer-fetch", FIRST_STATE - 1), kafka.built("consumer-fetch", FIRST_STATE)
    default = "replicaState=ReplicaState(replicaId=-1, replicaEpoch=-1)" in after.read
    what = f"id and epoch read as -1; {before.bytes} bytes in version 14, {after.bytes} in version 15"
    return holds_if(default and after.bytes < before.bytes, what, what)


def empty_with_zookeeper(kafka: Classes) -> Observation:
    """Find out which broker epochs a broker in ZooKeeper mode sends for ISR members and in its own fetches."""
    if not kafka.has(ZOOKEEPER):
        return not_built("the release does not support ZooKeeper")
    members = in_order(kafka.code(PARTITION, "addBrokerEpochToIsr"), "KRaftMetadataCache", "long -1l")
    fetches = "brokerEpochSupplier" in kafka.code("kafka.server.KafkaServer", "createReplicaManager")
    return holds_if(
        members and not fetches,
        "without KRaft, Partition uses -1 for every member, and fetches contain no epoch",
        "without KRaft, Partition uses -1 for every ISR member, but KafkaServer gives the ReplicaManager the "
        "ZooKeeper epoch, which fetches of version 15 contain",
    )


def ignored_with_zookeeper(kafka: Classes) -> Observation:
    if not kafka.has(ZOOKEEPER):
        return not_built("the release does not support ZooKeeper")
    readers = [
        name for name in kafka.callers(MEMBER, "brokerEpoch") if not name.startswith("AlterPartitionRequestData")
    ]
    ignored = not [name for name in readers if name.startswith("KafkaController.")]
    what = f"{', '.join(readers)} read a member's epoch"
    return holds_if(ignored, f"{what}, KafkaController does not", what)


def each_version_is_written(kafka: Classes) -> Observation:
    """Build the request for each version that may be the latest one that both sides support."""
    usable = kafka.callers("org.apache.kafka.clients.NodeApiVersions", "latestUsableVersion")
    older, newer = (kafka.built("alter-partition", version) for version in (FIRST_EPOCHS - 1, FIRST_EPOCHS))
    works = "newIsr=[2], newIsrWithEpochs=[]" in older.read and _epoch(newer.read) == "9"
    what = (
        "AlterPartitionRequest.Builder writes bare ids in version 2 and ids with epochs in version 3; NetworkClient "
        "uses the latest version that both sides support"
    )
    return holds_if(works and "NetworkClient.doSend" in usable, what, f"version 2: {older.read or older.refused}")


def gated_by_metadata_version(kafka: Classes) -> Observation:
    versions = kafka.tell("fetch-versions")  # by metadata version, oldest first
    first = next((name for name, version in versions.items() if version >= FIRST_STATE), "none")
    older = max((version for name, version in versions.items() if name < first), default=0)
    callers = kafka.callers("org.apache.kafka.server.common.MetadataVersion", "fetchRequestVersion")
    what = (
        f"a replica's fetch has at most version {older} before {first}, and version {versions.get(first)} with it; "
        f"{', '.join(callers)} ask for it"
    )
    ordered = list(versions.values()) == sorted(versions.values())
    return holds_if(ordered and first == "IBP_3_5_IV1" and callers, what, what)


def versions_alone(kafka: Classes) -> Observation:
    epochs = kafka.trip("AlterPartitionRequestData", FIRST_EPOCHS - 1, topics=[_topic(epoch=9)])
    state = kafka.trip("FetchRequestData", FIRST_STATE - 1, replicaState={"replicaId": 1, "replicaEpoch": 5})
    kept = not epochs.refused and state.value("replicaId") == "1"
    first = "refuse" if epochs.refused else "drop"
    second = "refuse" if state.refused else "drop"
    return holds_if(
        kept,
        "the generated classes write both in the previous versions",
        f"the generated classes {first} epochs in version 2 of AlterPartition and {second} the replica state in "
        "version 14 of Fetch: the builders convert them, and replicas wait for the metadata version",
    )


def _topic(epoch: int | None) -> dict[str, object]:
    member = {"brokerId": 2} if epoch is None else {"brokerId": 2, "brokerEpoch": epoch}
    return {"partitions": [{"newIsrWithEpochs": [member]}]}


def _epoch(read: str) -> str:
    return read.partition("BrokerState(brokerId=2, brokerEpoch=")[2].partition(")")[0]


APIS = "kafka.server.KafkaApis"
COLLECTOR = "org.apache.kafka.clients.consumer.internals.FetchCollector"
SENDER = "org.apache.kafka.clients.producer.internals.Sender"
SELECTOR = "org.apache.kafka.common.replica.ReplicaSelector"
MOVED, FENCED = "Errors.NOT_LEADER_OR_FOLLOWER", "Errors.FENCED_LEADER_EPOCH"
ANSWERS = {"ProduceResponseData": 10, "FetchResponseData": 16}
ENDPOINTS = ("node_id", "host", "port", "rack")
LOG_START = "responses[].partitions[].log_start_offset"


def with_existing_errors(kafka: Classes) -> Observation:
    produce, fetch = (kafka.code(APIS, name) for name in ("handleProduceRequest", "handleFetchRequest"))
    told = in_order(produce, MOVED, "getCurrentLeader") and in_order(fetch, MOVED, FENCED, "getCurrentLeader")
    what = (
        "KafkaApis looks up the leader for NOT_LEADER_OR_FOLLOWER in answers to produce requests, and also for "
        "FENCED_LEADER_EPOCH in answers to fetches"
    )
    return holds_if(told, what, "KafkaApis looks up the leader for other errors")


def refresh_as_before(kafka: Classes) -> Observation:
    consumer, producer = kafka.code(COLLECTOR, "handleInitializeErrors"), kafka.code(SENDER, "completeBatch")
    asks = in_order(consumer, MOVED, FENCED, "FetchUtils.requestMetadataUpdate")
    asks &= in_order(producer, "InvalidMetadataException", "ProducerMetadata.requestUpdate")
    owners = ("Metadata", "consumer.internals.ConsumerMetadata", "producer.internals.ProducerMetadata")
    takers = [
        name
        for owner in owners
        for name in kafka.callers(f"org.apache.kafka.clients.{owner}", "updatePartitionLeadership")
    ]
    what = (
        f"FetchCollector.handleInitializeErrors and Sender.completeBatch request metadata; {', '.join(takers)} also "
        "use the leader"
    )
    return holds_if(asks and takers, what, what)


def endpoint_with_leader(kafka: Classes) -> Observation:
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
    what = (
        "produce from version 10 and fetch from version 16 contain the leader's id and epoch per partition, and a "
        "list of node id, host, port and rack"
    )
    return holds_if(all(seen) and carried, what, f"the fields are different: {read}")


def rack_as_in_metadata(kafka: Classes) -> Observation:
    metadata = kafka.fields("MetadataResponseData")
    there = metadata[max(metadata)]["brokers[].rack"]
    here = {kafka.fields(message)[max(kafka.fields(message))]["node_endpoints[].rack"] for message in ANSWERS}
    what = f"{', '.join(here)} in both answers, {there} in the metadata response"
    return holds_if(here == {there}, what, what)


def reset_after_check(kafka: Classes) -> Observation:
    refers = kafka.code(COLLECTOR, "handleInitializeErrors")
    words = ("EpochEndOffset", "OffsetsForLeaderEpoch", "alidatePosition")
    checks = [name for name in refers if any(word in name for word in words)]
    resets = in_order(
        refers, "SubscriptionState.clearPreferredReadReplica", "SubscriptionState.requestOffsetResetIfPartitionAssigned"
    )
    if resets and not checks:
        return not_built(
            "if its offset is out of range, a consumer goes from a follower to the leader, and at the leader it "
            "applies its reset policy: FetchCollector.handleInitializeErrors does not check for truncation first"
        )
    return holds_if(checks and resets, f"{', '.join(checks)} before the reset", "there is neither a check nor a reset")


def schemas_stay(kafka: Classes) -> Observation:
    new = [
        f"{field} in the {word}"
        for word in ("request", "response")
        for fields in [kafka.fields(f"Fetch{word.title()}Data")]
        for field in sorted(set(fields[11]) - set(fields[10]))
    ]
    return holds_if(not new, "versions 10 and 11 have the same fields", f"version 11 adds {' and '.join(new)}")


def in_every_version(kafka: Classes) -> Observation:
    fields = kafka.fields("FetchResponseData")
    without = [version for version, found in fields.items() if LOG_START not in found]
    missing = f"the response lacks a log start offset in version {span(without)}"
    return holds_if(not without, "every version contains both", missing)


def selector_on_changes(kafka: Classes) -> Observation:
    callers = kafka.callers(SELECTOR, "select")
    return not_built_if(
        callers == ["ReplicaManager.findPreferredReadReplica"],
        "the broker owns the selector: only ReplicaManager.findPreferredReadReplica calls it, and consumers have none",
        f"{', '.join(callers)} call it",
    )


def only_a_recommendation(kafka: Classes) -> Observation:
    """Read a consumer's request and a broker's response in the last version without follower fetching."""
    response = kafka.trip("FetchResponseData", 10, responses=[{"partitions": [{"partitionIndex": 0}]}])
    request = kafka.trip("FetchRequestData", 10, rackId="r")
    read, rack = response.value("preferredReadReplica"), request.value("rackId")
    what = (
        "in version 10, a request omits the consumer's rack without an error, and a response reads as replica "
        f"{read}: none"
    )
    return holds_if(read == "-1" and rack == "''" and not request.refused, what, request.refused or what)


def _tells(fields: dict[str, str]) -> bool:
    leader = any(path.endswith("current_leader.leader_epoch") for path in fields)
    return leader and all(f"node_endpoints[].{name}" in fields for name in ENDPOINTS)


HEADERS = ("RequestHeaderData", "ResponseHeaderData")
NEWER = 99
"""A version of ApiVersions that no release supports."""


def headers_carry_nothing(kafka: Classes) -> Observation:
    every = [path for header in HEADERS for fields in kafka.fields(header).values() for path in fields]
    found = [path for path in every if "consistency" in path or "token" in path or "metadata_offset" in path]
    return not_built_if(not found, "neither header has a field for a token", f"the headers contain {found}")


def no_contexts(kafka: Classes) -> Observation:
    found = kafka.named("Consistency")
    return not_built_if(not found, "no class name contains Consistency", f"there is {', '.join(found)}")


def stale_metadata(kafka: Classes) -> Observation:
    has = kafka.has("org.apache.kafka.common.protocol.Errors", "STALE_METADATA")
    return not_built_if(not has, "Errors does not define STALE_METADATA", "Errors defines STALE_METADATA")


def newer_api_versions(kafka: Classes) -> Observation:
    read = kafka.header("API_VERSIONS", NEWER)
    what = (
        f"the header of ApiVersions version {NEWER} is read as header version {read['version']}, with an unknown "
        "tagged field"
    )
    return holds_if(read["correlation"] == 6 and read["unknown"] == 1, what, what)


def unknown_tags_are_skipped(kafka: Classes) -> Observation:
    fetch, versions = kafka.header("FETCH", max(kafka.fields("FetchRequestData"))), kafka.header("API_VERSIONS", 3)
    what = (
        f"a header of version {fetch['version']} with an unknown tagged field is read as the same version; the answer "
        f"to ApiVersions has header version {versions['response']}, which cannot contain one"
    )
    return holds_if(fetch["correlation"] == 6 and fetch["unknown"] == 1, what, what)


CLAIMS: tuple[tuple[str, ClaimCheck], ...] = (
    ("SEED-903-1", expansion_by_fetch),
    ("SEED-903-7", last_epoch_kept),
    ("SEED-903-13", epochs_instead_of_ids),
    ("SEED-903-14", unsupported_is_minus_one),
    ("SEED-903-15", replica_state),
    ("SEED-903-16", consumers_fetch_is_smaller),
    ("SEED-903-17", empty_with_zookeeper),
    ("SEED-903-18", ignored_with_zookeeper),
    ("SEED-903-19", each_version_is_written),
    ("SEED-903-20", gated_by_metadata_version),
    ("SEED-903-21", versions_alone),
    ("SEED-951-10", with_existing_errors),
    ("SEED-951-17", refresh_as_before),
    ("SEED-951-22", endpoint_with_leader),
    ("SEED-951-25", rack_as_in_metadata),
    ("SEED-392-52", reset_after_check),
    ("SEED-392-59", schemas_stay),
    ("SEED-392-60", in_every_version),
    ("SEED-392-63", selector_on_changes),
    ("SEED-392-64", only_a_recommendation),
    ("SEED-TOKEN-8", stale_metadata),
    ("SEED-TOKEN-18", newer_api_versions),
    ("SEED-TOKEN-19", unknown_tags_are_skipped),
    *((f"SEED-TOKEN-{number}", headers_carry_nothing) for number in (7, 9, 10, 20)),
    *((f"SEED-TOKEN-{number}", no_contexts) for number in (35, 40, 41)),
)
Row = dict[str, str]
CHECKS = dict((*QUORUM_CLAIMS, *CLAIMS))


def measure_claims(versions: Iterable[str]) -> list[Row]:
    found: dict[str, dict[str, Observation]] = {entry: {} for entry in entries() if entry in CHECKS}
    for version in versions:
        with Classes(jars_of(version)) as kafka:
            for entry, seen in found.items():
                seen[version] = CHECKS[entry](kafka)
    return [row for entry, seen in found.items() for row in _rows(entry, seen)]


def _rows(entry: str, seen: dict[str, Observation]) -> list[Row]:
    by: dict[Observation, list[str]] = {}
    for version, one in seen.items():
        by.setdefault(one, []).append(version)
    return [
        {"entry": entry, "kafka": ", ".join(versions), "verdict": str(one.verdict), "seen": one.what}
        for one, versions in by.items()
    ]
