"""Kinds of findings of an audit: severity, guarantee, and what to check on the brokers."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

Severity = Literal["critical", "high", "medium", "low"]
SEVERITIES: tuple[Severity, ...] = ("critical", "high", "medium", "low")
"""Severities, the worst first."""
GUARANTEES = "docs/kafka/replication.md"
REPAIRED = {**dict.fromkeys(("G-S6b", "HYP-1", "HYP-10", "HYP-11", "HYP-12", "HYP-13", "HYP-14"), ""), "HYP-17": "4.3"}
"""The release that fixes a finding; empty if no release up to 4.4.0 does."""
VIOLATION, EXPOSURE = True, False


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
    rule: str
    """The condition that must hold."""
    sentence: str
    look: str
    """Advice: where to look, and how to respond."""
    of_copies: bool = False
    """Whether it can be seen only in copies of brokers' logs."""
    before: tuple[str, str] = ("", "")
    """A release, and the rule before it: by metadata.version for 3.x, otherwise by the controllers."""

    @property
    def page(self) -> str:
        """The page about it."""
        if self.about == "G-S1":
            return "docs/kafka/losing-data.md"
        return f"docs/kafka/findings/{self.about.lower()}.md" if self.about.startswith("HYP-") else GUARANTEES

    def rule_of(self, version: str, in_force: str) -> str:
        """Return the rule for controllers of one version of the model with the metadata.version of another."""
        release, earlier = self.before
        old = (in_force if release < "4" else version) < f"kafka-{release}"
        return earlier if release and old else self.rule

    def remedy(self, version: str) -> str:
        """Return the advice for controllers with the rules of a version of the model; empty if unknown."""
        repaired = REPAIRED.get(self.about)
        if not repaired:
            return self.look if repaired is None else f"{self.look} No release up to 4.4.0 prevents it."
        now = ", and so have these controllers now" if version >= f"kafka-{repaired}" else ": upgrade"
        return f"{self.look} Kafka {repaired} has the repair{now if version else ''}."


class Found(NamedTuple):
    """A finding about a partition and some of its brokers. `lasted` is in milliseconds, -1 for a single moment."""

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


ALL = (
    Sort("isr-not-sane", VIOLATION, "critical", "G-S6",
         "The leader is in the ISR, the ISR is a part of the replicas (without ELR never empty), and the ELR has other "
         "replicas, only while the ISR is below min ISR.",
         "Leader, ISR, ELR and replicas contradict each other.",
         STATE),
    Sort("inactive-member", VIOLATION, "high", "G-S6",
         "A broker that is fenced or shutting down leaves the ISR; without ELR the last member stays.",
         "A broker that is fenced or shutting down leads or stays in the ISR.",
         "Look at the broker's log for 'fenced' and at its heartbeats; records acknowledged meanwhile may be "
         "on fewer brokers than the ISR suggests."),
    Sort("elr-without-replica", VIOLATION, "high", "G-S6b",
         "Every member of the ELR has a replica.",
         "A reassignment took the replica of a broker, which stayed in the ELR, the list of brokers "
         "that may lead without loss. With a new, empty replica it can be elected.",
         "Do not add this broker to the partition again before the ISR has min.insync.replicas members: then the ELR "
         "is empty. See `Elr` in `kafka-topics.sh --describe`."),
    Sort("stale-member", VIOLATION, "high", "G-S7",
         "A broker that registers again leaves the ISR; without ELR the last member stays.",
         "A broker has registered again and stayed in the ISR with its old place (KIP-903, HYP-2).",
         f"Its log may be shorter than that of the incarnation that was in sync. {COMPARE}",
         before=("4.0", "A broker that registers again leaves the ISR (see KAFKA-18106); the last one stays.")),
    Sort("elr-not-by-rule", VIOLATION, "high", "G-S6",
         "While the ISR is below min ISR, a member that leaves it stays eligible, unless it registers after a crash "
         "(KIP-966); else the ELR is empty.",
         "The eligible leader replicas contradict KIP-966's rule.",
         STATE),
    Sort("not-electable", VIOLATION, "critical", "G-S1b",
         "A clean election takes a member of the ISR, or of the ELR.",
         "A leader that was in neither ISR nor ELR was elected as if by a clean election.",
         f"{COMPARE} {STATE}"),
    Sort("epoch-not-opened", VIOLATION, "high", "G-S5",
         "A new leader or a removed replica opens a leader epoch.",
         "A leader or a replica changed but no leader epoch was opened.",
         f"Two brokers may have written in one epoch. {COMPARE}",
         before=("3.6", "A new leader, a removed replica or an ISR shrink opens a leader epoch.")),
    Sort("nobody-elected", VIOLATION, "high", "G-L6",
         "A partition without a leader gets a leader as soon as a member of its ISR or of its ELR is active.",
         "There is no leader, although an eligible broker is active.",
         "Elect by hand: `kafka-leader-election.sh --election-type preferred`; look at the active controller's log "
         "for errors."),
    Sort("unknown-partition", VIOLATION, "medium", "G-S13",
         "Partitions change only after their creation and before their deletion.",
         "A partition that was deleted or never created was changed.",
         STATE),
    Sort("snapshot-differs", VIOLATION, "critical", "G-S5",
         "A snapshot agrees with the records before it.",
         "A snapshot disagrees with the records before it about the partition.",
         "Brokers that start from the snapshot and those that follow the log disagree. Compare "
         "`kafka-metadata-shell.sh` on both."),
    Sort("created-twice", VIOLATION, "high", "G-S13",
         "A partition is created once.",
         "An existing partition is created again.",
         STATE),
    Sort("removed-replica-elected", EXPOSURE, "critical", "HYP-10",
         "The broker elected from the ELR has kept its replica since it became eligible.",
         "A broker that had deleted its log was elected: a reassignment had taken its replica, and left it in the "
         "ELR, the list of brokers that may lead without loss.",
         "Assume that acknowledged records are lost until the logs are compared. The previous leader has them as long "
         "as it has not followed the new one: keep it down, and copy the partition's folder from its disk. If it is "
         "back, 'Truncating partition' in its log says from which offset they are gone; send those records again from "
         "the producers or from the copy. Until the ISR has min.insync.replicas members, do not cancel a reassignment, "
         "and do not give a broker a replica that it has just lost."),
    Sort("emptied-elr-elected", EXPOSURE, "critical", "HYP-17",
         "The last known leader is elected only if no broker was eligible before a directory was assigned.",
         "The last known leader was elected after the assignment of a directory had emptied the ELR: only it could be "
         "elected, although others may have had more records.",
         "If the elected broker's disk was new or empty, assume that acknowledged records are lost on it and on every "
         "replica that has "
         "followed it since. A replica that is still down has its records: keep it down, and copy the partition's "
         "folder from its disk. If it is back, 'Truncating partition' in its log says from which offset they are "
         "gone; send those again from the producers or from the copy."),
    Sort("elr-emptied", EXPOSURE, "high", "HYP-17",
         "The assignment of a directory leaves the ELR as it is.",
         "A broker assigned a replica to a directory, and that emptied the ELR, the list of brokers "
         "that may lead without loss.",
         "While there is no leader, only the last known leader can be elected now, whatever is on its disk. Stop that "
         "broker if its disk is new, and elect one that has everything: an unclean election. Start brokers with new "
         "disks only while every partition has a leader.",
         before=("4.3", "The assignment of a directory leaves the ELR as it is, and Kafka before 4.3 empties it.")),
    Sort("late-min-isr-elected", EXPOSURE, "critical", "HYP-11",
         "The broker elected from the ELR became eligible long after min ISR was raised.",
         "An eligible broker was elected that had become eligible just after min ISR was raised.",
         f"The former leader may have acknowledged records alone by the old min ISR. {COMPARE}"),
    Sort("late-min-isr", EXPOSURE, "high", "HYP-11",
         "No broker becomes eligible soon after min ISR was raised above the size of the ISR.",
         "The ISR fell below a min ISR that had just been raised, and the member that left it is eligible to lead.",
         "Until the ISR is at min ISR again do not restart the leader. Raise min ISR only while all replicas are in "
         "sync, and wait."),
    Sort("min-isr-above-isr", EXPOSURE, "medium", "HYP-11",
         "Min ISR is raised while that many replicas are in sync.",
         "Min ISR was raised above the size of the ISR.",
         "Producers with acks=all are refused until replicas have caught up; see `kafka-topics.sh --describe "
         "--under-min-isr-partitions`."),
    Sort("cleared-while-leaderless", EXPOSURE, "high", "HYP-12",
         "Min ISR is changed while the partition has a leader.",
         "Min ISR was changed while there was no leader: the controller has forgotten who has the records.",
         "No clean election is possible any more. Find the replica with the longest log, and elect it: an unclean "
         "election."),
    Sort("stale-elr-elected", EXPOSURE, "critical", "HYP-14",
         "A broker that is elected from an ELR after ELR was turned off has not registered again since.",
         "A broker was elected from an ELR that remained when eligible leader replicas were turned off, and it had "
         "registered again since.",
         f"If it had crashed it may have lost records, and such brokers are no longer taken out of an ELR. {COMPARE}"),
    Sort("elr-left-behind", EXPOSURE, "high", "HYP-14",
         "ELR is turned off while no partition has one.",
         "Eligible leader replicas were turned off while the partition had some: they may still be elected, whatever "
         "happened to their logs.",
         "Bring the partition's ISR to min ISR before any of these brokers restarts: with the next change the ELR is "
         "empty. Before turning ELR off again, change min ISR of the cluster and back while every partition has a "
         "leader: that empties every ELR."),
    Sort("cleared-then-deleted", EXPOSURE, "high", "HYP-13",
         "A topic is deleted only when the brokers of a cleared ELR are back.",
         "A topic was deleted after a change of min ISR had emptied its ELR: a broker of that ELR cannot register "
         "after a crash, and cannot be unregistered.",
         "At each attempt the active controller resigns ('existed in isrMembers, but not in the topics map'). Always "
         "stop that broker cleanly: then it can register. By reading the code, untested: a controller that is "
         "restarted from a snapshot written later does not have the fault."),
    Sort("regained-leadership", EXPOSURE, "medium", "HYP-1",
         "A broker that lost leadership regains it only after a restart or some time.",
         "A broker regained leadership soon after it had lost it, without a restart.",
         "If its metadata was late it may have counted followers that had truncated. Look for 'Truncating partition' "
         "on followers between the two times, and compare the high watermarks."),
    Sort("unclean-election", EXPOSURE, "critical", "G-S1",
         "Every leader comes from the ISR or from the ELR.",
         "A leader was elected that was neither in sync nor eligible (an unclean election).",
         f"Records that the new leader did not have are lost. {COMPARE} To prevent this: "
         "unclean.leader.election.enable=false for the topic and the cluster, three replicas, min.insync.replicas=2, "
         "and acks=all."),
    Sort("last-known-leader-elected", EXPOSURE, "high", "G-S2",
         "Every leader comes from the ISR or from the ELR: the last known leader does not.",
         "The last known leader was elected after it may have lost records.",
         "It had stopped uncleanly. Look at its log for 'Recovering unflushed segment' and for a log end below "
         "the previous high watermark."),
    Sort("last-replica-down", EXPOSURE, "high", "G-S2b",
         "The last member of the ISR does not leave the partition without a leader.",
         "The last replica that was in sync went away, and there was no leader.",
         "Only the last member's disk has the last acknowledged records: bring it back before any other election."),
    Sort("last-replica", EXPOSURE, "medium", "G-S2b",
         "More than one replica is in sync.",
         "Only one replica was in sync.",
         "With min ISR 1, all records acknowledged meanwhile were on one disk; "
         "with a larger min ISR, acks=all was refused, and this applies to acks=0 or 1. If that broker crashed before "
         "others caught up, compare the logs."),
    Sort("offline", EXPOSURE, "medium", "G-L6",
         "The partition has a leader.",
         "There was no leader: the partition was offline, for producers and consumers.",
         "Look at why its last brokers went away (the table shows this if the log does), and which broker the election "
         "waited for. Three replicas on separate racks, and restarts of one broker at a time, keep a leader."),
    Sort("epoch-without-reason", EXPOSURE, "medium", "G-S5",
         "A leader epoch is opened only by a new leader or a removed replica.",
         "A leader epoch was opened although neither the leader changed nor a replica was removed.",
         "Clients and followers refresh needlessly; look at the active controller's log at this offset.",
         before=("3.6", "A leader epoch is opened only by a new leader, a removed replica or an ISR shrink.")),
    Sort("under-min-isr", EXPOSURE, "low", "G-S4",
         "While the partition has a leader, the ISR has at least min ISR members.",
         "The ISR was smaller than min ISR, while there was a leader.",
         "Producers with acks=all were refused meanwhile (NotEnoughReplicas); look at why the followers left: "
         "fences, shutdowns or lag."),
    Sort("records-lost", EXPOSURE, "critical", "G-S1",
         "The log of the leader has every acknowledged record.",
         "Acknowledged records are not in the log of the leader.",
         "The copies named have them. Do not start a broker on such a disk: it would truncate them. Read them from the "
         "copy (`kafka-dump-log.sh --print-data-log --files SEGMENT`), and send them again.", True),
    Sort("records-may-be-lost", EXPOSURE, "high", "G-S1",
         "The log of the leader has every record that may have been acknowledged.",
         "Records that may have been acknowledged are not in the log of the leader.",
         "The copies named have them. Keep these disks, check at the given times whether "
         "producers had been answered, and send missing records again.", True),
    Sort("log-below-high-watermark", EXPOSURE, "critical", "G-S1",
         "The log of a broker that stopped cleanly reaches to its high watermark.",
         "A log ends below the high watermark that its broker has recorded.",
         "Acknowledged records were cut off on this disk. Compare it with the copies of other brokers and with "
         "backups, and do not let this broker lead.", True),
    Sort("copies-differ", VIOLATION, "critical", "G-S5",
         "Records of one epoch are the same on all brokers.",
         "Brokers have different records at the same offset and epoch.",
         f"Two brokers led in one epoch, or a disk has changed records. {COMPARE}", True),
    Sort("copy-damaged", EXPOSURE, "high", "G-S1",
         "Segments have whole batches with valid checksums, and no offset is missing between them.",
         "A part of a log cannot be read.",
         "If the copy is intact, the log is damaged too: check the disk. Let the broker copy the log again from a "
         "leader that has everything.", True),
    Sort("epochs-differ", EXPOSURE, "high", "G-S1",
         "leader-epoch-checkpoint has the epoch of each batch.",
         "leader-epoch-checkpoint has different epochs from the segments.",
         "The broker uses this file to truncate, so it truncates at the wrong offset. Stop it, remove the file, and "
         "let it recover: Kafka rebuilds the file from the segments.", True),
)  # fmt: skip
SORTS: dict[str, Sort] = {item.name: item for item in ALL}
