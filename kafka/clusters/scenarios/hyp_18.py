"""HYP-18: a request in flight adds a replica whose directory has failed to the ISR.

ReplicationControlManager.ineligibleReplicasForIsr checks registration, fence, shutdown and broker epoch of a new
member, but no directory.
"""

from fencepost.kafka.clusters.cluster import CONTROLLER
from fencepost.kafka.clusters.scenario import Cause, Scenario
from fencepost.kafka.clusters.stage import Stage, alterations

RECORDS = 100
BACK_SECONDS = 15
"""Seconds within which a complete broker should lead after its return: without the defect it takes less than two."""


def play(stage: Stage) -> None:
    """Broker 1 asks to add broker 2 to the ISR again; the disk of broker 2 fails before the request arrives."""
    keys = tuple(f"old-{number}" for number in range(RECORDS))
    stage.create(replicas=[1, 2], min_isr=2)
    stage.configure(unclean_leader_election_enable="false")
    stage.send(*keys)
    stage.must_acknowledge(*keys)
    stage.tell("Broker 2 is restarted. Broker 1 asks to add it to the ISR again; the request is late.")
    stage.stop(2)
    stage.wait_stopped(2)
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
    stage.stop(2)
    stage.wait_stopped(2)
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
    stage.stop(1)
    stage.wait_stopped(1)
    stage.wait(leader=-1)
    stage.start(1)
    stage.leaderless = not stage.reaches(BACK_SECONDS, leader=1)
    if stage.leaderless:
        stage.note(f"broker 1 is back, and the partition has had no leader for {BACK_SECONDS} s")


SCENARIOS = (
    Scenario(
        name="hyp-18",
        title="the disk of a replica fails while a request to take it into the ISR is under way",
        play=play,
        brokers=(1, 2, 3),
        control="the request is not late: the replica is in the ISR when its disk fails",
        disks=(2,),
        elr=True,
        causes=(Cause("hyp-18"),),
        harm="leaderless",
    ),
    Scenario(
        name="hyp-18-without-elr",
        title="the same without eligible leader replicas, and the disk is replaced by an empty one",
        play=play,
        brokers=(1, 2, 3),
        control="the request is not late: the replica is in the ISR when its disk fails",
        disks=(2,),
        elr=False,
        causes=(Cause("hyp-18", since=(3, 9)),),
        since=(3, 9),
    ),
)
