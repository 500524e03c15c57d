"""Client bugs that users reported or that we found, with histories that show them, and the affected versions."""

import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fencepost.kafka.clients.history import Story
from fencepost.model.language.errors import UsageError, nearest

_FILE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
SEQUENCES: dict[str, list[str]] = _FILE["sequences"]


def steps_of(moves: Iterable[str]) -> Iterator[str]:
    """Yield the steps of moves; a move such as `try * 3` stands for several steps."""
    for move in moves:
        name, _, times = move.partition(" * ")
        yield from [*steps_of(SEQUENCES[name])] * int(times or 1) if name in SEQUENCES else [move]


def _stories() -> Iterator[Story]:
    for name, item in _FILE["story"].items():
        sentence, moves = " ".join(item.pop("sentence").split()), tuple(steps_of(item.pop("moves")))
        lists: dict[str, Any] = {key: tuple(item.pop(key, ())) for key in ("rules", "breaks", "keeps", "rarely")}
        yield Story(name, sentence=sentence, moves=moves, **lists, **item)


STORIES = tuple(_stories())


def story(name: str) -> Story:
    found = next((item for item in STORIES if item.name == name), None)
    if found is None:
        names = [item.name for item in STORIES]
        raise UsageError(
            f"there is no story {name!r}.{nearest(name, names)} The stories are: {', '.join(names)}. A history from "
            "the tables has a name such as 'walk 951.125'."
        )
    return found
