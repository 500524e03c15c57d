"""What lies beside the comparison of states: hidden fields of Kafka, lines of its classes, memory, and findings by
release."""

import random
import re
from collections import Counter
from dataclasses import dataclass, field

import pytest
from fencepost.counterexamples.reader import read
from fencepost.invariants.protocols import protocol
from fencepost.kafka.conform.settled import TraceVerdict, settle_trace
from fencepost.kafka.driver.process import Driver, count_lines
from fencepost.kafka.driver.releases import RELEASES, release
from fencepost.kafka.driver.walks import Cover, state_graph, walks
from fencepost.kafka.replication.brokers import Brokers
from fencepost.kafka.replication.mapping import SMALL
from fencepost.model.language.interpreter import Interpreter, Transition
from fencepost.model.language.records import Key

from tests.helpers.commands import data_of, fencepost
from tests.helpers.places import ARCHIVE
from tests.kafka.kafkas import KAFKA, on_kafka

MACHINE = protocol("replication").machine

# Two histories that lead to one state of the model may differ in fields that the comparison of states does not see.
# If one affects Kafka's later behaviour, a later step differs: so such fields are named, and tried by a path cover.
_SNAPSHOTS = "state of idempotent producers (not used here) is written down at a restart and when a log is cut"

_TIMES = "a restart writes the time index, in which nothing here looks for a time"

_LOG = "broker.partition.log"
_INDEX = f"{_LOG}.localLog.segments.segments.lazyTimeIndex.indexWrapper.index"
_STATE = "broker.partition.remoteReplicasMap.replicaState"

NAMED: dict[str, str] = {
    "broker.fetch.lag": "a figure for metrics",
    "broker.fetch.state": "a follower with an empty log looks once more where to truncate before its next fetch",
    f"{_LOG}.localLog.segments.segments.bytesSinceLastIndexEntry": "when the next entry of the offset index is due",
    f"{_INDEX}.entries": _TIMES,
    f"{_INDEX}.lastEntry.timestamp": _TIMES,
    f"{_LOG}.producerStateManager.lastSnapOffset": _SNAPSHOTS,
    f"{_LOG}.producerStateManager.snapshots.offset": _SNAPSHOTS,
    f"{_STATE}.lastCaughtUpTimeMs": "both times are longer ago than the lag time",
    f"{_STATE}.lastFetchLeaderLogEndOffset": "read with the time of the fetch, which is put long ago",
}
"""Known hidden fields, and why each is irrelevant."""


@dataclass
class Hidden:
    """Dumps by model state, and the fields in which dumps of one state differ, with counts and two values."""

    dumps: dict[Key, dict[str, str]] = field(default_factory=dict)
    again: int = 0
    fields: Counter[str] = field(default_factory=Counter)
    examples: dict[str, tuple[str, str]] = field(default_factory=dict)

    def compare(self, state: Key, dump: dict[str, str]) -> None:
        first = self.dumps.setdefault(state, dump)
        if first is dump:
            return
        self.again += 1
        differing = set()
        for path in first.keys() | dump.keys():
            one, other = first.get(path, "absent"), dump.get(path, "absent")
            if one != other:
                name = re.sub(r"\[[0-9]+\]", "", path)
                differing.add(name)
                self.examples.setdefault(name, (one, other))
        self.fields.update(differing)


class Watched(Brokers):
    """An execution that looks at all of Kafka's fields after each step."""

    def __init__(self, driver: Driver, plain: Interpreter, hidden: Hidden) -> None:
        super().__init__(driver, plain)
        self.hidden = hidden

    def followed(self) -> None:
        self.hidden.compare(self.at, self.driver.tell("dump"))


def interpreter(model: str = "kafka-4.1", **settings: int) -> Interpreter:
    values = {**dict(MACHINE.version(model).values), **SMALL, **settings}
    return Interpreter(MACHINE, MACHINE.set_constants(values))


def covering(plain: Interpreter) -> list[list[Transition]]:
    graph = state_graph(plain, 50_000)
    assert graph is not None
    return list(Cover(graph).walks())


def hidden_fields(driver: Driver, plain: Interpreter, histories: list[list[Transition]]) -> Hidden:
    hidden = Hidden()
    watched = Watched(driver, plain, hidden)
    for history in histories:
        assert watched.run(plain.initial_states()[0], history) is None
    return hidden


def test_fields_that_differ_in_one_state_are_named_once_for_all_brokers() -> None:
    hidden = Hidden()
    state = (1, 2)
    hidden.compare(state, {"broker[0].lag": "1", "broker[1].lag": "1", "broker[0].end": "3"})
    hidden.compare((3,), {"broker[0].lag": "7"})
    hidden.compare(state, {"broker[0].lag": "2", "broker[1].lag": "2", "broker[0].end": "3", "broker[0].more": "x"})
    assert hidden.fields == {"broker.lag": 1, "broker.more": 1}
    assert hidden.examples["broker.more"] == ("absent", "x")
    assert hidden.again == 1


def test_lines_of_inner_classes_count_for_the_class_around_them() -> None:
    report = """<report name="x"><package name="kafka/cluster">
      <class name="kafka/cluster/Partition"><counter type="INSTRUCTION" missed="9" covered="9"/>
        <counter type="LINE" missed="2" covered="5"/></class>
      <class name="kafka/cluster/Partition$"><counter type="LINE" missed="1" covered="1"/></class>
      <class name="kafka/cluster/PartitionState"><counter type="LINE" missed="7" covered="0"/></class>
    </package></report>"""
    (found,) = count_lines(report)
    assert (found.name, found.executed, found.lines) == ("Partition", 6, 9)


@on_kafka
@pytest.mark.xdist_group("kafka")
def test_hidden_fields_of_kafka_are_those_that_are_named() -> None:
    plain = interpreter(crashes=0, shrinks=0)
    with Driver(release(KAFKA)) as driver:
        hidden = hidden_fields(driver, plain, covering(plain))
    assert hidden.again > 300
    assert set(hidden.fields) <= set(NAMED)


@on_kafka
@pytest.mark.xdist_group("kafka")
def test_a_reset_leaves_kafka_as_a_new_process_has_it_whatever_was_done_before() -> None:
    plain = interpreter(shrinks=0)
    initial = plain.initial_states()[0]
    histories = [list(walk) for walk in walks(plain, 12, 15, 3)]
    random.Random(4).shuffle(histories)  # noqa: S311 (no secret)

    def dumps(driver: Driver, history: list[Transition]) -> list[dict[str, str]]:
        found = []
        execution = Brokers(driver, plain)
        assert execution.begin(initial) is None
        for place, item in enumerate(history):
            assert execution.step([taken.step for taken in history[:place]], item) is None
            found.append(driver.tell("dump"))
        return found

    with Driver(release(KAFKA)) as driver:
        used = [dumps(driver, history) for history in histories]
    for place in (0, len(histories) - 1):
        with Driver(release(KAFKA)) as fresh:
            assert dumps(fresh, histories[place]) == used[place]


@on_kafka
@pytest.mark.xdist_group("kafka")
def test_findings_are_confirmed_refuted_or_not_driven_with_a_reason() -> None:
    with Driver(release(KAFKA)) as driver:
        found = {
            name: settle_trace(driver, read(ARCHIVE / f"replication-{name}.trace").trace)
            for name in ("hyp-1-loss", "hyp-2", "b09-kip-903", "hyp-8-loss", "q37-disk-swap", "b18-kafka-13858")
        }
    assert found["hyp-1-loss"].verdict is TraceVerdict.CONFIRMED
    assert (found["hyp-2"].verdict, found["hyp-2"].why) == (TraceVerdict.REFUTED, "isr-members-are-current holds")
    assert found["b09-kip-903"].why == "step 7, controller-applies-alter-partition: INELIGIBLE_REPLICA"
    assert found["hyp-8-loss"].verdict is TraceVerdict.CONFIRMED
    assert found["q37-disk-swap"].verdict is TraceVerdict.NOT_DRIVEN
    why = "disk_swaps is set: Kafka makes no guarantees if files disappear while a broker is running"
    assert found["q37-disk-swap"].why == why
    assert found["b18-kafka-13858"].why == "its property is about whole behaviours"


@pytest.mark.long
@on_kafka
def test_lines_of_kafkas_classes_are_counted() -> None:
    settings = ("--set", "crashes=0", "--set", "shrinks=0")
    made = fencepost("conform", "replication", "--kafka", KAFKA, *settings, "--lines", "--json")
    found = {item["class"]: item for item in data_of(made)["lines"]}
    assert made.exit_code == 0
    assert found["Partition"]["lines_in_all"] > found["Partition"]["executed_lines"] > 300
    assert found["ReplicationControlManager"]["executed_lines"] > 300


@pytest.mark.long
@on_kafka
def test_heap_threads_and_files_stay_bounded_over_a_million_steps() -> None:
    plain, used = interpreter(shrinks=0), []
    histories, initial = covering(plain), plain.initial_states()[0]
    with Driver(release(KAFKA)) as driver:
        execution = Brokers(driver, plain)
        while execution.tally.steps < 1_000_000:
            for history in histories:
                assert execution.run(initial, history) is None
                if execution.tally.steps >= (len(used) + 1) * 100_000:
                    used.append(driver.tell("memory"))
    first, last = used[1], used[-1]
    assert last["heap"] < first["heap"] + (64 << 20)
    assert last["threads"] <= first["threads"] + 2
    assert max(item["files"] for item in used) < 10 << 20


@pytest.mark.long
@on_kafka
@pytest.mark.parametrize("version", RELEASES)
def test_hidden_fields_of_every_release_are_those_that_are_named(version: str) -> None:
    plain = interpreter(RELEASES[version], fences=0)
    with Driver(release(version)) as driver:
        hidden = hidden_fields(driver, plain, covering(plain))
    assert set(hidden.fields) <= set(NAMED)
