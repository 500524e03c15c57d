"""HYP-1: a leader that is elected again keeps its knowledge of its followers."""

from fencepost.kafka.clusters.cluster import CONTROLLER
from fencepost.kafka.clusters.scenario import Cause, Scenario
from fencepost.kafka.clusters.stage import Stage, fetches, metadata

BROKERS = (0, 1, 2)


def play_with_a_crash(stage: Stage) -> None:
    """Leader 1 is killed right after it has acknowledged."""
    elected_again(stage)
    stage.acknowledged("LOST", within=10)
    stage.kill(1)
    stage.wait(leader=2)
    stage.finish(isr=BROKERS)


def play_without_a_crash(stage: Stage) -> None:
    """Leader 1 is shut down cleanly; broker 2 is slow, as otherwise it would first copy the record again."""
    elected_again(stage, slow_at_the_end=True)
    stage.acknowledged("LOST", within=10)
    shutdown, following = stage.cluster.log(CONTROLLER), stage.cluster.log(2)
    stage.stop(1)
    stage.wait_log(CONTROLLER, shutdown, r"enterControlledShutdown\[1\]: changing")
    stage.wait_log(2, following, "starts at leader epoch 3")
    stage.finish(isr=BROKERS)


def elected_again(stage: Stage, *, slow_at_the_end: bool = False) -> None:
    """Broker 1 leads, loses leadership and regains it, and learns of both at once."""
    stage.create(replicas=[1, 0, 2], min_isr=2)
    stage.reassign([0, 1, 2])
    stage.wait(replicas=[0, 1, 2], leader=1)
    stage.send("first")
    stage.must_acknowledge("first")

    stage.tell("Broker 0 becomes slow: its fetches are held. It stays in the ISR for replica.lag.time.max.ms.")
    stage.hold(fetches(0, of=1))
    before = stage.size(1)
    stage.send("LOST")
    stage.wait_appended(1, before)
    stage.wait_copied(2, leader=1)
    stage.note("brokers 1 and 2 have LOST, broker 0 has not; it cannot be acknowledged yet")

    if not stage.control:
        stage.tell("Metadata gets to broker 1 late: its fetches of it are held, its heartbeats are not.")
        stage.hold(metadata(1))

    following = stage.cluster.log(2)
    stage.elect()
    stage.wait_log(2, following, r"Truncating to offset 1")
    stage.note("broker 2 follows the new leader 0 and has cut LOST off")
    if slow_at_the_end:
        stage.cluster.proxy.hold(fetches(2, of=1))

    shutdown = stage.cluster.log(CONTROLLER)
    stage.stop(0)
    stage.wait_log(CONTROLLER, shutdown, r"enterControlledShutdown\[0\]: changing")
    stage.wait_log(2, following, "Follower t-0 starts at leader epoch 2")
    if not stage.control:
        stage.tell("Broker 1 gets the metadata: it was followed by 0 and leads again, and applies both as one change.")
        stage.release(metadata(1))


SCENARIOS = (
    Scenario(
        name="hyp-1",
        title="a leader that is elected again acknowledges a record that no follower has, and crashes",
        play=play_with_a_crash,
        brokers=BROKERS,
        control="metadata gets to broker 1 without delay",
        causes=(Cause("hyp-1"),),
    ),
    Scenario(
        name="hyp-1-no-crash",
        title="the same without any crash: two controlled shutdowns",
        play=play_without_a_crash,
        brokers=BROKERS,
        control="metadata gets to broker 1 without delay",
        causes=(Cause("hyp-1"),),
    ),
)
