"""A reader and a writer of figures as JSON, with one row per line to keep diffs small."""

import json
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def file_of(name: str) -> Path:
    """Return the file of the figures with this name."""
    return FOLDER / f"{name}.json"


@cache
def load(name: str) -> dict[str, Any]:
    """Return the figures with this name, or an empty dict if they have not been measured.

    The result is cached, so callers must not modify it.
    """
    file = file_of(name)
    found: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    return found


def save(name: str, figures: dict[str, Any]) -> None:
    """Replace the figures with this name, and clear their cache."""
    file = file_of(name)
    file.parent.mkdir(exist_ok=True)
    file.write_text(text_of(figures) + "\n", "utf-8")
    load.cache_clear()


def text_of(value: Any, inset: str = "") -> str:
    """Return a value as JSON, with each row on its own line and everything else on one line."""
    if not _has_rows(value):
        return json.dumps(value, ensure_ascii=False)
    deeper = inset + " "
    if isinstance(value, dict):
        lines = [f"{json.dumps(str(key), ensure_ascii=False)}: {text_of(item, deeper)}" for key, item in value.items()]
        return f"{{\n{deeper}" + f",\n{deeper}".join(lines) + f"\n{inset}}}"
    return f"[\n{deeper}" + f",\n{deeper}".join(text_of(item, deeper) for item in value) + f"\n{inset}]"


def _has_rows(value: Any) -> bool:
    if isinstance(value, list):
        return any(isinstance(item, dict) for item in value)
    if isinstance(value, dict):
        return bool(value) and (
            all(isinstance(item, dict) for item in value.values()) or any(map(_has_rows, value.values()))
        )
    return False
