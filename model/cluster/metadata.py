"""Propagation of metadata to brokers: brokers apply images in order, possibly late, and may skip some. Modelled on
ReplicaManager.applyDelta, Partition.makeLeader and Partition.makeFollower.
"""

from fencepost.model.cluster import log
from fencepost.model.cluster.constants import C, FencedAnswers, Publishing, Truncation
from fencepost.model.cluster.follower import forget_answer
from fencepost.model.cluster.leader import (
    advance_high_watermark,
    fail_writes,
    forget_followers,
    forget_leadership,
    observe_commit,
    start_epoch,
)
from fencepost.model.cluster.network import leave_answer_behind, leave_fetch_behind
from fencepost.model.cluster.state import (
    Answer,
    Broker,
    Image,
    ImageIndex,
    Move,
    Replica,
    State,
    has_process,
    leads,
    local,
    newest,
)
from fencepost.model.language import NONE, action, bits, require


@action(broker=Broker, index=ImageIndex)
def broker_applies_metadata(s: State, c: C, broker: int, index: int) -> None:
    """A running broker applies the controller's log up to an image as one change.

    BrokerMetadataPublisher: a batch or a snapshot may contain many records, so images in between are skipped.
    """
    r = s.replica[broker]
    old, new = s.image[r.applied], s.image[index]
    changes = new.partition_epoch != old.partition_epoch
    require(has_process(s, broker))
    require(r.applied < index)
    require(index <= s.newest)
    require(r.raised == old.raised or c.publishing != Publishing.TOPICS_FIRST)
    require(r.raised == new.raised or c.publishing != Publishing.CONFIGS_FIRST)
    require(r.checked == 0 or not changes)
    if c.metadata_in_shutdown or not bits.contains(newest(s).stopping, broker):
        apply_image(s, c, broker, index)


@action(broker=Broker, index=ImageIndex)
def broker_applies_configs(s: State, c: C, broker: int, index: int) -> None:
    """A running broker applies an image's min ISR, before or after the image's partition (DynamicConfigPublisher). When
    min ISR changes, a leader does not try to advance its high watermark.
    """
    r = s.replica[broker]
    require(r.raised != s.image[index].raised)
    require(c.publishing != Publishing.TOGETHER)
    require(has_process(s, broker))
    require(index <= s.newest)
    require(r.applied == index if c.publishing == Publishing.TOPICS_FIRST else r.applied < index)
    require(r.raised == local(s, broker).raised or c.publishing == Publishing.TOPICS_FIRST)
    r.raised = s.image[index].raised


def apply_image(s: State, c: C, broker: int, index: int) -> None:
    """Make the broker lead, or follow the leader, as an image requires (ReplicaManager.applyDelta).

    A broker whose replica was removed deletes the log; a broker with a new replica starts with an empty log and the
    image's min ISR (LogManager.getOrCreateLog). Only two images are compared: a broker whose replica was removed and
    added again in between does not notice this (TopicDelta.localChanges).
    """
    r = s.replica[broker]
    old, new = s.image[r.applied], s.image[index]
    changes = new.partition_epoch != old.partition_epoch
    had = not bits.contains(old.missing, broker)
    has = not bits.contains(new.missing, broker)
    was_leader = old.leader == broker
    in_new_epoch = new.leader_epoch > old.leader_epoch or not had
    if in_new_epoch or not has:
        leave_answer_behind(s, c, broker)
    if had and not has:
        delete_replica(s, c, broker)
    r.applied = index
    if not had or (
        c.publishing == Publishing.TOGETHER and (new.leader != broker or new.partition_epoch >= r.partition_epoch)
    ):
        r.raised = new.raised
    if changes and new.leader == broker and r.offline == 0:
        make_leader(s, c, broker, was_leader, in_new_epoch)
    elif changes and has and r.offline == 0:
        make_follower(s, c, broker, was_leader, in_new_epoch)


def start_from(s: State, c: C, broker: int) -> None:
    """Apply the newest image as a broker's first image; if the broker has no replica, delete its stray log."""
    r = s.replica[broker]
    r.applied = s.newest
    image = s.image[s.newest]
    r.raised = image.raised
    if bits.contains(image.missing, broker):
        log.lose(r)
    elif image.leader == broker and r.offline == 0:
        make_leader(s, c, broker, False, True)
    elif r.offline == 0:
        make_follower(s, c, broker, False, True)


def go_on_from(s: State, c: C, broker: int) -> None:
    """Apply all metadata up to the registration of a process that is already running. A registered process can lead."""
    r = s.replica[broker]
    apply_image(s, c, broker, s.newest)
    r.raised = newest(s).raised
    if leads(s, broker):
        observe_commit(s, r)


def delete_replica(s: State, c: C, broker: int) -> None:
    """Remove the broker's replica and delete its log (ReplicaManager.stopPartitions, Partition.delete).

    The broker's pending fetch may reach the leader later. The leader serves a fetch only in the fetch's leader epoch.
    If the removal starts a new leader epoch, the pending fetch could therefore have been handled before the removal.
    """
    r = s.replica[broker]
    if not c.removal_opens_epoch:
        leave_fetch_behind(s, c, broker)
    forget_leadership(r)
    fail_writes(r)
    forget_answer(r)
    r.truncating = False
    r.last_epoch_lost = False
    r.offline = 0
    r.moved = Move.ASSIGNED
    log.lose(r)


def make_leader(s: State, c: C, broker: int, was_leader: bool, in_new_epoch: bool) -> None:  # noqa: FBT001
    """Make the broker the leader, as the image that it has just applied requires (Partition.makeLeader).

    The leader may be ahead of the image because of an AlterPartition response. An image with an equal partition epoch
    replaces the leader's state, including a pending ISR change. A leader that is deposed and re-elected without
    noticing keeps what it knows about its followers (Replica.resetReplicaState). The new leader tries to advance the
    high watermark in the same step.
    """
    r = s.replica[broker]
    image = s.image[r.applied]
    if was_leader and (is_outdated(c, r.partition_epoch, image) or (not c.isr_from_metadata and not in_new_epoch)):
        return
    forget_removed(r, image.missing)
    r.isr = image.isr
    r.partition_epoch = image.partition_epoch
    r.proposed_isr = 0
    r.checked = 0
    if in_new_epoch and (not was_leader or c.reset_followers_on_reelection):
        forget_followers(r)
    if in_new_epoch:
        start_epoch(r, c, broker)
    forget_answer(r)
    r.truncating = False
    r.last_epoch_lost = False
    advance_high_watermark(s, c, broker)


def forget_removed(r: Replica, missing: int) -> None:
    """Clear the state of followers that no longer have a replica (Partition.updateAssignmentAndIsr)."""
    if missing != 0:
        r.recent &= ~missing
        for follower in range(len(r.follower)):
            if bits.contains(missing, follower):
                r.follower[follower].end = NONE
                r.follower[follower].start = 0
                r.follower[follower].broker_epoch = NONE


def is_outdated(c: C, partition_epoch: int, image: Image) -> bool:
    """Return whether a leader at this partition epoch ignores an image as outdated."""
    return image.partition_epoch < partition_epoch or (
        image.partition_epoch == partition_epoch and not c.equal_partition_epoch_overwrites
    )


def make_follower(s: State, c: C, broker: int, was_leader: bool, in_new_epoch: bool) -> None:  # noqa: FBT001
    """Make the broker a follower, or make it wait for a leader, as the image requires (Partition.makeFollower). Pending
    writes fail. In a new leader epoch, a follower fetches again from its log end and accepts no earlier responses
    (KAFKA-7786). Since IBP 2.7, a follower truncates only if the leader reports that the logs diverge, not immediately.
    """
    r = s.replica[broker]
    if was_leader:
        forget_leadership(r)
        if not c.acknowledge_after_leadership:
            fail_writes(r)
    if in_new_epoch:
        if r.answer.kind == Answer.FENCED and c.fenced_answers == FencedAnswers.TRUSTED:
            r.answer.kind = Answer.STOPPED
        else:
            forget_answer(r)
        r.last_epoch_lost = False
        r.truncating = c.truncation in (Truncation.KIP_101, Truncation.KIP_279)
        if c.truncation == Truncation.HIGH_WATERMARK:
            log.truncate(r, r.high_watermark)
