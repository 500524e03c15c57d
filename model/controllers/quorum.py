"""The controllers' quorum: elections, the metadata log, and restarts. Modelled on KafkaRaftClient and LeaderState."""

from fencepost.model.controllers import log
from fencepost.model.controllers.constants import C
from fencepost.model.controllers.requests import say_not_controller
from fencepost.model.controllers.state import Controller, Controllers, Flag, Offset, State, Status, clear
from fencepost.model.language import NONE, action, bits, require


def has_later_leader(s: State, c: C, node: int) -> bool:
    """Return whether a majority has elected a leader in a later epoch than this controller's."""
    return any(n.epoch > s.node[node].epoch for n in s.node)


def is_active(s: State, c: C, node: int) -> bool:
    """Return whether a controller believes that it is active, and therefore makes decisions.

    A controller is active once it has applied all records before the start of its epoch
    (KafkaRaftClient.maybeFireLeaderChange).
    """
    n = s.node[node]
    return n.leads and (n.high_watermark > log.epoch_start(n) or not c.catches_up_before_deciding)


def replay_committed(s: State, node: int) -> None:
    """Apply committed records to memory; an active controller has already applied the records that it wrote."""
    n = s.node[node]
    for offset in range(n.replayed, n.high_watermark):
        log.replay(n.memory, n.log[offset])
    n.replayed = max(n.replayed, n.high_watermark)


def forget_commits(s: State, c: C, node: int) -> None:
    """Revert to the committed state (QuorumController.renounce, SnapshotRegistry.revertToSnapshot). The model clears
    the memory of a controller that does not lead. It replays its log once it leads and knows what is committed.
    """
    n = s.node[node]
    known = n.high_watermark
    n.high_watermark = 0 if c.catches_up_before_deciding else known
    if c.reverts_uncommitted:
        clear(n.memory, c)
        n.replayed = 0
        replay_committed(s, node)
    else:
        n.replayed = min(n.replayed, known)


def leave_requests(s: State, c: C, node: int) -> None:
    """Fail the requests that wait for this controller's writes to be committed (DeferredEventQueue.failAll)."""
    for b in s.broker:
        if b.request.status == Status.HANDLED and b.request.to == node:
            say_not_controller(c, b)


def step_down(s: State, c: C, node: int) -> None:
    """Stop leading, if this controller leads."""
    n = s.node[node]
    if n.leads:
        n.leads = False
        for voter in range(c.controllers):
            n.known_end[voter] = NONE
        leave_requests(s, c, node)
        forget_commits(s, c, node)


def advance_high_watermark(s: State, c: C, leader: int) -> None:
    """Advance the high watermark to the log end of a majority, but only above the epoch's start (LeaderState)."""
    l = s.node[leader]
    highest = 0
    for one in range(c.controllers):
        end = l.end if one == leader else l.known_end[one]
        reached = sum((l.end if other == leader else l.known_end[other]) >= end for other in range(c.controllers))
        if reached > c.controllers // 2:
            highest = max(highest, end)
    start = log.epoch_start(l)
    is_beyond = highest > start if c.commits_beyond_epoch_start else highest >= start
    if is_beyond and highest > l.high_watermark:
        l.high_watermark = highest
        replay_committed(s, leader)
        for offset in range(s.ghost_end, highest):
            s.ghost_log[offset] = l.log[offset]
            s.ghost_log[offset].ghost_is_late = l.log[offset].ghost_is_late and l.log[offset].epoch == l.epoch
            log.replay(s.ghost_image, l.log[offset])
        s.ghost_end = max(s.ghost_end, highest)


def highest_epoch(s: State, c: C, members: int) -> int:
    """Return the latest epoch of any of the members."""
    highest = 0
    for node in range(c.controllers):
        if bits.contains(members, node):
            highest = max(highest, s.node[node].epoch)
    return highest


@action(candidate=Controller, electors=Controllers)
def quorum_elects_controller(s: State, c: C, candidate: int, electors: int) -> None:
    """A majority elects a controller whose log is as up to date as theirs, in an epoch that is new to them (KIP-595).

    The elected controller writes a LeaderChange record immediately. The previous leader may be outside the majority,
    and still believe that it leads.
    """
    n = s.node[candidate]
    epoch = highest_epoch(s, c, electors) + 1
    require(bits.contains(electors, candidate))
    require(bits.size(electors) == c.controllers // 2 + 1)
    require(epoch <= c.max_epoch, bound=C.max_epoch)
    require(all(log.is_up_to_date(n, s.node[node]) for node in range(c.controllers) if bits.contains(electors, node)))
    for node in range(c.controllers):
        if bits.contains(electors, node):
            step_down(s, c, node)
            s.node[node].epoch = epoch
    n.leads = True
    n.log[n.end].epoch = epoch
    n.end += 1
    advance_high_watermark(s, c, candidate)


@action(controller=Controller, leader=Controller)
def controller_learns_of_leader(s: State, c: C, controller: int, leader: int) -> None:
    """A controller that believes it leads learns of a later leader, resigns, and reverts uncommitted changes."""
    require(s.node[controller].leads)
    require(s.node[leader].leads)
    require(s.node[leader].epoch > s.node[controller].epoch)
    step_down(s, c, controller)
    s.node[controller].epoch = s.node[leader].epoch


@action(follower=Controller, leader=Controller, arrives=Flag)
def voter_fetches(s: State, c: C, follower: int, leader: int, arrives: int) -> None:
    """A voter fetches from the leader and enters the leader's epoch; its log grows, or is truncated at a divergence.

    KafkaRaftClient.handleFetchRequest: the leader records the log end that a fetch reports. Fetches that change nothing
    are not modelled. If the response is lost, only the leader's state changes.
    """
    f, l = s.node[follower], s.node[leader]
    agreed = log.agreed_end(l, f)
    is_counted = agreed == f.end and l.known_end[follower] < f.end
    require(follower != leader)
    require(l.leads)
    require(not f.leads)
    require(f.epoch <= l.epoch or not c.fences_deposed_controllers)
    require(f.epoch < l.epoch or agreed < l.end or agreed < f.end or is_counted)
    require(arrives == 1 or (is_counted and agreed < l.end))
    f.epoch = max(f.epoch, l.epoch)
    if agreed < f.end:
        log.truncate(f, agreed)
        f.high_watermark = min(f.high_watermark, f.end)
        f.replayed = min(f.replayed, f.end)
    else:
        l.known_end[follower] = f.end
        advance_high_watermark(s, c, leader)
        if arrives == 1:
            for offset in range(agreed, min(l.end, agreed + c.records_per_fetch)):
                f.log[offset] = l.log[offset]
                f.end = offset + 1
            if not c.catches_up_before_deciding:
                f.high_watermark = max(f.high_watermark, min(l.high_watermark, f.end))
                replay_committed(s, follower)


@action(controller=Controller, end=Offset)
def controller_restarts(s: State, c: C, controller: int, end: int) -> None:
    """A controller restarts with its log and epoch: it no longer leads, and does not know which records are committed.

    A leader may lose the writes of its epoch that no other voter has confirmed.
    """
    n = s.node[controller]
    require(s.budget.crashes > 0, bound=C.crashes)
    require(end >= 1)
    require(end <= n.end)
    require(end == n.end or (n.leads and c.flush_lags and end >= n.high_watermark and end >= log.epoch_start(n)))
    step_down(s, c, controller)
    log.truncate(n, end)
    n.high_watermark = 0
    n.replayed = 0
    clear(n.memory, c)
    for m in s.late_requests:
        if m.to == controller:
            s.late_requests.remove(m)
    s.budget.crashes -= 1
