"""Changes to a partition, computed by both the model and PartitionChangeBuilder for every image of a state graph.
Images that differ only in epochs count once. Every change that a controller could make is applied to each image: a
broker is fenced, is unfenced, or registers after a crash; the leader requests any ISR of active members; the preferred
leader is elected; an operator requests any set of replicas, or cancels a reassignment. The results must agree on the
leader, ISR, ELR, last known leader, replicas, and both lists of the reassignment, and on the increase of both epochs.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from fencepost.explorers.native.search import Search
from fencepost.explorers.verdict import Options
from fencepost.kafka.conform.binding import FORMAT, PROTOCOL
from fencepost.kafka.driver.ablation import Sizes, read_sizes
from fencepost.kafka.driver.process import Driver
from fencepost.kafka.driver.releases import Release
from fencepost.kafka.formatting import seconds
from fencepost.model.cluster.partition_change import active, change_isr, elr_after, first_in_order, leader_after
from fencepost.model.cluster.reassignment import operator_cancels_reassignment, operator_reassigns_replicas
from fencepost.model.cluster.state import has_elr, newest, replicas
from fencepost.model.language import NONE, bits
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import DisabledError, UsageError
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.language.machine import Machine

SIZES = read_sizes(
    "brokers=3 movable=3 spare=1 reassignments=2 cancels=1 elections=1 fences=2 crashes=0 shrinks=0 "
    "min_isr=2 max_records=0 metadata_lag=1",
    "brokers=3 movable=3 reassignments=1 cancels=1 fences=2 crashes=1 shrinks=0 min_isr=2 "
    "unclean_election=1 max_records=0 metadata_lag=1",
)
"""Sets of constants whose images are compared: with operators and fencing, or with crashes and unclean elections."""
ELR_TURNED_OFF = read_sizes(
    "brokers=3 movable=3 elr_disables=1 reassignments=1 cancels=1 fences=2 crashes=0 shrinks=0 min_isr=2 "
    "max_records=0 metadata_lag=1"
)
"""Constants for images in which ELR is off but was not cleared, as some versions allow."""
MOST_STATES = 2_000_000
BATCH = 500
KEPT = 20
PRINTED = 8


class ChangeKind(IntEnum):
    ISR = 0
    PREFERRED = 1
    REASSIGN = 2
    CANCEL = 3


class Partition(NamedTuple):
    """The controller's state of a partition. Sets of brokers are bit masks; epochs are relative to current epochs."""

    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: int
    elr: int
    last_known_leader: int
    replicas: int
    adding: int
    removing: int


class Image(NamedTuple):
    partition: Partition
    fenced: int
    stopping: int
    elr_disabled: int

    def flags(self) -> dict[str, int]:
        return dict(zip(self._fields[1:], self[1:], strict=True))


class RequestedChange(NamedTuple):
    """A requested change: the ISR or replicas (`target`), electable brokers, and brokers that may have lost records."""

    what: ChangeKind
    target: int = 0
    acceptable: int = 0
    unclean: int = 0


@dataclass(frozen=True)
class ChangeDifference:
    """A change for which the model and Kafka give different results. A rejected change has the result None."""

    image: Image
    change: RequestedChange
    model: Partition | None
    kafka: Partition | None


@dataclass
class ImagesCompared:
    constants: Constants
    states: int
    images: int
    changes: int = 0
    idle: int = 0
    """Number of reassignments to the current replicas, which the model does not include."""
    departures: list[ChangeDifference] = field(default_factory=list)
    different: int = 0


@dataclass
class ChangesReport:
    release: Release
    compared: list[ImagesCompared] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def title(self) -> str:
        return f"{PROTOCOL} on Kafka {self.release.version}"

    @property
    def verdict(self) -> str:
        return "differs" if any(item.different for item in self.compared) else "conforms"

    def summary(self) -> Iterator[str]:
        for item in self.compared:
            yield (
                f"{item.changes:,} changes to {item.images:,} images from {item.states:,} states were compared: "
                f"{item.different:,} differ"
            )
            if item.idle:
                yield (
                    f"{item.idle:,} of the differing changes request the current replicas, which the model does not "
                    "include"
                )
            for one in item.departures[:PRINTED]:
                yield f"  {one.change.what.name.lower()} of {one.image}, {one.change}"
                yield f"    {one.model} in the model, {one.kafka} in Kafka"
        yield f"in {seconds(round(1000 * self.seconds))}"

    def data(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "protocol": PROTOCOL,
            "kafka": self.release.version,
            "model": self.release.model,
            "changes": [
                {
                    "constants": item.constants.shown,
                    "states": item.states,
                    "images": item.images,
                    "compared": item.changes,
                    "idle": item.idle,
                    "different": item.different,
                    "departures": [
                        {
                            "image": {**one.image.partition._asdict(), **one.image.flags()},
                            "change": {**one.change._asdict(), "what": one.change.what.name.lower()},
                            "model": one.model._asdict() if one.model else None,
                            "kafka": one.kafka._asdict() if one.kafka else None,
                        }
                        for one in item.departures
                    ],
                }
                for item in self.compared
            ],
            "seconds": round(self.seconds, 3),
            "verdict": self.verdict,
        }


def conform_changes(
    release: Release,
    machine: Machine,
    base: Constants,
    tell: Callable[[str], None],
    sizes: tuple[Sizes, ...] | None = None,
) -> ChangesReport:
    found = ChangesReport(release)
    sizes = sizes or ((*SIZES, *ELR_TURNED_OFF) if base.values["elr"] else SIZES)
    began = time.monotonic()
    with Driver(release) as driver:
        for values in sizes:
            constants = machine.set_constants({**base.values, **values})
            states, reached = images(machine, constants)
            tell(f"{len(reached):,} images of {states:,} states")
            found.compared.append(_compare(driver, ChangeModel(machine, constants), states, reached))
    found.seconds = time.monotonic() - began
    return found


def images(machine: Machine, constants: Constants) -> tuple[int, list[Image]]:
    search = Search(machine, constants, (), Options(workers=1, max_states=MOST_STATES))
    result = search.run()
    if not result.complete:
        raise UsageError(f"{constants} has more than {MOST_STATES:,} reachable states: use smaller constants.")
    found: set[tuple[int, ...]] = set()
    for part in search.partitions:
        states = search.layout.unpack(part.read())
        newest_of = states["image"][np.arange(len(states)), states["newest"]]
        columns = [newest_of[name] for name in ("leader", "isr", "missing", "fenced", "stopping")]
        columns += [states[name] for name in ("elr", "last_known_leader", "adding", "removing")]
        columns.append(states["elr_disabled"])
        found.update(
            map(tuple, np.unique(np.stack([item.astype(np.int64) for item in columns], axis=1), axis=0).tolist())
        )
    everyone = (1 << int(constants.values["brokers"])) - 1
    return result.distinct, [
        Image(
            Partition(leader, 0, 0, isr, elr, last, everyone & ~missing, adding, removing), fenced, stopping, disabled
        )
        for leader, isr, missing, fenced, stopping, elr, last, adding, removing, disabled in sorted(found)
    ]


class ChangeModel:
    def __init__(self, machine: Machine, constants: Constants) -> None:
        c: Any = constants
        self.c = c
        plain = Interpreter(machine, constants)
        self._state: Any = plain.schema.restore(plain.initial_states()[0])
        self._everyone = bits.everyone(c.brokers)
        self._budget = int(c.reassignments), int(c.cancels)

    def fill(self, image: Image) -> Any:
        s, p = self._state, image.partition
        s.newest = 0
        now = s.image[0]
        now.leader, now.leader_epoch, now.partition_epoch, now.isr = p.leader, 0, 0, p.isr
        now.fenced, now.stopping, now.missing = image.fenced, image.stopping, self._everyone & ~p.replicas
        s.elr, s.last_known_leader, s.adding, s.removing = p.elr, p.last_known_leader, p.adding, p.removing
        s.budget.reassignments, s.budget.cancels = self._budget
        s.elr_disabled = image.elr_disabled
        return s

    def possible_changes(self, image: Image) -> Iterator[RequestedChange]:
        s, p = self.fill(image), image.partition
        now = active(self.c, newest(s))
        for broker in range(self.c.brokers):
            one = bits.only(broker)
            if p.isr & one:  # the broker is fenced or shuts down
                yield RequestedChange(ChangeKind.ISR, p.isr & ~one, now & ~one)
            if (p.isr | p.elr) & one:  # the broker registers after a crash
                yield RequestedChange(ChangeKind.ISR, p.isr & ~one, now & ~one, one)
            if p.leader == NONE and image.fenced & one:
                yield RequestedChange(ChangeKind.ISR, p.isr, now | one)
        for isr in range(self._everyone + 1):  # requested by the leader
            if p.leader != NONE and isr & bits.only(p.leader) and not isr & ~(p.replicas & now):
                yield RequestedChange(ChangeKind.ISR, isr, now)
        preferred = first_in_order(self.c, p.replicas, p.removing)
        if bits.contains(p.isr & now, preferred):
            yield RequestedChange(ChangeKind.PREFERRED, 0, now)
        for wanted in range(1, self._everyone + 1):
            yield RequestedChange(ChangeKind.REASSIGN, wanted, now)
        if p.adding | p.removing:
            yield RequestedChange(ChangeKind.CANCEL, 0, now)

    def apply(self, image: Image, change: RequestedChange) -> Partition | None:
        s, c = self.fill(image), self.c
        try:
            if change.what is ChangeKind.ISR:
                elr = elr_after(s, c, change.target, change.unclean)
                leader = leader_after(s, c, change.target, change.unclean, change.acceptable)
                change_isr(s, c, change.target, elr, leader)
            elif change.what is ChangeKind.PREFERRED:
                preferred = first_in_order(c, image.partition.replicas, image.partition.removing)
                change_isr(s, c, image.partition.isr, elr_after(s, c, image.partition.isr, 0), preferred)
            elif change.what is ChangeKind.REASSIGN:
                operator_reassigns_replicas.function(s, c, change.target)
            else:
                operator_cancels_reassignment.function(s, c)
        except DisabledError:
            return None
        now = newest(s)
        rest = s.elr, s.last_known_leader, replicas(c, now), s.adding, s.removing
        return Partition(now.leader, now.leader_epoch, now.partition_epoch, now.isr, *rest)


def _compare(driver: Driver, model: ChangeModel, states: int, reached: list[Image]) -> ImagesCompared:
    found = ImagesCompared(model.c, states, len(reached))
    rest = f"{int(model.c.unclean_election)} {int(model.c.min_isr)}"
    waiting = ((image, change) for image in reached for change in model.possible_changes(image))
    while batch := [item for item, _ in zip(waiting, range(BATCH), strict=False)]:
        line = " ".join(
            f"{' '.join(map(str, image.partition))} {int(change.what)} {change.target} {change.acceptable} "
            f"{change.unclean} {int(has_elr(model.fill(image), model.c))} {rest}"
            for image, change in batch
        )
        answers = driver.tell(f"changes {line}")["changed"]
        for (image, change), told in zip(batch, answers, strict=True):
            kafka = None if told is None else Partition(*told)
            expected = model.apply(image, change)
            found.changes += 1
            if _is_idle(image, change, expected, kafka):
                found.idle += 1
            elif expected != kafka and (expected is not None or change.what is not ChangeKind.CANCEL):
                # ReplicationControlManager refuses an unclean cancellation before it calls the builder
                found.different += 1
                if len(found.departures) < KEPT:
                    found.departures.append(ChangeDifference(image, change, expected, kafka))
    return found


def _is_idle(image: Image, change: RequestedChange, model: Partition | None, kafka: Partition | None) -> bool:
    """Return whether an operator requests the current replicas, which the model excludes (see `mapping.LIMITS`)."""
    idle = change.what is ChangeKind.REASSIGN and model is None
    return idle and kafka is not None and kafka.replicas == image.partition.replicas
