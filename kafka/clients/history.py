"""Histories, made of model steps and other moves. They can be saved, replayed and drawn as diagrams."""

import json
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from fencepost.counterexamples.reader import read
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.explorers.running.files import read_named
from fencepost.invariants.protocols import protocol as named_protocol
from fencepost.kafka.clients.duties import NAMES
from fencepost.kafka.clients.events import NOBODY, Event, Play, name_of
from fencepost.kafka.driver.walks import Cover, state_graph
from fencepost.kafka.driver.walks import walks as model_walks
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import UsageError
from fencepost.model.language.interpreter import Interpreter, Step

PROTOCOL = "leader-discovery"
MOST_STATES = 40_000
SILENT = (
    *("backoff_ends", "client_cannot_connect", "client_validates_position", "client_fails_to_validate"),
    "client_bootstraps_again",
)
"""Steps of the client that the cluster can neither delay nor trigger."""

SMALL: tuple[dict[str, int], ...] = tuple(
    {"brokers": 2, "partitions": 1, "changes": 1, "elections": 1, "consumer": consumer} for consumer in (0, 1)
)
"""Constants whose state graph is covered completely: there is one election, and brokers learn of it one by one."""
COVERED = (
    *SMALL,
    *({"brokers": 2, "partitions": 1, "changes": 2, "elections": 2, "consumer": consumer} for consumer in (0, 1)),
)
"""Constants that `benchmarks/clients.py` covers: SMALL and larger ones."""
DEPTH = 30
MOST_WALKS = 100_000
"""Walks are numbered below this limit, because finding a walk by name requires drawing all earlier walks."""
NAME = re.compile(r"(walk|errors|follower|producer|cover) (\d+)\.(\d+)\Z")


BESIDES = {
    "records_are_lost": "the next leader of the partition lacks the last record and writes two others",
    "leader_is_missing": "the partition has leader -1, with an epoch of its own, until the next election",
    "leader_is_unknown": "brokers report no leader and no epoch (-1, -1) until the next election",
    "leader_is_guessed": "the next metadata answers name a wrong leader with the current epoch",
    "epoch_is_unknown": "metadata names the leader without its epoch (-1) until the cluster has settled",
    "broker_is_slow": "from now on, a broker answers each OffsetForLeaderEpoch request 200 ms late",
    "brokers_answer_at_once": "from the start, brokers also answer while the client is learning of a new leader",
}
WITHOUT_ARGUMENTS = (
    *("brokers_answer_at_once", "client_is_idempotent", "client_lease_ends", "client_resets", "client_restarts"),
    "producers_expire",
)
DRAWN = tuple(BESIDES)[:4]
"""Events in walks. Stories also include races, slow brokers, and answers whose missing epoch prevents validation."""


ERRORS = {
    "topic_has_error": "the next metadata answers contain this error for the topic, and name a wrong leader",
    "partition_has_error": "the next metadata answers contain this error for the partition, and no leader",
    "partition_is_left_out": "the next metadata answers omit the partition",
    "metadata_is_older": "the next metadata answers contain outdated information about the partition",
    "validation_fails": "the next answers to OffsetForLeaderEpoch contain this error, retriable or not",
    "connection_dies": "the connection to the broker closes between the next request and its answer",
}
"""Errors and omissions in the next one or three answers. They are chosen by a separate random generator, so that walks
without them keep their names and steps; walks with them are named `errors SEED.NUMBER`.
"""
FOLLOWERS = {
    "records_are_deleted": "all records of the partition are deleted: its log now starts at its end, on each broker",
    "follower_serves": "the leader names a preferred replica, which serves the consumers that have a rack (KIP-392)",
    "follower_begins_later": "the log of that replica starts after everything written so far",
    "follower_ends_earlier": "the last record is missing on that replica until the cluster has settled",
}
PRODUCERS = {
    "client_is_idempotent": "from the start, the producer is idempotent and sends up to five requests at a time",
    "answers_are_lost": "the broker processes requests but sends no answers until its connections close",
    "connections_end": "the broker closes its connections",
    "broker_keeps_last_batch": "the broker restarts from a snapshot that contains the last batch of each producer",
    "producers_expire": "brokers forget all producers that have written so far",
    "sequence_is_refused": "the broker refuses the next batch for the partition as out of order",
}
IDEMPOTENT = "idempotent-producer"
OF_PRODUCER = {
    "producer_sends_batch": "client-has-more 0",
    "broker_handles_request": "client-sends-request 0; broker-answers-request",
    "producer_receives_answer": "client-receives-response",
    "producer_learns_leader": "client-refreshes 0; broker-answers-refresh; client-applies-metadata",
    "connection_ends": "connections-end {0}",
    "controller_elects_leader": "controller-elects-leader 0 {other}; broker-learns 0 {image}; broker-learns 1 {image}",
    "broker_restarts": "broker-keeps-last-batch {other}",
}
"""The moves that play each action of the model of idempotent producers; `other` is a follower."""
APPLICATION = {
    "client_commits": "the application commits its position with the leader epoch of the previous record",
    "client_commits_without_epoch": "the application commits its position without a leader epoch",
    "client_restarts": "the consumer stops, and another consumer of its group starts at the committed offset",
    "client_resets": "from the start, the consumer's reset policy is `latest`",
    "client_starts_over": "the application drops the topic and uses it again immediately",
    "client_lease_ends": "metadata and leases of preferred replicas last 0.6 s from the start; now 1.2 s pass",
    "client_asks_admin": "the application asks an admin client for the log end offset",
}
"""Steps of the client's application. If a driver does not support one, the history is not judged."""
CODES = {
    "topic_has_error": (3, 5),
    "partition_has_error": (5, 9, 72),
    "validation_fails": (-1, 3, 5, 6, 9, 29, 56, 74, 75, 78),
}
"""Kafka's error codes in walks. Of the topic-level errors, walks use only those that disappear without user action."""


@dataclass(frozen=True)
class Move:
    name: str
    args: tuple[int, ...] = ()

    def __str__(self) -> str:
        return " ".join((self.name.replace("_", "-"), *map(str, self.args)))


@dataclass(frozen=True)
class History:
    constants: Any
    moves: tuple[Move, ...]
    name: str = ""
    rule: str = ""
    """The rule that a client violated in this history, if a file records it."""

    @property
    def role(self) -> str:
        return "consumer" if int(self.constants.consumer) else "producer"

    def has(self, *names: str) -> bool:
        return any(move.name in names for move in self.moves)

    @property
    def key(self) -> tuple[object, ...]:
        """The moves that a client can observe. Histories with equal keys are equivalent."""
        return (self.role, tuple((move.name, move.args) for move in self.moves if move.name not in SILENT))


@dataclass(frozen=True)
class Story:
    """A history that makes some clients violate a rule, with the clients that violate it and those that do not.

    `rarely` lists clients that are reported to violate a rule but did so rarely or never in our plays. If `rules` is
    empty, the client's process crashes.
    """

    name: str
    reference: str
    sentence: str
    constants: dict[str, int]
    moves: tuple[str, ...]
    rules: tuple[str, ...]
    breaks: tuple[str, ...]
    keeps: tuple[str, ...] = ()
    rarely: tuple[str, ...] = ()
    plays: int = 10

    @property
    def history(self) -> History:
        moves = tuple(map(_move, self.moves))
        return History(named_protocol(PROTOCOL).machine.set_constants(self.constants), moves, self.name)


def of_steps(constants: Constants, steps: Iterable[Step], name: str) -> History:
    return History(constants, tuple(Move(step.action.name, tuple(map(int, step.args))) for step in steps), name)


@dataclass
class Source:
    """A source of histories: a path cover of a small state graph, or random walks with random additional moves."""

    settings: tuple[dict[str, int], ...]
    seed: int = 1
    besides: float = 0.5
    lag: float = 0.4
    """Fraction of walks with events from BESIDES, and fraction in which a broker learns nothing until the end."""
    errors: float = 0.25
    """Fraction of walks that also contain errors or omissions in answers."""
    followers: float = 0.25
    """Among consumer walks without errors, the fraction in which a follower serves fetches (`follower SEED.NUMBER`)."""
    seen: set[tuple[object, ...]] = field(default_factory=set)

    def _machines(self) -> list[tuple[Interpreter, Constants]]:
        machine = named_protocol(PROTOCOL).machine
        constants = [machine.set_constants(values) for values in self.settings]
        return [(Interpreter(machine, one), one) for one in constants]

    def cover(self) -> Iterator[History]:
        for place, (plain, constants) in enumerate(self._machines()):
            graph = state_graph(plain, MOST_STATES)
            if graph is None:
                raise UsageError(
                    f"the state graph has more than {MOST_STATES:,} states under these constants, which is too many "
                    "to cover: lower a constant, or use random walks with `walks=`."
                )
            for number, walk in enumerate(Cover(graph).walks()):
                found = of_steps(constants, (item.step for item in walk), f"cover {place}.{number}")
                if found.key not in self.seen:
                    self.seen.add(found.key)
                    yield found

    def walks(self, number: int, depth: int) -> Iterator[History]:
        machines = self._machines()
        walking = [model_walks(plain, number, depth, self.seed) for plain, _ in machines]
        for place in range(number):
            constants = machines[place % len(machines)][1]
            steps = [item.step for item in next(walking[place % len(machines)])]
            found = of_steps(constants, steps, f"walk {self.seed}.{place}")
            found = self._with_more(found, random.Random(f"{self.seed} {place} besides"))  # noqa: S311 (no secret)
            known = found
            found = self._with_errors(found, random.Random(f"{self.seed} {place} errors"))  # noqa: S311 (no secret)
            chance = random.Random(f"{self.seed} {place} followers")  # noqa: S311 (no secret)
            yield self._with_follower(found, chance) if found is known and found.role == "consumer" else found

    def _with_follower(self, history: History, chance: random.Random) -> History:
        """Return a history in which a follower starts to serve fetches and may later lack part of the log."""
        if chance.random() >= self.followers:
            return history
        moves = list(history.moves)
        first = chance.randrange(1 + len(moves) // 2)
        partition = chance.randrange(int(history.constants.partitions))
        moves.insert(first, Move("follower_serves", (partition, chance.randrange(int(history.constants.brokers)))))
        for _ in range(chance.randint(0, 2)):
            name = chance.choice(("follower_begins_later", "follower_ends_earlier"))
            moves.insert(chance.randrange(first + 1, len(moves) + 1), Move(name, (partition,)))
        return History(history.constants, tuple(moves), history.name.replace("walk", "follower"))

    def _with_errors(self, history: History, chance: random.Random) -> History:
        if chance.random() >= self.errors:
            return history
        moves = list(history.moves)
        for _ in range(chance.randint(1, 3)):
            names = [name for name in ERRORS if name != "validation_fails" or history.role == "consumer"]
            name = chance.choice(names)
            about = history.constants.brokers if name == "connection_dies" else history.constants.partitions
            args = () if name == "topic_has_error" else (chance.randrange(int(about)),)
            codes = (chance.choice(CODES[name]),) if name in CODES else ()
            moves.insert(chance.randrange(len(moves) + 1), Move(name, (*args, *codes)))
        return History(history.constants, tuple(moves), history.name.replace("walk", "errors"))

    def _with_more(self, history: History, chance: random.Random) -> History:
        """Return a history in which a broker may miss updates, with up to two of BESIDES at random positions."""
        moves = list(history.moves)
        if chance.random() < self.lag:
            late = chance.randrange(int(history.constants.brokers))
            moves = [item for item in moves if item.name != "broker_learns" or item.args[0] != late]
        if chance.random() < self.besides:
            for _ in range(chance.choice((1, 1, 2))):
                names = [name for name in DRAWN if name != "records_are_lost" or history.role == "consumer"]
                partition = chance.randrange(int(history.constants.partitions))
                moves.insert(chance.randrange(len(moves) + 1), Move(chance.choice(names), (partition,)))
        return History(history.constants, tuple(moves), history.name)


def producer_walks(number: int, depth: int, seed: int) -> Iterator[History]:
    """Yield random walks of the model of idempotent producers, as histories of a partition on two brokers. Before a
    connection ends, its broker stops answering, starting with the first request whose answer is lost.
    """
    machine = named_protocol(IDEMPOTENT).machine
    values = {"batches": 4, "log_size": 6, "elections": 2, "disconnects": 2, "restarts": 1}
    plain = Interpreter(machine, machine.set_constants(values))
    small = {"brokers": 2, "partitions": 1, "changes": 2, "elections": 2}
    for place, walk in enumerate(model_walks(plain, number, depth, seed)):
        image, moves = 0, [["client-is-idempotent", "producers-expire"]]
        unanswered: tuple[list[int], list[int]] = ([], [])
        for step in (item.step for item in walk):
            name, broker, other = step.action.name, int((*step.args, 0)[0]) % 2, 1 - image % 2
            image += name == "controller_elects_leader"
            text = OF_PRODUCER.get(name, "").format(broker, other=other, image=image)
            moves.append([item for item in text.split("; ") if item])
            if name == "broker_handles_request":
                unanswered[broker].append(len(moves) - 1)
            elif name == "producer_receives_answer":
                unanswered[broker].pop(0)
            elif name == "connection_ends" and unanswered[broker]:
                moves[unanswered[broker][0]].insert(0, f"answers-are-lost {broker}")
                unanswered[broker].clear()
        constants = named_protocol(PROTOCOL).machine.set_constants(small)
        yield History(constants, tuple(_move(item) for items in moves for item in items), f"producer {seed}.{place}")


def settings(role: str | None = None) -> tuple[dict[str, int], ...]:
    small = {"brokers": 3, "partitions": 1, "changes": 2}
    each = (
        small,
        {**small, "replica_lags": 1},
        {**small, "old_brokers": 1},
        {**small, "silent_brokers": 1},
        {"brokers": 2, "partitions": 1, "changes": 3, "recreations": 1},
        {"brokers": 3, "partitions": 1, "changes": 4, "elections": 2, "restarts": 1},
        {"brokers": 2, "partitions": 2, "changes": 2},
        {**small, "hint_endpoints": 0},
    )
    roles = {"producer": (0,), "consumer": (1,), None: (0, 1)}[role]
    return tuple({**one, "consumer": consumer} for one in each for consumer in roles)


def by_name(name: str) -> History | None:
    found = NAME.match(name)
    if found is None:
        return None
    first, number = int(found[2]), int(found[3])
    if number >= MOST_WALKS:
        why = "finding a walk requires drawing all earlier walks"
        raise UsageError(f"the number of walk {name!r} is too large: expected one below {MOST_WALKS:,}, because {why}.")
    if found[1] == "cover" and first >= len(COVERED):
        return None
    if found[1] == "producer":
        return next(islice(producer_walks(number + 1, DEPTH, first), number, None))
    if found[1] != "cover":
        source = Source(settings(), first, errors=float(found[1] == "errors"), followers=float(found[1] == "follower"))
        return next(islice(source.walks(number + 1, DEPTH), number, None))
    return next((one for one in Source(COVERED).cover() if one.name == name), None)


FORMAT = 1
MOST_LINES = 120
"""Maximum number of lines in a diagram."""
HOPELESS = ("leader-discovery-all-endpoints-lost",)
"""Traces in which no broker is left at the addresses that the client knows."""
ERROR_NAMES = {
    "1": "OFFSET_OUT_OF_RANGE", "3": "UNKNOWN_TOPIC_OR_PARTITION", "5": "LEADER_NOT_AVAILABLE",
    "6": "NOT_LEADER_OR_FOLLOWER", "9": "REPLICA_NOT_AVAILABLE", "45": "OUT_OF_ORDER_SEQUENCE_NUMBER",
    "47": "INVALID_PRODUCER_EPOCH", "72": "LISTENER_NOT_FOUND", "74": "FENCED_LEADER_EPOCH",
    "75": "UNKNOWN_LEADER_EPOCH", "100": "UNKNOWN_TOPIC_ID",
}  # fmt: skip


def text_of(history: History, **more: str) -> str:
    values = {name: int(value) for name, value in history.constants.values.items()}
    head = {"format": FORMAT, "protocol": PROTOCOL, "name": history.name, **more, "constants": values}
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
    moves = ",\n  ".join(json.dumps(str(move)) for move in history.moves)
    return "{\n " + ",\n ".join(lines) + f',\n "moves": [\n  {moves}\n ]\n}}\n'


def load(path: Path) -> History:
    if path.suffix == ".trace":
        trace = read(path).trace
        if trace.protocol.name != PROTOCOL:
            raise UsageError(
                f"{path} is a trace of protocol {trace.protocol.name!r}, but clients are tested only with histories of "
                f"{PROTOCOL!r}: name one of those."
            )
        return of_steps(trace.constants, trace.steps, path.stem)
    try:
        data = json.loads(read_named(path))
        constants = named_protocol(PROTOCOL).machine.set_constants(data["constants"])
        moves, name, rule = tuple(map(_move, data["moves"])), data.get("name", path.stem), data.get("rule", "")
        history = History(constants, moves, " ".join(str(name).split()), rule)
        require_possible(history, (data["format"], data["protocol"]))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"{path} cannot be read as a history ({type(error).__name__}: {error}). Name a file that an earlier run "
            "wrote to `output=`, or a trace of leader-discovery."
        ) from error
    return history


def require_possible(history: History, written: tuple[object, object] = (FORMAT, PROTOCOL)) -> None:
    """Raise ValueError if the format, the protocol or a move's arguments are wrong, or if there are no moves."""
    plain = Interpreter(named_protocol(PROTOCOL).machine, history.constants)
    params = {item.name: item.params for item in plain.machine.actions}
    places = set(range(max(int(history.constants.brokers), int(history.constants.partitions))))
    for move in history.moves:
        *where, last = move.args or (NOBODY,)
        wanted = len(move.args) == 1 + (move.name in ("partition_has_error", "validation_fails", "follower_serves"))
        is_possible = wanted and {*where} <= places and last in CODES.get(move.name, places)
        if move.name in params:
            is_possible = move.args in plain.values_of(params[move.name])  # type: ignore[arg-type]  # no messages
        if not (is_possible or (move.name in WITHOUT_ARGUMENTS and not move.args)):
            raise ValueError(f"`{move}` is not a move of this cluster")
    if history.rule and history.rule not in NAMES:
        raise ValueError(f"there is no rule {history.rule!r}")
    if not history.moves or written != (FORMAT, PROTOCOL):
        expected = f"format {FORMAT}, protocol {PROTOCOL} and a move"
        raise ValueError(f"expected {expected}, but got {written[0]}, {written[1]} and {len(history.moves)} moves")


def of_archive() -> list[History]:
    """Return the archived traces of leader discovery as histories, except traces from which no client can recover."""
    return [load(path) for path in sorted(ARCHIVE.glob(f"{PROTOCOL}-*.trace")) if path.stem not in HOPELESS]


def _move(text: str) -> Move:
    name, *args = text.split()
    name = name.replace("-", "_")
    known = (*BESIDES, *ERRORS, *FOLLOWERS, *PRODUCERS, *APPLICATION)
    if name not in known and name not in {item.name for item in named_protocol(PROTOCOL).machine.actions}:
        raise ValueError(f"there is no move named {text!r}")
    return Move(name, tuple(map(int, args)))


def diagram(play: Play, last: Event | None) -> str:
    lines = ["sequenceDiagram", "  participant client"]
    brokers = sorted({event.broker for event in play.events if event.broker != NOBODY})
    lines += [f"  participant b{broker} as broker {broker}" for broker in brokers]
    for event in play.events:
        shown = _line(event)
        if shown:
            lines.append(f"  {shown}")
        if event is last or len(lines) == MOST_LINES:
            break
    return "\n".join(lines) + "\n"


def _line(event: Event) -> str:
    part = f"{event.partition}"
    known = "" if event.epoch == NOBODY else f", epoch {event.epoch}"
    if event.kind == "request":
        what = f" of {part} from {event.offset}" if event.offset != NOBODY else f" {event.value}".rstrip()
        what += f" (producer {event.producer}, sequence {event.sequence})" if event.producer else ""
        return f"client->>b{event.broker}: {event.api}{what}{known}"
    if event.kind == "answer":
        found = "nothing new" if event.offset == NOBODY else f"offset {event.offset}"
        said = ERROR_NAMES.get(event.error, event.error) or found
        return f"b{event.broker}-->>client: {said}"
    if event.kind == "preferred":
        return f"b{event.broker}-->>client: broker {event.leader} is the preferred replica of {part}"
    if event.kind in ("hint", "metadata"):
        leader = name_of(event.leader)
        error = f" (error {event.error})" if event.error else ""
        return f"b{event.broker}-->>client: {event.kind}: {leader} is the leader of {part}{known}{error}"
    told = {
        "delivered": f"delivers {event.value} at offset {event.offset}", "acked": f"{event.value} is acknowledged",
        "failed": f"{event.value} fails", "reported": "reports an error", "truncated": "reports a truncation",
        "died": event.error,
    }  # fmt: skip
    if event.kind in told:
        return f"Note over client: {told[event.kind]}"
    if event.kind == "moved":
        return f"Note over client: {event.value}"
    if event.kind == "lost":
        return f"Note over client: log of {part} is truncated to offset {event.offset}"
    return "Note over client: the cluster has settled" if event.kind == "settled" else ""


def page(history: History, play: Play, rule: str, told: str, client: str, last: Event | None, file: str) -> str:
    again = f'To replay it, call `fencepost.conform_clients("{client}", traces="{file}")`.'
    moves = "\n".join(f"- {move}" for move in history.moves)
    return f"# {client}: {rule}\n\n{told}\n\n{again}\n\n{moves}\n\n```mermaid\n{diagram(play, last)}```\n"
