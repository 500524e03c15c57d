"""The runs of the catalogue and the evidence they give, by family of protocols."""

from fencepost.invariants.catalogue import Evidence, Run
from fencepost.invariants.runs import lineage, quorum, replication


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


RUNS: tuple[Run, ...] = (*lineage.RUNS, *replication.RUNS, *quorum.RUNS)
EVIDENCE: tuple[Evidence, ...] = merged(lineage.EVIDENCE, replication.EVIDENCE, quorum.EVIDENCE)
