"""Topics recreated under the name of a deleted topic (HYP-21 and HYP-26), and deleted records (HYP-29).

HYP-21: a restarted broker applies the settings of a deleted topic to a new topic of the same name.
ConfigurationsDelta.replay(RemoveTopicRecord) deletes settings in the previous image, but not settings in the same
delta. A starting broker reads everything after its last snapshot as one delta.

HYP-26: the log of a new topic gets the start offset of a deleted topic's log. A starting broker renames the log of a
topic that was deleted while the broker was down (LogManager.loadLog), but for a minute, log-start-offset-checkpoint may
still contain its start offset. If the broker then crashes, a new log of that name starts at this offset.

HYP-29: a broker that cannot register loads no logs, but empties its checkpoint of log starts (LogManager.shutdown). At
the next start, each log starts where its first segment starts.
"""

from fencepost.kafka.clusters.cluster import CONTROLLER
from fencepost.kafka.clusters.scenario import Cause, Scenario
from fencepost.kafka.clusters.stage import OLD, Stage

BROKERS = (1, 2, 3)
RETENTION_SECONDS = 45
"""Seconds until expired segments are deleted; brokers check for the first time 30 s after they start."""


def retention(stage: Stage) -> None:
    """The deleted topic kept records for a second; the new topic keeps records for a week."""
    if not stage.control:
        stage.tell("A topic with the same name that keeps records for a second is created and deleted.")
        stage.create(replicas=BROKERS, min_isr=None, retention_ms="1000")
        stage.delete()
        stage.pause(2)
    stage.tell("The topic is created with default settings: records are kept for a week.")
    stage.create(replicas=BROKERS, min_isr=2)
    stage.write(*OLD)
    stage.show_disks()
    stage.tell("The brokers restart, one after the other.")
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
    """A topic with deleted records is deleted and recreated while broker 2 is down."""
    stage.create(replicas=[1, 2], min_isr=2)
    stage.write(*OLD)
    if not stage.control:
        stage.delete_records()
        stage.pause(2)
    stage.tell("Broker 2 is down for maintenance. The topic is deleted and recreated.")
    stage.shut_down(2)
    stage.delete()
    stage.pause(2)
    stage.create(replicas=[1, 2], min_isr=2, isr=[1])
    stage.start(2)
    stage.wait(isr=[1, 2])
    stage.write(*(f"new-{number}" for number in range(len(OLD))))
    stage.tell("Broker 2 is killed less than a minute after its start, without losing any records.")
    stage.kill(2)
    stage.wait_stopped(2)
    stage.wait(isr=[1])
    stage.start(2)
    stage.wait(isr=[1, 2])
    stage.tell("Broker 1 restarts: broker 2 is elected from the ISR.")
    stage.shut_down(1)
    stage.wait(leader=2)
    stage.finish(isr=[1, 2])
    stage.show_disks()


def starts_without_controller(stage: Stage) -> None:
    """All nodes are shut down after records were deleted; the brokers start before the controller does."""
    stage.create(replicas=[1, 2], min_isr=2)
    stage.write(*OLD)
    stage.delete_records()
    stage.write("new")
    stage.tell("All nodes are shut down cleanly: the brokers, then the controller.")
    for node in (2, 1, CONTROLLER):
        stage.shut_down(node)
    stage.show_starts(1, 2)
    if not stage.control:
        stage.tell("At power-on, the brokers start before the controller does, cannot register, and stop.")
        for broker, log in [(broker, stage.cluster.start(broker)) for broker in (1, 2)]:
            stage.wait_stopped(broker)
            stage.show_log(broker, log, "unable to register|Fatal error during broker startup")
        stage.show_starts(1, 2)
    stage.start(CONTROLLER)
    stage.finish(isr=[1, 2])
    stage.show_disks()


SCENARIOS = (
    Scenario(name="hyp-21", play=retention, brokers=BROKERS, delays=False, causes=(Cause("hyp-21", since=(3, 8)),),
             since=(3, 8),
             title="a topic is deleted and recreated, and the brokers restart",
             control="there was no earlier topic of this name"),
    Scenario(name="hyp-26", play=log_start, brokers=BROKERS, delays=False, causes=(Cause("hyp-26", since=(3, 9)),),
             since=(3, 9),
             title="a topic is recreated while a broker is down, and the broker is killed soon after its restart",
             control="no records of the deleted topic had been deleted"),
    Scenario(name="hyp-29", play=starts_without_controller, brokers=(1, 2), delays=False, harm="returned",
             settings=(("initial.broker.registration.timeout.ms", "8000"),),
             causes=(Cause("hyp-29", since=(3, 9)),), since=(3, 9),
             title="the brokers start before the controller does, after records were deleted",
             control="the controller starts first"),
)  # fmt: skip
