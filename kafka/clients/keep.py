"""Histories as files that replay, and what a client did in one as a diagram."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fencepost.counterexamples.reader import read
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.explorers.sealed import given
from fencepost.invariants.protocols import protocol as named_protocol
from fencepost.kafka.clients.events import NOBODY
from fencepost.kafka.clients.history import BESIDES, PROTOCOL, History, Move, of_steps
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from fencepost.kafka.clients.events import Event, Play

FORMAT = 1
HOPELESS = ("leader-discovery-all-endpoints-lost",)
"""Traces in the end of which no broker is where the client ever heard that one is."""
ERRORS = {
    "1": "OFFSET_OUT_OF_RANGE",
    "6": "NOT_LEADER_OR_FOLLOWER",
    "74": "FENCED_LEADER_EPOCH",
    "75": "UNKNOWN_LEADER_EPOCH",
    "100": "UNKNOWN_TOPIC_ID",
}


def text_of(history: History, **more: str) -> str:
    """Return a history as a file: JSON, with one move a line."""
    values = {name: int(value) for name, value in history.constants.values.items()}
    head = {"format": FORMAT, "protocol": PROTOCOL, "name": history.name, **more, "constants": values}
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
    moves = ",\n  ".join(json.dumps(str(move)) for move in history.moves)
    return "{\n " + ",\n ".join(lines) + f',\n "moves": [\n  {moves}\n ]\n}}\n'


def load(path: Path) -> History:
    """Return the history of a file that was kept, or of a trace of the archive."""
    if path.suffix == ".trace":
        trace = read(path).trace
        if trace.protocol.name != PROTOCOL:
            raise UsageError(
                f"{path} is of protocol {trace.protocol.name!r}; clients play histories of {PROTOCOL!r} only: name one of it."
            )
        return of_steps(trace.constants, trace.steps, path.stem)
    try:
        data = json.loads(given(path))
        constants = named_protocol(PROTOCOL).machine.set_constants(data["constants"])
        moves = tuple(_move(str(text)) for text in data["moves"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(
            f"{path} cannot be read as a history ({type(error).__name__}: {error}). Name a file that `fencepost conform --client ... --output DIR` "
            "wrote, or a trace of leader-discovery."
        ) from error
    return History(constants, moves, str(data.get("name", path.stem)))


def of_archive() -> list[History]:
    """Return the histories of the archived traces of leader discovery, but for those that no client gets out of."""
    return [load(path) for path in sorted(ARCHIVE.glob(f"{PROTOCOL}-*.trace")) if path.stem not in HOPELESS]


def _move(text: str) -> Move:
    name, *args = text.split()
    name = name.replace("-", "_")
    if name not in BESIDES and name not in {item.name for item in named_protocol(PROTOCOL).machine.actions}:
        raise ValueError(f"no move is called {text!r}")
    return Move(name, tuple(map(int, args)))


def diagram(play: Play, last: Event) -> str:
    """Return who said what, up to an event, as a sequence diagram of Mermaid."""
    lines = ["sequenceDiagram", "  participant client"]
    brokers = sorted({event.broker for event in play.events if event.broker != NOBODY})
    lines += [f"  participant b{broker} as broker {broker}" for broker in brokers]
    for event in play.events:
        shown = _line(event)
        if shown:
            lines.append(f"  {shown}")
        if event is last:
            break
    return "\n".join(lines) + "\n"


def _line(event: Event) -> str:
    """Return an event as a line of a diagram, or nothing."""
    part = f"{event.partition}"
    known = "" if event.epoch == NOBODY else f", epoch {event.epoch}"
    if event.kind == "request":
        what = f" of {part} from {event.offset}" if event.offset != NOBODY else f" {event.value}".rstrip()
        return f"client->>b{event.broker}: {event.api}{what}{known}"
    if event.kind == "answer":
        said = ERRORS.get(event.error, event.error) or (
            "nothing new" if event.offset == NOBODY else f"offset {event.offset}"
        )
        return f"b{event.broker}-->>client: {said}"
    if event.kind in ("hint", "metadata"):
        leader = "nobody" if event.leader == NOBODY else f"broker {event.leader}"
        return f"b{event.broker}-->>client: {event.kind}: {leader} leads {part}{known}"
    told = {
        "delivered": f"delivers {event.value} at offset {event.offset}",
        "acked": f"{event.value} is acknowledged",
        "failed": f"{event.value} fails",
        "reported": "reports an error",
    }
    if event.kind in told:
        return f"Note over client: {told[event.kind]}"
    if event.kind == "moved":
        return f"Note over client: {event.value}"
    if event.kind == "lost":
        return f"Note over client: log of {part} is cut at offset {event.offset}"
    return "Note over client: the cluster is at rest" if event.kind == "settled" else ""


def page(history: History, play: Play, rule: str, why: str, client: str, last: Event, file: str) -> str:
    """Return a page on a failure: what was broken, how to play it again, and the diagram."""
    again = f"`fencepost conform {PROTOCOL} --client {client} --trace {file}` plays it again."
    moves = "\n".join(f"- {move}" for move in history.moves)
    return f"# {client}: {rule}\n\n{why}\n\n{again}\n\n{moves}\n\n```mermaid\n{diagram(play, last)}```\n"
