"""Failed log directories that the controller overlooks: HYP-18, HYP-24 and HYP-25.

HYP-18: a request in flight adds a replica whose directory has failed to the ISR.
ReplicationControlManager.ineligibleReplicasForIsr checks registration, fence, shutdown and broker epoch of a new
member, but no directory.

HYP-24: a broker that is unfenced by the heartbeat which reports its failed disk is elected, and leads without a log.
ReplicationControlManager.processBrokerHeartbeat elects an unfenced broker before it checks the directories in the same
heartbeat; handleDirectoriesOffline then judges the partition as it was before the election.

HYP-25: a topic that is deleted without an ISR stays in the controller's index of directories.
ReplicationControlManager.replay(RemoveTopicRecord) removes a partition from the index once for each member of its ISR:
not at all if it is empty. If the disk fails later, each heartbeat that reports it throws.
"""

from dataclasses import replace

from fencepost.kafka.clusters.cluster import CONTROLLER
from fencepost.kafka.clusters.proxy import HEARTBEAT, Flow
from fencepost.kafka.clusters.scenario import Cause, Scenario
from fencepost.kafka.clusters.stage import OLD, Stage, alterations

BACK_SECONDS = 15
"""Seconds within which a complete broker should lead after its return: without the defect it takes less than two."""
AWAY_SECONDS = 8
"""An unanswered heartbeat is sent again after 4.5 s: by then it reports the disk."""
MOVES_SECONDS = 20
"""Seconds that the leadership may stay on a broker whose disk has failed: without the defect it moves at once."""


def late_request(stage: Stage) -> None:
    """Broker 1 asks to add broker 2 to the ISR again; the disk of broker 2 fails before the request arrives."""
    stage.create(replicas=[1, 2], min_isr=2)
    stage.configure(unclean_leader_election_enable="false")
    stage.write(*OLD)
    stage.tell("Broker 2 is restarted. Broker 1 asks to add it to the ISR again; the request is late.")
    stage.shut_down(2)
    stage.wait(leader=1, isr=[1])
    request = alterations(1)
    stage.hold_next(request)
    stage.start(2)
    stage.wait_held(request)
    if stage.control:
        stage.release(request)
        stage.wait(isr=[1, 2])
    stage.tell("The disk of broker 2 that has the topic fails, and the broker reports it to the controller.")
    log = stage.cluster.log(CONTROLLER)
    stage.fail_disk(2)
    stage.wait_log(CONTROLLER, log, "Directories .* in broker 2 marked offline")
    if not stage.control:
        stage.release(request)
        if stage.reaches(5, isr=[1, 2]):
            stage.note("the replica whose disk has failed is in the ISR")
    leader_is_restarted(stage)
    stage.tell("Broker 2 gets another disk.")
    stage.shut_down(2)
    if not stage.reaches(5, leader=1):
        stage.note("broker 1 is not elected: without eligible leader replicas the ISR keeps its last member")
    stage.replace_disk(2)
    stage.start(2)
    if not stage.reaches(10, isr=[1, 2]):
        stage.tell("There is no leader. The controller checks again when a broker comes back; broker 3 has no replica.")
        stage.stop(3)
        stage.start(3)
    stage.finish(isr=[1, 2])
    stage.show_disks()


def leader_is_restarted(stage: Stage) -> None:
    """Restart broker 1 and observe whether it leads again."""
    stage.tell("Broker 1, which leads, is restarted. It has all acknowledged records on its disk.")
    stage.shut_down(1)
    stage.wait(leader=-1)
    stage.start(1)
    stage.leaderless = not stage.reaches(BACK_SECONDS, leader=1)
    if stage.leaderless:
        stage.note(f"broker 1 is back, and the partition has had no leader for {BACK_SECONDS} s")


def late_report(stage: Stage) -> None:
    """The leader's disk fails while it is cut off from the controller, and no other replica is there."""
    stage.create(replicas=[1, 2], min_isr=2)
    stage.write(*OLD)
    stage.tell("Broker 2 is down for maintenance.")
    stage.shut_down(2)
    stage.wait(leader=1, isr=[1])
    heartbeats = Flow(CONTROLLER, "1", HEARTBEAT)
    if not stage.control:
        stage.tell("Broker 1 is cut off from the controller, and its session ends.")
        stage.hold(heartbeats)
        stage.wait(leader=-1)
    log, broker = stage.cluster.log(CONTROLLER), stage.cluster.log(1)
    stage.fail_disk(1)
    stage.wait_log(1, broker, "Stopping serving logs in dir")
    if not stage.control:
        stage.pause(AWAY_SECONDS)
        stage.tell("Broker 1 reaches the controller again.")
        stage.release(heartbeats)
    stage.wait_log(CONTROLLER, log, "Directories .* in broker 1 marked offline")
    stage.tell("Broker 2, which has all records, comes back.")
    stage.start(2)
    stage.leaderless = not stage.reaches(BACK_SECONDS, leader=2)
    if stage.leaderless:
        stage.note(f"broker 2 is back, and has not been elected for {BACK_SECONDS} s: broker 1 leads without a log")
    stage.tell("Broker 1 is restarted with another disk.")
    stage.shut_down(1)
    stage.replace_disk(1)
    stage.start(1)
    stage.finish(isr=[1, 2])


def deleted_without_isr(stage: Stage) -> None:
    """A topic is deleted while all its replicas are down; later the disk of one of them fails."""
    stage.create(replicas=[1, 2], min_isr=2)
    stage.tell("Both brokers that have the topic stop.")
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
        stage.note(f"broker 2 has not been elected for {MOVES_SECONDS} s: broker 1 leads on the disk that is gone")
        stage.show_log(CONTROLLER, log, "Encountered quorum controller fault", 2)
        stage.show_log(CONTROLLER, log, "existed in isrMembers, but not in the topics map", 1)
        stage.note(f"the controller has become active again {len(log.lines('Becoming the active controller'))} times")
    stage.tell("Broker 1 is killed, and gets another disk.")
    stage.kill(1)
    stage.wait_stopped(1)
    stage.wait(leader=2)
    stage.replace_disk(1)
    stage.finish(isr=[1, 2])


HYP_18 = Scenario(name="hyp-18", play=late_request, brokers=(1, 2, 3), disks=(2,), elr=True, causes=(Cause("hyp-18"),),
                  harm="leaderless",
                  title="the disk of a replica fails while a request to take it into the ISR is under way",
                  control="the request is not late: the replica is in the ISR when its disk fails")  # fmt: skip
SCENARIOS = (
    HYP_18,
    replace(HYP_18, name="hyp-18-without-elr", elr=False, causes=(Cause("hyp-18", since=(3, 9)),), since=(3, 9),
            harm="lost",
            title="the same without eligible leader replicas, and the disk is replaced by an empty one"),
    replace(HYP_18, name="hyp-24", play=late_report, disks=(1,), causes=(Cause("hyp-24"),),
            title="the disk of a leader fails while it is cut off the controller",
            control="the leader is not cut off: it reports its disk in its session"),
    replace(HYP_18, name="hyp-25", play=deleted_without_isr, delays=False, disks=(1,), causes=(Cause("hyp-25"),),
            title="a topic is deleted while its replicas are down, and later a disk fails that had it",
            control="the topic is deleted after its replicas are back"),
)  # fmt: skip
