"""A test of whether the audit finds damage planted in generated copies of brokers' logs, and how long it takes.

`python -m benchmarks.audit_records [--each N] [--batches N] [--master URL]`.

Every partition has copies on three brokers. Broker 1 led epoch 0 and wrote a tail that no other broker copied. Broker 2
has led since then, in epoch 1, and broker 3 lags. Partitions in this state are healthy and must cause no finding. Then
each kind of damage is planted in some partitions, chosen by a seed. The batches come from a real cluster; their offsets
and epochs, which the checksums do not cover, are changed.
"""

import argparse
import os
import random
import struct
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fencepost.api.calls.audit import audit
from fencepost.explorers.spark.session import Cluster
from fencepost.kafka.audit.logs import EPOCHS, HIGH_WATERMARKS, STOPPED
from fencepost.kafka.audit.reading import command
from rich.console import Console

from benchmarks.metadata_log import SEGMENT, Writer, create, uuid

FIXTURES = Path(__file__).parent.parent / "tests" / "replica_logs"
TOPIC, SEED, BROKERS = uuid(7), 1, (1, 2, 3)
COPIED = 3 / 4
"""The number of batches in epoch 0 that all brokers have."""
CONSOLE = Console(width=120, highlight=False)


class Disk:
    def __init__(self, folder: Path, broker: int, partition: int) -> None:
        self.root = folder / f"disk-{broker}"
        self.log = self.root / f"r-{partition}"
        self.segments = sorted(self.log.glob("*.log"))

    def epochs(self, text: str) -> None:
        (self.log / EPOCHS).write_text(text)


def batch(name: str) -> tuple[bytes, int]:
    with tarfile.open(FIXTURES / f"{name}.tar.gz") as packed:
        file = packed.extractfile("before-start-data-1/t-0/00000000000000000000.log")
        assert file is not None
        content = file.read()
    size = struct.unpack(">i", content[8:12])[0] + 12
    return content[:size], struct.unpack(">i", content[23:27])[0] + 1


def placed(one: bytes, offset: int, epoch: int) -> bytes:
    return struct.pack(">q", offset) + one[8:12] + struct.pack(">i", epoch) + one[16:]


def write(folder: Path, partitions: int, batches: int) -> int:
    """Write the disks of three brokers and a metadata log; return the number of offsets in a batch."""
    one, offsets = batch("hyp-16")
    copied = int(batches * COPIED)
    ends = {1: copied + 2, 2: batches, 3: batches - 1}
    for broker in BROKERS:
        disk = folder / f"disk-{broker}"
        disk.mkdir(parents=True)
        (disk / "meta.properties").write_text(f"version=1\nnode.id={broker}\ncluster.id=benchmark\n")
        known = copied * offsets if broker == 1 else (ends[broker] - 1) * offsets
        rows = "".join(f"r {partition} {known}\n" for partition in range(partitions))
        (disk / HIGH_WATERMARKS).write_text(f"0\n{partitions}\n{rows}")
        if broker == 1:
            (disk / STOPPED).touch()
        for partition in range(partitions):
            log = disk / f"r-{partition}"
            log.mkdir()
            (log / "partition.metadata").write_text(f"version: 0\ntopic_id: {TOPIC}")
            (log / EPOCHS).write_text("0\n1\n0 0\n" if broker == 1 else f"0\n2\n0 0\n1 {copied * offsets}\n")
            third = -(-batches // 3)
            for begin in range(0, ends[broker], third):
                numbers = range(begin, min(begin + third, ends[broker]))
                content = [placed(one, at * offsets, int(broker != 1 and at >= copied)) for at in numbers]
                (log / f"{begin * offsets:020}.log").write_bytes(b"".join(content))
    line = command(None, None, "Encode")
    log = folder / "controller" / "__cluster_metadata-0"
    log.mkdir(parents=True)
    with subprocess.Popen([*line, str(log), "0", str(SEGMENT)], stdin=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        to = Writer(process.stdin)
        to.begin()
        to.record("FEATURE_LEVEL_RECORD", 0, {"name": "metadata.version", "featureLevel": 27})
        create(to, TOPIC, "r", list(BROKERS), partitions)
        to.time += 600_000
        to.begin()
        for partition in range(partitions):
            to.change(TOPIC, partition, {"isr": [2, 3], "leader": 2})
        process.stdin.close()
    return offsets


def lose(disks: dict[int, Disk], chance: random.Random, offsets: int) -> None:
    """Record the tail that only broker 1 has as acknowledged."""
    del chance
    name = disks[1].root / HIGH_WATERMARKS
    mine = f"r {disks[1].log.name[2:]} "
    rows = [
        f"{mine}{int(row.removeprefix(mine)) + offsets}" if row.startswith(mine) else row
        for row in name.read_text().splitlines()
    ]
    name.write_text("\n".join([*rows, ""]))


def cut(disks: dict[int, Disk], chance: random.Random, offsets: int) -> None:
    del offsets
    last = disks[1].segments[-1]
    os.truncate(last, chance.randrange(1, last.stat().st_size - 5000))


def flip(disks: dict[int, Disk], chance: random.Random, offsets: int) -> None:
    del offsets
    file = disks[chance.choice(BROKERS)].segments[0]
    content = bytearray(file.read_bytes())
    content[chance.randrange(61, len(content) // 2)] ^= 1 << chance.randrange(8)
    file.write_bytes(content)


def drop(disks: dict[int, Disk], chance: random.Random, offsets: int) -> None:
    del offsets
    disks[chance.choice((2, 3))].segments[1].unlink()


def shift(disks: dict[int, Disk], chance: random.Random, offsets: int) -> None:
    """Move the start of an epoch in its checkpoint."""
    disk = disks[chance.choice((2, 3))]
    start = int((disk.log / EPOCHS).read_text().split()[-1])
    disk.epochs(f"0\n2\n0 0\n1 {start + chance.choice((-1, 1)) * chance.randrange(1, offsets)}\n")


def rename(disks: dict[int, Disk], chance: random.Random, offsets: int) -> None:
    del offsets
    name = disks[chance.choice((1, 3))].log / "partition.metadata"
    name.write_text(f"version: 0\ntopic_id: {uuid(chance.randrange(100, 1000))}")


def replace(disks: dict[int, Disk], chance: random.Random, offsets: int) -> None:
    """Replace records with different ones at the same offsets and in the same epoch."""
    one, count = batch("hyp-17")
    mine, _ = batch("hyp-16")
    assert (count, len(one)) == (offsets, len(mine))
    file = disks[chance.choice((1, 3))].segments[0]
    content = file.read_bytes()
    at = chance.randrange(len(content) // len(one))
    begin = at * len(one)
    file.write_bytes(content[:begin] + placed(one, at * offsets, 0) + content[begin + len(one) :])


def shorten(disks: dict[int, Disk], chance: random.Random, offsets: int) -> None:
    """Truncate whole batches from a running broker's log, as if it lagged."""
    del chance, offsets
    last = disks[3].segments[-1]
    os.truncate(last, last.stat().st_size - len(batch("hyp-16")[0]))


def forget(disks: dict[int, Disk], chance: random.Random, offsets: int) -> None:
    """Remove the last line of an epoch checkpoint, as if it had been copied before the segments."""
    del chance, offsets
    disks[3].epochs("0\n1\n0 0\n")


KINDS: dict[str, tuple[Callable[[dict[int, Disk], random.Random, int], None] | None, tuple[str, ...]]] = {
    "healthy": (None, ()),
    "acknowledged tail": (lose, ("records-lost",)),
    "segment cut": (cut, ("log-below-high-watermark", "copy-damaged")),
    "byte changed": (flip, ("copy-damaged",)),
    "segment missing": (drop, ("copy-damaged",)),
    "epoch file altered": (shift, ("epochs-differ",)),
    "log of another topic": (rename, ("not compared",)),
    "other records": (replace, ("copies-differ",)),
    "whole batches cut, running": (shorten, ()),
    "epoch file cut": (forget, ()),
}
"""Kinds of damage, each with the expected finding. The last two must not cause any."""


def planted(folder: Path, each: int, batches: int) -> dict[int, str]:
    kinds = {at: list(KINDS)[at // each] for at in range(each * len(KINDS))}
    offsets = write(folder, len(kinds), batches)
    for partition, kind in kinds.items():
        damage = KINDS[kind][0]
        if damage is not None:
            chance = random.Random(f"{SEED} {partition}")  # noqa: S311 (no secret)
            damage({broker: Disk(folder, broker, partition) for broker in BROKERS}, chance, offsets)
    return kinds


def seen(data: dict[str, Any], kinds: dict[int, str]) -> list[dict[str, Any]]:
    """Return, for each kind, the number of partitions with exactly the expected findings."""
    found: dict[int, set[str]] = {partition: set() for partition in kinds}
    for item in data["findings"]:
        if SORTS_OF_COPIES & {item["sort"]}:
            found[item["partition"]].add(item["sort"])
    for note in data["notes"]:
        for partition in kinds:
            if f"/r-{partition} is not compared, because its topic id" in note["text"]:
                found[partition].add("not compared")
    made = []
    for kind, (_, must) in KINDS.items():
        of = [found[partition] for partition, one in kinds.items() if one == kind]
        hit = sum(bool(one & set(must)) for one in of)
        made.append({"kind": kind, "planted": len(of), "found": hit, "else": sum(bool(one - set(must)) for one in of)})
    return made


SORTS_OF_COPIES = {sort for _, must in KINDS.values() for sort in must} | {"records-may-be-lost"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=10, help="number of partitions of each kind")
    parser.add_argument("--batches", type=int, default=1_450, help="number of batches in a log")
    parser.add_argument("--master", help="compare on this Spark master")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fencepost-records-") as work:
        kinds = planted(Path(work), given.each, given.batches)
        size = sum(path.stat().st_size for path in Path(work).rglob("r-*/*.log"))
        began = time.perf_counter()
        data = audit(work, cluster=Cluster(given.master) if given.master else None).to_dict()
        seconds = time.perf_counter() - began
        for row in seen(data, kinds):
            CONSOLE.print(row)
    CONSOLE.print(f"{len(kinds)} partitions, {size / 2**30:.2f} GiB, {seconds:.1f} s, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
