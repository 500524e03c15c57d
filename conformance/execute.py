"""Histories of the model, executed on Kafka's classes and compared state by state."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fencepost.conformance.mapping import ACTIONS, reset
from fencepost.conformance.seen import REPLICA, STATE, Frame, Seen
from fencepost.counterexamples.states import changes
from fencepost.model.cluster.state import Life
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fencepost.conformance.driver import Driver
    from fencepost.model.language.interpreter import Interpreter, Step, Transition
    from fencepost.model.language.records import Key


GOING_DOWN = ("broker_crashes", "broker_stops")
"""Actions that leave a fetch behind."""
ASIDE = (
    "the logs diverge over an epoch without records",
    "a broker that is down and not fenced yet holds up a controlled shutdown",
)
"""What Kafka refuses where the model does not, by limits that `mapping.LIMITS` explains."""


class SetAsideError(Exception):
    """Kafka went on in a way that the model leaves out, by a limit that is named."""


@dataclass(frozen=True)
class Difference:
    """Where Kafka departs from the model: the last of `steps` leads to what differs.

    `rows` has what differs: the part of the state, its value in the model, its value in Kafka.
    """

    steps: tuple[Step, ...]
    rows: tuple[tuple[str, str, str], ...]

    @property
    def action(self) -> str:
        """The action after which the two differ."""
        return self.steps[-1].action.label if self.steps else "initial"

    @property
    def kind(self) -> tuple[str, str]:
        """What differs after which action, whichever broker it is: differences of one kind are told once."""
        return self.action, re.sub(r"[0-9]+", "", self.rows[0][0])


@dataclass
class Tally:
    """What was executed."""

    histories: int = 0
    steps: int = 0
    compared: int = 0
    settled: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    aside: Counter[str] = field(default_factory=Counter)
    """Histories that were not followed further, by the limit that is in the way."""

    def add(self, other: Tally) -> None:
        """Take over what somebody else has counted."""
        self.histories += other.histories
        self.steps += other.steps
        self.compared += other.compared
        self.settled += other.settled
        self.actions.update(other.actions)
        self.aside.update(other.aside)


class Execution:
    """One cluster of Kafka's classes that follows the model."""

    def __init__(self, driver: Driver, plain: Interpreter) -> None:
        self.driver, self.plain = driver, plain
        self.tally = Tally()
        constants: Any = plain.constants
        self._sizes = (constants.brokers, constants.max_records, constants.metadata_lag)
        self._reset = reset(plain.constants)
        self.seen = Seen(*self._sizes)
        self.why = ""
        self.at: Key = ()
        """The state of the model up to which Kafka has followed."""

    def begin(self, initial: Key) -> Difference | None:
        """Set up a new cluster; return how it differs from the model's initial state."""
        self.seen = Seen(*self._sizes)
        self.seen.take(self.driver.ask(self._reset)["state"])
        self.seen.frame = Frame(0, self.seen.images[0][2] - initial[STATE["image"]][0][2])
        self.tally.histories += 1
        self.at = initial
        return self._compare((), initial)

    def ask(self, line: str) -> str:
        """Have one thing done; return done, refused or untried, with the reason in `why`."""
        answer = self.driver.ask(line)
        self.seen.take(answer["state"])
        self.why = answer["why"]
        return str(answer["did"])

    def line(self, step: Step) -> str:
        """Return what is done to Kafka for a step of the model."""
        found = self.line_of(step)
        if not found:
            raise UsageError(f"the step `{self.plain.show(step)}` cannot be driven: nothing is done to Kafka for this action.")
        return found

    def line_of(self, step: Step) -> str:
        """Return what is done to Kafka for a step, an empty string if nothing is."""
        act = ACTIONS.get(step.action.name)
        return act.line(self.seen, *step.args) if act is not None else ""

    def set_aside(self, did: str) -> str:
        """Return why what was done cannot be compared, by a limit that is named; an empty string if it can."""
        return self.why if did == "refused" and self.why in ASIDE else ""

    def step(self, taken: Sequence[Step], transition: Transition) -> Difference | None:
        """Execute a step that the model allows; return the difference after it, if there is one."""
        did = self.ask(self.line(transition.step))
        steps = (*taken, transition.step)
        self.tally.steps += 1
        aside = self.set_aside(did)
        if aside:
            self.tally.aside[aside] += 1
            raise SetAsideError(aside)
        self.tally.actions[transition.step.action.label] += 1
        if transition.step.action.name in GOING_DOWN:
            self.lose_late(transition.raw)
        found = self._compare(steps, transition.raw)
        if found is not None and did != "done":
            found = Difference(steps, (("the step", "happens", f"{did}: {self.why}"), *found.rows))
        if found is None and transition.raw != transition.after:
            self.tally.settled += 1
            found = self._settle(steps, transition)
        self.at = transition.after
        if found is None:
            self.followed()
        return found

    def followed(self) -> None:
        """Kafka has followed to `at`; who wants to see more of it there overrides this."""

    def lose_late(self, expected: Key) -> None:
        """Let fetches never arrive that the model has no room for."""
        for number in self._left(expected, "late"):
            self.ask(f"lose {number}")

    def _compare(self, steps: tuple[Step, ...], expected: Key) -> Difference | None:
        self.tally.compared += 1
        told = self.seen.contradictions()
        if told:
            return Difference(steps, (("Kafka", "agrees with itself", "; ".join(told)),))
        found = self.seen.key(expected)
        if found == expected:
            return None
        rows = [
            (f"{item.label}.{item.name}".strip("."), item.old or "-", item.new or "-")
            for item in changes(self.plain.machine.state, expected, found)
        ]
        return Difference(steps, tuple(rows))

    def _settle(self, steps: tuple[Step, ...], transition: Transition) -> Difference | None:
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
        left = self._left(after, "requests")
        for number in left:
            lost = any(
                other not in left for other in self.seen.answered_copies(number)
            )  # the other copy's answer is the one that counts
            self.ask(f"{'drop' if lost else 'answer'} {number}")
        return self._compare(steps, after)

    def _due(self, after: Key) -> Iterator[str]:
        for broker, r in enumerate(after[STATE["replica"]]):
            index = self.seen.frame.image + r[REPLICA["applied"]]
            if r[REPLICA["life"]] == Life.RUNNING and self.seen.state["brokers"][broker]["applied"] < index:
                yield f"apply {broker} {index}"
        for number in self._left(after, "requests"):
            if not self.seen.answered(number):
                yield f"alter {number}"
        for number in self._left(after, "late"):
            yield f"late {number}"
            yield f"lose {number}"

    def _left(self, after: Key, which: str) -> list[int]:
        """Return the numbers of messages that are in flight in Kafka and not in the model any more."""
        found = self.seen.requests() if which == "requests" else self.seen.late_fetches()
        kept = list(after[STATE["alter_partitions" if which == "requests" else "late_fetches"]])
        left = []
        for message, numbers in found.items():
            left += numbers[kept.count(message) :]
        return left

    def run(self, initial: Key, history: Iterable[Transition]) -> Difference | None:
        """Execute a history from the beginning; return the first difference."""
        found = self.begin(initial)
        taken: list[Step] = []
        for transition in history:
            if found is not None:
                break
            try:
                found = self.step(taken, transition)
            except SetAsideError:
                break
            taken.append(transition.step)
        return found
