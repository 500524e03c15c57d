"""Histories of the model `quorum`, executed by nodes with Kafka's raft client; their states become model states."""

from dataclasses import dataclass
from typing import Any

from fencepost.kafka.driver.execute import Difference, Execution, View, with_fields
from fencepost.kafka.quorum.mapping import ACTIONS, ASIDE, no_op_of, reset
from fencepost.model.language import NONE
from fencepost.model.language.interpreter import Interpreter, Step, Transition
from fencepost.model.language.records import Key, fields
from fencepost.model.quorum.state import Entry, Fetch, Node, Phase, State

STATE = {name: place for place, (name, _) in enumerate(fields(State))}
NODE = {name: place for place, (name, _) in enumerate(fields(Node))}
FETCH = {name: place for place, (name, _) in enumerate(fields(Fetch))}
LEADER_IS_KNOWN = -2
"""The vote of a node that knows its epoch's leader but has no vote, or an old one, in its election state file."""
NO_FETCH = (0,) * len(FETCH)
NO_ENTRY = (0,) * len(fields(Entry))


@dataclass
class NodesView(View):
    """The driver's last answer. `no_op` is the number of NoOp records; `votes` and `listeners` are compared if true."""

    no_op: int
    votes: bool
    listeners: bool

    def key(self, expected: Key) -> Key:
        nodes = zip(self.state["nodes"], expected[STATE["node"]], strict=True)
        found = {
            "node": tuple(self._node(told, was) for told, was in nodes),
            "written": self.state["written"],
            "late_fetches": self.flying("late").bag(),
        }
        return with_fields(STATE, expected, found)

    def _node(self, told: dict[str, Any], expected: Key) -> Key:
        if told["failed"]:
            return with_fields(NODE, expected, {"failed": 1})
        log = [(record, epoch) for record, epoch in told["log"]]
        known = dict(told["known"])
        follows = told["leader"] != NONE
        first, was = told["first"], expected[NODE["log"]]
        end = first + len(log)
        found = {
            **{name: told[name] for name in ("role", "epoch", "leader", "granted", "lost")},
            "active": told["active"] if self.listeners else 0,
            "failed": 0,
            "fetched": int((follows or told["lost"]) and told["fetched"]),
            "log": (*was[:first], *log, *[NO_ENTRY] * (len(was) - end)),
            "start": first,
            "end": end,
            "high_watermark": told["hw"],
            "epoch_start": told["start"],
            "known_end": tuple(known.get(node, NONE) for node in range(len(expected[NODE["known_end"]]))),
            "fetch": self._fetch(told["fetch"], expected[NODE["fetch"]]) if follows else NO_FETCH,
        }
        if self.votes and told["voted"] != LEADER_IS_KNOWN:
            found["voted"] = told["voted"]
        return with_fields(NODE, expected, found)

    @staticmethod
    def _fetch(told: list[Any], expected: Key) -> Key:
        phase, *answer = told
        if phase == Phase.PARKED and expected[FETCH["phase"]] == Phase.PARKED:
            return expected
        names = ("diverging", "snapshot", "end", "high_watermark") if phase == Phase.ANSWERED else ()
        return with_fields(FETCH, NO_FETCH, {"phase": phase, **dict(zip(names, answer, strict=False))})

    def contradictions(self) -> list[str]:
        found = []
        for number, told in enumerate(self.state["nodes"]):
            if told["leader"] != NONE and told["fetch"][0] == Phase.ANSWERED and told["fetch"][-1] != "NONE":
                found.append(f"node {number} gets the error {told['fetch'][-1]} from its leader")
        return found


def without_forgotten(plain: Interpreter, state: Key) -> Key:
    restored = plain.schema.restore(state)
    assert plain.machine.normalize is not None
    plain.machine.normalize(restored, plain.constants)
    return plain.schema.key(restored)


class Nodes(Execution):
    acts = ACTIONS
    asides = ASIDE
    leaving = ACTIONS
    late = ((STATE["late_fetches"], "late", "lose"),)
    seen: NodesView

    def look(self) -> NodesView:
        constants: Any = self.plain.constants
        return NodesView(no_op_of(constants), bool(constants.real_votes), bool(constants.listeners))

    def reset(self) -> str:
        return reset(self.plain.constants)

    def projected(self, expected: Key) -> tuple[Key, Key]:
        return without_forgotten(self.plain, expected), without_forgotten(self.plain, self.seen.key(expected))

    def settle(self, steps: tuple[Step, ...], transition: Transition) -> Difference | None:
        """Drop late fetches that no leader would serve, and compare again."""
        self.lose_late(transition.after)
        return self.compare(steps, transition.after)
