"""Reachability in the replication model at small sizes, and the need for each check of a KIP."""

from collections.abc import Mapping

import pytest
from fencepost.explorers.search import search
from fencepost.explorers.verdict import Options, Result
from fencepost.invariants.replication import PROPERTIES
from fencepost.model.cluster.machine import MACHINE
from fencepost.model.cluster.state import Life, newest

from tests.helpers.parameters import sized
from tests.helpers.stories import Story

pytestmark = pytest.mark.xdist_group("replication")
"""These tests share one compiled machine, so one worker runs them."""

KIP_903 = sized(
    "brokers=2 max_records=1 initial_isr=1 crashes=1 fences=1 shrinks=0 max_leader_epoch=2 fenced_before_registration=1"
)
"""Loss only outside the ISR, one crash and one fence; with two fences even the last member of the ISR can lose
records."""


def explore(constants: Mapping[str, int]) -> Result:
    """Search a configuration to the end on the native engine."""
    result = search(MACHINE, MACHINE.set_constants(constants), PROPERTIES, Options(workers=1))
    assert result.complete
    return result


def violated(result: Result) -> dict[str, int]:
    """Return the steps of the shortest trace of each violated property."""
    return {item.name: item.path.length - 1 for item in result.properties if item.verdict == "violated" and item.path}


def test_kip_903_is_found_again_in_kafka_3_5_with_the_older_request() -> None:
    """The loss itself, with the rest of the code unchanged; the KIP's story may take 20 steps."""
    sizes = sized("brokers=2 max_records=1 initial_isr=1 crashes=1 fences=1 shrinks=0 max_leader_epoch=2")
    result = explore({**MACHINE.version("kafka-3.5").values, **sizes, "alter_partition_version": 2})
    assert violated(result)["joining-epoch-is-registered"] == 6
    assert violated(result)["leader-has-committed"] == 9


@pytest.mark.parametrize("normalize", [False, True])
def test_a_request_that_must_be_refused_is_refused_by_an_action_unless_normalizing_does_it(*, normalize: bool) -> None:
    """The one action that happens in no run of the catalogue: `normalize` does its work at once."""
    story = Story("replication", normalize=normalize, brokers=2, initial_isr=1)
    story.do("leader-handles-fetch", 0, 1).do("controller-fences-broker", 0)
    assert len(story.can("controller-refuses-alter-partition")) == (0 if normalize else 1)


def test_a_broker_that_shuts_down_is_never_unfenced() -> None:
    """BrokerHeartbeatManager.calculateNextBrokerState: a fenced broker that wants to shut down may do so at once."""
    story = Story("replication", brokers=2, initial_isr=1, crashes=0, clean_stops=1)
    story.do("controller-begins-shutdown", 0).do("controller-fences-broker", 0)
    assert not story.can("controller-unfences-broker")
    assert [item.step.args for item in story.can("broker-stops")] == [(0,)]


def test_a_broker_that_leads_nothing_may_shut_down_at_once_and_is_fenced() -> None:
    stopped = Story("replication", brokers=2, crashes=0, clean_stops=1).do("broker-stops").state
    image = newest(stopped)
    assert (image.leader, image.isr, image.fenced, image.partition_epoch) == (0, 0b01, 0b10, 1)
    assert stopped.replica[1].life == Life.STOPPED
    assert stopped.budget.clean_stops == 0


def test_the_shortest_trace_of_kip_903_is_in_the_order_of_the_kip() -> None:
    """Caught up and the request sent, crash with loss, fenced, registered, unfenced, accepted."""
    result = explore({**KIP_903, "alter_partition_version": 2})
    (found,) = (item for item in result.properties if item.name == "joining-epoch-is-registered")
    assert found.path is not None
    told = [step.action.label for step in found.path.steps]
    story = (
        "broker-crashes", "controller-fences-broker", "broker-registers", "controller-unfences-broker",
        "controller-applies-alter-partition",
    )  # fmt: skip
    assert [name for name in told if name in story] == list(story)
    assert set(told) - set(story) <= {"leader-handles-fetch", "leader-handles-late-fetch", "broker-applies-metadata"}
