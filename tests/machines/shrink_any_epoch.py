"""KIP draft: a request that only shrinks the ISR need not name the current partition epoch."""

from fencepost.invariants.replication import PROPERTIES as KAFKA
from fencepost.model.cluster import controller
from fencepost.model.cluster.constants import C, Judging
from fencepost.model.cluster.machine import MACHINE as KAFKA_MACHINE
from fencepost.model.cluster.partition_change import (
    active,
    append_image,
    change_isr,
    completes,
    elr_after,
    epoch_for,
    isr_after,
    leader_after,
)
from fencepost.model.cluster.state import (
    AlterPartition,
    Image,
    State,
    Status,
    effective_min_isr,
    is_sent,
    newest,
    replicas,
)
from fencepost.model.language import NONE, InFlight, action, bits, require


def only_shrinks(image: Image, m: AlterPartition) -> bool:
    return bits.is_subset(m.isr, image.isr)


@action(m=InFlight("alter_partitions"))
def controller_applies_alter_partition(s: State, c: C, m: AlterPartition) -> None:
    """The controller commits the ISR that the leader asks for; a shrink whatever its partition epoch."""
    image = newest(s)
    require(controller.has_room(s, c), bound=C.metadata_lag)
    require(is_sent(m))
    require(m.broker_epoch == image.broker_epoch[m.leader] or not c.request_epoch_checks)
    require(m.leader_epoch == image.leader_epoch or not c.request_epoch_checks)
    require(m.leader == image.leader)
    require(m.partition_epoch == image.partition_epoch or only_shrinks(image, m))
    require(controller.is_eligible(s, c, m))
    isr = isr_after(s, c, m.isr)
    suffices = c.elr_judged_by == Judging.SMALLER and bits.size(isr) >= effective_min_isr(
        c, image, min(m.raised, image.raised)
    )
    elr = 0 if suffices else elr_after(s, c, m.isr, 0)
    leader = leader_after(s, c, m.isr, 0, active(c, image)) if completes(s, c, m.isr) else m.leader
    leader_epoch = epoch_for(s, c, m.isr, leader)
    require(leader_epoch <= c.max_leader_epoch, bound=C.max_leader_epoch)
    require(bits.is_subset(m.isr, replicas(c, image)))
    joined = isr & ~image.isr
    stale = 0
    for member in range(c.brokers):
        if bits.contains(joined, member) and m.member_epoch[member] not in (NONE, image.broker_epoch[member]):
            stale = bits.with_member(stale, member)
    same_epoch = leader_epoch == image.leader_epoch
    is_awaited_elsewhere = c.answers_are_lost and controller.is_sent_again(s, m)
    append_image(s)
    change_isr(s, c, m.isr, elr, leader)
    s.ghost_stale |= stale
    if leader != m.leader:
        controller.answer(s, c, m, Status.REFUSED)
    elif same_epoch and not is_awaited_elsewhere:
        controller.answer(s, c, m, Status.APPLIED)
    else:
        s.alter_partitions.remove(m)


MACHINE = KAFKA_MACHINE.replacing(
    name="shrink-any-epoch", sentence="an ISR shrink needs no current partition epoch",
    controller_applies_alter_partition=controller_applies_alter_partition,
)  # fmt: skip
PROPERTIES = KAFKA
