"""The mapping of `tiers` to UnifiedLog and RemoteLogManager's tasks. The driver decides elections and ISRs."""

from typing import Any

from fencepost.kafka.driver.ablation import Ablation, read_sizes, rules_as_built
from fencepost.kafka.driver.execute import Execution, View, acts_of, with_fields
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.language.records import Key, fields
from fencepost.model.tiers.machine import MACHINE
from fencepost.model.tiers.state import Replica, State, Tier

RELEASES: dict[str, str] = {"4.1.2": "kafka-4.3", "4.2.1": "kafka-4.3", "4.3.1": "kafka-4.3", "4.4.0": "kafka-4.4"}
STATE, REPLICA, TIER = ({name: at for at, (name, _) in enumerate(fields(one))} for one in (State, Replica, Tier))

NOT_DRIVEN: dict[str, str] = {
    "broker_fails_copy": "the store accepts every copy",
    "broker_moves_local_start": "in the supported releases, the local log start moves first",
    "leader_moves_directory": "a log stays in its directory",
}
_DRIVEN = [item for item in MACHINE.actions if item.name not in NOT_DRIVEN]
ACTIONS = acts_of({item.name: f"FencepostTiers.act executes {item.label}." for item in _DRIVEN})
NOT_COMPARED: dict[str, str] = {
    "replica.moved": NOT_DRIVEN["leader_moves_directory"],
    "replica.copied of a follower": "a follower's value is not read before its election, when it gets a new task",
    "budget": "the model's remaining budget, which has no equivalent in Kafka",
    "tier.ghost_deleted, ghost_early, ghost_low": "exist only in the model",
}
LIMITS: tuple[str, ...] = (
    "The driver computes the leader's high watermark and where logs diverge, as Partition and the fetcher thread do.",
    "In the model, at most one finished and one unfinished copy of an epoch start at an offset; others are merged.",
    "A rebuilt follower gets its epochs from the leader, not from the tier's index.",
)
AS_DRIVEN = {"segment": 1, "failures": 0, "moves": 0, "late_copies": 0}
AS_BUILT = tuple(name for name, item in MACHINE.constants.declared().items() if isinstance(item.default, bool))
SMALL: dict[str, int] = {"log_size": 2, "retention": 1, "unclean": 1}


def rules(version: str) -> dict[str, int]:
    return {**AS_DRIVEN, **rules_as_built(MACHINE, version, AS_BUILT)}


class LogsView(View):
    def key(self, expected: Key) -> Key:
        replicas = zip(self.state["replica"], expected[STATE["replica"]], strict=True)
        found = {
            **self.state,
            "replica": tuple(self._replica(log, was, broker) for broker, (log, was) in enumerate(replicas)),
            "tier": tuple(self._tier(epoch, was) for epoch, was in enumerate(expected[STATE["tier"]])),
        }
        return with_fields(STATE, expected, found)

    def _replica(self, told: dict[str, Any], expected: Key, broker: int) -> Key:
        after = len(expected[REPLICA["log"]]) - told["end"]
        copying = dict(zip(("copying", "copying_end", "copying_epoch"), told["copying"], strict=True))
        log = tuple((epoch,) for epoch in [0] * told["start"] + told["log"] + [0] * after)
        copied = told["copied"] if broker == self.state["leader"] else expected[REPLICA["copied"]]
        return with_fields(REPLICA, expected, {**told, **copying, "copied": copied, "log": log})

    def _tier(self, epoch: int, expected: Key) -> Key:
        segments = [[0, 0] for _ in expected[TIER["segment"]]]
        for _, start, end, begun in filter(lambda one: one[0] == epoch, self.state["tier"]):
            segments[start][begun] = end
        highest = dict(enumerate(self.state["highest"])).get(epoch, 0)
        return with_fields(TIER, expected, {"segment": tuple(map(tuple, segments)), "highest": highest})


class Logs(Execution):
    acts = ACTIONS
    view = LogsView

    def reset(self) -> str:
        c: Any = self.plain.constants
        return f"reset {c.brokers} {c.retention}"


def compared(_: Interpreter, state: Key) -> Key:
    replicas = tuple(with_fields(REPLICA, one, {"moved": 0}) for one in state[STATE["replica"]])
    tier = tuple(with_fields(TIER, one, {"ghost_deleted": 0}) for one in state[STATE["tier"]])
    return with_fields(STATE, state, {"replica": replicas, "tier": tier, "budget": 0, "ghost_early": 0, "ghost_low": 0})


ABLATION = Ablation(
    bounds={"guards are not classified: only rules are varied": (r"[\s\S]*",)},
    not_driven=NOT_DRIVEN,
    rules=AS_BUILT,
    unseen=lambda _: {
        "move_is_noticed": NOT_DRIVEN["leader_moves_directory"],
        "log_start_is_monotonic": "segments of one record do not overlap",
    },
    grounds=lambda _: read_sizes("log_size=2 retention=1 unclean=1 restarts=1", "log_size=3 retention=1 deletions=1"),
    compared=compared,
)
