"""The mapping of `topic-deltas` to the controller, and to a broker's MetadataBatchLoader and ReplicaManager."""

from typing import Any

from fencepost.kafka.driver.ablation import Ablation, Check, rules_as_built
from fencepost.kafka.driver.execute import Execution, View, acts_of, with_fields
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.language.records import Key, fields
from fencepost.model.topics.machine import MACHINE, Delta, State

RELEASES = {"3.9.2": "kafka-3.8", "4.0.2": "kafka-4.1", "4.1.2": "kafka-4.1"}
RELEASES |= dict.fromkeys(("4.2.1", "4.3.1", "4.4.0"), "kafka-4.2")
PATCHES = {"4.0.0": "kafka-4.0.0"}
STATE, DELTA = ({name: at for at, (name, _) in enumerate(fields(one))} for one in (State, Delta))
DOES: dict[str, str] = {
    "controller_creates_topic": "ReplicationControlManager.createTopics, replayed by MetadataBatchLoader.loadBatch.",
    "controller_deletes_topic": "ReplicationControlManager.deleteTopics, and loadBatch again.",
    "controller_clears_elrs": "ConfigurationControlManager.incrementalAlterConfigs for the cluster's "
    "min.insync.replicas, with ELR.",
    "broker_publishes": "MetadataBatchLoader.maybeFlushBatches. Like BrokerMetadataPublisher, the driver calls "
    "ReplicaManager.applyDelta and AssignmentsManager.onAssignment for each call to "
    "DirectoryEventHandler.handleAssignment.",
    "broker_assigns_directory": "AssignmentsManager.maybeSendAssignments (for this replica), then "
    "ReplicationControlManager.handleAssignReplicasToDirs and AssignmentsManager.handleResponse.",
}
NOT_DRIVEN: dict[str, str] = {}
NOT_COMPARED: dict[str, str] = {"clears": "the model's remaining budget, which has no equivalent in Kafka"}
LIMITS: tuple[str, ...] = ("The broker has two directories; the delay before an assignment request is not Kafka's.",)
AS_BUILT = tuple(name for name, item in MACHINE.constants.declared().items() if isinstance(item.default, bool))
SMALL: dict[str, int] = {}


def rules(version: str) -> dict[str, int]:
    without_elr = {"clears": 0} if version == "kafka-3.8" else {}
    return {**without_elr, **rules_as_built(MACHINE, version, AS_BUILT)}


class TopicsView(View):
    def key(self, expected: Key) -> Key:
        exist = self.state["topic"]
        topic = exist.bit_length() - 1 if exist & (exist - 1) == 0 else ~exist
        delta = with_fields(DELTA, expected[STATE["delta"]], self.state["delta"])
        return with_fields(STATE, expected, {**self.state, "topic": topic, "delta": delta})


class Topics(Execution):
    acts = acts_of(DOES)
    view = TopicsView

    def reset(self) -> str:
        c: Any = self.plain.constants
        return f"reset {int(c.clears > 0)}"


def compared(_: Interpreter, state: Key) -> Key:
    return with_fields(STATE, state, {"clears": 0})


ABLATION = Ablation(
    kafkas={
        ("controller-creates-topic", "s.topic == NONE"): Check(
            "ReplicationControlManager.createTopics", ("TOPIC_ALREADY_EXISTS",)
        ),
        (
            "broker-assigns-directory",
            "topic == s.topic or (c.assignments_need_topics and (not bits.contains(s.image, topic)))",
        ): Check("ReplicationControlManager.handleAssignReplicasToDirs"),
    },
    physical={
        "there is no such topic or replica": (
            ("controller-deletes-topic", "s.topic != NONE"),
            ("broker-assigns-directory", "bits.contains(s.unassigned, topic)"),
        )
    },
    bounds={
        "a budget": (r"s\.clears > 0", r"s\.number < c\.topics"),
        "a delta without changes": (r"d\.changed != 0 .*",),
    },
    not_driven=NOT_DRIVEN,
    rules=AS_BUILT,
    unseen=lambda c: {
        **({} if c.values["clears"] else {"deleted_stay_deleted": "there are no ELRs"}),
        **({"created_by_name": "there is only one topic per name"} if c.values["deletion_undoes_creation"] else {}),
    },
    grounds=lambda _: (SMALL,),
    compared=compared,
)
