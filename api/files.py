"""Files and folders of users, and finished rows of a matrix, a grid or the catalogue, each written atomically."""

import hashlib
import os
import re
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fencepost.api.asking.quantities import counted
from fencepost.api.asking.watching import Watch
from fencepost.explorers.running import sealed
from fencepost.explorers.running.files import Lock, lock_folder, read_file, write_file, write_named
from fencepost.model.language.errors import UnkeptError, UsageError

PATIENCE = 5.0
"""Maximum time, in seconds, for the workers of a killed process to end and release its folder."""


def write_text(path: Path, text: str) -> None:
    """Write a user's file completely or not at all; raise UsageError on failure."""
    try:
        write_named(path, text.encode("utf-8", "backslashreplace"))  # a file name may contain arbitrary bytes
    except OSError as error:
        raise unwritable(path, error) from error


def make_sure_writable(path: Path) -> None:
    """Raise UsageError if a user's file cannot be written. The check is made before the work starts."""
    try:
        existed = path.exists()
        path.open("a").close()
        if not existed:
            path.unlink()
    except OSError as error:
        raise unwritable(path, error) from error


def make_sure_folder(path: Path) -> None:
    """Raise UsageError if a user's folder is not writable. The folder is created if its parent exists."""
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error
    make_sure_writable(path / f".probe-{os.getpid()}")


def unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path} cannot be written: {error.strerror or error}. Choose a place that you may write to.")


_held: weakref.WeakValueDictionary[tuple[int, int], Lock] = weakref.WeakValueDictionary()


def hold(folder: Path) -> Lock:
    """Lock a folder of checkpoints; raise UsageError if another process uses it."""
    there = folder.stat()
    found = _held.get((there.st_dev, there.st_ino))
    if found is None:
        found = lock_folder(folder, patience=PATIENCE)
        if found is None:
            raise UsageError(
                f"{folder} is in use: another process writes its checkpoint there. Wait until that process ends, or "
                "choose another folder."
            )
        _held[there.st_dev, there.st_ino] = found
    return found


def keeps_search(folder: Path) -> bool:
    from fencepost.explorers.native.checkpoint import MANIFEST

    return (folder / MANIFEST).is_file()


@contextmanager
def alone_in(folder: str | Path | None) -> Iterator[None]:
    """Lock the folder of a checkpoint if it is on this machine."""
    if folder is None or "://" in str(folder):
        yield
        return
    path = Path(folder)
    existed = path.exists()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error
    held = hold(path)
    try:
        yield
    finally:
        if not existed:
            with suppress(OSError):
                path.rmdir()  # nothing was saved
        del held


FORMAT = 3
"""Version of the format of rows. In format 2, rows did not record which initial states they belong to."""

PLAIN = re.compile(r"[a-z0-9._=/ -]*")
"""A pattern for names of rows that are safe as file names without a digest."""
LONGEST = 200
"""Maximum length of a row's name in a file name: operating systems reject file names longer than 255 bytes."""


def digest(parts: list[str]) -> str:
    """Return a digest of strings that is short enough for a file name."""
    return hashlib.sha256(_bytes("\n".join(parts))).hexdigest()[:16]


class Kept:
    """Finished rows of a `question` in a folder, as JSON. If `begun` is set, the folder must already contain a row."""

    def __init__(self, folder: str | Path | None, question: str, *, resume: bool, begun: bool = False) -> None:
        if resume and not folder:
            raise UsageError("`resume=True` needs a checkpoint to continue from: write `checkpoint=DIR, resume=True`.")
        self.folder = Path(folder) if folder else None
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
        none = "the checkpoint in {} belongs to another question" if any(marks) else "there is no checkpoint in {}"
        raise UsageError(
            f"{none.format(folder)}: run once with `checkpoint={str(folder)!r}`, or leave `resume=True` out to start "
            "from the beginning."
        )

    def recall(self, name: str, own: str = "") -> Any:
        """Return a finished row, or None. `own` contains everything that only this row depends on. Raises UsageError if
        the file was edited.
        """
        if not self.folder or not self.resume:
            return None
        file = self._file(name)
        try:
            row = sealed.read_sealed(read_file(file), file, FORMAT)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise sealed.damaged(file) from error
        if row["mark"] != self._mark(own):
            return None
        if row["row"] != name:
            raise sealed.damaged(file)
        return row["found"]

    def recall_all(self, names: list[str], what: str, watch: Watch) -> dict[str, Any]:
        """Return the finished rows by name, and report how many there are."""
        found = {name: row for name in names if (row := self.recall(name)) is not None}
        if self.resume:
            watch.note(f"{len(found):,} of {counted(len(names), what)} from the checkpoint in {self.folder}")
        return found

    def keep(self, name: str, found: Mapping[str, object], own: str = "") -> None:
        """Save a finished row, which depends on the question and on `own`; raise UnkeptError on failure."""
        if not self.folder:
            return
        file = self._file(name)
        try:
            write_file(file, sealed.seal({"format": FORMAT, "row": name, "mark": self._mark(own), "found": found}))
        except OSError as error:
            raise UnkeptError(
                f"{file} cannot be written: {error.strerror or error}. Choose a folder with free space."
            ) from error

    def _mark(self, own: str) -> str:
        return hashlib.sha256(_bytes(f"{self.mark}\n{own}")).hexdigest() if own else self.mark

    def _file(self, name: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{slug(name)}.json"


def slug(name: str) -> str:
    """Return the file name of a row. Long and ambiguous names end in a digest."""
    text = re.sub(r"[^a-z0-9._=]+", "-", name.lower())
    return text if PLAIN.fullmatch(name) and len(text) <= LONGEST else f"{text[:LONGEST]}-{digest([name])}"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _row_in(file: Path) -> dict[str, Any]:
    try:
        return sealed.parse_object(read_file(file))
    except (OSError, sealed.BrokenSealError):
        return {}
