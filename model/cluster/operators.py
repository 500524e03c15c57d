"""An operator's questions about replication: what versions contain, what closes it, what settings mean."""

from fencepost.model.cluster.constants import C, Judging, Loss
from fencepost.model.language import Repair

REPAIRS = (
    Repair(
        "HYP-1", "a leader that is elected again forgets its followers' log ends", {"reset_followers_on_reelection": 1}
    ),
    Repair(
        "HYP-2",
        "only a fenced broker registers again",
        {"fenced_before_registration": 1},
        {"registration_leaves_isr": 0},
    ),
    Repair("HYP-3", "metadata with an equal partition epoch changes nothing", {"equal_partition_epoch_overwrites": 0}),
    Repair("HYP-9", "leaders compare fetches with the epochs of fenced brokers too", {"fenced_epoch_check": 1}),
    Repair("HYP-10", "who loses its replica leaves the ELR", {"elr_within_replicas": 1}, {"elr": 1}),
    Repair(
        "HYP-11",
        "the ELR is filled by the smallest min ISR that a broker may still act on",
        {"elr_judged_by": Judging.HEARTBEATS},
        {"elr": 1},
    ),
    Repair(
        "HYP-12",
        "a change of min ISR leaves partitions without a leader alone",
        {"leaderless_elr_is_cleared": 0},
        {"elr": 1},
    ),
    Repair("HYP-14", "an ELR elects nobody once ELR is turned off", {"stale_elr_elects": 0}, {"elr": 1}),
)
"""What closes the findings that follow from Kafka's code as it reads: `--version kafka-4.1-repaired` has all of it."""
LOSSES = {
    Loss.NONE: "a crash loses nothing that was written: a process dies, its disk and the page cache stay",
    Loss.OUTSIDE_ISR: "a crash loses the log of a broker that is not in the ISR, and of no other",
    Loss.ANY: "every crash loses the log, as when power fails before anything was flushed, or a disk is replaced",
}


def terms(c: C) -> tuple[str, ...]:
    """Say what a run allows and what it counts as lost."""
    often = "once" if c.crashes == 1 else f"{c.crashes} times"
    lost = Loss(c.loss)
    allowed = f"{c.brokers} brokers, min.insync.replicas {c.min_isr}; brokers crash {often} in all, and {LOSSES[lost]}"
    return (
        f"{allowed} (loss={lost.name.lower().replace('_', '-')}).",
        "A record is lost where leader-has-acknowledged (G-S2) or acknowledged-survives (G-S2b) is violated.",
    )
