"""A Java process that answers queries about Kafka's message classes and code, and verdicts on claims."""

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from fencepost.kafka.driver import releases
from fencepost.kafka.driver.process import Driver

SOURCES = Path(__file__).parent / "java"
RAFT = "org.apache.kafka.raft.KafkaRaftClient"
MESSAGES = "org.apache.kafka.common.message"


@dataclass(frozen=True)
class Jars(releases.Release):
    def command(self, folder: str) -> list[str]:
        del folder
        jars = [str(path) for path in sorted(self.jars.glob("*.jar"))]
        path = os.pathsep.join([str(self.classes), *jars])
        return [releases.tool("java"), *releases.JAVA_OPTIONS, *self.options, "-cp", path, "fencepost.schemas.Schemas"]


def jars_of(version: str) -> Jars:
    version, jars, warning = releases.locate_release(version)
    return Jars(
        version, releases.model_of(version), jars, releases.compile_driver(version, jars, (SOURCES,)), warning=warning
    )


@dataclass(frozen=True)
class Trip:
    bytes: int
    read: str
    refused: str

    def value(self, name: str) -> str | None:
        found = re.search(rf"\b{name}=(\[\]|[^,()\[\]]*)", self.read)
        return found[1] if found else None


class Classes(Driver):
    def fields(self, message: str) -> dict[int, dict[str, str]]:
        """Return the type of each field of a message, and the tags of tagged fields, by version and path."""
        return {int(version): fields for version, fields in self.tell(f"fields {message}").items()}

    def trip(self, message: str, version: int, **values: Any) -> Trip:
        return _trip(self.tell(f"trip {message} {version} {json.dumps(values)}"))

    def built(self, what: str, version: int) -> Trip:
        """Create a request in a version with Kafka's builder, serialize it, and deserialize it."""
        return _trip(self.tell(f"build {what} {version}"))

    def header(self, api: str, version: int) -> dict[str, int]:
        """Read a request header that contains an unknown tagged field."""
        return self.tell(f"header {api} {version}")

    def has(self, name: str, member: str = "") -> bool:
        return bool(self.tell(f"has {name} {member}".strip())["there"])

    def code(self, name: str, method: str) -> list[str]:
        """Return everything a method refers to, in order: `Class.member`, `member` of the same class, `long -1l`."""
        found: list[str] = self.tell(f"code {name} {method}")["refers"]
        return found

    def callers(self, name: str, method: str) -> list[str]:
        found: list[str] = self.tell(f"callers {name} {method}")["callers"]
        return found

    def constant(self, name: str, member: str) -> Any:
        return self.tell(f"constant {name} {member}")["value"]

    def named(self, part: str) -> list[str]:
        return sorted(name for name in releases.classes_in(self.release.jars) if part in name)


def _trip(told: dict[str, Any]) -> Trip:
    return Trip(told.get("bytes", 0), told.get("read", ""), told.get("refused", ""))


ClaimCheck = Callable[["Classes"], "Observation"]


class ClaimVerdict(StrEnum):
    HOLDS = "holds"
    DIFFERS = "differs"
    NOT_BUILT = "not built"


@dataclass(frozen=True)
class Observation:
    verdict: ClaimVerdict
    what: str


def holds_if(condition: object, what: str, otherwise: str) -> Observation:
    return Observation(ClaimVerdict.HOLDS, what) if condition else Observation(ClaimVerdict.DIFFERS, otherwise)


def not_built(what: str) -> Observation:
    return Observation(ClaimVerdict.NOT_BUILT, what)


def not_built_if(condition: object, what: str, otherwise: str) -> Observation:
    return not_built(what) if condition else Observation(ClaimVerdict.DIFFERS, otherwise)


def in_order(refers: list[str], *names: str) -> bool:
    rest = iter(refers)
    return all(name in rest for name in names)


def span(versions: list[int]) -> str:
    return f"{versions[0]} to {versions[-1]}" if len(versions) > 1 else ", ".join(map(str, versions)) or "none"
