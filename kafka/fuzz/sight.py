"""Bugs planted in Kafka's classes, and the number of random histories needed to find each bug."""

import os
import random
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from fencepost.invariants.figures.store import load
from fencepost.kafka.clusters.kit import kit
from fencepost.kafka.driver.process import DriverError
from fencepost.kafka.driver.releases import run
from fencepost.kafka.fuzz.histories import FLAGS, REPAIRS, SWITCHES, Alarm, Fuzzer, fuzz_release

FIGURE = "sight"
TRANSACTIONS, SESSIONS = "transactions", "sessions"
"""Profiles with planted bugs and figures of their own."""
UNFIT = "the release has no such place"
DRAWN = 40
SEED = 421128
CONTROLLER = "org.apache.kafka.controller"
LOG = "org.apache.kafka.storage.internals"
REPAIR = "repair"
"""The `owner` of a planted bug that omits a finding's fix; `method` names the finding."""


class Plant(NamedTuple):
    """A planted bug: a `call` or an assignment is removed from a method, or a method only returns a given value."""

    owner: str
    method: str
    call: str = "-"
    value: str = "-"

    @property
    def name(self) -> str:
        if self.owner == REPAIR:
            return f"Kafka without the repair of {self.method.upper()}"
        left_out = f" without {self.call}" if self.call != "-" else ""
        returns = f" = {self.value.rpartition('.')[2]}" if self.value != "-" else ""
        return f"{self.owner.rpartition('.')[2]}.{self.method}{left_out}{returns}"


_NONE = "org.apache.kafka.common.protocol.Errors.NONE"
_REPLICATION, _CHANGE = f"{CONTROLLER}.ReplicationControlManager", f"{CONTROLLER}.PartitionChangeBuilder"
_CACHE, _UNIFIED = f"{LOG}.epoch.LeaderEpochFileCache", f"{LOG}.log.UnifiedLog"
_PARTITION, _MANAGER = "kafka.cluster.Partition", "kafka.server.ReplicaManager"
_FETCHER = "kafka.server.AbstractFetcherThread"

PLANTS = (
    Plant(_REPLICATION, "alterPartition", "checkBrokerEpoch"),
    Plant(_REPLICATION, "validateAlterPartitionData", value=_NONE),
    Plant(_REPLICATION, "ineligibleReplicasForIsr", value="new java.util.ArrayList()"),
    Plant(_REPLICATION, "ineligibleReplicasForIsr", "fenced", "false"),
    Plant(_REPLICATION, "ineligibleReplicasForIsr", "inControlledShutdown", "false"),
    Plant(_REPLICATION, "handleBrokerShutdown"),
    Plant(_REPLICATION, "handleBrokerFenced"),
    Plant(_REPLICATION, "handleBrokerUnfenced"),
    Plant(_REPLICATION, "handleBrokerInControlledShutdown"),
    Plant(_REPLICATION, "handleBrokerUnregistered"),
    Plant(_REPLICATION, "handleDirectoriesOffline", "generateLeaderAndIsrUpdates"),
    Plant(_REPLICATION, "handleAssignReplicasToDirs", "setDirectory", "$0"),
    Plant(_REPLICATION, "updatePartitionInfo"),
    Plant(_CHANGE, "isValidNewLeader", value="true"),
    Plant(_CHANGE, "isInIsr", value="true"),
    Plant(_CHANGE, "canElectLastKnownLeader", value="true"),
    Plant(_CHANGE, "maybePopulateTargetElr"),
    Plant(_CHANGE, "maybeUpdateRecordElr"),
    Plant(_CHANGE, "maybeUpdateLastKnownLeader"),
    Plant(_CHANGE, "completeReassignmentIfNeeded"),
    Plant(f"{CONTROLLER}.BrokersToIsrs", "update"),
    Plant(f"{CONTROLLER}.ClusterControlManager", "registerBroker", "addRecordsForShutdown"),
    Plant(f"{CONTROLLER}.ClusterControlManager", "checkBrokerEpoch"),
    Plant(_PARTITION, "maybeExpandIsr"),
    Plant(_PARTITION, "maybeIncrementLeaderHW", value="false"),
    Plant(_PARTITION, "isUnderMinIsr", value="false"),
    Plant(_PARTITION, "effectiveMinIsr", value="1"),
    Plant(_PARTITION, "isReplicaIsrEligible", value="true"),
    Plant(_PARTITION, "isFollowerInSync", value="true"),
    Plant(_PARTITION, "isBrokerEpochIsrEligible", value="true"),
    Plant(_PARTITION, "truncateTo"),
    Plant(_PARTITION, "truncateFullyAndStartAt"),
    Plant(_PARTITION, "updateAssignmentAndIsr", "partitionState_$eq"),
    Plant(_CACHE, "truncateFromEndAsyncFlush"),
    Plant(_CACHE, "truncateFromStartAsyncFlush"),
    Plant(_CACHE, "assign"),
    Plant(_CACHE, "maybeTruncateNonMonotonicEntries"),
    Plant(_UNIFIED, "maybeIncrementHighWatermark", value="java.util.Optional.empty()"),
    Plant(_UNIFIED, "maybeUpdateHighWatermark", value="java.util.Optional.empty()"),
    Plant(_UNIFIED, "maybeIncrementLogStartOffset", value="false"),
    Plant(f"{LOG}.log.LocalLog", "truncateTo", value="new java.util.ArrayList()"),
    Plant(_FETCHER, "processFetchRequest", "truncateOnFetchResponse"),
    Plant(_FETCHER, "truncateOnFetchResponse"),
    Plant(_MANAGER, "checkpointHighWatermarks"),
    Plant(_MANAGER, "handleLogDirFailure", "handleFailure"),
    Plant(_MANAGER, "maybeNotifyPartitionAssignedToDirectory"),
    Plant(_REPLICATION, "processBrokerHeartbeat", "checkBrokerEpoch"),
    Plant(_REPLICATION, "processBrokerHeartbeat", "handleDirectoriesOffline"),
    Plant(_REPLICATION, "handleAssignReplicasToDirs", "checkBrokerEpoch"),
    Plant(_REPLICATION, "updatePartitionDirectories"),
    Plant(_REPLICATION, "replayClearTopicElrs"),
    Plant(_REPLICATION, "maybeTriggerLeaderChangeForPartitionsWithoutPreferredLeader"),
    Plant(f"{_REPLICATION}$LeaderAcceptor", "test", value="true"),
    Plant(_CHANGE, "tryElection"),
    Plant(_CHANGE, "setAssignmentChanges"),
    Plant(_CHANGE, "triggerLeaderEpochBumpForReplicaReassignmentIfNeeded"),
    Plant(f"{CONTROLLER}.ConfigurationControlManager", "createClearElrRecordsAsNeeded", value="$1"),
    Plant(f"{CONTROLLER}.BrokerHeartbeatManager", "maybeUpdateControlledShutdownOffset"),
    Plant(f"{CONTROLLER}.ClusterControlManager", "updateDirectories"),
    Plant(_PARTITION, "updateAssignmentAndIsr"),
    Plant(_PARTITION, "handleAlterPartitionUpdate", value="false"),
    Plant(_PARTITION, "handleAlterPartitionError", value="false"),
    Plant(_PARTITION, "tryCompleteDelayedRequests"),
    Plant(_PARTITION, "maybeShrinkIsr"),
    Plant(_PARTITION, "isFollowerOutOfSync", value="true"),
    Plant(_PARTITION, "createLogIfNotExists"),
    Plant(_PARTITION, "updateFollowerFetchState"),
    Plant("org.apache.kafka.server.replica.Replica", "resetReplicaState"),
    Plant(_CACHE, "clearAndFlush"),
    Plant(_CACHE, "writeToFile"),
    Plant(_CACHE, "writeIfDirExists"),
    Plant(_FETCHER, "handleOutOfRangeError", value="true"),
    Plant(_FETCHER, "maybeTruncate"),
    Plant(f"{LOG}.log.LogManager", "checkpointLogStartOffsets"),
    Plant(f"{LOG}.log.LogManager", "checkpointLogRecoveryOffsets"),
    Plant(_UNIFIED, "deleteOldSegments", value="0"),
    *(Plant(REPAIR, f"hyp-{number}") for number in (16, 12, 18, 13, 3, 10, 1)),
    *(Plant(REPAIR, name) for name in ("hyp-32", "hyp-24", "late-epoch-flush")),
)
"""Checks, effects and fixes in Kafka 4.4.0 that can be removed individually. Unused code is excluded."""
OF_VERBS = (
    Plant(_PARTITION, "maybeReplaceCurrentWithFutureReplica", value="false"),
    Plant(_PARTITION, "runCallbackIfFutureReplicaCaughtUp", value="false"),
    Plant(_UNIFIED, "hasHigherPartitionLeaderEpoch", value="false"),
    Plant(f"{LOG}.log.ProducerStateManager", "isProducerExpired", value="true"),
    Plant(f"{CONTROLLER}.ClusterControlManager", "activate", "register"),
    *(Plant(REPAIR, name) for name in ("hyp-34", "failed-while-moved", "hyp-28", "hyp-27")),
)
"""Bugs in code that runs only with replica moves, delayed bytes, resent writes or controller failover."""

_STATE, _APPEND, _INDEX = (
    f"{LOG}.log.{name}" for name in ("ProducerStateManager", "ProducerAppendInfo", "TransactionIndex")
)
_EMPTY, _NO_ABORTED = "java.util.Optional.empty()", f"new {LOG}.log.TxnIndexSearchResult(java.util.List.of(), false)"
OF_PRODUCERS = (
    *(Plant(_APPEND, method) for method in ("checkSequence", "checkProducerEpoch")),
    *(Plant(_STATE, name) for name in ("clearVerificationStateEntry", "truncateAndReload", "truncateFullyAndStartAt")),
    *(Plant(_STATE, "truncateAndReload", call) for call in ("clearProducerIds", "loadFromSnapshot")),
    *(Plant(_STATE, method, value=_EMPTY) for method in ("takeSnapshot", "firstUnstableOffset")),
    *(Plant(_STATE, "onHighWatermarkUpdated"), Plant(_STATE, "completeTxn", "put", "null")),
    *(Plant(_UNIFIED, method) for method in ("rebuildProducerState", "loadProducersFromRecords")),
    Plant(_UNIFIED, "maybeIncrementFirstUnstableOffset"),
    Plant(_UNIFIED, "lastStableOffset", value="highWatermark()"),
    Plant(_UNIFIED, "fetchLastStableOffsetMetadata", value="fetchHighWatermarkMetadata()"),
    Plant(_UNIFIED, "batchMissingRequiredVerification", value="false"),
    Plant(f"{LOG}.log.ProducerStateEntry", "findDuplicateBatch", value=_EMPTY),
    *(Plant(f"{LOG}.log.LogSegment", "updateTxnIndex"), Plant(_INDEX, "collectAbortedTxns", value=_NO_ABORTED)),
    *(Plant(_INDEX, method) for method in ("truncateTo", "reset")),
)
"""Bugs in the code for idempotent and transactional producers, for histories of profile `transactions`."""

_SERVER, _HANDLER = "org.apache.kafka.server", "org.apache.kafka.clients.FetchSessionHandler"
_SESSION, _FETCHES, _SHARD = (f"{_SERVER}.Fetch{name}" for name in ("Session", "Manager", "SessionCacheShard"))
_CACHED, _NEWS = f"{_SESSION}$CachedPartition", "maybeUpdateResponseData"
OF_SESSIONS = (
    *(Plant(_CACHED, _NEWS, "highWatermark", "this.highWatermark"), Plant(_CACHED, _NEWS, "recordsSize", "0")),
    Plant(_CACHED, _NEWS, "logStartOffset", "this.localLogStartOffset"),
    *(Plant(_CACHED, _NEWS, "errorCode", "(short) 0"), Plant(_CACHED, _NEWS, "isDivergingEpoch", "false")),
    *(Plant(_CACHED, "updateRequestParams", name) for name in ("fetchOffset", "leaderEpoch", "lastFetchedEpoch")),
    *(Plant(_CACHED, "updateRequestParams", "fetcherLogStartOffset"), Plant(_CACHED, "maybeResolveUnknownName")),
    *(Plant(_SESSION, "lambda$update$0", "mustAdd"), Plant(_SESSION, "lambda$update$1", "remove", "false")),
    Plant(f"{_SERVER}.FetchContext$FullFetchContext", "lambda$createNewSession$0", "mustAdd"),
    *(Plant(_FETCHES, "newContext", "epoch", "reqMetadata.epoch()"), Plant(_FETCHES, "newContext", "setEpoch")),
    *(Plant(_FETCHES, "newContext", "remove", _EMPTY), Plant(_SHARD, "remove", value=_EMPTY)),
    *(Plant(_SHARD, "tryEvict", value="false"), Plant(_SHARD, "touch")),
    *(Plant(_MANAGER, "hasConsistentTopicId", value="true"), Plant(_HANDLER, "handleError")),
    *(Plant(_HANDLER, "handleResponse", "nextMetadata"), Plant(_HANDLER, "handleResponse", "nextIncremental", "$0")),
    *(Plant(f"{_HANDLER}$Builder", "build", call, "true") for call in ("equals", "containsKey", "add")),
    Plant(f"{_HANDLER}$Builder", "build", "put", "null"),
)
"""Bugs in the code for fetch sessions, for histories of profile `sessions`."""
OWN = {TRANSACTIONS: OF_PRODUCERS, SESSIONS: OF_SESSIONS}


def drawn_plants() -> tuple[Plant, ...]:
    return (*random.Random(SEED).sample(PLANTS, DRAWN), *OF_VERBS)  # noqa: S311 (no secret)


def figure_of(profile: str) -> str:
    return f"{FIGURE}-{profile}" if profile in OWN else FIGURE


def measure(
    version: str, profile: str, histories: int, plants: tuple[Plant, ...] = ()
) -> Iterator[tuple[Plant, int | None, str]]:
    """Yield each bug with the number of the history that finds it, or None, and the violation. All applicable fixes for
    known findings are applied, so that any violation is due to the bug. If a bug does not apply to the release, the
    reason is given instead of the violation.
    """
    release, base = fuzz_release(version, None), kit(version)
    with tempfile.TemporaryDirectory(prefix="fencepost-sight-") as work:
        fit = base.switched(REPAIRS, Path(work) / "switched")
        repaired = base.repaired(fit, Path(work) / "repaired")
        for number, plant in enumerate(plants or OWN.get(profile) or drawn_plants()):
            folder = Path(work) / f"plant-{number}"
            first = f"{folder}{os.pathsep}{repaired.first}"
            if plant.owner == REPAIR:
                first = str(base.repaired([name for name in fit if name != plant.method], folder).first)
            elif run(repaired.java("fencepost.clusters.Plant", str(folder), *plant), 60, "the plant").returncode != 0:
                yield plant, None, UNFIT
                continue
            path = Path(f"{first}{os.pathsep}{release.classes}")
            options = (*FLAGS, *(f"-Dfencepost.repair.{name}=true" for name in SWITCHES if name != plant.method))
            with Fuzzer(replace(release, classes=path, options=options), patience=30) as fuzzer:
                found, last = fuzzer.histories(profile, 1, histories), 0
                try:
                    for item in found:
                        if isinstance(item, Alarm):
                            yield plant, item.seed, item.message
                            break
                        last = item.histories
                    else:
                        yield plant, None, ""
                except DriverError:
                    yield plant, last + 1, "the process hangs or ends"
                fuzzer.stop()


class Sight(NamedTuple):
    found: int
    planted: int
    kafka: str
    profile: str
    histories: int


def sight(histories: int, name: str = FIGURE) -> Sight | None:
    """Return the measurement for this number of histories (or for the largest measured), or None if it is missing."""
    figure = load(name)
    if not figure:
        return None
    most = min(histories, figure["histories"])
    found = [item["found"] for item in figure["plants"] if item.get("why") != UNFIT]
    return Sight(sum(n is not None and n <= most for n in found), len(found), figure["kafka"], figure["profile"], most)
