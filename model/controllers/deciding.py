"""Decisions of an active controller: fencing, leader elections, and AlterPartition.

Modelled on QuorumController and ReplicationControlManager. The controller bases decisions on its state in memory, which
includes its own uncommitted writes, and sends a response once its writes are committed.
"""

from fencepost.model.controllers import log
from fencepost.model.controllers.constants import C
from fencepost.model.controllers.quorum import advance_high_watermark, has_later_leader, is_active
from fencepost.model.controllers.requests import say_not_controller
from fencepost.model.controllers.state import (
    Broker,
    Change,
    Controller,
    Image,
    LateRequest,
    Reply,
    Request,
    State,
    Status,
)
from fencepost.model.language import NONE, InFlight, action, bits, require


def write(s: State, c: C, node: int) -> None:
    """Apply the last record of the log to the controller's memory (ControllerWriteEvent.run)."""
    n = s.node[node]
    n.log[n.end].epoch = n.epoch
    n.log[n.end].ghost_is_late = has_later_leader(s, c, node)
    log.replay(n.memory, n.log[n.end])
    n.end += 1
    n.replayed = n.end
    s.budget.decisions -= 1
    advance_high_watermark(s, c, node)


def elected(c: C, image: Image, isr: int, fenced: int) -> int:
    """Return the leader for this ISR and these fenced brokers: the current leader, the first possible one, or NONE."""
    if bits.contains(isr & ~fenced, image.leader):
        return image.leader
    found = NONE
    for broker in range(c.brokers):
        if found == NONE and bits.contains(isr & ~fenced, broker):
            found = broker
    return found


def put_partition(record: Change, image: Image, isr: int, leader: int) -> None:
    """Write a change of the partition into a record (PartitionChangeBuilder.build)."""
    record.changes_partition = isr != image.isr or leader != image.leader
    record.isr = isr if isr != image.isr else 0
    record.elects = leader != image.leader
    record.leader = leader if leader != image.leader else 0


@action(controller=Controller, broker=Broker)
def controller_fences_broker(s: State, c: C, controller: int, broker: int) -> None:
    """A controller fences a broker whose heartbeats stop; the last ISR member stays in the ISR.

    ReplicationControlManager.handleBrokerFenced. A fenced broker loses leadership, and leaves the ISR unless it is the
    last member.
    """
    n = s.node[controller]
    require(is_active(s, c, controller))
    require(s.budget.decisions > 0, bound=C.decisions)
    require(s.budget.fences > 0, bound=C.fences)
    require(not bits.contains(n.memory.fenced, broker))
    rest = bits.without(n.memory.isr, broker)
    isr = rest if rest != 0 else n.memory.isr
    put_partition(n.log[n.end], n.memory, isr, elected(c, n.memory, isr, bits.with_member(n.memory.fenced, broker)))
    n.log[n.end].subject = bits.only(broker)
    n.log[n.end].fences = True
    s.budget.fences -= 1
    write(s, c, controller)


@action(controller=Controller, broker=Broker)
def controller_unfences_broker(s: State, c: C, controller: int, broker: int) -> None:
    """A controller receives a heartbeat from a fenced broker, unfences the broker, and may elect it.

    ReplicationControlManager.handleBrokerUnfenced. The broker is elected if there is no leader and it is in the ISR.
    """
    n = s.node[controller]
    require(is_active(s, c, controller))
    require(s.budget.decisions > 0, bound=C.decisions)
    require(bits.contains(n.memory.fenced, broker))
    fenced = bits.without(n.memory.fenced, broker)
    leader = elected(c, n.memory, n.memory.isr, fenced) if n.memory.leader == NONE else n.memory.leader
    put_partition(n.log[n.end], n.memory, n.memory.isr, leader)
    n.log[n.end].subject = bits.only(broker)
    write(s, c, controller)


def is_ahead(image: Image, leader_epoch: int, partition_epoch: int) -> bool:
    """Return whether a request has a later leader epoch or partition epoch than the controller knows."""
    return leader_epoch > image.leader_epoch or partition_epoch > image.partition_epoch


def is_current(image: Image, leader: int, leader_epoch: int, partition_epoch: int) -> bool:
    """Return whether a request is from the leader and has current epochs (validateAlterPartitionData)."""
    return leader_epoch == image.leader_epoch and partition_epoch == image.partition_epoch and leader == image.leader


def answer(s: State, c: C, request: Request, reply: Reply) -> None:
    """Prepare a response, to be sent once all of the controller's writes are committed (deferredEventQueue)."""
    n = s.node[request.to]
    request.reply = reply
    if c.answers_after_commit and n.high_watermark < n.end:
        request.status = Status.HANDLED
        request.offset = n.end
    else:
        request.status = Status.ANSWERED
        request.offset = n.end if reply == Reply.APPLIED else 0


@action(leader=Broker)
def controller_applies_alter_partition(s: State, c: C, leader: int) -> None:
    """A controller writes the ISR that the leader requests, if every epoch is current and no member is fenced."""
    request = s.broker[leader].request
    n = s.node[request.to]
    require(request.status == Status.SENT)
    require(is_active(s, c, request.to))
    require(s.budget.decisions > 0, bound=C.decisions)
    require(is_current(n.memory, leader, request.leader_epoch, request.partition_epoch))
    require(request.isr & n.memory.fenced == 0)
    put_partition(n.log[n.end], n.memory, request.isr, leader)
    write(s, c, request.to)
    answer(s, c, request, Reply.APPLIED)


@action(leader=Broker)
def controller_finds_replica_ineligible(s: State, c: C, leader: int) -> None:
    """A controller rejects an ISR with a fenced member, although every epoch is current (INELIGIBLE_REPLICA)."""
    request = s.broker[leader].request
    n = s.node[request.to]
    require(request.status == Status.SENT)
    require(is_active(s, c, request.to))
    require(is_current(n.memory, leader, request.leader_epoch, request.partition_epoch))
    require(request.isr & n.memory.fenced != 0)
    answer(s, c, request, Reply.INELIGIBLE)


@action(leader=Broker)
def controller_refuses_alter_partition(s: State, c: C, leader: int) -> None:
    """A controller rejects a request with old epochs (FENCED_LEADER_EPOCH, INVALID_UPDATE_VERSION, INVALID_REQUEST)."""
    request = s.broker[leader].request
    n = s.node[request.to]
    require(request.status == Status.SENT)
    require(is_active(s, c, request.to))
    require(not is_current(n.memory, leader, request.leader_epoch, request.partition_epoch))
    require(not (c.refuses_unknown_epochs and is_ahead(n.memory, request.leader_epoch, request.partition_epoch)))
    answer(s, c, request, Reply.REFUSED)


@action(leader=Broker)
def request_finds_no_controller(s: State, c: C, leader: int) -> None:
    """A controller returns NOT_CONTROLLER if it is inactive or its state is older than the leader's."""
    request = s.broker[leader].request
    n = s.node[request.to]
    is_behind = c.refuses_unknown_epochs and is_ahead(n.memory, request.leader_epoch, request.partition_epoch)
    require(request.status == Status.SENT)
    require(not is_active(s, c, request.to) or is_behind)
    say_not_controller(c, s.broker[leader])


@action(leader=Broker)
def controller_answers(s: State, c: C, leader: int) -> None:
    """Once the decision behind a response is committed, the controller sends the response."""
    request = s.broker[leader].request
    n = s.node[request.to]
    require(request.status == Status.HANDLED)
    require(n.high_watermark >= request.offset)
    request.status = Status.ANSWERED
    if request.reply != Reply.APPLIED:
        request.offset = 0


@action(m=InFlight("late_requests"))
def controller_handles_late_request(s: State, c: C, m: LateRequest) -> None:
    """A controller writes the ISR of a request that the sender has already resent."""
    n = s.node[m.to]
    require(is_active(s, c, m.to))
    require(s.budget.decisions > 0, bound=C.decisions)
    require(is_current(n.memory, m.leader, m.leader_epoch, m.partition_epoch))
    require(m.isr & n.memory.fenced == 0)
    put_partition(n.log[n.end], n.memory, m.isr, m.leader)
    write(s, c, m.to)
    s.late_requests.remove(m)
