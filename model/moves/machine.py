"""A replica moves between two directories of its broker (KIP-113), and is assigned to a directory (KIP-858).

The replica is the last ISR member, so every record that it writes is acknowledged immediately. A log is represented by
its number of records. If the replica leads with fewer records than were acknowledged, its followers truncate, and
records are lost. The copy represents Kafka's future log. Simplifications: All requests are answered. The controller
learns immediately that a directory has failed. Promoting a copy is one step; killing and starting a broker is one step
too. Failed directories do not return. Assignments are queued as in 3.9 and later.
"""

from typing import Annotated

from fencepost.model.language import (
    NONE,
    BitSet,
    Constants,
    Index,
    Machine,
    Range,
    Record,
    Repair,
    Version,
    action,
    bits,
    bound,
    require,
    switch,
)


class C(Constants):
    """Constants of a run."""

    log_size = bound(1, low=1, high=3, meaning="records of the partition")
    moves = bound(1, low=0, high=3, meaning="AlterReplicaLogDirs requests, which start or cancel a move")
    kills = bound(1, low=0, high=2, meaning="times that the broker is killed and starts again")
    failures = bound(0, low=0, high=1, meaning="directories that fail")
    changes = bound(0, low=0, high=2, meaning="other changes to the partition, for example to its ISR")
    copies_are_recovered = switch(
        default=True, meaning="when the broker starts, an assigned copy becomes the log (KAFKA-16082)"
    )
    changes_reset = switch(default=True, meaning="a change to the partition resets a promotion (KAFKA-16297)")
    longer_logs_are_kept = switch(
        default=False, meaning="when the broker starts, a log that is longer than its copy is kept (HYP-27)"
    )
    ends_are_assigned = switch(
        default=False, meaning="when a move ends or a directory fails, the replica is assigned to its log's directory"
    )
    new_directories_are_judged = switch(
        default=False, meaning="an assignment elects a replica if the new directory, not the previous one, is online"
    )


Directory = Annotated[int, Index(2)]
MaybeDirectory = Annotated[int, Index(2, none=True)]
Offset = Annotated[int, Range(0, C.log_size)]


class Assignment(Record):
    """A directory to assign to the replica, or NONE. If `promotes` is set, the response allows a promotion."""

    to: MaybeDirectory
    promotes: bool


class Broker(Record):
    """The broker's memory. A promotion is `queued`, `accepted` or neither (ReassignmentState). `recorded` means that
    the controller has recorded `sent`. Until the broker applies it, `reassigned` marks a change of the assigned
    directory, and `changed` any other change. `leads` means that the broker has learned that it leads.
    """

    serves: bool
    leads: bool
    queued: bool
    accepted: bool
    ready: Assignment
    sent: Assignment
    recorded: bool
    changed: bool
    reassigned: bool


class Budget(Record):
    """The remaining budget of events."""

    moves: Annotated[int, Range(0, C.moves)]
    kills: Annotated[int, Range(0, C.kills)]
    failures: Annotated[int, Range(0, C.failures)]
    changes: Annotated[int, Range(0, C.changes)]


class State(Record):
    """The directories and ends of the log and the copy, the offline directories, and the controller's metadata."""

    log: MaybeDirectory
    end: Offset
    copy: MaybeDirectory
    copied: Offset
    offline: Annotated[int, BitSet(2)]
    broker: Broker
    leads: bool
    fenced: bool
    assigned: Directory
    budget: Budget
    ghost_acknowledged: Offset


@action()
def initial(s: State, c: C) -> None:
    """The replica leads. Its log is empty, and is in directory 0."""
    s.copy = NONE
    s.broker = Broker(serves=True, leads=True, ready=Assignment(to=NONE), sent=Assignment(to=NONE))
    s.leads = True
    s.budget = Budget(moves=c.moves, kills=c.kills, failures=c.failures, changes=c.changes)


@action()
def leader_appends(s: State, c: C) -> None:
    """The leader appends a record and acknowledges it (Partition.appendRecordsToLeader)."""
    require(s.broker.leads)
    require(s.end < c.log_size, bound=C.log_size)
    s.end += 1
    s.ghost_acknowledged = max(s.ghost_acknowledged, s.end)


@action()
def partition_changes(s: State, c: C) -> None:
    """A PartitionChangeRecord changes something other than the leader and the directories, for example the ISR."""
    require(s.budget.changes > 0, bound=C.changes)
    s.budget.changes -= 1
    s.broker.changed = True


@action()
def controller_elects(s: State, c: C) -> None:
    """The controller unfences the broker, and elects the replica if its directory is online (LeaderAcceptor)."""
    elects = not s.leads and not bits.contains(s.offline, s.assigned)
    require(s.fenced or elects)
    s.fenced = False
    s.leads = s.leads or elects
    s.broker.changed = s.broker.changed or elects


def undo(s: State, c: C) -> None:
    """Assign the log's directory again, if necessary (ReplicaAlterLogDirsThread.removePartitions)."""
    b = s.broker
    if b.queued or (b.accepted and c.changes_reset) or c.ends_are_assigned:
        b.ready = Assignment(to=s.log)
    b.queued = b.queued and not c.changes_reset
    b.accepted = b.accepted and not c.changes_reset


@action(directory=Directory)
def broker_moves_replica(s: State, c: C, directory: int) -> None:
    """A request starts a move, or cancels a move by naming the log's directory (ReplicaManager.alterReplicaLogDirs)."""
    require(s.budget.moves > 0, bound=C.moves)
    require(s.broker.serves)
    require((directory == s.log) == (s.copy != NONE))
    require(s.copy != NONE or s.offline == 0)
    s.budget.moves -= 1
    if s.copy != NONE:
        undo(s, c)
    s.copy = NONE if directory == s.log else directory
    s.copied = 0


def replace(s: State) -> None:
    """Make the copy the log, and delete the previous log (LogManager.replaceCurrentWithFutureLog)."""
    s.log = s.copy
    s.end = s.copied
    s.copy = NONE
    s.copied = 0


@action()
def broker_copies(s: State, c: C) -> None:
    """The copy gets a record. A complete copy is promoted, or its directory is requested first (processPartitionData).

    If the log was created in the copy's directory, the copy cannot be renamed, and the directory goes offline
    (KAFKA-16082); later steps are not modelled.
    """
    b = s.broker
    require(b.serves)
    require(s.copy != NONE)
    require(s.copied != s.end or not b.queued)
    s.copied = min(s.copied + 1, s.end)
    if s.copied == s.end and b.accepted:
        b.accepted = False
        if s.copy == s.log:
            s.offline = bits.with_member(s.offline, s.log)
        replace(s)
        if c.ends_are_assigned:
            b.ready = Assignment(to=s.log)
    elif s.copied == s.end and not b.queued:
        b.queued = True
        b.ready = Assignment(to=s.copy, promotes=True)


@action()
def broker_sends_assignment(s: State, c: C) -> None:
    """The broker sends its latest assignment if no request is in flight (AssignmentsManager.maybeSendAssignments)."""
    require(s.broker.ready.to != NONE)
    require(s.broker.sent.to == NONE)
    s.broker.sent = s.broker.ready
    s.broker.ready = Assignment(to=NONE)


@action()
def controller_assigns_directory(s: State, c: C) -> None:
    """The controller records a directory (handleAssignReplicasToDirs).

    PartitionChangeBuilder elects the replica if its previous directory is online. If the new directory is offline, a
    replica that already leads loses leadership, but one that does not can still be elected.
    """
    b = s.broker
    require(b.sent.to != NONE)
    require(not b.recorded)
    judged = b.sent.to if c.new_directories_are_judged else s.assigned
    leads = not (s.fenced or bits.contains(s.offline, judged) or (s.leads and bits.contains(s.offline, b.sent.to)))
    b.recorded = True
    b.changed = b.changed or leads != s.leads
    b.reassigned = b.reassigned or s.assigned != b.sent.to
    s.assigned = b.sent.to
    s.leads = leads


@action()
def broker_gets_answer(s: State, c: C) -> None:
    """The response allows the promotion, even of a later move's copy (AssignmentsManager.handleAssignmentResponse)."""
    b = s.broker
    require(b.recorded)
    if b.sent.promotes and ((b.serves and s.copy != NONE) or not c.changes_reset):
        b.queued = False
        b.accepted = True
    b.sent = Assignment(to=NONE)
    b.recorded = False


def apply_metadata(s: State, c: C, compares: bool) -> None:  # noqa: FBT001
    """Serve the log, reset a promotion, and correct an assignment to another directory (ReplicaManager.applyDelta).

    A thread with nothing to copy ends, and the response that it awaits promotes nothing (shutdownIdleFetcherThreads).
    """
    b = s.broker
    b.serves = s.log != NONE and (b.serves or not (compares and bits.contains(s.offline, s.assigned)))
    b.leads = b.serves and s.leads
    ends = not b.serves or s.copy == NONE
    if ends or c.changes_reset:
        b.queued = False
        b.accepted = False
    if ends:
        b.ready.promotes = False
        b.sent.promotes = False
    if compares and s.log not in (NONE, s.assigned):
        b.ready = Assignment(to=s.log)
    b.changed = False
    b.reassigned = False


@action()
def broker_applies_metadata(s: State, c: C) -> None:
    """The broker applies metadata, and compares the directory only if it has changed (TopicDelta.localChanges)."""
    require(s.broker.changed or s.broker.reassigned)
    apply_metadata(s, c, s.broker.reassigned)


@action(directory=Directory)
def directory_fails(s: State, c: C, directory: int) -> None:
    """A directory and the logs in it fail (ReplicaManager.handleLogDirFailure); the other directory still works.

    A replica that is assigned to the failed directory no longer leads
    (ReplicationControlManager.handleDirectoriesOffline).
    """
    require(s.budget.failures > 0, bound=C.failures)
    require(s.offline == 0)
    s.budget.failures -= 1
    s.offline = bits.only(directory)
    if s.broker.serves and directory in (s.log, s.copy):
        undo(s, c)
    s.broker.changed = s.broker.changed or (s.leads and s.assigned == directory)
    s.leads = s.leads and s.assigned != directory
    if s.log == directory:
        s.broker.serves = False
        s.broker.leads = False
        s.log = NONE
        s.end = 0
    if s.copy == directory:
        s.copy = NONE
        s.copied = 0


@action()
def broker_is_killed(s: State, c: C) -> None:
    """The broker is killed, fenced and started: an assigned copy becomes the log (recoverAbandonedFutureLogs).

    If there is no log, an empty one is created in the assigned directory if that is online (getOrCreateLog).
    """
    require(s.budget.kills > 0, bound=C.kills)
    require(s.offline != bits.everyone(2))
    s.budget.kills -= 1
    s.leads = False
    s.fenced = True
    s.broker = Broker(ready=Assignment(to=NONE), sent=Assignment(to=NONE))
    is_kept = c.longer_logs_are_kept and s.log != NONE and s.end > s.copied
    if c.copies_are_recovered and s.copy == s.assigned and not is_kept:
        replace(s)
    if s.log == NONE and not bits.contains(s.offline, s.assigned):
        s.log = s.assigned
    apply_metadata(s, c, True)


_3_7_0 = Version("kafka-3.7.0", "without KAFKA-16082, KAFKA-16297", {"copies_are_recovered": 0, "changes_reset": 0})
_HYP_27 = Repair(
    "HYP-27",
    "the copy of an unfinished move becomes the log only if no other log ends later",
    {"longer_logs_are_kept": 1},
    {"copies_are_recovered": 1},
)
MACHINE = Machine(
    name="directory-moves",
    sentence="how a replica moves to another directory of its broker, and is assigned to a directory (KIP-858)",
    state=State,
    constants=C,
    initial=initial,
    actions=(
        *(leader_appends, partition_changes, controller_elects, broker_moves_replica, broker_copies),
        *(broker_sends_assignment, controller_assigns_directory, broker_gets_answer, broker_applies_metadata),
        *(directory_fails, broker_is_killed),
    ),
    versions=(_3_7_0, Version("kafka-4.4", "3.9 to 4.4; 3.7.1 to 3.8 differ only in how assignments are queued", {})),
    source="KIP-113, KIP-858; apache/kafka: ReplicaAlterLogDirsThread, AssignmentsManager, LogManager, 4.1.2 to 4.4.0",
    repairs=(_HYP_27,),
)
