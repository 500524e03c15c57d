"""Metadata logs of real clusters, recorded for tests of the audit.

`python -m benchmarks.audit_logs [--story NAME ...] [--kafka VERSION ...]`.

Each story is played once on its own cluster. The controller's log is archived in tests/metadata_logs/, compressed to a
few KiB. Existing archives are skipped, so the command may be interrupted and restarted. With `--kept DIR ...`, no story
is played: folders from `fencepost reproduce --output` are archived in tests/replica_logs/ under their names.
"""

import argparse
import gzip
import os
import tarfile
import tempfile
from itertools import product
from pathlib import Path

from fencepost.kafka.clusters.cluster import CONTROLLER, Client, Cluster, Shape
from fencepost.kafka.clusters.kit import Kit, kit
from fencepost.kafka.clusters.reproduce import PORT, SCENARIOS, TOPIC
from fencepost.kafka.clusters.scenario import Scenario
from fencepost.kafka.clusters.stage import NotReached, Stage, Story
from fencepost.kafka.driver.process import MEMORY_FOLDER
from rich.console import Console

RELEASES = ("3.9.2", "4.1.2", "4.4.0")
FOLDER = Path(__file__).parent.parent / "tests" / "metadata_logs"
DISKS = FOLDER.with_name("replica_logs")
SECONDS = 200.0
CONSOLE = Console(width=120, highlight=False)


def unclean(stage: Stage) -> None:
    """The last member of the ISR crashes, and the other replica is elected by an unclean election."""
    _both_die(stage, unclean_leader_election_enable="true")
    stage.start(2)
    stage.wait(leader=2)
    stage.finish(isr=[1, 2])


def last_replica(stage: Stage) -> None:
    """The last member of the ISR crashes, and the partition waits for that broker."""
    _both_die(stage)
    stage.start(2)
    stage.pause(3)
    stage.start(1)
    stage.wait(leader=1)
    stage.finish(isr=[1, 2])


def _both_die(stage: Stage, **settings: str) -> None:
    stage.create(replicas=[1, 2], min_isr=1)
    if settings:
        stage.configure(**settings)
    stage.send("first")
    stage.must_acknowledge("first")
    stage.kill(2)
    stage.wait(isr=[1])
    stage.send("second")
    stage.must_acknowledge("second")
    stage.kill(1)
    stage.pause(15)  # the controller fences the broker after nine seconds, but without brokers, no client can see this


def rolling(stage: Stage) -> None:
    """All brokers are restarted in turn, each once all replicas are in sync."""
    stage.create(replicas=[1, 2, 3], min_isr=2)
    stage.send("first")
    stage.must_acknowledge("first")
    for broker in (1, 2, 3):
        stage.stop(broker)
        stage.wait_stopped(broker)
        stage.start(broker)
        stage.wait(isr=[1, 2, 3])
    stage.finish(isr=[1, 2, 3])


def reassignment(stage: Stage) -> None:
    """A replica moves while all brokers run."""
    stage.create(replicas=[1, 2], min_isr=2)
    stage.send("first")
    stage.must_acknowledge("first")
    stage.reassign([3, 2])
    stage.wait(replicas=[3, 2], isr=[2, 3], adding=[])
    stage.finish(isr=[2, 3])


FAST_FENCING = (("broker.session.timeout.ms", "4000"), ("broker.heartbeat.interval.ms", "1000"))
MORE = tuple(
    Scenario(name, play.__doc__ or "", play, brokers, "", FAST_FENCING, delays=False, since=(3, 9))
    for name, play, brokers in (
        ("unclean", unclean, (1, 2)),
        ("last-replica", last_replica, (1, 2)),
        ("rolling", rolling, (1, 2, 3)),
        ("reassignment", reassignment, (1, 2, 3)),
    )
)
STORIES = {
    story.name: story
    for story in (*MORE, *SCENARIOS)
    if story.name.startswith(("hyp-10", "hyp-11", "hyp-13", "hyp-17")) or story in MORE
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--story", action="append", choices=list(STORIES), help="story to play (default: all)")
    parser.add_argument("--kafka", action="append", metavar="VERSION", help="which releases")
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--kept", nargs="+", type=Path, metavar="DIR", help="archive the disks of these runs instead")
    given = parser.parse_args()
    for kept in given.kept or ():
        names = ("meta.properties", "partition.metadata", "quorum-state", "*-checkpoint", ".kafka_cleanshutdown")
        names += ("[0-9]*.log", "[0-9]*.checkpoint")
        files = [path for name in names for path in kept.rglob(name) if path.parent.name != "__cluster_metadata-0"]
        files += (kept / f"data-{CONTROLLER}" / "__cluster_metadata-0").glob("0*.[lc]*")
        archive(
            {str(path.relative_to(kept)): path for path in files if path.parent != kept}, DISKS / f"{kept.name}.tar.gz"
        )
    if given.kept:
        return
    FOLDER.mkdir(exist_ok=True)
    for version, name in product(given.kafka or RELEASES, given.story or STORIES):
        story, found = STORIES[name], kit(version)
        into = FOLDER / f"{name}-{version}.tar.gz"
        harms = story in MORE or story.expected(found.number) == story.harm
        if harms and found.number >= story.since and not into.exists():
            try:
                record(story, found, given.port, into)
            except NotReached as error:
                CONSOLE.print(f"{name} on {version}: not reached: {error}")


def record(story: Scenario, found: Kit, port: int, into: Path) -> None:
    CONSOLE.print(f"{story.name} on {found.version}")
    memory = MEMORY_FOLDER if os.access(MEMORY_FOLDER, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="fencepost-audit-", dir=memory) as work:
        folder = Path(work)
        with Cluster(
            found, Shape(story.brokers, dict(story.settings), story.delays, story.elr, story.disks), folder, port
        ) as cluster:
            cluster.begin()
            with Client(cluster, TOPIC) as client:
                told = Story(lambda line: CONSOLE.print(line.shown(), soft_wrap=True))
                story.play(Stage(cluster, client, told, seconds=SECONDS))
        log = folder / f"data-{CONTROLLER}" / "__cluster_metadata-0"
        archive({path.name: path for path in (*log.glob("*.log"), *log.glob("*.checkpoint"))}, into)


def archive(files: dict[str, Path], into: Path) -> None:
    """Write files as a compressed archive, without owners and times."""

    def bare(item: tarfile.TarInfo) -> tarfile.TarInfo:
        item.uid = item.gid = 0
        item.uname = item.gname = ""
        item.mtime = 0
        return item

    with gzip.GzipFile(into, "wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as made:
        for name, path in sorted(files.items()):
            made.add(path, name, filter=bare)


if __name__ == "__main__":
    main()
