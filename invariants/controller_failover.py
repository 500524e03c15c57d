"""Properties across a failover of the active controller: its log, brokers' metadata, and the partition's records. Their
ids in the catalogue are G-S12, G-S1, G-S1b, G-S5, G-S8, G-L5, B15 and KR-S4. G-L5 is checked only if it is named,
because it needs the whole state graph.
"""

from fencepost.model.controllers.brokers import broker_applies_metadata, leads, maximal_isr
from fencepost.model.controllers.constants import C
from fencepost.model.controllers.quorum import is_active, voter_fetches
from fencepost.model.controllers.state import Broker, Change, Image, Member, Reply, State, Status
from fencepost.model.language import NONE, Array, always, bits, leads_to, sometimes, step, weak
from fencepost.model.language.actions import properties_in


def partition_epoch_at(records: Array[Change], end: int) -> int:
    """Return how many of the first `end` records change the partition."""
    return sum(records[offset].changes_partition for offset in range(end))


def leader_epoch_at(records: Array[Change], end: int) -> int:
    """Return how many of the first `end` records name a leader."""
    return sum(records[offset].changes_partition and records[offset].elects for offset in range(end))


def leader_at(records: Array[Change], end: int) -> int:
    """Return the last leader that the first `end` records name. Initially broker 0 leads."""
    found = 0
    for offset in range(end):
        if records[offset].elects:
            found = records[offset].leader
    return found


def isr_at(records: Array[Change], end: int, c: C) -> int:
    """Return the last ISR in the first `end` records."""
    found = bits.everyone(c.initial_isr)
    for offset in range(end):
        if records[offset].isr != 0:
            found = records[offset].isr
    return found


def is_fenced_at(records: Array[Change], end: int, broker: int) -> bool:
    """Return whether a broker is fenced after the first `end` records; the last relevant record decides."""
    found = False
    for offset in range(end):
        if bits.contains(records[offset].subject, broker):
            found = records[offset].fences
    return found


def is_image_of(image: Image, records: Array[Change], end: int, c: C) -> bool:
    """Return whether the first `end` records result in this image, computed without replaying them."""
    return (
        image.partition_epoch == partition_epoch_at(records, end)
        and image.leader_epoch == leader_epoch_at(records, end)
        and image.leader == leader_at(records, end)
        and image.isr == isr_at(records, end, c)
        and all(
            bits.contains(image.fenced, broker) == is_fenced_at(records, end, broker) for broker in range(c.brokers)
        )
    )


@always
def brokers_apply_a_prefix(s: State, c: C) -> bool:
    """G-S12: every broker's metadata is the result of applying a prefix of the committed metadata log."""
    return all(
        b.applied <= s.ghost_end
        and b.applied_epoch == s.ghost_log[max(b.applied - 1, 0)].epoch
        and is_image_of(b.metadata, s.ghost_log, b.applied, c)
        for b in s.broker
    )


@always
def committed_metadata_is_the_same_everywhere(s: State, c: C) -> bool:
    """KR-S4: below its high watermark, every controller has the records that were first committed there."""
    return all(
        n.high_watermark <= s.ghost_end
        and all(n.log[offset].epoch == s.ghost_log[offset].epoch for offset in range(n.high_watermark))
        for n in s.node
    )


def has_committed(s: State, b: Member) -> bool:
    """Return whether a broker's log has every acknowledged record at the right offset."""
    return b.end >= s.ghost_committed_end and all(
        b.log[offset].record == s.ghost_committed[offset] for offset in range(s.ghost_committed_end)
    )


@always
def leader_has_what_is_acknowledged(s: State, c: C) -> bool:
    """G-S1: the leader in the committed metadata, once it knows that it leads, has every acknowledged record."""
    return (
        s.ghost_image.leader == NONE
        or s.broker[max(s.ghost_image.leader, 0)].metadata.leader_epoch != s.ghost_image.leader_epoch
        or has_committed(s, s.broker[max(s.ghost_image.leader, 0)])
    )


@always
def isr_has_what_is_acknowledged(s: State, c: C) -> bool:
    """G-S1b: every member of the committed ISR has every acknowledged record, so every elected leader has them."""
    return all(has_committed(s, s.broker[b]) for b in range(c.brokers) if bits.contains(s.ghost_image.isr, b))


@always
def pending_changes_are_counted(s: State, c: C) -> bool:
    """G-S8: the current leader's ISR, with any members that it has requested, contains the committed ISR."""
    leader = max(s.ghost_image.leader, 0)
    l = s.broker[leader]
    return (
        s.ghost_image.leader == NONE
        or l.metadata.leader_epoch != s.ghost_image.leader_epoch
        or bits.is_subset(s.ghost_image.isr, maximal_isr(l))
    )


@always
def one_leader_per_leader_epoch(s: State, c: C) -> bool:
    """G-S5: brokers whose metadata has the same leader epoch name the same leader."""
    return all(
        s.broker[one].metadata.leader_epoch != s.broker[other].metadata.leader_epoch
        or s.broker[one].metadata.leader == s.broker[other].metadata.leader
        for one in range(c.brokers)
        for other in range(c.brokers)
    )


@always
def success_is_committed(s: State, c: C) -> bool:
    """An AlterPartition request succeeds only if its ISR was committed with the next partition epoch."""
    return all(
        b.request.status != Status.ANSWERED
        or b.request.reply != Reply.APPLIED
        or (
            b.request.offset <= s.ghost_end
            and s.ghost_log[max(b.request.offset - 1, 0)].isr == b.request.isr
            and partition_epoch_at(s.ghost_log, b.request.offset) == b.request.partition_epoch + 1
        )
        for b in s.broker
    )


@always
def refusals_tell_of_news(s: State, c: C) -> bool:
    """G-L5: if a leader must wait for metadata, metadata with a later leader epoch or partition epoch is committed."""
    return all(
        b.request.status != Status.ANSWERED
        or b.request.reply != Reply.REFUSED
        or s.ghost_image.leader_epoch > b.request.leader_epoch
        or s.ghost_image.partition_epoch > b.request.partition_epoch
        for b in s.broker
    )


@always
def active_controllers_decide_on_their_log(s: State, c: C) -> bool:
    """An active controller bases its decisions on the state that its log produces."""
    return all(
        not is_active(s, c, node) or is_image_of(s.node[node].memory, s.node[node].log, s.node[node].end, c)
        for node in range(c.controllers)
    )


@always
def late_decisions_never_take_effect(s: State, c: C) -> bool:
    """A deposed controller's decision is never committed in the epoch in which it was made.

    The decision can be committed in a later epoch if the same controller is elected again before its log is truncated.
    """
    return all(not s.ghost_log[offset].ghost_is_late for offset in range(s.ghost_end))


@step()
def epochs_never_go_back(before: State, after: State, c: C) -> bool:
    """The leader epoch and the partition epoch in a broker's metadata never decrease."""
    return all(
        after.broker[b].metadata.leader_epoch >= before.broker[b].metadata.leader_epoch
        and after.broker[b].metadata.partition_epoch >= before.broker[b].metadata.partition_epoch
        for b in range(c.brokers)
    )


@sometimes
def deposed_controller_decides(s: State, c: C) -> bool:
    """A controller makes a decision without knowing that another controller was elected."""
    return any(n.log[offset].ghost_is_late for n in s.node for offset in range(n.end))


@sometimes
def controller_takes_back_what_it_decided(before: State, after: State, c: C) -> bool:
    """A deposed controller reverts a partition change in its memory."""
    return any(
        before.node[node].memory.partition_epoch
        > partition_epoch_at(before.node[node].log, before.node[node].high_watermark)
        and after.node[node].memory.partition_epoch == 0
        and not after.node[node].leads
        for node in range(c.controllers)
    )


@sometimes
def next_controller_inherits_a_change(s: State, c: C) -> bool:
    """A later controller commits a partition change that an earlier controller made."""
    return any(
        s.ghost_log[offset].changes_partition
        and n.leads
        and n.epoch > s.ghost_log[offset].epoch
        and n.high_watermark == s.ghost_end
        for n in s.node
        for offset in range(s.ghost_end)
    )


@sometimes
def late_decision_is_brought_along(before: State, after: State, c: C) -> bool:
    """A deposed controller's decision is committed after the controller has been elected again."""
    return any(
        n.leads and n.high_watermark == after.ghost_end and n.log[offset].ghost_is_late
        for n in after.node
        for offset in range(before.ghost_end, after.ghost_end)
    )


@sometimes
def deposed_controller_calls_a_member_ineligible(s: State, c: C) -> bool:
    """A leader's request is rejected, although committed metadata shows each proposed member as unfenced."""
    return any(
        b.request.status == Status.ANSWERED
        and b.request.reply == Reply.INELIGIBLE
        and b.request.isr & (b.metadata.fenced | s.ghost_image.fenced) == 0
        for b in s.broker
    )


@sometimes
def leader_waits_for_metadata(s: State, c: C) -> bool:
    """A leader's request is rejected because the request's epochs are old, and the leader waits for metadata."""
    return any(b.request.status == Status.ANSWERED and b.request.reply == Reply.REFUSED for b in s.broker)


@sometimes
def new_leader_has_what_was_acknowledged(s: State, c: C) -> bool:
    """A record is acknowledged, a new controller has elected another broker, and that broker knows that it leads."""
    return (
        s.ghost_committed_end > 0
        and s.ghost_image.leader not in (NONE, 0)
        and leads(s, max(s.ghost_image.leader, 0))
        and s.ghost_log[max(s.ghost_end - 1, 0)].epoch > 1
        and s.ghost_log[max(s.ghost_end - 1, 0)].elects
    )


ON_REQUEST = (late_decision_is_brought_along,)
"""A witness that needs three epochs, because the first controller is deposed and then elected again."""
PROPERTIES = tuple(item for item in properties_in(globals()) if item not in ON_REQUEST)


def is_refused(s: State, c: C, leader: int) -> bool:
    """Return whether a leader's request was rejected because of old epochs, and the leader waits for metadata."""
    request = s.broker[leader].request
    return request.status == Status.ANSWERED and request.reply == Reply.REFUSED


def is_not_refused(s: State, c: C, leader: int) -> bool:
    """Return whether a leader does not wait for metadata."""
    return not is_refused(s, c, leader)


refused_leaders_hear_of_it = leads_to(
    "refused-leaders-hear-of-it",
    "G-L5, B15: if a leader's AlterPartition is rejected because of its epochs, the leader eventually gets newer "
    "metadata, provided that voters and brokers fetch.",
    when=is_refused,
    then=is_not_refused,
    fair=(weak(voter_fetches, each=("follower", "leader")), weak(broker_applies_metadata, each="broker")),
    leader=Broker,
)

LIVENESS = (refused_leaders_hear_of_it,)
