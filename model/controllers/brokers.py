"""Brokers: metadata, replication, and ISR changes. Modelled on BrokerMetadataPublisher and Partition."""

from fencepost.model.controllers import log
from fencepost.model.controllers.constants import Applied, C
from fencepost.model.controllers.requests import disconnect, forget_request
from fencepost.model.controllers.state import Broker, Controller, Member, Offset, Reply, State, Status, clear
from fencepost.model.language import NONE, action, bits, require


def leads(s: State, broker: int) -> bool:
    """Return whether a broker believes that it leads the partition. A later leader may exist."""
    return s.broker[broker].metadata.leader == broker


def maximal_isr(b: Member) -> int:
    """Return the ISR together with the members that a pending change may add (KIP-497)."""
    return b.isr | b.proposed


def advance_high_watermark(s: State, c: C, leader: int) -> None:
    """Advance the leader's high watermark to the smallest log end in its maximal ISR, and acknowledge records."""
    l = s.broker[leader]
    reached = l.end
    for member in range(c.brokers):
        if member != leader and bits.contains(maximal_isr(l), member):
            reached = min(reached, l.known_end[member])
    if reached > l.high_watermark:
        l.high_watermark = reached
        for offset in range(s.ghost_committed_end, reached):
            s.ghost_committed[offset] = l.log[offset].record
        s.ghost_committed_end = max(s.ghost_committed_end, reached)


def take_over(s: State, c: C, broker: int, leader_epoch: int) -> None:
    """Lead or follow as applied metadata requires (makeLeader, makeFollower); `leader_epoch` is the previous epoch."""
    b = s.broker[broker]
    in_new_epoch = b.metadata.leader_epoch != leader_epoch
    if in_new_epoch:
        forget_request(b)
        b.isr = 0
        b.partition_epoch = 0
        for other in range(c.brokers):
            b.known_end[other] = NONE
    if leads(s, broker) and (in_new_epoch or b.metadata.partition_epoch > b.partition_epoch):
        forget_request(b)
        b.isr = b.metadata.isr
        b.partition_epoch = b.metadata.partition_epoch
        advance_high_watermark(s, c, broker)


@action(broker=Broker, controller=Controller, end=Offset)
def broker_applies_metadata(s: State, c: C, broker: int, controller: int, end: int) -> None:
    """A broker fetches from the quorum's leader and applies committed records in a batch of any size.

    BrokerMetadataPublisher, MetadataLoader. Records below the leader's high watermark count as committed. The broker
    rejects records from a leader whose epoch is older than the latest epoch that the broker knows.
    """
    b, n = s.broker[broker], s.node[controller]
    require(n.leads)
    require(n.epoch >= b.epoch or not c.fences_deposed_controllers)
    require(b.applied < end)
    require(end <= (n.high_watermark if c.brokers_apply == Applied.COMMITTED else n.end))
    require(n.log[max(b.applied - 1, 0)].epoch == b.applied_epoch)
    leader_epoch = b.metadata.leader_epoch
    for offset in range(b.applied, end):
        log.replay(b.metadata, n.log[offset])
    b.epoch = max(b.epoch, n.epoch)
    b.applied = end
    b.applied_epoch = n.log[max(end - 1, 0)].epoch
    take_over(s, c, broker, leader_epoch)


@action(broker=Broker, controller=Controller)
def broker_loads_metadata_anew(s: State, c: C, broker: int, controller: int) -> None:
    """A broker whose metadata is not in the leader's log reloads the records that the leader knows to be committed.
    This never happens to brokers that apply only committed records.
    """
    b, n = s.broker[broker], s.node[controller]
    require(n.leads)
    require(n.epoch >= b.epoch or not c.fences_deposed_controllers)
    require(n.high_watermark > log.epoch_start(n))
    require(n.log[max(b.applied - 1, 0)].epoch != b.applied_epoch)
    leader_epoch = b.metadata.leader_epoch
    clear(b.metadata, c)
    for offset in range(n.high_watermark):
        log.replay(b.metadata, n.log[offset])
    b.epoch = max(b.epoch, n.epoch)
    b.applied = n.high_watermark
    b.applied_epoch = n.log[max(n.high_watermark - 1, 0)].epoch
    take_over(s, c, broker, leader_epoch)


@action(leader=Broker)
def leader_appends(s: State, c: C, leader: int) -> None:
    """A leader appends a record."""
    l = s.broker[leader]
    require(leads(s, leader))
    require(s.written < c.max_records, bound=C.max_records)
    s.written += 1
    l.log[l.end].record = s.written
    l.log[l.end].epoch = l.metadata.leader_epoch
    l.end += 1
    advance_high_watermark(s, c, leader)


def propose(b: Member, isr: int) -> None:
    """Request an ISR, and treat its new members as in the ISR immediately (Partition.submitAlterPartition)."""
    b.proposed = isr
    b.request.status = Status.UNSENT
    b.request.leader_epoch = b.metadata.leader_epoch
    b.request.partition_epoch = b.partition_epoch
    b.request.isr = isr


def may_join(s: State, leader: int, follower: int) -> bool:
    """Return whether a leader without a pending change may propose a follower that is caught up and not fenced."""
    l, end = s.broker[leader], s.broker[follower].end
    return (
        l.request.status == Status.NONE
        and not bits.contains(l.isr, follower)
        and not bits.contains(l.metadata.fenced, follower)
        and end >= l.high_watermark
        and end >= log.data_epoch_start(l)
    )


@action(follower=Broker, leader=Broker)
def follower_fetches(s: State, c: C, follower: int, leader: int) -> None:
    """A follower fetches in the leader's epoch: its log grows, or is truncated at a divergence (KIP-320, KIP-595)."""
    f, l = s.broker[follower], s.broker[leader]
    require(leads(s, leader))
    require(f.metadata.leader == leader)
    require(follower != leader)
    require(f.metadata.leader_epoch == l.metadata.leader_epoch)
    agreed = log.agreed_data_end(l, f)
    is_known = l.known_end[follower] == f.end and f.high_watermark == min(l.high_watermark, f.end)
    require(agreed < l.end or agreed < f.end or not is_known or may_join(s, leader, follower))
    if agreed < f.end:
        log.truncate_data(f, agreed)
    else:
        l.known_end[follower] = f.end
        if may_join(s, leader, follower):
            propose(l, bits.with_member(l.isr, follower))
        advance_high_watermark(s, c, leader)
        for offset in range(agreed, l.end):
            f.log[offset] = l.log[offset]
            f.end = offset + 1
        f.high_watermark = min(l.high_watermark, f.end)


@action(leader=Broker, follower=Broker)
def leader_shrinks_isr(s: State, c: C, leader: int, follower: int) -> None:
    """A leader requests to remove a follower that lags for too long, but counts it in the ISR until the response."""
    l = s.broker[leader]
    require(s.budget.shrinks > 0, bound=C.shrinks)
    require(leads(s, leader))
    require(follower != leader)
    require(l.request.status == Status.NONE)
    require(bits.contains(l.isr, follower))
    require(l.known_end[follower] < l.end)
    propose(l, bits.without(l.isr, follower))
    s.budget.shrinks -= 1


@action(leader=Broker, controller=Controller)
def leader_sends_request(s: State, c: C, leader: int, controller: int) -> None:
    """A leader sends its request on the existing channel, or first looks for the active controller.
    NodeToControllerRequestThread. The broker keeps the channel until it gets NOT_CONTROLLER or loses the connection,
    even if it learns of a later quorum leader.
    """
    l, n = s.broker[leader], s.node[controller]
    is_found = n.leads and (n.epoch >= l.epoch or not c.channel_never_goes_back)
    require(l.request.status == Status.UNSENT)
    require(l.channel == controller or (l.channel == NONE and is_found))
    if l.channel == NONE:
        l.epoch = max(l.epoch, n.epoch)
    l.channel = controller
    l.request.status = Status.SENT
    l.request.to = controller


@action(leader=Broker)
def leader_asks_again(s: State, c: C, leader: int) -> None:
    """A leader loses the connection before a response arrives. The controller may still apply the request."""
    l = s.broker[leader]
    require(s.budget.resends > 0, bound=C.resends)
    require(l.request.status in (Status.SENT, Status.HANDLED, Status.ANSWERED))
    require(l.request.status != Status.SENT or len(s.late_requests) < c.late_requests, bound=C.late_requests)
    if l.request.status == Status.SENT:
        s.late_requests.add(
            to=l.request.to,
            leader=leader,
            leader_epoch=l.request.leader_epoch,
            partition_epoch=l.request.partition_epoch,
            isr=l.request.isr,
        )
    disconnect(l)
    s.budget.resends -= 1


@action(leader=Broker)
def leader_handles_answer(s: State, c: C, leader: int) -> None:
    """A leader adopts a committed ISR, reverts a proposal with an ineligible member, or otherwise waits for metadata.

    Partition.handleAlterPartitionUpdate, handleAlterPartitionError: after other errors, the change may have been made.
    """
    l = s.broker[leader]
    require(l.request.status == Status.ANSWERED)
    require(l.request.reply != Reply.REFUSED)
    if l.request.reply == Reply.APPLIED:
        l.isr = l.request.isr
        l.partition_epoch = l.request.partition_epoch + 1
        forget_request(l)
        advance_high_watermark(s, c, leader)
    else:
        forget_request(l)
