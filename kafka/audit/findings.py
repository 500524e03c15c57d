"""Kinds of audit findings: the severity, the guarantee, and what to check on the brokers."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

Severity = Literal["critical", "high", "medium", "low"]
SEVERITIES: tuple[Severity, ...] = ("critical", "high", "medium", "low")
GUARANTEES = "docs/kafka/replication.md"
REPAIRED = {**dict.fromkeys(("G-S6b", "HYP-1", "HYP-10", "HYP-11", "HYP-12", "HYP-13", "HYP-14"), ""), "HYP-17": "4.3"}
"""The release that fixes the finding; empty if no release up to 4.4.0 has a fix."""
VIOLATION, EXPOSURE = True, False


@dataclass(frozen=True)
class Sort:
    """A kind of finding: the controller violated an invariant, or records may be lost (an exposure)."""

    name: str
    violation: bool
    severity: Severity
    about: str
    rule: str
    sentence: str
    look: str
    of_copies: bool = False
    """Whether the finding is detected only in copies of brokers' logs."""
    before: tuple[str, str] = ("", "")
    """(release, rule before it). A 3.x release refers to metadata.version, others to the controllers' release."""

    @property
    def page(self) -> str:
        if self.about == "G-S1":
            return "docs/kafka/losing-data.md"
        return f"docs/kafka/findings/{self.about.lower()}.md" if self.about.startswith("HYP-") else GUARANTEES

    def rule_of(self, version: str, in_force: str) -> str:
        release, earlier = self.before
        old = (in_force if release < "4" else version) < f"kafka-{release}"
        return earlier if release and old else self.rule

    def remedy(self, version: str) -> str:
        repaired = REPAIRED.get(self.about)
        if not repaired:
            return self.look if repaired is None else f"{self.look} No release up to 4.4.0 contains a fix."
        now = ", which these controllers run" if version >= f"kafka-{repaired}" else ": upgrade"
        return f"{self.look} This is fixed in Kafka {repaired}{now if version else ''}."


class Found(NamedTuple):
    """A finding about a partition and some of its brokers. `lasted` is its duration in ms, or -1 if momentary."""

    sort: str
    severity: Severity
    offset: int
    time: int
    end: int
    lasted: int
    brokers: tuple[int, ...]
    text: str


COMPARE = (
    "Compare the logs of the replicas. Run `kafka-dump-log.sh` on the segments around the start of the leader epoch, "
    "and search the followers' log files for 'Truncating partition'. Consumers can no longer read records that are "
    "only on a deposed leader."
)
STATE = (
    "Check whether the metadata was changed manually or the controllers ran different versions. Otherwise, report a "
    "bug: Kafka's controller should never write such a record."
)


ALL = (
    Sort("isr-not-sane", VIOLATION, "critical", "G-S6",
         "The leader is in the ISR, every ISR member is a replica, and the ISR is not empty unless ELR is on. ELR "
         "members are replicas outside the ISR, and exist only while the ISR has fewer than min ISR members.",
         "The leader, ISR, ELR and replicas contradict each other.",
         STATE),
    Sort("inactive-member", VIOLATION, "high", "G-S6",
         "A broker that is fenced or shutting down leaves the ISR. If ELR is off, the last ISR member stays in the "
         "ISR.",
         "A broker that is fenced or shutting down is the leader or is still in the ISR.",
         "Search the broker's log for 'fenced' and check its heartbeats. Records that were acknowledged while that "
         "broker was in the ISR may be on fewer brokers than the ISR indicates."),
    Sort("elr-without-replica", VIOLATION, "high", "G-S6b",
         "Every member of the ELR is a replica.",
         "A reassignment removed a replica, but the broker stayed in the ELR, the list of brokers that can become "
         "leader without losing records. If the broker is assigned an empty replica again, that replica can be "
         "elected.",
         "Do not assign the partition to the removed broker again until the ISR has min.insync.replicas members, which "
         "empties the ELR. `kafka-topics.sh --describe` shows the ELR as `Elr`."),
    Sort("stale-member", VIOLATION, "high", "G-S7",
         "A broker that re-registers leaves the ISR. If ELR is off, the last ISR member stays in the ISR.",
         "A broker re-registered but stayed in the ISR (KIP-903, HYP-2).",
         f"The broker's log may have become shorter during the restart. {COMPARE}",
         before=("4.0", "A broker that re-registers leaves the ISR, unless it is the last ISR member (KAFKA-18106).")),
    Sort("elr-not-by-rule", VIOLATION, "high", "G-S6",
         "A broker that leaves the ISR while the ISR is below min ISR stays in the ELR until it re-registers after a "
         "crash (KIP-966). While the ISR has at least min ISR members, the ELR is empty.",
         "The ELR does not follow the rules of KIP-966.",
         STATE),
    Sort("not-electable", VIOLATION, "critical", "G-S1b",
         "A clean election chooses a leader from the ISR or the ELR.",
         "The controller elected a leader from outside the ISR and the ELR, but treated the election as clean.",
         f"{COMPARE} {STATE}"),
    Sort("epoch-not-opened", VIOLATION, "high", "G-S5",
         "A new leader epoch starts whenever the leader changes or a replica is removed.",
         "The leader changed or a replica was removed, but no new leader epoch started.",
         f"Two brokers may have written in the same epoch. {COMPARE}",
         before=("3.6", "A new leader epoch starts if the leader changes, a replica is removed or the ISR shrinks.")),
    Sort("nobody-elected", VIOLATION, "high", "G-L6",
         "A partition without a leader gets a leader as soon as a member of its ISR or ELR is active.",
         "The partition has no leader, even though an eligible broker is active.",
         "Elect a leader manually with `kafka-leader-election.sh --election-type preferred`, and look for errors in "
         "the log of the active controller."),
    Sort("unknown-partition", VIOLATION, "medium", "G-S13",
         "A partition changes only between its creation and its deletion.",
         "A partition changed before it was created or after it was deleted.",
         STATE),
    Sort("snapshot-differs", VIOLATION, "critical", "G-S5",
         "A snapshot agrees with the records before it.",
         "A snapshot contradicts earlier records about this partition.",
         "Brokers that load this snapshot end up in a different state from brokers that replay the log. Compare them "
         "with `kafka-metadata-shell.sh`."),
    Sort("created-twice", VIOLATION, "high", "G-S13",
         "A partition is created only once.",
         "A partition that already existed was created again.",
         STATE),
    Sort("removed-replica-elected", EXPOSURE, "critical", "HYP-10",
         "A broker elected from the ELR has kept its replica since entering the ELR.",
         "The elected broker had deleted its log. A reassignment had removed its replica but left the broker in the "
         "ELR, the list of brokers that can become leader without losing records.",
         "Assume that acknowledged records are lost until you have compared the logs. The previous leader still has "
         "the lost records until it follows the new leader, so keep that broker down and copy the partition's "
         "directory from its disk. If that broker is already running again, 'Truncating partition' in its log shows "
         "the offset from which records were removed; resend those from the producers or from the copy. Until the "
         "ISR has min.insync.replicas members, do not cancel a reassignment, and do not assign the partition to a "
         "broker whose replica was just removed."),
    Sort("emptied-elr-elected", EXPOSURE, "critical", "HYP-17",
         "The last known leader is elected only if the ELR was already empty before a broker assigned a directory.",
         "The last known leader was elected after a directory assignment had emptied the ELR. No other broker was "
         "eligible, although other brokers may have had more records.",
         "If the elected broker's disk was new or empty, assume that acknowledged records are lost on this broker "
         "and on every replica that has followed it since. A replica that is still down has the records: keep its "
         "broker down, and copy the partition's directory from its disk. If the broker is already running again, "
         "'Truncating partition' in its log shows the offset from which records were removed; resend those from the "
         "producers or from the copy."),
    Sort("elr-emptied", EXPOSURE, "high", "HYP-17",
         "Assigning a replica to a directory does not change the ELR.",
         "When a broker assigned a replica to a directory, this emptied the ELR, the list of brokers that can become "
         "leader without losing records.",
         "Until there is a leader, only the last known leader can be elected, even if its disk is empty. If the last "
         "known leader's disk is new, stop that broker and run an unclean election of a broker that has all records. "
         "Start brokers with new disks only while every partition has a leader.",
         before=("4.3", "Before Kafka 4.3, assigning a replica to a directory wrongly empties the ELR.")),
    Sort("late-min-isr-elected", EXPOSURE, "critical", "HYP-11",
         "No elected broker entered the ELR shortly after min ISR was raised.",
         "The elected broker had entered the ELR shortly after min ISR was raised.",
         f"Under the old min ISR, the former leader may have acknowledged records that no other broker has. {COMPARE}"),
    Sort("late-min-isr", EXPOSURE, "high", "HYP-11",
         "No broker enters the ELR shortly after min ISR has been raised above the size of the ISR.",
         "The ISR shrank below a min ISR that had just been raised, and the broker that left the ISR can still be "
         "elected.",
         "Do not restart the leader until the ISR has at least min ISR members again. Raise min ISR only while all "
         "replicas are in sync, and wait before you restart a broker."),
    Sort("min-isr-above-isr", EXPOSURE, "medium", "HYP-11",
         "Min ISR is raised only while at least that many replicas are in sync.",
         "Min ISR was raised above the size of the ISR.",
         "Producers with acks=all get errors until enough replicas have caught up. `kafka-topics.sh --describe "
         "--under-min-isr-partitions` lists partitions below min ISR."),
    Sort("cleared-while-leaderless", EXPOSURE, "high", "HYP-12",
         "Min ISR is changed only while the partition has a leader.",
         "A change of min ISR cleared the ELR while there was no leader, so the controller no longer knows which "
         "brokers have all records.",
         "A clean election is no longer possible. Find the replica with the longest log, and make it the leader by an "
         "unclean election."),
    Sort("stale-elr-elected", EXPOSURE, "critical", "HYP-14",
         "A broker elected from an ELR that remains after ELR was turned off has not re-registered since then.",
         "A broker was elected from an ELR that remained after ELR was turned off, although the broker had "
         "re-registered since then.",
         "With ELR off, a broker that crashes stays in an ELR that is left over, so the elected broker may have lost "
         f"records. {COMPARE}"),
    Sort("elr-left-behind", EXPOSURE, "high", "HYP-14",
         "ELR is turned off only while no partition has ELR members.",
         "ELR was turned off while the partition had ELR members, which can still be elected, even if their logs "
         "have lost records.",
         "Before any ELR member restarts, make sure that the ISR has at least min ISR members: the next change of "
         "the partition then empties the ELR. Before you turn ELR off again, empty every ELR: wait until every "
         "partition has a leader, then change the cluster's min ISR and change it back."),
    Sort("cleared-then-deleted", EXPOSURE, "high", "HYP-13",
         "After an ELR has been cleared, the topic is deleted only once all brokers of that ELR are back in the ISR.",
         "A topic was deleted after a change of min ISR had cleared the topic's ELR. Until the controller restarts, "
         "brokers of that ELR can neither register after a crash nor be unregistered.",
         "Whenever a broker of that ELR tries to register after a crash, the active controller resigns ('existed in "
         "isrMembers, but not in the topics map'). Shut brokers of that ELR down only cleanly, because they can "
         "register after a clean shutdown. According to the code, a controller that restarts from a later snapshot "
         "is not affected, but this was not tested."),
    Sort("regained-leadership", EXPOSURE, "medium", "HYP-1",
         "A broker that loses leadership does not regain leadership shortly afterwards, unless the broker restarts.",
         "A broker lost leadership and regained it shortly afterwards, without a restart in between.",
         "If the broker received metadata late, it may have counted followers that had already truncated their logs. "
         "Search the followers' log files for 'Truncating partition' between the loss and the return of leadership, "
         "and compare the high watermarks."),
    Sort("unclean-election", EXPOSURE, "critical", "G-S1",
         "Every leader is elected from the ISR or the ELR.",
         "The elected leader was in neither the ISR nor the ELR, so the election was unclean.",
         f"Records that the new leader did not have are lost. {COMPARE} To prevent unclean elections, set "
         "unclean.leader.election.enable=false for the topic and the cluster, and use three replicas, "
         "min.insync.replicas=2 and acks=all."),
    Sort("last-known-leader-elected", EXPOSURE, "high", "G-S2",
         "Every leader is elected from the ISR or the ELR, not as the last known leader.",
         "The last known leader was elected although it may have lost records.",
         "The elected broker had shut down uncleanly. Search its log files for 'Recovering unflushed segment' and "
         "for a log end below the previous high watermark."),
    Sort("last-replica-down", EXPOSURE, "high", "G-S2b",
         "The partition does not lose its leader when the last ISR member goes down.",
         "The last in-sync replica went down, and the partition was left without a leader.",
         "Only the last in-sync replica's disk is certain to have the last acknowledged records. Start the last "
         "in-sync replica's broker before any other replica is elected."),
    Sort("last-replica", EXPOSURE, "medium", "G-S2b",
         "More than one replica is in sync.",
         "Only one replica was in sync.",
         "With min ISR 1, all records acknowledged in that period were on a single disk. "
         "With a larger min ISR, writes with acks=all were rejected, so only records written with acks=0 or acks=1 "
         "are at risk. If the broker in the ISR crashed before other replicas had caught up, compare the logs."),
    Sort("offline", EXPOSURE, "medium", "G-L6",
         "The partition has a leader.",
         "The partition had no leader: producers and consumers could not use it.",
         "Find out why the last brokers went down, and which broker the election was waiting for; the table shows the "
         "reasons that are in the log. To keep a leader, place three replicas on separate racks and restart one broker "
         "at a time."),
    Sort("epoch-without-reason", EXPOSURE, "medium", "G-S5",
         "A new leader epoch starts only if the leader changes or a replica is removed.",
         "A new leader epoch started, although the leader did not change and no replica was removed.",
         "Clients and followers refresh their metadata needlessly. Check the active controller's log around the "
         "offset of the new leader epoch.",
         before=("3.6", "A leader epoch starts only if the leader changes, a replica is removed or the ISR shrinks.")),
    Sort("under-min-isr", EXPOSURE, "low", "G-S4",
         "A partition with a leader has at least min ISR members in its ISR.",
         "The ISR had fewer than min ISR members while the partition had a leader.",
         "While the ISR was below min ISR, producers with acks=all got NotEnoughReplicas errors. Find out why the "
         "followers left the ISR: fencing, shutdown or lag."),
    Sort("records-lost", EXPOSURE, "critical", "G-S1",
         "The leader's log contains every acknowledged record.",
         "The leader's log lacks acknowledged records.",
         "The listed copies contain the records. Do not start a broker on a listed disk, because it would truncate the "
         "records. Read the records from the copy (`kafka-dump-log.sh --print-data-log --files SEGMENT`), and resend "
         "them.", True),
    Sort("records-may-be-lost", EXPOSURE, "high", "G-S1",
         "The leader's log contains every record that may have been acknowledged.",
         "The leader's log lacks records that may have been acknowledged.",
         "The listed copies contain the records. Keep the disks, check whether producers received "
         "acknowledgements at the given times, and resend missing records.", True),
    Sort("log-below-high-watermark", EXPOSURE, "critical", "G-S1",
         "After a clean shutdown, a broker's log extends at least to its high watermark.",
         "A log ends below the high watermark that the broker stored.",
         "The broker's disk has lost acknowledged records. Compare the log with other brokers' copies and with "
         "backups, and do not let this broker become the leader.", True),
    Sort("copies-differ", VIOLATION, "critical", "G-S5",
         "Records with the same offset and epoch are identical on all brokers.",
         "Brokers have different records at the same offset and epoch.",
         f"Two brokers led in the same epoch, or a disk has corrupted records. {COMPARE}", True),
    Sort("copy-damaged", EXPOSURE, "high", "G-S1",
         "Segments consist of complete batches with valid checksums, and their offsets have no gaps.",
         "Part of a log cannot be read.",
         "If the copy is faithful, the original log is damaged too: check the disk, and let the broker replicate the "
         "log again from a leader that has all records.", True),
    Sort("epochs-differ", EXPOSURE, "high", "G-S1",
         "leader-epoch-checkpoint agrees with the epochs of the batches.",
         "leader-epoch-checkpoint disagrees with the epochs in the segments.",
         "The broker finds its truncation offset in leader-epoch-checkpoint, so it may truncate at a wrong offset. "
         "Stop the broker, delete leader-epoch-checkpoint, and start the broker again: Kafka rebuilds the file from "
         "the segments.", True),
)  # fmt: skip
SORTS: dict[str, Sort] = {item.name: item for item in ALL}
