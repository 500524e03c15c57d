"""A driver of Kafka's classes that runs for long: heap, threads and files stay bounded over a million steps."""

import pytest
from fencepost.invariants.protocols import protocol
from fencepost.kafka.driver.process import Driver
from fencepost.kafka.driver.releases import release
from fencepost.kafka.driver.walks import Cover, state_graph
from fencepost.kafka.replication.brokers import Brokers
from fencepost.kafka.replication.mapping import SMALL
from fencepost.model.language.interpreter import Interpreter

from tests.kafka.kafkas import KAFKA, on_kafka

STEPS = 1_000_000
ROUND = 100_000


@pytest.mark.long
@on_kafka
def test_heap_threads_and_files_stay_bounded_over_a_million_steps() -> None:
    machine = protocol("replication").machine
    values = {**dict(machine.version("kafka-4.1").values), **SMALL, "shrinks": 0}
    plain = Interpreter(machine, machine.set_constants(values))
    graph = state_graph(plain, 50_000)
    assert graph is not None
    histories = list(Cover(graph).walks())
    initial = plain.initial_states()[0]
    used = []
    with Driver(release(KAFKA)) as driver:
        execution = Brokers(driver, plain)
        while execution.tally.steps < STEPS:
            for history in histories:
                assert execution.run(initial, history) is None
                if execution.tally.steps >= (len(used) + 1) * ROUND:
                    used.append(driver.tell("memory"))
    first, last = used[1], used[-1]
    assert last["heap"] < first["heap"] + (64 << 20)
    assert last["threads"] <= first["threads"] + 2
    assert max(item["files"] for item in used) < 10 << 20
