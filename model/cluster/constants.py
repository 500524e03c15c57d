"""Sizes, budgets and switches of the replication model.

A switch that is on by default is one of Kafka's checks or rules; turning a switch off restores the bug that it
prevents. A switch that is off by default adds a feature, or a faulty behaviour of Kafka.
"""

from enum import IntEnum

from fencepost.model.language import Constants, bound, capacity, choice, shape, switch


class Truncation(IntEnum):
    """How a follower finds its truncation point when it enters a leader epoch."""

    HIGH_WATERMARK = 0
    KIP_101 = 1
    KIP_279 = 2
    FETCH = 3


class Loss(IntEnum):
    """The brokers that may lose records in a crash."""

    NONE = 0
    OUTSIDE_ISR = 1
    ANY = 2


class Rollback(IntEnum):
    """The events after which a leader reverts a requested ISR change."""

    INELIGIBLE = 0
    ANY_ERROR = 1
    TIMEOUT = 2
    NEVER = 3


class FencedAnswers(IntEnum):
    """A follower's reaction to a leader that reports a fenced epoch.

    TRUSTED: the follower stops fetching until the next epoch. CHECKED: it stops unless it has already entered a later
    epoch. IGNORED: it continues, with the same effect as CHECKED, because no leader serves it before the next epoch.
    """

    IGNORED = 0
    CHECKED = 1
    TRUSTED = 2


class Field(IntEnum):
    """The HighWatermark field in followers' fetches (KIP-1166): absent (2^63-1), the follower's, or unknown (-1)."""

    ABSENT = 0
    OWN = 1
    UNKNOWN = 2


class EpochSource(IntEnum):
    """The source of the broker epoch with which the leader proposes a new ISR member."""

    FETCH = 0
    CACHE = 1


class Epochless(IntEnum):
    """How a leader treats fetches without a broker epoch: accept, accept without proposing the sender, or reject."""

    ACCEPTED = 0
    INELIGIBLE = 1
    REFUSED = 2


class UncleanShutdown(IntEnum):
    """How the controller detects, at registration, that a broker may have lost records."""

    NEVER = 0
    EVERY_INCARNATION = 1
    PREVIOUS_EPOCH = 2


class Checkpoint(IntEnum):
    """The high watermark of a log after a restart."""

    LAST = 0
    ANY = 1
    LOG_START = 2


class Completion(IntEnum):
    """The replicas that must be in the ISR before a reassignment completes.

    ALL_TARGETS: all remaining replicas (KAFKA-15665). ADDED: only the added replicas (before KAFKA-15665).
    ADDED_UNLESS_FEWER: like ADDED, but all remaining replicas if the number of replicas decreases (KAFKA-19975).
    """

    ALL_TARGETS = 0
    ADDED = 1
    ADDED_UNLESS_FEWER = 2


class Publishing(IntEnum):
    """The order in which a broker applies an image's partition and configuration (BrokerMetadataPublisher). Kafka
    applies topics first. TOGETHER: a partition's min ISR and ISR come from the same image.
    """

    TOPICS_FIRST = 0
    CONFIGS_FIRST = 1
    TOGETHER = 2


class Judging(IntEnum):
    """The min ISR that the controller uses to decide which replicas enter the ELR.

    OWN: the controller's value. SMALLER: the smaller of this value and the requesting leader's. HEARTBEATS: the
    smallest value that any broker may still use; heartbeats report which metadata a broker has applied.
    """

    OWN = 0
    SMALLER = 1
    HEARTBEATS = 2


class C(Constants):
    """Constants of the replication model."""

    # sizes
    brokers = shape(3, low=2, high=5, meaning="brokers, each with a replica of the partition (except `spare` brokers)")
    max_records = capacity(1, low=0, high=4, room=2, meaning="total number of records that producers write")
    metadata_lag = capacity(
        3, low=1, high=24, room=3, meaning="number of controller records by which a running broker may lag"
    )
    alter_partitions = capacity(2, low=1, high=6, room=2, meaning="AlterPartition messages in flight")
    late_fetches = capacity(1, low=0, high=4, room=1, meaning="fetch requests in flight from senders that have stopped")
    late_answers = capacity(
        0, low=0, high=2, meaning="fetch responses in flight from an earlier leader epoch than the follower's"
    )
    max_leader_epoch = bound(2, low=0, high=12, meaning="last leader epoch; the first is 0")

    # budgets
    crashes = bound(1, low=0, high=4, meaning="crashes")
    clean_stops = bound(0, low=0, high=4, meaning="controlled shutdowns")
    fences = bound(1, low=0, high=6, meaning="times that the controller fences a broker")
    shrinks = bound(1, low=0, high=4, meaning="times that a leader requests an ISR shrink")
    lags = bound(0, low=0, high=2, meaning="times that a follower lags for too long (with waits_for_joining)")
    elections = bound(0, low=0, high=4, meaning="preferred leader elections")
    disk_swaps = bound(0, low=0, high=2, meaning="logs that are lost while their broker runs")
    directory_failures = bound(0, low=0, high=2, meaning="log directories that fail while their broker runs (KIP-858)")
    directory_removals = bound(0, low=0, high=2, meaning="log directories that are removed from log.dirs (KIP-858)")
    disk_replacements = bound(0, low=0, high=2, meaning="disks that are replaced by empty disks while a broker is down")
    directories = bound(
        0, low=0, high=5, meaning="brokers whose log directory may fail or be replaced (the lowest-numbered)"
    )
    deletions = bound(
        0, low=0, high=4, fault=True, meaning="offset up to which clients may delete records (DeleteRecords)"
    )
    expirations = bound(
        0, low=0, high=4, fault=True, meaning="offset up to which retention may delete records on a replica"
    )
    resends = bound(0, low=0, high=2, meaning="AlterPartition requests that are resent on another connection")
    reassignments = bound(0, low=0, high=4, meaning="times that an operator starts or replaces a reassignment")
    cancels = bound(0, low=0, high=3, meaning="times that an operator cancels a reassignment")
    raises = bound(0, low=0, high=2, meaning="times that an operator raises min ISR by one")
    lowers = bound(0, low=0, high=2, meaning="times that an operator lowers min ISR by one")
    elr_disables = bound(0, low=0, high=1, meaning="with ELR: times that an operator turns the feature off")
    early_starts = bound(0, low=0, high=2, meaning="times that a process follows a leader while unregistered (HYP-15)")
    movable = bound(0, low=0, high=5, meaning="brokers that a reassignment may add or remove (the lowest-numbered)")
    least_replicas = bound(
        0, low=0, high=5, meaning="minimum number of replicas after a reassignment (always at least one)"
    )
    spare = bound(0, low=0, high=4, meaning="movable brokers that start without a replica (the highest-numbered)")

    # initial state
    initial_leader = bound(0, low=0, high=4, meaning="initial leader; broker 0 is the preferred leader")
    initial_isr = bound(
        4, low=1, high=5, meaning="number of initial in-sync replicas: the leader, then the lowest-numbered brokers"
    )
    min_isr = bound(1, low=1, high=5, meaning="min.insync.replicas")

    # faults
    loss = choice(Loss.OUTSIDE_ISR, meaning="brokers that may lose records in a crash: none, outside-isr, any")
    partial_loss = switch(default=False, meaning="a crash may lose any suffix of a log, not only the whole log")
    restart_high_watermark = choice(Checkpoint.LAST, meaning="high watermark after a restart: last, any, log-start")

    log_start_flushed = switch(
        default=True, meaning="a new log start is checkpointed immediately (Kafka does this once a minute)"
    )

    # follower and leader logs
    truncation = choice(Truncation.FETCH, meaning="how followers truncate: high-watermark, kip-101, kip-279, fetch")
    fetch_leader_epoch_check = switch(
        default=True, meaning="leaders serve only fetches from their own leader epoch (KIP-320)"
    )
    fetch_broker_epoch_check = switch(
        default=True, meaning="leaders refuse fetches with an older broker epoch (KAFKA-15221)"
    )
    fenced_epoch_check = switch(
        default=False, meaning="leaders check fetches against the broker epochs of fenced brokers too (HYP-9)"
    )
    fetch_carries_broker_epoch = switch(default=True, meaning="fetches contain the broker epoch (KIP-903, Fetch v15)")
    epochless_fetches = choice(
        Epochless.ACCEPTED, meaning="fetches without a broker epoch are: accepted (HYP-15), ineligible, refused"
    )
    diverging_fetch_counts = switch(
        default=False, meaning="a diverging fetch updates the leader's view of the follower (KAFKA-13141)"
    )
    high_watermark_before_truncation = switch(
        default=False, meaning="followers adopt a diverging response's high watermark before truncating (KAFKA-14704)"
    )
    last_epoch_lost_on_empty = switch(
        default=False, meaning="an empty response resets the follower's last fetched epoch (KAFKA-15510)"
    )
    answers_match_epoch = switch(
        default=True, meaning="a follower accepts only responses to fetches from its own leader epoch (KAFKA-18991)"
    )
    divergence_judged_apart = switch(
        default=False, meaning="a follower checks a diverging response and truncates in separate steps"
    )
    records_read_late = switch(
        default=False, meaning="a response's records are read from the log when they are sent (KAFKA-18723)"
    )
    later_epochs_skipped = switch(
        default=True, meaning="a follower skips fetched records whose leader epoch is later than its own (KAFKA-18723)"
    )
    epoch_start_recorded = switch(default=True, meaning="a new leader records where its epoch starts (KAFKA-7415)")
    fenced_answers = choice(
        FencedAnswers.IGNORED,
        meaning="a FENCED_LEADER_EPOCH response to a truncation query is: ignored, checked, trusted (KAFKA-7786)",
    )
    fetches_report = choice(Field.ABSENT, meaning="the HighWatermark field in fetches (KIP-1166): absent, own, unknown")

    truncation_moves_checkpoint = switch(
        default=False,
        meaning="a follower that truncates its log below its checkpointed start updates the checkpoint too (HYP-23)",
    )
    deletion_needs_high_watermark = switch(
        default=True, meaning="records are deleted only below the high watermark (KIP-107)"
    )

    # leader
    maximal_isr = switch(default=True, meaning="the high watermark also waits for proposed ISR members (KIP-497)")
    rollback_on = choice(
        Rollback.INELIGIBLE, meaning="a leader reverts an ISR change on: ineligible, any-error, timeout, never"
    )
    epoch_start_check = switch(
        default=True, meaning="a replica joins the ISR only once its log reaches the leader epoch's start"
    )
    log_start_check = switch(
        default=False, meaning="a replica joins the ISR only once its log start equals the leader's (HYP-22)"
    )
    leader_eligibility_check = switch(
        default=True, meaning="the leader adds no broker that its metadata cache shows as fenced (KIP-841)"
    )
    leader_broker_epoch_check = switch(
        default=True, meaning="the leader checks broker epochs against its metadata cache (KIP-903)"
    )
    broker_epoch_from = choice(EpochSource.FETCH, meaning="broker epochs of ISR members are taken from: fetch, cache")
    atomic_expansion = switch(
        default=True, meaning="an ISR expansion is checked and requested in one step (KAFKA-15221)"
    )
    one_request_in_flight = switch(default=True, meaning="a leader has only one AlterPartition in flight (KAFKA-12686)")
    high_watermark_needs_min_isr = switch(
        default=True, meaning="the high watermark does not move while the ISR is smaller than min ISR (KAFKA-15583)"
    )
    high_watermark_only_rises = switch(default=True, meaning="a leader never lowers its high watermark")
    waits_for_joining = switch(
        default=False, meaning="the high watermark waits for followers outside the ISR that were recently caught up"
    )
    wait_needs_eligibility = switch(
        default=True, meaning="the high watermark waits only for followers that may join the ISR (KAFKA-15021)"
    )
    reset_followers_on_reelection = switch(
        default=False, meaning="a re-elected leader forgets its followers' log ends (HYP-1)"
    )
    equal_partition_epoch_overwrites = switch(
        default=True, meaning="metadata with an equal partition epoch replaces a pending ISR change (HYP-3)"
    )
    reported_high_watermark_counts = switch(
        default=False,
        meaning="as in the quorum, the HighWatermark field decides whether a leader parks a fetch without records",
    )
    isr_from_metadata = switch(
        default=True, meaning="leaders learn of ISR changes from metadata too, not only from responses (KRaft)"
    )
    answers_are_lost = switch(
        default=False, meaning="a request is resent after a disconnect, and the response to the first copy is lost"
    )
    publishing = choice(
        Publishing.TOPICS_FIRST,
        meaning="order in which brokers apply partitions and min ISR: topics-first, configs-first (HYP-11), together",
    )
    answers_carry_min_isr = switch(
        default=False, meaning="the response to an ISR change contains the controller's min ISR (HYP-11)"
    )
    metadata_in_shutdown = switch(
        default=True, meaning="a broker that is shutting down still applies metadata (KAFKA-13858, KAFKA-14296)"
    )
    acknowledge_after_leadership = switch(
        default=False, meaning="an increase of a follower's high watermark completes pending writes (KAFKA-20634)"
    )

    # controller
    alter_partition_version = bound(
        3,
        low=1,
        high=3,
        meaning=("refused ISR members: 1 none, 2 fenced brokers (KIP-841), 3 also brokers with old epochs (KIP-903)"),
    )
    request_epoch_checks = switch(
        default=True, meaning="the controller refuses requests with an old broker, leader or partition epoch (KIP-497)"
    )
    repeats_answers = switch(
        default=False, meaning="the controller confirms a repeated request for the committed ISR (KAFKA-14144)"
    )
    election_opens_epoch = switch(default=True, meaning="every leader change starts a new leader epoch (KIP-101)")
    registration_opens_epoch = switch(
        default=False, meaning="a registration starts a new leader epoch (an alternative that KIP-903 rejects)"
    )
    unfencing_needs_isr = switch(
        default=False,
        meaning="a broker stays fenced until it is in the ISR, which a fenced broker cannot join (KIP-841)",
    )
    registration_leaves_isr = switch(
        default=True, meaning="a registration removes its broker from the ISR, as fencing does (KAFKA-18106, HYP-2)"
    )
    fenced_before_registration = switch(default=False, meaning="only a fenced broker may register again")
    bump_leader_epoch_on_shrink = switch(default=False, meaning="an ISR shrink starts a new leader epoch (before 3.6)")
    completion = choice(
        Completion.ALL_TARGETS,
        meaning=(
            "replicas in the ISR that a reassignment needs to complete: all-targets (KAFKA-15665), added (new ones) or "
            "added-unless-fewer (all targets only if there are fewer of them than before; KAFKA-19975)"
        ),
    )
    removal_opens_epoch = switch(default=True, meaning="removing a replica starts a new leader epoch")
    any_preferred = switch(default=False, meaning="operators may make any replica the preferred leader")
    unclean_election = switch(default=False, meaning="unclean.leader.election.enable")
    elr = switch(default=False, meaning="eligible leader replicas (KIP-966)")
    elr_within_replicas = switch(
        default=False, meaning="with ELR: a broker whose replica is removed is no longer eligible (HYP-10)"
    )
    elr_judged_by = choice(
        Judging.OWN,
        meaning="with ELR, the min ISR that the controller uses to fill the ELR: own, smaller, heartbeats (HYP-11)",
    )
    stale_elr_elects = switch(
        default=True, meaning="after ELR is turned off, remaining members of an ELR may still be elected (HYP-14)"
    )
    min_isr_opens_partition_epoch = switch(
        default=False,
        meaning="every change of min ISR starts a new partition epoch, even if no ELR is cleared (HYP-11)",
    )
    leaderless_elr_is_cleared = switch(
        default=True, meaning=("a change of min ISR also clears the ELR of a partition without a leader (HYP-12)")
    )
    failed_directory_leaves_elr = switch(
        default=False, meaning="with ELR: a replica whose directory has failed is not eligible (HYP-16)"
    )
    fewer_directories_are_unclean = switch(
        default=False, meaning="with ELR: a registration that lacks a directory of the previous one is unclean (HYP-16)"
    )
    failed_directories_are_reported = switch(
        default=True, meaning="heartbeats report log directories that have failed (KAFKA-19289)"
    )
    assignment_keeps_elr = switch(
        default=True, meaning="with ELR: the assignment of a directory does not change the ELR (HYP-17)"
    )
    offline_replica_is_ineligible = switch(
        default=False, meaning="a replica whose directory is offline may not join the ISR (HYP-18)"
    )
    directory_check = switch(default=True, meaning="only a replica whose directory is online is elected (KIP-858)")
    last_known_leader = switch(
        default=True, meaning="with ELR: the last known leader is elected if the ISR and the ELR are both empty"
    )
    last_known_leader_check = switch(
        default=True, meaning="the last known leader is elected only if it is active (KAFKA-19522)"
    )
    unclean_shutdown = choice(
        UncleanShutdown.PREVIOUS_EPOCH,
        meaning="with ELR, when a registration counts as unclean: never, every-incarnation, previous-epoch",
    )


def refuse(c: C) -> str | None:
    """Return the reason why these constants cannot be combined, or None if they can."""
    if c.min_isr > c.brokers:
        return f"min_isr={c.min_isr} is more than brokers={c.brokers}, but min ISR cannot exceed that."
    if c.initial_leader >= c.brokers:
        return f"initial_leader={c.initial_leader} is not a broker: brokers are numbered 0 to {c.brokers - 1}."
    if c.late_answers > 0 and c.truncation != Truncation.FETCH:
        return f"late_answers={c.late_answers} needs fetch responses with a truncation offset: write truncation=fetch."
    if c.records_read_late and c.crashes + c.clean_stops > 0:
        return "records_read_late=on assumes one process per broker: write crashes=0 and clean_stops=0."
    if c.movable > c.brokers:
        return f"movable={c.movable} is more than brokers={c.brokers}: write movable={c.brokers} or less."
    if c.reassignments > 0 and c.movable == 0:
        return f"reassignments={c.reassignments} has no effect with movable=0: write movable={c.brokers} or less."
    if c.cancels > 0 and c.reassignments == 0:
        return f"cancels={c.cancels} has no effect with reassignments=0: write reassignments=1 or more."
    if c.directories > c.brokers:
        return f"directories={c.directories} is more than brokers={c.brokers}: write directories={c.brokers} or less."
    if c.directories == 0 and c.directory_failures + c.directory_removals + c.disk_replacements > 0:
        return f"no directory can fail or be replaced with directories=0: write directories={c.brokers} or less."
    if c.deletions + c.expirations > 0 and c.truncation != Truncation.FETCH:
        return "log starts above 0 need fetch responses with a truncation offset: write truncation=fetch."
    if c.spare > c.movable:
        return (
            f"spare={c.spare} exceeds movable={c.movable}, but spare brokers must be movable: write movable={c.spare}."
        )
    if c.least_replicas > c.brokers:
        return f"least_replicas={c.least_replicas} exceeds brokers={c.brokers}: write {c.brokers} or less."
    if c.answers_carry_min_isr and c.publishing != Publishing.TOGETHER:
        return "answers_carry_min_isr=on gives each partition its own min ISR: write publishing=together."
    if c.movable - c.spare <= c.initial_leader < c.movable:
        return (
            f"initial_leader={c.initial_leader} has no replica with movable={c.movable} and "
            f"spare={c.spare}: choose another."
        )
    return None
