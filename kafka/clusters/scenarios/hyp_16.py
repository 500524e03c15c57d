"""HYP-16: a replica whose disk has failed stays eligible, and its broker counts as clean without that disk.

Before 4.3 the assignment of another directory empties the ELR (ReplicationControlManager.handleAssignReplicasToDirs),
and only broker 1, the last leader, can be elected: in this order the records are kept, but in that of HYP-17 they are
lost, and the repair of this finding does not help.
"""

from fencepost.kafka.clusters.scenario import Cause, Scenario
from fencepost.kafka.clusters.stage import Stage

BROKERS = (1, 2, 3)
RECORDS = 100


def disk_fails(stage: Stage) -> None:
    """A disk of broker 2 fails and is taken out of its settings; broker 1 is down when broker 2 comes back."""
    begin(stage)
    stage.tell("A disk of broker 2, which leads, fails. Its replica leaves the ISR.")
    stage.fail_disk(2)
    stage.wait(isr=[1])
    stage.stop(2)
    stage.wait_stopped(2)
    come_back(stage)


def disk_is_taken_out(stage: Stage) -> None:
    """No disk fails: the operator takes one out of broker 2, whose replicas are to be copied again."""
    begin(stage)
    stage.tell("The operator takes a disk out of broker 2, and lets it copy its replicas again from broker 1.")
    stage.stop(2)
    stage.wait_stopped(2)
    stage.wait(isr=[1])
    stage.fail_disk(2)
    come_back(stage)


def begin(stage: Stage) -> None:
    """Create the topic on brokers 1 and 2, and fill it."""
    keys = tuple(f"old-{number}" for number in range(RECORDS))
    stage.create(replicas=[2, 1], min_isr=2)
    stage.send(*keys)
    stage.must_acknowledge(*keys)
    stage.show_disks()


def come_back(stage: Stage) -> None:
    """Broker 2 gets other disks. Broker 1, which has everything, is restarted, and broker 2 comes back before it."""
    if stage.control:
        stage.replace_disk(2)
    else:
        stage.take_disk_out(2)
    stage.tell("Broker 1 is restarted. It has all acknowledged records on its disk.")
    stage.stop(1)
    stage.wait_stopped(1)
    stage.start(2)
    if not stage.reaches(5, leader=2):
        stage.tell("No leader is elected yet. The controller checks again when a broker comes back.")
        stage.start(1)
        stage.reaches(10, leader=2)
    if stage.reaches(0, leader=2):
        stage.note("broker 2 was elected from the ELR with an empty log: a clean election")
    stage.show_disks()
    stage.finish(isr=[1, 2])
    stage.show_disks()


SCENARIOS = (
    Scenario(
        name="hyp-16",
        title="a disk fails and is taken out of log.dirs, and the last member of the ISR is restarted",
        play=disk_fails,
        brokers=BROKERS,
        control="the failed disk is replaced by an empty one, and stays in log.dirs",
        delays=False,
        disks=(2,),
        causes=(Cause("hyp-16", since=(4, 3)),),
        since=(4, 1),
    ),
    Scenario(
        name="hyp-16-no-failure",
        title="a disk is taken out of log.dirs, and the last member of the ISR is restarted",
        play=disk_is_taken_out,
        brokers=BROKERS,
        control="the disk is replaced by an empty one, and stays in log.dirs",
        delays=False,
        disks=(2,),
        causes=(Cause("hyp-16", since=(4, 3)),),
        since=(4, 1),
    ),
)
