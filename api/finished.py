"""A checkpoint of many runs: a folder for the one that was cut short, a file for each that is finished."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fencepost.api.files import make_sure_folder, unwritable
from fencepost.explorers import sealed
from fencepost.explorers.native.checkpoint import discard

if TYPE_CHECKING:
    from pathlib import Path

    from fencepost.explorers.native.generate import Source
    from fencepost.explorers.verdict import Options
    from fencepost.invariants.catalogue import Run


class Finished:
    """The finished runs in a folder. A run is known again only if its model, constants and expectations are the same."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def options_for(self, run: Run, options: Options) -> Options:
        """Return the options with the run's own checkpoint, resumed only where there is one."""
        own = self.folder / _slug(run)
        make_sure_folder(own)
        there = (own / "manifest.json").is_file()
        return replace(options, checkpoint=str(own), resume=options.resume and there)

    def recall(self, run: Run, source: Source) -> dict[str, Any] | None:
        """Return what a finished run found, or None if it is not finished, or its file is not as it was written."""
        try:
            with sealed.opened(self._file(run)) as file:
                stored = sealed.unsealed(sealed.object_in(file.read()))
        except (OSError, sealed.BrokenSealError):
            return None
        found: dict[str, Any] | None = stored.get("found")
        return found if stored.get("mark") == _mark(run, source) else None

    def keep(self, run: Run, source: Source, found: dict[str, Any]) -> None:
        """Store what a run found, and drop the checkpoint that it does not need any more."""
        try:
            discard(self.folder / _slug(run))
            sealed.write(self._file(run), sealed.sealed({"mark": _mark(run, source), "found": found}))
        except OSError as error:
            raise unwritable(self._file(run), error) from error

    def _file(self, run: Run) -> Path:
        return self.folder / f"{_slug(run)}.json"


def _slug(run: Run) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", run.name.lower())


def _mark(run: Run, source: Source) -> str:
    return hashlib.sha256(f"{run!r}\n{source.text}".encode()).hexdigest()
