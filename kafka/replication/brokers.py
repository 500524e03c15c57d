"""Histories of `replication` on a controller and brokers of Kafka's classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.kafka.driver.execute import Difference, Execution
from fencepost.kafka.replication.mapping import ACTIONS, ASIDE, reset
from fencepost.kafka.replication.seen import REPLICA, STATE, Frame, Seen
from fencepost.model.cluster.state import Life

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.model.language.interpreter import Step, Transition
    from fencepost.model.language.records import Key

GOING_DOWN = ("broker_crashes", "broker_stops")
"""Actions that leave a fetch behind."""


class Brokers(Execution):
    """One cluster of Kafka's classes that follows the model."""

    acts = ACTIONS
    asides = ASIDE
    seen: Seen

    def look(self) -> Seen:
        """Return what is seen before anything is."""
        constants: Any = self.plain.constants
        fixed = (1 << constants.brokers) - (1 << constants.movable)
        return Seen(constants.brokers, constants.max_records, constants.metadata_lag, fixed)

    def reset(self) -> str:
        """Return the line that sets up a cluster."""
        return reset(self.plain.constants)

    def frame(self, initial: Key) -> None:
        """Note the first image's partition epoch."""
        self.seen.frame = Frame(0, self.seen.images[0][2] - initial[STATE["image"]][0][2])

    def leaves_late(self, step: Step) -> bool:
        """Say whether a broker goes down in this step: its fetch may still be on its way."""
        return step.action.name in GOING_DOWN

    def lose_late(self, expected: Key) -> None:
        """Let fetches never arrive that the model has no room for."""
        for number in self.seen.late_fetches().beyond(expected[STATE["late_fetches"]]):
            self.ask(f"lose {number}")

    def ignore(self, transition: Transition) -> None:
        """Deliver answers with a new leader epoch, which the model does not send: the leader ignores them."""
        if transition.step.action.name == "controller_applies_alter_partition":
            for number in self.seen.requests().beyond(transition.raw[STATE["alter_partitions"]]):
                if self.seen.answered(number):
                    self.ask(f"answer {number}")

    def settle(self, steps: tuple[Step, ...], transition: Transition) -> Difference | None:
        """Do in Kafka what `normalize` takes for granted, and compare again.

        Requests that must be refused are refused, answers that nobody waits for arrive, late fetches that nobody serves are
        refused, and metadata that a follower reads alike is applied. None of it may change anything else.
        """
        raw, after = transition.raw, transition.after
        newest = STATE["newest"]
        images = STATE["image"]
        shift = raw[newest] - after[newest]
        down = raw[images][raw[newest]][2] - after[images][after[newest]][2]
        self.seen.frame = Frame(self.seen.frame.image + shift, self.seen.frame.epoch + down)
        for line in list(self._due(after)):
            did = self.ask(line)
            must = line.startswith(("alter", "late"))
            if must and did == "done":
                return Difference(steps, (("normalize", f"`{line}` is refused for good", "it is done"),))
        left = list(self.seen.requests().beyond(after[STATE["alter_partitions"]]))
        for number in left:
            lost = any(
                other not in left for other in self.seen.answered_copies(number)
            )  # the other copy's answer is the one that counts
            self.ask(f"{'drop' if lost else 'answer'} {number}")
        return self.compare(steps, after)

    def _due(self, after: Key) -> Iterator[str]:
        for broker, r in enumerate(after[STATE["replica"]]):
            index = self.seen.frame.image + r[REPLICA["applied"]]
            has_process = r[REPLICA["life"]] == Life.RUNNING or r[REPLICA["early"]] != 0
            if has_process and self.seen.state["brokers"][broker]["applied"] < index:
                yield f"apply {broker} {index}"
        for number in self.seen.requests().beyond(after[STATE["alter_partitions"]]):
            if not self.seen.answered(number):
                yield f"alter {number}"
        for number in self.seen.late_fetches().beyond(after[STATE["late_fetches"]]):
            yield f"late {number}"
            yield f"lose {number}"
