"""Sizes, budgets and switches of the quorum model.

A switch that is on by default is one of Kafka's checks or rules; turning a switch off restores the bug that it
prevents. A switch that is off by default adds a feature, or a faulty behaviour that Kafka has or had. `clock` adds
time. Without `clock`, messages arrive and timeouts expire in any order, and the constants after `clock` have no effect.
"""

from enum import IntEnum

from fencepost.model.language import Constants, bound, capacity, choice, shape, switch


class Completion(IntEnum):
    """The parked fetches that a leader completes when its high watermark changes."""

    NONE = 0
    REPORTING = 1
    ALL = 2


class Source(IntEnum):
    """The way in which a leader learns a replica's high watermark."""

    REPORTED = 0
    REMEMBERED = 1


class Report(IntEnum):
    """The value that a replica writes into the HighWatermark field of its fetch."""

    OWN = 0
    RECEIVED = 1
    ZERO = 2


class Emptiness(IntEnum):
    """The offset up to which a leader looks for records before it parks a consumer's fetch."""

    LOG_END = 0
    HIGH_WATERMARK = 1


class Applied(IntEnum):
    """The records that a broker applies to its metadata."""

    NONE = 0
    COMMITTED = 1
    FETCHED = 2


class Notified(IntEnum):
    """The event after which a node notifies its controller that the controller is active."""

    COMMITTED = 0
    RESTARTED = 1
    READ = 2


class C(Constants):
    """Constants of the quorum model."""

    # sizes
    nodes = shape(4, low=2, high=5, meaning="number of nodes: the voters come first, then the observers")
    voters = bound(3, low=1, high=5, meaning="initial voters")
    max_records = capacity(
        2, low=0, high=6, room=2, meaning="total number of records that controllers write, not counting control records"
    )
    max_epoch = capacity(3, low=1, high=8, room=4, meaning="last epoch; the first is 1, with node 0 as its leader")
    no_ops = capacity(0, low=0, high=6, room=3, meaning="total number of NoOp records that controllers write")
    late_fetches = capacity(
        0, low=0, high=3, room=1, meaning="fetch requests in flight from senders that have left the epoch"
    )
    records_per_answer = bound(16, low=1, high=16, meaning="maximum number of records in the response to a fetch")

    # budgets
    restarts = bound(0, low=0, high=4, meaning="restarts of a node")
    disk_losses = bound(0, low=0, high=2, meaning="restarts of a node with an empty disk")
    losses = bound(0, low=0, high=4, meaning="responses to fetches that are lost")
    fetch_timeouts = bound(0, low=0, high=2, meaning="times that an observer's fetch timeout expires")
    removals = bound(0, low=0, high=1, meaning="leaders that remove themselves from the voters")
    additions = bound(0, low=0, high=1, meaning="observers that become voters")
    updates = bound(0, low=0, high=1, meaning="voters whose new endpoints no other node can reach")
    registration_timeouts = bound(
        0, low=0, high=1, meaning="registration requests of a controller that time out before they are sent"
    )
    snapshots = bound(0, low=0, high=2, meaning="snapshots that nodes take; each replaces the start of its node's log")

    # elections and logs
    real_votes = switch(
        default=False, meaning="candidates request votes one by one; otherwise, an election is one step"
    )
    pre_vote = switch(
        default=False, meaning="a voter becomes a candidate only after a majority has granted a pre-vote (KIP-996)"
    )
    fresh_followers_grant = switch(
        default=False, meaning="a follower grants pre-votes until it has fetched from its leader (FollowerState)"
    )
    check_quorum = switch(
        default=False, meaning="a leader that is not followed by a majority of the voters resigns (KAFKA-15489)"
    )
    lone_voter_resigns = switch(default=False, meaning="a leader that is the only voter also resigns (KAFKA-16144)")
    changes_after_commit = switch(
        default=True, meaning="a leader changes the voters only once its high watermark is known (KIP-853)"
    )
    one_change_at_a_time = switch(
        default=True, meaning="a leader changes the voters only once the previous change is committed (KIP-853)"
    )
    vote_persisted = switch(default=True, meaning="a node's vote survives a restart (KIP-595, quorum state file)")
    resumes_leadership = switch(
        default=False, meaning="a leader that restarts continues to lead in the same epoch (KAFKA-10527)"
    )
    flush_lags = switch(
        default=False, meaning="a restarted leader may lose records that it appended after the last fetch"
    )
    commits_beyond_epoch_start = switch(
        default=True, meaning="the high watermark must be above the start of the epoch, not just at it (KAFKA-12619)"
    )
    leader_always_counted = switch(
        default=False, meaning="a leader that is no longer a voter still counts as a voter (KAFKA-16530)"
    )
    refuses_truncation_below_high_watermark = switch(
        default=True, meaning="a node that would truncate below its high watermark stops instead (KAFKA-12460)"
    )
    diverging_high_watermark_counts = switch(
        default=False, meaning="a replica adopts the high watermark of a diverging response before it truncates"
    )

    snapshots_hold_committed = switch(default=True, meaning="a snapshot contains only committed records (KAFKA-10800)")
    snapshot_epochs_compared = switch(
        default=True, meaning="a leader also compares epochs at the snapshot where its log starts (KAFKA-10761)"
    )
    logs_start_with_snapshots = switch(
        default=True, meaning="a log is deleted only up to the end of a snapshot (KAFKA-14238)"
    )

    # changes of the voters
    auto_join = switch(default=False, meaning="observers add themselves as voters (controller.quorum.auto.join.enable)")
    former_voters_join = switch(
        default=True, meaning="with `auto_join`, a voter that was removed may add itself again (KAFKA-19850)"
    )
    endpoints_tried = switch(
        default=True, meaning="a leader stores a voter's new endpoints only if it can reach them (KAFKA-20661)"
    )

    # controllers
    listeners = switch(default=False, meaning="nodes notify their controllers that they are active")
    notified = choice(
        Notified.COMMITTED,
        meaning=(
            "when a controller becomes active: committed (once its node leads and has committed its epoch's start), "
            "restarted (also after a restart in an epoch that it led, KAFKA-17333), read (also once it knows that "
            "its whole log is committed, KAFKA-15345)"
        ),
    )
    registers_again = switch(
        default=True, meaning="a controller whose registration request timed out sends another request (KAFKA-20247)"
    )

    # discovery
    bootstrap = bound(31, low=0, high=31, meaning="nodes that tell observers who leads, as a sum of powers of two")
    observers_return = switch(
        default=True, meaning="after a fetch timeout, an observer may fetch from the same leader again (KAFKA-19354)"
    )

    # parking
    version_18 = bound(31, low=0, high=31, meaning="nodes that support Fetch version 18, as a sum of powers of two")
    finalizing_record = bound(
        0, low=0, high=6, meaning="the record that finalizes the metadata version; 0 means that no record is needed"
    )
    compares_high_watermarks = switch(
        default=True,
        meaning="a fetch is parked only if the replica's high watermark is not behind the leader's (KIP-1166)",
    )
    completes_on_high_watermark = choice(
        Completion.ALL, meaning="fetches that a new high watermark completes (KIP-1166): none, reporting, all"
    )
    high_watermark_source = choice(
        Source.REPORTED,
        meaning="a replica's high watermark is: reported (by the replica), remembered (by the leader, as in KIP-392)",
    )
    reports = choice(
        Report.OWN, meaning="the HighWatermark field holds: own, received (not capped by the log end), zero"
    )
    parks_before_first_commit = switch(
        default=True, meaning="a leader that does not know its high watermark (-1, the lowest value) parks fetches"
    )
    empty_answers_raise_high_watermark = switch(
        default=True, meaning="replicas adopt the high watermark of responses without records"
    )
    parks_diverging = switch(default=False, meaning="diverging responses are also parked (KAFKA-15100)")
    timeout_answers_anew = switch(
        default=False, meaning="a fetch that times out is answered from the leader's current state (before KAFKA-15100)"
    )
    consumer = switch(
        default=False, meaning="the last node is a consumer, not a replica, and reads only committed records"
    )
    consumer_waits_for = choice(
        Emptiness.LOG_END, meaning="a consumer's fetch is parked unless its offset is below: log-end, high-watermark"
    )
    counts_answers = switch(
        default=False, meaning="responses that contain only a high watermark are counted, for properties"
    )

    # brokers
    brokers_apply = choice(Applied.NONE, meaning="records that observers apply as brokers: none, committed, fetched")

    # time
    clock = switch(default=False, meaning="time passes in ticks")
    max_wait = bound(5, low=1, high=200, meaning="maximum number of ticks for which a fetch is parked")
    latency = bound(1, low=1, high=8, meaning="ticks that a message takes: half a round trip")
    early_delivery = switch(default=False, meaning="a message may arrive in less than `latency`")
    retry = bound(0, low=0, high=200, meaning="ticks after which a replica whose response was lost fetches again")
    longest_delay = bound(
        1000, low=0, high=1000, meaning="ticks within which a property requires every replica to learn of a commit"
    )
    no_op_interval = bound(0, low=0, high=200, meaning="ticks between NoOp records; 0 means that the clock writes none")


def refuse(c: C) -> str | None:
    """Return the reason why these constants cannot be combined, or None if they can."""
    if c.voters > c.nodes:
        return f"voters={c.voters} is more than nodes={c.nodes}."
    if c.consumer and c.voters == c.nodes:
        return f"the consumer is the last node, but all {c.nodes} nodes are voters: lower voters or raise nodes."
    if c.pre_vote and not c.check_quorum:
        return "pre_vote needs check_quorum, because a leader grants no pre-votes and must resign: set check_quorum=on."
    if c.lone_voter_resigns and not c.check_quorum:
        return "lone_voter_resigns has no effect without check_quorum: set check_quorum=on."
    if c.clock and c.max_epoch > 1:
        return f"clock=on supports only one leader epoch, not max_epoch={c.max_epoch}: set max_epoch=1."
    if c.no_op_interval > 0 and not c.clock:
        return f"no_op_interval={c.no_op_interval} needs the clock: set clock=on."
    if c.no_op_interval > 0 and c.no_ops < 2:
        return (
            f"no_op_interval={c.no_op_interval} and no_ops={c.no_ops}: set no_ops to 2 or more, because time ends with "
            "the last NoOp record."
        )
    return None
