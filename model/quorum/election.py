"""Elections, restarts, and leader announcements. Modelled on QuorumState and KafkaRaftClient."""

from fencepost.model.language import NONE, action, bits, fits, require
from fencepost.model.quorum import log
from fencepost.model.quorum.constants import C, Notified
from fencepost.model.quorum.follower import clear, send_fetch
from fencepost.model.quorum.leader import advance_high_watermark, counted, reaches, removal, voters_of
from fencepost.model.quorum.state import LEADER_CHANGE, Id, Ids, Node, Phase, Role, State, leads


def leave_fetch_behind(s: State, c: C, node: int) -> None:
    """Leave a node's fetch to its previous leader in flight; if there is no room, the fetch is lost."""
    n = s.node[node]
    is_fetching = n.leader != NONE and n.fetch.phase == Phase.SENT
    if is_fetching and fits(len(s.late_fetches) < c.late_fetches, bound=C.late_fetches):
        s.late_fetches.add(leader=n.leader, follower=node, epoch=n.epoch, offset=n.end, last_epoch=log.last_epoch(n))


def forget_leadership(s: State, c: C, node: int) -> None:
    """Clear a leader's state. The leader's followers are notified or time out, and wait for the next leader."""
    n = s.node[node]
    for f in s.node:
        if f.leader == node:
            f.leader = NONE
            f.fetched = False
            clear(f.fetch)
    n.role = Role.FOLLOWER
    n.granted = 0
    n.epoch_start = 0
    n.flushed = 0
    for other in range(c.nodes):
        n.known_end[other] = NONE
        n.sent[other] = NONE


def leave_epoch(s: State, c: C, node: int) -> None:
    """Stop being a leader, candidate or follower in the current epoch."""
    n = s.node[node]
    leave_fetch_behind(s, c, node)
    if n.role == Role.LEADER:
        forget_leadership(s, c, node)
    n.role = Role.FOLLOWER
    n.granted = 0
    n.leader = NONE
    n.fetched = False
    n.lost = 0
    n.active = 0
    s.ghost_credit[node] = 0
    clear(n.fetch)


def become_leader(s: State, c: C, node: int, epoch: int) -> None:
    """Start an epoch as its leader, with an unknown high watermark and a LeaderChange record."""
    n = s.node[node]
    leave_epoch(s, c, node)
    n.role = Role.LEADER
    n.epoch = epoch
    n.voted = node if c.real_votes else NONE
    n.active = int(c.listeners and c.notified == Notified.READ and max(n.high_watermark, 0) >= n.end)
    n.high_watermark = NONE
    n.epoch_start = n.end
    if c.flush_lags:
        n.flushed = n.end
    log.append(n, LEADER_CHANGE, epoch)
    advance_high_watermark(s, c, node)


def follow(s: State, c: C, node: int, leader: int) -> None:
    """Follow a leader and fetch from it."""
    n = s.node[node]
    has_fetched = n.lost > 0 and n.fetched and n.epoch == s.node[leader].epoch
    leave_epoch(s, c, node)
    n.fetched = has_fetched
    if n.epoch < s.node[leader].epoch:
        n.voted = NONE
    n.epoch = s.node[leader].epoch
    n.leader = leader
    send_fetch(c, n)
    if c.counts_answers:
        s.ghost_credit[node] = 1


def majority(members: int) -> int:
    """Return the size of a majority."""
    return bits.size(members) // 2 + 1


def followers_of(s: State, c: C, leader: int) -> int:
    """Return the voters that follow this leader in its epoch."""
    following = 0
    for node in range(c.nodes):
        if s.node[node].leader == leader and not s.node[node].failed:
            following = bits.with_member(following, node)
    return following & counted(s, c, leader)


def is_followed_by_majority(s: State, c: C, leader: int) -> bool:
    """Return whether a majority of the voters, including the leader, follows the leader (checkQuorumTimer)."""
    voters = counted(s, c, leader)
    if voters == bits.only(leader):
        return not c.lone_voter_resigns
    following = followers_of(s, c, leader) | (voters & bits.only(leader))
    return bits.size(following) >= majority(voters)


def entered_epoch(c: C, n: Node) -> int:
    """Return a candidate's previous epoch. With pre-votes, a leader that has resigned enters the next epoch first."""
    return n.epoch + 1 if c.pre_vote and n.role == Role.RESIGNED else n.epoch


def trusts_leader(s: State, c: C, node: int) -> bool:
    """Return whether a node leads or has fetched from its leader, so that it grants no pre-vote in its epoch."""
    n = s.node[node]
    return leads(s, node) or (n.leader != NONE and (n.fetched or not c.fresh_followers_grant))


def grants_pre_vote(s: State, c: C, voter: int, candidate: int) -> bool:
    """Return whether a voter grants the candidate a pre-vote (KIP-996).

    A voter that receives a request from a later epoch forgets its leader.
    """
    v, n = s.node[voter], s.node[candidate]
    epoch = entered_epoch(c, n)
    hears_of_leader = v.epoch == epoch and trusts_leader(s, c, voter)
    return not v.failed and v.epoch <= epoch and not hears_of_leader and log.is_up_to_date(n, v)


def would_win(s: State, c: C, candidate: int) -> bool:
    """Return whether a majority of the voters would grant the candidate a pre-vote."""
    voters = voters_of(s, c, s.node[candidate])
    granting = 0
    for voter in range(c.nodes):
        if bits.contains(voters, voter) and grants_pre_vote(s, c, voter, candidate):
            granting = bits.with_member(granting, voter)
    return bits.contains(granting, candidate) and bits.size(granting) >= majority(voters)


def hears_nothing(s: State, c: C, node: int) -> bool:
    """Return whether a node neither leads nor follows.

    With pre-votes, only such a node can be elected, or can vote without being in an earlier epoch than the candidate.
    """
    return s.node[node].leader == NONE and not leads(s, node)


def may_grant_pre_vote(s: State, c: C, elector: int, epoch: int) -> bool:
    """Return whether an elector may grant a pre-vote in an epoch: the epoch is later, or the elector has no leader."""
    return s.node[elector].epoch < epoch or not trusts_leader(s, c, elector)


def highest_epoch(s: State, c: C, members: int) -> int:
    """Return the latest epoch of any of the members."""
    highest = 0
    for node in range(c.nodes):
        if bits.contains(members, node):
            highest = max(highest, s.node[node].epoch)
    return highest


@action(candidate=Id, electors=Ids)
def quorum_elects(s: State, c: C, candidate: int, electors: int) -> None:
    """A majority elects a candidate whose log is as up to date as the majority's, in a new epoch (KIP-595)."""
    n = s.node[candidate]
    require(not c.real_votes)
    require(bits.contains(electors, candidate))
    require(bits.is_subset(electors, voters_of(s, c, n)))
    require(bits.size(electors) == majority(voters_of(s, c, n)))
    epoch = max(highest_epoch(s, c, electors), entered_epoch(c, n)) + 1
    require(epoch <= c.max_epoch, bound=C.max_epoch)
    require(
        all(
            log.is_up_to_date(n, s.node[node]) and not s.node[node].failed
            for node in range(c.nodes)
            if bits.contains(electors, node)
        )
    )
    require(all(reaches(s, c, n, node) for node in range(c.nodes) if bits.contains(electors, node)))
    require(
        not c.pre_vote
        or all(
            hears_nothing(s, c, node) or (node != candidate and may_grant_pre_vote(s, c, node, entered_epoch(c, n)))
            for node in range(c.nodes)
            if bits.contains(electors, node)
        )
    )
    for node in range(c.nodes):
        if bits.contains(electors, node) and node != candidate:
            leave_epoch(s, c, node)
            s.node[node].epoch = epoch
            s.node[node].voted = NONE
    become_leader(s, c, candidate, epoch)


@action(node=Id)
def voter_stands(s: State, c: C, node: int) -> None:
    """A voter without a leader becomes a candidate in the next epoch and votes for itself."""
    n = s.node[node]
    require(c.real_votes)
    require(bits.contains(voters_of(s, c, n), node))
    require(not leads(s, node))
    require(not n.failed)
    epoch = entered_epoch(c, n) + 1
    require(epoch <= c.max_epoch, bound=C.max_epoch)
    require(not c.pre_vote or would_win(s, c, node))
    leave_epoch(s, c, node)
    n.epoch = epoch
    n.role = Role.CANDIDATE
    n.voted = node
    n.granted = bits.only(node)


@action(voter=Id, candidate=Id)
def voter_votes(s: State, c: C, voter: int, candidate: int) -> None:
    """A voter that receives a candidate's request enters its epoch, and votes for it unless its own log is ahead.

    A voter votes once per epoch. A request from a node that is no longer a candidate has no effect.
    """
    v, n = s.node[voter], s.node[candidate]
    epoch = n.epoch
    require(n.role == Role.CANDIDATE)
    require(voter != candidate)
    require(bits.contains(voters_of(s, c, n), voter))
    require(not v.failed)
    require(reaches(s, c, n, voter))
    require(v.epoch < epoch or (v.epoch == epoch and v.voted == NONE and v.leader == NONE and log.is_up_to_date(n, v)))
    if v.epoch < epoch:
        leave_epoch(s, c, voter)
        v.epoch = epoch
        v.voted = NONE
    if log.is_up_to_date(n, v):
        v.voted = candidate
        n.granted = bits.with_member(n.granted, voter)


@action(candidate=Id)
def candidate_wins(s: State, c: C, candidate: int) -> None:
    """A candidate with the votes of a majority becomes leader."""
    n = s.node[candidate]
    require(n.role == Role.CANDIDATE)
    require(bits.size(n.granted) >= majority(voters_of(s, c, n)))
    become_leader(s, c, candidate, n.epoch)


def hears_of(s: State, c: C, node: int, leader: int) -> bool:
    """Return whether a node learns of a leader. Voters learn from the leader; observers must query a node.

    Before KAFKA-19354, an observer whose fetch timeout has expired ignores responses that name the same leader.
    """
    n = s.node[node]
    heeds = c.observers_return or n.lost == 0 or n.epoch < s.node[leader].epoch
    return bits.contains(voters_of(s, c, n), node) or any(
        bits.contains(c.bootstrap, asked) and (asked == leader or (heeds and s.node[asked].leader == leader))
        for asked in range(c.nodes)
    )


@action(node=Id, leader=Id)
def node_learns_leader(s: State, c: C, node: int, leader: int) -> None:
    """A node learns of a leader: from its BeginQuorumEpoch, or from another node's response to a fetch."""
    n, l = s.node[node], s.node[leader]
    require(node != leader)
    require(leads(s, leader))
    require(not n.failed)
    require(not bits.contains(s.unreached, leader))
    require(n.epoch < l.epoch or (n.epoch == l.epoch and n.leader == NONE and n.role != Role.LEADER))
    require(hears_of(s, c, node, leader))
    follow(s, c, node, leader)


@action(node=Id)
def voter_hears_nothing(s: State, c: C, node: int) -> None:
    """A voter's fetch timeout expires: it stops following, and requests pre-votes in its epoch (ProspectiveState)."""
    require(c.pre_vote)
    require(s.node[node].leader != NONE)
    require(bits.contains(voters_of(s, c, s.node[node]), node))
    require(not s.node[node].failed)
    leave_epoch(s, c, node)


@action(node=Id)
def observer_hears_nothing(s: State, c: C, node: int) -> None:
    """An observer's fetch timeout expires, and it sends fetches to its configured nodes to find the leader."""
    n = s.node[node]
    require(s.budget.fetch_timeouts > 0, bound=C.fetch_timeouts)
    require(n.leader != NONE)
    require(not bits.contains(voters_of(s, c, n), node))
    require(not n.failed)
    s.budget.fetch_timeouts -= 1
    has_fetched = n.fetched
    leave_epoch(s, c, node)
    n.fetched = has_fetched
    n.lost = 1


@action(leader=Id)
def leader_resigns(s: State, c: C, leader: int) -> None:
    """A leader that is not followed by a majority resigns, and no longer knows the high watermark (ResignedState)."""
    require(c.check_quorum)
    require(leads(s, leader))
    require(not is_followed_by_majority(s, c, leader))
    forget_leadership(s, c, leader)
    s.node[leader].role = Role.RESIGNED
    s.node[leader].active = max(s.node[leader].active, int(c.listeners and c.notified >= Notified.RESTARTED))
    s.node[leader].high_watermark = NONE


@action(leader=Id)
def removed_leader_resigns(s: State, c: C, leader: int) -> None:
    """A leader that has removed itself stops leading once the removal is committed (KIP-853)."""
    l = s.node[leader]
    offset = log.offset_of(l, removal(c))
    require(leads(s, leader))
    require(s.removed == leader)
    require(offset != NONE)
    require(offset < l.high_watermark)
    forget_leadership(s, c, leader)


def restart(s: State, c: C, node: int) -> None:
    """Restart a node: it keeps its log, epoch and vote, but not the high watermark; a leader counts as resigned."""
    n = s.node[node]
    resumes = c.resumes_leadership and n.role == Role.LEADER
    has_led = c.check_quorum and n.role in (Role.LEADER, Role.RESIGNED)
    epoch = n.epoch
    leave_epoch(s, c, node)
    n.role = Role.RESIGNED if has_led else Role.FOLLOWER
    n.active = int(has_led and c.listeners and c.notified >= Notified.RESTARTED)
    n.high_watermark = NONE
    n.received = NONE
    n.applied = 0
    if not c.vote_persisted:
        n.voted = NONE
    if resumes:
        become_leader(s, c, node, epoch)


def unflushed(n: Node) -> int:
    """Return the number of records that a leader has appended but not flushed."""
    return n.end - n.flushed if n.role == Role.LEADER else 0


@action(node=Id, loses=bool)
def node_restarts(s: State, c: C, node: int, loses: int) -> None:
    """A node restarts. A restarted leader may lose the records that it had not flushed."""
    n = s.node[node]
    require(s.budget.restarts > 0, bound=C.restarts)
    require(not n.failed)
    require(loses == 0 or (c.flush_lags and unflushed(n) > 0))
    s.budget.restarts -= 1
    if loses == 1:
        log.truncate(n, max(n.flushed, n.start))
    restart(s, c, node)


@action(node=Id)
def node_loses_disk(s: State, c: C, node: int) -> None:
    """A node restarts with an empty disk, without its log, epoch and vote. Raft does not allow this."""
    n = s.node[node]
    require(s.budget.disk_losses > 0, bound=C.disk_losses)
    require(not n.failed)
    s.budget.disk_losses -= 1
    leave_epoch(s, c, node)
    log.truncate(n, 0)
    n.start = 0
    n.epoch = 0
    n.voted = NONE
    n.high_watermark = NONE
    n.received = NONE
    n.applied = 0
