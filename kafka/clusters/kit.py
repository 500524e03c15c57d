"""The kit for a cluster of one release, with Kafka's jars and tools, Fencepost's client program, and fixes."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fencepost.explorers.running.cache import cache_folder
from fencepost.kafka.driver.releases import (
    BROKERS,
    Artifact,
    compile_driver,
    fetch_jars,
    line_of,
    locate_release,
    pom,
    run,
    tool,
)
from fencepost.model.language.errors import UsageError

SOURCES = Path(__file__).parent / "java"
EDITS = Path(__file__).parent / "edits"
LOGGING = SOURCES / "log4j2.xml"
REPAIRS = Path(__file__).parent / "repairs"
JAVASSIST = "3.30.2-GA"
"""Version of the library with which fixes edit class files; kafka-tools uses the same version."""
TOOLS_OF = {"4.4.0": "4.3.1"}
"""Releases for which Maven Central has no kafka-tools, with the release whose tools are used instead."""
OLDEST = (3, 9)
LOG4J = "2.25.3"
"""Version of the logging libraries, which are not among the dependencies of releases before 4.1."""
JAVA_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xmx256m")
"""Java options for a small heap and a fast start, because a scenario takes only about a minute."""


@dataclass(frozen=True)
class Kit:
    """A Kafka release with everything that its cluster needs. The fixed classes in `first` come before Kafka's own."""

    version: str
    jars: Path
    more: Path
    tools: Path
    classes: Path
    first: Path | None = None
    warning: str = ""

    @property
    def number(self) -> tuple[int, int]:
        return line_of(self.version)

    def java(self, main: str, *words: str) -> list[str]:
        first = [str(self.first)] if self.first else []
        path = os.pathsep.join([*first, str(self.classes), f"{self.jars}{os.sep}*", f"{self.more}{os.sep}*"])
        return [tool("java"), *JAVA_OPTIONS, f"-Dlog4j2.configurationFile={LOGGING}", "-cp", path, main, *words]

    def tool(self, main: str, *words: str) -> list[str]:
        path = f"{self.tools}{os.sep}*"
        return [tool("java"), *JAVA_OPTIONS, "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp", path, main, *words]

    def repaired(self, findings: Sequence[str], folder: Path) -> "Kit":
        """Return a kit with fixes for these findings. The fixed classes are written to `folder`."""
        self._repair(folder, *findings)
        return replace(self, first=folder)

    def switched(self, findings: Sequence[str], folder: Path) -> list[str]:
        """Write classes with all fixes that fit this release to `folder`, and return the findings that they fix. Each
        fix is in effect while the system property `fencepost.repair.FINDING` is true.
        """
        return self._repair(folder, "switched", *findings).split()

    def _repair(self, folder: Path, *findings: str) -> str:
        done = run(self.java("fencepost.clusters.Repair", str(folder), *findings), 60, "the repair")
        if done.returncode != 0:
            said = "\n".join(done.stderr.splitlines()[:6])
            raise UsageError(
                f"the fix for {' and '.join(findings)} does not fit Kafka {self.version}, whose class is "
                f"different:\n{said}"
            )
        return done.stdout


def kit(version: str | None, jars: Path | None = None) -> Kit:
    version, jars, warning = locate_release(version, jars)
    more = _more(version, jars)
    sources = (SOURCES, EDITS) if line_of(version) >= OLDEST else (EDITS,)
    return Kit(version, jars, more, _tools(version, jars), compile_driver(version, jars, sources, more), None, warning)


def _more(version: str, jars: Path) -> Path:
    wanted = [("org.javassist", "javassist", JAVASSIST)]
    cores = sorted(jars.glob("log4j-core-*.jar"))
    number = cores[0].stem.removeprefix("log4j-core-") if cores else LOG4J
    lacking = [] if cores else ["log4j-api", "log4j-core", "log4j-1.2-api"]
    wanted += (("org.apache.logging.log4j", artifact, number) for artifact in (*lacking, "log4j-slf4j-impl"))
    if list(jars.glob("log4j-slf4j*-impl-*.jar")) or list(jars.glob("slf4j-reload4j-*.jar")):
        wanted = wanted[:1]
    name = "-".join(["more", *(f"{artifact}-{number}" for _, artifact, number in wanted)])
    project = pom("kafka-cluster", *(Artifact(*found, alone=True) for found in wanted))
    return fetch_jars(
        project, cache_folder() / "kafka" / version / name, f"the libraries for a cluster of Kafka {version}"
    )


def _tools(version: str, jars: Path) -> Path:
    if list(jars.glob("kafka-tools-[0-9]*.jar")):
        return jars
    taken = TOOLS_OF.get(version, version) if BROKERS.knows(version) else list(TOOLS_OF.values())[-1]
    project = pom("kafka-tools", Artifact("org.apache.kafka", "kafka-tools", taken))
    return fetch_jars(project, cache_folder() / "kafka" / taken / "tools", f"Kafka {taken}'s command-line tools")
