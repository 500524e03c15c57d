"""Histories of `quorum` on nodes of Kafka's raft client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.kafka.driver.execute import Difference, Execution
from fencepost.kafka.quorum.mapping import ACTIONS, ASIDE, no_op_of, reset
from fencepost.kafka.quorum.seen import STATE, Seen

if TYPE_CHECKING:
    from fencepost.model.language.interpreter import Interpreter, Step, Transition
    from fencepost.model.language.records import Key


def without_forgotten(plain: Interpreter, state: Key) -> Key:
    """Return a state without what `normalize` forgets."""
    restored = plain.schema.restore(state)
    assert plain.machine.normalize is not None
    plain.machine.normalize(restored, plain.constants)
    return plain.schema.key(restored)


class Nodes(Execution):
    """Nodes of Kafka's classes that follow the model."""

    acts = ACTIONS
    asides = ASIDE
    seen: Seen

    def look(self) -> Seen:
        """Return what is seen before anything is."""
        constants: Any = self.plain.constants
        return Seen(no_op_of(constants), bool(constants.real_votes))

    def reset(self) -> str:
        """Return the line that sets up the nodes."""
        return reset(self.plain.constants)

    def leaves_late(self, step: Step) -> bool:
        """Say that any step may make a node leave a fetch behind."""
        return step.action.name in ACTIONS

    def lose_late(self, expected: Key) -> None:
        """Let fetches never arrive that the model has no room for, or has forgotten."""
        for number in self.seen.late_fetches().beyond(expected[STATE["late_fetches"]]):
            self.ask(f"lose {number}")

    def projected(self, expected: Key) -> tuple[Key, Key]:
        """Return a state of the model and what is seen of it in Kafka, both without what `normalize` forgets."""
        return without_forgotten(self.plain, expected), without_forgotten(self.plain, self.seen.key(expected))

    def settle(self, steps: tuple[Step, ...], transition: Transition) -> Difference | None:
        """Let late fetches never arrive that no leader would serve; states are compared without what `normalize` forgets."""
        self.lose_late(transition.after)
        return self.compare(steps, transition.after)
