"""What records of the metadata log hold, as far as the audit reads them: what a dump says must be what Kafka can have written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Shape = Callable[[object], bool]

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
