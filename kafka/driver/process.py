"""The Java process with Kafka's classes: starting and ending it, sending commands, and counting executed lines."""

import json
import os
import re
import selectors
import subprocess
import tempfile
import xml.etree.ElementTree as ET
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from fencepost.explorers.running.cache import cache_folder
from fencepost.kafka.driver.releases import Artifact, Release, fetch_jars, pom, run, tool
from fencepost.model.language.errors import UsageError

PATIENCE = 60.0
"""Timeout, in seconds, for an answer from the driver."""
SLICE = 1.0
"""Seconds per wait. If Ctrl-Z suspends a run, only one wait counts towards the timeout."""
CLOSING = 20.0
"""Seconds within which a process must exit, including the time that JaCoCo's agent needs to write its file."""
MEMORY_FOLDER = Path("/dev/shm")  # noqa: S108 (only the parent of a private folder; checkpoint files slow disks down)


class DriverError(UsageError):
    """Error for a process that died, hung, or gave an invalid answer."""


class FailedError(DriverError):
    def __init__(self, message: str, why: str) -> None:
        super().__init__(message)
        self.why = why


KAFKAS = re.compile(r"\tat (?:\S+//)?((?:org\.apache\.kafka|kafka)\.[\w.$]+)\(([^)]*)\)")


def thrown(trace: str) -> str:
    where = next((item for item in KAFKAS.finditer(trace) if "Fencepost" not in item[1]), None)
    place = f" at {'.'.join(where[1].split('.')[-2:])} ({where[2]})" if where else ""
    return f"throws {trace.partition(chr(10))[0].strip()}{place}"


class Driver:
    def __init__(self, release: Release, patience: float = PATIENCE) -> None:
        self.release, self.patience = release, patience
        self._start()

    def _start(self) -> None:
        self._folder = tempfile.TemporaryDirectory(
            prefix="fencepost-kafka-", dir=MEMORY_FOLDER if os.access(MEMORY_FOLDER, os.W_OK) else None
        )
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `close`)
        self._rest = b""
        self._failed = False
        self._selector = selectors.DefaultSelector()
        self._process = subprocess.Popen(  # noqa: S603 (our own command)
            self.release.command(self._folder.name),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "LC_ALL": "C"},
        )
        assert self._process.stdout is not None
        self._selector.register(self._process.stdout, selectors.EVENT_READ)
        try:
            self.version = self._greeting()
        except BaseException:
            self.close()
            raise

    def _greeting(self) -> str:
        told = self._read().get("kafka")
        if not isinstance(told, str):
            raise DriverError(f"the driver for Kafka {self.release.version} printed an unexpected first line.")
        return told

    def ask(self, line: str) -> dict[str, Any]:
        answer = self._answered(line)
        if "state" not in answer:
            raise DriverError(
                f"the driver for Kafka {self.release.version} gave an unexpected answer to {line!r}: {answer}."
            )
        return answer

    def _answered(self, line: str) -> dict[str, Any]:
        if self._failed:
            self.close()
            self._start()
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode("ascii") + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            self._gone(line)
        answer = self._read(line)
        if "changed" in answer:
            raise DriverError(
                f"Kafka {self.release.version} lacks {answer['changed']}, which the driver needs. Use a supported "
                f"release: {', '.join(self.release.known)}."
            )
        if "broken" in answer:
            self._failed = True
            why = thrown(answer["broken"])
            raise FailedError(f"the driver for Kafka {self.release.version} failed on {line!r}: it {why}.", why)
        return answer

    def tell(self, line: str) -> dict[str, Any]:
        """Return the driver's answer to `dump` (the fields of Kafka's objects, by path) or `memory` (bytes in use)."""
        answer = self._answered(line)
        if not isinstance(answer.get("told"), dict):
            raise DriverError(
                f"the driver for Kafka {self.release.version} gave an unexpected answer to {line!r}: {answer}."
            )
        return dict(answer["told"])

    def _read(self, asked: str = "its start") -> dict[str, Any]:
        assert self._process.stdout is not None
        left = self.patience
        while b"\n" not in self._rest:
            if self._selector.select(min(SLICE, left)):
                found = os.read(self._process.stdout.fileno(), 1 << 16)
                if not found:
                    self._gone(asked)
                self._rest += found
                continue
            left -= SLICE
            if left <= 0:
                self._process.kill()
                self._failed = True
                raise FailedError(
                    f"the driver for Kafka {self.release.version} did not answer {asked!r} within "
                    f"{self.patience:g} s; the driver was ended.",
                    f"does not answer within {self.patience:g} s",
                )
        line, _, self._rest = self._rest.partition(b"\n")
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise DriverError(
                f"the driver for Kafka {self.release.version} gave an invalid answer to {asked!r}: {line[:200]!r}."
            )
        return answer

    def _gone(self, asked: str) -> None:
        status = self._process.wait(timeout=self.patience)
        self._errors.seek(0)
        lines = self._errors.read()[-2000:].decode("utf-8", "replace").splitlines()
        said = "\n".join(
            line for line in lines if not line.startswith("SLF4J: ")
        ).strip()  # the logging library is omitted on purpose
        self._failed = True
        raise FailedError(
            f"the driver for Kafka {self.release.version} died at {asked!r} with status {status}"
            + (f", saying:\n{said}" if said else " without output."),
            f"exits with status {status}",
        )

    def close(self) -> None:
        self._selector.close()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        try:
            self._process.wait(timeout=CLOSING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


JACOCO = "0.8.12"
JARS = {"agent": "runtime", "cli": "nodeps"}
REPORT_SECONDS = 120

CONCERNED = (
    *("ReplicationControlManager", "PartitionChangeBuilder", "ClusterControlManager", "BrokerHeartbeatManager"),
    *("DefaultAlterPartitionManager", "ReplicaManager", "Partition", "Replica", "AbstractFetcherThread"),
    *("ReplicaFetcherThread", "RemoteLeaderEndPoint", "KRaftMetadataCache", "UnifiedLog", "LeaderEpochFileCache"),
)
"""Simple names of the Kafka classes that implement the protocol."""


@dataclass(frozen=True)
class ClassLines:
    name: str
    executed: int
    lines: int


class LineCoverage:
    """JaCoCo's agent for several drivers, each of which records its executed lines in its own file."""

    def __init__(self, release: Release, folder: Path) -> None:
        needed = [Artifact("org.jacoco", f"org.jacoco.{name}", JACOCO, kind) for name, kind in JARS.items()]
        jars = fetch_jars(
            pom("jacoco-jars", *needed), cache_folder() / "kafka" / f"jacoco-{JACOCO}", f"JaCoCo {JACOCO}"
        )
        self.release, self.folder = release, folder
        self._agent = jars / f"org.jacoco.agent-{JACOCO}-runtime.jar"
        self._cli = jars / f"org.jacoco.cli-{JACOCO}-nodeps.jar"

    def options(self, number: int) -> tuple[str, ...]:
        includes = ":".join(f"*.{name}*" for name in CONCERNED)
        return (f"-javaagent:{self._agent}=destfile={self.folder / f'{number}.exec'},includes={includes}",)

    def lines(self) -> list[ClassLines]:
        found = self.folder / "lines.xml"
        dumps = [str(path) for path in sorted(self.folder.glob("*.exec"))]
        jars = sorted(self.release.jars.glob("kafka*.jar"))  # JaCoCo rejects duplicate classes
        classes = [option for jar in jars if "clients" not in jar.name for option in ("--classfiles", str(jar))]
        words = [tool("java"), "-jar", str(self._cli), "report", *dumps, *classes, "--xml", str(found)]
        done = run(words, REPORT_SECONDS, "JaCoCo")
        if done.returncode != 0 or not found.is_file():
            raise UsageError(f"JaCoCo could not count the executed lines: {done.stderr.strip()[-500:]}")
        return count_lines(found.read_text(encoding="utf-8"))


def count_lines(report: str) -> list[ClassLines]:
    found: dict[str, list[int]] = {name: [0, 0] for name in CONCERNED}
    for item in ET.fromstring(report).iter("class"):  # noqa: S314 (written by the tool that was just run)
        simple = item.get("name", "").rpartition("/")[2].partition("$")[0]
        counter = next((one for one in item.findall("counter") if one.get("type") == "LINE"), None)
        if simple in found and counter is not None:
            covered, missed = int(counter.get("covered", 0)), int(counter.get("missed", 0))
            found[simple][0] += covered
            found[simple][1] += covered + missed
    return [ClassLines(name, executed, lines) for name, (executed, lines) in found.items() if lines]
