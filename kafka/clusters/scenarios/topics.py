"""Topics that are created again under the name of a deleted one: HYP-21 and HYP-26.

HYP-21: a broker that is restarted gives a topic the settings of a deleted topic of its name.
ConfigurationsDelta.replay(RemoveTopicRecord) deletes the settings in the previous image, but not those in the same
delta. A starting broker reads everything after its last snapshot as one delta.

HYP-26: a log of a new topic takes over the start of a deleted topic's log. A broker that starts renames the log of a
topic that was deleted while it was down (LogManager.loadLog), and leaves its start in log-start-offset-checkpoint, by
name and partition, for up to a minute. If the broker dies in that minute, the new log of that name begins there.
"""

from fencepost.kafka.clusters.scenario import Cause, Scenario
from fencepost.kafka.clusters.stage import OLD, Stage

BROKERS = (1, 2, 3)
RETENTION_SECONDS = 45
"""A broker first looks for old segments 30 s after its start."""


def retention(stage: Stage) -> None:
    """The topic that was deleted kept its records for a second, and the new one keeps them for a week."""
    if not stage.control:
        stage.tell("Someone tries out a topic of this name, which keeps its records for a second, and deletes it.")
        stage.create(replicas=BROKERS, min_isr=None, retention_ms="1000")
        stage.delete()
        stage.pause(2)
    stage.tell("The topic is created with the defaults: records are kept for a week.")
    stage.create(replicas=BROKERS, min_isr=2)
    stage.write(*OLD)
    stage.show_disks()
    stage.tell("The brokers are restarted, one after the other.")
    for broker in BROKERS:
        stage.shut_down(broker)
        log = stage.cluster.log(broker)
        stage.start(broker)
        stage.wait(isr=list(BROKERS))
        stage.show_log(broker, log, "Updating topic t with")
    stage.pause(RETENTION_SECONDS)
    stage.show_log(broker, log, "retention time 1000ms breach")
    stage.finish(isr=BROKERS)
    stage.show_disks()


def log_start(stage: Stage) -> None:
    """A topic whose records were deleted is itself deleted and recreated while broker 2 is down."""
    stage.create(replicas=[1, 2], min_isr=2)
    stage.write(*OLD)
    if not stage.control:
        stage.delete_records()
        stage.pause(2)
    stage.tell("Broker 2 is down for maintenance. The topic is deleted, and created again.")
    stage.shut_down(2)
    stage.delete()
    stage.pause(2)
    stage.create(replicas=[1, 2], min_isr=2, isr=[1])
    stage.start(2)
    stage.wait(isr=[1, 2])
    stage.write(*(f"new-{number}" for number in range(len(OLD))))
    stage.tell("Within a minute of its start broker 2 is killed. This loses no record.")
    stage.kill(2)
    stage.wait_stopped(2)
    stage.wait(isr=[1])
    stage.start(2)
    stage.wait(isr=[1, 2])
    stage.tell("Broker 1 is restarted: broker 2 is elected from the ISR.")
    stage.shut_down(1)
    stage.wait(leader=2)
    stage.finish(isr=[1, 2])
    stage.show_disks()


SCENARIOS = (
    Scenario(name="hyp-21", play=retention, brokers=BROKERS, delays=False, causes=(Cause("hyp-21", since=(3, 8)),),
             since=(3, 8),
             title="a topic is deleted and created again, and the brokers are restarted",
             control="there was no topic of this name before"),
    Scenario(name="hyp-26", play=log_start, brokers=BROKERS, delays=False, causes=(Cause("hyp-26", since=(3, 9)),),
             since=(3, 9),
             title="a topic is deleted and created again while a broker is down, which is killed soon after its start",
             control="no records of the old topic were deleted"),
)  # fmt: skip
