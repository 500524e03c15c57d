"""Protocols that can be run on Kafka's classes, with their bindings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import fencepost.kafka.moves.mapping as moves
import fencepost.kafka.quorum.mapping as quorum
import fencepost.kafka.replication.mapping as replication
import fencepost.kafka.sessions.mapping as sessions
import fencepost.kafka.tiers.mapping as tiers
import fencepost.kafka.topics.mapping as topics
from fencepost.invariants.protocols import protocol as named_protocol
from fencepost.kafka.driver.ablation import Ablation, rules_as_built
from fencepost.kafka.driver.execute import Execution
from fencepost.kafka.driver.process import Driver
from fencepost.kafka.driver.releases import BROKERS, HERE, KAFKA, Harness
from fencepost.kafka.quorum.guards import ABLATION as QUORUM_ABLATION
from fencepost.kafka.quorum.nodes import Nodes
from fencepost.kafka.replication.brokers import Brokers
from fencepost.kafka.replication.guards import ABLATION
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import UsageError
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.language.machine import Machine

FORMAT = 1
PROTOCOL = "replication"
"""The protocol whose partition changes can be compared, and whose findings can be confirmed or refuted."""


@dataclass(frozen=True)
class Binding:
    """A protocol's binding to Kafka's classes: the driver, the execution of histories, and the mapping of states."""

    protocol: str
    harness: Harness
    follow: Callable[[Driver, Interpreter], Execution]
    small: Mapping[str, int]
    refuse: Callable[[Constants], str | None] | None
    """Return another reason why Kafka cannot be run with these constants, or None."""
    rules: Callable[[str], dict[str, int]]
    """Return the constants with which a version of the model matches Kafka and the driver."""
    not_compared: Mapping[str, str]
    not_driven: Mapping[str, str]
    limits: tuple[str, ...]
    ablation: Ablation
    """How guards are classified, and which rules are varied."""

    @property
    def machine(self) -> Machine:
        return named_protocol(self.protocol).machine

    def why_not(self, version: str, constants: Constants) -> str | None:
        """Return why Kafka cannot be compared with these constants under a version's rules, or None."""
        if self.refuse and (why := self.refuse(constants)):
            return why
        rules = self.rules(version).items()
        other = next((f"{name}={value}" for name, value in rules if constants.values[name] != value), None)
        return other and f"{other} differs from Kafka or the driver"

    def make_sure_drivable(self, version: str, constants: Constants) -> None:
        if why := self.why_not(version, constants):
            raise UsageError(
                f"Kafka cannot be compared with these constants: {why}. Kafka's rules are fixed, so do not change "
                "the constants that the version sets."
            )

    def as_built(self, version: str, constants: Constants) -> Constants:
        """Return constants with the rules of this version, and with the trace's sizes and budgets."""
        values = {name: int(value) for name, value in constants.values.items()}
        return self.machine.set_constants({**values, **self.rules(version)})


QUORUMS = Harness(
    quorum.RELEASES, "org.apache.kafka.raft.FencepostQuorum", (HERE / "loop", KAFKA / "quorum" / "java"), "kafka-raft"
)
LOGS = Harness(
    tiers.RELEASES,
    "org.apache.kafka.server.log.remote.storage.FencepostTiers",
    (HERE / "loop", KAFKA / "tiers" / "java"),
)
DIRECTORIES = Harness(moves.RELEASES, "fencepost.Moves", (*BROKERS.sources, KAFKA / "moves" / "java"))
HEARTBEATS = Harness(
    sessions.RELEASES, "org.apache.kafka.controller.FencepostSessions", (*BROKERS.sources, KAFKA / "sessions" / "java")
)
IMAGES = Harness(
    topics.RELEASES, "fencepost.Topics", (*BROKERS.sources, KAFKA / "topics" / "java"), patches=topics.PATCHES
)


def _bound(
    protocol: str, parts: Any, follow: Callable[[Driver, Interpreter], Execution], harness: Harness, ablation: Ablation
) -> Binding:
    rules = getattr(parts, "rules", lambda v: rules_as_built(named_protocol(protocol).machine, v, parts.AS_BUILT))
    return Binding(
        protocol, harness, follow, parts.SMALL, getattr(parts, "refuse", None), rules, parts.NOT_COMPARED,
        parts.NOT_DRIVEN, parts.LIMITS, ablation,
    )  # fmt: skip


REPLICATION = _bound("replication", replication, Brokers, BROKERS, ABLATION)
QUORUM = _bound("quorum", quorum, Nodes, QUORUMS, QUORUM_ABLATION)
TIERS = _bound("tiers", tiers, tiers.Logs, LOGS, tiers.ABLATION)
MOVES = _bound("directory-moves", moves, moves.Directories, DIRECTORIES, moves.ABLATION)
SESSIONS = _bound("broker-sessions", sessions, sessions.Sessions, HEARTBEATS, sessions.ABLATION)
TOPICS = _bound("topic-deltas", topics, topics.Topics, IMAGES, topics.ABLATION)
BINDINGS: dict[str, Binding] = {item.protocol: item for item in (REPLICATION, QUORUM, TIERS, MOVES, SESSIONS, TOPICS)}


def binding(protocol: str) -> Binding:
    if protocol not in BINDINGS:
        known = ", ".join(f"`{name}`" for name in BINDINGS)
        raise UsageError(f"protocol {protocol!r} has no binding to Kafka's classes. Only {known} have one.")
    return BINDINGS[protocol]
