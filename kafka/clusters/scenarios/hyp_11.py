"""HYP-11: min.insync.replicas is raised, and a leader that learns of it late acknowledges alone."""

from fencepost.kafka.clusters.cluster import CONTROLLER
from fencepost.kafka.clusters.scenario import Cause, Scenario
from fencepost.kafka.clusters.stage import Stage, fetches, metadata

BROKERS = (1, 2)


def play(stage: Stage) -> None:
    """Broker 2 stays in the ELR by the new min ISR, while leader 1 acknowledges by the old one."""
    stage.create(replicas=[1, 2], min_isr=1)
    stage.send("first")
    stage.must_acknowledge("first")

    stage.tell("Broker 2 becomes slow: its fetches are held. It stays in the ISR for replica.lag.time.max.ms.")
    stage.hold(fetches(2, of=1))
    before = stage.size(1)
    stage.send("LOST")
    stage.wait_appended(1, before)
    stage.note("broker 1 has LOST, broker 2 has not; it cannot be acknowledged yet")

    if not stage.control:
        stage.tell("Metadata gets to broker 1 late: its fetches of it are held, its heartbeats are not.")
        stage.hold(metadata(1))
    stage.configure(min_insync_replicas="2")
    if stage.control:
        stage.pause(1)
    shutdown = stage.cluster.log(CONTROLLER)
    stage.stop(2)
    stage.wait_log(CONTROLLER, shutdown, "modifying the registration for broker 2")
    if not stage.control:
        stage.tell("Broker 1 gets the metadata: a smaller ISR and a higher min ISR, applied one after the other.")
        stage.release(metadata(1))
    stage.acknowledged("LOST", within=10)
    stage.wait_stopped(2)
    stage.wait(isr=[1], elr=[2])

    stage.tell("Broker 2 comes back, still slow, and broker 1 is shut down.")
    stage.start(2)
    stage.pause(2)
    stage.stop(1)
    stage.wait(leader=2)
    stage.note("broker 2 was elected from the ELR: a clean election")
    stage.wait_stopped(1)
    stage.finish(isr=BROKERS)


SCENARIOS = (
    Scenario(
        name="hyp-11",
        title="min.insync.replicas is raised while a follower leaves; the leader acknowledges by the old value",
        play=play,
        brokers=BROKERS,
        control="metadata gets to broker 1 without delay",
        causes=(Cause("hyp-11", since=(4, 1)),),
        since=(4, 1),
    ),
)
