"""What is seen of Kafka's objects, as a state of the model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from fencepost.kafka.driver.in_flight import InFlight
from fencepost.model.cluster.state import Entry, FetchAnswer, Life, Replica, State, Status
from fencepost.model.language import NONE
from fencepost.model.language.records import fields

if TYPE_CHECKING:
    from fencepost.model.language.records import Key

STATE = {name: place for place, (name, _) in enumerate(fields(State))}
REPLICA = {name: place for place, (name, _) in enumerate(fields(Replica))}
ENTRIES = len(fields(Entry))
NO_ANSWER = (0,) * len(fields(FetchAnswer))
MISSING = 6
"""Where an image says who has no replica."""
SENT, STRAY = "", "STRAY"
STATUS = {SENT: Status.SENT, STRAY: Status.STRAY, "NONE": Status.APPLIED, "INELIGIBLE_REPLICA": Status.INELIGIBLE}
"""The status of an AlterPartition by the answer's error code; any other code is REFUSED."""


class Frame(NamedTuple):
    """What the model counts from: the number of the image that is its first, and its partition epoch."""

    image: int = 0
    epoch: int = 0


@dataclass
class Seen:
    """The last answer of the driver, and the controller's images from the beginning."""

    brokers: int
    records: int
    lag: int
    fixed: int = 0
    """Brokers that keep their replicas whatever operators do, as bits."""
    frame: Frame = field(default_factory=Frame)
    images: list[list[Any]] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)

    def take(self, state: dict[str, Any]) -> None:
        """Take over what the driver has answered."""
        self.images += state["images"]
        self.state = state

    def requests(self) -> InFlight:
        """Return the AlterPartition messages in flight."""
        return InFlight((self._message(rest), number) for number, *rest in self.state["requests"])

    def _message(self, told: list[Any]) -> Key:
        error, leader, broker_epoch, leader_epoch, partition_epoch, isr, raised, members, _ = told
        status = STATUS.get(error, Status.REFUSED)
        epochs = tuple(members) if status in (Status.SENT, Status.STRAY) else (0,) * self.brokers
        return (
            int(status),
            leader,
            broker_epoch,
            leader_epoch,
            partition_epoch - self.frame.epoch,
            isr,
            raised,
            epochs,
        )

    def answered(self, number: int) -> bool:
        """Say whether the controller has answered this request."""
        return any(told[0] == number and told[1] not in (SENT, STRAY) for told in self.state["requests"])

    def answered_copies(self, number: int) -> list[int]:
        """Return the numbers of other copies of this request that are answered."""
        content = next(told[2:7] for told in self.state["requests"] if told[0] == number)
        return [
            told[0]
            for told in self.state["requests"]
            if told[0] != number and told[1] not in (SENT, STRAY) and told[2:7] == content
        ]

    def late_fetches(self) -> InFlight:
        """Return the fetches whose sender is down."""
        return InFlight((tuple(rest), number) for number, *rest in self.state["late"])

    def key(self, expected: Key) -> Key:
        """Return the state of the model that is seen; what is not compared is taken from `expected`."""
        state = list(expected)
        newest = len(self.images) - 1 - self.frame.image
        state[STATE["image"]] = self._window(len(expected[STATE["image"]]))
        state[STATE["newest"]] = newest
        state[STATE["elr"]] = self.state["elr"]
        state[STATE["last_known_leader"]] = self.state["last"]
        state[STATE["adding"]] = self.state["adding"]
        state[STATE["removing"]] = self.state["removing"]
        state[STATE["replica"]] = tuple(
            self._replica(told, was)
            for told, was in zip(self.state["brokers"], expected[STATE["replica"]], strict=True)
        )
        state[STATE["alter_partitions"]] = self.requests().bag()
        state[STATE["late_fetches"]] = self.late_fetches().bag()
        state[STATE["written"]] = self.state["written"]
        state[STATE["ghost_acknowledged"]] = self.state["acknowledged"]
        return tuple(state)

    def _window(self, room: int) -> Key:
        found = [self._image(told) for told in self.images[self.frame.image :]]
        empty = (0, 0, 0, 0, 0, 0, 0, 0, (0,) * self.brokers)
        return tuple(found + [empty] * (room - len(found)))

    def _image(self, told: list[Any]) -> Key:
        leader, leader_epoch, partition_epoch, isr, fenced, stopping, missing, raised, epochs = told
        epoch = partition_epoch - self.frame.epoch
        return (leader, leader_epoch, epoch, isr, fenced, stopping, missing, raised, tuple(epochs))

    def _replica(self, told: dict[str, Any], expected: Key) -> Key:
        r = list(expected)
        log = [(record, epoch) for record, epoch in told["log"]]
        runs, leads = "applied" in told, "isr" in told
        r[REPLICA["life"]] = told["life"]
        r[REPLICA["early"]] = int(runs and told["life"] != Life.RUNNING)
        r[REPLICA["applied"]] = told["applied"] - self.frame.image if runs else 0
        r[REPLICA["raised"]] = told.get("raised", expected[REPLICA["raised"]] if runs else 0)
        r[REPLICA["log"]] = tuple(log + [(0,) * ENTRIES] * (self.records - len(log)))
        r[REPLICA["end"]] = len(log)
        r[REPLICA["high_watermark"]] = told["hw"]
        r[REPLICA["isr"]] = told["isr"] if leads else 0
        r[REPLICA["partition_epoch"]] = told["role"][2] - self.frame.epoch if leads else 0
        r[REPLICA["proposed_isr"]] = told["proposed"] if leads else 0
        r[REPLICA["epoch_start"]] = told["start"] if leads else 0
        r[REPLICA["recent"]] = told["recent"] if leads else 0
        unknown = [(NONE, NONE)] * self.brokers
        r[REPLICA["follower"]] = tuple(map(tuple, told["followers"])) if leads else tuple(unknown)
        waiting = dict(told.get("waiting", ()))
        r[REPLICA["waiting"]] = tuple(waiting.get(offset, 0) for offset in range(self.records))
        answer = told.get("answer")
        r[REPLICA["answer"]] = tuple(answer) if answer else NO_ANSWER
        return tuple(r)

    def contradictions(self) -> list[str]:
        """Return what contradicts itself in Kafka, as far as the model says that it cannot."""
        found = []
        for number, told in enumerate(self.state["brokers"]):
            if "applied" not in told:
                continue
            image = self.images[told["applied"]]
            if told["image"] != image:
                found.append(f"broker {number} has applied {image} and its MetadataImage says {told['image']}")
            if (told["role"] is None) != bool(image[MISSING] & 1 << number):
                found.append(f"broker {number} has applied {image} and its Partition is {told['role'] or 'not there'}")
            if told["role"] is None:
                continue
            leads, leader_epoch, _ = told["role"]
            if leads != (image[0] == number) or leader_epoch != image[1]:
                found.append(f"broker {number} has applied {image} and its Partition says {told['role']}")
            if leads and told["maximal"] != told["isr"] | told["proposed"]:
                found.append(f"broker {number} has maximal ISR {told['maximal']}")
            if told["failed"]:
                found.append(f"broker {number} fetches no more: its partition is among the failed ones")
        return found
