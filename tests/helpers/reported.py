"""Small models on which an engine once differed from the definition, with their outcomes.

A case begins with `== CLAIM | OUTCOME` (verdict and states, or the error); `reported_head.txt` precedes each.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fencepost.api as f
from fencepost.explorers.verdict import Result

from tests.helpers.blocks import blocks, whole
from tests.helpers.places import MODELS

HEADER = (MODELS / "reported_head.txt").read_text()
CASES = [(*block.title.split(" | "), f"{block.body}\n") for block in blocks(MODELS / "reported.txt")]
"""Claim, outcome and actions of each case."""


def written(text: str, folder: Path, header: str = HEADER) -> Path:
    file = folder / "model.py"
    file.write_text(whole(f"{header}{text}"))
    return file


def outcome_of(search: Callable[[], Result]) -> tuple[str, dict[str, Any]]:
    """Return the outcome of a search, and everything that all engines must agree on."""
    try:
        result = search()
    except f.FencepostError as error:
        return str(error), {}
    names = ("generated", "depth", "levels", "fired", "guards", "complete")
    same = {name: getattr(result, name) for name in names}
    same["properties"] = {it.name: (it.verdict.value, it.path and it.path.length) for it in result.properties}
    return f"{result.verdict.value} {result.distinct}", same


def found(file: Path, **options: Any) -> tuple[str, dict[str, Any]]:
    return outcome_of(lambda: f.check(file, **options))
