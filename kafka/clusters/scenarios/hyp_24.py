"""HYP-24: a broker that is unfenced by the heartbeat which reports its failed disk is elected, and leads without a log.

ReplicationControlManager.processBrokerHeartbeat elects an unfenced broker before it checks the directories in the same
heartbeat; handleDirectoriesOffline then judges the partition as it was before the election.
"""

from __future__ import annotations

from fencepost.kafka.clusters.cluster import CONTROLLER
from fencepost.kafka.clusters.proxy import HEARTBEAT, Flow
from fencepost.kafka.clusters.scenario import Cause, Scenario
from fencepost.kafka.clusters.scenarios.hyp_18 import BACK_SECONDS
from fencepost.kafka.clusters.stage import Stage

RECORDS = 100
AWAY_SECONDS = 8
"""An unanswered heartbeat is sent again after 4.5 s: by then it reports the disk."""


def play(stage: Stage) -> None:
    """The leader's disk fails while it is cut off from the controller, and no other replica is there."""
    keys = tuple(f"old-{number}" for number in range(RECORDS))
    stage.create(replicas=[1, 2], min_isr=2)
    stage.send(*keys)
    stage.must_acknowledge(*keys)
    stage.tell("Broker 2 is down for maintenance.")
    stage.stop(2)
    stage.wait_stopped(2)
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
    stage.stop(1)
    stage.wait_stopped(1)
    stage.replace_disk(1)
    stage.start(1)
    stage.finish(isr=[1, 2])


SCENARIOS = (
    Scenario(
        name="hyp-24",
        title="the disk of a leader fails while it is cut off the controller",
        play=play,
        brokers=(1, 2, 3),
        control="the leader is not cut off: it reports its disk in its session",
        disks=(1,),
        elr=True,
        causes=(Cause("hyp-24"),),
        harm="leaderless",
    ),
)
