"""A run of a scenario, from starting its cluster to the verdict."""

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from fencepost.kafka.clusters.cluster import Client, Cluster, Shape
from fencepost.kafka.clusters.kit import Kit
from fencepost.kafka.clusters.scenario import Harm, Scenario
from fencepost.kafka.clusters.scenarios import disks, eligible, metadata, quorum, reassignments, recovery, topics
from fencepost.kafka.clusters.stage import Line, NotReached, Stage, Story
from fencepost.kafka.driver.process import MEMORY_FOLDER
from fencepost.model.language.errors import UsageError

FORMAT = 1
MODULES = (disks, eligible, metadata, quorum, reassignments, recovery, topics)
SCENARIOS: tuple[Scenario, ...] = tuple(
    sorted(
        (scenario for module in MODULES for scenario in module.SCENARIOS),
        key=lambda scenario: int(scenario.name.split("-")[1]),
    )
)
PORT = 19200
"""Default first port, which is below the range of ephemeral ports."""
SECONDS = 170.0
"""Time limit of a run, in seconds: more than twice as long as any run takes on an idle machine."""
TOPIC = "t"
FIRST_ELR = (4, 0)
"""The first release that supports eligible leader replicas (off by default)."""


@dataclass(frozen=True)
class Asked:
    control: bool = False
    repairs: tuple[str, ...] = ()
    port: int = PORT
    seconds: float = SECONDS
    keep: Path | None = None


@dataclass
class Report:
    asked: Asked
    scenario: Scenario
    kit: Kit
    story: Story
    acknowledged: list[str] = field(default_factory=list)
    readable: list[str] = field(default_factory=list)
    out: list[int] = field(default_factory=list)
    leaderless: bool = False
    """Whether the partition had no leader although a complete replica was available."""
    behind: list[int] = field(default_factory=list)
    misassigned: bool = False
    """Whether the partition did not get the replicas of the operator's last reassignment."""
    returned: list[str] = field(default_factory=list)
    """Deleted records that can be read again."""
    vanished: list[str] = field(default_factory=list)
    """Records that a consumer has read, and that can no longer be read."""
    why: str = ""

    @property
    def lost(self) -> list[str]:
        readable = set(self.readable)
        return [key for key in self.acknowledged if key not in readable]

    @property
    def verdict(self) -> Harm | Literal["kept", "undetermined"]:
        if self.why:
            return "undetermined"
        harms: tuple[tuple[Harm, object], ...] = (
            ("lost", self.lost), ("vanished", self.vanished), ("out", self.out), ("leaderless", self.leaderless),
            ("behind", self.behind), ("misassigned", self.misassigned), ("returned", self.returned),
        )  # fmt: skip
        return next((harm for harm, found in harms if found), "kept")

    @property
    def expected(self) -> Harm | Literal["kept"]:
        return self.scenario.expected(self.kit.number, control=self.asked.control, repairs=self.asked.repairs)

    def data(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "finding": self.scenario.name,
            "kafka": self.kit.version,
            "control": self.asked.control,
            "repaired": bool(self.asked.repairs),
            "repairs": list(self.asked.repairs),
            "acknowledged": len(self.acknowledged),
            "readable": len(self.readable),
            "lost": len(self.lost),
            "lost_records": self.lost[:10],
            "brokers_out": self.out,
            "verdict": self.verdict,
            "expected": self.expected,
            **({"why": self.why} if self.why else {}),
            "seconds": round(self.story.lines[-1].seconds, 1) if self.story.lines else 0.0,
            "steps": [{"seconds": line.seconds, "kind": line.kind, "text": line.text} for line in self.story.lines],
        }


def choose_repairs(scenario: Scenario, kit: Kit, some: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the named fixes (by default all). Raise UsageError if a name is unknown or the release has all fixes."""
    offered = scenario.repairs(kit.number)
    if not offered:
        raise UsageError(
            f"{scenario.name} needs no fix on Kafka {kit.version}, which already contains it. Use an older release."
        )
    for name in some:
        if name not in offered:
            raise UsageError(
                f"there is no fix {name!r} for {scenario.name} on Kafka {kit.version}. The fixes are: "
                f"{', '.join(offered)}."
            )
    return tuple(name for name in offered if name in some or not some)


def reproduce(scenario: Scenario, asked: Asked, kit: Kit, hear: Callable[[Line], None]) -> Report:
    if kit.number < scenario.since:
        raise UsageError(
            f"{scenario.name} cannot run on Kafka {kit.version}: it needs a rule or a default setting of Kafka "
            f"{'.'.join(map(str, scenario.since))}. Write a later release as `kafka=`."
        )
    story = Story(hear)
    with ExitStack() as stack:
        memory = MEMORY_FOLDER if os.access(MEMORY_FOLDER, os.W_OK) else None
        made = tempfile.TemporaryDirectory(prefix="fencepost-cluster-", dir=memory, ignore_cleanup_errors=True)
        folder = Path(stack.enter_context(made))
        if asked.keep is not None:
            stack.callback(_keep, folder, asked.keep)
        if asked.repairs:
            kit = kit.repaired(asked.repairs, folder / "repaired")
        report = Report(asked, scenario, kit, story)
        elr = _elr(scenario, asked, kit)
        voters, joining = scenario.voters, scenario.joining
        shape = Shape(scenario.brokers, dict(scenario.settings), scenario.delays, elr, scenario.disks, voters, joining)
        story.tell(f"Kafka {kit.version}: {scenario.title}.")
        if asked.control:
            story.tell(f"Control run: {scenario.control}.")
        if asked.repairs:
            story.tell(f"Fixed: {' and '.join(asked.repairs)}.")
        cluster = stack.enter_context(Cluster(kit, shape, folder, asked.port, asked.keep))
        kind = "controllers" if voters else "a controller and brokers"
        story.tell(f"Start {kind} {', '.join(map(str, voters or shape.brokers))}.")
        cluster.begin()
        client = stack.enter_context(Client(cluster, TOPIC))
        left = asked.seconds - story.seconds
        stage = Stage(cluster, client, story, control=asked.control, repairs=asked.repairs, seconds=left)
        try:
            scenario.play(stage)
            report.readable, report.misassigned = stage.readable(), stage.misassigned
            report.out, report.leaderless, report.behind = stage.out, stage.leaderless, stage.behind
            report.returned = [key for key in stage.deleted if key in report.readable]
            report.vanished = [key for key in stage.consumed if key not in report.readable]
        except NotReached as error:
            report.why = f"not reached: {error}"
        report.acknowledged = sorted(client.acknowledged, key=lambda key: client.acknowledged[key])
        story.tell(_ending(report))
    return report


def _elr(scenario: Scenario, asked: Asked, kit: Kit) -> bool | None:
    if asked.control and not scenario.elr_in_control:
        return False
    return scenario.elr if kit.number >= FIRST_ELR else None


def _ending(report: Report) -> str:
    if report.why:
        return f"Undetermined: {report.why}."
    if report.out:
        return f"Broker {report.out[0]} cannot rejoin the cluster."
    if report.returned:
        several = len(report.returned) != 1
        return f"{len(report.returned):,} deleted record{'s' if several else ''} can be read again."
    if not report.acknowledged:
        return "Every broker has rejoined the cluster; the scenario writes no records."
    counts = f"{len(report.acknowledged):,} acknowledged, {len(report.readable):,} readable"
    if not report.lost:
        late = " The partition had no leader although a complete replica was available." if report.leaderless else ""
        late += f" The replica of broker {report.behind[0]} was not copied." if report.behind else ""
        late += " The partition did not get the replicas that the operator requested." if report.misassigned else ""
        late += " A record that a consumer has read is lost." if report.vanished else ""
        return f"{counts}: no acknowledged record is lost.{late}"
    one = len(report.lost) == 1
    return f"{counts}: {len(report.lost):,} acknowledged record{'' if one else 's'} {'is' if one else 'are'} LOST."


def _keep(folder: Path, kept: Path) -> None:
    for path in (*folder.glob("*.log"), *folder.glob("*.properties"), *folder.glob("*.json")):
        shutil.copy2(path, kept)
