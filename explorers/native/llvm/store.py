"""Objects on disk, by the digest of their content. What is damaged is compiled again, and what cannot be written is not kept."""

from __future__ import annotations

import hashlib
import json
import logging
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.explorers.native.llvm.objects import Object

if TYPE_CHECKING:
    from fencepost.explorers.native.llvm.unit import Export

_FORMAT = "fencepost object 1"


def file_of(folder: Path, digest: str) -> Path:
    """Return where an object is kept."""
    return folder / "objects" / f"{digest}.o"


def read(folder: Path, digest: str) -> Object | None:
    """Return an object that was kept, None if there is none, or none that can be used."""
    path = file_of(folder, digest)
    try:
        head, _, code = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    try:
        found = json.loads(head)
        exports: dict[str, Export] = {name: (tuple(given), result) for name, (given, result) in found["exports"].items()}
        whole = found["format"] == _FORMAT and found["sum"] == _sum(exports, code)
    except (ValueError, KeyError, TypeError, AttributeError):
        whole = False
    if whole:
        return Object(exports, code)
    logging.getLogger("fencepost").warning("note: %s is damaged, so what it held is compiled again.", path)
    return None


def write(folder: Path, digest: str, made: Object) -> None:
    """Keep an object, in one step, so that no other process sees half of it."""
    path = file_of(folder, digest)
    head = {"format": _FORMAT, "exports": made.exports, "sum": _sum(made.exports, made.code)}
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False, suffix=".tmp") as file:
            file.write(json.dumps(head).encode() + b"\n" + made.code)
        Path(file.name).replace(path)
    except OSError:
        return


def _sum(exports: dict[str, Export], code: bytes) -> str:
    return hashlib.sha256(json.dumps(exports, sort_keys=True).encode() + b"\n" + code).hexdigest()
