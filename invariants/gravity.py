"""The severity of properties: those whose violation loses or corrupts data, most severe first. All other
properties describe how the protocol works internally.
"""

from fencepost.model.language.actions import Property

_CONSEQUENCES = {
    "replication.acknowledged_survives": "An acknowledged record can be lost",
    "replication.leader_has_acknowledged": "A leader can lack an acknowledged record",
    "replication.leader_has_committed": "A leader can lack a committed record",
    "recovery.leader_has_committed": "A leader can lack a committed record",
    "recovery.nobody_who_answered_had_more": "An election can lose a committed record that a queried broker has",
    "recovery.nobody_had_more": "An election can lose a committed record",
    "replication.candidates_have_committed": "A replica that lacks a committed record can be elected",
    "lineage.strong_isr": "A replica that lacks a committed record can be elected",
    "lineage.weak_isr": "A member of the ISR can lack a committed record",
    "replication.leaders_show_committed": "Consumers can read two versions of a record",
    "replication.replicas_show_committed": "Consumers can read a record that was never committed",
    "replication.logs_match_below_high_watermark": "Committed records can differ between replicas",
    "replication.logs_match": "Records can differ between replicas",
    "controller_failover.leader_has_what_is_acknowledged": "A leader can lack an acknowledged record",
    "controller_failover.isr_has_what_is_acknowledged": "A replica that lacks an acknowledged record can be elected",
    "controller_failover.committed_metadata_is_the_same_everywhere":
        "Committed metadata can differ between controllers",
    "quorum.leader_holds_committed": "A leader can lack committed metadata",
    "quorum.committed_is_the_same_everywhere": "Committed metadata can differ between nodes",
    "quorum.nobody_truncates_committed": "A node can truncate committed metadata",
    "quorum.majority_holds_committed": "Committed metadata can be missing from a majority",
    "follower_reads.deliveries_are_committed": "A consumer can read a record that is not committed",
    "follower_reads.reads_are_repeatable": "A consumer can read two records at one offset",
    "follower_reads.nothing_is_skipped": "A consumer can skip a committed record",
    "metadata_reads.own_writes_are_read": "A client can fail to read its own write",
    "metadata_reads.reads_are_monotonic": "A client can read older metadata than it read before",
    "metadata_reads.deliveries_are_monotonic": "A client can read older metadata than it read before",
}  # fmt: skip
"""Consequences of violations, most severe first. A key names the property's module in `fencepost.invariants` and its
function, so that no module needs to be imported.
"""
_RANKS = {name: rank for rank, name in enumerate(_CONSEQUENCES)}


def _name(prop: Property) -> str:
    return f"{prop.function.__module__}.{prop.function.__name__}".removeprefix("fencepost.invariants.")


def consequence(prop: Property) -> str:
    """Return the consequence of violating a property, or "" if the property is not listed."""
    return _CONSEQUENCES.get(_name(prop), "")


def gravity(prop: Property) -> int:
    """Return a property's rank by severity, from 0 (worst). Properties that are not listed share the last rank."""
    return _RANKS.get(_name(prop), len(_RANKS))
