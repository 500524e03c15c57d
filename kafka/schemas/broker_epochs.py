"""KIP-903, stale broker epochs: AlterPartition and Fetch, their versions, and who fills them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.kafka.schemas.checks import decides, holds_if, in_order, not_built, span
from fencepost.kafka.schemas.classes import MESSAGES

if TYPE_CHECKING:
    from fencepost.kafka.schemas.checks import Seen
    from fencepost.kafka.schemas.classes import Classes

PARTITION = "kafka.cluster.Partition"
IDS = "topics[].partitions[].new_isr[]"
EPOCHS = "topics[].partitions[].new_isr_with_epochs[]"
MEMBER = f"{MESSAGES}.AlterPartitionRequestData$BrokerState"
ZOOKEEPER = "kafka.controller.KafkaController"
FIRST_EPOCHS, FIRST_STATE = 3, 15
"""The first versions of AlterPartition with epochs, and of Fetch with a replica state."""


@decides("SEED-903-1")
def expansion_by_fetch(kafka: Classes) -> Seen:
    """Who asks for an ISR to grow."""
    chain = {
        name: kafka.callers(PARTITION, name)
        for name in ("prepareIsrExpand", "maybeExpandIsr", "updateFollowerFetchState")
    }
    what = "; ".join(f"{name} is called by {', '.join(callers)} alone" for name, callers in chain.items())
    expected = [["Partition.maybeExpandIsr"], ["Partition.updateFollowerFetchState"], ["Partition.fetchRecords"]]
    return holds_if(list(chain.values()) == expected, what, what)


@decides("SEED-903-7")
def last_epoch_kept(kafka: Classes) -> Seen:
    """What a leader's replica keeps after fetches with broker epochs 5 and 9."""
    kept = kafka.tell("kept")["kept"]
    what = f"after fetches with broker epochs 5 and 9 a leader's Replica has {' and '.join(kept)}"
    return holds_if(kept == ["5", "9"], what, what)


@decides("SEED-903-13")
def epochs_instead_of_ids(kafka: Classes) -> Seen:
    """Which versions have which list."""
    fields = kafka.fields("AlterPartitionRequestData")
    ids = [version for version, found in fields.items() if IDS in found]
    epochs = [version for version, found in fields.items() if f"{EPOCHS}.broker_epoch" in found]
    what = f"of versions {span(list(fields))}, bare ids in {span(ids)}, ids with epochs in {span(epochs)}"
    return holds_if(ids[-1:] == [FIRST_EPOCHS - 1] and ids + epochs == list(fields), what, what)


@decides("SEED-903-14")
def unsupported_is_minus_one(kafka: Classes) -> Seen:
    """What is read where no epoch was set, and what the controller does then."""
    unset = kafka.trip("AlterPartitionRequestData", FIRST_EPOCHS, topics=[_topic(epoch=None)])
    refers = kafka.code("org.apache.kafka.controller.ReplicationControlManager", "ineligibleReplicasForIsr")
    compares = in_order(
        refers, "AlterPartitionRequestData$BrokerState.brokerEpoch", "long -1l", "BrokerRegistration.epoch"
    )
    found = _epoch(unset.read)
    what = f"not set it reads as {found}; ineligibleReplicasForIsr compares with -1 before it looks at the registration's epoch"
    return holds_if(
        compares and found == "-1", what, f"not set it reads as {found}; the controller does not compare with -1"
    )


@decides("SEED-903-15")
def replica_state(kafka: Classes) -> Seen:
    """Which versions of Fetch have a plain replica id, and which the state."""
    fields = kafka.fields("FetchRequestData")
    plain = [version for version, found in fields.items() if "replica_id" in found]
    states = [version for version, found in fields.items() if "replica_state.replica_epoch" in found]
    tagged = all(" tag " in fields[version]["replica_state"] for version in states)
    what = f"of versions {span(list(fields))}, a plain replica id in {span(plain)}, a tagged replica state in {span(states)}"
    return holds_if(tagged and plain[-1:] == [FIRST_STATE - 1] and plain + states == list(fields), what, what)


@decides("SEED-903-16")
def consumers_fetch_is_smaller(kafka: Classes) -> Seen:
    """The bytes of a consumer's fetch in the versions before and after, and what is read of the replica state."""
    before, after = kafka.built("consumer-fetch", FIRST_STATE - 1), kafka.built("consumer-fetch", FIRST_STATE)
    default = "replicaState=ReplicaState(replicaId=-1, replicaEpoch=-1)" in after.read
    what = f"id and epoch are read as -1; {before.bytes} bytes in version 14, {after.bytes} in version 15"
    return holds_if(default and after.bytes < before.bytes, what, what)


@decides("SEED-903-17")
def empty_with_zookeeper(kafka: Classes) -> Seen:
    """What a broker fills in without KRaft: the ISR's members, and its own fetches."""
    if not kafka.has(ZOOKEEPER):
        return not_built("the release has no ZooKeeper mode")
    members = in_order(kafka.code(PARTITION, "addBrokerEpochToIsr"), "KRaftMetadataCache", "long -1l")
    fetches = "brokerEpochSupplier" in kafka.code("kafka.server.KafkaServer", "createReplicaManager")
    return holds_if(
        members and not fetches,
        "without KRaft Partition puts -1 for every member, and fetches have no epoch",
        "without KRaft Partition puts -1 for every member of the ISR; but KafkaServer gives the ReplicaManager the epoch of "
        "ZooKeeper, which fetches of version 15 carry",
    )


@decides("SEED-903-18")
def ignored_with_zookeeper(kafka: Classes) -> Seen:
    """Who reads the members' epochs."""
    if not kafka.has(ZOOKEEPER):
        return not_built("the release has no ZooKeeper mode")
    readers = [
        name for name in kafka.callers(MEMBER, "brokerEpoch") if not name.startswith("AlterPartitionRequestData")
    ]
    ignored = not [name for name in readers if name.startswith("KafkaController.")]
    what = f"a member's epoch is read by {', '.join(readers)}"
    return holds_if(ignored, f"{what}, not by KafkaController", what)


@decides("SEED-903-19")
def each_version_is_written(kafka: Classes) -> Seen:
    """What the builder makes in each version, which is the newest that both sides have."""
    usable = kafka.callers("org.apache.kafka.clients.NodeApiVersions", "latestUsableVersion")
    older, newer = (kafka.built("alter-partition", version) for version in (FIRST_EPOCHS - 1, FIRST_EPOCHS))
    works = "newIsr=[2], newIsrWithEpochs=[]" in older.read and _epoch(newer.read) == "9"
    what = (
        "AlterPartitionRequest.Builder writes bare ids in version 2, ids with epochs in version 3; "
        "NetworkClient takes the newest of both sides"
    )
    return holds_if(works and "NetworkClient.doSend" in usable, what, f"version 2: {older.read or older.refused}")


@decides("SEED-903-20")
def gated_by_metadata_version(kafka: Classes) -> Seen:
    """The metadata versions with which a replica's fetch has version 15."""
    versions = kafka.fetch_versions()
    first = next((name for name, version in versions.items() if version >= FIRST_STATE), "none")
    older = max((version for name, version in versions.items() if name < first), default=0)
    callers = kafka.callers("org.apache.kafka.server.common.MetadataVersion", "fetchRequestVersion")
    what = f"a replica's fetch has version {older} at most before {first}, and {versions.get(first)} with it; asked by {', '.join(callers)}"
    ordered = list(versions.values()) == sorted(versions.values())
    return holds_if(ordered and first == "IBP_3_5_IV1" and callers, what, what)


@decides("SEED-903-21")
def versions_alone(kafka: Classes) -> Seen:
    """What happens to the new fields in the version before, by the messages' own classes."""
    epochs = kafka.trip("AlterPartitionRequestData", FIRST_EPOCHS - 1, topics=[_topic(epoch=9)])
    state = kafka.trip("FetchRequestData", FIRST_STATE - 1, replicaState={"replicaId": 1, "replicaEpoch": 5})
    kept = not epochs.refused and state.value("replicaId") == "1"
    first = "refuse" if epochs.refused else "drop"
    second = "refuse" if state.refused else "drop"
    return holds_if(
        kept,
        "the messages' classes carry both in the versions before",
        f"the messages' classes {first} epochs in version 2 of AlterPartition and {second} the replica state in version 14 of Fetch: "
        "the builders convert, and the metadata version holds replicas back",
    )


def _topic(epoch: int | None) -> dict[str, object]:
    member = {"brokerId": 2} if epoch is None else {"brokerId": 2, "brokerEpoch": epoch}
    return {"partitions": [{"newIsrWithEpochs": [member]}]}


def _epoch(read: str) -> str:
    """Return the epoch of the member in the text of an AlterPartition request."""
    return read.partition("BrokerState(brokerId=2, brokerEpoch=")[2].partition(")")[0]
