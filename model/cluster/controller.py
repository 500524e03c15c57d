"""The controller: fencing, elections and AlterPartition, one atomic machine behind its log.

After ReplicationControlManager, PartitionChangeBuilder and ClusterControlManager. Every action that changes
something appends one image to the window and so needs room in it: brokers lag by at most `metadata_lag` images.
"""

from fencepost.model.cluster.constants import C
from fencepost.model.cluster.state import AlterPartition, Broker, Image, State, Status, is_copy, is_running, is_sent, newest
from fencepost.model.language import NONE, InFlight, action, bits, require


def has_room(s: State, c: C) -> bool:
    """Say whether the window of images takes one more."""
    return s.newest < c.metadata_lag


def active(c: C, image: Image) -> int:
    """Return the brokers that are registered, not fenced and not shutting down (ClusterControlManager.isActive)."""
    return bits.everyone(c.brokers) & ~image.fenced & ~image.stopping


def replicas(s: State, c: C) -> int:
    """Return the brokers that have a replica: once the reassignment has ended, all but the first leader."""
    everyone = bits.everyone(c.brokers)
    return everyone if s.reassigned_in == NONE else bits.without(everyone, c.initial_leader)


def first_of(c: C, members: int) -> int:
    """Return the first member in replica order, NONE if there is none."""
    found = NONE
    for broker in range(c.brokers):
        if found == NONE and bits.contains(members, broker):
            found = broker
    return found


def elr_target(s: State, c: C, isr: int, unclean: int) -> int:
    """Return the eligible leader replicas that go with a new ISR (KIP-966, maybePopulateTargetElr).

    Members that leave the ISR stay eligible while it is below min ISR, unless they may have lost records.
    """
    if not c.elr or bits.size(isr) >= c.min_isr:
        return 0
    return (s.elr | newest(s).isr) & ~isr & ~unclean


def elected(s: State, c: C, isr: int, elr: int, acceptable: int) -> int:
    """Return who leads after a change to this ISR and ELR, NONE if nobody can (PartitionChangeBuilder.electAnyLeader).

    The leader stays if it may; then the first acceptable ISR member, or ELR member if the ISR is empty; then the last
    known leader; then, if unclean elections are allowed, the first acceptable replica.
    """
    eligible = (isr if isr != 0 else elr) & acceptable & replicas(s, c)
    if bits.contains(eligible, newest(s).leader):
        return newest(s).leader
    leader = first_of(c, eligible)
    if leader == NONE and may_elect_last_known(s, c, isr, elr, acceptable):
        leader = s.last_known_leader
    if leader == NONE and c.unclean_election:
        leader = first_of(c, acceptable)
    return leader


def may_elect_last_known(s: State, c: C, isr: int, elr: int, acceptable: int) -> bool:
    """Say whether the last known leader may be elected: ISR and ELR are empty (PartitionChangeBuilder.canElectLastKnownLeader)."""
    return (
        c.elr
        and c.last_known_leader
        and isr == 0
        and elr == 0
        and s.last_known_leader != NONE
        and (not c.last_known_leader_check or bits.contains(acceptable, s.last_known_leader))
    )


def epoch_after(s: State, c: C, isr: int, leader: int) -> int:
    """Return the leader epoch after a change: a new one if the leader changes or a replica is removed.

    Before 3.6 also if the ISR shrinks.
    """
    image = newest(s)
    shrinks = c.bump_leader_epoch_on_shrink and isr != 0 and image.isr & ~isr != 0
    moves = c.election_opens_epoch and leader != image.leader
    return image.leader_epoch + 1 if moves or shrinks or completes_reassignment(s, c, isr) else image.leader_epoch


def completes_reassignment(s: State, c: C, isr: int) -> bool:
    """Say whether the reassignment ends with this ISR: all brokers that keep a replica are in it.

    PartitionReassignmentReplicas.maybeCompleteReassignment, since KAFKA-15665.
    """
    targets = bits.without(bits.everyone(c.brokers), c.initial_leader)
    return c.reassignment and s.reassigned_in == NONE and bits.is_subset(targets, isr)


def append_image(s: State) -> None:
    """Append a copy of the controller's state to its log; the caller changes it."""
    s.image[s.newest + 1] = s.image[s.newest]
    s.newest += 1


def change_partition(s: State, c: C, isr: int, elr: int, leader: int) -> None:
    """Write a changed partition into the newest image (PartitionChangeBuilder.build).

    A leader from outside the ISR becomes the whole ISR, and empties the ELR if it was not in it. Without ELR the last
    member stays in the ISR.
    """
    image = newest(s)
    is_new_outsider = leader not in (NONE, image.leader) and not bits.contains(isr, leader)
    keeps_last = isr == 0 and not c.elr
    new_isr = bits.only(leader) if is_new_outsider else image.isr if keeps_last else isr
    new_elr = bits.without(elr, leader) if bits.contains(elr, leader) else 0 if is_new_outsider else elr
    loses_last = c.elr and new_isr == 0 and image.isr != 0
    remembered = image.leader if loses_last and c.last_known_leader else s.last_known_leader
    new_last_known = remembered if leader == NONE else NONE
    changes = new_isr != image.isr or new_elr != s.elr or leader != image.leader or new_last_known != s.last_known_leader
    image.leader_epoch = epoch_after(s, c, isr, leader)
    image.isr = new_isr
    image.leader = leader
    image.partition_epoch += 1 if changes else 0
    s.elr = new_elr
    s.last_known_leader = new_last_known
    s.ghost_stale &= new_isr


def leader_without(s: State, c: C, broker: int) -> int:
    """Return who leads once this broker is out of the ISR, the present leader if it is in no ISR."""
    image = newest(s)
    isr = bits.without(image.isr, broker)
    if isr == image.isr:
        return image.leader
    return elected(s, c, isr, elr_target(s, c, isr, 0), bits.without(active(c, image), broker))


def remove_from_isr(s: State, c: C, broker: int, leader: int) -> None:
    """Take a broker out of the newest image's ISR, if it is in it; `leader` leads from then on (generateLeaderAndIsrUpdates)."""
    isr = bits.without(newest(s).isr, broker)
    if isr != newest(s).isr:
        change_partition(s, c, isr, elr_target(s, c, isr, 0), leader)


@action(broker=Broker)
def controller_fences_broker(s: State, c: C, broker: int) -> None:
    """The controller fences a broker whose heartbeats stay away: out of the ISR and of leadership, then fenced.

    ReplicationControlManager.handleBrokerFenced. Timeouts may strike any broker, running or not.
    """
    image = newest(s)
    leader = leader_without(s, c, broker)
    require(has_room(s, c), bound=C.metadata_lag)
    require(s.budget.fences > 0, bound=C.fences)
    require(not bits.contains(image.fenced, broker))
    require(epoch_after(s, c, bits.without(image.isr, broker), leader) <= c.max_leader_epoch, bound=C.max_leader_epoch)
    append_image(s)
    remove_from_isr(s, c, broker, leader)
    now = newest(s)
    now.fenced = bits.with_member(now.fenced, broker)
    s.budget.fences -= 1


@action(broker=Broker)
def controller_unfences_broker(s: State, c: C, broker: int) -> None:
    """The controller unfences a running broker that has applied its own registration; it may then be elected.

    ReplicationControlManager.handleBrokerUnfenced: only a partition without a leader is looked at. A broker that wants to
    shut down is never unfenced (BrokerHeartbeatManager.calculateNextBrokerState).
    """
    image = newest(s)
    leader = (
        elected(s, c, image.isr, s.elr, bits.with_member(active(c, image), broker)) if image.leader == NONE else image.leader
    )
    require(has_room(s, c), bound=C.metadata_lag)
    require(is_running(s, broker))
    require(bits.contains(image.fenced, broker))
    require(not bits.contains(image.stopping, broker))
    require(epoch_after(s, c, image.isr, leader) <= c.max_leader_epoch, bound=C.max_leader_epoch)
    if bits.contains(image.isr, broker) or not c.unfencing_needs_isr:
        append_image(s)
        now = newest(s)
        now.fenced = bits.without(now.fenced, broker)
        if leader != now.leader:
            change_partition(s, c, now.isr, s.elr, leader)


@action(broker=Broker)
def controller_begins_shutdown(s: State, c: C, broker: int) -> None:
    """A broker asks to shut down: the controller takes it out of the ISR and moves its leadership (KIP-841).

    ReplicationControlManager.handleBrokerInControlledShutdown.
    """
    image = newest(s)
    leader = leader_without(s, c, broker)
    require(has_room(s, c), bound=C.metadata_lag)
    require(s.budget.clean_stops > 0, bound=C.clean_stops)
    require(is_running(s, broker))
    require(bits.contains(active(c, image), broker))
    require(epoch_after(s, c, bits.without(image.isr, broker), leader) <= c.max_leader_epoch, bound=C.max_leader_epoch)
    append_image(s)
    remove_from_isr(s, c, broker, leader)
    now = newest(s)
    now.stopping = bits.with_member(now.stopping, broker)
    s.budget.clean_stops -= 1


@action(broker=Broker)
def controller_elects_preferred(s: State, c: C, broker: int) -> None:
    """The controller moves leadership to the preferred replica; the ISR stays as it is.

    ReplicationControlManager.maybeTriggerLeaderChangeForPartitionsWithoutPreferredLeader. The preferred replica is the
    first of the replica list, which an operator can reorder by a reassignment to the same brokers.
    """
    image = newest(s)
    require(has_room(s, c), bound=C.metadata_lag)
    require(s.budget.elections > 0, bound=C.elections)
    require(broker == 0 or c.any_preferred)
    require(image.leader != broker)
    require(bits.contains(image.isr & active(c, image), broker))
    require(image.leader_epoch < c.max_leader_epoch, bound=C.max_leader_epoch)
    append_image(s)
    change_partition(s, c, newest(s).isr, elr_target(s, c, newest(s).isr, 0), broker)
    s.budget.elections -= 1


def is_from_current_leader(image: Image, m: AlterPartition) -> bool:
    """Say whether the epochs of a request are the controller's (ReplicationControlManager.validateAlterPartitionData).

    They are never above them here, since there is one controller (NOT_CONTROLLER is not modelled).
    """
    return (
        m.broker_epoch == image.broker_epoch[m.leader]
        and m.leader_epoch == image.leader_epoch
        and m.leader == image.leader
        and m.partition_epoch == image.partition_epoch
    )


def passes_epoch_checks(c: C, image: Image, m: AlterPartition) -> bool:
    """Say whether the controller takes a request for one of the present leader."""
    return is_from_current_leader(image, m) or (not c.request_epoch_checks and m.leader == image.leader)


def is_repeated(c: C, image: Image, m: AlterPartition) -> bool:
    """Say whether the controller takes a request for a copy of the one that it has applied last: its ISR is there already."""
    return (
        c.repeats_answers
        and m.broker_epoch == image.broker_epoch[m.leader]
        and m.leader_epoch == image.leader_epoch
        and m.leader == image.leader
        and m.partition_epoch + 1 == image.partition_epoch
        and m.isr == image.isr
    )


def is_sent_again(s: State, m: AlterPartition) -> bool:
    """Say whether another copy of a request is in flight: its sender has closed the connection of one of the two."""
    return sum(other.status == Status.SENT and is_copy(other, m) for other in s.alter_partitions) > 1


def is_eligible(c: C, image: Image, m: AlterPartition) -> bool:
    """Say whether all proposed members may be in the ISR (ReplicationControlManager.ineligibleReplicasForIsr).

    KIP-841 (version 2): neither fenced nor shutting down. KIP-903 (version 3): registered under the epoch that the
    leader names; NONE asks for no check.
    """
    return (c.alter_partition_version < 2 or m.isr & ~active(c, image) == 0) and (
        c.alter_partition_version < 3
        or all(
            m.member_epoch[member] in (NONE, image.broker_epoch[member])
            for member in range(c.brokers)
            if bits.contains(m.isr, member)
        )
    )


@action(m=InFlight("alter_partitions"))
def controller_applies_alter_partition(s: State, c: C, m: AlterPartition) -> None:
    """The controller commits the ISR that the leader asks for, if every epoch is current and every member eligible.

    ReplicationControlManager.alterPartition, the checks in its order: STALE_BROKER_EPOCH, FENCED_LEADER_EPOCH,
    INVALID_REQUEST, INVALID_UPDATE_VERSION, INELIGIBLE_REPLICA. If that ends a reassignment which removes the sender,
    the answer is an error, NEW_LEADER_ELECTED, although the change was made. An answer with a new leader epoch is ignored
    by the leader (Partition.handleAlterPartitionUpdate), so it is not sent. With `answers_are_lost` the answer to a request that
    was sent again goes to the connection that its sender has closed.
    """
    image = newest(s)
    completes = completes_reassignment(s, c, m.isr)
    isr = bits.without(m.isr, c.initial_leader) if completes else m.isr
    elr = elr_target(s, c, isr, 0)
    leader = elected(s, c, isr, elr, active(c, image)) if completes else m.leader
    require(has_room(s, c), bound=C.metadata_lag)
    require(is_sent(m))
    require(m.broker_epoch == image.broker_epoch[m.leader] or not c.request_epoch_checks)
    require(m.leader_epoch == image.leader_epoch or not c.request_epoch_checks)
    require(m.leader == image.leader)
    require(m.partition_epoch == image.partition_epoch or not c.request_epoch_checks)
    require(is_eligible(c, image, m))
    require(epoch_after(s, c, isr, leader) <= c.max_leader_epoch, bound=C.max_leader_epoch)
    joined = isr & ~image.isr
    stale = 0
    for member in range(c.brokers):
        if bits.contains(joined, member) and m.member_epoch[member] not in (NONE, image.broker_epoch[member]):
            stale = bits.with_member(stale, member)
    same_epoch = epoch_after(s, c, isr, leader) == image.leader_epoch
    is_awaited_elsewhere = c.answers_are_lost and is_sent_again(s, m)
    append_image(s)
    change_partition(s, c, isr, elr, leader)
    s.ghost_stale |= stale
    if completes:
        s.reassigned_in = newest(s).leader_epoch
    if leader != m.leader:
        answer(s, m, Status.REFUSED)
    elif same_epoch and not is_awaited_elsewhere:
        answer(s, m, Status.APPLIED)
    else:
        s.alter_partitions.remove(m)


@action(m=InFlight("alter_partitions"))
def controller_finds_replica_ineligible(s: State, c: C, m: AlterPartition) -> None:
    """The controller refuses a request whose epochs are current but which names an ineligible member.

    The answer INELIGIBLE_REPLICA tells the leader that nothing was applied and nothing will be (KIP-903).
    """
    image = newest(s)
    require(is_sent(m))
    require(passes_epoch_checks(c, image, m))
    require(not is_eligible(c, image, m))
    answer(s, m, Status.INELIGIBLE)


@action(m=InFlight("alter_partitions"))
def controller_refuses_alter_partition(s: State, c: C, m: AlterPartition) -> None:
    """The controller refuses a request with an old broker, leader or partition epoch.

    Where `normalize` is on it has refused such a request already: no epoch comes back. The leader cannot tell whether an
    earlier copy was applied, so it stays pending until metadata arrives. With `repeats_answers` it is told (KAFKA-14144).
    """
    require(is_sent(m))
    require(not passes_epoch_checks(c, newest(s), m))
    answer(s, m, Status.APPLIED if is_repeated(c, newest(s), m) else Status.REFUSED)


def answer(s: State, m: AlterPartition, status: int) -> None:
    """Turn a request into the controller's answer to it; only the leader's own fields matter from then on.

    The answer to a stray copy goes to a connection that is closed.
    """
    s.alter_partitions.remove(m)
    if m.status == Status.SENT:
        s.alter_partitions.add(
            status=status,
            leader=m.leader,
            broker_epoch=m.broker_epoch,
            leader_epoch=m.leader_epoch,
            partition_epoch=m.partition_epoch,
            isr=m.isr,
        )
