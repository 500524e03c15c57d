"""Kinds of findings of an audit: severity, guarantee, and what to look at on the brokers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Severity = Literal["critical", "high", "medium", "low"]
SEVERITIES: tuple[Severity, ...] = ("critical", "high", "medium", "low")
"""The worst first."""
GUARANTEES = "docs/kafka/replication.md"
FINDINGS = "docs/kafka/findings"


@dataclass(frozen=True)
class Sort:
    """A kind of finding.

    A violation breaks an invariant of the controller; an exposure is a state from which records may be lost.
    """

    name: str
    violation: bool
    severity: Severity
    about: str
    """The id of the guarantee or of the finding."""
    page: str
    sentence: str
    look: str
    """Advice: where to look, and what to do."""


class Found(NamedTuple):
    """A finding about a partition and some of its brokers. `lasted` is in milliseconds, -1 for a moment."""

    sort: str
    severity: Severity
    offset: int
    time: int
    end: int
    lasted: int
    brokers: tuple[int, ...]
    text: str


COMPARE = (
    "Compare the logs of the replicas: `kafka-dump-log.sh` of the last segments around the leader "
    "epoch's start, and lines "
    "'Truncating partition' in the logs of followers; records that only a deposed leader has are lost for consumers."
)
STATE = (
    "Look for manual changes of the metadata, for mixed versions of controllers, and report it: Kafka's "
    "controller does not do this."
)


SORTS: dict[str, Sort] = {
    item.name: item
    for item in (
        Sort(
            "isr-not-sane",
            True,
            "critical",
            "G-S6",
            GUARANTEES,
            "Leader, ISR, ELR and replicas do not fit together.",
            STATE,
        ),
        Sort(
            "inactive-member",
            True,
            "high",
            "G-S6",
            GUARANTEES,
            "A broker that is fenced or shutting down leads or stays in the ISR.",
            (
                "Look at the broker's log for 'fenced' and at its heartbeats; records acknowledged meanwhile may "
                "be on fewer brokers than the ISR says."
            ),
        ),
        Sort(
            "elr-without-replica",
            True,
            "high",
            "G-S6b",
            GUARANTEES,
            (
                "A reassignment took the replica of a broker, which stayed in the ELR, the list of those that "
                "may lead without loss. With a new, empty replica it can be elected."
            ),
            "Do not add this broker to the partition again before the ISR has min.insync.replicas members: "
            "then the ELR is empty. See `Elr` in "
            "`kafka-topics.sh --describe`. No release up to 4.4.0 prevents it.",
        ),
        Sort(
            "stale-member",
            True,
            "high",
            "G-S7",
            GUARANTEES,
            "A broker has registered again and stayed in the ISR with its old place (KIP-903, HYP-2).",
            f"Its log may be shorter than that of the incarnation that was in sync. {COMPARE}",
        ),
        Sort(
            "elr-not-by-rule",
            True,
            "high",
            "G-S6",
            GUARANTEES,
            "The eligible leader replicas are not those that KIP-966's rule gives.",
            STATE,
        ),
        Sort(
            "not-electable",
            True,
            "critical",
            "G-S1b",
            GUARANTEES,
            "A leader was elected as if cleanly that was neither in the ISR nor in the ELR.",
            f"{COMPARE} {STATE}",
        ),
        Sort(
            "epoch-not-opened",
            True,
            "high",
            "G-S5",
            GUARANTEES,
            "A leader or a replica changed and no leader epoch was opened.",
            f"Two brokers may have written in one epoch. {COMPARE}",
        ),
        Sort(
            "nobody-elected",
            True,
            "high",
            "G-L6",
            GUARANTEES,
            "There is no leader, although an eligible broker is active.",
            (
                "Elect by hand: `kafka-leader-election.sh --election-type preferred`; look at the active "
                "controller's log for errors."
            ),
        ),
        Sort(
            "unknown-partition",
            True,
            "medium",
            "G-S13",
            GUARANTEES,
            "A partition is changed that was deleted or never created.",
            STATE,
        ),
        Sort(
            "snapshot-differs",
            True,
            "critical",
            "G-S5",
            GUARANTEES,
            "A snapshot has another state of the partition than the records before it.",
            (
                "Brokers that start from the snapshot and those that follow the log disagree. Compare "
                "`kafka-metadata-shell.sh` on both."
            ),
        ),
        Sort(
            "created-twice",
            True,
            "high",
            "G-S13",
            GUARANTEES,
            "A partition that is there is created again.",
            STATE,
        ),
        Sort(
            "removed-replica-elected",
            False,
            "critical",
            "HYP-10",
            f"{FINDINGS}/hyp-10.md",
            (
                "A broker was elected that had deleted its log: a reassignment had taken its replica, and left "
                "it in the ELR, the list of those that may lead without loss."
            ),
            "Take acknowledged records for lost until the logs are compared. The leader before has them as "
            "long as it has not followed the new "
            "one: keep it down, and copy the partition's folder from its disk. If it is back, 'Truncating "
            "partition' in its log says from which "
            "offset they are gone; producers must send those again, or you from the copy. Until the ISR has "
            "min.insync.replicas members, "
            "cancel no reassignment, and give no broker a replica again that has just lost it. No release up "
            "to 4.4.0 prevents it.",
        ),
        Sort(
            "emptied-elr-elected",
            False,
            "critical",
            "HYP-17",
            f"{FINDINGS}/hyp-17.md",
            "The last known leader was elected after the assignment of a directory had emptied the ELR: "
            "it alone could be elected, and others may have had more.",
            "If its disk was new or empty, take what was acknowledged for lost on it and on all that have followed it "
            "since. A replica that is still down has its records: keep it down, and copy the partition's folder from "
            "its disk. If it is back, 'Truncating partition' in its log says from which offset they are gone; "
            "producers must send those again, or you from the copy. Kafka 4.3 has the repair.",
        ),
        Sort(
            "elr-emptied",
            False,
            "high",
            "HYP-17",
            f"{FINDINGS}/hyp-17.md",
            "A broker assigned a replica to a directory, and that emptied the ELR, the list of those that may lead "
            "without loss.",
            "While there is no leader, only the last known leader can be elected now, whatever its disk has. Stop that "
            "broker if its disk is new, and elect one that has everything: an unclean election. Start brokers with "
            "new disks only while every partition has a leader. Kafka 4.3 has the repair.",
        ),
        Sort(
            "late-min-isr-elected",
            False,
            "critical",
            "HYP-11",
            f"{FINDINGS}/hyp-11.md",
            "A broker was elected as an eligible leader that became eligible just after min ISR was raised.",
            f"The former leader may have acknowledged records alone by the old min ISR. {COMPARE}",
        ),
        Sort(
            "late-min-isr",
            False,
            "high",
            "HYP-11",
            f"{FINDINGS}/hyp-11.md",
            "The ISR fell below a min ISR that had just been raised, and who left it is eligible to lead.",
            (
                "Until the ISR is at min ISR again do not restart the leader. Raise min ISR only while all "
                "replicas are in sync, and wait."
            ),
        ),
        Sort(
            "min-isr-above-isr",
            False,
            "medium",
            "HYP-11",
            f"{FINDINGS}/hyp-11.md",
            "Min ISR was raised above the size of the ISR.",
            (
                "Producers with acks=all are refused until replicas have caught up; see `kafka-topics.sh "
                "--describe --under-min-isr-partitions`."
            ),
        ),
        Sort(
            "cleared-while-leaderless",
            False,
            "high",
            "HYP-12",
            f"{FINDINGS}/hyp-12.md",
            "Min ISR was changed while there was no leader: the controller has forgotten who has the records.",
            (
                "No clean election is possible any more. Find the replica with the longest log, and elect it: an "
                "unclean election."
            ),
        ),
        Sort(
            "stale-elr-elected",
            False,
            "critical",
            "HYP-14",
            f"{FINDINGS}/hyp-14.md",
            (
                "A broker was elected from an ELR that was left when eligible leader replicas were turned off, "
                "and it had registered again since."
            ),
            (
                "If it had crashed it may have lost records, and such brokers are no longer taken out of an ELR"
                f"more. {COMPARE}"
            ),
        ),
        Sort(
            "elr-left-behind",
            False,
            "high",
            "HYP-14",
            f"{FINDINGS}/hyp-14.md",
            (
                "Eligible leader replicas were turned off while the partition had some: they may still be "
                "elected, whatever became of their logs."
            ),
            "Bring the partition's ISR to min ISR before any of these brokers restarts: with the next change "
            "the ELR is empty. Before turning ELR "
            "off again, change min ISR of the cluster and back while every partition has a leader: that "
            "empties every ELR.",
        ),
        Sort(
            "cleared-then-deleted",
            False,
            "high",
            "HYP-13",
            f"{FINDINGS}/hyp-13.md",
            (
                "A topic was deleted after a change of min ISR had emptied its ELR: a broker of that ELR cannot "
                "register after a crash, and cannot be unregistered."
            ),
            "At each attempt the active controller resigns ('existed in isrMembers, but not in the topics "
            "map'). Stop that broker cleanly only: then it "
            "registers. By the code, which was not tried: a controller that is restarted from a snapshot "
            "written later does not have the fault.",
        ),
        Sort(
            "regained-leadership",
            False,
            "medium",
            "HYP-1",
            f"{FINDINGS}/hyp-1.md",
            "A broker regained leadership soon after it had lost it, without a restart.",
            (
                "If its metadata was late it may have counted followers that had truncated. Look for 'Truncating "
                "partition' on followers between the two times, and compare the high watermarks."
            ),
        ),
        Sort(
            "unclean-election",
            False,
            "critical",
            "G-S1",
            "docs/kafka/losing-data.md",
            "A leader was elected that was neither in sync nor eligible (an unclean election).",
            f"Records that the new leader did not have are lost. {COMPARE} So that it does not happen again: "
            "unclean.leader.election.enable=false for the topic and the cluster, three replicas, "
            "min.insync.replicas=2, and acks=all.",
        ),
        Sort(
            "last-known-leader-elected",
            False,
            "high",
            "G-S2",
            GUARANTEES,
            "The last known leader was elected after it may have lost records.",
            (
                "It had stopped uncleanly. Look at its log for 'Recovering unflushed segment' and for a log end "
                "below the high watermark of before."
            ),
        ),
        Sort(
            "last-replica-down",
            False,
            "high",
            "G-S2b",
            GUARANTEES,
            "The last replica that was in sync went away, and there was no leader.",
            "Its disk alone has the last acknowledged records: bring that broker back before any other election.",
        ),
        Sort(
            "last-replica",
            False,
            "medium",
            "G-S2b",
            GUARANTEES,
            "One replica alone was in sync.",
            "With min ISR 1 all that was acknowledged meanwhile was on one disk; with more, acks=all was "
            "refused, and this holds for acks=0 or 1. "
            "If that broker crashed before others caught up, compare the logs.",
        ),
        Sort(
            "offline",
            False,
            "medium",
            "G-L6",
            GUARANTEES,
            "There was no leader: the partition was offline, for producers and consumers.",
            "Look at why its last brokers went away (the table says it, if the log does), and who was waited "
            "for. Three replicas on separate "
            "racks, and restarts of one broker at a time, keep a leader.",
        ),
        Sort(
            "epoch-without-reason",
            False,
            "medium",
            "G-S5",
            GUARANTEES,
            "A leader epoch was opened though neither the leader changed nor a replica was removed.",
            "Clients and followers refresh for nothing; look at the active controller's log at this offset.",
        ),
        Sort(
            "under-min-isr",
            False,
            "low",
            "G-S4",
            GUARANTEES,
            "The ISR was smaller than min ISR, while there was a leader.",
            (
                "Producers with acks=all were refused meanwhile (NotEnoughReplicas); look at why the followers "
                "left: fences, shutdowns or lag."
            ),
        ),
    )
}
