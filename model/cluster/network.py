"""Messages in flight: those whose sender has stopped or changed its epoch, and those that have no effect. Messages are
reordered only between connections, because a follower has one fetch in flight. A lost message is never handled.
Messages and images that have no effect are removed.
"""

from fencepost.model.cluster import log
from fencepost.model.cluster.constants import C, Rollback
from fencepost.model.cluster.controller import is_repeated, passes_epoch_checks
from fencepost.model.cluster.leader import (
    fetch_epoch,
    fetched_epoch,
    forget_copies,
    is_awaited,
    is_stale_fetch,
    record_fetch,
)
from fencepost.model.cluster.state import (
    AlterPartition,
    Answer,
    Broker,
    LateFetch,
    State,
    Status,
    awaits_late_answer,
    has_process,
    is_running,
    leads,
    local,
    newest,
)
from fencepost.model.language import NONE, InFlight, action, bits, fits, require


def leave_fetch_behind(s: State, c: C, broker: int) -> None:
    """Leave a stopping broker's fetch in its leader's queue; if there is no room, the fetch is lost."""
    image = local(s, broker)
    f = s.replica[broker]
    has_replica = not bits.contains(image.missing, broker) and f.offline == 0
    is_fetching = (
        image.leader not in (NONE, broker)
        and f.answer.kind == Answer.NONE
        and not f.truncating
        and has_replica
        and not awaits_late_answer(s, broker, image.leader)
    )
    if is_fetching and fits(len(s.late_fetches) < c.late_fetches, bound=C.late_fetches):
        s.late_fetches.add(
            leader=image.leader,
            follower=broker,
            broker_epoch=fetch_epoch(s, c, broker),
            leader_epoch=image.leader_epoch,
            offset=f.end,
            last_epoch=fetched_epoch(c, f),
            start=f.start,
        )


def leave_answer_behind(s: State, c: C, broker: int) -> None:
    """Leave the response to the broker's fetch in flight when the broker enters another epoch or loses its replica.

    If the model has no room for it, the response is lost. The partition is removed from the fetcher thread, which still
    waits for the response (AbstractFetcherManager). A thread without another partition ends and closes its connection.
    """
    image = local(s, broker)
    f = s.replica[broker]
    has_answer = f.answer.kind in (Answer.RECORDS, Answer.DIVERGING) and image.leader != NONE
    if c.late_answers > 0 and has_answer and fits(len(s.late_answers) < c.late_answers, bound=C.late_answers):
        s.late_answers.add(
            leader=image.leader,
            follower=broker,
            leader_epoch=image.leader_epoch,
            offset=f.end,
            kind=f.answer.kind,
            record=f.answer.record,
            epoch=f.answer.epoch,
            end=f.answer.end,
            high_watermark=f.answer.high_watermark,
            start=f.answer.start,
        )


@action(follower=Broker)
def log_changes_under_answer(s: State, c: C, follower: int) -> None:
    """A response's record is read when the response is sent. By then, the log has been truncated and extended.

    A response refers to a region of a file (FileRecords.writeTo). The leader that sent the response may already be a
    follower (KAFKA-18723). If the file has become shorter, the connection is closed. In the model, all records have the
    same size, so replaced records begin at the same positions.
    """
    f = s.replica[follower]
    leader = local(s, follower).leader
    require(c.records_read_late)
    require(f.answer.kind == Answer.RECORDS)
    require(f.answer.record != 0)
    require(leader != NONE)
    sent = s.replica[leader].log[f.end]
    require(f.end < s.replica[leader].end)
    require(sent.record != f.answer.record)
    f.answer.record = sent.record
    f.answer.epoch = sent.epoch


@action(m=InFlight("late_fetches"))
def leader_handles_late_fetch(s: State, c: C, m: LateFetch) -> None:
    """A leader handles a fetch whose sender has crashed or stopped in the meantime. No process reads the response. The
    leader records the fetch, unless the leader already knows a later broker epoch (KAFKA-15221).
    """
    r = s.replica[m.leader]
    require(leads(s, m.leader))
    require(not c.fetch_leader_epoch_check or m.leader_epoch == local(s, m.leader).leader_epoch)
    require(not is_stale_fetch(s, c, m.leader, m.follower, m.broker_epoch))
    require(r.start <= m.offset <= r.end)
    require(not log.departs(r, local(s, m.leader).leader_epoch, m.offset, m.last_epoch))
    require(not bits.contains(local(s, m.leader).missing, m.follower))
    s.late_fetches.remove(m)
    record_fetch(s, c, m.leader, m.follower, m.offset, m.broker_epoch, m.start)


def can_count(s: State, c: C, m: LateFetch) -> bool:
    """Return whether handling a late fetch can have an effect, now or later."""
    if not is_running(s, m.leader):
        return False
    known = local(s, m.leader).leader_epoch
    can_lead = leads(s, m.leader) if known == m.leader_epoch else known < m.leader_epoch
    stale_for_good = is_stale_fetch(s, c, m.leader, m.follower, m.broker_epoch) and (
        c.fenced_epoch_check or not may_be_fenced(s, m.leader, m.follower)
    )
    return (can_lead or not c.fetch_leader_epoch_check) and not stale_for_good


def may_be_fenced(s: State, leader: int, follower: int) -> bool:
    """Return whether the leader's cache may still show this broker as fenced, which hides its broker epoch."""
    left = s.budget.fences + s.budget.crashes + s.budget.clean_stops
    return (
        left > 0
        or not is_running(s, follower)
        or bits.contains(newest(s).stopping, follower)
        or any(
            bits.contains(s.image[index].fenced, follower) for index in range(s.replica[leader].applied, s.newest + 1)
        )
    )


@action(m=InFlight("alter_partitions"))
def leader_resends_request(s: State, c: C, m: AlterPartition) -> None:
    """A leader resends its request on a new connection; the first copy may still reach the controller.

    NodeToControllerChannelManager retries after a disconnect until a response arrives.
    """
    require(s.budget.resends > 0, bound=C.resends)
    require(m.status == Status.SENT)
    require(is_awaited(s, m))
    copy = s.alter_partitions.add(
        status=Status.SENT,
        leader=m.leader,
        broker_epoch=m.broker_epoch,
        leader_epoch=m.leader_epoch,
        partition_epoch=m.partition_epoch,
        isr=m.isr,
    )
    copy.raised = m.raised
    for member in range(c.brokers):
        copy.member_epoch[member] = m.member_epoch[member]
    s.budget.resends -= 1


def is_refused(s: State, c: C, m: AlterPartition) -> bool:
    """Return whether the controller is certain to reject this request, now or later, because epochs only increase."""
    return c.request_epoch_checks and not passes_epoch_checks(c, newest(s), m) and not is_repeated(c, newest(s), m)


def is_heeded(s: State, c: C, m: AlterPartition) -> bool:
    """Return whether the leader still waits for a response and will act on it."""
    return is_awaited(s, m) and (m.status != Status.REFUSED or c.rollback_on == Rollback.ANY_ERROR)


def is_moot(s: State, c: C, m: AlterPartition) -> bool:
    """Return whether a message has no effect: a stray copy that will be rejected, or a response that is ignored."""
    return is_refused(s, c, m) if m.status == Status.STRAY else m.status != Status.SENT and not is_heeded(s, c, m)


def is_read_alike(s: State, broker: int, index: int, later: int) -> bool:
    """Return whether a broker leads in neither image and acts the same in both (if it has no replica: same min ISR)."""
    one, other = s.image[index], s.image[later]
    if one.raised != other.raised:
        return False
    if bits.contains(one.missing | other.missing, broker):
        return bits.contains(one.missing & other.missing, broker)
    return (
        broker not in (one.leader, other.leader)
        and one.leader_epoch == other.leader_epoch
        and one.leader == other.leader
    )


def normalize(s: State, c: C) -> None:
    """Remove differences that cannot be observed.

    A broker that does not lead uses only the leader, leader epoch and min ISR of an image, and whether it has a
    replica. Therefore, a broker that does not lead is treated as having applied all images that agree with its own in
    these fields. Requests that the controller must reject are rejected immediately. Rejections that have no effect,
    responses that no leader awaits and late fetches that no leader will serve are dropped. Images older than those of
    all running brokers are also dropped. Partition epochs are counted from the oldest remaining image.
    """
    for broker in range(c.brokers):
        for index in range(c.metadata_lag):
            r = s.replica[broker]
            if (
                has_process(s, broker)
                and index == r.applied
                and index < s.newest
                and is_read_alike(s, broker, index, index + 1)
            ):
                r.applied = index + 1
    drop_moot_messages(s, c)
    oldest = s.newest
    for broker in range(c.brokers):
        if has_process(s, broker):
            oldest = min(oldest, s.replica[broker].applied)
    drop_images(s, c, oldest)


def drop_moot_messages(s: State, c: C) -> None:
    """Reject requests that cannot succeed, and remove messages that have no effect."""
    for m in s.alter_partitions:
        if m.status == Status.SENT and is_refused(s, c, m):
            m.status = Status.REFUSED
            m.raised = 0
            for member in range(c.brokers):
                m.member_epoch[member] = 0
    for _ in range(c.alter_partitions):
        for m in s.alter_partitions:
            if is_moot(s, c, m):
                forget_copies(s, c, m)
                s.alter_partitions.remove(m)
                break
    for _ in range(c.late_fetches):
        for fetch in s.late_fetches:
            if not can_count(s, c, fetch):
                s.late_fetches.remove(fetch)
                break


def drop_images(s: State, c: C, oldest: int) -> None:
    """Drop the images before `oldest`, and subtract the lowest partition epoch in use from all partition epochs."""
    base = s.image[oldest].partition_epoch
    for m in s.alter_partitions:
        base = min(base, m.partition_epoch)
    if not c.isr_from_metadata:
        for r in s.replica:
            base = min(base, r.partition_epoch if r.isr != 0 else base)
    if oldest > 0:
        for index in range(s.newest - oldest + 1):
            s.image[index] = s.image[index + oldest]
        for index in range(s.newest - oldest + 1, s.newest + 1):
            clear_image(s, c, index)
    s.newest -= oldest
    for index in range(s.newest + 1):
        s.image[index].partition_epoch -= base
    for broker in range(c.brokers):
        r = s.replica[broker]
        if has_process(s, broker):
            r.applied -= oldest
        if r.isr != 0:
            r.partition_epoch -= base
    for m in s.alter_partitions:
        m.partition_epoch -= base


def clear_image(s: State, c: C, index: int) -> None:
    """Clear an image's slot."""
    image = s.image[index]
    image.leader = 0
    image.leader_epoch = 0
    image.partition_epoch = 0
    image.isr = 0
    image.fenced = 0
    image.stopping = 0
    image.missing = 0
    image.raised = 0
    for broker in range(c.brokers):
        image.broker_epoch[broker] = 0
