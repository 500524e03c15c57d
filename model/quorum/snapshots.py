"""Snapshots (KIP-630): a node takes a snapshot and deletes its log up to the snapshot's end; lagging followers fetch
the snapshot. Modelled on KafkaRaftClient.createSnapshot and handleFetchSnapshotResponse, and on RaftLog.
"""

from fencepost.model.language import action, require
from fencepost.model.quorum import log
from fencepost.model.quorum.constants import C
from fencepost.model.quorum.fetch import arrived
from fencepost.model.quorum.follower import clear, go_on
from fencepost.model.quorum.state import Entry, Id, Node, Phase, State


def needs_snapshot(c: C, leader: Node, offset: int, epoch: int) -> bool:
    """Return whether a leader answers a fetch at this offset and epoch with the id of its snapshot.

    RaftLog.validateOffsetAndEpoch: the offset is below the start of the log, or equals the start but the epoch is not
    the snapshot's, or the epoch is older than the snapshot's.
    """
    own = log.snapshot_epoch(leader)
    differs = epoch < own or (offset == leader.start and epoch != own)
    return leader.start > 0 and (offset < leader.start or (c.snapshot_epochs_compared and differs))


def erase(entry: Entry) -> None:
    """Erase a record."""
    entry.record = 0
    entry.epoch = 0


@action(node=Id)
def node_takes_snapshot(s: State, c: C, node: int) -> None:
    """A node takes a snapshot of the records that it knows to be committed, and deletes them from its log.

    RaftLog.createNewSnapshot and deleteBeforeSnapshot. Kafka keeps part of the log below its last snapshot for some
    time, but a fetch from offset 0 gets the snapshot too.
    """
    n = s.node[node]
    end = n.high_watermark if c.snapshots_hold_committed else n.end
    require(s.budget.snapshots > 0, bound=C.snapshots)
    require(not n.failed)
    require(end > n.start)
    s.budget.snapshots -= 1
    if not c.logs_start_with_snapshots:
        for offset in range(n.start, end):
            erase(n.log[offset])
    n.start = end


@action(follower=Id)
def follower_loads_snapshot(s: State, c: C, follower: int) -> None:
    """A follower that has fetched its leader's snapshot drops its whole log and starts at the snapshot's end.

    If the leader has taken a later snapshot in the meantime, the requested snapshot no longer exists
    (SNAPSHOT_NOT_FOUND), and the follower fetches again. A snapshot that is not ahead of the follower's log stops the
    follower (truncateToLatestSnapshot).
    """
    f = s.node[follower]
    require(f.fetch.phase == Phase.ANSWERED)
    require(f.fetch.snapshot > 0)
    require(arrived(c, f.fetch))
    l = s.node[f.leader]
    end, epoch, last = f.fetch.snapshot, log.snapshot_epoch(l), log.last_epoch(f)
    if l.start != end:
        go_on(c, f)
    elif epoch < last or (epoch == last and end <= f.end):
        f.failed = True
        clear(f.fetch)
    else:
        log.truncate(f, 0)
        for offset in range(end):
            log.append(f, l.log[offset].record, l.log[offset].epoch)
        f.start = end
        f.high_watermark = end
        go_on(c, f)
