"""Protocols: a named machine with the properties that are checked on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fencepost.invariants import (
    broker_sessions,
    controller_failover,
    follower_reads,
    follower_reads_cases,
    follower_reads_live,
    hints_and_tokens,
    idempotent_producer,
    leader_discovery,
    lineage,
    metadata_reads,
    quorum,
    quorum_liveness,
    recovery,
    replication,
    replication_liveness,
    replication_witnesses,
    tiers,
    topic_deltas,
    visible,
    watermark_propagation,
)
from fencepost.model.cluster import state as cluster
from fencepost.model.language import Action, Machine, Property
from fencepost.model.language.errors import require_known
from fencepost.model.lineage import base
from fencepost.model.protocols import MACHINES


@dataclass(frozen=True)
class Protocol:
    """A machine and its properties. Properties in `on_request` are checked only if named: they need the whole state
    graph, or apply to unusual constants.
    """

    machine: Machine
    properties: tuple[Property, ...]
    on_request: tuple[Property, ...] = ()
    visible: tuple[Callable[..., int], ...] = ()
    """Functions `(state, constants) -> number` for the parts of a state that a client can see."""
    left_out: tuple[Action | Property, ...] = ()
    """Definitions in the model's file that are not part of the machine."""
    files: tuple[tuple[str, str], ...] = ()
    """Text of a user's own model and of its modules, by path; empty for shipped protocols."""

    @property
    def name(self) -> str:
        """Return the machine's name, as on the command line."""
        return self.machine.name

    @property
    def every_property(self) -> tuple[Property, ...]:
        """Return all properties. Those that are checked only on request come last."""
        return (*self.properties, *self.on_request)

    def compiled_with(self, asked: tuple[Property, ...]) -> tuple[Property, ...]:
        """Return the properties to compile for the requested ones.

        The usual properties are included, so that requesting one of them later needs no new compilation.
        """
        return (*self.properties, *(item for item in asked if item not in self.properties))

    def select(self, names: tuple[str, ...]) -> tuple[Property, ...]:
        """Return the properties with these names, by default all except those on request.

        Raise UsageError for an unknown name.
        """
        if not names:
            return self.properties
        known = {item.name: item for item in self.every_property}
        require_known(names, known, f"protocol {self.name!r} has no property", "Properties are")
        return tuple(known[name] for name in dict.fromkeys(names))


_PROPERTIES = {
    "replication": replication.PROPERTIES, "quorum": quorum.PROPERTIES, "metadata-reads": metadata_reads.PROPERTIES,
    "leader-discovery": leader_discovery.PROPERTIES, "hints-and-tokens": hints_and_tokens.PROPERTIES,
    "follower-reads": follower_reads.PROPERTIES, "watermark-propagation": watermark_propagation.PROPERTIES,
    "controller-failover": controller_failover.PROPERTIES, "unclean-recovery": recovery.PROPERTIES,
    "broker-sessions": broker_sessions.PROPERTIES, "topic-deltas": topic_deltas.PROPERTIES,
    "idempotent-producer": idempotent_producer.PROPERTIES, "tiers": tiers.PROPERTIES,
}  # fmt: skip
"""Properties of each machine. Machines not listed are published models, which share their properties."""
_ON_REQUEST = {
    "replication": (*replication_witnesses.PROPERTIES, *replication_liveness.PROPERTIES),
    "controller-failover": (*controller_failover.ON_REQUEST, *controller_failover.LIVENESS),
    "quorum": quorum_liveness.PROPERTIES, "metadata-reads": metadata_reads.LIVENESS,
    "leader-discovery": leader_discovery.LIVENESS, "hints-and-tokens": hints_and_tokens.LIVENESS,
    "watermark-propagation": watermark_propagation.ON_REQUEST, "broker-sessions": broker_sessions.LIVENESS,
    "topic-deltas": topic_deltas.LIVENESS, "idempotent-producer": idempotent_producer.LIVENESS, "tiers": tiers.LIVENESS,
    "follower-reads": (*follower_reads_cases.ON_REQUEST, *follower_reads_live.PROPERTIES),
}  # fmt: skip
"""Properties that are checked only if they are named."""

_VISIBLE: dict[type, tuple[Callable[..., int], ...]] = {base.State: visible.LINEAGE, cluster.State: visible.REPLICATION}
"""Parts of a state that clients see, by the state's class."""

PROTOCOLS: dict[str, Protocol] = {
    machine.name: Protocol(
        machine,
        _PROPERTIES.get(machine.name, lineage.PROPERTIES),
        _ON_REQUEST.get(machine.name, ()),
        _VISIBLE.get(machine.state, ()),
    )
    for machine in MACHINES
}

LINEAGE = tuple(machine.name for machine in MACHINES if machine.state is base.State)
"""The published models."""


def protocol(name: str) -> Protocol:
    """Return the protocol with this name; raise UsageError if it does not exist."""
    require_known((name,), PROTOCOLS, "there is no protocol", "Protocols are")
    return PROTOCOLS[name]
