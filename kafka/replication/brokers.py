"""Histories of the model `replication`, executed by a controller and brokers that consist of Kafka's classes."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fencepost.kafka.driver.execute import Difference, Execution, InFlight, View, with_fields
from fencepost.kafka.replication.mapping import ACTIONS, ASIDE, reset
from fencepost.model.cluster.state import Entry, FetchAnswer, Life, Replica, State, Status
from fencepost.model.language import NONE
from fencepost.model.language.interpreter import Step, Transition
from fencepost.model.language.records import Key, fields

STATE = {name: place for place, (name, _) in enumerate(fields(State))}
REPLICA = {name: place for place, (name, _) in enumerate(fields(Replica))}
ENTRIES = len(fields(Entry))
NO_ANSWER = (0,) * len(fields(FetchAnswer))
MISSING = 6
"""Place of the field `missing` in an image."""
SENT, STRAY = "", "STRAY"
STATUS = {SENT: Status.SENT, STRAY: Status.STRAY, "NONE": Status.APPLIED, "INELIGIBLE_REPLICA": Status.INELIGIBLE}
"""Status of an AlterPartition request, by error code of the answer; other codes mean REFUSED."""


class Frame(NamedTuple):
    """Kafka's values that correspond to 0 in the model: the number of the first image and its partition epoch."""

    image: int = 0
    epoch: int = 0


@dataclass
class BrokersView(View):
    """The driver's last answer, and all images of the controller."""

    brokers: int
    records: int
    fixed: int = 0
    """Bit mask of the brokers that always keep their replicas."""
    frame: Frame = field(default_factory=Frame)
    images: list[list[Any]] = field(default_factory=list)

    def take(self, state: dict[str, Any]) -> None:
        self.images += state["images"]
        super().take(state)

    def requests(self) -> InFlight:
        return InFlight((self._message(rest), number) for number, *rest in self.state["requests"])

    def _message(self, told: list[Any]) -> Key:
        error, leader, broker_epoch, leader_epoch, partition_epoch, isr, raised, members, _ = told
        status = STATUS.get(error, Status.REFUSED)
        epochs = tuple(members) if status in (Status.SENT, Status.STRAY) else (0,) * self.brokers
        epoch = partition_epoch - self.frame.epoch
        return (int(status), leader, broker_epoch, leader_epoch, epoch, isr, raised, epochs)

    def answered(self, number: int) -> bool:
        return any(told[0] == number and told[1] not in (SENT, STRAY) for told in self.state["requests"])

    def answered_copies(self, number: int) -> list[int]:
        """Return the numbers of the other copies of a request that have been answered."""
        content = next(told[2:7] for told in self.state["requests"] if told[0] == number)
        return [
            told[0]
            for told in self.state["requests"]
            if told[0] != number and told[1] not in (SENT, STRAY) and told[2:7] == content
        ]

    def key(self, expected: Key) -> Key:
        brokers = zip(self.state["brokers"], expected[STATE["replica"]], strict=True)
        found = {
            **{name: self.state[name] for name in ("elr", "offline", "adding", "removing", "written")},
            "image": self._window(len(expected[STATE["image"]])),
            "newest": len(self.images) - 1 - self.frame.image,
            "last_known_leader": self.state["last"],
            "replica": tuple(self._replica(told, was) for told, was in brokers),
            "alter_partitions": self.requests().bag(),
            "late_fetches": self.flying("late").bag(),
            "late_answers": self.flying("lateAnswers").bag(),
            "ghost_acknowledged": self.state["acknowledged"],
        }
        return with_fields(STATE, expected, found)

    def _window(self, room: int) -> Key:
        found = [self._image(told) for told in self.images[self.frame.image :]]
        empty = (0, 0, 0, 0, 0, 0, 0, 0, (0,) * self.brokers)
        return tuple(found + [empty] * (room - len(found)))

    def _image(self, told: list[Any]) -> Key:
        leader, leader_epoch, partition_epoch, isr, fenced, stopping, missing, raised, epochs = told
        epoch = partition_epoch - self.frame.epoch
        return (leader, leader_epoch, epoch, isr, fenced, stopping, missing, raised, tuple(epochs))

    def _replica(self, told: dict[str, Any], expected: Key) -> Key:
        log = [(record, epoch) for record, epoch in told["log"]]
        runs, leads = "applied" in told, "isr" in told
        waiting, unknown = dict(told.get("waiting", ())), ((NONE, 0, NONE),) * self.brokers
        found = {
            **{name: told[name] for name in ("life", "moved", "checkpoint")},
            "early": int(runs and told["life"] != Life.RUNNING),
            "applied": told["applied"] - self.frame.image if runs else 0,
            "raised": told.get("raised", expected[REPLICA["raised"]] if runs else 0),
            "offline": int(told["offline"]),
            "log": tuple(log + [(0,) * ENTRIES] * (self.records - len(log))),
            "end": len(log),
            "start": told["first"],
            "high_watermark": told["hw"],
            "isr": told["isr"] if leads else 0,
            "partition_epoch": told["role"][2] - self.frame.epoch if leads else 0,
            "proposed_isr": told["proposed"] if leads else 0,
            "epoch_start": told["start"] if leads else 0,
            "recent": told["recent"] if leads else 0,
            "follower": tuple(map(tuple, told["followers"])) if leads else unknown,
            "waiting": tuple(waiting.get(offset, 0) for offset in range(self.records)),
            "answer": tuple(told.get("answer") or NO_ANSWER),
        }
        return with_fields(REPLICA, expected, found)

    def contradictions(self) -> list[str]:
        found = []
        for number, told in enumerate(self.state["brokers"]):
            if "applied" not in told:
                continue
            image = self.images[told["applied"]]
            if told["image"] != image:
                found.append(f"broker {number} has applied {image}, but its MetadataImage is {told['image']}")
            if (told["role"] is None) != bool(image[MISSING] & 1 << number or told["offline"]):
                found.append(f"broker {number} has applied {image}, but its Partition is {told['role'] or 'missing'}")
            if told["role"] is None:
                continue
            leads, leader_epoch, _ = told["role"]
            if leads != (image[0] == number) or leader_epoch != image[1]:
                found.append(f"broker {number} has applied {image}, but its Partition is {told['role']}")
            if leads and told["maximal"] != told["isr"] | told["proposed"]:
                found.append(f"the maximal ISR of broker {number} is {told['maximal']}")
            if told["failed"]:
                found.append(f"broker {number} no longer fetches: its partition is marked as failed")
        return found


LEAVING = ("broker_crashes", "broker_stops", "broker_applies_metadata", "broker_registers", "log_directory_fails")


class Brokers(Execution):
    acts = ACTIONS
    asides = ASIDE
    leaving = LEAVING
    late = ((STATE["late_fetches"], "late", "lose"), (STATE["late_answers"], "lateAnswers", "forget"))
    seen: BrokersView

    def look(self) -> BrokersView:
        constants: Any = self.plain.constants
        fixed = (1 << constants.brokers) - (1 << constants.movable)
        return BrokersView(constants.brokers, constants.max_records, fixed)

    def reset(self) -> str:
        return reset(self.plain.constants)

    def frame(self, initial: Key) -> None:
        self.seen.frame = Frame(0, self.seen.images[0][2] - initial[STATE["image"]][0][2])

    def ignore(self, transition: Transition) -> None:
        """Deliver answers with a new leader epoch. The model never sends them, because leaders ignore them."""
        if transition.step.action.name == "controller_applies_alter_partition":
            for number in self.seen.requests().beyond(transition.raw[STATE["alter_partitions"]]):
                if self.seen.answered(number):
                    self.ask(f"answer {number}")

    def settle(self, steps: tuple[Step, ...], transition: Transition) -> Difference | None:
        """Bring Kafka to the state that `normalize` assumes, and compare again.

        This delivers requests that must be rejected and answers that no leader awaits, rejects late fetches that no
        leader serves, and applies metadata that changes nothing for a follower. These steps must have no other effect.
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
                return Difference(steps, (("normalize", f"`{line}` is refused repeatedly", "it is done"),))
        left = list(self.seen.requests().beyond(after[STATE["alter_partitions"]]))
        for number in left:
            lost = any(
                other not in left for other in self.seen.answered_copies(number)
            )  # the answer to the other copy counts
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
        for number in self.seen.flying("late").beyond(after[STATE["late_fetches"]]):
            yield f"late {number}"
            yield f"lose {number}"
