"""Where a search on Spark stands, between two levels; written in one step after each."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from fencepost.explorers.native.checkpoint import question, refuse_other_question
from fencepost.explorers.spark.store import DamagedError
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from fencepost.explorers.native.search import Search
    from fencepost.explorers.spark.store import Store

FORMAT = 1
NAME = "spark.json"
State = list[int]
"""[level, partition, number inside the partition]"""


@dataclass
class Manifest:
    """All of a search that is not in its blocks."""

    partitions: int
    base: int
    """The first level that has a block; it holds all states of the levels up to it."""
    level: int
    """The newest level, which is expanded next."""
    levels: list[int]
    """States of each level, from the first."""
    initial: int
    fired: list[int]
    refused: list[int]
    deadlocks: int = 0
    deadlock: State | None = None
    found: dict[str, State] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def distinct(self) -> int:
        """States reached."""
        return sum(self.levels)

    @property
    def generated(self) -> int:
        """Initial states plus successors computed, with repetition."""
        return self.initial + sum(self.fired)

    @property
    def depth(self) -> int:
        """Levels that have states."""
        return sum(1 for count in self.levels if count)


def save(store: Store, manifest: Manifest, native: Search) -> None:
    """Write the manifest."""
    store.write(NAME, json.dumps({"format": FORMAT, "question": question(native), "manifest": asdict(manifest)}).encode())


def refuse_another(store: Store) -> None:
    """Raise UsageError if the folder keeps a search already, which a new one would overwrite."""
    if store.exists(NAME):
        raise UsageError(
            f"{store.url} keeps the checkpoint of a search: write --resume to go on with it, or name an empty folder."
        )


def load(store: Store, native: Search) -> Manifest:
    """Return the manifest of a search that asked the same; raise UsageError if there is none that fits."""
    where = f"{store.url}/{NAME}"
    if not store.exists(NAME):
        raise UsageError(f"there is no checkpoint of the spark engine in {store.url}: run once with --checkpoint {store.url}.")
    try:
        stored = json.loads(store.read(NAME))
        if stored["format"] != FORMAT:
            raise UsageError(f"{where}: it has format {stored['format']!r}, this version reads {FORMAT}: start afresh.")
        asked, manifest = stored["question"], Manifest(**stored["manifest"])
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, UsageError):
            raise
        raise DamagedError(f"{where}: the manifest of the checkpoint is damaged. Start afresh without --resume.") from error
    refuse_other_question(store.url, asked, question(native))
    store.remove(range(manifest.level + 1, manifest.level + 2))
    return manifest
