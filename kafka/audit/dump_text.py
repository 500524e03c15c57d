"""Conversion of the output of `kafka-dump-log.sh --cluster-metadata-decoder` to the format of Fencepost's decoder."""

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from fencepost.kafka.audit.logs import Note, add_run

BATCH = re.compile(r"baseOffset: (\d{1,18}) lastOffset: (\d{1,18}) ", re.ASCII)
EPOCH = re.compile(r"partitionLeaderEpoch: (-?\d{1,9})\b", re.ASCII)
CONTROL = re.compile(r"isControl: (\w+)")
VALID = re.compile(r"isvalid: (\w+)")
RECORD = re.compile(r"\|? ?offset: (\d{1,18}) ", re.ASCII)
TIME = re.compile(r"(?:CreateTime|LogAppendTime): (-?\d{1,18}) ", re.ASCII)
PAYLOAD = "payload:"
MOST = 5
OTHERS = {
    "damaged": "batches that the tool reports as invalid",
    "refused": "records that do not belong to the metadata log",
    "strange": "lines in an unknown format",
}
LONGEST = 1 << 24


def lines(path: Path, number: int, runs: list[list[int]], notes: list[Note], after: int = -1) -> Iterator[bytes]:
    """Yield a line for each record after an offset; append offset ranges to `runs`, and notes on invalid text."""
    last, epoch, control, newest, repeated = -1, -1, False, -1, 0
    with path.open(encoding="utf-8", errors="replace") as opened:
        for at, line in enumerate(iter(partial(opened.readline, LONGEST), ""), 1):
            if len(line) == LONGEST and not line.endswith("\n"):
                text = (
                    f"{path}, line {at}: the line has more than {LONGEST:,} characters, which no valid record has, "
                    "so the rest was not read"
                )
                notes.append(Note("damaged", text))
                return
            batch = _batch(line)
            record = _record(line.rstrip("\n"))
            if batch:
                first, last, epoch, control = batch
                valid = VALID.search(line)
                if valid and valid[1] != "true":
                    _note(notes, "damaged", path, at, f"the tool reports an invalid batch at offset {first}")
                if control and first > newest:
                    add_run(runs, first, last)
                    newest = last
            elif record and not control:
                offset, time, payload = record
                found = _payload(payload)
                if found is None:
                    _note(
                        notes, "refused", path, at, f"the record does not belong to the metadata log: {payload[:60]!r}"
                    )
                    continue
                kind, version, about, fields = found
                if offset <= newest and any(first <= offset <= end for first, end in runs):
                    repeated += 1
                    continue
                add_run(runs, offset, offset)
                newest = max(newest, offset)
                if offset > after:
                    columns = (number, offset, max(last, offset), epoch, time, kind, version, about, fields)
                    yield ("\t".join(map(str, columns)) + "\n").encode()
            elif not (record or line.startswith(("Dumping ", "Log starting ", "Snapshot end", "|"))) and line.strip():
                _note(notes, "strange", path, at, f"the line is not output of kafka-dump-log.sh: {line.strip()[:60]!r}")
    if repeated:
        text = f"{path}: {repeated:,} records with an offset that is earlier in the file were left out"
        notes.append(Note("repeated", text, repeated, unread=False))


def _batch(line: str) -> tuple[int, int, int, bool] | None:
    found = BATCH.search(line)
    epoch = EPOCH.search(line, found.end()) if found else None
    control = CONTROL.search(line, epoch.end()) if epoch else None
    return (int(found[1]), int(found[2]), int(epoch[1]), control[1] == "true") if found and epoch and control else None


def _record(line: str) -> tuple[int, int, str] | None:
    found = RECORD.match(line)
    time = TIME.search(line, found.end()) if found else None
    at = line.find(PAYLOAD, time.end()) if time else -1
    if found and time and at >= 0:
        return (int(found[1]), int(time[1]), line[at + len(PAYLOAD) :].removeprefix(" "))
    return None


def _payload(text: str) -> tuple[str, int, str, str] | None:
    try:
        found = json.loads(text)
        kind, version, data = found["type"], found["version"], found["data"]
        json.dumps(data, ensure_ascii=False).encode()  # invalid text raises UnicodeEncodeError
        if not fits(kind, version, data):
            return None
        about = f"{data.get('topicId', '')}\t{data.get('partitionId', -1)}"
        return kind, version, about, json.dumps(data, separators=(",", ":"))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _note(notes: list[Note], what: str, path: Path, at: int, said: str) -> None:
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
Shape = Callable[[object], bool]


def _number(least: int, beyond: int) -> Shape:
    return lambda value: type(value) is int and least <= value < beyond


def _of(kind: type) -> Shape:
    return lambda value: isinstance(value, kind)


def _each(shape: Shape) -> Shape:
    return lambda value: isinstance(value, list) and all(map(shape, value))


def _or_none(shape: Shape) -> Shape:
    return lambda value: value is None or shape(value)


_INT8, _INT16, _INT32, _INT64 = (_number(-(1 << bits - 1), 1 << bits - 1) for bits in (8, 16, 32, 64))
_EPOCH = _number(-1, 1 << 30)
"""Upper limits of epochs, which increase by one and never reach these values."""
_text, _flag = _of(str), _of(bool)
_brokers, _objects = _each(_number(0, 1 << 31)), _each(_of(dict))
_SOME = _or_none(_brokers)
WHERE: dict[str, Shape] = {"topicId": _text, "partitionId": _INT32}
_LISTS = ("removingReplicas", "addingReplicas", "eligibleLeaderReplicas", "lastKnownElr")
_OPTIONAL: dict[str, Shape] = {**dict.fromkeys(_LISTS, _SOME), "leaderRecoveryState": _INT8}
_PARTITION: dict[str, Shape] = {"replicas": _brokers, "isr": _brokers, "leader": _INT32}
_FLAGS: dict[str, Shape] = {"fenced": _flag, "inControlledShutdown": _flag}
FIELDS: dict[str, tuple[dict[str, Shape], dict[str, Shape]]] = {
    "PARTITION_RECORD": ({**WHERE, **_PARTITION, "leaderEpoch": _EPOCH, "partitionEpoch": _EPOCH}, _OPTIONAL),
    "PARTITION_CHANGE_RECORD": (WHERE, {**_OPTIONAL, "replicas": _SOME, "isr": _SOME, "leader": _INT32}),
    "REGISTER_BROKER_RECORD": ({"brokerId": _INT32, "brokerEpoch": _INT64}, _FLAGS),
    "UNREGISTER_BROKER_RECORD": ({"brokerId": _INT32}, {}),
    "FENCE_BROKER_RECORD": ({"id": _INT32}, {}),
    "UNFENCE_BROKER_RECORD": ({"id": _INT32}, {}),
    "BROKER_REGISTRATION_CHANGE_RECORD": ({"brokerId": _INT32}, dict.fromkeys(_FLAGS, _INT8)),
    "REGISTER_CONTROLLER_RECORD": ({"controllerId": _INT32}, {"features": _objects}),
    "TOPIC_RECORD": ({"topicId": _text, "name": _text}, {}),
    "REMOVE_TOPIC_RECORD": ({"topicId": _text}, {}),
    "CONFIG_RECORD": ({"resourceType": _INT8, "resourceName": _text, "name": _text, "value": _or_none(_text)}, {}),
    "CLEAR_ELR_RECORD": ({}, {"topicName": _or_none(_text)}),
    "FEATURE_LEVEL_RECORD": ({"name": _text, "featureLevel": _INT16}, {}),
}


def fits(kind: object, version: object, data: object) -> bool:
    if not (isinstance(kind, str) and NAME.fullmatch(kind) and isinstance(data, dict)):
        return False
    needed, optional = FIELDS.get(kind, ({}, {}))
    there = {name: shape for name, shape in {**WHERE, **optional, **needed}.items() if name in data}
    return (
        set(needed) <= set(data)
        and _INT16(version)
        and all(shape(data[name]) for name, shape in there.items())
        and ID.fullmatch(data.get("topicId", "")) is not None
    )
