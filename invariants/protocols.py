"""Protocols: named machines, each with its properties. A protocol is imported on first use, because importing all
protocols takes a tenth of a second.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module

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
        """Return the properties to compile, which include all default properties, so that later checks need no new
        compilation.
        """
        return (*self.properties, *(item for item in asked if item not in self.properties))

    def select(self, names: tuple[str, ...]) -> tuple[Property, ...]:
        """Return the properties with these names; without names, all except those in `on_request`.

        Raise UsageError for an unknown name.
        """
        if not names:
            return self.properties
        known = {item.name: item for item in self.every_property}
        require_known(names, known, f"protocol {self.name!r} has no property", "Properties are")
        return tuple(known[name] for name in dict.fromkeys(names))


def _lineage(name: str) -> Protocol:
    from fencepost.invariants import lineage, visible
    from fencepost.model.lineage import kip101, kip279, kip320, kip320_first_try, truncate_to_hwm

    parts = {"truncate-to-hwm": truncate_to_hwm, "kip101": kip101, "kip279": kip279,
        "kip320-first-try": kip320_first_try, "kip320": kip320}  # fmt: skip
    return Protocol(parts[name].MACHINE, lineage.PROPERTIES, visible=visible.LINEAGE)


def _replication() -> Protocol:
    from fencepost.invariants import replication, replication_liveness, replication_witnesses, visible
    from fencepost.model.cluster import machine

    on_request = (*replication_witnesses.PROPERTIES, *replication_liveness.PROPERTIES)
    return Protocol(machine.MACHINE, replication.PROPERTIES, on_request, visible.REPLICATION)


def _quorum() -> Protocol:
    from fencepost.invariants import quorum, quorum_liveness
    from fencepost.model.quorum import machine

    return Protocol(machine.MACHINE, quorum.PROPERTIES, quorum_liveness.PROPERTIES)


def _follower_reads() -> Protocol:
    from fencepost.invariants import follower_reads, follower_reads_cases, follower_reads_live
    from fencepost.model.consumers import machine

    on_request = (*follower_reads_cases.ON_REQUEST, *follower_reads_live.PROPERTIES)
    return Protocol(machine.MACHINE, follower_reads.PROPERTIES, on_request)


def _watermark_propagation() -> Protocol:
    from fencepost.invariants import watermark_propagation
    from fencepost.model.consumers.propagation import machine

    return Protocol(machine.MACHINE, watermark_propagation.PROPERTIES, watermark_propagation.ON_REQUEST)


def _controller_failover() -> Protocol:
    from fencepost.invariants import controller_failover
    from fencepost.model.controllers import machine

    on_request = (*controller_failover.ON_REQUEST, *controller_failover.LIVENESS)
    return Protocol(machine.MACHINE, controller_failover.PROPERTIES, on_request)


def _unclean_recovery() -> Protocol:
    from fencepost.invariants import recovery
    from fencepost.model.recovery import machine

    return Protocol(machine.MACHINE, recovery.PROPERTIES)


LINEAGE = ("truncate-to-hwm", "kip101", "kip279", "kip320-first-try", "kip320")
"""The published models."""


_OTHERS: dict[str, Callable[[], Protocol] | str] = {
    "replication": _replication, "quorum": _quorum, "metadata-reads": "clients.tokens",
    "leader-discovery": "clients.discovery", "hints-and-tokens": "clients.joint",
    "follower-reads": _follower_reads, "watermark-propagation": _watermark_propagation,
    "controller-failover": _controller_failover, "unclean-recovery": _unclean_recovery,
    "broker-sessions": "sessions", "topic-deltas": "topics", "idempotent-producer": "idempotence",
    "tiers": "tiers", "directory-moves": "moves",
}  # fmt: skip
"""The other protocols: how each is imported, or the folder of its machine, if its properties are in a module of its
name.
"""


@cache
def _imported(name: str) -> Protocol:
    if name in LINEAGE:
        return _lineage(name)
    made = _OTHERS[name]
    if not isinstance(made, str):
        return made()
    properties = import_module(f"fencepost.invariants.{name.replace('-', '_')}")
    machine = import_module(f"fencepost.model.{made}.machine")
    return Protocol(machine.MACHINE, properties.PROPERTIES, properties.LIVENESS)


class _Protocols(Mapping[str, Protocol]):
    """All protocols by name, in the order in which Kafka introduced them."""

    def __getitem__(self, name: str) -> Protocol:
        return _imported(name)

    def __contains__(self, name: object) -> bool:
        return name in LINEAGE or name in _OTHERS

    def __iter__(self) -> Iterator[str]:
        return iter((*LINEAGE, *_OTHERS))

    def __len__(self) -> int:
        return len(LINEAGE) + len(_OTHERS)


PROTOCOLS = _Protocols()


def protocol(name: str) -> Protocol:
    """Return the protocol with this name; raise UsageError if it does not exist."""
    require_known((name,), PROTOCOLS, "there is no protocol", "Protocols are")
    return PROTOCOLS[name]
