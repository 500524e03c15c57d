"""A partition's recorded history, as states of the model's controller. `reconstruction` finds the brokers' steps."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, permutations
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from fencepost.invariants.protocols import protocol
from fencepost.kafka.audit.cluster_context import ClusterContext
from fencepost.kafka.audit.judging import NO_LEADER, Brokers, Names
from fencepost.model.cluster.constants import Loss
from fencepost.model.cluster.state import has_elr, newest
from fencepost.model.language import NONE, bits
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import UsageError

NAME = "replication"
MOST = 5
ABSENT = -2
"""A broker that has no replica and exists only in the model, which needs at least two brokers."""
ENDS = ("deleted", "unjudged")
"""Kinds of rows after which the partition's state is unknown."""


class ControllerState(NamedTuple):
    """The controller's state of a partition and its brokers. Brokers are numbers; sets of brokers are bit masks."""

    leader: int
    leader_epoch: int
    isr: int
    elr: int
    last_known: int
    adding: int
    removing: int
    missing: int
    fenced: int
    stopping: int
    min_isr: int
    elr_on: bool
    registered: tuple[int, ...]

    @property
    def assignment(self) -> tuple[int, int, int]:
        """Bit masks of the replicas being added, the replicas being removed, and the brokers without a replica."""
        return (self.adding, self.removing, self.missing)


class Point(NamedTuple):
    """The controller's state after a record. All records of a batch have the same time."""

    offset: int
    time: int
    state: ControllerState


@dataclass(frozen=True)
class ControllerHistory:
    topic: str
    partition: int
    order: Brokers
    points: tuple[Point, ...]
    values: dict[str, int]
    version: str
    left_out: str = ""
    """Why the history does not start with the partition's creation; empty if it does."""

    def describe(self, last: int) -> str:
        return f"{self.topic}-{self.partition}, offsets {self.points[0].offset} to {self.points[last].offset}"

    def constants(self, version: str) -> Constants:
        machine = protocol(NAME).machine
        return machine.constants(**{**machine.version(version).values, **self.values})


def controller_state(s: Any, c: Any) -> ControllerState:
    image = newest(s)
    return ControllerState(
        image.leader, image.leader_epoch, image.isr, s.elr, s.last_known_leader, s.adding, s.removing, image.missing,
        image.fenced, image.stopping, c.min_isr + image.raised, has_elr(s, c), tuple(image.broker_epoch),
    )  # fmt: skip


class _Item(NamedTuple):
    """An event in the log: a `change` to the partition, new `settings`, or the new state of a `broker`."""

    offset: int
    time: int
    kind: str
    what: Any
    broker: int = NO_LEADER


def controller_history(rows: Sequence[dict[str, Any]], around: ClusterContext, until: int | None) -> ControllerHistory:
    """Return a partition's history from the earliest row at which the model can start, or raise UsageError."""
    piece, end = _last_piece(
        [row for row in rows if until is None or row["offset"] <= until], _end(rows, around, until)
    )
    if not piece:
        raise UsageError(
            "no file contains the partition's creation or a snapshot of it: name another partition or a later `until=`."
        )
    why = ""
    for start, row in enumerate(piece):
        made = _from(piece[start:], around, end)
        if isinstance(made, ControllerHistory):
            return replace(made, left_out=why)
        why = why or f"from offset {row['offset']} on, {made}"
    raise UsageError(
        f"the model cannot represent the history of {piece[0]['topic']}-{piece[0]['partition']}, not even from a "
        f"later start: {why}. Name an earlier `until=` or another partition."
    )


def _end(rows: Sequence[dict[str, Any]], around: ClusterContext, until: int | None) -> int:
    topic = around.topics.get(rows[0]["topic_id"])
    return min(around.end if until is None else until, topic.removed - 1 if topic else around.end)


def _last_piece(rows: list[dict[str, Any]], end: int) -> tuple[list[dict[str, Any]], int]:
    """Return the rows from the creation (or the last complete state) to a deletion, and the last offset."""
    found: list[dict[str, Any]] = []
    until = end
    for row in sorted(rows, key=itemgetter("offset")):
        if row["election"] in ENDS:
            until = min(until, row["offset"] - 1)
        else:
            found = [row] if row["election"] == "created" or until < row["offset"] else [*found, row]
            until = end
    return found, until


def _from(rows: list[dict[str, Any]], around: ClusterContext, end: int) -> ControllerHistory | str:
    first = rows[0]
    everybody = set().union(*(row["replicas"] for row in rows))
    if len(everybody) > MOST:
        return f"{len(everybody)} brokers have replicas, but the model supports at most {MOST}"
    if any(first[name] for name in ("adding", "removing", "elr", "last_known")) or first["leader"] not in first["isr"]:
        return "a reassignment is in progress, there is no leader, or brokers outside the ISR are eligible"
    targets = dict.fromkeys(tuple(b for b in row["replicas"] if b not in row["removing"]) for row in rows)
    order, movable = _numbering([tuple(row["replicas"]) for row in rows], list(targets), everybody)
    points = list(_points(_items(rows, around, order, end), first, order))
    begun = points[0].state
    isr = bits.size(begun.isr)
    lowest = [
        number for number in range(len(order)) if not bits.contains(begun.missing, number) and number != begun.leader
    ]
    if begun.fenced | begun.stopping:
        return "a broker is fenced or shutting down"
    if begun.isr != bits.only(begun.leader) | sum(bits.only(number) for number in lowest[: isr - 1]):
        return "in the replica list, an out-of-sync replica precedes an in-sync replica"
    values = _values(points, movable, unclean=any(row["unclean"] for row in rows))
    if isinstance(values, str):
        return values
    return ControllerHistory(
        first["topic"], first["partition"], order, tuple(points), values, around.version_at(first["offset"])
    )


def _numbering(lists: list[Brokers], targets: list[Brokers], everybody: set[int]) -> tuple[Brokers, int]:
    """Return the order of the brokers that agrees with the most replica lists, and the number of brokers whose replicas
    move. As in the model, these brokers come first; of these, the ones without an initial replica come last.
    """
    begun = lists[0]
    moved = {broker for broker in everybody if any(broker not in one for one in (*lists, *targets))}
    if not moved:
        return (begun, 0) if len(begun) > 1 else ((*begun, ABSENT), 2)
    found: list[tuple[int, int, Brokers]] = []
    for count in range(len(moved), len(everybody) + 1):
        for order in permutations(sorted(everybody)):
            head = order[:count]
            absent = [broker not in begun for broker in head]
            if moved <= set(head) and absent == sorted(absent):
                places = {broker: place for place, broker in enumerate(order)}
                agree = sum([places[b] for b in one] == sorted(places[b] for b in one) for one in targets)
                found.append((-agree, count, order))
    _, count, order = min(found)
    return order, count


def _items(rows: list[dict[str, Any]], around: ClusterContext, order: Brokers, end: int) -> Iterator[_Item]:
    found = [_Item(row["offset"], row["time"], "change", row) for row in rows]
    for broker in order:
        presence = around.brokers.get(broker)
        found += [
            _Item(one.offset, one.time, "standing", one, broker) for one in (presence.standings if presence else ())
        ]
    topic_id = rows[0]["topic_id"]
    found += [_Item(moment.offset, moment.time, "settings", moment) for moment in around.timeline(topic_id)]
    yield from sorted((item for item in found if item.offset <= end), key=attrgetter("offset"))


def _points(items: Iterator[_Item], first: dict[str, Any], order: Brokers) -> Iterator[Point]:
    names = Names(order)
    everyone = bits.everyone(len(order))
    now = ControllerState(NONE, 0, 0, 0, NONE, 0, 0, 0, 0, 0, 1, elr_on=False, registered=(0,) * len(order))
    last: ControllerState | None = None
    epoch = first["leader_epoch"]
    begun: tuple[int, ...] | None = None
    for item in items:
        for after in _after(now, item, names, everyone, epoch):
            now = after
            if item.offset < first["offset"]:
                continue
            begun = now.registered if begun is None else begun
            shown = now._replace(
                registered=tuple(one - other for one, other in zip(now.registered, begun, strict=True))
            )
            if shown != last:
                yield Point(item.offset, item.time, shown)
            last = shown


def _after(now: ControllerState, item: _Item, names: Names, everyone: int, epoch: int) -> Iterator[ControllerState]:
    """Yield the controller's states after an event; as in the model, each state changes min ISR by at most one."""
    if item.kind == "change":
        row = item.what
        last = row["last_known"]
        yield now._replace(
            leader=names.number(row["leader"]), leader_epoch=row["leader_epoch"] - epoch, isr=names.mask(row["isr"]),
            elr=names.mask(row["elr"]), last_known=names.number(last[0]) if len(last) == 1 else NONE,
            adding=names.mask(row["adding"]), removing=names.mask(row["removing"]),
            missing=everyone & ~names.mask(row["replicas"]),
        )  # fmt: skip
    elif item.kind == "standing":
        standing, place = item.what, names.number(item.broker)
        yield now._replace(
            fenced=_with(now.fenced, place, is_in=standing.fenced),
            stopping=_with(now.stopping, place, is_in=standing.stopping),
            registered=tuple(standing.registered if at == place else count for at, count in enumerate(now.registered)),
        )  # fmt: skip
    else:
        rules = item.what.rules
        wanted = min(rules.min_isr, len(now.registered))
        now = now._replace(elr_on=rules.elr)
        while now.min_isr != wanted:
            now = now._replace(min_isr=now.min_isr + (1 if wanted > now.min_isr else -1))
            if rules.elr:  # the ClearElrRecord follows in the same batch
                now = now._replace(elr=0, last_known=NONE)
            yield now
        yield now


def _with(group: int, member: int, *, is_in: bool) -> int:
    return bits.with_member(group, member) if is_in else bits.without(group, member)


def _values(points: list[Point], movable: int, *, unclean: bool) -> dict[str, int] | str:
    begun = points[0].state
    counted = dict.fromkeys(("raises", "lowers", "reassignments", "elr_disables", "registrations", "fences"), 0)
    for one, other in pairwise(point.state for point in points):
        counted["raises"] += other.min_isr > one.min_isr
        counted["lowers"] += other.min_isr < one.min_isr
        asked = other.adding, other.removing
        counted["reassignments"] += asked != (one.adding, one.removing) and any(asked)
        counted["elr_disables"] += one.elr_on and not other.elr_on
        counted["registrations"] += other.registered != one.registered
        counted["fences"] += other.fenced & ~one.fenced != 0
        if other.elr_on and not one.elr_on:
            return "eligible leader replicas were turned on later, but the model cannot turn them on"
    room = {"raises": 2, "lowers": 2, "reassignments": 4, "elr_disables": 1, "registrations": 8, "fences": 10}
    for name, most in room.items():
        if counted[name] > most:
            return f"there are {counted[name]} {name.replace('_', ' ')}, but the model supports at most {most}"
    epochs = points[-1].state.leader_epoch
    if epochs > 12:
        return f"there are {epochs} leader epochs, but the model supports at most 12"
    moves = movable > 0 and bits.size(begun.missing) < len(begun.registered) and counted["reassignments"] > 0
    return {
        "brokers": len(begun.registered), "movable": movable, "spare": bits.size(begun.missing),
        "initial_leader": begun.leader, "initial_isr": bits.size(begun.isr), "min_isr": begun.min_isr,
        "elr": int(begun.elr_on), "unclean_election": int(unclean), "any_preferred": 1, "loss": Loss.NONE,
        "max_records": 4, "metadata_lag": 24, "alter_partitions": 4, "late_fetches": 0, "max_leader_epoch": epochs,
        "crashes": 4, "clean_stops": 4, "fences": 6, "shrinks": 4, "elections": 4, "reassignments": 4 if moves else 0,
        "cancels": 3 if moves else 0, "raises": counted["raises"], "lowers": counted["lowers"],
        "elr_disables": counted["elr_disables"],
    }  # fmt: skip
