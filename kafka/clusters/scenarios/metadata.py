"""Metadata that reaches a leader late: HYP-1, HYP-3 and HYP-11.

HYP-1: a re-elected leader keeps outdated information about its followers. HYP-3: metadata with an equal partition epoch
erases a pending change of the ISR. HYP-11: min.insync.replicas is raised, and a leader that learns of the new value
late acknowledges records that no other broker has.
"""

from dataclasses import replace
from functools import partial

from fencepost.kafka.clusters.cluster import CONTROLLER
from fencepost.kafka.clusters.scenario import Cause, Scenario
from fencepost.kafka.clusters.stage import NotReached, Stage, alterations, fetches, metadata

BROKERS = (0, 1, 2)


def elected_again_and_killed(stage: Stage) -> None:
    """Leader 1 is killed right after it has acknowledged a record."""
    elected_again(stage)
    stage.acknowledged("LOST", within=10)
    stage.kill(1)
    stage.wait(leader=2)
    stage.finish(isr=BROKERS)


def elected_again_and_stopped(stage: Stage) -> None:
    """Leader 1 shuts down cleanly; broker 2 is slow, so it does not copy the record before the shutdown."""
    elected_again(stage, slow_at_the_end=True)
    stage.acknowledged("LOST", within=10)
    shutdown, following = stage.cluster.log(CONTROLLER), stage.cluster.log(2)
    stage.stop(1)
    stage.wait_log(CONTROLLER, shutdown, r"enterControlledShutdown\[1\]: changing")
    stage.wait_log(2, following, "starts at leader epoch 3")
    stage.finish(isr=BROKERS)


def send_without(stage: Stage, slow: int) -> None:
    stage.tell(
        f"Broker {slow} becomes slow, because its fetches are delayed, but stays in the ISR for "
        "replica.lag.time.max.ms."
    )
    stage.hold(fetches(slow, of=1))
    before = stage.size(1)
    stage.send("LOST")
    stage.wait_appended(1, before)


def delay_metadata(stage: Stage) -> None:
    if not stage.control:
        stage.tell("Metadata reaches broker 1 late: its metadata fetches are delayed, but its heartbeats are not.")
        stage.hold(metadata(1))


def elected_again(stage: Stage, *, slow_at_the_end: bool = False) -> None:
    """Broker 1 loses leadership and regains it, and learns of both events at the same time."""
    stage.create(replicas=[1, 0, 2], min_isr=2)
    stage.reassign([0, 1, 2])
    stage.wait(replicas=[0, 1, 2], leader=1)
    stage.write("first")

    send_without(stage, 0)
    stage.wait_copied(2, leader=1)
    stage.note("brokers 1 and 2 have the record LOST, but broker 0 does not, so LOST cannot be acknowledged yet")

    delay_metadata(stage)

    following = stage.cluster.log(2)
    stage.elect()
    stage.wait_log(2, following, r"Truncating to offset 1")
    stage.note("broker 2 follows the new leader 0 and has truncated the record LOST")
    if slow_at_the_end:
        stage.hold_next(fetches(2, of=1))

    shutdown = stage.cluster.log(CONTROLLER)
    stage.stop(0)
    stage.wait_log(CONTROLLER, shutdown, r"enterControlledShutdown\[0\]: changing")
    stage.wait_log(2, following, "Follower t-0 starts at leader epoch 2")
    if not stage.control:
        stage.tell("Broker 1 learns at the same time that broker 0 was the leader and that broker 1 leads again.")
        stage.release(metadata(1))


LAG_SECONDS, DEFAULT_LAG_SECONDS = 10, 30
"""Values of `replica.lag.time.max.ms` in seconds; with the default, the scenario takes about 40 s longer."""
PATIENCE_SECONDS = 2.0
"""Value of `controller.quorum.request.timeout.ms` in seconds, after which a broker requests metadata again."""


def forgotten_request(stage: Stage, lag: int) -> None:
    """Broker 2 leaves the ISR and catches up. Leader 1 forgets its request to add broker 2 again."""
    stage.create(replicas=[1, 2, 0], min_isr=2)
    stage.write("first")
    shrink_with_late_metadata(stage)
    expand_and_forget(stage)

    stage.pause(lag + 1)
    stage.note(f"broker 2 has been slow for {lag + 1} s, which is longer than replica.lag.time.max.ms")
    stage.send("LOST")
    stage.acknowledged("LOST", within=2.5 * lag)
    stage.kill(1)
    stage.wait(leader=0 if stage.control or stage.repairs else 2)
    stage.finish(isr=BROKERS)


def shrink_with_late_metadata(stage: Stage) -> None:
    """Broker 2 leaves the ISR. The leader has received the controller's answer, but not the metadata of the new ISR."""
    stage.tell("Broker 2 becomes slow: its fetches are delayed until it has left the ISR.")
    stage.hold(fetches(2, of=1))
    stage.send("second")
    stage.hold(alterations(1))
    stage.note("leader 1 requests to remove broker 2 from the ISR")
    if not stage.control:
        stage.tell("Metadata reaches broker 1 late.")
        stage.hold(metadata(1))
    began = stage.story.seconds
    stage.release(alterations(1))
    stage.must_acknowledge("second")
    stage.note("the answer has arrived: the ISR of leader 1 is now brokers 0 and 1")
    if not stage.control:
        stage.hold_next(metadata(1, "answers"))
        stage.release(metadata(1))
        stage.hold(metadata(1, "answers"))
        stage.hold_next(metadata(1))
        stage.note("the metadata without broker 2 is in transit to broker 1")

    stage.tell("Broker 2 catches up, and becomes slow again.")
    stage.hold_next(alterations(1))
    stage.release(fetches(2, of=1))
    stage.hold(alterations(1))
    stage.hold_next(fetches(2, of=1))
    if stage.story.seconds - began > PATIENCE_SECONDS and not stage.control:
        raise NotReached(
            f"broker 1 waited for metadata for more than {PATIENCE_SECONDS:g} s: this machine is too slow at the moment"
        )


def expand_and_forget(stage: Stage) -> None:
    """The controller adds broker 2. Then older metadata reaches the leader, which forgets its request."""
    stage.note("leader 1 requests to add broker 2 to the ISR again")
    stage.hold_next(alterations(1, "answers"))
    stage.release(alterations(1))
    stage.hold(alterations(1, "answers"))
    stage.note("the controller has added broker 2; the answer is in transit to broker 1")
    if not stage.control:
        stage.release(metadata(1, "answers"))
        stage.hold(metadata(1))
        stage.pause(0.3)
        stage.tell(
            "Broker 1 receives the metadata in which broker 2 has left the ISR. Broker 1 already has the partition "
            "epoch of that metadata. Later metadata is delayed."
        )
    stage.release(alterations(1, "answers"))
    if stage.control:  # otherwise the client may ask broker 1, which is not yet up to date
        stage.wait(isr=[0, 1, 2])


def late_min_isr(stage: Stage) -> None:
    """Broker 2 stays in the ELR under the new min ISR, while leader 1 acknowledges records under the old min ISR."""
    stage.create(replicas=[1, 2], min_isr=1)
    stage.write("first")

    send_without(stage, 2)
    stage.note("broker 1 has the record LOST, but broker 2 does not, so LOST cannot be acknowledged yet")

    delay_metadata(stage)
    stage.configure(min_insync_replicas="2")
    if stage.control:
        stage.pause(1)
    shutdown = stage.cluster.log(CONTROLLER)
    stage.stop(2)
    stage.wait_log(CONTROLLER, shutdown, "modifying the registration for broker 2")
    if not stage.control:
        stage.tell("Broker 1 receives the metadata: first it applies the smaller ISR, then the higher min ISR.")
        stage.release(metadata(1))
    stage.acknowledged("LOST", within=10)
    stage.wait_stopped(2)
    stage.wait(isr=[1], elr=[2])

    stage.tell("Broker 2, which is still slow, restarts, and broker 1 shuts down.")
    stage.start(2)
    stage.pause(2)
    stage.stop(1)
    stage.wait(leader=2)
    stage.note("broker 2 was elected from the ELR: a clean election")
    stage.wait_stopped(1)
    stage.finish(isr=(1, 2))


HYP_1 = Scenario(name="hyp-1", play=elected_again_and_killed, brokers=BROKERS, causes=(Cause("hyp-1"),),
                 title="a re-elected leader acknowledges a record that no follower has, and crashes",
                 control="metadata reaches broker 1 without delay")  # fmt: skip
HYP_3 = replace(HYP_1, name="hyp-3", play=partial(forgotten_request, lag=LAG_SECONDS), causes=(Cause("hyp-3"),),
                title="metadata that a leader already knows makes it forget a replica that is joining the ISR",
                settings=(("replica.lag.time.max.ms", str(LAG_SECONDS * 1000)),))  # fmt: skip
SCENARIOS = (
    HYP_1,
    replace(HYP_1, name="hyp-1-no-crash", play=elected_again_and_stopped,
            title="like hyp-1, but with two controlled shutdowns instead of a crash"),
    HYP_3,
    replace(HYP_3, name="hyp-3-default-lag", play=partial(forgotten_request, lag=DEFAULT_LAG_SECONDS), settings=(),
            title="like hyp-3, but with replica.lag.time.max.ms at its default of 30 s"),
    replace(HYP_1, name="hyp-11", play=late_min_isr, brokers=(1, 2), causes=(Cause("hyp-11", since=(4, 1)),),
            since=(4, 1),
            title="min.insync.replicas is raised while a follower leaves the ISR; the leader still uses the old value"),
)  # fmt: skip
