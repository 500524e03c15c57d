"""Text that `kafka-dump-log.sh --cluster-metadata-decoder` prints, checked and turned into our decoder's lines."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any

from fencepost.kafka.audit.logs import Note, add_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    Shape = Callable[[object], bool]


BATCH = re.compile(r"baseOffset: (\d{1,18}) lastOffset: (\d{1,18}) ", re.ASCII)
EPOCH = re.compile(r"partitionLeaderEpoch: (-?\d{1,9})\b", re.ASCII)
CONTROL = re.compile(r"isControl: (\w+)")
VALID = re.compile(r"isvalid: (\w+)")
RECORD = re.compile(r"\|? ?offset: (\d{1,18}) ", re.ASCII)
TIME = re.compile(r"(?:CreateTime|LogAppendTime): (-?\d{1,18}) ", re.ASCII)
PAYLOAD = "payload:"
MOST = 5
"""Notes of a kind."""
OTHERS = {
    "damaged": "batches that are not valid",
    "refused": "records that are none of the metadata log",
    "strange": "lines that are not the tool's",
}
"""What notes of a kind are about."""
LONGEST = 1 << 24
"""Characters of a line."""


def lines(path: Path, number: int, runs: list[list[int]], notes: list[Note], after: int = -1) -> Iterator[bytes]:
    """Yield a line for each record after an offset.

    Runs of offsets, and notes on what could not be understood, are added to the lists.
    """
    last, epoch, control = -1, -1, False
    with path.open(encoding="utf-8", errors="replace") as opened:
        for at, line in enumerate(iter(partial(opened.readline, LONGEST), ""), 1):
            if len(line) == LONGEST and not line.endswith("\n"):
                text = (
                    f"{path}, line {at}: it has more than {LONGEST:,} characters, which no record has: nothing is "
                    "read from there on"
                )
                notes.append(Note("damaged", text))
                return
            batch = _batch(line)
            record = _record(line.rstrip("\n"))
            if batch:
                first, last, epoch, control = batch
                valid = VALID.search(line)
                if valid and valid[1] != "true":
                    _note(notes, "damaged", path, at, f"the tool says that the batch at {first} is not valid")
                if control:
                    add_run(runs, first, last)
            elif record and not control:
                offset, time, payload = record
                found = _payload(payload)
                if found is None:
                    _note(notes, "refused", path, at, f"no record of the metadata log: {payload[:60]!r}")
                    continue
                kind, version, about, fields = found
                add_run(runs, offset, offset)
                if offset > after:
                    columns = (number, offset, max(last, offset), epoch, time, kind, version, about, fields)
                    yield ("\t".join(map(str, columns)) + "\n").encode()
            elif (
                not batch
                and not record
                and not line.startswith(("Dumping ", "Log starting ", "Snapshot end", "|"))
                and line.strip()
            ):
                _note(notes, "strange", path, at, f"no line of kafka-dump-log.sh: {line.strip()[:60]!r}")


def _batch(line: str) -> tuple[int, int, int, bool] | None:
    """Return the first and the last offset of a batch, its epoch, and whether it is a control batch."""
    found = BATCH.search(line)
    epoch = EPOCH.search(line, found.end()) if found else None
    control = CONTROL.search(line, epoch.end()) if epoch else None
    return (int(found[1]), int(found[2]), int(epoch[1]), control[1] == "true") if found and epoch and control else None


def _record(line: str) -> tuple[int, int, str] | None:
    """Return the offset of a record, its time, and what it holds."""
    found = RECORD.match(line)
    time = TIME.search(line, found.end()) if found else None
    at = line.find(PAYLOAD, time.end()) if time else -1
    return (
        (int(found[1]), int(time[1]), line[at + len(PAYLOAD) :].removeprefix(" "))
        if found and time and at >= 0
        else None
    )


def _payload(text: str) -> tuple[str, int, str, str] | None:
    try:
        found = json.loads(text)
        kind, version, data = found["type"], found["version"], found["data"]
        if not fits(kind, version, data):
            return None
        about = f"{data.get('topicId', '')}\t{data.get('partitionId', -1)}"
        return kind, version, about, json.dumps(data, separators=(",", ":"))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _note(notes: list[Note], what: str, path: Path, at: int, said: str) -> None:
    """Add a note about a line; the last of many of a kind has the number of those that are left."""
    same = [note for note in notes if note.what == what]
    if len(same) < MOST - 1:
        notes.append(Note(what, f"{path}, line {at}: {said}"))
    elif len(same) < MOST:
        notes.append(Note(what, f"{path}: 1 more: {OTHERS[what]}"))
    else:
        same[-1].count += 1
        same[-1].text = f"{path}: {same[-1].count:,} more: {OTHERS[what]}"


NAME = re.compile(r"[A-Z0-9_]{1,80}", re.ASCII)
ID = re.compile(r"[A-Za-z0-9_+/=-]{0,80}", re.ASCII)
"""A topic's id, in base 64."""
MOST_BROKERS = 1000
"""Brokers that a list may name."""


def _number(bits: int) -> Shape:
    return lambda value: type(value) is int and -1 << bits - 1 <= value < 1 << bits - 1


def _text(value: object) -> bool:
    """Say whether this is text that can be written as UTF-8."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def _brokers(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) <= MOST_BROKERS
        and all(_INT32(broker) and broker >= 0 for broker in value)
    )


def _or_null(shape: Shape) -> Shape:
    return lambda value: value is None or shape(value)


def _epoch(value: object) -> bool:
    """Say whether this may be an epoch: one that rises by one at a time, and never to the end of its numbers."""
    return type(value) is int and -1 <= value < 1 << 30


_INT8, _INT16, _INT32, _INT64 = map(_number, (8, 16, 32, 64))
_SOME = _or_null(_brokers)
_OPTIONAL = {
    "removingReplicas": _SOME,
    "addingReplicas": _SOME,
    "leaderRecoveryState": _INT8,
    "eligibleLeaderReplicas": _SOME,
    "lastKnownElr": _SOME,
}
_FLAGS = {name: (lambda value: isinstance(value, bool)) for name in ("fenced", "inControlledShutdown")}
FIELDS: dict[str, tuple[Mapping[str, Shape], Mapping[str, Shape]]] = {
    "PARTITION_RECORD": (
        {
            "partitionId": _INT32,
            "topicId": _text,
            "replicas": _brokers,
            "isr": _brokers,
            "leader": _INT32,
            "leaderEpoch": _epoch,
            "partitionEpoch": _epoch,
        },
        _OPTIONAL,
    ),
    "PARTITION_CHANGE_RECORD": (
        {"partitionId": _INT32, "topicId": _text},
        {**_OPTIONAL, "replicas": _SOME, "isr": _SOME, "leader": _INT32},
    ),
    "REGISTER_BROKER_RECORD": ({"brokerId": _INT32, "brokerEpoch": _INT64}, _FLAGS),
    "UNREGISTER_BROKER_RECORD": ({"brokerId": _INT32}, {}),
    "FENCE_BROKER_RECORD": ({"id": _INT32}, {}),
    "UNFENCE_BROKER_RECORD": ({"id": _INT32}, {}),
    "BROKER_REGISTRATION_CHANGE_RECORD": ({"brokerId": _INT32}, dict.fromkeys(_FLAGS, _INT8)),
    "TOPIC_RECORD": ({"topicId": _text, "name": _text}, {}),
    "REMOVE_TOPIC_RECORD": ({"topicId": _text}, {}),
    "CONFIG_RECORD": ({"resourceType": _INT8, "resourceName": _text, "name": _text, "value": _or_null(_text)}, {}),
    "CLEAR_ELR_RECORD": ({}, {"topicName": _or_null(_text)}),
    "FEATURE_LEVEL_RECORD": ({"name": _text, "featureLevel": _INT16}, {}),
}
"""For each type of record the fields that it must have, and those that it may have."""


def fits(kind: object, version: object, data: object) -> bool:
    """Say whether this may be a record: its type, its version and its fields as JSON."""
    if not (isinstance(kind, str) and NAME.fullmatch(kind) and _INT16(version) and isinstance(data, dict)):
        return False
    where: Any = data.get("topicId", "")
    if not (isinstance(where, str) and ID.fullmatch(where) and _INT32(data.get("partitionId", -1))):
        return False
    needed, optional = FIELDS.get(kind, ({}, {}))
    return all(name in data and shape(data[name]) for name, shape in needed.items()) and all(
        shape(data[name]) for name, shape in optional.items() if name in data
    )
