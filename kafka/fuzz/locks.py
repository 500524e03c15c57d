"""Locks that are removed from Kafka's methods, one at a time, and the number of schedules until each is detected."""

import os
import random
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from fencepost.kafka.driver.releases import KAFKA, compile_driver, run, tool
from fencepost.kafka.fuzz.histories import Alarm
from fencepost.kafka.fuzz.schedules import THREADS, Threads, threads_release
from fencepost.kafka.fuzz.sight import SEED
from fencepost.model.language.errors import UsageError

DRAWN = 21
_STORAGE = "org.apache.kafka.storage.internals"
_LOG, _CACHE = f"{_STORAGE}.log.UnifiedLog", f"{_STORAGE}.epoch.LeaderEpochFileCache"
_PARTITION, _OPERATION = "kafka.cluster.Partition", "org.apache.kafka.server.purgatory.DelayedOperation"
_FETCHER, _MANAGER = "kafka.server.AbstractFetcherThread", "kafka.server.ReplicaManager"
CHOSEN = {
    _PARTITION: "appendRecordsToLeader makeLeader makeFollower maybeExpandIsr maybeShrinkIsr updateFollowerFetchState "
    "doAppendRecordsToFollowerOrFutureReplica $anonfun$submitAlterPartition$3 deleteRecordsOnLeader truncateTo "
    "fetchRecords markOffline",
    _LOG: "append maybeIncrementHighWatermark maybeUpdateHighWatermark updateHighWatermarkMetadata "
    "lambda$truncateTo$1 lambda$maybeIncrementLogStartOffset$1",
    _CACHE: "assign truncateFromEndAsyncFlush",
    _OPERATION: "safeTryComplete safeTryCompleteOrElse forceComplete",
    _FETCHER: "maybeFetch processFetchRequest addPartitions removePartitions",
    _MANAGER: "applyDelta handleLogDirFailure",
}
OTHERS = {
    _PARTITION: "delete fetchOffsetForTimestamp fetchOffsetSnapshot futureReplicaDirChanged lastOffsetForLeaderEpoch "
    "logStartOffset maybeCreateFutureReplica needsIsrUpdate$1 removeFutureLocalReplica "
    "runCallbackIfFutureReplicaCaughtUp truncateFullyAndStartAt",
    _LOG: "deleteOldSegments fetchHighWatermarkMetadata fetchLastStableOffsetMetadata lambda$flush$1 "
    "lambda$truncateFullyAndStartAt$1 latestProducerStateEndOffset logSegments maybeIncrementFirstUnstableOffset "
    "maybeIncrementLocalLogStartOffset maybeRoll removeExpiredProducers renameDir roll takeProducerSnapshot",
    _CACHE: "clearAndFlush earliestEntry endOffsetFor epochEntries epochForOffset latestEntry previousEpoch "
    "truncateFromStartAsyncFlush writeIfDirExists writeToFile",
    _FETCHER: "delayPartitions fetchState markPartitionFailed markPartitionsForTruncation onPartitionFenced "
    "partitionCount removeAllPartitions truncateOnFetchResponse truncateToEpochEndOffsets truncateToHighWatermark",
    _MANAGER: "alterReplicaLogDirs markPartitionOffline",
}
"""Other methods of the same classes that take a lock in Kafka 4.4.0, apart from those of tiers and transactions."""


def locks() -> list[str]:
    """Return `CLASS METHOD` for the methods chosen by hand, and for those drawn at random from the others."""
    chosen, others = ([f"{owner} {name}" for owner in of for name in of[owner].split()] for of in (CHOSEN, OTHERS))
    return [*chosen, *random.Random(SEED).sample(others, DRAWN)]  # noqa: S311 (no secret)


def measure(version: str, scheduler: str, schedules: int, seconds: float) -> Iterator[tuple[str, int | None, str, int]]:
    """Yield each method with the number of the schedule that finds its missing lock (or None), the violation, and the
    number of schedules taken. One process takes all schedules; in each, at most one method has no lock.
    """
    release = threads_release(version)
    library = release.more[0]
    classes = compile_driver(version, release.jars, (*THREADS.sources, KAFKA / "fuzz" / "locks"), library)
    with tempfile.TemporaryDirectory(prefix="fencepost-locks-") as work:
        path = os.pathsep.join([str(classes), f"{release.jars}{os.sep}*", f"{library}{os.sep}*"])
        words = [tool("java"), "-cp", path, "fencepost.Unlock", work, *locks()]
        done = run(words, 60, "the removal of locks")
        if done.returncode != 0 or "0" in done.stdout.split():
            raise UsageError(f"a method of Kafka {version} takes no lock: {done.stdout} {done.stderr[:500]}")
        first = Path(f"{work}{os.pathsep}{classes}")
        with Threads(replace(release, classes=first)) as threads:
            for number, lock in enumerate(locks(), 1):
                threads.out = number
                last, found, why = 0, None, ""
                for item in threads.histories(scheduler, 1, schedules, seconds, "find"):
                    if isinstance(item, Alarm):
                        found, why = item.seed, item.message
                    else:
                        last = item.histories
                yield lock.rpartition(".")[2].replace(" ", "."), found, why, last
