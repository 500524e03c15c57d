"""Replicas that should not be eligible to lead (HYP-10 and HYP-13).

HYP-10: a replica that a reassignment removed stays in the ELR. If it is added again, it can be elected with an empty
log. HYP-13: the controller's ELR index keeps brokers after the ELR is cleared, and the controller fails when one of
these brokers registers.
"""

from dataclasses import replace

from fencepost.kafka.clusters.cluster import CONTROLLER
from fencepost.kafka.clusters.scenario import Cause, Scenario
from fencepost.kafka.clusters.stage import Stage

BROKERS = (1, 2, 3, 4)
RECORDS = 1000
OLD, NEW = (tuple(f"{name}-{number}" for number in range(RECORDS)) for name in ("old", "new"))
RECORD_BYTES = 10_000
THROTTLE = "1000000"
"""Throttle in bytes per second. At the throttled rate, copying the topic takes about 20 s."""
STAYS_OPEN_SECONDS = 25
COMES_BACK_SECONDS = 25


def cancel_and_retry(stage: Stage) -> None:
    """A reassignment is cancelled and started again while two brokers are down."""
    stage.create(replicas=[1, 2], min_isr=2)
    stage.write(*OLD, size=RECORD_BYTES)
    stage.tell("The operator starts a throttled reassignment of t away from broker 2. Meanwhile, brokers 2 and 4 stop.")
    stage.reassign_by_tool([1, 3, 4], "--execute", "--throttle", THROTTLE)
    stage.kill(4)
    stage.shut_down(2)
    stage.wait(isr=[1, 3])
    stage.write(*NEW, size=RECORD_BYTES)

    stage.tell("The operator cancels the reassignment, which cannot complete while broker 4 is down.")
    stage.reassign_by_tool([1, 3, 4], "--cancel", "--preserve-throttles")
    stage.wait(replicas=[1, 2], isr=[1])
    stage.wait_deleted(3)
    stage.show_disks()

    stage.tell("The operator starts another reassignment, without broker 4. Broker 3 starts with an empty log.")
    stage.reassign_by_tool([1, 3], "--execute")
    stage.wait(adding=[3])
    stage.wait_appended(3, 0)
    leader_stops(stage, leader=1, empty=3, records=2 * RECORDS)


def complete_and_return(stage: Stage) -> None:
    """A reassignment completes. While a broker is down, the removed replica is added again."""
    stage.create(replicas=[1, 2], min_isr=2)
    stage.write(*OLD, size=RECORD_BYTES)
    stage.tell("The operator starts a throttled reassignment of t from broker 1 to broker 3. Broker 2 stops meanwhile.")
    stage.reassign_by_tool([3, 2], "--execute", "--throttle", THROTTLE)
    stage.shut_down(2)
    stage.wait(isr=[1, 3] if stage.cluster.kit.number < (4, 3) else [3])
    if not stage.reaches(STAYS_OPEN_SECONDS, replicas=[3, 2], isr=[3], adding=[]):
        stage.tell(
            "The reassignment cannot complete while broker 2 is down, as in all releases before 4.3: the scenario "
            "cannot continue."
        )
        stage.finish(isr=[2, 3])
        return
    stage.wait_deleted(1)
    stage.show_disks()

    stage.tell("The operator reassigns t back to broker 1, again with a throttle. Broker 1 starts with an empty log.")
    throttled = {"follower_replication_throttled_replicas": "0:1", "leader_replication_throttled_replicas": "*"}
    stage.configure(**throttled)
    stage.reassign_by_tool([3, 1], "--execute")
    stage.wait(adding=[1])
    stage.wait_appended(1, 0)
    leader_stops(stage, leader=3, empty=1, records=RECORDS)


def leader_stops(stage: Stage, leader: int, empty: int, records: int) -> None:
    """The only ISR member stops cleanly when the new replica has copied part of the log. The new replica restarts."""
    stage.show_disks()
    stage.tell(
        f"Broker {leader}, the only member of the ISR, restarts. Broker {empty} has copied only some of the "
        f"{records:,} records."
    )
    stage.shut_down(leader)
    if stage.reaches(15, leader=empty):
        stage.note(f"broker {empty} was elected from the ELR: a clean election")
    else:
        stage.note("no leader is elected until the last leader restarts")
    stage.finish(isr=[leader, empty])
    stage.show_disks()


def cleared_and_deleted(stage: Stage) -> None:
    """A topic is deleted after its min ISR changed while broker 2 was in the topic's ELR; then broker 2 restarts."""
    stage.create(replicas=[1, 2, 3], min_isr=2)
    stage.kill(3)
    stage.wait_stopped(3)
    stage.wait(isr=[1, 2])
    stage.kill(2)
    stage.wait_stopped(2)
    stage.wait(isr=[1], elr=[2])
    if not stage.control:
        stage.configure(min_insync_replicas="1")
        stage.wait(isr=[1], elr=[])
    stage.delete()
    controller = stage.cluster.log(CONTROLLER)
    if not stage.comes_back(2, COMES_BACK_SECONDS):
        stage.wait_log(CONTROLLER, controller, "Encountered quorum controller fault: registerBroker")
        stage.wait_log(CONTROLLER, controller, "existed in isrMembers, but not in the topics map")
        again = controller.lines("Becoming the active controller")
        stage.note(f"in the meantime, the controller resigned and became active again {len(again)} times")


HYP_10 = Scenario(name="hyp-10", play=cancel_and_retry, brokers=BROKERS, delays=False, elr_in_control=False,
                  causes=(Cause("hyp-10", since=(4, 1)),), since=(4, 1),
                  title="a reassignment is cancelled and started again while brokers are down (history A)",
                  control="eligible leader replicas are turned off (eligible.leader.replicas.version=0)")  # fmt: skip
SCENARIOS = (
    HYP_10,
    replace(HYP_10, name="hyp-10-b", play=complete_and_return, brokers=BROKERS[:3],
            causes=(Cause("hyp-10", since=(4, 3)),),
            title="a reassignment completes while a broker is down, and is reverted (history B)"),
    Scenario(name="hyp-13", play=cleared_and_deleted, brokers=BROKERS[:3], delays=False,
             causes=(Cause("hyp-13", since=(4, 1)),), since=(4, 1), harm="out",
             title="min.insync.replicas changes, the topic is deleted, and a broker from the topic's ELR restarts",
             control="min.insync.replicas does not change"),
)  # fmt: skip
