"""The settings of a topic as a running cluster has them: read by confluent-kafka, and nothing is written."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any, NamedTuple

from fencepost.explorers.running.files import read_named
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SECONDS = 15.0
"""How long a cluster has for each answer."""
MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"


class TopicSettings(NamedTuple):
    """Settings of a topic on a cluster: the fewest replicas of a partition, min ISR, unclean elections."""

    replicas: int
    min_isr: int
    unclean_election: bool


def look_for_client() -> None:
    """Raise UsageError where the library that asks clusters is not installed."""
    if importlib.util.find_spec("confluent_kafka") is None:
        raise UsageError(
            "asking a cluster needs confluent-kafka, which is not installed: run `pip install 'fencepost[advise]'`."
        )


def client_settings(file: Path) -> dict[str, str]:
    """Return the settings in a file of NAME=VALUE lines; raise UsageError for anything else."""
    try:
        lines = read_named(file).decode("utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be read: {error}. Name a file with a NAME=VALUE on each line.") from error
    found = {}
    for number, line in enumerate(lines, 1):
        name, mark, value = line.partition("=")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not mark:
            raise UsageError(
                f"{file}:{number} is {line.strip()!r}, which sets nothing: write NAME=VALUE, such as "
                "security.protocol=SSL."
            )
        found[name.strip()] = value.strip()
    return found


def settings_of_topic(server: str, topic: str, more: Mapping[str, str] | None = None) -> TopicSettings:
    """Ask a cluster for the settings of a topic; raise UsageError if it does not answer, or has no such topic."""
    look_for_client()
    from confluent_kafka import KafkaException

    try:
        return _asked(server, topic, more or {})
    except KafkaException as error:
        raise UsageError(
            f"{server} was asked for topic {topic!r}: {_said(error)}. Look at the address and at what may be read."
        ) from error


def _asked(server: str, topic: str, more: Mapping[str, str]) -> TopicSettings:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient, ConfigResource

    quiet = {"bootstrap.servers": server, "socket.connection.setup.timeout.ms": int(SECONDS * 1000), "log_level": 0}
    client = AdminClient({**quiet, **more})
    known = client.list_topics(timeout=SECONDS).topics  # asking for one topic would create it on some clusters
    if topic not in known:
        raise UsageError(f"{server} has no topic {topic!r}: write the name of one that it has.")
    if known[topic].error:
        raise KafkaException(known[topic].error)
    replicas = min((len(item.replicas) for item in known[topic].partitions.values()), default=0)
    if not replicas:
        raise UsageError(f"{server} names no replicas of topic {topic!r}: ask again when it has been created.")
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    (answer,) = client.describe_configs([resource], request_timeout=SECONDS).values()
    values: dict[str, Any] = {name: entry.value for name, entry in answer.result(timeout=2 * SECONDS).items()}
    missing = [name for name in (MIN_ISR, UNCLEAN) if name not in values]
    if missing:
        raise UsageError(
            f"{server} did not say what {' and '.join(missing)} of topic {topic!r} is: give the settings "
            "themselves instead."
        )
    return TopicSettings(replicas, int(values[MIN_ISR]), values[UNCLEAN] == "true")


def _said(error: Any) -> str:
    """Return the library's own words for an error."""
    told = error.args[0] if error.args else error
    return told.str().rstrip(".") if hasattr(told, "str") else str(told)
