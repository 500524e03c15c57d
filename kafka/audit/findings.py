"""Kinds of audit findings: the severity, the guarantee, and what to check on the brokers."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

Severity = Literal["critical", "high", "medium", "low"]
SEVERITIES: tuple[Severity, ...] = ("critical", "high", "medium", "low")
GUARANTEES = "docs/kafka/replication.md"
REPAIRED = {**dict.fromkeys(("G-S6b", "HYP-1", "HYP-10", "HYP-11", "HYP-12", "HYP-13", "HYP-14"), ""), "HYP-17": "4.3"}
"""The release that fixes each finding; empty if no release up to 4.4.0 does."""


@dataclass(frozen=True)
class Sort:
    """A kind of finding: the controller violated an invariant, or records may be lost (an exposure). `findings.toml`
    documents the fields.
    """

    name: str
    severity: Severity
    about: str
    rule: str
    sentence: str
    look: str
    violation: bool = False
    of_copies: bool = False
    before: tuple[str, str] = ("", "")
    """A release, and the rule before it (3.x is compared with metadata.version, 4.x with the controllers' release)."""

    @property
    def page(self) -> str:
        if self.about == "G-S1":
            return "docs/kafka/losing-data.md"
        return f"docs/kafka/findings/{self.about.lower()}.md" if self.about.startswith("HYP-") else GUARANTEES

    def rule_of(self, version: str, in_force: str) -> str:
        release, earlier = self.before
        old = (in_force if release < "4" else version) < f"kafka-{release}"
        return earlier if release and old else self.rule

    def remedy(self, version: str) -> str:
        repaired = REPAIRED.get(self.about)
        if not repaired:
            return self.look if repaired is None else f"{self.look} No release up to 4.4.0 contains a fix."
        now = ", which these controllers run" if version >= f"kafka-{repaired}" else ": upgrade"
        return f"{self.look} This is fixed in Kafka {repaired}{now if version else ''}."


class Found(NamedTuple):
    """A finding about a partition and some of its brokers. `lasted` is its duration in ms, or -1 if momentary."""

    sort: str
    severity: Severity
    offset: int
    time: int
    end: int
    lasted: int
    brokers: tuple[int, ...]
    text: str


def _sorts() -> Iterator[Sort]:
    data = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    texts = {name: " ".join(text.split()) for name, text in data["texts"].items()}
    for name, item in data["finding"].items():
        rule, sentence, look = (" ".join(item.pop(key).split()) for key in ("rule", "sentence", "look"))
        before = tuple(item.pop("before", ("", "")))
        yield Sort(name, rule=rule, sentence=sentence, look=look.format(**texts), before=before, **item)


SORTS: dict[str, Sort] = {item.name: item for item in _sorts()}
