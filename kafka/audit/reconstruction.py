"""A search for the brokers' steps: a path through the model `replication` on which the controller makes the recorded
changes. Each step either keeps the controller's state or moves it to a later recorded state; it may skip states of the
same batch. The search prefers states that match more records, and states in which the brokers have applied all
metadata, as they usually have. If no step is possible, the search backtracks. It may fail although a path exists.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heappop, heappush
from itertools import count, pairwise, repeat
from typing import Any, NamedTuple

from fencepost.counterexamples.replay import Replay, follow
from fencepost.counterexamples.trace import Trace
from fencepost.invariants.protocols import protocol
from fencepost.kafka.audit.controller_history import NAME, ControllerHistory, Point, controller_state
from fencepost.model.cluster.state import is_running
from fencepost.model.language import bits
from fencepost.model.language.actions import Property
from fencepost.model.language.errors import UsageError
from fencepost.model.language.interpreter import Interpreter, Step
from fencepost.model.language.records import Key

MOST_STATES = 4_000
"""Maximum number of states examined per rule version. Real logs with 19 recorded states needed up to 406 states."""
HIDDEN = 14
LATE = 4
"""Penalty, in steps, for each broker that has not applied all metadata."""
PROMPT = (
    *("broker_applies_metadata", "broker_applies_configs", "leader_learns_change_applied"),
    "leader_learns_change_refused",
)
"""Actions that brokers usually take as soon as they can."""
OF_BROKERS = (
    *(*PROMPT, "controller_refuses_alter_partition", "controller_finds_replica_ineligible"),
    *("leader_gives_up_waiting", "leader_handles_fetch", "leader_reports_divergence", "leader_tells_epoch_end"),
    *("leader_requests_expansion", "follower_appends", "follower_truncates"),
)
"""Actions of a record's brokers; the search tries them before it reaches the record."""
FIRST = (("leader_appends",), *((("leader_handles_fetch",), ("follower_appends",), ("leader_handles_fetch",)) * 4))
"""Initial actions, which write and acknowledge a record, so that its loss can be detected."""


class Node(NamedTuple):
    """A model state whose controller matches recorded state number `place`, and the step that led to it."""

    key: Key
    place: int
    hidden: int
    parent: int
    step: Step | None


class Task(NamedTuple):
    last: int
    fenced: int
    unfenced: int
    stopping: int
    registered: int
    joined: int
    left: int
    shrinks: int
    """Brokers that leave the ISR at the leader's request."""
    moves: bool
    leads: bool
    raised: int
    turned_off: bool
    involved: int


@dataclass(frozen=True)
class Reconstruction:
    """A path through the model: its trace, the recorded state that each step reaches, and the number of states
    examined. If the search failed, the trace ends at the last recorded state reached.
    """

    recorded: ControllerHistory
    replay: Replay
    places: tuple[int, ...]
    searched: int

    @property
    def whole(self) -> bool:
        return self.places[-1] == len(self.recorded.points) - 1 if self.places else len(self.recorded.points) == 1

    @cached_property
    def broken(self) -> list[tuple[Property, int]]:
        """Violated properties, each with the number of the first step that violates it (0: the initial state)."""
        plain = self.replay.trace.interpreter()
        found = []
        for prop in self.replay.trace.protocol.properties:
            if prop.kind.must_hold and not prop.over_steps and not prop.kind.over_behaviours:
                at = next(
                    (number for number, key in enumerate(self.replay.path.states) if not plain.holds(prop, key)), None
                )
                if at is not None:
                    found.append((prop, at))
        return sorted(found, key=lambda item: item[1])

    def _recorded_steps(self) -> list[dict[str, int]]:
        points, befores = self.recorded.points, (0, *self.places)
        return [
            {"step": number, "offset": points[place].offset, "time": points[place].time}
            for number, (before, place) in enumerate(zip(befores, self.places, strict=False), 1)
            if place != before
        ]

    def data(self, file: str) -> dict[str, Any]:
        points = self.recorded.points
        last = self.places[-1] if self.places else 0
        return {
            "file": file,
            "partition": f"{self.recorded.topic}-{self.recorded.partition}",
            "version": self.replay.trace.version,
            "brokers": [broker for broker in self.recorded.order if broker >= 0],
            "first": points[0].offset,
            "left_out": self.recorded.left_out,
            "last": points[last].offset,
            "next": None if self.whole else points[last + 1].offset,
            "recorded": last + 1,
            "steps": self._recorded_steps(),
            "states": self.replay.path.length,
            "broken": [{"property": prop.name, "sentence": prop.sentence, "step": step} for prop, step in self.broken],
            "searched": self.searched,
        }


def reconstruct(history: ControllerHistory, most: int = MOST_STATES) -> Reconstruction:
    """Return a path through the model that matches a recorded history, or the longest partial path if none is found.
    `most` limits the number of states examined for each version of the rules.
    """
    versions = protocol(NAME).machine.versions
    tried: list[dict[str, int]] = []
    best: tuple[int, str, list[Node], _Search] | None = None
    searched = 0
    for version in sorted(versions, key=lambda item: item.name != history.version):
        if version.values in tried:
            continue
        tried.append(dict(version.values))
        search = _Search(
            Interpreter(protocol(NAME).machine, history.constants(version.name), bounded=True), history.points, most
        )
        way = search.run()
        searched += len(search.nodes)
        if best is None or way[-1].place > best[0]:
            best = way[-1].place, version.name, way, search
        if way[-1].place == len(history.points) - 1:
            break
    assert best is not None
    _, name, way, search = best
    made = _trimmed(_trace(history, name, way, search.plain))
    return Reconstruction(history, made, tuple(node.place for node in way[1:]), searched)


class _Search:
    def __init__(self, plain: Interpreter, points: tuple[Point, ...], most: int) -> None:
        self.plain, self.points, self.most = plain, points, most
        self.nodes: list[Node] = []
        self.known: set[tuple[Key, int]] = set()
        self.waiting: list[tuple[int, int, int, int]] = []
        self.order = count()
        self.tasks = [_task(points, place) for place in range(len(points) - 1)]
        self.best = 0

    def run(self) -> list[Node]:
        first = self.add(Node(self.plain.initial_states()[0], 0, 0, -1, None))
        assert first is not None
        self.push(self.chain(first, FIRST))
        while self.waiting and len(self.nodes) < self.most:
            *_, number = heappop(self.waiting)
            if self.nodes[number].place == len(self.points) - 1:
                break
            self.expand(number)
        return self.way(self.best)

    def way(self, number: int) -> list[Node]:
        found = []
        while number >= 0:
            found.append(self.nodes[number])
            number = self.nodes[number].parent
        return found[::-1]

    def add(self, node: Node) -> int | None:
        if (node.key, node.place) in self.known:
            return None
        self.known.add((node.key, node.place))
        self.nodes.append(node)
        if node.place > self.nodes[self.best].place:
            self.best = len(self.nodes) - 1
        return len(self.nodes) - 1

    def push(self, numbers: list[int]) -> None:
        for number in numbers:
            node = self.nodes[number]
            late = 0 if number == numbers[-1] else LATE
            heappush(self.waiting, (-node.place, node.hidden + late, -next(self.order), number))

    def chain(self, number: int, rounds: Iterable[tuple[str, ...]]) -> list[int]:
        """Keep taking the first enabled action until the recorded state would change; return the nodes."""
        found, place = [number], self.nodes[number].place
        for names in rounds:
            node = self.nodes[found[-1]]
            steps = (step for name in names for step in self.taking(name, node.key))
            quiet = (
                taken
                for taken in self.plain.possible(node.key, steps)
                if self.read(taken.after) == self.points[place].state
            )
            taken = next(quiet, None)
            after = None if taken is None else self.add(Node(taken.after, place, 0, found[-1], taken.step))
            if after is None:
                break
            found.append(after)
        return found

    def read(self, key: Key) -> Any:
        return controller_state(self.plain.read(key), self.plain.constants)

    def taking(self, name: str, key: Key) -> Iterator[Step]:
        state = self.plain.read(key)
        for step in self.plain.steps(self.plain.machine.action(name), key):
            is_old = name == "broker_applies_metadata" and step.args[1] != state.newest
            is_low = name == "broker_registers" and step.args[1] != state.replica[step.args[0]].high_watermark
            if not is_old and not is_low:
                yield step

    def expand(self, number: int) -> None:
        node = self.nodes[number]
        here, task = self.points[node.place].state, self.tasks[node.place]
        for taken in self.plain.possible(node.key, list(self.steps(node.key, task))):
            now = self.read(taken.after)
            place = next((at for at in range(node.place + 1, task.last + 1) if self.points[at].state == now), None)
            if now == here and node.hidden < HIDDEN:
                after = self.add(Node(taken.after, node.place, node.hidden + 1, number, taken.step))
                self.push([] if after is None else [after])
            elif place is not None:
                after = self.add(Node(taken.after, place, 0, number, taken.step))
                self.push([] if after is None else self.chain(after, repeat(PROMPT)))

    def steps(self, key: Key, task: Task) -> Iterator[Step]:
        state = self.plain.read(key)
        for name, chosen in _recorded_steps(task):
            yield from (
                step for step in self.taking(name, key) if chosen is None or bits.contains(chosen, step.args[0])
            )
        for name in OF_BROKERS:
            yield from (step for step in self.taking(name, key) if name in PROMPT or self.is_about(step, task.involved))
        for broker in range(len(state.replica)):
            if bits.contains(task.registered, broker) and is_running(state, broker):
                yield Step(self.plain.machine.action("broker_crashes"), (broker, state.replica[broker].end))
        if task.shrinks:
            yield from self.taking("leader_appends", key)
            for leader in range(len(state.replica)):
                yield Step(self.plain.machine.action("leader_requests_shrink"), (leader, task.shrinks))

    def is_about(self, step: Step, involved: int) -> bool:
        named = [value for value in step.args if isinstance(value, int)]
        return all(bits.contains(involved, value) for value in named)


def _recorded_steps(task: Task) -> Iterator[tuple[str, int | None]]:
    every = (
        (task.fenced, "broker_stops", task.fenced),
        (task.fenced, "controller_fences_broker", task.fenced),
        (task.unfenced, "controller_unfences_broker", task.unfenced),
        (task.stopping, "controller_begins_shutdown", task.stopping),
        (task.registered, "broker_registers", task.registered),
        (task.moves, "operator_reassigns_replicas", None),
        (task.moves, "operator_cancels_reassignment", None),
        (task.joined or task.left or task.moves, "controller_applies_alter_partition", None),
        (task.leads, "controller_elects_preferred", task.involved),
        (task.raised, "operator_raises_min_isr" if task.raised > 0 else "operator_lowers_min_isr", None),
        (task.turned_off, "operator_turns_elr_off", None),
    )
    yield from ((name, chosen) for is_recorded, name, chosen in every if is_recorded)


def _task(points: tuple[Point, ...], place: int) -> Task:
    last = place + 1
    while last + 1 < len(points) and points[last + 1].time == points[place + 1].time:
        last += 1
    task = Task(last, 0, 0, 0, 0, 0, 0, shrinks=0, moves=False, leads=False, raised=0, turned_off=False, involved=0)
    for one, other in pairwise(point.state for point in points[place : last + 1]):
        registered = sum(
            bits.only(b)
            for b, (was, now) in enumerate(zip(one.registered, other.registered, strict=True))
            if was != now
        )
        joined, left = other.isr & ~one.isr, one.isr & ~other.isr
        fenced, stopping = other.fenced & ~one.fenced, other.stopping & ~one.stopping
        leaders = sum({bits.only(leader) for leader in (one.leader, other.leader) if leader >= 0})
        task = task._replace(
            fenced=task.fenced | fenced, unfenced=task.unfenced | one.fenced & ~other.fenced,
            stopping=task.stopping | stopping, registered=task.registered | registered, joined=task.joined | joined,
            left=task.left | left,
            moves=task.moves or one.assignment != other.assignment,
            leads=task.leads or one.leader != other.leader, raised=task.raised or other.min_isr - one.min_isr,
            turned_off=task.turned_off or (one.elr_on and not other.elr_on),
            involved=task.involved | fenced | stopping | registered | joined | left | leaders,
        )  # fmt: skip
    gone = task.left & ~(task.fenced | task.stopping | task.registered)
    return task._replace(shrinks=0 if task.moves else gone)


def _trace(history: ControllerHistory, version: str, way: list[Node], plain: Interpreter) -> Trace:
    told = history.describe(way[-1].place)
    steps = tuple(node.step for node in way if node.step is not None)
    offsets = [
        f"{number} ({history.points[other.place].offset})"
        for number, (one, other) in enumerate(pairwise(way), 1)
        if one.place != other.place
    ]
    names = ", ".join(
        f"{number} is broker {broker}" if broker >= 0 else f"{number} is unused"
        for number, broker in enumerate(history.order)
    )
    return Trace(
        title=f"{told}, as recorded",
        protocol=protocol(NAME),
        constants=plain.constants,
        prop=None,
        steps=steps,
        version=version,
        recorded=told,
        why=(
            f"In the model {names}. The metadata log recorded these steps, each with its offset: "
            f"{', '.join(offsets) or 'none'}. The other steps are one possible explanation, which a search found. The "
            "first record is written only to show whether it is lost."
        ),
    )


def _trimmed(trace: Trace) -> Replay:
    made = follow(trace)
    plain = trace.interpreter()
    states = [plain.read(key) for key in made.path.states]
    last = states[-1]
    used = {name: int(trace.constants.values[name]) - int(getattr(last.budget, name)) for name in BUDGETS}
    raws = [
        plain.read(plain.apply(key, step).raw) for key, step in zip(made.path.states, made.path.steps, strict=False)
    ]
    room = {
        "max_records": last.written,
        "metadata_lag": max([1, *(state.newest for state in raws)]),
        "alter_partitions": max([1, *(len(state.alter_partitions) for state in raws)]),
    }
    lower = trace.protocol.machine.constants(**{**trace.constants.values, **used, **room})
    try:
        return follow(replace(trace, constants=lower))
    except UsageError:
        return made


BUDGETS = ("crashes", "clean_stops", "fences", "shrinks", "elections", "reassignments", "cancels")
