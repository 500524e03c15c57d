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
    leader_discovery,
    lineage,
    metadata_reads,
    quorum,
    quorum_liveness,
    recovery,
    replication,
    replication_liveness,
    replication_witnesses,
    visible,
    watermark_propagation,
)
from fencepost.model.cluster import state as cluster
from fencepost.model.language import Action, Machine, Property
from fencepost.model.language.errors import UsageError, nearest
from fencepost.model.lineage import base
from fencepost.model.protocols import MACHINES


@dataclass(frozen=True)
class Protocol:
    """A machine and what must hold of it.

    Properties `on_request` are checked only where they are named: they need the whole graph of states, or are about
    constants other than the usual ones.
    """

    machine: Machine
    properties: tuple[Property, ...]
    on_request: tuple[Property, ...] = ()
    visible: tuple[Callable[..., int], ...] = ()
    """What a client can see of a state, as functions `(state, constants) -> number`."""
    left_out: tuple[Action | Property, ...] = ()
    """What its file defines and makes no part of it."""
    files: tuple[tuple[str, str], ...] = ()
    """The text of a user's own model and of the modules beside it, by path; empty for one of ours."""

    @property
    def name(self) -> str:
        """The machine's name, as on the command line."""
        return self.machine.name

    @property
    def every_property(self) -> tuple[Property, ...]:
        """All properties, those on request last."""
        return (*self.properties, *self.on_request)

    def compiled_with(self, asked: tuple[Property, ...]) -> tuple[Property, ...]:
        """Return what is compiled where these are asked:
        the usual properties too, so that asking for one of them compiles nothing.
        """
        return (*self.properties, *(item for item in asked if item not in self.properties))

    def select(self, names: tuple[str, ...]) -> tuple[Property, ...]:
        """Return the properties of these names, if none is named all but those on request;
        raise UsageError for an unknown one.
        """
        if not names:
            return self.properties
        known = {item.name: item for item in self.every_property}
        for name in names:
            if name not in known:
                raise UsageError(
                    f"protocol {self.name!r} has no property {name!r}.{nearest(name, list(known))} "
                    f"Properties are: {', '.join(known)}."
                )
        return tuple(known[name] for name in dict.fromkeys(names))


_PROPERTIES = {
    "replication": replication.PROPERTIES,
    "quorum": quorum.PROPERTIES,
    "metadata-reads": metadata_reads.PROPERTIES,
    "leader-discovery": leader_discovery.PROPERTIES,
    "hints-and-tokens": hints_and_tokens.PROPERTIES,
    "follower-reads": follower_reads.PROPERTIES,
    "watermark-propagation": watermark_propagation.PROPERTIES,
    "controller-failover": controller_failover.PROPERTIES,
    "unclean-recovery": recovery.PROPERTIES,
    "broker-sessions": broker_sessions.PROPERTIES,
}
"""The properties of each machine; those not named are the published models, which share theirs."""
_ON_REQUEST = {
    "replication": (
        *replication_witnesses.PROPERTIES,
        *replication_liveness.PROPERTIES,
    ),
    "controller-failover": (*controller_failover.ON_REQUEST, *controller_failover.LIVENESS),
    "quorum": quorum_liveness.PROPERTIES,
    "metadata-reads": metadata_reads.LIVENESS,
    "leader-discovery": leader_discovery.LIVENESS,
    "hints-and-tokens": hints_and_tokens.LIVENESS,
    "watermark-propagation": watermark_propagation.ON_REQUEST,
    "broker-sessions": broker_sessions.LIVENESS,
    "follower-reads": (*follower_reads_cases.ON_REQUEST, *follower_reads_live.PROPERTIES),
}
"""The properties that are checked only where they are named."""

_VISIBLE: dict[type, tuple[Callable[..., int], ...]] = {base.State: visible.LINEAGE, cluster.State: visible.REPLICATION}
"""What clients see, by the class of a machine's state."""

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
    """Return the protocol of this name; raise UsageError if there is none."""
    if name not in PROTOCOLS:
        known = list(PROTOCOLS)
        raise UsageError(f"there is no protocol {name!r}.{nearest(name, known)} Protocols are: {', '.join(known)}.")
    return PROTOCOLS[name]
