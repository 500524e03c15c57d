"""Reassignments that replace an unfinished one (HYP-32).

HYP-32: if a reassignment adds (or removes) no replica, the list of replicas to be added (or removed) stays as in the
reassignment that it replaces (ReplicationControlManager.changePartitionReassignment). Since 4.3, a reassignment whose
new replica is also to be removed never completes; in all releases, a replica is removed although it should stay.
"""

from collections.abc import Sequence
from dataclasses import replace

from fencepost.kafka.clusters.scenario import Cause, Scenario
from fencepost.kafka.clusters.stage import OLD, Stage

RECORD_BYTES = 30_000
"""Record size in bytes, chosen so that a throttled follower stops after a megabyte, before it has all records."""
SLOW, FAST = "1", "10000000"
"""Throttles in bytes per second."""
ENDS_SECONDS = 20
"""Seconds within which a reassignment must end; without the bug, it ends within three."""


def rolled_back(stage: Stage) -> None:
    """The operator goes back to the previous replicas while a throttled reassignment is in progress."""
    begin(stage)
    if stage.control:
        stage.reassign_by_tool([1, 3], "--cancel", "--preserve-throttles")
    else:
        stage.reassign_by_tool([1, 2], "--execute", "--additional")
    end(stage, [1, 2])
    if stage.misassigned:
        stage.tell("The operator cancels the reassignment.")
        stage.reassign_by_tool([1, 2], "--cancel", "--preserve-throttles")
    stage.finish(isr=[1, 2])


def extended(stage: Stage) -> None:
    """While a throttled reassignment from broker 2 to broker 3 is in progress, the operator decides to keep both."""
    begin(stage)
    if stage.control:
        stage.reassign_by_tool([1, 3], "--cancel", "--preserve-throttles")
        stage.wait(replicas=[1, 2])
    stage.reassign_by_tool([1, 2, 3], "--execute", "--additional", "--throttle", FAST)
    end(stage, [1, 2, 3])
    stage.finish(isr=[1, 3] if stage.misassigned else [1, 2, 3])


def begin(stage: Stage) -> None:
    stage.create(replicas=[1, 2], min_isr=2)
    stage.write(*OLD, size=RECORD_BYTES)
    stage.tell("The operator starts a throttled reassignment of t from broker 2 to broker 3.")
    stage.reassign_by_tool([1, 3], "--execute", "--throttle", SLOW)
    stage.wait(adding=[3], removing=[2])


def end(stage: Stage, replicas: Sequence[int]) -> None:
    """Wait until the reassignment has ended with the requested replicas, and verify it with Kafka's tool."""
    wanted = {"replicas": list(replicas), "isr": list(replicas), "adding": [], "removing": []}
    stage.misassigned = not stage.reaches(ENDS_SECONDS, **wanted)
    stage.reassign_by_tool(replicas, "--verify", "--preserve-throttles")


HYP_32 = Scenario(name="hyp-32", play=rolled_back, brokers=(1, 2, 3), delays=False, harm="misassigned",
                  causes=(Cause("hyp-32", since=(4, 3)),), since=(3, 9),
                  title="a reassignment to the previous replicas replaces an unfinished one",
                  control="the operator cancels the unfinished reassignment")  # fmt: skip
SCENARIOS = (
    HYP_32,
    replace(HYP_32, name="hyp-32-b", play=extended, causes=(Cause("hyp-32", since=(3, 9)),),
            title="a reassignment that keeps all replicas replaces an unfinished one"),
)  # fmt: skip
