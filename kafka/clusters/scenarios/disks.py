"""Disks that are replaced or taken out: HYP-16 and HYP-17.

HYP-16: a replica whose disk has failed stays eligible, and its broker counts as clean without that disk. Before 4.3 the
assignment of another directory empties the ELR (ReplicationControlManager.handleAssignReplicasToDirs), and only broker
1, the last leader, can be elected: in this order the records are kept, but in that of HYP-17 they are lost, and the
repair of HYP-16 does not help.

HYP-17: a broker that led last and returns with a new disk is elected with an empty log, although others have
everything. Before 4.3 the assignment of a directory empties the ELR of all replicas (handleAssignReplicasToDirs builds
its change without the flag of ELR). Then the last known leader is the only one that can be elected.
"""

from collections.abc import Sequence
from dataclasses import replace

from fencepost.kafka.clusters.cluster import CONTROLLER
from fencepost.kafka.clusters.scenario import Cause, Scenario
from fencepost.kafka.clusters.stage import OLD, Stage

NOTICES_SECONDS = 30
"""Seconds that a broker may take to notice that its disk is gone."""
SESSION_SECONDS = 10
"""Seconds after which a dead broker is fenced."""


def disk_fails(stage: Stage) -> None:
    """A disk of broker 2 fails and is taken out of its settings; broker 1 is down when broker 2 comes back."""
    begin(stage)
    stage.tell("A disk of broker 2, which leads, fails. Its replica leaves the ISR.")
    stage.fail_disk(2)
    stage.wait(isr=[1])
    stage.shut_down(2)
    broker_2_comes_back(stage)


def disk_is_taken_out(stage: Stage) -> None:
    """No disk fails: the operator takes one out of broker 2, whose replicas are to be copied again."""
    begin(stage)
    stage.tell("The operator takes a disk out of broker 2, and lets it copy its replicas again from broker 1.")
    stage.shut_down(2)
    stage.wait(isr=[1])
    stage.fail_disk(2)
    broker_2_comes_back(stage)


def begin(stage: Stage) -> None:
    """Create the topic on brokers 1 and 2, and fill it."""
    stage.create(replicas=[2, 1], min_isr=2)
    stage.write(*OLD)
    stage.show_disks()


def broker_2_comes_back(stage: Stage) -> None:
    """Broker 2 gets other disks. Broker 1, which has everything, is restarted, and broker 2 comes back before it."""
    if stage.control:
        stage.replace_disk(2)
    else:
        stage.take_disk_out(2)
    stage.tell("Broker 1 is restarted. It has all acknowledged records on its disk.")
    stage.shut_down(1)
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


def only_disk(stage: Stage) -> None:
    """Broker 1 is down for maintenance; the only disk of leader 2 fails and is replaced."""
    begin_cleanly(stage, [2, 1])
    broker_1_is_down(stage)
    stage.tell("The only disk of broker 2 fails. It stops, and no broker can lead.")
    stage.fail_disk(2)
    if not stage.cluster.wait_stopped(2, NOTICES_SECONDS):
        stage.kill(2)
    stage.wait_stopped(2)
    stage.wait(leader=-1, isr=[])
    stage.replace_disk(2)
    if stage.control:
        stage.tell("Broker 1, which has everything, is started first, and leads before broker 2 is started.")
        stage.start(1)
        stage.wait(leader=1)
    come_back(stage, [1, 2])


def cold_start(stage: Stage) -> None:
    """All brokers of the topic are shut down cleanly, broker 2 last; at power-on its only disk is dead."""
    begin_cleanly(stage, [2, 1, 3])
    stage.tell("All brokers of the topic are shut down, one after the other. Broker 4 has no replica and stays.")
    for broker in (1, 3, 2):
        stage.shut_down(broker)
    stage.wait(leader=-1)
    stage.pause(SESSION_SECONDS)
    stage.tell("At power-on the only disk of broker 2 is dead.")
    stage.fail_disk(2)
    stage.replace_disk(2)
    if stage.control:
        stage.tell(
            "Brokers 1 and 3, which have everything, are started first, and one leads before broker 2 is started."
        )
        stage.start(1, 3)
        stage.wait(leader=3)
    come_back(stage, [1, 2, 3])


def two_disks(stage: Stage) -> None:
    """Broker 1 is down for maintenance; a disk of broker 2, which leads, fails and is taken out of log.dirs."""
    begin_cleanly(stage, [2, 1])
    broker_1_is_down(stage)
    if stage.control:
        stage.tell("No disk fails. Broker 2 is restarted.")
    else:
        stage.tell("The disk of broker 2 that has the topic fails. Broker 2 keeps running, and no broker can lead.")
        stage.fail_disk(2)
        stage.wait(leader=-1, isr=[])
    stage.shut_down(2)
    if not stage.control:
        stage.take_disk_out(2)
    come_back(stage, [1, 2])


def begin_cleanly(stage: Stage, replicas: Sequence[int]) -> None:
    """Create the topic, and fill it. Unclean elections are off, explicitly."""
    stage.create(replicas=replicas, min_isr=2)
    stage.configure(unclean_leader_election_enable="false")
    stage.write(*OLD)
    stage.show_disks()


def broker_1_is_down(stage: Stage) -> None:
    """Take broker 1 down for maintenance: broker 2 is the last member of the ISR."""
    stage.tell("Broker 1 is taken down for maintenance. It has all acknowledged records on its disk.")
    stage.shut_down(1)
    stage.wait(leader=2, isr=[2], elr=[1])


def come_back(stage: Stage, isr: Sequence[int]) -> None:
    """Start broker 2, then all others that are down; show the elected leader and the truncation."""
    controller, follower = stage.cluster.log(CONTROLLER), stage.cluster.log(1)
    stage.start(2)
    if not stage.control and not stage.reaches(6, leader=2):
        stage.tell("No leader is elected yet. The controller checks again when a broker comes back.")
    stage.show_disks()
    stage.finish(isr=isr)
    stage.show_log(CONTROLLER, controller, "Setting new leader for topicId")
    stage.show_log(1, follower, "Truncating partition")
    stage.show_disks()


HYP_16 = Scenario(name="hyp-16", play=disk_fails, brokers=(1, 2, 3), delays=False, disks=(2,),
                  causes=(Cause("hyp-16", since=(4, 3)),), since=(4, 1),
                  title="a disk fails and is taken out of log.dirs, and the last member of the ISR is restarted",
                  control="the failed disk is replaced by an empty one, and stays in log.dirs")  # fmt: skip
HYP_17 = Scenario(name="hyp-17", play=only_disk, brokers=(1, 2, 3), delays=False, elr=True,
                  causes=(Cause("hyp-17", repaired_in=(4, 3)),),
                  title="the only disk of the last leader is replaced while a replica that has everything is down",
                  control="the broker that has everything is started first")  # fmt: skip
SCENARIOS = (
    HYP_16,
    replace(HYP_16, name="hyp-16-no-failure", play=disk_is_taken_out,
            title="a disk is taken out of log.dirs, and the last member of the ISR is restarted",
            control="the disk is replaced by an empty one, and stays in log.dirs"),
    HYP_17,
    replace(HYP_17, name="hyp-17-cold-start", play=cold_start, brokers=(1, 2, 3, 4),
            title="all brokers of a topic are shut down, and the only disk of the last one is dead at power-on",
            control="the brokers that have everything are started first"),
    replace(HYP_17, name="hyp-17-two-disks", play=two_disks, disks=(2,), causes=(*HYP_17.causes, Cause("hyp-16")),
            title="one of two disks of the last leader fails and is taken out of log.dirs",
            control="no disk fails"),
)  # fmt: skip
