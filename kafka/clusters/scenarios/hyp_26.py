"""HYP-26: a log of a new topic takes over the start of a deleted topic's log.

A broker that starts renames the log of a topic that was deleted while it was down (LogManager.loadLog), and leaves its
start in log-start-offset-checkpoint, by name and partition, for up to a minute. If the broker dies in that minute, the
new log of that name begins there.
"""

from __future__ import annotations

from fencepost.kafka.clusters.scenario import Cause, Scenario
from fencepost.kafka.clusters.stage import Stage

RECORDS = 100


def play(stage: Stage) -> None:
    """A topic whose records were deleted is itself deleted and recreated while broker 2 is down."""
    old, new = (tuple(f"{name}-{number}" for number in range(RECORDS)) for name in ("old", "new"))
    stage.create(replicas=[1, 2], min_isr=2)
    stage.send(*old)
    stage.must_acknowledge(*old)
    if not stage.control:
        stage.delete_records()
        stage.pause(2)
    stage.tell("Broker 2 is down for maintenance. The topic is deleted, and created again.")
    stage.stop(2)
    stage.wait_stopped(2)
    stage.delete()
    stage.pause(2)
    stage.create(replicas=[1, 2], min_isr=2, isr=[1])
    stage.start(2)
    stage.wait(isr=[1, 2])
    stage.send(*new)
    stage.must_acknowledge(*new)
    stage.tell("Within a minute of its start broker 2 is killed. This loses no record.")
    stage.kill(2)
    stage.wait_stopped(2)
    stage.wait(isr=[1])
    stage.start(2)
    stage.wait(isr=[1, 2])
    stage.tell("Broker 1 is restarted: broker 2 is elected from the ISR.")
    stage.stop(1)
    stage.wait_stopped(1)
    stage.wait(leader=2)
    stage.finish(isr=[1, 2])
    stage.show_disks()


SCENARIOS = (
    Scenario(
        name="hyp-26",
        title="a topic is deleted and created again while a broker is down, which is killed soon after its start",
        play=play,
        brokers=(1, 2, 3),
        control="no records of the old topic were deleted",
        delays=False,
        causes=(Cause("hyp-26", since=(3, 9)),),
        since=(3, 9),
    ),
)
