"""The runs of the catalogue and the evidence they give, by family of protocols."""

from fencepost.invariants.catalogue import Evidence, Run
from fencepost.invariants.runs import lineage

RUNS: tuple[Run, ...] = lineage.RUNS
EVIDENCE: tuple[Evidence, ...] = lineage.EVIDENCE
