"""HYP-13: the controller's index of the ELR keeps cleared brokers, and fails when such a broker registers."""

from fencepost.kafka.clusters.cluster import CONTROLLER
from fencepost.kafka.clusters.scenario import Cause, Scenario
from fencepost.kafka.clusters.stage import Stage

BROKERS = (1, 2, 3)
COMES_BACK_SECONDS = 25


def play(stage: Stage) -> None:
    """Broker 2 is in the ELR of a topic whose min ISR changes and which is deleted; then broker 2 comes back."""
    stage.create(replicas=BROKERS, min_isr=2)
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
        stage.note(f"meanwhile the controller has resigned and become active again {len(again)} times")


SCENARIOS = (
    Scenario(
        name="hyp-13",
        title="min.insync.replicas changes, the topic is deleted, and a broker that was in its ELR comes back",
        play=play,
        brokers=BROKERS,
        control="min.insync.replicas stays as it is",
        delays=False,
        causes=(Cause("hyp-13", since=(4, 1)),),
        since=(4, 1),
        harm="out",
    ),
)
