"""Properties of the replicated metadata log, and their witnesses. Ids that begin with KR belong to Raft as implemented
by KRaft; ids that begin with K1166 belong to KIP-1166.
"""

from fencepost.model.language import NONE, always, bits, sometimes, step
from fencepost.model.language.actions import properties_in
from fencepost.model.quorum.constants import C
from fencepost.model.quorum.election import followers_of, highest_epoch, leader_resigns
from fencepost.model.quorum.fetch import absent, reported_high_watermark
from fencepost.model.quorum.follower import follower_truncates
from fencepost.model.quorum.leader import (
    addition,
    departs,
    is_below,
    is_consumer,
    leader_handles_fetch,
    voters_below,
    voters_of,
)
from fencepost.model.quorum.state import Node, Phase, Role, State, leads


def holds_committed(s: State, n: Node, end: int) -> bool:
    """Return whether the log has, below `end`, the records that were first committed there."""
    return all(
        offset < n.end
        and n.log[offset].record == s.ghost_committed[offset].record
        and n.log[offset].epoch == s.ghost_committed[offset].epoch
        for offset in range(min(end, s.ghost_committed_end))
    )


def is_latest(s: State, node: int) -> bool:
    """Return whether the node leads and no node is in a later epoch."""
    return leads(s, node) and all(n.epoch <= s.node[node].epoch for n in s.node)


def is_parked_without_field(s: State, c: C, node: int) -> bool:
    """Return whether the leader treats a replica's parked fetch as if it had no HighWatermark field."""
    return (
        s.node[node].fetch.phase == Phase.PARKED
        and not is_consumer(c, node)
        and reported_high_watermark(s, c, node) == absent(s)
    )


def reaching(s: State, c: C, leader: int) -> int:
    """Return the number of voters whose log end is at or above the leader's high watermark."""
    l = s.node[leader]
    voters = voters_below(s, c, l, l.high_watermark)
    return sum(bits.contains(voters, node) and s.node[node].end >= l.high_watermark for node in range(c.nodes))


@always
def one_leader_per_epoch(s: State, c: C) -> bool:
    """KR-S1: no two nodes lead in the same epoch.

    Two nodes may lead in different epochs until the older leader learns of the newer leader.
    """
    return not any(
        leads(s, one) and leads(s, other) and s.node[one].epoch == s.node[other].epoch
        for one in range(c.nodes)
        for other in range(one)
    )


@step()
def leaders_high_watermark_never_falls(before: State, after: State, c: C) -> bool:
    """KR-S2: the leader of the latest epoch never sets its high watermark below any earlier leader's high watermark."""
    return all(
        after.node[node].high_watermark >= before.ghost_committed_end
        for node in range(c.nodes)
        if is_latest(after, node)
        and after.node[node].high_watermark != NONE
        and after.node[node].high_watermark != before.node[node].high_watermark
    )


@always
def majority_holds_committed(s: State, c: C) -> bool:
    """KR-S3: the logs of a majority of the voters reach a leader's high watermark.

    The committed part of the leader's log determines the voters.
    """
    return all(
        reaching(s, c, node) > bits.size(voters_below(s, c, s.node[node], s.node[node].high_watermark)) // 2
        for node in range(c.nodes)
        if leads(s, node) and s.node[node].high_watermark != NONE
    )


@always
def committed_is_the_same_everywhere(s: State, c: C) -> bool:
    """KR-S4: every node has, at each offset below its high watermark, the record that was first committed there."""
    return all(holds_committed(s, n, n.high_watermark) for n in s.node)


@always
def snapshots_hold_what_is_committed(s: State, c: C) -> bool:
    """KR-S9: with `snapshots`, every snapshot contains exactly the committed records up to its end."""
    return all(n.start <= s.ghost_committed_end and holds_committed(s, n, n.start) for n in s.node)


@step(on=follower_truncates)
def nobody_truncates_committed(before: State, after: State, c: C, follower: int) -> bool:
    """KR-S5: a node does not truncate its log below its own high watermark."""
    return after.node[follower].end >= before.node[follower].high_watermark


@always
def leader_holds_committed(s: State, c: C) -> bool:
    """KR-S6: the leader of the latest epoch has every record that was ever committed."""
    return all(holds_committed(s, s.node[node], s.ghost_committed_end) for node in range(c.nodes) if is_latest(s, node))


@always
def records_are_unique(s: State, c: C) -> bool:
    """G-S3b: if two nodes have a record of the same epoch at the same offset, the two records are equal."""
    return all(
        one.log[offset].record == other.log[offset].record
        for one in s.node
        for other in s.node
        for offset in range(min(one.end, other.end))
        if one.log[offset].epoch == other.log[offset].epoch
    )


@always
def nobody_fails(s: State, c: C) -> bool:
    """No node stops because it must truncate below its high watermark. This does not apply if disks are lost."""
    return not any(n.failed for n in s.node)


def is_alone(s: State, c: C, leader: int) -> bool:
    """Return whether a leader and its followers are not a majority of the voters."""
    voters = voters_of(s, c, s.node[leader])
    return bits.size(voters & (followers_of(s, c, leader) | bits.only(leader))) <= bits.size(voters) // 2


@step()
def majority_keeps_its_leader(before: State, after: State, c: C) -> bool:
    """KR-S7: with `check_quorum`, no node enters a later epoch while a majority follows the latest leader."""
    kept = c.check_quorum and any(is_latest(before, node) and not is_alone(before, c, node) for node in range(c.nodes))
    return not kept or all(n.epoch <= highest_epoch(before, c, bits.everyone(c.nodes)) for n in after.node)


@step(on=leader_resigns)
def resigning_leader_is_alone(before: State, after: State, c: C, leader: int) -> bool:
    """KR-S8: a leader resigns only if it and its followers are not a majority of the voters."""
    return is_alone(before, c, leader)


@always
def parked_replicas_know_the_high_watermark(s: State, c: C) -> bool:
    """K1166-S1: a fetch with the field HighWatermark is parked only if the leader's high watermark is not above it."""
    return all(
        s.node[node].fetch.phase != Phase.PARKED
        or s.node[max(s.node[node].leader, 0)].high_watermark <= reported_high_watermark(s, c, node)
        for node in range(c.nodes)
    )


@step(on=leader_handles_fetch)
def fetches_without_field_wait(before: State, after: State, c: C, leader: int, follower: int) -> bool:
    """K1166-S2: an empty fetch without HighWatermark is parked, and a new high watermark does not complete it."""
    is_empty = (
        reported_high_watermark(before, c, follower) == absent(before)
        and not is_consumer(c, follower)
        and before.node[follower].end == before.node[leader].end
        and not departs(before, leader, follower)
    )
    return (not is_empty or after.node[follower].fetch.phase == Phase.PARKED) and all(
        after.node[node].fetch.phase == Phase.PARKED
        for node in range(c.nodes)
        if is_parked_without_field(before, c, node)
    )


@always
def high_watermarks_are_true(s: State, c: C) -> bool:
    """K1166-S3: no node's high watermark is above its log end, or above every high watermark that a leader has had."""
    return all(n.high_watermark <= min(n.end, s.ghost_committed_end) for n in s.node)


@step()
def high_watermarks_never_fall(before: State, after: State, c: C) -> bool:
    """K1166-S3: a node's high watermark never decreases, but a restart or a new leader may reset it to unknown."""
    return all(
        after.node[node].high_watermark
        in (NONE, max(after.node[node].high_watermark, before.node[node].high_watermark))
        for node in range(c.nodes)
    )


@always
def brokers_apply_what_is_committed(s: State, c: C) -> bool:
    """G-S12: every broker's metadata is a prefix of the committed log. This applies only if brokers apply records."""
    return all(n.applied <= min(n.end, s.ghost_committed_end) and holds_committed(s, n, n.applied) for n in s.node)


@always
def divergence_is_told_at_once(s: State, c: C) -> bool:
    """B37: the fetch of a follower that must truncate is answered immediately and never parked."""
    return not any(n.fetch.phase == Phase.PARKED and n.fetch.diverging for n in s.node)


@always
def answers_without_records_are_few(s: State, c: C) -> bool:
    """K1166-Q3: in each epoch, a replica gets at most one response without records, plus one for each new high
    watermark and each lost response.

    This applies only if `counts_answers` is on; responses at a timeout do not count.
    """
    return all(credit >= 0 for credit in s.ghost_credit)


@sometimes
def everyone_knows_a_commit(s: State, c: C) -> bool:
    """Every node knows that one of the controller's records is committed."""
    return (
        s.written > 0 and all(n.high_watermark == s.ghost_committed_end for n in s.node) and s.ghost_committed_end > 1
    )


@sometimes
def new_leader_commits(s: State, c: C) -> bool:
    """A leader of a later epoch than the first has committed at least two records."""
    return any(
        is_latest(s, node) and s.node[node].epoch > 1 and s.node[node].high_watermark > 1 for node in range(c.nodes)
    )


@sometimes
def two_nodes_lead(s: State, c: C) -> bool:
    """A deposed leader does not know that it was deposed, while its successor leads."""
    return any(leads(s, one) and leads(s, other) for one in range(c.nodes) for other in range(one))


@sometimes
def deposed_leader_commits(before: State, after: State, c: C) -> bool:
    """A leader advances its high watermark after its successor was elected."""
    return any(
        leads(after, node)
        and not is_latest(before, node)
        and after.node[node].high_watermark > before.node[node].high_watermark
        for node in range(c.nodes)
    )


@sometimes
def follower_cuts_its_log(before: State, after: State, c: C) -> bool:
    """A follower drops records because its leader's log diverges from its own."""
    return any(
        after.node[node].end < before.node[node].end and before.node[node].fetch.diverging for node in range(c.nodes)
    )


@sometimes
def replica_is_ahead_of_its_leader(s: State, c: C) -> bool:
    """A leader parks a fetch whose sender knows a higher high watermark than the leader."""
    return any(
        n.fetch.phase == Phase.PARKED and n.high_watermark > s.node[max(n.leader, 0)].high_watermark for n in s.node
    )


@sometimes
def fetch_without_field_is_parked(s: State, c: C) -> bool:
    """A leader parks a fetch that does not report the replica's high watermark."""
    return any(is_parked_without_field(s, c, node) for node in range(c.nodes))


@sometimes
def high_watermark_is_sent_alone(s: State, c: C) -> bool:
    """A response contains a high watermark that is new to its receiver, but no records."""
    return any(
        n.fetch.phase == Phase.ANSWERED
        and not n.fetch.diverging
        and n.fetch.end == n.end
        and n.fetch.high_watermark > n.high_watermark
        for n in s.node
    )


@sometimes
def leader_has_resigned(s: State, c: C) -> bool:
    """A former leader has resigned or restarted, and is still in the epoch in which it led."""
    return any(n.role == Role.RESIGNED for n in s.node)


@sometimes
def voter_stops_following(before: State, after: State, c: C) -> bool:
    """With `pre_vote`, a voter's fetch timeout expires, although its leader still leads."""
    return c.pre_vote and any(
        before.node[node].leader != NONE
        and after.node[node].leader == NONE
        and leads(after, max(before.node[node].leader, 0))
        for node in range(c.nodes)
    )


@sometimes
def added_voter_counts(s: State, c: C) -> bool:
    """With `additions`, a leader's high watermark is beyond the record that adds a voter."""
    return s.added != NONE and any(
        leads(s, node) and is_below(n, addition(c), n.high_watermark) for node, n in enumerate(s.node)
    )


@sometimes
def snapshot_is_loaded(before: State, after: State, c: C) -> bool:
    """With `snapshots`, a follower whose leader has deleted the records that it needs starts from a snapshot."""
    return any(after.node[node].start > before.node[node].end for node in range(c.nodes))


@sometimes
def log_is_replaced(before: State, after: State, c: C) -> bool:
    """With `snapshots`, a follower whose log diverges from its leader's log replaces its log with a snapshot."""
    return any(
        after.node[node].start > before.node[node].start
        and any(
            before.node[node].log[offset].epoch != after.node[node].log[offset].epoch
            for offset in range(min(before.node[node].end, after.node[node].end))
        )
        for node in range(c.nodes)
    )


PROPERTIES = properties_in(globals())
