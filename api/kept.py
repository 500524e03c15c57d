"""Finished rows of a long table in a folder: each is written at once and whole, and known again by what it was an answer to."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from fencepost.api.files import make_sure_folder
from fencepost.model.language.errors import UsageError


def digest(parts: list[str]) -> str:
    """Return a short name for texts: others have another one."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


class Kept:
    """The finished rows in a folder. `question` is all that the rows depend on: another question finds none of them.

    With `begun` the folder must hold a row of this question already.
    """

    def __init__(self, folder: str | None, question: str, *, resume: bool, begun: bool = False) -> None:
        if resume and not folder:
            raise UsageError("--resume was given without a checkpoint to go on from: write --checkpoint DIR --resume.")
        self.folder = Path(folder) if folder else None
        self.mark = hashlib.sha256(question.encode()).hexdigest()
        self.resume = resume
        if begun and self.folder:
            self._refuse_nothing(self.folder)
        if self.folder:
            make_sure_folder(self.folder)

    def _refuse_nothing(self, folder: Path) -> None:
        marks = [_mark_in(file) for file in folder.glob("*.json")]
        if self.mark in marks:
            return
        why = " for this question; what is there is an answer to another one" if any(marks) else ""
        raise UsageError(
            f"there is no checkpoint in {folder}{why}: run once with --checkpoint {folder}, or leave --resume out to begin afresh."
        )

    def recall(self, name: str) -> dict[str, Any] | None:
        """Return a finished row, or None if it is not finished; raise UsageError for a file that is not as it was written."""
        if not self.folder or not self.resume:
            return None
        file = self._file(name)
        try:
            stored = json.loads(file.read_text())
            mark, found, checksum = stored["mark"], stored["found"], stored["sum"]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise self._damaged(file, name) from error
        if not isinstance(found, dict) or checksum != _checksum(name, mark, found):
            raise self._damaged(file, name)
        return found if mark == self.mark else None

    @staticmethod
    def _damaged(file: Path, name: str) -> UsageError:
        return UsageError(
            f"{file}: the row {name!r} of the checkpoint is damaged: its checksum does not fit what it says. Remove this file, or "
            "start afresh without --resume."
        )

    def keep(self, name: str, found: dict[str, Any]) -> None:
        """Store a finished row."""
        if not self.folder:
            return
        file = self._file(name)
        fresh = file.with_suffix(".new")
        try:
            fresh.write_text(json.dumps({"mark": self.mark, "sum": _checksum(name, self.mark, found), "found": found}))
            fresh.replace(file)
        except OSError as error:
            raise UsageError(f"{file} cannot be written: {error.strerror or error}. Name a folder with room.") from error

    def _file(self, name: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{re.sub(r'[^a-z0-9._=]+', '-', name.lower())}.json"


def _checksum(name: str, mark: object, found: dict[str, Any]) -> str:
    """Return what tells a row from one that was edited, or was put in the place of another one."""
    read_back = json.loads(json.dumps(found))
    return hashlib.sha256(json.dumps([name, mark, read_back], sort_keys=True).encode()).hexdigest()


def _mark_in(file: Path) -> str:
    """Return the mark of the question that a file in a folder answers, or an empty string if it is no row."""
    try:
        stored = json.loads(file.read_text())
    except (OSError, ValueError):
        return ""
    return str(stored.get("mark", "")) if isinstance(stored, dict) else ""
