"""Shutdowns, crashes, lost records, and starts of brokers."""

from fencepost.model.cluster import log
from fencepost.model.cluster.constants import C, Checkpoint, Loss, UncleanShutdown
from fencepost.model.cluster.controller import epoch_without, has_room, leader_without, remove_from_isr
from fencepost.model.cluster.deletion import write_log_start
from fencepost.model.cluster.follower import forget_answer
from fencepost.model.cluster.leader import fail_writes, forget_leadership
from fencepost.model.cluster.metadata import go_on_from, start_from
from fencepost.model.cluster.network import leave_fetch_behind
from fencepost.model.cluster.partition_change import (
    active,
    append_image,
    change_isr,
    electable,
    elr_after,
    epoch_for,
    isr_after,
    leader_after,
)
from fencepost.model.cluster.state import (
    Broker,
    Life,
    Move,
    Offset,
    State,
    has_elr,
    has_process,
    is_running,
    local,
    newest,
)
from fencepost.model.language import action, bits, require


def may_lose(s: State, c: C, broker: int) -> bool:
    """Return whether a crash of this broker may lose records."""
    safe = newest(s).isr | (s.elr if has_elr(s, c) else 0)
    return c.loss == Loss.ANY or (c.loss == Loss.OUTSIDE_ISR and not bits.contains(safe, broker))


def halt(s: State, c: C, broker: int, life: Life) -> None:
    """End the broker's process, which loses its memory and its fetch connections."""
    r = s.replica[broker]
    forget_leadership(r)
    fail_writes(r)
    forget_answer(r)
    r.truncating = False
    r.last_epoch_lost = False
    r.applied = 0
    r.raised = 0
    r.life = life
    r.early = 0
    for _ in range(c.late_answers):
        for m in s.late_answers:
            if m.follower == broker:
                s.late_answers.remove(m)
                break


@action(broker=Broker, kept=Offset)
def broker_crashes(s: State, c: C, broker: int, kept: int) -> None:
    """A broker crashes and keeps the first records of its log, or all of them if it must not lose any.

    The broker's requests stay in flight, and the controller may notice late. The log start reverts to its checkpoint.
    """
    r = s.replica[broker]
    require(s.budget.crashes > 0, bound=C.crashes)
    require(has_process(s, broker))
    require(kept <= r.end)
    require(kept == r.end or may_lose(s, c, broker))
    require(kept in (0, r.end) or (c.partial_loss and log.first_in_files(r) < kept))
    leave_fetch_behind(s, c, broker)
    checkpoint = r.start if c.log_start_flushed else r.checkpoint
    if kept == 0 and r.end > 0:
        log.lose(r)
    else:
        log.truncate(r, kept)
        log.recover(r, checkpoint)
    halt(s, c, broker, Life.CRASHED)
    s.budget.crashes -= 1


def is_known_to_leave(s: State, c: C, broker: int) -> bool:
    """Return whether every active, running broker has applied the metadata about this broker's shutdown."""
    return all(
        bits.contains(local(s, other).stopping, broker)
        for other in range(c.brokers)
        if is_running(s, other) and bits.contains(active(c, newest(s)), other)
    )


@action(broker=Broker)
def broker_stops(s: State, c: C, broker: int) -> None:
    """A broker that leads no partition shuts down, and the controller fences it.

    BrokerHeartbeatManager.calculateNextBrokerState, SHUTDOWN_NOW. A broker in controlled shutdown may stop once every
    active broker has applied the metadata about the shutdown. A broker may stop immediately if it is fenced, or if it
    leads no partition at its first shutdown request.
    """
    image = newest(s)
    asked = bits.contains(image.stopping, broker)
    waits = asked and not bits.contains(image.fenced, broker)
    require(has_room(s, c), bound=C.metadata_lag)
    require(is_running(s, broker))
    require(image.leader != broker)
    require(asked or s.budget.clean_stops > 0, bound=C.clean_stops)
    require(not waits or is_known_to_leave(s, c, broker))
    leader = leader_without(s, c, broker)
    require(epoch_without(s, c, broker, leader) <= c.max_leader_epoch, bound=C.max_leader_epoch)
    append_image(s)
    remove_from_isr(s, c, broker, leader)
    now = newest(s)
    now.fenced = bits.with_member(now.fenced, broker)
    s.budget.clean_stops -= 0 if asked else 1
    leave_fetch_behind(s, c, broker)
    if not c.log_start_flushed:
        write_log_start(s.replica[broker])
    halt(s, c, broker, Life.STOPPED)


@action(broker=Broker, checkpoint=Offset)
def broker_starts(s: State, c: C, broker: int, checkpoint: int) -> None:
    """Before it is registered, a broker's new process follows the leader that its metadata names (HYP-15).

    BrokerServer.startup: fetchers start as soon as the metadata up to the high watermark is published (MetadataLoader).
    The controller rejects the registration while the session of the previous process lasts
    (DUPLICATE_BROKER_REGISTRATION). The new process accepts no connections until it is unfenced, so it cannot lead yet.
    """
    r = s.replica[broker]
    require(s.budget.early_starts > 0, bound=C.early_starts)
    require(not has_process(s, broker))
    require(checkpoint <= r.high_watermark)
    require(checkpoint == r.high_watermark or c.restart_high_watermark != Checkpoint.LAST)
    require(checkpoint == 0 or c.restart_high_watermark != Checkpoint.LOG_START)
    require(checkpoint == r.high_watermark or r.offline == 0)
    s.budget.early_starts -= 1
    r.early = 1
    r.high_watermark = max(checkpoint, r.start)
    start_from(s, c, broker)


@action(broker=Broker, checkpoint=Offset)
def broker_registers(s: State, c: C, broker: int, checkpoint: int) -> None:
    """A broker starts its process if necessary, registers it, and applies the image of the registration.

    ClusterControlManager.registerBroker: an expired session does not prevent the registration. The new incarnation
    leaves the ISR as if the old incarnation had been fenced (ReplicationControlManager.handleBrokerShutdown,
    KAFKA-18106). After an unclean shutdown, the broker also leaves the ELR. With `registration_opens_epoch`, every
    registration instead starts a new leader epoch in every partition. KIP-903 rejects this alternative.
    """
    r = s.replica[broker]
    image = newest(s)
    require(has_room(s, c), bound=C.metadata_lag)
    require(not is_running(s, broker))
    require(bits.contains(image.fenced, broker) or not c.fenced_before_registration)
    unclean = is_unclean(s, c, broker)
    isr = bits.without(image.isr, broker) if unclean or c.registration_leaves_isr else image.isr
    changes = isr != image.isr or (unclean and bits.contains(s.elr, broker))
    elr = elr_after(s, c, isr, bits.only(broker) if unclean else 0)
    acceptable = bits.without(electable(s, c), broker)
    leader = leader_after(s, c, isr, bits.only(broker) if unclean else 0, acceptable) if changes else image.leader
    leader_epoch = epoch_for(s, c, isr, leader) if changes else image.leader_epoch
    opens = c.registration_opens_epoch and leader_epoch == image.leader_epoch
    partition_epoch = image.partition_epoch + 1
    require(leader_epoch <= c.max_leader_epoch, bound=C.max_leader_epoch)
    require(not opens or image.leader_epoch < c.max_leader_epoch, bound=C.max_leader_epoch)
    require(checkpoint <= r.high_watermark)
    require(checkpoint == r.high_watermark or c.restart_high_watermark != Checkpoint.LAST)
    require(checkpoint == 0 or c.restart_high_watermark != Checkpoint.LOG_START)
    require(checkpoint == r.high_watermark or (r.early == 0 and r.offline == 0))
    stays = bits.contains(isr_after(s, c, isr), broker) and bits.size(isr) > 1
    append_image(s)
    now = newest(s)
    if changes:
        change_isr(s, c, isr, elr, leader)
    if opens:
        now.leader_epoch += 1
        now.partition_epoch = partition_epoch
    now.broker_epoch[broker] += 1
    now.fenced = bits.with_member(now.fenced, broker)
    now.stopping = bits.without(now.stopping, broker)
    if stays:
        s.ghost_stale = bits.with_member(s.ghost_stale, broker)
    r.life = Life.RUNNING
    r.high_watermark = max(checkpoint, r.start)
    s.offline = bits.with_member(s.offline, broker) if r.offline + r.moved != 0 else bits.without(s.offline, broker)
    r.moved = min(r.moved, Move.REGISTERED)
    if r.early != 0:
        r.early = 0
        go_on_from(s, c, broker)
    else:
        start_from(s, c, broker)


def is_unclean(s: State, c: C, broker: int) -> bool:
    """Return whether the controller assumes that the new incarnation may have lost records (KIP-966).

    Either every new incarnation counts as unclean, or the controller checks the broker epoch that the broker saved at a
    clean shutdown (KAFKA-18635). The controller does not compare the directories of two registrations (HYP-16).
    """
    r = s.replica[broker]
    if not has_elr(s, c) or c.unclean_shutdown == UncleanShutdown.NEVER:
        return False
    has_fewer = r.moved == Move.BEGUN or (r.offline != 0 and not bits.contains(s.offline, broker))
    return (
        c.unclean_shutdown == UncleanShutdown.EVERY_INCARNATION
        or r.life == Life.CRASHED
        or (c.fewer_directories_are_unclean and has_fewer)
    )


@action(broker=Broker)
def disk_is_swapped(s: State, c: C, broker: int) -> None:
    """A running follower loses its log, but keeps its broker epoch. KIP-903 does not protect against this fault."""
    r = s.replica[broker]
    require(s.budget.disk_swaps > 0, bound=C.disk_swaps)
    require(is_running(s, broker))
    require(local(s, broker).leader != broker)
    require(r.end > 0)
    log.lose(r)
    forget_answer(r)
    s.budget.disk_swaps -= 1
