"""Protocols: named machines with their properties, imported on first use because importing all of them takes 0.1 s."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from fencepost.model.language import Action, Machine, Property
from fencepost.model.language.errors import require_known


@dataclass(frozen=True)
class Protocol:
    """A machine and its properties. Properties in `on_request` are checked only if they are named, because they need
    the whole state graph or unusual constants.
    """

    machine: Machine
    properties: tuple[Property, ...]
    on_request: tuple[Property, ...] = ()
    visible: tuple[Callable[..., int], ...] = ()
    """Functions `(state, constants) -> number`, each of which returns a part of the state that a client can see."""
    left_out: tuple[Action | Property, ...] = ()
    """Definitions in the model's file that are not part of the machine."""
    files: tuple[tuple[str, str], ...] = ()
    """Source text of a user's own model and of its modules, by path; empty for shipped protocols."""

    @property
    def name(self) -> str:
        """Return the machine's name."""
        return self.machine.name

    @property
    def every_property(self) -> tuple[Property, ...]:
        """Return all properties, ending with those in `on_request`."""
        return (*self.properties, *self.on_request)

    def compiled_with(self, asked: tuple[Property, ...]) -> tuple[Property, ...]:
        """Return the properties to compile, including all default ones, so that later checks need no compilation."""
        return (*self.properties, *(item for item in asked if item not in self.properties))

    def select(self, names: tuple[str, ...]) -> tuple[Property, ...]:
        """Return the properties with these names; if none are given, all except those in `on_request`.

        Raise UsageError for an unknown name.
        """
        if not names:
            return self.properties
        known = {item.name: item for item in self.every_property}
        require_known(names, known, f"protocol {self.name!r} has no property", "The properties are")
        return tuple(known[name] for name in dict.fromkeys(names))


LINEAGE = ("truncate-to-hwm", "kip101", "kip279", "kip320-first-try", "kip320")
_NAMES = (
    *LINEAGE, "replication", "quorum", "metadata-reads", "leader-discovery", "hints-and-tokens", "follower-reads",
    "watermark-propagation", "controller-failover", "unclean-recovery", "broker-sessions", "topic-deltas",
    "idempotent-producer", "tiers", "directory-moves",
)  # fmt: skip


@cache
def _imported(name: str) -> Protocol:
    if name in LINEAGE:
        from fencepost.invariants import lineage, visible
        from fencepost.model.lineage import kip101, kip279, kip320, kip320_first_try, truncate_to_hwm

        models = zip(LINEAGE, (truncate_to_hwm, kip101, kip279, kip320_first_try, kip320), strict=True)
        return Protocol(dict(models)[name].MACHINE, lineage.PROPERTIES, visible=visible.LINEAGE)
    if name == "replication":
        from fencepost.invariants import replication, replication_liveness, replication_witnesses, visible
        from fencepost.model.cluster import machine

        live = (*replication_witnesses.PROPERTIES, *replication_liveness.PROPERTIES)
        return Protocol(machine.MACHINE, replication.PROPERTIES, live, visible.REPLICATION)
    if name == "follower-reads":
        from fencepost.invariants import follower_reads, follower_reads_cases, follower_reads_live
        from fencepost.model.consumers import machine as consumers

        on_request = (*follower_reads_cases.ON_REQUEST, *follower_reads_live.PROPERTIES)
        return Protocol(consumers.MACHINE, follower_reads.PROPERTIES, on_request)
    LIVENESS: tuple[Property, ...] = ()  # noqa: N806 (as it is imported)
    if name == "quorum":
        from fencepost.invariants.quorum import PROPERTIES
        from fencepost.invariants.quorum_liveness import PROPERTIES as LIVENESS
        from fencepost.model.quorum.machine import MACHINE
    elif name == "watermark-propagation":
        from fencepost.invariants import watermark_propagation
        from fencepost.model.consumers.propagation.machine import MACHINE

        return Protocol(MACHINE, watermark_propagation.PROPERTIES, watermark_propagation.ON_REQUEST)
    elif name == "controller-failover":
        from fencepost.invariants import controller_failover as failover
        from fencepost.model.controllers.machine import MACHINE

        return Protocol(MACHINE, failover.PROPERTIES, (*failover.ON_REQUEST, *failover.LIVENESS))
    elif name == "unclean-recovery":
        from fencepost.invariants.recovery import PROPERTIES
        from fencepost.model.recovery.machine import MACHINE
    elif name == "metadata-reads":
        from fencepost.invariants.metadata_reads import LIVENESS, PROPERTIES
        from fencepost.model.clients.tokens.machine import MACHINE
    elif name == "leader-discovery":
        from fencepost.invariants.leader_discovery import LIVENESS, PROPERTIES
        from fencepost.model.clients.discovery.machine import MACHINE
    elif name == "hints-and-tokens":
        from fencepost.invariants.hints_and_tokens import LIVENESS, PROPERTIES
        from fencepost.model.clients.joint.machine import MACHINE
    elif name == "broker-sessions":
        from fencepost.invariants.broker_sessions import LIVENESS, PROPERTIES
        from fencepost.model.sessions.machine import MACHINE
    elif name == "topic-deltas":
        from fencepost.invariants.topic_deltas import LIVENESS, PROPERTIES
        from fencepost.model.topics.machine import MACHINE
    elif name == "idempotent-producer":
        from fencepost.invariants.idempotent_producer import LIVENESS, PROPERTIES
        from fencepost.model.idempotence.machine import MACHINE
    elif name == "tiers":
        from fencepost.invariants.tiers import LIVENESS, PROPERTIES
        from fencepost.model.tiers.machine import MACHINE
    else:
        from fencepost.invariants.directory_moves import LIVENESS, PROPERTIES
        from fencepost.model.moves.machine import MACHINE
    return Protocol(MACHINE, PROPERTIES, LIVENESS)


class _Protocols(Mapping[str, Protocol]):
    """All protocols by name, in the order in which Kafka introduced them."""

    def __getitem__(self, name: str) -> Protocol:
        if name not in self:
            raise KeyError(name)
        return _imported(name)

    def __contains__(self, name: object) -> bool:
        return name in _NAMES

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


PROTOCOLS = _Protocols()


def protocol(name: str) -> Protocol:
    """Return the protocol with this name; raise UsageError if it does not exist."""
    require_known((name,), PROTOCOLS, "there is no protocol", "The protocols are")
    return PROTOCOLS[name]
