"""Protocols that can be run on Kafka's classes, with their bindings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import fencepost.kafka.moves.mapping as moves
import fencepost.kafka.quorum.mapping as quorum
import fencepost.kafka.replication.mapping as replication
import fencepost.kafka.sessions.mapping as sessions
import fencepost.kafka.tiers.mapping as tiers
import fencepost.kafka.topics.mapping as topics
from fencepost.invariants.protocols import protocol as named_protocol
from fencepost.kafka.driver.ablation import Ablation
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
"""The protocol whose partition changes can be compared and whose findings can be decided."""


@dataclass(frozen=True)
class Binding:
    """A protocol's binding to Kafka's classes: the driver, the execution of histories, and the mapping of states."""

    protocol: str
    harness: Harness
    follow: Callable[[Driver, Interpreter], Execution]
    small: Mapping[str, int]
    refuse: Callable[[Constants, str], str | None]
    rules: Callable[[str], dict[str, int]]
    """Return the constants with which a version of the model matches Kafka and the driver."""
    not_compared: Mapping[str, str]
    not_driven: Mapping[str, str]
    limits: tuple[str, ...]
    ablation: Ablation
    """The classification of guards, and the rules to vary."""

    @property
    def machine(self) -> Machine:
        return named_protocol(self.protocol).machine

    def make_sure_drivable(self, version: str, constants: Constants) -> None:
        why = self.refuse(constants, version)
        if why:
            raise UsageError(
                f"Kafka cannot be compared with these constants: {why}. Kafka's rules are fixed, so do not change "
                "the constants that the version sets."
            )

    def as_built(self, version: str, constants: Constants) -> Constants:
        """Return a trace's constants with the rules of this version, but with the trace's sizes and budgets."""
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
REPLICATION = Binding(
    protocol="replication", harness=BROKERS, follow=Brokers, small=replication.SMALL, refuse=replication.refuse,
    rules=replication.rules, not_compared=replication.NOT_COMPARED, not_driven=replication.NOT_DRIVEN,
    limits=replication.LIMITS, ablation=ABLATION,
)  # fmt: skip
QUORUM = Binding(
    protocol="quorum", harness=QUORUMS, follow=Nodes, small=quorum.SMALL, refuse=quorum.refuse, rules=quorum.rules,
    not_compared=quorum.NOT_COMPARED, not_driven=quorum.NOT_DRIVEN, limits=quorum.LIMITS, ablation=QUORUM_ABLATION,
)  # fmt: skip
TIERS = Binding(
    protocol="tiers", harness=LOGS, follow=tiers.Logs, small=tiers.SMALL, refuse=tiers.refuse, rules=tiers.rules,
    not_compared=tiers.NOT_COMPARED, not_driven=tiers.NOT_DRIVEN, limits=tiers.LIMITS, ablation=tiers.ABLATION,
)  # fmt: skip
MOVES = Binding(
    protocol="directory-moves", harness=DIRECTORIES, follow=moves.Directories, small=moves.SMALL, refuse=moves.refuse,
    rules=moves.rules, not_compared=moves.NOT_COMPARED, not_driven=moves.NOT_DRIVEN, limits=moves.LIMITS,
    ablation=moves.ABLATION,
)  # fmt: skip
SESSIONS = Binding(
    protocol="broker-sessions", harness=HEARTBEATS, follow=sessions.Sessions, small=sessions.SMALL,
    refuse=sessions.refuse, rules=sessions.rules, not_compared=sessions.NOT_COMPARED, not_driven=sessions.NOT_DRIVEN,
    limits=sessions.LIMITS, ablation=sessions.ABLATION,
)  # fmt: skip
TOPICS = Binding(
    protocol="topic-deltas", harness=IMAGES, follow=topics.Topics, small=topics.SMALL, refuse=topics.refuse,
    rules=topics.rules, not_compared=topics.NOT_COMPARED, not_driven=topics.NOT_DRIVEN, limits=topics.LIMITS,
    ablation=topics.ABLATION,
)  # fmt: skip
BINDINGS: dict[str, Binding] = {item.protocol: item for item in (REPLICATION, QUORUM, TIERS, MOVES, SESSIONS, TOPICS)}


def binding(protocol: str) -> Binding:
    if protocol not in BINDINGS:
        known = ", ".join(f"`{name}`" for name in BINDINGS)
        raise UsageError(f"protocol {protocol!r} has no binding to Kafka's classes. Only {known} have one.")
    return BINDINGS[protocol]
