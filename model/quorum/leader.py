"""A leader's actions: appending records, handling and parking fetches, advancing the high watermark (LeaderState)."""

from fencepost.model.language import NONE, InFlight, action, bits, require
from fencepost.model.quorum import log
from fencepost.model.quorum.constants import C, Completion, Emptiness, Source
from fencepost.model.quorum.fetch import arrived, is_sent, reported_high_watermark, sends_field, speaks_version_18
from fencepost.model.quorum.snapshots import needs_snapshot
from fencepost.model.quorum.state import Id, LateFetch, Node, Phase, Role, State, is_everyone_connected, leads


def no_op(c: C) -> int:
    """Return the id of NoOp records."""
    return c.max_records + 1


def removal(c: C) -> int:
    """Return the id of the record that removes a voter."""
    return c.max_records + 2


def addition(c: C) -> int:
    """Return the id of the record that adds a voter."""
    return c.max_records + 3


def update(c: C) -> int:
    """Return the id of the record with a voter's new endpoints."""
    return c.max_records + 4


def is_below(n: Node, record: int, end: int) -> bool:
    """Return whether a node's log contains this record below `end`."""
    offset = log.offset_of(n, record)
    return offset != NONE and offset < end


def voters_below(s: State, c: C, n: Node, end: int) -> int:
    """Return the voters according to a node's log below `end`."""
    voters = bits.everyone(c.voters)
    if s.added != NONE and is_below(n, addition(c), end):
        voters = bits.with_member(voters, max(s.added, 0))
    if not is_below(n, removal(c), end) or comes_back(s, c, n, end):
        return voters
    return bits.without(voters, max(s.removed, 0))


def comes_back(s: State, c: C, n: Node, end: int) -> bool:
    """Return whether a node's log, below `end`, shows that the removed voter was added again."""
    is_same = c.auto_join and s.added == s.removed
    return is_same and is_below(n, addition(c), end) and log.offset_of(n, addition(c)) > log.offset_of(n, removal(c))


def reaches(s: State, c: C, n: Node, node: int) -> bool:
    """Return whether a node can connect to another node with the endpoints in its log."""
    return not (bits.contains(s.unreached, node) and is_below(n, update(c), n.end))


def may_change_voters(s: State, c: C, leader: int) -> bool:
    """Return whether a leader may change the voters: its high watermark is known and has passed the last change."""
    l = s.node[leader]
    is_settled = voters_of(s, c, l) == voters_below(s, c, l, max(l.high_watermark, 0))
    return (l.high_watermark != NONE or not c.changes_after_commit) and (is_settled or not c.one_change_at_a_time)


def voters_of(s: State, c: C, n: Node) -> int:
    """Return the voters according to a node's log. A removal takes effect as soon as it is appended."""
    return voters_below(s, c, n, n.end)


def counted(s: State, c: C, leader: int) -> int:
    """Return the nodes that the high watermark depends on: the voters, with or without the leader (KAFKA-16530)."""
    voters = voters_of(s, c, s.node[leader])
    return bits.with_member(voters, leader) if c.leader_always_counted else voters


def end_of(s: State, leader: int, node: int) -> int:
    """Return a node's log end as the leader knows it."""
    return s.node[leader].end if node == leader else s.node[leader].known_end[node]


def majority_end(s: State, c: C, leader: int) -> int:
    """Return the highest offset that a majority is known to have reached, or NONE if it is unknown."""
    members = counted(s, c, leader)
    highest = NONE
    for one in range(c.nodes):
        end = end_of(s, leader, one)
        reached = sum(bits.contains(members, other) and end_of(s, leader, other) >= end for other in range(c.nodes))
        if bits.contains(members, one) and reached > bits.size(members) // 2:
            highest = max(highest, end)
    return highest


def advance_high_watermark(s: State, c: C, leader: int) -> None:
    """Advance the high watermark to the log end of a majority, but only above the epoch's start (LeaderState).

    With KIP-1166, parked fetches are completed in the same step, because one thread does both.
    """
    l = s.node[leader]
    reached = majority_end(s, c, leader)
    is_beyond = reached > l.epoch_start if c.commits_beyond_epoch_start else reached >= l.epoch_start
    if is_beyond and reached > l.high_watermark:
        l.high_watermark = reached
        if c.listeners and reached > l.epoch_start:
            l.active = 1
        observe_commit(s, l)
        if c.counts_answers:
            for node in range(c.nodes):
                if s.node[node].leader == leader:
                    s.ghost_credit[node] += 1
        if speaks_version_18(c, leader) and c.completes_on_high_watermark != Completion.NONE:
            for node in range(c.nodes):
                if c.completes_on_high_watermark == Completion.ALL or sends_field(s, c, node):
                    complete(s, c, leader, node)


def observe_commit(s: State, l: Node) -> None:
    """Record which records became committed for the first time."""
    for offset in range(s.ghost_committed_end, l.high_watermark):
        s.ghost_committed[offset] = l.log[offset]
    s.ghost_committed_end = max(s.ghost_committed_end, l.high_watermark)


def departs(s: State, leader: int, follower: int) -> bool:
    """Return whether a fetch shows that the follower's log diverges from the leader's."""
    l, f = s.node[leader], s.node[follower]
    return log.departs(l, f.end, log.last_epoch(f))


def lacks_log(s: State, c: C, leader: int, follower: int) -> bool:
    """Return whether the leader has deleted the requested records, and therefore answers with its snapshot."""
    l, f = s.node[leader], s.node[follower]
    return needs_snapshot(c, l, f.end, log.last_epoch(f))


def readable_end(s: State, c: C, leader: int, follower: int) -> int:
    """Return the end of a response's records. Unlike a consumer, replicas also get uncommitted records."""
    l, f = s.node[leader], s.node[follower]
    end = max(l.high_watermark, f.end) if is_consumer(c, follower) else l.end
    return min(end, f.end + c.records_per_answer)


def is_consumer(c: C, node: int) -> bool:
    """Return whether the node is a consumer of the metadata log and not a replica."""
    return c.consumer and node == c.nodes - 1


def has_records(s: State, c: C, leader: int, follower: int) -> bool:
    """Return whether, as far as the leader knows, there are records for a fetch to read."""
    f = s.node[follower]
    looks_at_log_end = not is_consumer(c, follower) or c.consumer_waits_for == Emptiness.LOG_END
    return f.end < (s.node[leader].end if looks_at_log_end else readable_end(s, c, leader, follower))


def is_behind(s: State, c: C, leader: int, follower: int) -> bool:
    """Return whether the leader considers the replica's high watermark lower than its own (KIP-1166)."""
    l = s.node[leader]
    if not (speaks_version_18(c, leader) and c.compares_high_watermarks):
        return False
    if c.high_watermark_source == Source.REMEMBERED:
        return l.high_watermark > l.sent[follower]
    answers_unknown = not c.parks_before_first_commit and l.high_watermark == NONE and sends_field(s, c, follower)
    return answers_unknown or l.high_watermark > reported_high_watermark(s, c, follower)


def may_park(s: State, c: C, leader: int, follower: int) -> bool:
    """Return whether the leader may park a fetch, because the response would contain nothing new for the replica.

    Responses that are diverging (KAFKA-15100) or name a snapshot are never parked.
    """
    if lacks_log(s, c, leader, follower):
        return False
    if departs(s, leader, follower):
        return c.parks_diverging
    return not has_records(s, c, leader, follower) and not is_behind(s, c, leader, follower)


def fill_answer(s: State, c: C, leader: int, follower: int) -> None:
    """Write the leader's current response into the fetch."""
    l, f = s.node[leader], s.node[follower]
    is_behind_start = lacks_log(s, c, leader, follower)
    is_diverging = not is_behind_start and departs(s, leader, follower)
    end = f.end if is_behind_start else readable_end(s, c, leader, follower)
    f.fetch.snapshot = l.start if is_behind_start else 0
    f.fetch.diverging = is_diverging
    f.fetch.end = log.end_of_epoch(l, log.last_epoch(f)) if is_diverging else end
    f.fetch.high_watermark = l.high_watermark


def send_answer(s: State, c: C, leader: int, follower: int) -> None:
    """Put the response in flight."""
    f = s.node[follower]
    f.fetch.phase = Phase.ANSWERED
    f.fetch.remaining = c.latency if c.clock else 0
    if c.high_watermark_source == Source.REMEMBERED:
        s.node[leader].sent[follower] = max(s.node[leader].sent[follower], f.fetch.high_watermark)
    if c.counts_answers and not f.fetch.diverging and f.fetch.snapshot == 0 and f.fetch.end == f.end:
        s.ghost_credit[follower] = max(s.ghost_credit[follower] - 1, NONE)


def complete(s: State, c: C, leader: int, node: int) -> None:
    """Answer a parked fetch, with the current high watermark."""
    if s.node[node].leader == leader and s.node[node].fetch.phase == Phase.PARKED:
        fill_answer(s, c, leader, node)
        send_answer(s, c, leader, node)


def append(s: State, c: C, leader: int, record: int) -> None:
    """Append a record, advance the high watermark if the leader alone is a majority, and complete waiting fetches."""
    l = s.node[leader]
    log.append(l, record, l.epoch)
    advance_high_watermark(s, c, leader)
    for node in range(c.nodes):
        if has_records(s, c, leader, node):
            complete(s, c, leader, node)


@action(leader=Id)
def leader_appends(s: State, c: C, leader: int) -> None:
    """The controller writes the next record, even if it does not know that it has been deposed.

    With a clock, delays are measured from this record. The record is written while every node is connected and at least
    two NoOp records remain, because time ends with the last NoOp record.
    """
    require(leads(s, leader))
    require(s.written < c.max_records, bound=C.max_records)
    require(not c.clock or is_everyone_connected(s, c))
    require(c.no_op_interval == 0 or s.budget.no_ops > 1, bound=C.no_ops)
    s.written += 1
    append(s, c, leader, s.written)


@action(leader=Id)
def leader_appends_no_op(s: State, c: C, leader: int) -> None:
    """The controller writes a NoOp record once per interval (metadata.max.idle.interval.ms)."""
    require(leads(s, leader))
    require(s.budget.no_ops > 0, bound=C.no_ops)
    require(c.no_op_interval == 0 or s.no_op_due == 0)
    s.budget.no_ops -= 1
    s.no_op_due = c.no_op_interval
    append(s, c, leader, no_op(c))


@action(leader=Id)
def leader_removes_itself(s: State, c: C, leader: int) -> None:
    """The leader appends the record that removes it as a voter, and leads until the record is committed (KIP-853)."""
    require(leads(s, leader))
    require(s.budget.removals > 0, bound=C.removals)
    require(may_change_voters(s, c, leader))
    s.budget.removals -= 1
    s.removed = leader
    append(s, c, leader, removal(c))


def was_removed(s: State, c: C, leader: int, node: int) -> bool:
    """Return whether a leader knows that a node was a voter. A snapshot contains only the latest voters."""
    l = s.node[leader]
    return s.removed == node and log.offset_of(l, removal(c)) >= l.start


@action(leader=Id, node=Id)
def leader_adds_voter(s: State, c: C, leader: int, node: int) -> None:
    """The leader appends a record that makes a caught-up observer a voter, effective immediately (AddVoterHandler)."""
    require(leads(s, leader))
    require(s.budget.additions > 0, bound=C.additions)
    require(not bits.contains(voters_of(s, c, s.node[leader]), node))
    require(s.node[node].leader == leader and s.node[node].end == s.node[leader].end)
    require(not c.auto_join or c.former_voters_join or not was_removed(s, c, leader, node))
    require(may_change_voters(s, c, leader))
    s.budget.additions -= 1
    s.added = node
    append(s, c, leader, addition(c))


@action(leader=Id, node=Id)
def leader_updates_voter(s: State, c: C, leader: int, node: int) -> None:
    """A voter sends its new endpoints, which no other node can reach; the leader appends them (UpdateVoterHandler)."""
    require(leads(s, leader))
    require(s.budget.updates > 0, bound=C.updates)
    require(bits.contains(voters_of(s, c, s.node[leader]), node))
    require(s.node[node].leader == leader)
    require(may_change_voters(s, c, leader))
    require(not c.endpoints_tried)
    s.budget.updates -= 1
    s.unreached = bits.only(node)
    append(s, c, leader, update(c))


def record_fetch(s: State, c: C, leader: int, follower: int, offset: int) -> None:
    """Record the fetch offset as the follower's log end. If the follower is a voter, try to advance the high watermark.

    The leader flushes its log before it handles a fetch (flushLeaderLog).
    """
    l = s.node[leader]
    if c.flush_lags:
        l.flushed = l.end
    if bits.contains(counted(s, c, leader), follower):
        l.known_end[follower] = offset
        advance_high_watermark(s, c, leader)


@action(leader=Id, follower=Id)
def leader_handles_fetch(s: State, c: C, leader: int, follower: int) -> None:
    """The leader handles a fetch in its epoch: it records the follower's position, and answers or parks the fetch."""
    f = s.node[follower]
    require(is_sent(s, leader, follower))
    require(arrived(c, f.fetch))
    if not lacks_log(s, c, leader, follower) and not departs(s, leader, follower):
        record_fetch(s, c, leader, follower, f.end)
    fill_answer(s, c, leader, follower)
    if may_park(s, c, leader, follower):
        f.fetch.phase = Phase.PARKED
        f.fetch.remaining = c.max_wait if c.clock else 0
    else:
        send_answer(s, c, leader, follower)


@action(follower=Id)
def parked_fetch_times_out(s: State, c: C, follower: int) -> None:
    """A parked fetch times out, and gets the response that was built when the fetch arrived (KAFKA-15100).

    The thread that expires fetches must not read the leader's state, so the high watermark in the response may be old.
    """
    f = s.node[follower]
    require(f.fetch.phase == Phase.PARKED)
    require(not c.clock or f.fetch.remaining == 0)
    if c.timeout_answers_anew:
        fill_answer(s, c, f.leader, follower)
    f.fetch.phase = Phase.ANSWERED
    f.fetch.remaining = c.latency if c.clock else 0


@action(m=InFlight("late_fetches"))
def leader_handles_late_fetch(s: State, c: C, m: LateFetch) -> None:
    """A leader, even a deposed one, handles a fetch in its epoch whose sender no longer waits for the response."""
    l = s.node[m.leader]
    require(l.role == Role.LEADER)
    require(l.epoch == m.epoch)
    require(not log.departs(l, m.offset, m.last_epoch))
    require(not needs_snapshot(c, l, m.offset, m.last_epoch))
    s.late_fetches.remove(m)
    record_fetch(s, c, m.leader, m.follower, m.offset)
