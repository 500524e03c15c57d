"""What a verdict on a version of Kafka rests on: the sources that it follows, the findings in it, and what the question means."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fencepost.model.language.machine import REPAIRED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.api.targets import Question


def version_notes(question: Question) -> Iterator[str]:
    """Yield what a reader of an answer about a version must know; nothing of a question without one."""
    machine, name = question.protocol.machine, question.version
    if not name or not machine.repairs:
        return
    version = machine.version(name)
    left = machine.missing(question.constants.values)
    if machine.terms is not None:
        yield from machine.terms(question.constants)
    if name.endswith(REPAIRED):
        yield f"{name} is {version.sentence}. No release has all of that: what holds here would hold of one that had."
        return
    yield f"{name} follows Kafka as it reads: {version.sentence}."
    if left:
        found = "; ".join(f"{item.finding}, until {item.sentence}" for item in left)
        yield f"It contains {found}. `--version {name}{REPAIRED}` asks the same of it without these, and `fencepost guarantees ID` shows each."


def is_told(note: str, told: tuple[str, ...]) -> bool:
    """Say whether a note is about findings alone that were named before."""
    found = re.findall(r"HYP-\d+\b", note)
    return bool(found) and all(any(re.search(rf"{item}\b", line) for line in told) for item in found)
