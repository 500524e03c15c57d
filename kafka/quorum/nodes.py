"""Histories of `quorum` on nodes of Kafka's raft client, and the nodes as a state of the model."""

from dataclasses import dataclass, field
from typing import Any

from fencepost.kafka.driver.execute import Difference, Execution, InFlight
from fencepost.kafka.quorum.mapping import ACTIONS, ASIDE, no_op_of, reset
from fencepost.model.language import NONE
from fencepost.model.language.interpreter import Interpreter, Step, Transition
from fencepost.model.language.records import Key, fields
from fencepost.model.quorum.state import Entry, Fetch, Node, Phase, State

STATE = {name: place for place, (name, _) in enumerate(fields(State))}
NODE = {name: place for place, (name, _) in enumerate(fields(Node))}
FETCH = {name: place for place, (name, _) in enumerate(fields(Fetch))}
LEADER_IS_KNOWN = -2
"""The vote of a node that knows its epoch's leader: its election state file has no vote then, or an old one."""
NO_FETCH = (0,) * len(FETCH)
NO_ENTRY = (0,) * len(fields(Entry))


@dataclass
class NodesView:
    """The driver's last answer. `no_op` is the number of a NoOp record; `votes`, `listeners`: what is compared."""

    no_op: int
    votes: bool
    listeners: bool
    state: dict[str, Any] = field(default_factory=dict)

    def take(self, state: dict[str, Any]) -> None:
        """Adopt the driver's answer."""
        self.state = state

    def late_fetches(self) -> InFlight:
        """Return the fetches whose sender has moved on."""
        return InFlight((tuple(rest), number) for number, *rest in self.state["late"])

    def key(self, expected: Key) -> Key:
        """Return the observation as a state of the model; parts that are not compared are copied from `expected`."""
        state = list(expected)
        state[STATE["node"]] = tuple(
            self._node(told, was) for told, was in zip(self.state["nodes"], expected[STATE["node"]], strict=True)
        )
        state[STATE["written"]] = self.state["written"]
        state[STATE["late_fetches"]] = self.late_fetches().bag()
        return tuple(state)

    def _node(self, told: dict[str, Any], expected: Key) -> Key:
        n = list(expected)
        if told["failed"]:
            n[NODE["failed"]] = 1
            return tuple(n)
        log = [(record, epoch) for record, epoch in told["log"]]
        known = dict(told["known"])
        follows = told["leader"] != NONE
        n[NODE["role"]] = told["role"]
        n[NODE["epoch"]] = told["epoch"]
        n[NODE["leader"]] = told["leader"]
        if self.votes and told["voted"] != LEADER_IS_KNOWN:
            n[NODE["voted"]] = told["voted"]
        n[NODE["granted"]] = told["granted"]
        n[NODE["lost"]] = told["lost"]
        n[NODE["active"]] = told["active"] if self.listeners else 0
        n[NODE["failed"]] = 0
        n[NODE["fetched"]] = int((follows or told["lost"]) and told["fetched"])
        first, was = told["first"], expected[NODE["log"]]
        end = first + len(log)
        n[NODE["log"]] = (*was[:first], *log, *[NO_ENTRY] * (len(was) - end))
        n[NODE["start"]] = first
        n[NODE["end"]] = end
        n[NODE["high_watermark"]] = told["hw"]
        n[NODE["epoch_start"]] = told["start"]
        n[NODE["known_end"]] = tuple(known.get(node, NONE) for node in range(len(expected[NODE["known_end"]])))
        n[NODE["fetch"]] = self._fetch(told["fetch"], expected[NODE["fetch"]]) if follows else NO_FETCH
        return tuple(n)

    @staticmethod
    def _fetch(told: list[Any], expected: Key) -> Key:
        phase, *answer = told
        fetch = list(NO_FETCH)
        fetch[FETCH["phase"]] = phase
        if phase == Phase.ANSWERED:
            for name, value in zip(("diverging", "snapshot", "end", "high_watermark"), answer, strict=False):
                fetch[FETCH[name]] = value
        elif phase == Phase.PARKED and expected[FETCH["phase"]] == Phase.PARKED:
            fetch = list(expected)
        return tuple(fetch)

    def contradictions(self) -> list[str]:
        """Return contradictions within Kafka: a leader that answers its follower with an error."""
        found = []
        for number, told in enumerate(self.state["nodes"]):
            if told["leader"] != NONE and told["fetch"][0] == Phase.ANSWERED and told["fetch"][-1] != "NONE":
                found.append(f"node {number} is answered {told['fetch'][-1]} by its leader")
        return found


def without_forgotten(plain: Interpreter, state: Key) -> Key:
    """Return a state without the parts that `normalize` forgets."""
    restored = plain.schema.restore(state)
    assert plain.machine.normalize is not None
    plain.machine.normalize(restored, plain.constants)
    return plain.schema.key(restored)


class Nodes(Execution):
    """Nodes of Kafka's classes that follow the model."""

    acts = ACTIONS
    asides = ASIDE
    seen: NodesView

    def look(self) -> NodesView:
        """Return an empty observation."""
        constants: Any = self.plain.constants
        return NodesView(no_op_of(constants), bool(constants.real_votes), bool(constants.listeners))

    def reset(self) -> str:
        """Return the command that sets up the nodes."""
        return reset(self.plain.constants)

    def leaves_late(self, step: Step) -> bool:
        """Return whether a step may leave a late fetch: any step may."""
        return step.action.name in ACTIONS

    def lose_late(self, expected: Key) -> None:
        """Drop fetches for which the model has no capacity, or that it has forgotten."""
        for number in self.seen.late_fetches().beyond(expected[STATE["late_fetches"]]):
            self.ask(f"lose {number}")

    def projected(self, expected: Key) -> tuple[Key, Key]:
        """Return a state of the model and its observation in Kafka, both without the parts that `normalize` forgets."""
        return without_forgotten(self.plain, expected), without_forgotten(self.plain, self.seen.key(expected))

    def settle(self, steps: tuple[Step, ...], transition: Transition) -> Difference | None:
        """Drop late fetches that no leader would serve: states are compared without forgotten parts."""
        self.lose_late(transition.after)
        return self.compare(steps, transition.after)
