"""HYP-3: metadata with an equal partition epoch wipes a pending change of the ISR."""

from functools import partial

from fencepost.kafka.clusters.scenario import Cause, Scenario
from fencepost.kafka.clusters.stage import NotReached, Stage, alterations, fetches, metadata

BROKERS = (0, 1, 2)
LAG_SECONDS, DEFAULT_LAG_SECONDS = 10, 30
"""`replica.lag.time.max.ms`, in seconds; with its default the story takes about 40 s longer."""
PATIENCE_SECONDS = 2.0
"""`controller.quorum.request.timeout.ms`: a broker that has waited this long for metadata asks again."""


def play(stage: Stage, lag: int) -> None:
    """Broker 2 leaves the ISR and comes back, and leader 1 forgets its request to add it."""
    stage.create(replicas=[1, 2, 0], min_isr=2)
    stage.send("first")
    stage.must_acknowledge("first")
    shrink_with_late_metadata(stage)
    expand_and_forget(stage)

    stage.pause(lag + 1)
    stage.note(f"broker 2 has been slow for {lag + 1} s, longer than replica.lag.time.max.ms: it is not waited for")
    stage.send("LOST")
    stage.acknowledged("LOST", within=2.5 * lag)
    stage.kill(1)
    stage.wait(leader=0 if stage.control or stage.repairs else 2)
    stage.finish(isr=BROKERS)


def shrink_with_late_metadata(stage: Stage) -> None:
    """Broker 2 leaves the ISR. The leader has the answer; the corresponding metadata is still in flight."""
    stage.tell("Broker 2 becomes slow: its fetches are held until it has left the ISR.")
    stage.hold(fetches(2, of=1))
    stage.send("second")
    stage.hold(alterations(1))
    stage.note("leader 1 asks to take broker 2 out of the ISR")
    if not stage.control:
        stage.tell("Metadata gets to broker 1 late.")
        stage.hold(metadata(1))
    began = stage.story.seconds
    stage.release(alterations(1))
    stage.must_acknowledge("second")
    stage.note("the answer has come: leader 1 counts brokers 0 and 1")
    if not stage.control:
        stage.cluster.proxy.hold(metadata(1, "answers"))
        stage.release(metadata(1))
        stage.hold(metadata(1, "answers"))
        stage.cluster.proxy.hold(metadata(1))
        stage.note("the metadata without broker 2 is under way to broker 1")

    stage.tell("Broker 2 catches up, and becomes slow again.")
    stage.cluster.proxy.hold(alterations(1))
    stage.release(fetches(2, of=1))
    stage.hold(alterations(1))
    stage.cluster.proxy.hold(fetches(2, of=1))
    if stage.story.seconds - began > PATIENCE_SECONDS and not stage.control:
        raise NotReached(
            f"broker 1 waited for metadata longer than {PATIENCE_SECONDS:g} s: this machine is too slow now"
        )


def expand_and_forget(stage: Stage) -> None:
    """The controller adds broker 2; the older metadata reaches the leader, which forgets its request."""
    stage.note("leader 1 asks to take broker 2 into the ISR again")
    stage.cluster.proxy.hold(alterations(1, "answers"))
    stage.release(alterations(1))
    stage.hold(alterations(1, "answers"))
    stage.note("the controller has taken broker 2 in; its answer is under way to broker 1")
    if not stage.control:
        stage.release(metadata(1, "answers"))
        stage.hold(metadata(1))
        stage.pause(0.3)
        stage.tell(
            "Broker 1 gets the metadata without broker 2, whose partition epoch it already has. Later metadata is "
            "delayed."
        )
    stage.release(alterations(1, "answers"))
    if stage.control:  # otherwise the client may ask broker 1, which is not yet up to date
        stage.wait(isr=[0, 1, 2])


SCENARIOS = (
    Scenario(
        name="hyp-3",
        title="metadata that a leader knows already makes it forget a replica that is about to join its ISR",
        play=partial(play, lag=LAG_SECONDS),
        brokers=BROKERS,
        control="metadata gets to broker 1 without delay",
        causes=(Cause("hyp-3"),),
        settings=(("replica.lag.time.max.ms", str(LAG_SECONDS * 1000)),),
    ),
    Scenario(
        name="hyp-3-default-lag",
        title="the same with replica.lag.time.max.ms at its default of 30 s",
        play=partial(play, lag=DEFAULT_LAG_SECONDS),
        brokers=BROKERS,
        control="metadata gets to broker 1 without delay",
        causes=(Cause("hyp-3"),),
    ),
)
