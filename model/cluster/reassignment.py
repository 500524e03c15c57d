"""Replica reassignment by operators, who may also redirect or cancel a reassignment in progress.

Modelled on ReplicationControlManager.alterPartitionReassignments. Throttles are covered, as any follower may be slow.
"""

from fencepost.model.cluster.constants import C
from fencepost.model.cluster.controller import has_room
from fencepost.model.cluster.partition_change import (
    active,
    append_image,
    change_partition,
    cleanly_elected,
    electable,
    elected,
    elr_target,
    epoch_after,
    first_in_order,
    is_complete,
)
from fencepost.model.cluster.state import Movable, State, newest, replicas
from fencepost.model.language import action, bits, require


@action(target=Movable)
def operator_reassigns_replicas(s: State, c: C, target: int) -> None:
    """An operator moves replicas to those movable brokers that are in `target` (kafka-reassign-partitions).

    ReplicationControlManager.changePartitionReassignment. Replicas to be removed stay until the reassignment completes,
    and brokers that are not movable keep their replicas. A reassignment may replace another one. If the new one adds
    (or removes) no replicas, the earlier list of added (or removed) replicas stays, because only non-empty lists are
    passed to the builder. If the ISR already allows the change, it is made immediately, without an unclean election. A
    broker that is being added cannot be elected from the ELR, because the controller looks up the leader's directory
    among the previous replicas, so the request fails (PartitionRegistration.directory).
    """
    require(s.budget.reassignments > 0, bound=C.reassignments)
    image = newest(s)
    wanted = target | (bits.everyone(c.brokers) & ~bits.everyone(c.movable))
    removing = replicas(c, image) & ~wanted if replicas(c, image) & ~wanted != 0 else s.removing
    adding = image.missing & wanted if image.missing & wanted != 0 else s.adding
    kept = image.missing & ~wanted
    done = is_complete(c, image.isr, kept, adding, removing)
    missing = kept | removing if done else kept
    isr = image.isr & ~removing if done else image.isr
    elr = elr_target(s, c, isr, missing, 0)
    leader = cleanly_elected(s, c, isr, elr, missing | image.missing, electable(s, c), replicas(c, image) & ~wanted)
    asked = active(c, image) & (wanted | replicas(c, image)) & s.elr
    first = first_in_order(c, asked, replicas(c, image) & ~wanted)
    require(has_room(s, c), bound=C.metadata_lag)
    require(bits.size(wanted) >= max(1, c.least_replicas))
    require(missing != image.missing or adding != s.adding or removing != s.removing)
    require(isr & active(c, image) != 0 or not bits.contains(image.missing, first))
    require(epoch_after(s, c, isr, leader, missing) <= c.max_leader_epoch, bound=C.max_leader_epoch)
    append_image(s)
    change_partition(s, c, isr, elr, leader, missing, 0 if done else adding, 0 if done else removing)
    s.budget.reassignments -= 1


@action()
def operator_cancels_reassignment(s: State, c: C) -> None:
    """An operator cancels a reassignment (--cancel): added replicas are removed, and replicas to be removed stay.

    ReplicationControlManager.cancelPartitionReassignment, PartitionReassignmentRevert. If only added replicas are in
    the ISR, the cancellation requires an unclean election, and is rejected unless unclean elections are allowed.
    """
    require(s.budget.cancels > 0, bound=C.cancels)
    image = newest(s)
    missing = image.missing | s.adding
    stays = image.isr & ~s.adding
    originals = replicas(c, image) & ~s.adding
    isr = stays if stays != 0 or originals == 0 else bits.only(first_in_order(c, originals, s.removing))
    elr = elr_target(s, c, isr, missing, 0)
    leader = elected(s, c, isr, elr, missing, electable(s, c), s.removing)
    require(has_room(s, c), bound=C.metadata_lag)
    require(s.adding | s.removing != 0)
    require(stays != 0 or (c.unclean_election and originals != 0))
    require(epoch_after(s, c, isr, leader, missing) <= c.max_leader_epoch, bound=C.max_leader_epoch)
    append_image(s)
    change_partition(s, c, isr, elr, leader, missing, 0, 0)
    s.budget.cancels -= 1
