"""Disks that fail, are replaced or removed; moves between disks (HYP-16 to 18, 24, 25, 27, 28, 30, 31, 33, 34, 37, 38).

HYP-16: a replica stays eligible although its disk has failed, because its broker shuts down cleanly without that disk.
Before 4.3, assigning another directory also empties the ELR (ReplicationControlManager.handleAssignReplicasToDirs).
Then only the last leader, broker 1, can be elected. In these releases, no record is lost in the scenario of HYP-16, but
records are lost in that of HYP-17, despite the fix for HYP-16.

HYP-17: a former leader that restarts with a new disk is elected with an empty log, although other replicas have all
records. Before 4.3, assigning a directory empties the ELR, because handleAssignReplicasToDirs builds its change without
the ELR flag; then only the last known leader can be elected.

HYP-27: a move's unfinished copy replaces the complete log when the broker restarts, if the metadata already names the
copy's directory (LogManager.recoverAbandonedFutureLogs). Kafka does not compare the ends of the two logs.

HYP-28: a broker creates a log beside a copy whose original is gone. Once the controller has recorded the directory, on
each start the broker fails to rename the copy to the log's folder (LogManager.recoverAbandonedFutureLogs), and exits.

HYP-30: after a disk is taken out, its replicas are created on another disk. If the disk is put back with its logs, the
broker finds two logs of a partition (LogManager.loadLog) and stops, although metadata names one log's directory.

HYP-31: a broker is killed and restarted before its session expires, and cannot read the disk of a partition that it
led. Its first metadata still names it as leader: Partition.makeLeader fails, and applyDelta starts no fetcher.

HYP-18: a delayed request adds a replica to the ISR although its directory has failed in the meantime.
ReplicationControlManager.ineligibleReplicasForIsr checks a new ISR member's registration, fencing, shutdown and broker
epoch, but not its directory.

HYP-24: the heartbeat that reports a failed disk also unfences the broker, which is elected without its log.
ReplicationControlManager.processBrokerHeartbeat elects an unfenced broker before it processes the failed directories in
the same heartbeat; handleDirectoriesOffline then sees the partition as it was before the election.

HYP-25: a topic that is deleted while its ISR is empty stays in the controller's index of directories.
ReplicationControlManager.replay(RemoveTopicRecord) removes a partition from the index only for its ISR members. If the
disk fails later, each heartbeat that reports the failure causes an exception.

HYP-33: while the controller records a failed directory for a replica, it judges the replica by its previous directory,
and may elect it (ReplicationControlManager.handleAssignReplicasToDirs).

HYP-34: a leader's replica moves before it contains a record with the leader's epoch
(maybeReplaceCurrentWithFutureReplica). The leader then cannot answer a fetch with an epoch that is between its last
record's epoch and its own.

HYP-37: the position of a follower's log end refers to a segment of the log that a move has replaced. The leader uses it
as the position of the high watermark (Partition.maybeIncrementLeaderHW), and consumers read to the end of a segment.

HYP-38: a broker with several directories assigns none to a replica that a reassignment has added, until it restarts or
the partition's directories change (TopicDelta.localChanges). The controller does not notice the directory's failure.
"""

from collections.abc import Sequence
from dataclasses import replace

from fencepost.kafka.clusters.cluster import CONTROLLER
from fencepost.kafka.clusters.proxy import ASSIGN, HEARTBEAT, Flow
from fencepost.kafka.clusters.scenario import Cause, Scenario
from fencepost.kafka.clusters.stage import OLD, Stage, alterations, fetches

NOTICES_SECONDS = 30
SESSION_SECONDS = 10
COPIED_SLOWLY = 30_000
"""Record size in bytes, chosen so that a throttled copy stops after a megabyte, before it has all records."""
STARTS_SECONDS = 60
SEGMENT_BYTES, DELETED, RECORD_BYTES = 1 << 20, 60, 15_000
"""Segment size, number of deleted records, and record size in bytes. The log has two segments, and its copy has one."""
REVERTS_SECONDS = 2
"""Seconds within which a broker reverts an assignment, unless the controller's answers are delayed."""


def disk_fails(stage: Stage) -> None:
    """A disk of broker 2 fails and is removed from log.dirs; broker 1 is down when broker 2 restarts."""
    begin(stage)
    stage.tell("A disk of broker 2, the leader, fails. The replica on that disk leaves the ISR.")
    stage.fail_disk(2)
    stage.wait(isr=[1])
    stage.shut_down(2)
    broker_2_comes_back(stage)


def disk_is_taken_out(stage: Stage) -> None:
    """No disk fails, but the operator removes a disk from broker 2, and the broker copies its replicas again."""
    begin(stage)
    stage.tell("The operator removes a disk from broker 2, which copies its replicas again from broker 1.")
    stage.shut_down(2)
    stage.wait(isr=[1])
    stage.fail_disk(2)
    broker_2_comes_back(stage)


def begin(stage: Stage) -> None:
    stage.create(replicas=[2, 1], min_isr=2)
    stage.write(*OLD)
    stage.show_disks()


def broker_2_comes_back(stage: Stage) -> None:
    """Broker 2 starts with other disks. Broker 1, which has all records, restarts later than broker 2."""
    if stage.control:
        stage.replace_disk(2)
    else:
        stage.take_disk_out(2)
    stage.tell("Broker 1 restarts with all acknowledged records on its disk.")
    stage.shut_down(1)
    stage.start(2)
    if not stage.reaches(5, leader=2):
        stage.tell("No leader is elected yet. The controller tries to elect one when a broker restarts.")
        stage.start(1)
        stage.reaches(10, leader=2)
    if stage.reaches(0, leader=2):
        stage.note("broker 2 was elected from the ELR with an empty log: a clean election")
    stage.show_disks()
    stage.finish(isr=[1, 2])
    stage.show_disks()


def only_disk(stage: Stage) -> None:
    """Broker 1 is down for maintenance; the only disk of broker 2, the leader, fails and is replaced."""
    begin_cleanly(stage, [2, 1])
    broker_1_is_down(stage)
    stage.tell("The only disk of broker 2 fails. The broker stops, and no broker can become the leader.")
    stage.fail_disk(2)
    if not stage.cluster.wait_stopped(2, NOTICES_SECONDS):
        stage.kill(2)
    stage.wait_stopped(2)
    stage.wait(leader=-1, isr=[])
    stage.replace_disk(2)
    if stage.control:
        stage.tell("Broker 1, which has all records, starts first and is the leader before broker 2 starts.")
        stage.start(1)
        stage.wait(leader=1)
    come_back(stage, [1, 2])


def cold_start(stage: Stage) -> None:
    """All brokers of the topic shut down cleanly, broker 2 last; at power-on, broker 2's only disk has failed."""
    begin_cleanly(stage, [2, 1, 3])
    stage.tell("All brokers of the topic shut down, one after the other. Broker 4 has no replica and keeps running.")
    for broker in (1, 3, 2):
        stage.shut_down(broker)
    stage.wait(leader=-1)
    stage.pause(SESSION_SECONDS)
    stage.tell("At power-on, the only disk of broker 2 has failed.")
    stage.fail_disk(2)
    stage.replace_disk(2)
    if stage.control:
        stage.tell("Brokers 1 and 3 have all records and start first. One of the two leads before broker 2 starts.")
        stage.start(1, 3)
        stage.wait(leader=3)
    come_back(stage, [1, 2, 3])


def two_disks(stage: Stage) -> None:
    """Broker 1 is down for maintenance; a disk of broker 2, the leader, fails and is removed from log.dirs."""
    begin_cleanly(stage, [2, 1])
    broker_1_is_down(stage)
    if stage.control:
        stage.tell("No disk fails. Broker 2 restarts.")
    else:
        stage.tell("The disk of broker 2 with the topic fails. Broker 2 keeps running, but no broker can lead.")
        stage.fail_disk(2)
        stage.wait(leader=-1, isr=[])
    stage.shut_down(2)
    if not stage.control:
        stage.take_disk_out(2)
    come_back(stage, [1, 2])


def begin_cleanly(stage: Stage, replicas: Sequence[int]) -> None:
    """Create the topic with unclean elections explicitly off, and write records."""
    stage.create(replicas=replicas, min_isr=2)
    stage.configure(unclean_leader_election_enable="false")
    stage.write(*OLD)
    stage.show_disks()


def broker_1_is_down(stage: Stage) -> None:
    """Take broker 1 down for maintenance, so that broker 2 is the last member of the ISR."""
    stage.tell("Broker 1, whose disk has all acknowledged records, is taken down for maintenance.")
    stage.shut_down(1)
    stage.wait(leader=2, isr=[2], elr=[1])


def come_back(stage: Stage, isr: Sequence[int]) -> None:
    """Start broker 2, then the other stopped brokers; show the elected broker and the truncation."""
    controller, follower = stage.cluster.log(CONTROLLER), stage.cluster.log(1)
    stage.start(2)
    if not stage.control and not stage.reaches(6, leader=2):
        stage.tell("No leader is elected yet. The controller tries to elect one when a broker restarts.")
    stage.show_disks()
    stage.finish(isr=isr)
    stage.show_log(CONTROLLER, controller, "Setting new leader for topicId")
    stage.show_log(1, follower, "Truncating partition")
    stage.show_disks()


def move_is_killed(stage: Stage) -> None:
    """Broker 1, the last member of the ISR, is killed while a throttled move takes its replica to another disk."""
    request, answer = Flow(CONTROLLER, "1", ASSIGN), Flow(CONTROLLER, "1", ASSIGN, "answers")
    stage.create(replicas=[1, 2], min_isr=1)
    stage.write(*OLD)
    stage.hold_next(request)
    other = str(stage.cluster.folder / "data-1")
    stage.reassign_by_tool([1, 2], "--execute", "--replica-alter-log-dirs-throttle", "1", folders=[other, "any"])
    stage.wait_held(request)
    stage.tell("The copy has caught up, and broker 1 requests the assignment of the copy's directory.")
    stage.tell("Broker 2 is taken down for maintenance.")
    stage.shut_down(2)
    stage.wait(leader=1, isr=[1])
    stage.write(*(f"new-{number}" for number in range(len(OLD))))
    if not stage.control:
        stage.hold_next(answer)
    stage.release(request)
    if stage.control:
        stage.pause(REVERTS_SECONDS)
    else:
        stage.wait_held(answer)
    stage.tell("The controller has assigned the directory. Broker 1 is killed; its disks are intact.")
    stage.kill(1)
    stage.wait_stopped(1)
    stage.release(answer)
    log = stage.cluster.log(1)
    stage.start(1)
    stage.wait(leader=1)
    stage.show_log(1, log, "recover.* abandoned future log")
    stage.finish(isr=[1, 2])
    stage.show_disks()


def go_on_without_disk(stage: Stage) -> None:
    stage.shut_down(1)
    stage.wait(leader=2, isr=[2])
    stage.take_disk_out(1)
    stage.start(1)
    stage.wait(isr=[1, 2])
    stage.show_disks()
    stage.pause(REVERTS_SECONDS)


def moving_disk_is_taken_out(stage: Stage) -> None:
    """During a throttled move of a replica, the disk that it is moving off is taken out, and the broker restarts."""
    stage.create(replicas=[1, 2], min_isr=1)
    stage.write(*OLD, size=COPIED_SLOWLY)
    if not stage.control:
        other = str(stage.cluster.folder / "data-1")
        stage.reassign_by_tool([1, 2], "--execute", "--replica-alter-log-dirs-throttle", "1", folders=[other, "any"])
    stage.tell("The disk that is being emptied is taken out of broker 1, which copies its replica again from broker 2.")
    go_on_without_disk(stage)
    stage.tell("Broker 1 is restarted.")
    stage.shut_down(1)
    log = stage.cluster.log(1)
    stage.comes_back(1, STARTS_SECONDS)
    stage.show_log(1, log, "recover.* abandoned future log|DirectoryNotEmptyException|Error starting LogManager")
    if stage.out:
        log = stage.cluster.log(1)
        stage.comes_back(1, STARTS_SECONDS)
        stage.show_log(1, log, "Error starting LogManager")


def disk_is_put_back(stage: Stage) -> None:
    """A disk is taken out, its replica is copied to the other disk, and later the disk is put back."""
    stage.create(replicas=[1, 2], min_isr=1)
    stage.write(*OLD)
    stage.tell("A disk that seems to have failed is taken out of broker 1, which copies its replica from broker 2.")
    go_on_without_disk(stage)
    stage.tell("The disk turns out to be intact, and is put back.")
    stage.shut_down(1)
    stage.put_disk_back(1)
    if stage.control:
        stage.cluster.fail_disk(1)
        stage.replace_disk(1)
    log = stage.cluster.log(1)
    back = stage.comes_back(1, STARTS_SECONDS)
    stage.show_log(1, log, "Duplicate log directories|Error starting LogManager|marked stray")
    if back:
        stage.wait(isr=[1, 2])
        stage.show_disks()


def leader_is_killed(stage: Stage) -> None:
    """Broker 1 leads one topic and copies a replica of another; it is killed, and has lost a disk when it restarts."""
    stage.create(replicas=[1, 2], min_isr=1)
    stage.client.topic = "copied"
    stage.create(replicas=[2], min_isr=1)
    stage.write(*OLD)
    copying = fetches(1, of=2)
    stage.hold_next(copying)
    stage.reassign([2, 1])
    stage.wait_held(copying)
    stage.tell("While broker 1 copies the replica to its other disk, it is killed, and restarted by a supervisor.")
    stage.kill(1)
    if not stage.control:
        stage.note("the disk of the topic that broker 1 led can no longer be read")
        stage.cluster.fail_disk(1, stays=True)
    stage.release(copying)
    log = stage.cluster.log(1)
    stage.start(1)
    stage.show_log(1, log, "Error applying topics delta|Log for partition .* is not available|storage error")
    if not stage.reaches(BACK_SECONDS, isr=[1, 2]):
        stage.behind.append(1)
        stage.note(f"broker 1 has not copied the replica after {BACK_SECONDS} s")
        stage.tell("Broker 1 is restarted once more.")
        stage.shut_down(1)
    stage.finish(isr=[1, 2])


def leader_moves_without_records(stage: Stage) -> None:
    """While the previous leader is cut off, the new leader's replica moves to another disk. Nothing is written."""
    stage.create(replicas=[1, 2], min_isr=2)
    stage.write(*OLD)
    stage.tell("Broker 2 becomes the leader. Nothing is written for a while.")
    stage.reassign([2, 1])
    stage.elect()
    stage.wait(leader=2, isr=[1, 2])
    stage.tell("Broker 2 can no longer reach the controller and broker 1, and its session expires.")
    flows = (Flow(CONTROLLER, "2", HEARTBEAT), fetches(2, of=1))
    for flow in flows:
        stage.hold_next(flow)
    stage.wait(leader=1, isr=[1])
    if not stage.control:
        stage.move(1)
    follower = stage.cluster.log(2)
    stage.tell("Broker 2 can reach the other nodes again.")
    stage.release(*flows)
    if not stage.reaches(BACK_SECONDS, isr=[1, 2]):
        stage.behind.append(2)
        stage.note(f"broker 2 has not joined the ISR after {BACK_SECONDS} s")
        stage.show_log(2, follower, "is out of range", 2)
        stage.send("new")
        stage.acknowledged("new", within=5)
        stage.tell("Broker 1 is restarted.")
        stage.shut_down(1)
    stage.finish(isr=[1, 2])


def leader_moves_to_fewer_segments(stage: Stage) -> None:
    """After records were deleted, the leader's replica moves. A follower's fetches are late, and the leader crashes."""
    stage.create(replicas=[1, 2], min_isr=2, segment_bytes=str(SEGMENT_BYTES))
    stage.write(*OLD[:DELETED], size=RECORD_BYTES)
    stage.delete_records()
    stage.write(*OLD[DELETED:], size=RECORD_BYTES)
    stage.tell("Broker 2 has all records. Its next fetches are late.")
    stage.hold(fetches(2, of=1))
    if not stage.control:
        stage.move(1)
    stage.send("new", seconds=5)
    stage.acknowledged("new", within=10)
    stage.consumed = stage.readable("read_committed")
    stage.note(f"a read_committed consumer reads {len(stage.consumed):,} records")
    stage.kill(1)
    stage.wait(leader=2)
    stage.finish(isr=[1, 2])


# -- failed directories that the controller ignores

BACK_SECONDS = 15
"""Seconds within which a complete replica must be elected after its broker restarts (normally two seconds)."""
AWAY_SECONDS = 8
"""Seconds before the broker can reach the controller again. Brokers resend an unanswered heartbeat after 4.5 s."""
MOVES_SECONDS = 20
"""Seconds within which a leader with a failed disk must be replaced; without the bug, it is replaced immediately."""


def late_request(stage: Stage) -> None:
    """Broker 1 requests to add broker 2 to the ISR again; broker 2's disk fails before the request arrives."""
    stage.create(replicas=[1, 2], min_isr=2)
    stage.configure(unclean_leader_election_enable="false")
    stage.write(*OLD)
    stage.tell("Broker 2 restarts. Broker 1 requests to add broker 2 to the ISR again, but the request is delayed.")
    stage.shut_down(2)
    stage.wait(leader=1, isr=[1])
    request = alterations(1)
    stage.hold_next(request)
    stage.start(2)
    stage.wait_held(request)
    if stage.control:
        stage.release(request)
        stage.wait(isr=[1, 2])
    stage.tell("The disk of broker 2 that contains the topic fails, and the broker reports this to the controller.")
    log = stage.cluster.log(CONTROLLER)
    stage.fail_disk(2)
    stage.wait_log(CONTROLLER, log, "Directories .* in broker 2 marked offline")
    if not stage.control:
        stage.release(request)
        if stage.reaches(5, isr=[1, 2]):
            stage.note("the replica with the failed disk is in the ISR")
    stage.tell("Broker 1, the leader, restarts with all acknowledged records on its disk.")
    stage.shut_down(1)
    stage.wait(leader=-1)
    stage.start(1)
    stage.leaderless = not stage.reaches(BACK_SECONDS, leader=1)
    if stage.leaderless:
        stage.note(f"broker 1 is back, but the partition has had no leader for {BACK_SECONDS} s")
    stage.tell("Broker 2 gets a new disk.")
    stage.shut_down(2)
    if not stage.reaches(5, leader=1):
        stage.note("broker 1 is not elected: without eligible leader replicas, the last member stays in the ISR")
    stage.replace_disk(2)
    stage.start(2)
    if not stage.reaches(10, isr=[1, 2]):
        stage.tell("There is no leader. Broker 3, which has no replica, restarts: the controller tries an election.")
        stage.stop(3)
        stage.start(3)
    stage.finish(isr=[1, 2])
    stage.show_disks()


def late_report(stage: Stage) -> None:
    """The leader's disk fails while the leader cannot reach the controller and the other replica's broker is down."""
    stage.create(replicas=[1, 2], min_isr=2)
    stage.write(*OLD)
    stage.tell("Broker 2 is down for maintenance.")
    stage.shut_down(2)
    stage.wait(leader=1, isr=[1])
    heartbeats = Flow(CONTROLLER, "1", HEARTBEAT)
    if not stage.control:
        stage.tell("Broker 1 can no longer reach the controller, and its session expires.")
        stage.hold(heartbeats)
        stage.wait(leader=-1)
    log, broker = stage.cluster.log(CONTROLLER), stage.cluster.log(1)
    stage.fail_disk(1)
    stage.wait_log(1, broker, "Stopping serving logs in dir")
    if not stage.control:
        stage.pause(AWAY_SECONDS)
        stage.tell("Broker 1 can reach the controller again.")
        stage.release(heartbeats)
    stage.wait_log(CONTROLLER, log, "Directories .* in broker 1 marked offline")
    complete_replica_returns(stage)


def moving_disk_fails(stage: Stage) -> None:
    """The disk that a replica is moving off fails while the request to assign the other disk is in flight."""
    stage.create(replicas=[1, 2], min_isr=2)
    stage.write(*OLD)
    request = Flow(CONTROLLER, "1", ASSIGN)
    if not stage.control:
        stage.hold_next(request)
        other = str(stage.cluster.folder / "data-1")
        stage.reassign_by_tool([1, 2], "--execute", folders=[other, "any"])
        stage.wait_held(request)
        stage.note("the copy has caught up, and broker 1 requests the assignment of the copy's directory")
    stage.tell("Broker 2 is taken down for maintenance.")
    stage.shut_down(2)
    stage.wait(leader=1, isr=[1])
    broker = stage.cluster.log(1)
    stage.fail_disk(1)
    stage.wait_log(1, broker, "Stopping serving logs in dir")
    stage.wait(leader=-1, isr=[])
    if not stage.control:
        stage.release(request)
        if stage.reaches(5, leader=1):
            stage.note("broker 1 is elected, although its log was on the failed disk")
        stage.show_log(1, broker, "maybeSendAssignments: sending [1-9]")
    complete_replica_returns(stage)


def added_replica_fails(stage: Stage) -> None:
    """The replication factor is increased. Later, the new replica leads, and its disk fails."""
    stage.create(replicas=[1, 3], min_isr=2)
    stage.write(*OLD)
    stage.reassign([2, 1, 3])
    stage.wait(isr=[1, 2, 3], adding=[])
    if stage.control:
        stage.shut_down(2)
        stage.start(2)
        stage.wait(isr=[1, 2, 3])
        stage.pause(REVERTS_SECONDS)
    stage.elect()
    stage.wait(leader=2)
    log = stage.cluster.log(CONTROLLER)
    stage.fail_disk(2)
    stage.wait_log(CONTROLLER, log, "Directories .* in broker 2 marked offline")
    stage.leaderless = not stage.reaches(MOVES_SECONDS, leader=1)
    if stage.leaderless:
        stage.note(f"broker 1 is not elected after {MOVES_SECONDS} s: broker 2 is the leader without a log")
    stage.send("new")
    stage.acknowledged("new", within=5)
    stage.tell("Broker 2 restarts with a new disk.")
    stage.shut_down(2)
    stage.wait(leader=1)
    stage.replace_disk(2)
    stage.finish(isr=[1, 2, 3])


def complete_replica_returns(stage: Stage) -> None:
    """The broker with all records restarts, but a broker without a log may lead; later, that broker gets a new disk."""
    stage.tell("Broker 2, which has all records, starts again.")
    stage.start(2)
    stage.leaderless = not stage.reaches(BACK_SECONDS, leader=2)
    if stage.leaderless:
        stage.note(f"broker 2 runs but is not elected after {BACK_SECONDS} s: broker 1 is the leader without a log")
    stage.tell("Broker 1 restarts with a new disk.")
    stage.shut_down(1)
    stage.replace_disk(1)
    stage.start(1)
    stage.finish(isr=[1, 2])


def deleted_without_isr(stage: Stage) -> None:
    """A topic is deleted while all its replicas are down; later, one of their disks fails."""
    stage.create(replicas=[1, 2], min_isr=2)
    stage.tell("Both brokers that have a replica of the topic stop.")
    stage.shut_down(2)
    stage.wait(isr=[1])
    stage.kill(1)
    stage.wait(leader=-1, isr=[])
    if stage.control:
        stage.start(1)
        stage.start(2)
        stage.wait(isr=[1, 2])
    stage.delete()
    if not stage.control:
        stage.start(1)
        stage.start(2)
    stage.tell("Another topic is created.")
    stage.create(replicas=[1, 2], min_isr=1)
    stage.write("new")
    log, broker = stage.cluster.log(CONTROLLER), stage.cluster.log(1)
    stage.fail_disk(1)
    stage.wait_log(1, broker, "Stopping serving logs in dir")
    stage.leaderless = not stage.reaches(MOVES_SECONDS, leader=2)
    if stage.leaderless:
        stage.note(f"broker 2 is not elected after {MOVES_SECONDS} s: broker 1 still leads, on the failed disk")
        stage.show_log(CONTROLLER, log, "Encountered quorum controller fault", 2)
        stage.show_log(CONTROLLER, log, "existed in isrMembers, but not in the topics map", 1)
        stage.note(f"the controller has become active again {len(log.lines('Becoming the active controller'))} times")
    stage.tell("Broker 1 is killed and gets a new disk.")
    stage.kill(1)
    stage.wait_stopped(1)
    stage.wait(leader=2)
    stage.replace_disk(1)
    stage.finish(isr=[1, 2])


HYP_16 = Scenario(name="hyp-16", play=disk_fails, brokers=(1, 2, 3), delays=False, disks=(2,),
                  causes=(Cause("hyp-16", since=(4, 3)),), since=(4, 1),
                  title="a disk fails and is removed from log.dirs, and the last member of the ISR restarts",
                  control="the failed disk is replaced with an empty disk, which stays in log.dirs")  # fmt: skip
HYP_17 = Scenario(name="hyp-17", play=only_disk, brokers=(1, 2, 3), delays=False, elr=True,
                  causes=(Cause("hyp-17", repaired_in=(4, 3)),),
                  title="the last leader's only disk is replaced while the replica with all records is down",
                  control="the broker with all records starts first")  # fmt: skip
HYP_18 = Scenario(name="hyp-18", play=late_request, brokers=(1, 2, 3), disks=(2,), elr=True, causes=(Cause("hyp-18"),),
                  harm="leaderless",
                  title="a replica's disk fails while a request to add it to the ISR is delayed",
                  control="the request is not delayed: the replica is in the ISR when its disk fails")  # fmt: skip
SCENARIOS = (
    HYP_16,
    replace(HYP_16, name="hyp-16-no-failure", play=disk_is_taken_out,
            title="a disk is removed from log.dirs, and the last member of the ISR restarts",
            control="the disk is replaced with an empty disk, which stays in log.dirs"),
    HYP_17,
    replace(HYP_17, name="hyp-17-cold-start", play=cold_start, brokers=(1, 2, 3, 4),
            title="all brokers of a topic shut down, and at power-on, the last leader's only disk has failed",
            control="the brokers with all records start first"),
    replace(HYP_17, name="hyp-17-two-disks", play=two_disks, disks=(2,), causes=(*HYP_17.causes, Cause("hyp-16")),
            title="one of the last leader's two disks fails and is removed from log.dirs",
            control="no disk fails"),
    Scenario(name="hyp-27", play=move_is_killed, brokers=(1, 2), disks=(1,), causes=(Cause("hyp-27"),),
             title="a broker is killed while its replica moves to another disk",
             control="the broker reverts the assignment before it is killed"),
    Scenario(name="hyp-28", play=moving_disk_is_taken_out, brokers=(1, 2), delays=False, disks=(1,), harm="out",
             causes=(Cause("hyp-28", since=(3, 9)),), since=(3, 9),
             title="a disk is taken out while a replica is moving off it to another disk",
             control="the replica does not move"),
    Scenario(name="hyp-30", play=disk_is_put_back, brokers=(1, 2), delays=False, disks=(1,), harm="out",
             causes=(Cause("hyp-30", since=(3, 9)),), since=(3, 9),
             title="a disk that was taken out is put back",
             control="the disk is formatted before it is put back"),
    Scenario(name="hyp-31", play=leader_is_killed, brokers=(1, 2), disks=(1,), harm="behind",
             settings=(("broker.session.timeout.ms", "40000"),),
             causes=(Cause("hyp-31", since=(3, 9)),), since=(3, 9),
             title="a leader is killed and restarts at once without a disk, while it copies a replica to another disk",
             control="no disk fails"),
    Scenario(name="hyp-34", play=leader_moves_without_records, brokers=(1, 2), disks=(1,), harm="behind",
             causes=(Cause("hyp-34"),),
             title="a new leader's replica moves to another disk while the previous leader is cut off",
             control="the replica does not move"),
    Scenario(name="hyp-37", play=leader_moves_to_fewer_segments, brokers=(1, 2), disks=(1,), harm="vanished",
             causes=(Cause("hyp-37", since=(3, 9)),), since=(3, 9),
             title="a leader's replica moves to another disk while a follower's fetches are late",
             control="the replica does not move"),
    HYP_18,
    replace(HYP_18, name="hyp-18-without-elr", elr=False, causes=(Cause("hyp-18", since=(3, 9)),), since=(3, 9),
            harm="lost",
            title="like hyp-18, but without eligible leader replicas, and with a new, empty disk"),
    replace(HYP_18, name="hyp-24", play=late_report, disks=(1,), causes=(Cause("hyp-24"),),
            title="a leader's disk fails while it cannot reach the controller",
            control="the leader can reach the controller: it reports the failed disk before its session expires"),
    replace(HYP_18, name="hyp-33", play=moving_disk_fails, brokers=(1, 2), disks=(1,),
            causes=(Cause("hyp-33", since=(4, 3)),), since=(4, 3),
            title="a disk fails while the last member of the ISR moves its replica to another disk",
            control="the replica does not move"),
    replace(HYP_18, name="hyp-25", play=deleted_without_isr, delays=False, disks=(1,), causes=(Cause("hyp-25"),),
            title="a topic is deleted while its replicas are down, and later a disk that contained it fails",
            control="the topic is deleted after its replicas have restarted"),
    replace(HYP_18, name="hyp-38", play=added_replica_fails, delays=False, elr=None,
            causes=(Cause("hyp-38", since=(3, 9)),), since=(3, 9),
            title="the replication factor is increased, and later the disk of the added replica fails",
            control="the broker of the added replica restarts before its disk fails"),
)  # fmt: skip
