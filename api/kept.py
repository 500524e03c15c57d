"""Finished rows in a folder: of a matrix, a grid, or the catalogue.

Each is written at once and whole, and known again by its question.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from fencepost.api.answers import contract
from fencepost.api.asking.quantities import counted
from fencepost.api.files import hold, make_sure_folder
from fencepost.explorers.running import sealed
from fencepost.explorers.running.files import read_file, write_file
from fencepost.explorers.running.shapes import misfit
from fencepost.model.language.errors import UnkeptError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fencepost.api.asking.watching import Watch

FORMAT = 3
"""Rows of format 2 say nothing of the initial states that they are of."""

PLAIN = re.compile(r"[a-z0-9._=/ -]*")
"""Names of rows that are distinguished by their letters and numbers alone."""
LONGEST = 200
"""Characters of a row's name that its file has: systems refuse names of more than 255 bytes."""


def digest(parts: list[str]) -> str:
    """Return a short name for texts: others have another one."""
    return hashlib.sha256(_bytes("\n".join(parts))).hexdigest()[:16]


class _Row(TypedDict):
    format: int
    row: str
    mark: str
    found: object


class Kept:
    """The finished rows in a folder, each JSON of a shape.

    `question` is all that the rows depend on: another question finds none of them. With `begun` the folder must
    hold a row of this question already.
    """

    def __init__(
        self, folder: str | Path | None, question: str, shape: type, *, resume: bool, begun: bool = False
    ) -> None:
        if resume and not folder:
            raise UsageError(
                "`resume=True` was given without a checkpoint to continue from: write `checkpoint=DIR, resume=True`."
            )
        self.folder, self.shape = Path(folder) if folder else None, shape
        self.mark = hashlib.sha256(_bytes(question)).hexdigest()
        self.resume = resume
        if begun and self.folder:
            self._refuse_nothing(self.folder)
        if self.folder:
            make_sure_folder(self.folder)
        self.held = hold(self.folder) if self.folder else None

    def _refuse_nothing(self, folder: Path) -> None:
        rows = {file: _row_in(file) for file in sorted(folder.glob("*.json"))}
        marks = [row.get("mark") for row in rows.values()]
        if self.mark in marks:
            return
        for file, row in rows.items():
            if row.get("mark"):
                sealed.require_format(row, file, FORMAT)
        if rows and not any(rows.values()):
            raise sealed.damaged(next(iter(rows)))
        why = " for this question; what is there is an answer to another one" if any(marks) else ""
        raise UsageError(
            f"there is no checkpoint in {folder}{why}: run once with `checkpoint={str(folder)!r}`, "
            "or leave `resume=True` out to begin afresh."
        )

    def recall(self, name: str, own: str = "") -> Any:
        """Return a finished row, or None if it is not finished; `own` is what this row alone depends on.

        Raises UsageError for a file that is not as it was written.
        """
        if not self.folder or not self.resume:
            return None
        file = self._file(name)
        try:
            row = sealed.read_sealed(read_file(file), file, FORMAT, _Row)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise sealed.damaged(file) from error
        if row["mark"] != self._mark(own):
            return None
        if row["row"] != name or misfit(row["found"], self.shape, contract):
            raise sealed.damaged(file)
        return row["found"]

    def recall_all(self, names: list[str], what: str, watch: Watch) -> dict[str, Any]:
        """Return the rows that are finished, by name, and say how many they are."""
        found = {name: row for name in names if (row := self.recall(name)) is not None}
        if self.resume:
            watch.note(f"{len(found):,} of {counted(len(names), what)} from the checkpoint in {self.folder}")
        return found

    def keep(self, name: str, found: Mapping[str, object], own: str = "") -> None:
        """Store a finished row; `own` is what this row alone depends on. Raises UnkeptError where there is no room."""
        if not self.folder:
            return
        file = self._file(name)
        try:
            write_file(file, sealed.seal({"format": FORMAT, "row": name, "mark": self._mark(own), "found": found}))
        except OSError as error:
            raise UnkeptError(
                f"{file} cannot be written: {error.strerror or error}. Name a folder with room."
            ) from error

    def _mark(self, own: str) -> str:
        return hashlib.sha256(_bytes(f"{self.mark}\n{own}")).hexdigest() if own else self.mark

    def _file(self, name: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{slug(name)}.json"


def slug(name: str) -> str:
    """Return the name of a row as that of a file; long names, and two that would read alike, have their digests too."""
    text = re.sub(r"[^a-z0-9._=]+", "-", name.lower())
    return text if PLAIN.fullmatch(name) and len(text) <= LONGEST else f"{text[:LONGEST]}-{digest([name])}"


def _bytes(text: str) -> bytes:
    """Return a text as bytes; names of files in it may be no text."""
    return text.encode("utf-8", "surrogateescape")


def _row_in(file: Path) -> dict[str, Any]:
    """Return a row as its file has it; nothing if it cannot be read."""
    try:
        return sealed.parse_object(read_file(file))
    except (OSError, sealed.BrokenSealError):
        return {}
