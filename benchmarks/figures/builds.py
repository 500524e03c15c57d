"""Edit a release of Kafka, one change at a time, and store the result of `compare` for each build as a figure.

`python -m benchmarks.figures.builds [--kafka VERSION] [--only NAME ...]`: changes omit checks, conditions and effects,
or invert comparisons; refactorings preserve every method's behaviour. A row is saved as soon as it is measured, so the
command may be interrupted and restarted. `--jars DIR --edit WORDS` writes one edited build. `--releases` instead
compares successive releases by the histories of one of them, and stores the result.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
import zipfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from fencepost.invariants.figures.store import load, save
from fencepost.kafka.conform.binding import REPLICATION
from fencepost.kafka.conform.builds import FIGURE, Pair, alike, changed_methods, compare_builds, confirm
from fencepost.kafka.conform.suite import History, Player, javassist, suite
from fencepost.kafka.driver.process import Driver
from fencepost.kafka.driver.releases import Release, release, run, tool
from fencepost.model.language.errors import UsageError

JAVA = Path(__file__).parent / "java"
DRAWS = 0
_PARTITION, _REPLICATION = "kafka.cluster.Partition", "org.apache.kafka.controller.ReplicationControlManager"
_CHANGE, _CLUSTER = (
    "org.apache.kafka.controller.PartitionChangeBuilder",
    "org.apache.kafka.controller.ClusterControlManager",
)
_BEAT, _ISRS = "org.apache.kafka.controller.BrokerHeartbeatManager", "org.apache.kafka.controller.BrokersToIsrs"
_REPLICA, _LOG = "org.apache.kafka.server.replica.Replica", "org.apache.kafka.storage.internals.log.UnifiedLog"
_CACHE = "org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache"
_FETCHER, _MANAGER = "kafka.server.AbstractFetcherThread", "kafka.server.ReplicaManager"
_ALTER = "kafka.server.DefaultAlterPartitionManager"
_NONE = "org.apache.kafka.common.protocol.Errors.NONE"
_MOVE = "org.apache.kafka.controller.PartitionReassignmentReplicas"
_STATE = "org.apache.kafka.server.replica.ReplicaState"

CHANGES: dict[str, str] = {
    "members of the ISR at the end of a reassignment": f"call {_MOVE} maybeCompleteReassignment contains true",
    "the leader asks for brokers that shut down": f"call {_PARTITION} isReplicaIsrEligible isBrokerShuttingDown false",
    "the leader asks for broker epochs": f"call {_PARTITION} isReplicaIsrEligible isBrokerEpochIsrEligible true",
    "both conditions of a pull request": f"body {_PARTITION} isReplicaIsrEligible true",
    "the high watermark waits for the maximal ISR": f"call {_PARTITION} maybeIncrementLeaderHW maximalIsr $0.isr()",
    "a follower at the high watermark joins": f"turn {_PARTITION} isFollowerInSync 2",
    "a follower in the leader's epoch joins": f"body {_PARTITION} isFollowerInSync true",
    "min ISR of writes": f"call {_PARTITION} appendRecordsToLeader effectiveMinIsr 1",
    "min ISR of the high watermark": f"body {_PARTITION} isUnderMinIsr false",
    "the leader epoch of requests": f"body {_PARTITION} checkCurrentLeaderEpoch {_NONE}",
    "an expansion of the ISR": f"body {_PARTITION} maybeExpandIsr -",
    "a shrink of slow followers": f"body {_PARTITION} isFollowerOutOfSync false",
    "the fenced of a request": f"call {_REPLICATION} ineligibleReplicasForIsr fenced false",
    "those that shut down of a request": f"call {_REPLICATION} ineligibleReplicasForIsr inControlledShutdown false",
    "the broker epochs of a request": f"turn {_REPLICATION} ineligibleReplicasForIsr 3",
    "the sender's broker epoch": f"call {_REPLICATION} alterPartition checkBrokerEpoch -",
    "the leader epoch of a request": f"call {_REPLICATION} validateAlterPartitionData leaderEpoch 0",
    "the partition epoch of a request": f"call {_REPLICATION} validateAlterPartitionData partitionEpoch 0",
    "the leader of a request": f"field {_REPLICATION} validateAlterPartitionData leader brokerId",
    "a preferred election that is not needed": f"turn {_REPLICATION} electLeader 3",
    "heartbeats of a controlled shutdown": f"call {_REPLICATION} processBrokerHeartbeat hasLeaderships false",
    "a leader that is active": f"call {_CHANGE} isValidNewLeader test true",
    "a leader of the ISR": f"turn {_CHANGE} isValidNewLeader 1",
    "a valid leader": f"body {_CHANGE} isValidNewLeader true",
    "the last known leader": f"body {_CHANGE} canElectLastKnownLeader false",
    "members of the ELR": f"body {_CHANGE} maybePopulateTargetElr -",
    "the record of the ELR": f"body {_CHANGE} maybeUpdateRecordElr -",
    "the record of the last leader": f"body {_CHANGE} maybeUpdateLastKnownLeader -",
    "the epoch of a shrink": f"body {_CHANGE} triggerLeaderEpochBumpForIsrShrinkIfNeeded -",
    "the epoch of other replicas": f"body {_CHANGE} triggerLeaderEpochBumpForReplicaReassignmentIfNeeded -",
    "the end of a reassignment": f"body {_CHANGE} completeReassignmentIfNeeded -",
    "the index of ISRs": f"body {_ISRS} removeTopicEntryForBroker -",
    "an unclean shutdown": f"call {_CLUSTER} registerBroker addRecordsForShutdown -",
    "a broker that is fenced": f"call {_REPLICATION} handleBrokerFenced generateLeaderAndIsrUpdates -",
    "a broker that shuts down": f"call {_REPLICATION} handleBrokerInControlledShutdown generateLeaderAndIsrUpdates -",
    "a broker that is back": f"call {_REPLICATION} handleBrokerUnfenced generateLeaderAndIsrUpdates -",
    "the offset of a shutdown": f"turn {_BEAT} calculateNextBrokerState 3",
    "a fetch of an old incarnation": f"turn {_REPLICA} updateFetchStateOrThrow 1",
    "log ends of another epoch": f"field {_REPLICA} resetReplicaState replicaState null",
    "a follower that is caught up": f"turn {_STATE} isCaughtUp 1",
    "a high watermark that falls": f"turn {_LOG} maybeIncrementHighWatermark 2",
    "a high watermark of a follower": f"body {_LOG} maybeUpdateHighWatermark java.util.Optional.empty()",
    "truncated epochs": f"body {_CACHE} truncateFromEndAsyncFlush -",
    "an epoch begins": f"call {_CACHE} assign writeToFile -",
    "the end of an epoch": f"turn {_CACHE} endOffsetFor 2",
    "a truncation by an answer": f"body {_FETCHER} truncateOnFetchResponse -",
    "topic ids of fetchers": f"body {_FETCHER} maybeUpdateTopicIds -",
    "checkpoints of high watermarks": f"body {_MANAGER} checkpointHighWatermarks -",
    "one request in flight": f"turn {_ALTER} submit 1",
    "a late answer": f"turn {_PARTITION} handleAlterPartitionUpdate 2",
}
"""Changes to the protocol, each with the subject that it concerns.

Two changes are omitted because they have no effect: `isBrokerFenced` in isReplicaIsrEligible, because
KRaftMetadataCache.getAliveBrokerEpoch omits fenced brokers too, and `isInflight` in getOutOfSyncReplicas, because
maybeShrinkIsr requires a CommittedPartitionState.
"""
SECONDS = 600
KINDS = 12
"""The number of kinds of differences after which a comparison of two releases stops."""
RELEASED = "releases-compared"
LINES = {"3.9": 3, "4.0": 3, "4.1": 3, "4.2": 2, "4.3": 2, "4.4": 1}
PAIRS = list(pairwise(f"{line}.{patch}" for line, patches in LINES.items() for patch in range(patches)))
REFACTORINGS: dict[str, str] = {
    "other line numbers": f"lines {_PARTITION} maybeIncrementLeaderHW",
    "other constants first": f"pool {_REPLICATION} alterPartition",
    "no debugging information": f"debug {_CHANGE} build",
    "methods the other way round": f"order {_REPLICATION} alterPartition",
    "a method that is not called": f"private {_PARTITION} makeLeader",
    "a field that is not read": f"unused {_REPLICA} updateFetchStateOrThrow",
    "an instruction that does nothing": f"nop {_PARTITION} maybeIncrementLeaderHW",
    "a local variable that is not read": f"local {_CHANGE} electLeader",
    "a method that is moved": f"extract {_PARTITION} isFollowerInSync",
    "conditions negated twice": f"twice {_PARTITION} isReplicaIsrEligible",
}
"""Refactorings, which must not be reported as differences."""


class Editor(NamedTuple):
    classes: Path
    library: Path

    def jars(self, source: Release, edit: str, folder: Path) -> Path:
        kind, owner, *rest = edit.split(" ", 4)
        path = f"{self.classes}:{self.library}/*:{source.jars}/*"
        written = folder / "classes"
        done = run([tool("java"), "-cp", path, "Edit", str(written), kind, owner, *rest], 60, "the edit")
        if done.returncode != 0:
            raise UsageError(f"the edit does not fit: {done.stderr.splitlines()[0]}")
        name = f"{owner.replace('.', '/')}.class"
        jars = folder / "jars"
        jars.mkdir()
        for jar in sorted(source.jars.glob("*.jar")):
            with zipfile.ZipFile(jar) as old:
                if not jar.name.startswith("kafka") or name not in old.namelist():
                    (jars / jar.name).symlink_to(jar)
                    continue
                with zipfile.ZipFile(jars / jar.name, "w") as new:
                    for item in old.namelist():
                        new.writestr(item, (written / name).read_bytes() if item == name else old.read(item))
        return jars


def editor(folder: Path) -> Editor:
    library = javassist()
    run([tool("javac"), "-nowarn", "-cp", f"{library}/*", "-d", str(folder), str(JAVA / "Edit.java")], 60, "javac")
    return Editor(folder, library)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kafka", default="4.1.2", metavar="VERSION")
    options.add_argument("--only", action="append", metavar="NAME", help="only this change or refactoring (repeatable)")
    options.add_argument("--count", type=int, default=100, help="measure at most this many rows")
    options.add_argument("--budget", type=float, metavar="SECONDS", help="leave rows that take longer for a later run")
    options.add_argument("--edit", metavar="WORDS", help="write a build with this edit, or with a named change")
    options.add_argument("--jars", type=Path, metavar="DIR", help="the folder to which --edit writes")
    options.add_argument("--releases", action="store_true", help="compare successive releases")
    given = options.parse_args()
    if given.releases:
        _compare_releases()
        return
    source = release(given.kafka)
    with tempfile.TemporaryDirectory() as work:
        made = editor(Path(work))
        if given.edit:
            written = made.jars(source, {**CHANGES, **REFACTORINGS}.get(given.edit, given.edit), Path(work) / "build")
            shutil.move(written, given.jars)
            return
        figure: dict[str, Any] = {"kafka": given.kafka, "draws": DRAWS, "rows": [], **load(FIGURE)}
        known = {row["name"] for row in figure["rows"]}
        named = {**CHANGES, **REFACTORINGS}
        for name in [name for name in given.only or named if given.only or name not in known][: given.count]:
            row = _row(made, source, name, named[name], Path(work) / f"build-{len(known)}", given.budget)
            known.add(name)
            if not row.pop("complete", True):
                continue
            figure["rows"] = [*(old for old in figure["rows"] if old["name"] != name), row]
            save(FIGURE, figure)


def _rare_first(histories: list[History]) -> list[int]:
    """Order histories so that every command of the driver occurs early, with rare commands first."""
    chances = random.Random(1)  # noqa: S311 (no secret)
    words = [{line.partition(" ")[0] for line in item.lines} for item in histories]
    often = Counter(word for found in words for word in found)
    queues: dict[str, list[int]] = {}
    for place in chances.sample(range(len(histories)), len(histories)):
        queues.setdefault(min(words[place], key=lambda word: often[word]), []).append(place)
    rounds = zip_longest(*(queues[word] for word in sorted(queues, key=lambda word: often[word])))
    return [place for found in rounds for place in found if place is not None]


def _compare_releases() -> None:
    """Compare successive releases by the histories of one release line, and store the kinds of differences.

    A row is finished after the last history, after `KINDS` kinds of differences, or after `SECONDS`.
    """
    known = {(row["a"], row["b"]): row for row in load(RELEASED).get("rows", [])}
    for pair in (pair for pair in PAIRS if pair not in known):
        source = release("3.9.2" if pair[0].startswith("3.9") else "4.1.2")  # 3.9 has no ELR
        histories = suite(REPLICATION, source, _tell)
        order = _rare_first(histories)
        a, b = (replace(release(name), model=source.model) for name in pair)
        kinds: dict[str, dict[str, Any]] = {}
        began, played = time.monotonic(), 0
        with (
            Player(a, ()) as one,
            Player(b, ()) as two,
            Driver(alike(a)) as left,
            Driver(alike(b)) as right,
            ThreadPoolExecutor(2) as both,
        ):
            for place in order:
                if time.monotonic() > began + SECONDS or len(kinds) >= KINDS:
                    break
                played += 1
                history = histories[place]
                answers = [both.submit(player.play, history) for player in (one, two)]
                if len({answer.result()[0] for answer in answers}) > 1:
                    found = confirm(REPLICATION, a, Pair(left, right), history)
                    if found is not None:
                        last = found.steps[-1].action.label if found.steps else "at the start"
                        kind = f"{last}: {', '.join(name for name, _, _ in found.rows)}"
                        shown = {"steps": found.shown, "rows": found.rows, "model": found.model, "histories": 0}
                        if kind not in kinds or len(found.shown) < len(kinds[kind]["steps"]):
                            kinds[kind] = {**shown, "histories": kinds.get(kind, shown)["histories"]}
                        kinds[kind]["histories"] += 1
        row = {"a": pair[0], "b": pair[1], "methods": len(changed_methods(a, b)), "played": played, "of": len(order)}
        known[pair] = {**row, "kinds": kinds, "what": "", "issue": ""}
        save(RELEASED, {"rows": [known[pair] for pair in PAIRS if pair in known]})
        _tell(str(row))


def _row(made: Editor, source: Release, name: str, edit: str, folder: Path, budget: float | None) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name, "edit": edit, "changes": name in CHANGES}
    began = time.monotonic()
    folder.mkdir()
    try:
        jars = made.jars(source, edit, folder)
    except UsageError as error:
        row |= {"verdict": "unfit", "why": str(error)}
    else:
        build = replace(source, jars=jars)
        found = compare_builds(REPLICATION, (source, build), ("the release", "the edit"), _tell, budget, (DRAWS, 1))
        by = "" if found.verdict != "differs" else "model" if found.departure is not None else "random"
        row |= {"verdict": found.verdict, "by": by, "played": found.played, "unconfirmed": found.unconfirmed}
        row |= {"complete": found.complete}
        row["steps"] = len(found.departure.steps) if found.departure else len(found.drawn.get("steps", ()))
    row["seconds"] = round(time.monotonic() - began, 1)
    shutil.rmtree(folder)
    sys.stdout.write(f"{row}\n")
    sys.stdout.flush()
    return row


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    main()
