"""Logs that are recovered after a crash, on a disk to which nothing can be written (HYP-36).

HYP-36: LogLoader.recoverLog erases a segment if its recovery throws an IOException, and deletes all later segments.
Recovery writes a file (the snapshot of the producers at the end of the segment); this fails if the disk is full. A
controller recovers its whole metadata log whenever it starts (KafkaRaftLog.createLog).

A directory with the name of that file stands for the full disk: takeSnapshot throws an IOException either way.
"""

from dataclasses import replace

from fencepost.kafka.clusters.cluster import CONTROLLER
from fencepost.kafka.clusters.scenario import Cause, Scenario
from fencepost.kafka.clusters.stage import OLD, Stage

BROKERS = (1, 2, 3)
STARTS_SECONDS = 45
KNOWN_SECONDS = 15
"""Seconds after the start of all nodes within which brokers must know the topic; normally they know it immediately."""
METADATA_LOG = "__cluster_metadata-0"
SAID = "Found invalid offset during recovery|Corruption found|appears to be empty|Is a directory"


def controller_is_killed(stage: Stage) -> None:
    """The controller is killed, and restarted while it cannot write to its disk. Later, all nodes are restarted."""
    stage.create(replicas=BROKERS, min_isr=2)
    stage.write(*OLD)
    stage.kill(CONTROLLER)
    if restarts_on_full_disk(stage, CONTROLLER, METADATA_LOG):
        stage.tell("All nodes are restarted.")
        for node in (*BROKERS, CONTROLLER):
            stage.shut_down(node)
        logs = {broker: stage.cluster.log(broker) for broker in BROKERS}
        stage.start(CONTROLLER, *BROKERS)
        for broker, log in logs.items():
            stage.show_log(broker, log, "[Ss]tray", 1)
    else:
        stage.start(CONTROLLER)
    if stage.exists(KNOWN_SECONDS):
        stage.finish(isr=BROKERS)


def broker_is_killed(stage: Stage) -> None:
    """A broker is killed, and restarted while it cannot write to its disk. Most of its records had been flushed."""
    stage.create(replicas=[1], min_isr=1)
    stage.write(*OLD)
    stage.tell("Broker 1 is restarted cleanly, which flushes its logs.")
    stage.shut_down(1)
    points = stage.cluster.checkpoint(1, "recovery-point-offset-checkpoint")
    stage.note(f"recovery-point-offset-checkpoint of broker 1: {'; '.join(points)}")
    stage.start(1)
    stage.wait(leader=1, isr=[1])
    stage.write("new")
    stage.show_disks()
    stage.kill(1)
    if not restarts_on_full_disk(stage, 1, f"{stage.client.topic}-0"):
        stage.start(1)
    stage.finish(isr=[1])
    stage.show_disks()


def restarts_on_full_disk(stage: Stage, node: int, log: str) -> bool:
    """Start a killed node while the recovery of one of its logs cannot write; return whether the node has started."""
    stage.wait_stopped(node)
    if stage.control:
        return stage.tries_to_start(node, STARTS_SECONDS)
    obstacle = stage.cluster.obstruct(node, log)
    stage.tell(f"A directory named {obstacle.name} in {log} stands for a full disk: recovery cannot write this file.")
    output = stage.cluster.log(node)
    started = stage.tries_to_start(node, STARTS_SECONDS)
    stage.show_log(node, output, SAID, 4)
    stage.tell("Recovery can write again: the directory is removed.")
    obstacle.rmdir()
    return started


HYP_36 = Scenario(name="hyp-36", play=controller_is_killed, brokers=BROKERS, delays=False,
                  causes=(Cause("hyp-36"),), since=(3, 9),
                  title="the controller is killed, and restarted while its disk is full",
                  control="the disk is not full")  # fmt: skip
SCENARIOS = (
    HYP_36,
    replace(HYP_36, name="hyp-36-data", play=broker_is_killed, brokers=(1, 2),
            title="a broker is killed, and restarted while its disk is full"),
)  # fmt: skip
