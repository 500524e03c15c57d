"""Java and Maven: tools that are found, commands that are run to their end, and jars that are fetched once."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from fencepost.model.language.errors import UsageError

JAVA = 17
MAVEN_SECONDS = 300
"""How long Maven may take; it downloads some 50 MB the first time."""
PROJECT = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>fencepost</groupId>
  <artifactId>{name}</artifactId>
  <version>1</version>
  <dependencies>{dependencies}
  </dependencies>
</project>
"""
DEPENDENCY = """
    <dependency>
      <groupId>{group}</groupId>
      <artifactId>{name}</artifactId>
      <version>{version}</version>{more}
    </dependency>"""
EXCLUSION = """
      <exclusions>
        <exclusion>
          <groupId>{}</groupId>
          <artifactId>{}</artifactId>
        </exclusion>
      </exclusions>"""


class Artifact(NamedTuple):
    """An artifact of Maven, `without` one of those that it needs, or `alone`, without all of them."""

    group: str
    name: str
    version: str
    classifier: str = ""
    without: tuple[str, str] | None = None
    alone: bool = False


def pom(name: str, *artifacts: Artifact) -> str:
    """Return a project of Maven that depends on some artifacts."""
    dependencies = []
    for item in artifacts:
        more = f"\n      <classifier>{item.classifier}</classifier>" if item.classifier else ""
        without = ("*", "*") if item.alone else item.without
        more += EXCLUSION.format(*without) if without else ""
        dependencies.append(DEPENDENCY.format(group=item.group, name=item.name, version=item.version, more=more))
    return PROJECT.format(name=name, dependencies="".join(dependencies))


def tool(name: str) -> str:
    """Return the path of `java` or `javac`: of JAVA_HOME, else of PATH."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(name, path=str(Path(home) / "bin")) if home else shutil.which(name)
    if found is None:
        where = f"JAVA_HOME={home} has none" if home else "PATH has none"
        raise UsageError(
            f"`{name}` was not found: {where}. Kafka's classes run on Java {JAVA} or newer: install a JDK "
            f"(Debian: apt-get install openjdk-{JAVA}-jdk-headless) or set JAVA_HOME."
        )
    return found


def java_version() -> int:
    """Return the major version of Java; raise UsageError if it is missing or too old."""
    told = run([tool("java"), "-version"], 30, "Java").stderr
    found = re.search(r'version "(\d+)', told)
    if found is None or int(found[1]) < JAVA:
        was = found[1] if found else told.strip()
        raise UsageError(
            f"Kafka's classes need Java {JAVA} or newer, and `{tool('java')}` is {was}: set JAVA_HOME to another."
        )
    return int(found[1])


def missing_tools() -> str:
    """Say in one sentence what is missing to run Kafka's classes by Maven; an empty string if nothing is."""
    try:
        java_version()
        tool("javac")
    except UsageError as error:
        return str(error)
    return "" if shutil.which("mvn") else "Maven (`mvn`) was not found, which brings Kafka's jars."


def fetch_jars(pom: str, jars: Path, what: str, instead: str = "give a folder of jars as `jars=`") -> Path:
    """Return a folder with the jars that a project of Maven needs, which Maven brings the first time.

    `instead` is what to do without Maven.
    """
    if jars.is_dir():
        return jars
    maven = shutil.which("mvn")
    if maven is None:
        raise UsageError(
            f"Maven (`mvn`) was not found, which brings {what}: install it (Debian: apt-get install maven) or "
            f"{instead}."
        )
    jars.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=jars.parent) as work:
        (Path(work) / "pom.xml").write_text(pom, encoding="utf-8")
        command = [
            maven,
            "-q",
            "-B",
            "dependency:copy-dependencies",
            "-DoutputDirectory=jars",
            "-DincludeScope=runtime",
        ]
        done = run(command, MAVEN_SECONDS, "Maven", Path(work))
        if done.returncode != 0:
            lines = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout).splitlines()  # Maven colours, whatever it is told
            told = (line.removeprefix("[ERROR] ") for line in lines if line.startswith("[ERROR]"))
            # after a blank line it advertises its manual
            said = "\n".join(takewhile(str.strip, told))[:1500] or done.stderr[:1500]
            raise UsageError(
                f"Maven did not bring {what}:\n{said.strip()}\n"
                "Run this again where Maven Central can be reached, or give a folder of jars as `jars=`."
            )
        move_folder(Path(work) / "jars", jars)
    return jars


def move_folder(made: Path, kept: Path) -> None:
    """Move a finished folder to where it stays; another process may have been as quick."""
    try:
        made.rename(kept)
    except OSError:
        shutil.rmtree(made, ignore_errors=True)
        if not kept.is_dir():
            raise


def run(command: list[str], seconds: float, what: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, and raise UsageError if it cannot start or takes too long."""
    try:
        return subprocess.run(  # noqa: S603 (our own commands)
            command, cwd=folder, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise UsageError(
            f"{what} was not done within {seconds:g} s and was ended: `{' '.join(command[:4])} ...`."
        ) from error
    except OSError as error:
        raise UsageError(f"{what} cannot be started: `{command[0]}`: {error.strerror}.") from error
