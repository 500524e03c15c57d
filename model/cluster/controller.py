"""The controller: fencing, elections and AlterPartition, as one state machine that writes to its log.

Modelled on ReplicationControlManager and ClusterControlManager; `partition_change.py` computes the consequences of a
change. Every action that changes the metadata appends an image to a window of images. The action is enabled only if the
window has room, so brokers lag by at most `metadata_lag` images.
"""

from fencepost.model.cluster.constants import C, Judging
from fencepost.model.cluster.partition_change import (
    active,
    append_image,
    change_isr,
    completes,
    electable,
    elr_after,
    epoch_for,
    first_in_order,
    isr_after,
    leader_after,
)
from fencepost.model.cluster.state import (
    AlterPartition,
    Broker,
    Image,
    State,
    Status,
    effective_min_isr,
    has_elr,
    is_copy,
    is_running,
    is_sent,
    newest,
    replicas,
)
from fencepost.model.language import NONE, InFlight, action, bits, require


def has_room(s: State, c: C) -> bool:
    """Return whether there is room for another image in the window."""
    return s.newest < c.metadata_lag


def leader_without(s: State, c: C, broker: int) -> int:
    """Return the leader after this broker has left the ISR."""
    image = newest(s)
    isr = bits.without(image.isr, broker)
    if isr == image.isr:
        return image.leader
    return leader_after(s, c, isr, 0, bits.without(electable(s, c), broker))


def epoch_without(s: State, c: C, broker: int, leader: int) -> int:
    """Return the leader epoch after this broker has left the ISR and `leader` leads."""
    image = newest(s)
    isr = bits.without(image.isr, broker)
    return image.leader_epoch if isr == image.isr else epoch_for(s, c, isr, leader)


def remove_from_isr(s: State, c: C, broker: int, leader: int) -> None:
    """If a broker is in the newest image's ISR, remove it and set the leader."""
    isr = bits.without(newest(s).isr, broker)
    if isr != newest(s).isr:
        change_isr(s, c, isr, elr_after(s, c, isr, 0), leader)


@action(broker=Broker)
def controller_fences_broker(s: State, c: C, broker: int) -> None:
    """The controller fences a broker whose heartbeats stop, after removing it from the ISR and from leadership.

    ReplicationControlManager.handleBrokerFenced. Any broker's session may time out, even while it is running.
    """
    image = newest(s)
    require(has_room(s, c), bound=C.metadata_lag)
    require(s.budget.fences > 0, bound=C.fences)
    require(not bits.contains(image.fenced, broker))
    leader = leader_without(s, c, broker)
    require(epoch_without(s, c, broker, leader) <= c.max_leader_epoch, bound=C.max_leader_epoch)
    append_image(s)
    remove_from_isr(s, c, broker, leader)
    now = newest(s)
    now.fenced = bits.with_member(now.fenced, broker)
    s.budget.fences -= 1


@action(broker=Broker)
def controller_unfences_broker(s: State, c: C, broker: int) -> None:
    """The controller unfences a running broker that has applied its own registration; it may then be elected.

    ReplicationControlManager.handleBrokerUnfenced: only a partition without a leader changes; the ELR is cleared if ELR
    was turned off. A broker that has requested a shutdown is never unfenced
    (BrokerHeartbeatManager.calculateNextBrokerState).
    """
    image = newest(s)
    require(has_room(s, c), bound=C.metadata_lag)
    require(is_running(s, broker))
    require(bits.contains(image.fenced, broker))
    require(not bits.contains(image.stopping, broker))
    is_online = not bits.contains(s.offline, broker) or not c.directory_check
    acceptable = bits.with_member(electable(s, c), broker) if is_online else electable(s, c)
    leader = leader_after(s, c, image.isr, 0, acceptable) if image.leader == NONE else image.leader
    require(
        leader == image.leader or epoch_for(s, c, image.isr, leader) <= c.max_leader_epoch, bound=C.max_leader_epoch
    )
    if bits.contains(image.isr, broker) or not c.unfencing_needs_isr:
        append_image(s)
        now = newest(s)
        now.fenced = bits.without(now.fenced, broker)
        if leader != now.leader or (now.leader == NONE and s.elr != 0 and not has_elr(s, c)):
            change_isr(s, c, now.isr, elr_after(s, c, now.isr, 0), leader)


@action(broker=Broker)
def controller_begins_shutdown(s: State, c: C, broker: int) -> None:
    """A broker requests a controlled shutdown: the controller removes it from the ISR and from leadership (KIP-841).

    ReplicationControlManager.handleBrokerInControlledShutdown.
    """
    image = newest(s)
    require(has_room(s, c), bound=C.metadata_lag)
    require(s.budget.clean_stops > 0, bound=C.clean_stops)
    require(is_running(s, broker))
    require(bits.contains(active(c, image), broker))
    leader = leader_without(s, c, broker)
    require(epoch_without(s, c, broker, leader) <= c.max_leader_epoch, bound=C.max_leader_epoch)
    append_image(s)
    remove_from_isr(s, c, broker, leader)
    now = newest(s)
    now.stopping = bits.with_member(now.stopping, broker)
    s.budget.clean_stops -= 1


@action(broker=Broker)
def controller_elects_preferred(s: State, c: C, broker: int) -> None:
    """The controller moves the leadership to the preferred replica; the ISR does not change.

    ReplicationControlManager.maybeTriggerLeaderChangeForPartitionsWithoutPreferredLeader. The preferred replica is the
    first in the replica list, which an operator can reorder by a reassignment.
    """
    image = newest(s)
    require(has_room(s, c), bound=C.metadata_lag)
    require(s.budget.elections > 0, bound=C.elections)
    require(broker == first_in_order(c, replicas(c, image), s.removing) or c.any_preferred)
    require(image.leader != broker)
    require(bits.contains(image.isr & electable(s, c), broker))
    require(image.leader_epoch < c.max_leader_epoch, bound=C.max_leader_epoch)
    append_image(s)
    change_isr(s, c, newest(s).isr, elr_after(s, c, newest(s).isr, 0), broker)
    s.budget.elections -= 1


def is_from_current_leader(image: Image, m: AlterPartition) -> bool:
    """Return whether a request's epochs equal the controller's (ReplicationControlManager.validateAlterPartitionData).

    A request's epochs are never newer, because there is only one controller (NOT_CONTROLLER is not modelled).
    """
    return (
        m.broker_epoch == image.broker_epoch[m.leader]
        and m.leader_epoch == image.leader_epoch
        and m.leader == image.leader
        and m.partition_epoch == image.partition_epoch
    )


def passes_epoch_checks(c: C, image: Image, m: AlterPartition) -> bool:
    """Return whether the controller accepts a request as coming from the current leader."""
    return is_from_current_leader(image, m) or (not c.request_epoch_checks and m.leader == image.leader)


def is_repeated(c: C, image: Image, m: AlterPartition) -> bool:
    """Return whether the controller treats a request as a duplicate, because the requested ISR is already committed."""
    return (
        c.repeats_answers
        and m.broker_epoch == image.broker_epoch[m.leader]
        and m.leader_epoch == image.leader_epoch
        and m.leader == image.leader
        and m.partition_epoch + 1 == image.partition_epoch
        and m.isr == image.isr
    )


def is_sent_again(s: State, m: AlterPartition) -> bool:
    """Return whether another copy of a request is in flight, because its sender has closed a connection."""
    return sum(other.status == Status.SENT and is_copy(other, m) for other in s.alter_partitions) > 1


def is_eligible(s: State, c: C, m: AlterPartition) -> bool:
    """Return whether all proposed members may be in the ISR (ReplicationControlManager.ineligibleReplicasForIsr).

    KIP-841 (version 2): members must be neither fenced nor shutting down. KIP-903 (version 3): members must have the
    broker epochs that the request names; NONE disables this check. Kafka does not check members' directories (HYP-18).
    """
    image = newest(s)
    return (
        (c.alter_partition_version < 2 or m.isr & ~active(c, image) == 0)
        and (
            c.alter_partition_version < 3
            or all(
                m.member_epoch[member] in (NONE, image.broker_epoch[member])
                for member in range(c.brokers)
                if bits.contains(m.isr, member)
            )
        )
        and (not c.offline_replica_is_ineligible or m.isr & s.offline == 0)
    )


@action(m=InFlight("alter_partitions"))
def controller_applies_alter_partition(s: State, c: C, m: AlterPartition) -> None:
    """The controller commits the ISR that the leader requests, if every epoch is current and every member is eligible.

    The checks of ReplicationControlManager.alterPartition, in order: STALE_BROKER_EPOCH, FENCED_LEADER_EPOCH,
    INVALID_REQUEST, INVALID_UPDATE_VERSION, INELIGIBLE_REPLICA. If the change completes a reassignment that removes the
    sender, the response is the error NEW_LEADER_ELECTED, although the change is applied. The model omits responses with
    a new leader epoch, because the leader ignores them (Partition.handleAlterPartitionUpdate). With `answers_are_lost`,
    the response to a resent request goes to the connection that the sender has closed.
    """
    image = newest(s)
    require(has_room(s, c), bound=C.metadata_lag)
    require(is_sent(m))
    require(m.broker_epoch == image.broker_epoch[m.leader] or not c.request_epoch_checks)
    require(m.leader_epoch == image.leader_epoch or not c.request_epoch_checks)
    require(m.leader == image.leader)
    require(m.partition_epoch == image.partition_epoch or not c.request_epoch_checks)
    require(is_eligible(s, c, m))
    isr = isr_after(s, c, m.isr)
    suffices = c.elr_judged_by == Judging.SMALLER and bits.size(isr) >= effective_min_isr(
        c, image, min(m.raised, image.raised)
    )
    elr = 0 if suffices else elr_after(s, c, m.isr, 0)
    leader = leader_after(s, c, m.isr, 0, electable(s, c)) if completes(s, c, m.isr) else m.leader
    leader_epoch = epoch_for(s, c, m.isr, leader)
    require(leader_epoch <= c.max_leader_epoch, bound=C.max_leader_epoch)
    require(bits.is_subset(m.isr, replicas(c, image)))
    joined = isr & ~image.isr
    stale = 0
    for member in range(c.brokers):
        if bits.contains(joined, member) and m.member_epoch[member] not in (NONE, image.broker_epoch[member]):
            stale = bits.with_member(stale, member)
    same_epoch = leader_epoch == image.leader_epoch
    is_awaited_elsewhere = c.answers_are_lost and is_sent_again(s, m)
    append_image(s)
    change_isr(s, c, m.isr, elr, leader)
    s.ghost_stale |= stale
    if leader != m.leader:
        answer(s, c, m, Status.REFUSED)
    elif same_epoch and not is_awaited_elsewhere:
        answer(s, c, m, Status.APPLIED)
    else:
        s.alter_partitions.remove(m)


@action(m=InFlight("alter_partitions"))
def controller_finds_replica_ineligible(s: State, c: C, m: AlterPartition) -> None:
    """The controller rejects a request that has current epochs but names an ineligible member.

    INELIGIBLE_REPLICA means that the request was not and will not be applied (KIP-903).
    """
    require(is_sent(m))
    require(passes_epoch_checks(c, newest(s), m))
    require(not is_eligible(s, c, m))
    answer(s, c, m, Status.INELIGIBLE)


@action(m=InFlight("alter_partitions"))
def controller_refuses_alter_partition(s: State, c: C, m: AlterPartition) -> None:
    """The controller rejects a request with an old broker, leader or partition epoch.

    If `normalize` is on, a request with an old epoch has already been rejected, because epochs only increase. The
    leader cannot know whether an earlier copy of the request was applied, so the leader's change stays pending until
    metadata arrives. With `repeats_answers`, the controller answers that the request was applied (KAFKA-14144).
    """
    require(is_sent(m))
    require(not passes_epoch_checks(c, newest(s), m))
    answer(s, c, m, Status.APPLIED if is_repeated(c, newest(s), m) else Status.REFUSED)


def answer(s: State, c: C, m: AlterPartition, status: int) -> None:
    """Replace a request with the controller's response, which contains only the fields that the leader reads.

    The response to a stray copy goes to a closed connection.
    """
    is_carried = c.answers_carry_min_isr and status == Status.APPLIED
    raised = newest(s).raised if is_carried else 0
    s.alter_partitions.remove(m)
    if m.status == Status.SENT:
        s.alter_partitions.add(
            status=status,
            leader=m.leader,
            broker_epoch=m.broker_epoch,
            leader_epoch=m.leader_epoch,
            partition_epoch=m.partition_epoch,
            isr=m.isr,
            raised=raised,
        )
