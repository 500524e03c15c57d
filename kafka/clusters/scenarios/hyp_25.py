"""HYP-25: a topic that is deleted without an ISR stays in the controller's index of directories.

ReplicationControlManager.replay(RemoveTopicRecord) removes a partition from the index once for each member of its ISR:
not at all if it is empty. If the disk fails later, each heartbeat that reports it throws.
"""

from __future__ import annotations

from fencepost.kafka.clusters.cluster import CONTROLLER
from fencepost.kafka.clusters.scenario import Cause, Scenario
from fencepost.kafka.clusters.stage import Stage

MOVES_SECONDS = 20
"""Seconds that the leadership may stay on a broker whose disk has failed: without the defect it moves at once."""


def play(stage: Stage) -> None:
    """A topic is deleted while all its replicas are down; later the disk of one of them fails."""
    stage.create(replicas=[1, 2], min_isr=2)
    stage.tell("Both brokers that have the topic stop.")
    stage.stop(2)
    stage.wait_stopped(2)
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
    stage.send("new")
    stage.must_acknowledge("new")
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


SCENARIOS = (
    Scenario(
        name="hyp-25",
        title="a topic is deleted while its replicas are down, and later a disk fails that had it",
        play=play,
        brokers=(1, 2, 3),
        control="the topic is deleted after its replicas are back",
        delays=False,
        disks=(1,),
        elr=True,
        causes=(Cause("hyp-25"),),
        harm="leaderless",
    ),
)
