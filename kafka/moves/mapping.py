"""The mapping of `directory-moves` to a broker's ReplicaManager and AssignmentsManager, and to a controller."""

from fencepost.kafka.driver.ablation import Ablation, read_sizes
from fencepost.kafka.driver.execute import Difference, Execution, View, acts_of, with_fields
from fencepost.model.language.interpreter import Interpreter, Step, Transition
from fencepost.model.language.records import Key, fields
from fencepost.model.moves.machine import MACHINE, Broker, State

RELEASES: dict[str, str] = dict.fromkeys(("3.9.2", "4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0"), "kafka-4.4")
STATE, BROKER = ({name: at for at, (name, _) in enumerate(fields(one))} for one in (State, Broker))
DOES: dict[str, str] = {
    "leader_appends": "ReplicaManager.appendRecords with acks=all.",
    "partition_changes": "ReplicationControlManager.replay of a record that contains the same ISR.",
    "controller_elects": "ReplicationControlManager.processBrokerHeartbeat, which unfences the broker. If the broker "
    "is not fenced: maybeBalancePartitionLeaders.",
    "broker_moves_replica": "ReplicaManager.alterReplicaLogDirs.",
    "broker_copies": "ReplicaAlterLogDirsThread.doWork.",
    "broker_sends_assignment": "AssignmentsManager.maybeSendAssignments.",
    "controller_assigns_directory": "ReplicationControlManager.handleAssignReplicasToDirs.",
    "broker_gets_answer": "AssignmentsManager.handleResponse.",
    "broker_applies_metadata": "ReplicaManager.applyDelta with all records that it has not applied.",
    "directory_fails": "ReplicaManager.handleLogDirFailure and ReplicationControlManager.handleDirectoriesOffline.",
    "broker_is_killed": "The broker's files are closed. The broker is fenced and registered (ClusterControlManager), "
    "and started: LogManager.startup, LogManager.recoverAbandonedFutureLogs and ReplicaManager.applyDelta.",
}
NOT_DRIVEN: dict[str, str] = {}
NOT_COMPARED: dict[str, str] = {
    "broker.changed if broker.reassigned": "the broker applies both at once",
    "budget": "the model's remaining budget, which has no equivalent in Kafka",
    "ghost_acknowledged": "exists only in the model",
}
LIMITS: tuple[str, ...] = (
    "The driver writes the partition's other changes; Kafka's controller would also elect the replica if it could.",
    "Background tasks run immediately. After a kill, a log or copy that has no partition.metadata yet is stray.",
    "A killed broker registers before it loads its logs, and flushes nothing, but keeps everything that was written.",
)
AS_BUILT = tuple(name for name, item in MACHINE.constants.declared().items() if isinstance(item.default, bool))
SMALL: dict[str, int] = {"failures": 1}


class BrokerView(View):
    def key(self, expected: Key) -> Key:
        was = expected[STATE["broker"]]
        told = {name: tuple(value) if isinstance(value, list) else value for name, value in self.state.items()}
        hidden = {"changed": was[BROKER["changed"]]} if told["reassigned"] else {}
        broker = with_fields(BROKER, was, {**told, **hidden, "leads": told["led"]})
        return with_fields(STATE, expected, {**told, "broker": broker})

    def contradictions(self) -> list[str]:
        return []


class Directories(Execution):
    acts = acts_of(DOES)
    view = BrokerView

    def reset(self) -> str:
        return "reset"

    def settle(self, steps: tuple[Step, ...], transition: Transition) -> Difference | None:
        return self.compare(steps, transition.after)


def compared(_: Interpreter, state: Key) -> Key:
    return with_fields(STATE, state, {"budget": 0, "ghost_acknowledged": 0})


ABLATION = Ablation(
    bounds={"guards are not classified: only rules are varied": (r"[\s\S]*",)},
    not_driven=NOT_DRIVEN,
    rules=AS_BUILT,
    unseen=lambda _: {},
    grounds=lambda _: read_sizes("changes=1", "failures=1 kills=0"),
    compared=compared,
)
