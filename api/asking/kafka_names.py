"""Constants by the names of Kafka's settings, where these mean the same, and by what they mean."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fencepost.model.language.machine import Machine

SETTINGS = {
    "min.insync.replicas": ("min_isr",),
    "unclean.leader.election.enable": ("unclean_election",),
    "replication.factor": ("brokers", "replicas"),
    "default.replication.factor": ("brokers", "replicas"),
    "replicas": ("brokers",),
    "brokers": ("replicas",),
    "nodes": ("brokers", "replicas"),
}
"""By Kafka's name, the constants that mean it in some protocol."""


def meant(machine: Machine, name: str) -> str:
    """Return the constant that a name of Kafka's means in a protocol, an empty string if there is none."""
    known = machine.constants.declared()
    dotted = name.strip().lower().replace("-", ".").replace("_", ".")
    return next((item for item in SETTINGS.get(dotted, ()) if item in known), "")


def by_meaning(machine: Machine, name: str, said: str) -> str:
    """Return a sentence with the constants whose meaning has words of a name; an empty string if none has, or if that was said."""
    words = {word[:5] for word in re.split(r"[^a-z0-9]+", name.lower()) if len(word) > 3}
    scores = {
        found: sum(word in f"{found} {constant.meaning}".lower() for word in words)
        for found, constant in machine.constants.declared().items()
    }
    best = max(scores.values(), default=0)
    close = [found for found, score in scores.items() if score == best > 0][:3]
    known = any(f"mean {item!r}" in said for item in close)
    return f" By its meaning it may be {' or '.join(close)}." if close and not known else ""
