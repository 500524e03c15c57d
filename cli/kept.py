"""Finished rows of a long table in a folder: each is written at once and whole, and known again by what it was an answer to."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from fencepost.cli.failures import make_sure_folder
from fencepost.model.language.errors import UsageError


def digest(parts: list[str]) -> str:
    """Return a short name for texts: others have another one."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


class Kept:
    """The finished rows in a folder. `question` is all that the rows depend on: another question finds none of them."""

    def __init__(self, folder: str | None, question: str, *, resume: bool) -> None:
        if resume and not folder:
            raise UsageError("--resume was given without a checkpoint to go on from: write --checkpoint DIR --resume.")
        self.folder = Path(folder) if folder else None
        self.mark = hashlib.sha256(question.encode()).hexdigest()
        self.resume = resume
        if self.folder:
            make_sure_folder(self.folder)

    def recall(self, name: str) -> dict[str, Any] | None:
        """Return a finished row, or None if it is not finished."""
        if not self.folder or not self.resume:
            return None
        try:
            stored = json.loads(self._file(name).read_text())
        except (OSError, ValueError):
            return None
        if not isinstance(stored, dict) or stored.get("mark") != self.mark:
            return None
        found: dict[str, Any] = stored["found"]
        return found

    def keep(self, name: str, found: dict[str, Any]) -> None:
        """Store a finished row."""
        if not self.folder:
            return
        file = self._file(name)
        fresh = file.with_suffix(".new")
        try:
            fresh.write_text(json.dumps({"mark": self.mark, "found": found}))
            fresh.replace(file)
        except OSError as error:
            raise UsageError(f"{file} cannot be written: {error.strerror or error}. Name a folder with room.") from error

    def _file(self, name: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{re.sub(r'[^a-z0-9._=]+', '-', name.lower())}.json"
