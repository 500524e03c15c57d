"""Settings of topics in a running cluster, read with confluent-kafka. Nothing is written to the cluster."""

import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fencepost.explorers.running.files import read_named
from fencepost.model.language.errors import UsageError

SECONDS = 15.0
"""Time limit for each response from a cluster."""
MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"


class TopicSettings(NamedTuple):
    """Settings of a topic: fewest replicas in any partition, min ISR, unclean elections, and number of brokers."""

    replicas: int
    min_isr: int
    unclean_election: bool
    brokers: int | None = None


def client_settings(file: Path) -> dict[str, str]:
    """Return the settings in a file of NAME=VALUE lines; raise UsageError if the file contains anything else."""
    try:
        lines = read_named(file).decode("utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be read: {error}. Name a file with one NAME=VALUE per line.") from error
    found = {}
    for number, line in enumerate(lines, 1):
        name, mark, value = line.partition("=")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not mark:
            raise UsageError(
                f"{file}:{number}: {line.strip()!r} sets nothing: write NAME=VALUE, such as security.protocol=SSL."
            )
        found[name.strip()] = value.strip()
    return found


def settings_in(file: Path) -> dict[str, TopicSettings]:
    """Return the settings of topics in a file of lines `NAME REPLICAS MIN_ISR`, optionally followed by `unclean`."""
    try:
        lines = read_named(file).decode("utf-8-sig").splitlines()
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be read: {error}. Name a file with one topic per line.") from error
    found = {}
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        name, *numbers = words
        unclean = numbers[2:] == ["unclean"]
        if not all(re.fullmatch("[1-9][0-9]{0,3}", item) for item in numbers[:2]) or len(numbers) - unclean != 2:
            raise UsageError(f"{file}:{number}: {line.strip()!r}: write NAME REPLICAS MIN_ISR, such as `orders 3 2`.")
        if name in found:
            raise UsageError(f"{file}:{number}: topic {name} is listed twice: remove one of the lines.")
        found[name] = TopicSettings(int(numbers[0]), int(numbers[1]), unclean)
    if not found:
        raise UsageError(f"{file} lists no topics: write a line such as `orders 3 2` for each topic.")
    return found


def settings_of_topics(
    server: str, topic: str | None = None, more: Mapping[str, str] | None = None
) -> dict[str, TopicSettings]:
    """Return the settings of one topic or all user topics of a cluster; raise UsageError if it does not respond."""
    if importlib.util.find_spec("confluent_kafka") is None:
        raise UsageError(
            "querying a cluster needs confluent-kafka, which is not installed: run `pip install 'fencepost[advise]'`."
        )
    from confluent_kafka import KafkaException

    try:
        return _asked(server, topic, more or {})
    except KafkaException as error:
        what = f"topic {topic!r}" if topic else "its topics"
        raise UsageError(
            f"{server} did not return {what}: {_said(error)}. Check the address and your permissions."
        ) from error


def _asked(server: str, topic: str | None, more: Mapping[str, str]) -> dict[str, TopicSettings]:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient, ConfigResource

    quiet = {"bootstrap.servers": server, "socket.connection.setup.timeout.ms": int(SECONDS * 1000), "log_level": 0}
    client = AdminClient({**quiet, **more})
    cluster = client.list_topics(timeout=SECONDS)  # querying one topic would create it on some clusters
    known = cluster.topics
    names = [topic] if topic else sorted(name for name in known if not name.startswith("__"))
    if topic and topic not in known:
        raise UsageError(f"{server} has no topic {topic!r}: name an existing topic.")
    if not names:
        raise UsageError(f"{server} has no user topics, so there is nothing to advise on.")
    for name in names:
        if known[name].error:
            raise KafkaException(known[name].error)
    resources = {name: ConfigResource(ConfigResource.Type.TOPIC, name) for name in names}
    answers = client.describe_configs(list(resources.values()), request_timeout=SECONDS)
    return {
        name: _settings(server, name, known[name], answers[resources[name]].result(timeout=2 * SECONDS), cluster)
        for name in names
    }


def _settings(server: str, topic: str, known: Any, entries: Mapping[str, Any], cluster: Any) -> TopicSettings:
    replicas = min((len(item.replicas) for item in known.partitions.values()), default=0)
    if not replicas:
        raise UsageError(f"{server} lists no replicas of topic {topic!r}: try again once it has been created.")
    values: dict[str, Any] = {name: entry.value for name, entry in entries.items()}
    missing = [name for name in (MIN_ISR, UNCLEAN) if name not in values]
    if missing:
        raise UsageError(
            f"{server} did not return {' and '.join(missing)} of topic {topic!r}: pass the settings yourself instead."
        )
    return TopicSettings(replicas, int(values[MIN_ISR]), values[UNCLEAN] == "true", len(cluster.brokers))


def _said(error: Any) -> str:
    told = error.args[0] if error.args else error
    return told.str().rstrip(".") if hasattr(told, "str") else str(told)
