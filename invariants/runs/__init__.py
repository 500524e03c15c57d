"""The runs of the catalogue and the evidence they give, by family of protocols."""

from fencepost.invariants.catalogue import Evidence, Run
from fencepost.invariants.runs import (
    client_claims,
    discovery_evidence,
    failover,
    follower_evidence,
    joint,
    lineage,
    quorum,
    replication,
    replication_liveness,
    tokens_evidence,
)


def merged(*families: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    """Return one piece of evidence for each entry: an entry that several families settle has the cases of all."""
    found: dict[str, Evidence] = {}
    for item in (item for family in families for item in family):
        before = found.get(item.entry, Evidence(item.entry, ()))
        found[item.entry] = Evidence(
            item.entry,
            before.cases + item.cases,
            answer=" ".join(part for part in (before.answer, item.answer) if part),
            verdict=item.verdict or before.verdict,
            gap=item.gap or before.gap,
        )
    return tuple(found.values())


_FAMILIES = (
    lineage,
    replication,
    replication_liveness,
    quorum,
    failover,
    tokens_evidence,
    discovery_evidence,
    joint,
    follower_evidence,
    client_claims,
)
RUNS: tuple[Run, ...] = tuple(run for family in _FAMILIES for run in family.RUNS)
EVIDENCE: tuple[Evidence, ...] = merged(*(family.EVIDENCE for family in _FAMILIES))
