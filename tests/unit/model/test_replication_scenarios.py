"""Histories of the replication model, step by step, in the order of their sources."""

import pytest
from fencepost.invariants import replication
from fencepost.model.cluster.constants import Completion
from fencepost.model.cluster.state import Life, Status, newest

from tests.helpers import stories
from tests.helpers.parameters import sized


class Story(stories.Story):
    def __init__(self, **constants: int) -> None:
        super().__init__("replication", **constants)


def catch_up(story: Story, follower: int = 1) -> None:
    """One record is written and fetched; the fetch after it shows that the follower has caught up."""
    fetch = f"leader-handles-fetch 0 {follower}"
    story.play(f"leader-appends 0; {fetch}; follower-appends {follower}; {fetch}")


def reboot(story: Story) -> None:
    """Broker 1 crashes, is fenced, registers again and is unfenced."""
    story.play("broker-crashes 1 0; controller-fences-broker 1")
    story.play("broker-registers broker=1; controller-unfences-broker 1")


@pytest.fixture
def kip_903() -> dict[str, int]:
    """Two brokers, the second outside the ISR; it crashes once and loses what it had."""
    sizes = {"brokers": 2, "max_records": 1, "initial_isr": 1, "max_leader_epoch": 2, "metadata_lag": 4}
    return {**sizes, "crashes": 1, "fences": 2, "shrinks": 0}


def test_with_broker_epochs_the_delayed_request_is_ineligible_and_the_leader_goes_back(kip_903: dict[str, int]) -> None:
    """KIP-903, Controller and Leader: INELIGIBLE_REPLICA, and the leader reverts to the committed ISR."""
    story = Story(**kip_903)
    catch_up(story)
    reboot(story)
    assert not story.can("controller-applies-alter-partition")
    story.play("controller-finds-replica-ineligible; leader-learns-change-refused")
    leader = story.state.replica[0]
    assert (leader.isr, leader.proposed_isr, newest(story.state).isr) == (0b01, 0, 0b01)
    story.do("leader-handles-fetch", leader=0, follower=1)
    assert not story.state.replica[0].proposed_isr, "the leader's cache still shows the old broker epoch"
    story.play("broker-applies-metadata 0 newest; follower-appends 1; leader-handles-fetch 0 1")
    story.do("controller-applies-alter-partition")
    assert newest(story.state).isr == 0b11
    assert all(story.holds(item) for item in replication.PROPERTIES if item.kind in ("always", "step"))


def test_a_member_that_is_ahead_of_the_new_leader_cuts_its_log() -> None:
    """KIP-595: the fetch names the last epoch, and the leader answers where it ends."""
    story = Story(brokers=2, max_records=2, crashes=0, fences=1, shrinks=0, max_leader_epoch=2)
    story.play(
        "leader-appends 0; controller-fences-broker 0; broker-applies-metadata 1 1; leader-appends 1; "
        "broker-applies-metadata 0 newest"
    )
    assert [entry.epoch for entry in story.state.replica[0].log][:1] == [0]
    story.play("leader-reports-divergence 1 0; follower-truncates 0")
    assert (story.state.replica[0].end, story.state.replica[0].life) == (0, Life.RUNNING)
    story.play("leader-handles-fetch 1 0; follower-appends 0")
    assert (story.state.replica[0].log[0].record, story.state.replica[0].log[0].epoch) == (2, 1)


MOVES = sized("brokers=3 max_records=1 crashes=0 fences=0 shrinks=0 max_leader_epoch=4 movable=3 spare=1")


def reassign(target: int, **constants: int) -> Story:
    """An operator names other replicas than {0, 1}, and everybody has heard of it."""
    story = Story(**{**MOVES, "reassignments": 1, **constants})

    story.do("operator-reassigns-replicas", target=target)
    for broker in range(3):
        if story.can("broker-applies-metadata", broker=broker, index=story.state.newest):
            story.do("broker-applies-metadata", broker=broker, index=story.state.newest)
    return story


def test_a_leader_that_its_own_request_removes_stays_pending_and_commits_nothing_alone() -> None:
    """NEW_LEADER_ELECTED (ReplicationControlManager.alterPartition): the change is made although the answer is an
    error."""
    story = reassign(0b110)
    assert (newest(story.state).missing, story.state.adding, story.state.removing) == (0, 0b100, 0b001)
    story.play("leader-handles-fetch 0 2; controller-applies-alter-partition")
    image = newest(story.state)
    assert (image.leader, image.leader_epoch, image.isr, image.missing) == (1, 1, 0b110, 0b001)
    assert (story.state.adding, story.state.removing) == (0, 0)
    assert not list(story.state.alter_partitions), "nobody heeds the error"
    story.do("leader-appends", leader=0)
    assert (story.state.replica[0].proposed_isr, story.state.replica[0].high_watermark) == (0b111, 0)
    story.play("leader-handles-fetch 0 1; follower-appends 1; broker-applies-metadata 0 newest")
    assert (story.state.replica[0].isr, story.state.replica[0].end) == (0, 0), "the log is deleted"
    assert not story.can("leader-handles-fetch", follower=0)
    assert all(story.holds(item) for item in replication.PROPERTIES if item.kind in ("always", "step"))


def test_the_high_watermark_is_not_tried_again_when_a_request_is_refused(kip_903: dict[str, int]) -> None:
    """Partition.handleAlterPartitionError only resets the state."""
    story = Story(**kip_903)
    story.play(
        "leader-handles-fetch 0 1; leader-appends 0; controller-fences-broker 1; "
        "controller-finds-replica-ineligible; leader-learns-change-refused"
    )
    leader = story.state.replica[0]
    assert (leader.isr, leader.proposed_isr, leader.end, leader.high_watermark) == (0b01, 0, 1, 0)


@pytest.mark.parametrize("leaves", ["controller-fences-broker 0", "broker-crashes 0 0; broker-registers broker=0"])
def test_the_last_member_stays_in_the_isr_when_it_is_fenced_or_registers_and_leads_again_once_it_is_unfenced(
    leaves: str, kip_903: dict[str, int]
) -> None:
    """ReplicationControlManager.handleBrokerFenced without ELR; a registration is no better than a fence (B19)."""
    story = Story(**kip_903).play(leaves)
    assert (newest(story.state).isr, newest(story.state).leader, newest(story.state).leader_epoch) == (0b01, -1, 1)
    story.do("controller-unfences-broker", broker=0)
    assert (newest(story.state).isr, newest(story.state).leader, newest(story.state).leader_epoch) == (0b01, 0, 2)


def test_a_leader_that_restarts_in_its_epoch_starts_it_again_at_its_log_end() -> None:
    """Partition.makeLeader on a new Partition: an empty follower may not join, although the old high watermark is
    forgotten."""
    sizes = sized("brokers=2 max_records=1 initial_isr=1 crashes=1 fences=0 shrinks=0 max_leader_epoch=1")
    story = Story(**sizes, registration_leaves_isr=0, restart_high_watermark=2)
    story.play("leader-appends 0; broker-crashes 0 1; broker-registers broker=0")
    leader = story.state.replica[0]
    assert (leader.end, leader.high_watermark, leader.epoch_start) == (1, 1, 1), "alone in the ISR it commits at once"
    story.play("controller-unfences-broker 0; leader-handles-fetch 0 1")
    assert not list(story.state.alter_partitions)
    story.play("follower-appends 1; leader-handles-fetch 0 1")
    assert [m.isr for m in story.state.alter_partitions] == [0b11]


def test_a_reassignment_ends_once_all_brokers_that_keep_a_replica_are_in_the_isr() -> None:
    """PartitionReassignmentReplicas.maybeCompleteReassignment, since KAFKA-15665."""
    story = reassign(0b110, initial_isr=1)
    story.play("leader-handles-fetch 0 2; controller-applies-alter-partition")
    assert (newest(story.state).isr, story.state.adding, story.state.removing) == (0b101, 0b100, 0b001)
    story.play("leader-learns-change-applied; leader-handles-fetch 0 1; controller-applies-alter-partition")
    image = newest(story.state)
    assert (image.isr, image.leader, image.missing, story.state.adding) == (0b110, 1, 0b001, 0)


@pytest.mark.parametrize("completion", [Completion.ADDED, Completion.ADDED_UNLESS_FEWER])
def test_since_4_3_and_before_3_8_a_reassignment_waits_for_the_added_replicas_only(completion: Completion) -> None:
    """KAFKA-19975; and 3.7.2, before KAFKA-15665."""
    story = reassign(0b110, initial_isr=1, completion=completion)
    story.play("leader-handles-fetch 0 2; controller-applies-alter-partition")
    image = newest(story.state)
    assert (image.isr, image.leader, image.missing, story.state.adding) == (0b100, 2, 0b001, 0)


@pytest.mark.parametrize(("completion", "ends"), [(0, False), (1, True), (2, False)])
def test_fewer_replicas_wait_for_each_other_but_for_the_rule_before_3_8(completion: int, *, ends: bool) -> None:
    """`adding.size() < removing.size()`: 4.3.1 waits for all targets then, 3.7.2 has nothing to wait for."""
    sizes = {**MOVES, "spare": 0, "reassignments": 1, "initial_isr": 1, "completion": completion}
    story = Story(**sizes).do("operator-reassigns-replicas", target=0b011)
    assert (newest(story.state).missing, story.state.removing) == ((0b100, 0) if ends else (0, 0b100))


def test_a_reassignment_that_is_replaced_keeps_the_lists_that_the_new_one_leaves_empty() -> None:
    """ReplicationControlManager.changePartitionReassignment sets the lists of replicas to add and to remove only if
    they are not empty."""
    story = Story(**MOVES, reassignments=2).do("operator-reassigns-replicas", target=0b110)
    assert not story.can("operator-reassigns-replicas", target=0b111), "broker 0 will still be removed"
    story.do("operator-reassigns-replicas", target=0b011)
    assert (newest(story.state).missing, story.state.adding, story.state.removing) == (0b100, 0, 0), "back, at once"


def test_since_4_3_a_reassignment_that_is_replaced_by_what_was_there_never_ends() -> None:
    """The broker that was added is in both lists, so it is never in the ISR that is looked at."""
    story = Story(**MOVES, reassignments=2, cancels=1, completion=2)
    story.play("operator-reassigns-replicas 0b110; operator-reassigns-replicas 0b011")
    assert (newest(story.state).missing, story.state.adding, story.state.removing) == (0, 0b100, 0b100)
    story.play("broker-applies-metadata 0 newest; broker-applies-metadata 2 newest; leader-handles-fetch 0 2")
    story.do("controller-applies-alter-partition")
    assert (newest(story.state).isr, story.state.adding) == (0b111, 0b100)
    story.do("operator-cancels-reassignment")
    assert (newest(story.state).missing, newest(story.state).isr, story.state.removing) == (0b100, 0b011, 0)


def test_since_4_3_such_a_reassignment_does_not_end_with_fewer_replicas_either() -> None:
    """`newTargetIsr.containsAll(adding)` comes first, whether or not replicas get fewer; seen on the classes of 4.3.1
    and 4.4.0."""
    for completion, missing in ((Completion.ADDED_UNLESS_FEWER, 0), (Completion.ALL_TARGETS, 0b101)):
        story = Story(**MOVES, reassignments=2, completion=completion).do("operator-reassigns-replicas", target=0b100)
        story.do("operator-reassigns-replicas", target=0b010)
        assert newest(story.state).missing == missing


def test_a_broker_that_misses_its_removal_keeps_its_log() -> None:
    """TopicDelta.localChanges compares the images before and after, so it finds no change of replicas between them."""
    story = reassign(0b011 | 0b100, reassignments=3)
    story.play("leader-handles-fetch 0 2; controller-applies-alter-partition; leader-learns-change-applied")
    catch_up(story, follower=2)
    story.play("operator-reassigns-replicas 0b11; operator-reassigns-replicas 0b111; broker-applies-metadata 2 newest")
    assert story.state.replica[2].end == 1


def test_a_broker_that_is_down_while_it_is_removed_finds_a_stray_log() -> None:
    """LogManager.loadLogs: a log without a replica in the first image is put aside."""
    story = Story(**{**MOVES, "reassignments": 1, "crashes": 1, "spare": 0, "initial_isr": 3, "loss": 0})
    story.play("leader-handles-fetch 0 1; leader-handles-fetch 0 2")
    catch_up(story, follower=2)
    story.play("broker-crashes 2 1; operator-reassigns-replicas 0b11")
    assert (newest(story.state).missing, story.state.replica[2].end) == (0b100, 1)
    story.do("broker-registers", broker=2)
    assert (story.state.replica[2].life, story.state.replica[2].end) == (Life.RUNNING, 0)


def test_a_copy_of_an_answered_request_does_not_hold_up_the_next_one() -> None:
    """AlterPartitionManager waits for one answer, whichever copy it belongs to; the other copy may still be applied
    (HYP-8)."""
    sizes = sized("brokers=2 max_records=1 initial_isr=1 crashes=0 fences=1 shrinks=0 max_leader_epoch=1")
    story = Story(**sizes, resends=1, alter_partitions=3)
    story.play(
        "leader-handles-fetch 0 1; leader-resends-request; controller-fences-broker 1; "
        "controller-finds-replica-ineligible; leader-learns-change-refused"
    )
    (copy,) = story.state.alter_partitions
    assert copy.status == Status.STRAY
    story.play(
        "controller-unfences-broker 1; broker-applies-metadata 0 newest; leader-appends 0; leader-handles-fetch 0 1; "
        "follower-appends 1; leader-handles-fetch 0 1"
    )
    assert sorted(m.status for m in story.state.alter_partitions) == [Status.SENT, Status.STRAY]
