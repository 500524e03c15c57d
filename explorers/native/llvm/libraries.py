"""Compiled units in this process: loaded once while somebody refers to them, from the disk where they are kept, or compiled."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from fencepost.explorers.cache_folder import cache_folder
from fencepost.explorers.native.llvm.aside import compiled_somewhere
from fencepost.explorers.native.llvm.load import Library
from fencepost.explorers.native.llvm.objects import LEVEL, digest
from fencepost.explorers.native.llvm.store import file_of, read, write

if TYPE_CHECKING:
    from fencepost.explorers.native.llvm.objects import Object
    from fencepost.explorers.native.llvm.unit import Lowered, Unit

_lock = threading.Lock()
_loaded: WeakValueDictionary[str, Library] = WeakValueDictionary()


def _forget() -> None:
    """After a fork nobody else is loading."""
    global _lock  # noqa: PLW0603 (of this process)
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget)


def is_kept(unit: Unit | Lowered, level: int = LEVEL) -> bool:
    """Say whether a unit needs no compiling."""
    name = digest(unit, level=level)
    return name in _loaded or file_of(cache_folder(), name).exists()


def take(unit: Unit | Lowered, level: int, made: Object) -> Library:
    """Keep an object that was compiled elsewhere, and return it in memory."""
    name = digest(unit, level=level)
    write(cache_folder(), name, made)
    with _lock:
        found = _loaded.get(name)
        if found is None:
            found = _loaded[name] = Library(made)
        return found


def library(unit: Unit | Lowered, level: int = LEVEL) -> tuple[Library, bool]:
    """Return a unit in memory, and whether it had to be compiled."""
    name, folder = digest(unit, level=level), cache_folder()
    with _lock:
        found = _loaded.get(name)
        if found is not None:
            return found, False
        made = read(folder, name)
        fresh = made is None
        if made is None:
            made = compiled_somewhere(unit, level)
            write(folder, name, made)
        found = _loaded[name] = Library(made)
        return found, fresh
