"""HYP-21: a broker that is restarted gives a topic the settings of a deleted topic of its name.

ConfigurationsDelta.replay(RemoveTopicRecord) deletes the settings in the previous image, but not those in the same
delta. A starting broker reads everything after its last snapshot as one delta.
"""

from fencepost.kafka.clusters.scenario import Cause, Scenario
from fencepost.kafka.clusters.stage import Stage

BROKERS = (1, 2, 3)
RECORDS = 100
RETENTION_SECONDS = 45
"""A broker first looks for old segments 30 s after its start."""


def retention(stage: Stage) -> None:
    """The topic that was deleted kept its records for a second, and the new one keeps them for a week."""
    keys = tuple(f"old-{number}" for number in range(RECORDS))
    if not stage.control:
        stage.tell("Someone tries out a topic of this name, which keeps its records for a second, and deletes it.")
        stage.create(replicas=BROKERS, min_isr=None, retention_ms="1000")
        stage.delete()
        stage.pause(2)
    stage.tell("The topic is created with the defaults: records are kept for a week.")
    stage.create(replicas=BROKERS, min_isr=2)
    stage.send(*keys)
    stage.must_acknowledge(*keys)
    stage.show_disks()
    stage.tell("The brokers are restarted, one after the other.")
    for broker in BROKERS:
        stage.stop(broker)
        stage.wait_stopped(broker)
        log = stage.cluster.log(broker)
        stage.start(broker)
        stage.wait(isr=list(BROKERS))
        stage.show_log(broker, log, "Updating topic t with")
    stage.pause(RETENTION_SECONDS)
    stage.show_log(broker, log, "retention time 1000ms breach")
    stage.finish(isr=BROKERS)
    stage.show_disks()


SCENARIOS = (
    Scenario(
        name="hyp-21",
        title="a topic is deleted and created again, and the brokers are restarted",
        play=retention,
        brokers=BROKERS,
        control="there was no topic of this name before",
        delays=False,
        causes=(Cause("hyp-21", since=(3, 8)),),
        since=(3, 8),
    ),
)
