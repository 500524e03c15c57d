"""Failed log directories that the controller ignores (HYP-18, HYP-24 and HYP-25).

HYP-18: a delayed request adds a replica to the ISR although its directory has failed in the meantime.
ReplicationControlManager.ineligibleReplicasForIsr checks a new ISR member's registration, fencing, shutdown and broker
epoch, but not its directory.

HYP-24: the heartbeat that reports a failed disk also unfences the broker, which is elected without having its log.
ReplicationControlManager.processBrokerHeartbeat elects an unfenced broker before it processes the failed directories in
the same heartbeat; handleDirectoriesOffline then sees the partition as it was before the election.

HYP-25: if a topic is deleted while its ISR is empty, it stays in the controller's index of directories.
ReplicationControlManager.replay(RemoveTopicRecord) removes a partition from the index only for its ISR members. If the
disk fails later, each heartbeat that reports the failure causes an exception.
"""

from dataclasses import replace

from fencepost.kafka.clusters.cluster import CONTROLLER
from fencepost.kafka.clusters.proxy import HEARTBEAT, Flow
from fencepost.kafka.clusters.scenario import Cause, Scenario
from fencepost.kafka.clusters.stage import OLD, Stage, alterations

BACK_SECONDS = 15
"""Seconds within which a complete replica must be elected after its broker restarts, normally within two."""
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
        stage.tell(
            "There is no leader. Broker 3, which has no replica, restarts, so that the controller tries to elect a "
            "leader."
        )
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


HYP_18 = Scenario(name="hyp-18", play=late_request, brokers=(1, 2, 3), disks=(2,), elr=True, causes=(Cause("hyp-18"),),
                  harm="leaderless",
                  title="a replica's disk fails while a request to add it to the ISR is delayed",
                  control="the request is not delayed: the replica is in the ISR when its disk fails")  # fmt: skip
SCENARIOS = (
    HYP_18,
    replace(HYP_18, name="hyp-18-without-elr", elr=False, causes=(Cause("hyp-18", since=(3, 9)),), since=(3, 9),
            harm="lost",
            title="as hyp-18, without eligible leader replicas, and with a new, empty disk"),
    replace(HYP_18, name="hyp-24", play=late_report, disks=(1,), causes=(Cause("hyp-24"),),
            title="a leader's disk fails while it cannot reach the controller",
            control="the leader can reach the controller: it reports the failed disk before its session expires"),
    replace(HYP_18, name="hyp-25", play=deleted_without_isr, delays=False, disks=(1,), causes=(Cause("hyp-25"),),
            title="a topic is deleted while its replicas are down, and later a disk that contained it fails",
            control="the topic is deleted after its replicas have restarted"),
)  # fmt: skip
