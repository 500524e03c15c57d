"""The mapping of the model `quorum` to Kafka: what each action does to KafkaRaftClient, and where each field is read.

Each node is a KafkaRaftClient with the other classes of its package, such as QuorumState, LeaderState and
FollowerState, and a StringSerde. A node's log, election state file and message queue are MockLog, MockQuorumStateStore
and MockMessageQueue from Kafka's tests. The network, the timeouts of parked fetches and the clocks are replaced; each
node has its own clock, which advances only where the mapping says so. Messages are the objects of Kafka's requests and
answers, without serialization. Messages without an action, such as EndQuorumEpoch, never arrive.
"""

from typing import Any

from fencepost.kafka.driver.ablation import rules_as_built
from fencepost.kafka.driver.execute import Act
from fencepost.model.language.constants import Constants
from fencepost.model.quorum.constants import Applied
from fencepost.model.quorum.leader import no_op
from fencepost.model.quorum.machine import MACHINE

RELEASES: dict[str, str] = {
    "3.9.2": "kafka-3.9", "4.0.2": "kafka-4.0", "4.1.2": "kafka-4.1", "4.2.1": "kafka-4.2", "4.3.1": "kafka-4.2",
}  # fmt: skip
"""Releases with a test jar of kafka-raft, each with its version of the model."""

ACTIONS: dict[str, Act] = {
    "quorum_elects": Act(lambda _, candidate, electors: f"elect {candidate} {electors}",
        "Time passes at the candidate and, from 4.0 on, at electors that follow a leader, until their fetch or "
        "election timeouts expire. Only the electors handle the candidate's requests (Vote; from 4.0 on, PreVote "
        "first), and the candidate receives their answers."),
    "voter_stands": Act(lambda _, node: f"stand {node}", "Time passes at the voter until it becomes a candidate."),
    "voter_votes": Act(lambda _, voter, candidate: f"vote {voter} {candidate}",
        "The voter handles the candidate's Vote request; its answer is held until the candidate wins."),
    "candidate_wins": Act(lambda _, candidate: f"win {candidate}", "The candidate receives the held answers."),
    "voter_hears_nothing": Act(lambda _, node: f"hear-nothing {node}",
        "The voter's fetch timeout expires, and the voter becomes prospective, but its PreVote requests reach no "
        "other voter."),
    "observer_hears_nothing": Act(lambda _, node: f"lose-leader {node}",
        "The observer's fetch timeout expires, so that its next fetch goes to a bootstrap server."),
    "leader_resigns": Act(lambda _, leader: f"resign {leader}",
        "LeaderState.checkQuorumTimer expires at the leader."),
    "node_learns_leader": Act(lambda _, node, leader: f"learn {node} {leader}",
        "A voter handles the leader's BeginQuorumEpoch; a voter that is prospective in the leader's epoch first "
        "abandons its pre-vote because of a timeout. An observer's fetch timeout expires, and this bootstrap server "
        "answers its fetch; after observer-hears-nothing, a node that knows the leader answers, and the next fetch "
        "goes to that leader. A restarted node fetches from the leader that its election state file names."),
    "node_restarts": Act(lambda _, node, _loses: f"restart {node}",
        "A new KafkaRaftClient with the same log and election state; MockLog.reopen resets the high watermark."),
    "node_loses_disk": Act(lambda _, node: f"wipe {node}", "A KafkaRaftClient with an empty log and election state."),
    "leader_appends": Act(lambda _, leader: f"append {leader}",
        "KafkaRaftClient.prepareAppend and schedulePreparedAppend; the leader polls, appends and flushes."),
    "leader_appends_no_op": Act(lambda seen, leader: f"append-no-op {leader} {seen.no_op}",
        "Like leader-appends, but with another record."),
    "leader_handles_fetch": Act(lambda _, leader, follower: f"fetch {leader} {follower}",
        "The leader handles the request that the follower built (KafkaRaftClient.handleFetchRequest)."),
    "leader_handles_late_fetch": Act(lambda seen, m: f"late {seen.flying('late').number(m)}",
        "The leader handles a delayed request; the answer is dropped."),
    "parked_fetch_times_out": Act(lambda _, follower: f"expire {follower}",
        "The future of ExpirationService.failAfter for this fetch completes with a TimeoutException."),
    "follower_appends": Act(lambda _, follower: f"take {follower}",
        "KafkaRaftClient.handleFetchResponse with the leader's answer; the follower polls and sends its next fetch."),
    "follower_truncates": Act(lambda _, follower: f"take {follower}", "The same."),
    "node_takes_snapshot": Act(lambda _, node: f"snapshot {node}",
        "KafkaRaftClient.createSnapshot up to QuorumState.highWatermark, which is frozen at once; "
        "MockLog.deleteBeforeSnapshot."),
    "follower_loads_snapshot": Act(lambda _, follower: f"load {follower}",
        "KafkaRaftClient.handleFetchResponse with the leader's answer; the leader handles each FetchSnapshot "
        "request, and the follower handles the answer, until the follower sends its next fetch."),
    "answer_is_lost": Act(lambda _, follower: f"lose-answer {follower}",
        "The follower's request timeout expires, and the follower fetches from this bootstrap server."),
}  # fmt: skip

NOT_DRIVEN: dict[str, str] = {
    "leader_removes_itself": "voters are static in the driver (kraft.version 0)",
    "leader_adds_voter": "voters are static in the driver (kraft.version 0)",
    "leader_updates_voter": "voters are static in the driver (kraft.version 0)",
    "controller_asks_to_register": "ControllerRegistrationManager is not part of the driver",
    "leader_registers_controller": "ControllerRegistrationManager is not part of the driver",
    "registration_times_out": "ControllerRegistrationManager is not part of the driver",
    "removed_leader_resigns": "voters are static in the driver (kraft.version 0)",
    "broker_applies_metadata": "MetadataLoader is not part of the driver",
    "time_passes": "in the driver, each node has its own clock",
}
FIELDS: dict[str, str] = {
    "node.role": "QuorumState.isLeader, isCandidate and isResigned; a prospective or unattached node is a follower "
        "without a leader",
    "node.epoch": "QuorumState.epoch",
    "node.leader": "a follower's fetch destination (QuorumState.isFollower), if it leads in the follower's epoch",
    "node.voted": "with `real_votes`: the voted key in the election state file of a node without a leader",
    "node.granted": "the candidate, and the voters whose held answers grant the vote",
    "node.fetched": "with pre-votes: whether FollowerState.canGrantVote refuses a pre-vote",
    "node.lost": "FollowerState.hasFetchTimeoutExpired of an observer that has lost its leader",
    "node.active": "with `listeners`: whether the last RaftClient.Listener.handleLeaderChange named the node",
    "node.failed": "whether an answer caused the error for a truncation below the high watermark",
    "node.log": "the batches of MockLog: each record's value and its batch's epoch", "node.end": "the same",
    "node.high_watermark": "QuorumState.highWatermark", "node.epoch_start": "LeaderState.epochStartOffset",
    "node.known_end": "LeaderState.ReplicaState.endOffset of each voter",
    "node.fetch.phase": "whether the fetch was handled, and whether its future has an answer",
    "node.fetch.diverging": "divergingEpoch of the answer", "node.start": "MockLog.startOffset",
    "node.fetch.snapshot": "endOffset of the answer's snapshotId",
    "node.fetch.end": "endOffset of divergingEpoch, or the last offset of the answer's records",
    "node.fetch.high_watermark": "highWatermark of the answer", "written": "appended records",
    "late_fetches": "fetches whose sender has left the epoch or has restarted",
}  # fmt: skip

NOT_COMPARED: dict[str, str] = {
    "node.flushed": "LeaderState appends and flushes in one step",
    "node.received": "no release reports received values", "node.sent": "no release stores the high watermarks it sent",
    "node.applied": NOT_DRIVEN["broker_applies_metadata"],
    "node.log below its start": "contained in a snapshot, which has no records in the driver",
    "node.fetch of a parked fetch": "the answer computed in advance is in a closure; it is compared after a timeout",
    "node.fetch.remaining": NOT_DRIVEN["time_passes"], "removed": NOT_DRIVEN["leader_removes_itself"],
    "added": NOT_DRIVEN["leader_adds_voter"], "unreached": NOT_DRIVEN["leader_updates_voter"],
    "node.registration": NOT_DRIVEN["registration_times_out"], "no_op_due": NOT_DRIVEN["time_passes"],
    "budget": "the model's remaining budget, which has no equivalent in Kafka",
    "ghost_committed": "follows from logs and high watermarks, which are compared",
    "ghost_committed_end": "follows from high watermarks, which are compared", "ghost_credit": "a counter of the model",
}  # fmt: skip
STOPS = "a node stops because it learns of another leader of its epoch"
MISTAKEN = "MockLog takes a fetched snapshot for the end of an empty log"
ASIDE = (STOPS, MISTAKEN)
"""Reasons why Kafka rejects a step that the model allows (explained in `LIMITS`)."""

LIMITS: tuple[str, ...] = (
    ("A node stops with an IllegalStateException if it learns of a leader in its epoch although it knows another "
        "leader of that epoch, or is the named leader itself. In the model, the node continues. After the loss of a "
        "disk, the model therefore allows more than Kafka, and histories with such a step are abandoned."),
    ("If a leader loses its disk and is re-elected in the same epoch, its earlier followers do not notice this, and "
        "keep following it. In the model, the followers wait until they learn of the leader. Kafka therefore allows "
        "more than the model, and forbidden steps are not tried with lost disks."),
    ("In the model, a pre-vote is one step. Kafka also counts older answers, and a follower of a leader that has "
        "resigned grants no pre-vote until its fetch timeout expires; the driver therefore lets fetch timeouts "
        "expire."),
    ("MockLog answers a fetch with at most two batches, so `records_per_answer` is 2. If a node's log is empty after "
        "its own snapshot, MockLog takes the end of a fetched snapshot for the end of the log, and the node stops; "
        "these histories are abandoned. KafkaMetadataLog asks the log itself."),
    ("Messages are passed as objects, without serialization in a version of Fetch, so all nodes run the same release."),
)  # fmt: skip

AS_DRIVEN: dict[str, int] = {
    "records_per_answer": 2,
    "vote_persisted": 1,
    **dict.fromkeys(("resumes_leadership", "flush_lags", "removals", "additions", "updates", "auto_join"), 0),
    **dict.fromkeys(("registration_timeouts", "finalizing_record", "consumer", "clock", "no_op_interval"), 0),
    "brokers_apply": int(Applied.NONE),
}
AS_BUILT: tuple[str, ...] = (
    *("pre_vote", "fresh_followers_grant", "check_quorum", "lone_voter_resigns", "commits_beyond_epoch_start"),
    *("leader_always_counted", "refuses_truncation_below_high_watermark", "diverging_high_watermark_counts"),
    *("version_18", "compares_high_watermarks", "completes_on_high_watermark", "high_watermark_source", "reports"),
    *("parks_before_first_commit", "empty_answers_raise_high_watermark", "parks_diverging", "timeout_answers_anew"),
    *("consumer_waits_for", "snapshots_hold_committed", "snapshot_epochs_compared", "logs_start_with_snapshots"),
    *("former_voters_join", "endpoints_tried", "notified", "registers_again", "observers_return"),
)


def rules(version: str) -> dict[str, int]:
    """Return a version's constants as in Kafka and the driver, with `check_quorum` and `pre_vote` if supported."""
    pre_votes = int(version not in BEFORE_PRE_VOTES)
    built = rules_as_built(MACHINE, version, AS_BUILT)
    return {**AS_DRIVEN, **built, "check_quorum": 1, "pre_vote": pre_votes, "fresh_followers_grant": pre_votes}


BEFORE_PRE_VOTES = ("kafka-3.9",)
"""Versions whose releases do not support pre-votes (KIP-996)."""


def refuse(c: Constants) -> str | None:
    """Return why Kafka cannot be run with these constants, or None."""
    if c.values["real_votes"] and c.values["pre_vote"]:
        return (
            "real_votes is on, but a pre-vote of the model is one step, whereas Kafka's voters change with each "
            "pre-vote request"
        )
    return None


SMALL: dict[str, int] = {"nodes": 3, "max_records": 1, "max_epoch": 2, "records_per_answer": 2}


def reset(c: Constants) -> str:
    values: Any = c
    return f"reset {values.nodes} {values.voters} {values.bootstrap}"


def no_op_of(c: Constants) -> int:
    values: Any = c
    return no_op(values)
