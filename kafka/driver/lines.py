"""Lines of Kafka's classes that a run has executed, as JaCoCo counts them."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fencepost.explorers.running.cache import cache_folder
from fencepost.kafka.driver.releases import Release, fetch_jars, run, tool
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

JACOCO = "0.8.12"
POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>fencepost</groupId>
  <artifactId>jacoco-jars</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.jacoco</groupId>
      <artifactId>org.jacoco.agent</artifactId>
      <version>{JACOCO}</version>
      <classifier>runtime</classifier>
    </dependency>
    <dependency>
      <groupId>org.jacoco</groupId>
      <artifactId>org.jacoco.cli</artifactId>
      <version>{JACOCO}</version>
      <classifier>nodeps</classifier>
    </dependency>
  </dependencies>
</project>
"""
REPORT_SECONDS = 120

CONCERNED = (
    "ReplicationControlManager",
    "PartitionChangeBuilder",
    "ClusterControlManager",
    "BrokerHeartbeatManager",
    "DefaultAlterPartitionManager",
    "ReplicaManager",
    "Partition",
    "Replica",
    "AbstractFetcherThread",
    "ReplicaFetcherThread",
    "RemoteLeaderEndPoint",
    "KRaftMetadataCache",
    "UnifiedLog",
    "LeaderEpochFileCache",
)
"""The classes of Kafka that the protocol is in, by their simple names."""


@dataclass(frozen=True)
class Lines:
    """How many lines of a class were executed, of how many."""

    name: str
    executed: int
    lines: int


class Coverage:
    """JaCoCo's agent for some drivers; each writes what it has executed into a file of its own."""

    def __init__(self, release: Release, folder: Path) -> None:
        jars = fetch_jars(POM, cache_folder() / "kafka" / f"jacoco-{JACOCO}", f"JaCoCo {JACOCO}")
        self.release, self.folder = release, folder
        self._agent = jars / f"org.jacoco.agent-{JACOCO}-runtime.jar"
        self._cli = jars / f"org.jacoco.cli-{JACOCO}-nodeps.jar"

    def options(self, number: int) -> tuple[str, ...]:
        """Return what Java is started with for one driver."""
        includes = ":".join(f"*.{name}*" for name in CONCERNED)
        return (f"-javaagent:{self._agent}=destfile={self.folder / f'{number}.exec'},includes={includes}",)

    def lines(self) -> list[Lines]:
        """Return what all drivers together have executed, once they have ended."""
        found = self.folder / "lines.xml"
        dumps = [str(path) for path in sorted(self.folder.glob("*.exec"))]
        classes = [option for jar in self._jars() for option in ("--classfiles", str(jar))]
        done = run(
            [tool("java"), "-jar", str(self._cli), "report", *dumps, *classes, "--xml", str(found)],
            REPORT_SECONDS,
            "JaCoCo",
        )
        if done.returncode != 0 or not found.is_file():
            raise UsageError(f"JaCoCo did not count the lines: {done.stderr.strip()[-500:]}")
        return counted(found.read_text(encoding="utf-8"))

    def _jars(self) -> list[Path]:
        """Return the jars that have the classes; JaCoCo refuses to look at one class twice."""
        return [path for path in sorted(self.release.jars.glob("kafka*.jar")) if "clients" not in path.name]


def counted(report: str) -> list[Lines]:
    """Return the lines of the classes that are concerned, with those of classes inside them, from JaCoCo's XML."""
    found: dict[str, list[int]] = {name: [0, 0] for name in CONCERNED}
    for item in ET.fromstring(report).iter("class"):  # noqa: S314 (written by the tool that was just run)
        simple = item.get("name", "").rpartition("/")[2].partition("$")[0]
        counter = next((one for one in item.findall("counter") if one.get("type") == "LINE"), None)
        if simple in found and counter is not None:
            covered, missed = int(counter.get("covered", 0)), int(counter.get("missed", 0))
            found[simple][0] += covered
            found[simple][1] += covered + missed
    return [Lines(name, executed, lines) for name, (executed, lines) in found.items() if lines]
