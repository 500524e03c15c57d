"""What is proved: properties that an induction carries, with the lemmas it needs, and the broken twin that it must not carry.

A lemma is a predicate over states that is true of the protocol and makes a conjunction inductive. It is no promise of
Kafka's, so it is not among the properties that `check` evaluates; `prove --property` knows it by its name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fencepost.invariants import lineage_lemmas
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language.actions import Kind
from fencepost.model.language.errors import UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fencepost.invariants.protocols import Protocol
    from fencepost.model.language import Property


@dataclass(frozen=True)
class Twin:
    """The same question of a protocol with one rule broken: `action` must then break the induction."""

    broken: str
    """The rule that is gone, in a few words."""
    action: str
    constants: Mapping[str, int] = field(default_factory=dict)
    protocol: str = ""
    """Another protocol that lacks the rule; empty: the same one under `constants`."""


@dataclass(frozen=True)
class Theorem:
    """A proof of the catalogue: `goals` follow by induction, together with `lemmas`, for every value of `unbounded`."""

    name: str
    says: str
    protocol: str
    goals: tuple[str, ...]
    unbounded: tuple[str, ...]
    twin: Twin
    lemmas: tuple[str, ...] = ()
    constants: Mapping[str, int] = field(default_factory=dict)
    entries: tuple[str, ...] = ()
    """The entries of `claims.toml` that it is about."""

    @property
    def properties(self) -> tuple[str, ...]:
        """Goals and lemmas."""
        return self.goals + self.lemmas


PROVABLE = (Kind.ALWAYS, Kind.STEP)
"""What induction is about."""
_LINEAGE = ("truncate-to-hwm", "kip101", "kip279", "kip320-first-try", "kip320")
LEMMAS: dict[str, tuple[Property, ...]] = dict.fromkeys(_LINEAGE, lineage_lemmas.LEMMAS)
"""The lemmas by protocol."""
THEOREMS: tuple[Theorem, ...] = ()


def provable(found: Protocol) -> tuple[Property, ...]:
    """Return everything that can be asked to be proved of a protocol: its properties and lemmas, no witness."""
    own = LEMMAS.get(found.name, ()) if PROTOCOLS.get(found.name) is found else ()
    return tuple(item for item in (*found.properties, *own) if item.kind in PROVABLE)


def select(found: Protocol, names: tuple[str, ...]) -> tuple[Property, ...]:
    """Return the properties and lemmas of these names, all properties if none is named; raise UsageError for an unknown one."""
    if not names:
        return tuple(item for item in found.properties if item.kind in PROVABLE)
    known = {item.name: item for item in (*found.properties, *provable(found))}
    for name in names:
        if name not in known:
            raise UsageError(
                f"protocol {found.name!r} has no property or lemma {name!r}.{nearest(name, list(known))} They are: {', '.join(known)}."
            )
    return tuple(known[name] for name in dict.fromkeys(names))


def theorem(name: str) -> Theorem:
    """Return the theorem of this name; raise UsageError if there is none."""
    known = {item.name: item for item in THEOREMS}
    if name not in known:
        raise UsageError(f"there is no proof {name!r}.{nearest(name, list(known))} Proofs are: {', '.join(known)}.")
    return known[name]
