"""The encoding of all versions of Kafka's messages. It uses kio, which is generated from Kafka's schemas."""

import datetime as dt
import io
import struct
import typing
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from typing import Any

from fencepost.model.language.errors import UsageError

PRODUCE, FETCH, LIST_OFFSETS, METADATA, OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR = 0, 1, 2, 3, 8, 9, 10
API_VERSIONS, INIT_PRODUCER_ID, OFFSET_FOR_LEADER_EPOCH = 18, 22, 23
OFFERED: dict[int, tuple[int, int]] = {
    PRODUCE: (3, 12), FETCH: (4, 17), LIST_OFFSETS: (1, 8), METADATA: (0, 13), FIND_COORDINATOR: (0, 6),
    API_VERSIONS: (0, 4), INIT_PRODUCER_ID: (0, 5), OFFSET_FOR_LEADER_EPOCH: (2, 4),
}  # fmt: skip
"""Versions that the scripted cluster supports. Produce uses topic names, and later versions of Fetch use topic ids."""
COMMITS = {OFFSET_COMMIT: (2, 8), OFFSET_FETCH: (1, 7)}
"""Additional versions for histories with commits."""
JOINS = {11: (0, 5), 12: (0, 3), 13: (0, 1), 14: (0, 3)}
"""Versions that such histories also offer, because librdkafka requires a coordinator to support them. Clients that
assign partitions manually do not use them.
"""
NONE, OUT_OF_RANGE, LEADER_NOT_AVAILABLE, NOT_LEADER = 0, 1, 5, 6
OUT_OF_ORDER, FENCED_PRODUCER, UNKNOWN_PRODUCER = 45, 47, 59
NO_COORDINATOR, UNSUPPORTED, FENCED_EPOCH, UNKNOWN_EPOCH, UNKNOWN_ID = 15, 35, 74, 75, 100
NO_TIME = dt.timedelta(0)


@dataclass(frozen=True)
class Message:
    api: int
    version: int
    correlation: int
    body: Any
    client: str = ""


@cache
def kio() -> Any:
    try:
        serial, index = import_module("kio.serial"), import_module("kio.index")
        return serial, index, import_module("kio.records.readers"), import_module("kio.records.writers")
    except ImportError as error:
        raise UsageError(
            "the scripted cluster needs the library `kio`, which is not installed: run `pip install "
            "'fencepost[clients]'`."
        ) from error


@cache
def schema(api: int, version: int, *, is_answer: bool) -> Any:
    index = kio()[1]
    return (index.load_response_schema if is_answer else index.load_request_schema)(api, version)


@cache
def reader(kind: Any) -> Any:
    return kio()[0].entity_reader(kind)


@cache
def writer(kind: Any) -> Any:
    return kio()[0].entity_writer(kind)


def _leaves(hint: Any) -> list[Any]:
    inside = typing.get_args(hint)
    return [leaf for one in inside for leaf in _leaves(one)] if inside else [hint]


@cache
def _parts(kind: Any) -> tuple[tuple[str, Any, bool], ...]:
    hints = typing.get_type_hints(kind)
    found = []
    for item in fields(kind):
        leaves = _leaves(hints[item.name])
        inner = next((one for one in leaves if hasattr(one, "__api_key__")), None)
        error = next((one for one in leaves if getattr(one, "__name__", "") == "ErrorCode"), None)
        found.append((item.name, inner or error, error is not None))
    return tuple(found)


def make_message(kind: Any, values: dict[str, Any]) -> Any:
    given: dict[str, Any] = {}
    for name, inner, is_error in _parts(kind):
        if name not in values:
            continue
        value = values[name]
        if is_error:
            given[name] = inner(value)
        elif inner is None or value is None:
            given[name] = tuple(value) if isinstance(value, list) else value
        elif isinstance(value, list):
            given[name] = tuple(make_message(inner, item) for item in value)
        else:
            given[name] = make_message(inner, value)
    return kind(**given)


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def _written(header: dict[str, Any], kind: Any, values: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    writer(kind.__header_schema__)(buffer, make_message(kind.__header_schema__, header))
    writer(kind)(buffer, make_message(kind, values))
    return frame(buffer.getvalue())


def answer(message: Message, values: dict[str, Any]) -> bytes:
    kind = schema(message.api, message.version, is_answer=True)
    return _written({"correlation_id": message.correlation}, kind, values)


def request(api: int, version: int, correlation: int, values: dict[str, Any]) -> bytes:
    header = {"request_api_key": api, "request_api_version": version, "correlation_id": correlation}
    return _written({**header, "client_id": "fencepost"}, schema(api, version, is_answer=False), values)


def read_request(frame: bytes) -> Message:
    """Parse a request. If it is an ApiVersions request of an unknown version, parse only its header (KIP-511)."""
    api, version, correlation = struct.unpack_from(">hhi", frame)
    low, high = (OFFERED | COMMITS).get(api, (1, 0))
    if not low <= version <= high:
        return Message(api, version, correlation, None)
    kind = schema(api, version, is_answer=False)
    header, size = reader(kind.__header_schema__)(frame, 0)
    body, _ = reader(kind)(frame, size)
    return Message(api, version, correlation, body, header.client_id or "")


def read_answer(frame: bytes, api: int, version: int) -> Any:
    kind = schema(api, version, is_answer=True)
    _, size = reader(kind.__header_schema__)(frame, 0)
    return reader(kind)(frame, size)[0]


def versions(error: int = NONE, *, has_groups: bool = False) -> dict[str, Any]:
    spoken = OFFERED | COMMITS | JOINS if has_groups else OFFERED
    offered = [{"api_key": api, "min_version": low, "max_version": high} for api, (low, high) in spoken.items()]
    return {"error_code": error, "api_keys": offered, "throttle_time": NO_TIME}


class Numbers(typing.NamedTuple):
    producer: int
    epoch: int
    sequence: int


UNNUMBERED = Numbers(-1, -1, -1)


@cache
def batch(offset: int, epoch: int, value: str, numbers: Numbers = UNNUMBERED) -> bytes:
    _, _, _, writers = kio()
    records = import_module("kio.records.schema")
    when = dt.datetime.fromtimestamp(1_700_000_000, tz=dt.UTC)
    record = records.Record(attributes=0, timestamp=when, offset=offset, key=None, value=value.encode(), headers=())
    known = {"producer_epoch": numbers.epoch, "partition_leader_epoch": epoch, "base_sequence": numbers.sequence}
    new = records.NewRecordBatch(producer_id=numbers.producer, records=(record,), attributes=0, **known)
    buffer = io.BytesIO()
    writers.write_batch(buffer, new)
    return buffer.getvalue()


@dataclass(frozen=True)
class Read:
    offset: int
    epoch: int
    value: str


def numbers_of(data: bytes | None) -> Numbers:
    if not data:
        return UNNUMBERED
    one, _ = kio()[2].read_batch(data, 0)
    return Numbers(one.producer_id, one.producer_epoch, one.base_sequence)


def records(data: bytes | None) -> list[Read]:
    found, place = [], 0
    while data and place < len(data):
        one, size = kio()[2].read_batch(data, place)
        place += size
        found += [Read(item.offset, one.partition_leader_epoch, (item.value or b"").decode()) for item in one.records]
    return found
