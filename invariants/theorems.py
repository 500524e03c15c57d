"""Theorems: properties proved by induction, each with a variant of the protocol for which the proof must fail.

A lemma is a state predicate that holds in the protocol and helps to make a conjunction inductive. Lemmas are not
guarantees of Kafka, so `check` does not evaluate them; `prove` finds a lemma by its name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fencepost.invariants import (
    broken,
    leader_discovery,
    lineage_lemmas,
    metadata_reads,
    quorum_lemmas,
    replication_lemmas,
    token_store,
)
from fencepost.invariants.protocols import LINEAGE, PROTOCOLS, Protocol, protocol
from fencepost.model.clients.discovery.constants import Accepts
from fencepost.model.clients.tokens import alone
from fencepost.model.language import Machine, Property
from fencepost.model.language.errors import require_known

WIDEST = (1 << 63) - 1
"""The largest value of a 64-bit field on the wire."""


@dataclass(frozen=True)
class Twin:
    """A theorem with one rule removed, so that a step of `action` must violate the induction. The rule is removed by
    setting constants or by modifying the machine. For a theorem about every state, `action` is the violated property.
    """

    rule: str
    """A short description of the removed rule."""
    action: str
    constants: Mapping[str, int] = field(default_factory=dict)
    machine: Machine | None = None


@dataclass(frozen=True)
class Theorem:
    """A theorem and its proof. `goals` follow by induction, together with `lemmas`, for every value of `unbounded`.

    `everywhere` means that the theorem is about all values of the state's fields, not about steps; `havoc_loops` means
    that loops made unbounded by `unbounded` may write any value.
    """

    name: str
    says: str
    protocol: str
    goals: tuple[str, ...]
    unbounded: Mapping[str, int | None]
    """Unbounded constants, each with its maximum value, or with None if there is no maximum."""
    twin: Twin
    lemmas: tuple[str, ...] = ()
    constants: Mapping[str, int] = field(default_factory=dict)
    everywhere: bool = False
    havoc_loops: bool = False
    entries: tuple[str, ...] = ()
    """The entries that the theorem covers."""

    @property
    def found(self) -> Protocol:
        """Return the protocol."""
        return OWN.get(self.protocol) or protocol(self.protocol)

    @property
    def properties(self) -> tuple[Property, ...]:
        """Return the goals and the lemmas."""
        return select(self.found, self.goals + self.lemmas)


OWN = {alone.MACHINE.name: Protocol(alone.MACHINE, token_store.PROPERTIES)}
"""Machines that exist only for a proof."""
LEMMAS: dict[str, tuple[Property, ...]] = {
    **dict.fromkeys(LINEAGE, lineage_lemmas.LEMMAS),
    "replication": replication_lemmas.LEMMAS,
    "quorum": quorum_lemmas.LEMMAS,
    "metadata-reads": metadata_reads.LEMMAS,
    "leader-discovery": leader_discovery.LEMMAS,
}
_EPOCHS: dict[str, int | None] = dict.fromkeys(("max_leader_epoch", "max_records"))
_OFFSETS: dict[str, int | None] = _EPOCHS | {"log_size": None}
_LONGEST = WIDEST - 4
"""Number of records in the longest quorum log with 64-bit offsets; another 3 start epochs, so it ends at 2**63 - 2."""
_BUDGETS: dict[str, int | None] = dict.fromkeys(
    (
        "max_leader_epoch",
        "max_records",
        "crashes",
        "clean_stops",
        "fences",
        "shrinks",
        "elections",
        "resends",
        "lags",
        "disk_swaps",
    )
)
_TWO = {"replicas": 2}
_THREE = {"replicas": 3}
_BROKERS = {"brokers": 3}
_ONE_LEADER_KNOWS = (
    "applied-images-exist",
    "leader-epochs-have-one-leader",
    "partition-epochs-tell-changes",
    "leaders-wait-for-no-answer",
)
_EVERY_PAIRING = {"version_18": 0b101}
"""Only nodes 0 and 2 support Fetch version 18, so every combination of leader and follower occurs."""
_LEADERS = ("quorum-is-the-last-decision", "beliefs-are-decisions")

THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        "kip320-high-watermark",
        "No high watermark is beyond the end of its log.",
        "kip320",
        ("high-watermark-is-in-the-log",),
        _OFFSETS,
        Twin(
            "the leader has every record that it commits",
            "leader-increase-high-watermark",
            machine=broken.LEADER_NOT_COUNTED,
        ),
        lemmas=_LEADERS,
        constants=_THREE,
        havoc_loops=True,
    ),
    Theorem(
        "kip320-one-leader",
        "No two replicas lead in the same leader epoch.",
        "kip320",
        ("one-leader-per-epoch",),
        _OFFSETS,
        Twin("only the replica that a decision names leads", "become-leader", machine=broken.ANY_LEADER_LEADS),
        lemmas=_LEADERS,
        constants=_THREE,
        havoc_loops=True,
    ),
    Theorem(
        "kip320-leader-in-isr",
        "The controller's leader, if there is one, is in the ISR.",
        "kip320",
        ("leader-in-isr-or-none",),
        _OFFSETS,
        Twin("leaders come from the ISR", "controller-elect-leader", machine=broken.ANYONE_IS_ELECTED),
        lemmas=(*_LEADERS, "leader-knows-the-isr"),
        constants=_THREE,
        havoc_loops=True,
        entries=("LIN-3",),
    ),
    Theorem(
        "kip320-strong-isr",
        "Every member of the quorum's ISR has all records below the high watermark of any replica that considers "
        "itself the leader.",
        "kip320",
        ("strong-isr",),
        _EPOCHS,
        Twin(
            "followers truncate where the logs diverge",
            "become-follower-and-truncate",
            machine=broken.TRUNCATES_TO_HIGH_WATERMARK,
        ),
        lemmas=tuple(item.name for item in lineage_lemmas.LEMMAS),
        constants=_TWO,
        havoc_loops=True,
        entries=("LIN-2",),
    ),
    Theorem(
        "replication-one-leader",
        "No two brokers lead in the same leader epoch.",
        "replication",
        ("one-leader-per-epoch",),
        _BUDGETS,
        Twin("every new leader starts a new epoch", "controller-fences-broker", {"election_opens_epoch": 0}),
        lemmas=("applied-images-exist", "leader-epochs-have-one-leader"),
        constants=_BROKERS,
        havoc_loops=True,
        entries=("G-S5",),
    ),
    Theorem(
        "replication-high-watermark",
        "A leader's high watermark never decreases within its epoch, and no high watermark is beyond the end of its "
        "log.",
        "replication",
        ("leader-high-watermark-never-falls", "high-watermark-is-in-the-log"),
        _BUDGETS,
        Twin("a leader never lowers its high watermark", "broker-applies-metadata", {"high_watermark_only_rises": 0}),
        lemmas=_ONE_LEADER_KNOWS,
        constants=_BROKERS,
        havoc_loops=True,
        entries=("G-S4",),
    ),
    Theorem(
        "replication-maximal-isr",
        "A leader raises its high watermark no further than any member of the maximal ISR has fetched, and no "
        "further than its own log end.",
        "replication",
        ("high-watermark-is-held-when-it-rises",),
        _BUDGETS,
        Twin("the high watermark waits for members that a request may add", "leader-handles-fetch", {"maximal_isr": 0}),
        lemmas=("high-watermark-is-in-the-log", *_ONE_LEADER_KNOWS),
        constants=_BROKERS,
        havoc_loops=True,
        entries=("G-S4",),
    ),
    Theorem(
        "kip903-stale-epochs",
        "No request with a stale broker, leader or partition epoch changes the ISR, and no broker joins the ISR with "
        "a stale broker epoch.",
        "replication",
        ("applied-requests-are-current", "joining-epoch-is-registered"),
        _BUDGETS,
        Twin(
            "the controller compares broker epochs",
            "controller-applies-alter-partition",
            {"alter_partition_version": 2},
        ),
        constants=_BROKERS,
        havoc_loops=True,
        entries=("G-S13", "KIP903-S1"),
    ),
    Theorem(
        "kip1166-parking",
        "If HighWatermark is missing, a fetch is parked as before KIP-1166; otherwise, the rule distinguishes -1, "
        "stale, current and later high watermarks.",
        "quorum",
        tuple(item.name for item in quorum_lemmas.LEMMAS),
        {"max_records": _LONGEST},
        Twin("the leader compares high watermarks", "stale-replicas-are-answered", {"compares_high_watermarks": 0}),
        constants=_EVERY_PAIRING,
        everywhere=True,
        entries=("K1166-S1", "K1166-S2"),
    ),
    Theorem(
        "kip951-leader-epochs",
        "The leader epoch that a client uses for a topic never decreases, whichever hints and metadata responses "
        "arrive, in any order.",
        "leader-discovery",
        ("leader-epochs-never-fall", "stale-metadata-leaves-the-leader"),
        dict.fromkeys(("elections", "restarts")),
        Twin("a hint must have a newer epoch", "client-receives-response", {"accepts": Accepts.ANY}),
        lemmas=("without-epoch-none-was-used", "metadata-has-leader-epochs"),
        constants={"partitions": 2, "changes": 5, "recreations": 1},
        entries=("K951-S1", "K951-S2"),
    ),
    Theorem(
        "token-store-algebra",
        "`later` is associative, commutative and idempotent, an unknown offset is its unit, and storing contexts has "
        "these properties too.",
        alone.MACHINE.name,
        tuple(item.name for item in token_store.PROPERTIES),
        {"offsets": WIDEST},
        Twin("the store keeps the greater offset", "order-means-nothing", machine=alone.LAST_WINS),
        entries=("SEED-TOKEN-34", "SEED-TOKEN-37"),
    ),
    Theorem(
        "token-store-grows",
        "The offset of a store never decreases, and the store's cluster id never changes once it is set.",
        "metadata-reads",
        ("stores-only-grow",),
        dict.fromkeys(("offsets", "restarts", "foreign_contexts", "wrong_contexts", "rebuilds")),
        Twin(
            "storeLatest is one step", "client-delivers-answer", {"atomic_store": 0, "exports": 1, "component_reads": 1}
        ),
        lemmas=("nothing-is-half-stored",),
        constants={
            "component_reads": 1,
            "forwarded_writes": 1,
            "direct_writes": 1,
            "unlisted_requests": 1,
            "exports": 1,
        },
        entries=("TOK-S8",),
    ),
)


def provable(found: Protocol) -> tuple[Property, ...]:
    """Return everything that can be proved about a protocol: its properties and lemmas, but no witnesses."""
    own = LEMMAS.get(found.name, ()) if PROTOCOLS.get(found.name) is found else ()
    return tuple(item for item in (*found.every_property, *own) if item.kind.must_hold)


def select(found: Protocol, names: tuple[str, ...]) -> tuple[Property, ...]:
    """Return the named properties and lemmas (default: all properties); raise UsageError for an unknown name."""
    if not names:
        return tuple(item for item in found.properties if item.kind.must_hold)
    known = {item.name: item for item in (*found.every_property, *provable(found))}
    require_known(names, known, f"protocol {found.name!r} has no property or lemma", "They are")
    return tuple(known[name] for name in dict.fromkeys(names))


def theorem(name: str) -> Theorem:
    """Return the theorem with this name; raise UsageError if it does not exist."""
    known = {item.name: item for item in THEOREMS}
    require_known((name,), known, "there is no proof", "Proofs are")
    return known[name]
