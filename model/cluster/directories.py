"""Log directories (KIP-858). They may fail while the broker runs, work again, be replaced by empty ones, or be removed.

A broker's replica is in one of two directories. The other directory contains the metadata log; if it fails, the broker
stops. This also covers brokers with a single directory, whose disk is replaced while the broker is down. Modelled on
ReplicaManager.handleLogDirFailure, LogManager, AssignmentsManager, and handleDirectoriesOffline and
handleAssignReplicasToDirs in ReplicationControlManager. Moves between directories are modelled in `model/moves`.
"""

from fencepost.model.cluster import log
from fencepost.model.cluster.constants import C
from fencepost.model.cluster.controller import has_room
from fencepost.model.cluster.follower import forget_answer
from fencepost.model.cluster.leader import forget_leadership
from fencepost.model.cluster.network import leave_fetch_behind
from fencepost.model.cluster.partition_change import (
    append_image,
    change_isr,
    change_partition,
    cleanly_elected,
    electable,
    elr_after,
    elr_target,
    epoch_after,
    epoch_for,
    leader_after,
)
from fencepost.model.cluster.state import Broker, Life, Move, State, has_process, is_running, local, newest
from fencepost.model.language import NONE, action, bits, require


@action(broker=Broker)
def log_directory_fails(s: State, c: C, broker: int) -> None:
    """The directory with the replica fails while the broker continues with the other directory (handleLogDirFailure).

    The replica is offline: it neither leads nor follows until the broker has restarted, with or without the directory.
    The replica's fetch stays in flight, and pending writes get no response before they time out.
    """
    r = s.replica[broker]
    require(s.budget.directory_failures > 0, bound=C.directory_failures)
    require(broker < c.directories, bound=C.directories)
    require(has_process(s, broker))
    require(r.offline == 0)
    require(not bits.contains(local(s, broker).missing, broker))
    leave_fetch_behind(s, c, broker)
    forget_leadership(r)
    forget_answer(r)
    r.truncating = False
    r.last_epoch_lost = False
    r.offline = 1
    log.recover(r, r.start if c.log_start_flushed else r.checkpoint)
    s.budget.directory_failures -= 1


@action(broker=Broker)
def log_directory_returns(s: State, c: C, broker: int) -> None:
    """A failed directory works again before its broker starts: its files are intact, but show no clean shutdown."""
    r = s.replica[broker]
    require(not has_process(s, broker))
    require(r.offline != 0)
    r.offline = 0
    r.life = Life.CRASHED


@action(broker=Broker)
def disk_is_replaced(s: State, c: C, broker: int) -> None:
    """The disk with the replica is replaced by an empty disk while the broker is down.

    `log.dirs` is unchanged. The new directory has a new id, and lacks the file that records a clean shutdown.
    """
    require(s.budget.disk_replacements > 0, bound=C.disk_replacements)
    require(broker < c.directories, bound=C.directories)
    require(not has_process(s, broker))
    leave_directory(s, broker)
    s.replica[broker].life = Life.CRASHED
    s.budget.disk_replacements -= 1


@action(broker=Broker)
def log_directory_is_taken_out(s: State, c: C, broker: int) -> None:
    """An operator removes the replica's directory from `log.dirs` while the broker is down.

    The broker creates an empty log in the other directory. The shutdown may nevertheless count as clean, because only
    the configured directories are checked (LogManager.readBrokerEpochFromCleanShutdownFiles).
    """
    require(s.budget.directory_removals > 0, bound=C.directory_removals)
    require(broker < c.directories, bound=C.directories)
    require(not has_process(s, broker))
    leave_directory(s, broker)
    s.budget.directory_removals -= 1


def leave_directory(s: State, broker: int) -> None:
    """Replace the broker's log with an empty log in a directory that the controller does not know yet.

    If the controller already knows that the directory has failed, the broker is no longer registered with it.
    """
    r = s.replica[broker]
    is_known = r.moved == Move.ASSIGNED and bits.contains(s.offline, broker)
    log.lose(r)
    r.offline = 0
    r.moved = Move.REGISTERED if is_known else Move.BEGUN


@action(broker=Broker)
def controller_marks_directory_offline(s: State, c: C, broker: int) -> None:
    """A heartbeat reports a failed directory: the controller removes the replica from the ISR and from leadership.

    ReplicationControlManager.handleDirectoriesOffline: the broker is treated as fenced, so its replica may stay in the
    ELR (HYP-16). The broker is then registered without the directory. If the failure handler itself fails, the
    heartbeat does not report the directory (KAFKA-19289).
    """
    image = newest(s)
    require(c.failed_directories_are_reported)
    require(has_room(s, c), bound=C.metadata_lag)
    require(is_running(s, broker))
    require(s.replica[broker].offline != 0)
    require(not bits.contains(s.offline, broker))
    isr = bits.without(image.isr, broker)
    unclean = bits.only(broker) if c.failed_directory_leaves_elr else 0
    leader = leader_after(s, c, isr, unclean, bits.without(electable(s, c), broker))
    require(epoch_for(s, c, isr, leader) <= c.max_leader_epoch, bound=C.max_leader_epoch)
    append_image(s)
    change_isr(s, c, isr, elr_after(s, c, isr, unclean), leader)
    s.offline = bits.with_member(s.offline, broker)


@action(broker=Broker)
def controller_assigns_directory(s: State, c: C, broker: int) -> None:
    """A running broker reports the directory of its new log, and the controller records it.

    ReplicationControlManager.handleAssignReplicasToDirs. The change may elect a leader, but not this broker, because
    its previous directory is still checked. Up to 4.2, the change empties the ELR, as if ELR were off (HYP-17).
    """
    image = newest(s)
    require(has_room(s, c), bound=C.metadata_lag)
    require(is_running(s, broker))
    require(s.replica[broker].offline == 0)
    require(bits.contains(s.offline, broker))
    elr = elr_target(s, c, image.isr, image.missing, 0)
    last_known_leader = s.last_known_leader
    finds_none = not c.assignment_keeps_elr and image.isr == 0 and elr == 0
    leader = cleanly_elected(s, c, image.isr, elr, image.missing, electable(s, c), s.removing)
    leader = NONE if finds_none else leader
    require(epoch_after(s, c, image.isr, leader, image.missing) <= c.max_leader_epoch, bound=C.max_leader_epoch)
    append_image(s)
    now = newest(s)
    partition_epoch = now.partition_epoch + 1
    change_partition(s, c, now.isr, elr, leader, now.missing, s.adding, s.removing)
    now.partition_epoch = partition_epoch
    if not c.assignment_keeps_elr:
        s.elr = 0
        s.last_known_leader = last_known_leader
    s.offline = bits.without(s.offline, broker)
    s.replica[broker].moved = Move.ASSIGNED
