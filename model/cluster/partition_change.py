"""The controller's changes to a partition, which keep its replicas, ISR, ELR and leader consistent.

Modelled on PartitionChangeBuilder and PartitionReassignmentReplicas. A request for a change contains an ISR and, if an
operator moves replicas, new replicas. The result is written to the log as one image.
"""

from fencepost.model.cluster.constants import C, Completion, Judging
from fencepost.model.cluster.state import Image, State, effective_min_isr, has_elr, heeds_elr, is_running, newest
from fencepost.model.language import NONE, bits


def active(c: C, image: Image) -> int:
    """Return the brokers that are registered, not fenced and not shutting down (ClusterControlManager.isActive)."""
    return bits.everyone(c.brokers) & ~image.fenced & ~image.stopping


def electable(s: State, c: C) -> int:
    """Return the brokers that may be elected: active, with the replica's directory online (LeaderAcceptor)."""
    return active(c, newest(s)) & ~(s.offline if c.directory_check else 0)


def first_of(c: C, members: int) -> int:
    """Return the member with the lowest number, or NONE if there are no members."""
    found = NONE
    for broker in range(c.brokers):
        if found == NONE and bits.contains(members, broker):
            found = broker
    return found


def first_in_order(c: C, members: int, removing: int) -> int:
    """Return the first member in the order of the replica list, or NONE if there are no members.

    The list starts with the target replicas, which in the model are ordered by number, followed by the replicas to be
    removed (PartitionReassignmentReplicas).
    """
    return first_of(c, members & ~removing if members & ~removing != 0 else members)


def is_complete(c: C, isr: int, missing: int, adding: int, removing: int) -> bool:
    """Return whether a reassignment completes with this ISR (PartitionReassignmentReplicas.maybeCompleteReassignment).

    Up to 3.7, the added replicas must be in the ISR; since KAFKA-15665, all remaining replicas; since KAFKA-19975, the
    added replicas, or all remaining replicas if the number of replicas decreases. A reassignment that replaced another
    reassignment may list a broker both as added and as removed. The check for added replicas never finds that broker,
    so the reassignment completes only under the rule of KAFKA-15665.
    """
    kept = isr & ~removing
    targets = bits.everyone(c.brokers) & ~missing & ~removing
    fewer = bits.size(adding) < bits.size(removing)
    needs_all = c.completion == Completion.ALL_TARGETS or (c.completion == Completion.ADDED_UNLESS_FEWER and fewer)
    needed = (targets if needs_all else 0) | (0 if c.completion == Completion.ALL_TARGETS else adding)
    return adding | removing != 0 and (removing == 0 or kept != 0) and bits.is_subset(needed, kept)


def completes(s: State, c: C, isr: int) -> bool:
    """Return whether the current reassignment completes with this ISR."""
    return c.reassignments > 0 and is_complete(c, isr, newest(s).missing, s.adding, s.removing)


def isr_after(s: State, c: C, isr: int) -> int:
    """Return the ISR that results from a requested ISR, without the replicas that a completed reassignment removes."""
    return isr & ~s.removing if completes(s, c, isr) else isr


def missing_after(s: State, c: C, isr: int) -> int:
    """Return the brokers without a replica after a change that requests this ISR."""
    return newest(s).missing | s.removing if completes(s, c, isr) else newest(s).missing


def judged_raise(s: State, c: C) -> int:
    """Return the min ISR that the controller uses to fill the ELR, relative to the initial min ISR.

    Brokers report in heartbeats how far they have applied metadata, after publishing it (MetadataLoader). Therefore,
    the controller can know which min ISR a broker that leads or may be elected may still use. In the model, the
    controller knows immediately which metadata brokers have applied and which brokers are down.
    """
    least = newest(s).raised
    if c.elr_judged_by == Judging.HEARTBEATS:
        oldest = s.newest
        for broker in range(c.brokers):
            if is_running(s, broker):
                oldest = min(oldest, s.replica[broker].applied)
                least = min(least, s.replica[broker].raised)
        for index in range(s.newest):
            if index >= oldest:
                least = min(least, s.image[index].raised)
    return least


def elr_target(s: State, c: C, isr: int, missing: int, unclean: int) -> int:
    """Return the eligible leader replicas for a new ISR (KIP-966, maybePopulateTargetElr).

    Members that leave the ISR stay eligible while the ISR is below min ISR, unless they may have lost records. Kafka
    does not consider the target replicas, so removed members stay too (HYP-10). If ELR is off, the ELR stays the same.
    """
    if not has_elr(s, c):
        return s.elr
    if bits.size(isr) >= effective_min_isr(c, newest(s), judged_raise(s, c)):
        return 0
    stay = (s.elr | newest(s).isr) & ~isr & ~unclean
    return stay & ~missing if c.elr_within_replicas else stay


def elected(s: State, c: C, isr: int, elr: int, missing: int, acceptable: int, removing: int) -> int:
    """Return the leader once the ISR and ELR have these values, or NONE (PartitionChangeBuilder.electAnyLeader).

    The leader is the result of `cleanly_elected` or, if that is NONE and unclean elections are allowed, the first
    acceptable replica.
    """
    leader = cleanly_elected(s, c, isr, elr, missing, acceptable, removing)
    return first_in_order(c, acceptable & ~missing, removing) if leader == NONE and c.unclean_election else leader


def cleanly_elected(s: State, c: C, isr: int, elr: int, missing: int, acceptable: int, removing: int) -> int:
    """Return the leader if there is no unclean election (PartitionChangeBuilder.Election.ONLINE).

    The current leader stays if it is acceptable. Otherwise, the first acceptable ISR member is elected; if the ISR is
    empty, the first acceptable ELR member; and if both are empty, the last known leader. Kafka does not check whether
    ELR is on, so remaining ELR members may be elected after ELR was turned off (HYP-14).
    """
    able = acceptable & ~missing
    eligible = (isr if isr != 0 else elr if heeds_elr(s, c) else 0) & able
    if bits.contains(eligible, newest(s).leader):
        return newest(s).leader
    leader = first_in_order(c, eligible, removing)
    if leader == NONE and may_elect_last_known(s, c, isr, elr, able):
        leader = s.last_known_leader
    return leader


def may_elect_last_known(s: State, c: C, isr: int, elr: int, acceptable: int) -> bool:
    """Return whether the last known leader may be elected, as ISR and ELR are both empty (canElectLastKnownLeader)."""
    return (
        has_elr(s, c)
        and c.last_known_leader
        and isr == 0
        and elr == 0
        and s.last_known_leader != NONE
        and (not c.last_known_leader_check or bits.contains(acceptable, s.last_known_leader))
    )


def epoch_after(s: State, c: C, isr: int, leader: int, missing: int) -> int:
    """Return the leader epoch after a change, incremented if the leader changes or a replica is removed.

    Before 3.6, the leader epoch is also incremented if the ISR shrinks.
    """
    image = newest(s)
    shrinks = c.bump_leader_epoch_on_shrink and isr != 0 and image.isr & ~isr != 0
    moves = c.election_opens_epoch and leader != image.leader
    removes = c.removal_opens_epoch and missing & ~image.missing != 0
    return image.leader_epoch + 1 if moves or shrinks or removes else image.leader_epoch


def append_image(s: State) -> None:
    """Append a copy of the controller's state to its log, for the caller to modify."""
    s.image[s.newest + 1] = s.image[s.newest]
    s.newest += 1


def change_partition(s: State, c: C, isr: int, elr: int, leader: int, missing: int, adding: int, removing: int) -> None:
    """Write a changed partition into the newest image (PartitionChangeBuilder.build).

    A leader elected from outside the ISR becomes its only member, and the ELR is emptied unless the leader was elected
    from the ELR. A new leader in both the ISR and an ELR that remained when ELR was turned off also becomes the only
    ISR member. Without ELR, the last member stays in the ISR. While there is no leader, the last leader is recorded.
    With HYP-12 fixed, the ELR is empty if the elected leader alone satisfies min ISR. Once ELR is turned off, any
    change empties the ELR, and the last known leader does not change.
    """
    image = newest(s)
    is_new = leader not in (NONE, image.leader)
    is_new_outsider = is_new and not bits.contains(isr, leader)
    is_on = has_elr(s, c)
    keeps_last = isr == 0 and not is_on
    becomes_isr = is_new_outsider or (is_new and bits.contains(elr, leader))
    new_isr = bits.only(leader) if becomes_isr else image.isr if keeps_last else isr
    new_elr = bits.without(elr, leader) if isr == 0 and bits.contains(elr, leader) else 0 if is_new_outsider else elr
    if not is_on:
        new_elr = 0
    if not c.leaderless_elr_is_cleared and bits.size(new_isr) >= effective_min_isr(c, image, judged_raise(s, c)):
        new_elr = 0
    remembers = is_on and c.last_known_leader and s.last_known_leader == NONE
    forgets = is_on and leader != NONE
    new_last_known = NONE if forgets else image.leader if leader == NONE and remembers else s.last_known_leader
    moves = missing != image.missing or adding != s.adding or removing != s.removing
    changes = (
        new_isr != image.isr or new_elr != s.elr or leader != image.leader or new_last_known != s.last_known_leader
    )
    image.leader_epoch = epoch_after(s, c, isr, leader, missing)
    image.isr = new_isr
    image.leader = leader
    image.partition_epoch += 1 if changes or moves else 0
    image.missing = missing
    s.adding = adding
    s.removing = removing
    s.elr = new_elr
    s.last_known_leader = new_last_known
    s.offline &= ~missing
    s.ghost_stale &= new_isr


def change_isr(s: State, c: C, isr: int, elr: int, leader: int) -> None:
    """Change the ISR to this one, with all consequences, and complete a reassignment if the new ISR allows it."""
    done = completes(s, c, isr)
    missing = missing_after(s, c, isr)
    change_partition(
        s, c, isr_after(s, c, isr), elr, leader, missing, 0 if done else s.adding, 0 if done else s.removing
    )


def leader_after(s: State, c: C, isr: int, unclean: int, acceptable: int) -> int:
    """Return the leader after a change that requests this ISR. The broker `unclean` may have lost records."""
    missing = missing_after(s, c, isr)
    return elected(s, c, isr_after(s, c, isr), elr_after(s, c, isr, unclean), missing, acceptable, s.removing)


def elr_after(s: State, c: C, isr: int, unclean: int) -> int:
    """Return the eligible leader replicas after a change that requests this ISR."""
    return elr_target(s, c, isr_after(s, c, isr), missing_after(s, c, isr), unclean)


def epoch_for(s: State, c: C, isr: int, leader: int) -> int:
    """Return the leader epoch after a change that requests this ISR and elects this leader."""
    return epoch_after(s, c, isr_after(s, c, isr), leader, missing_after(s, c, isr))
