"""Compiled units, each loaded into this process once, from the cache on disk if possible.

Objects are cached by the digest of their content. A damaged object is recompiled. An object that cannot be written is
not cached. LLVM loads the objects, whose kernels accept numbers and numpy arrays. Code stays loaded while a kernel is
referenced, and every call to a kernel holds a reference. A call releases the GIL.
"""

import contextlib
import ctypes
import hashlib
import json
import logging
import mmap
import os
import tempfile
import threading
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import llvmlite.binding as llvm
import numpy as np
from fencepost.explorers.native.llvm.objects import LEVEL, Object, compiled, digest, machine_of, native
from fencepost.explorers.native.llvm.types import Export, Lowered, Unit
from fencepost.explorers.running.cache import cache_folder, read_cached, write_cached

_FORMAT = "fencepost object 1"
_RESULTS = {"None": None, "I64": ctypes.c_int64, "U64": ctypes.c_uint64}
_NUMBERS = {"I64": ctypes.c_int64, "U64": ctypes.c_uint64}
_KINDS = {"I": "i", "U": "u"}
HUGE = 1 << 21
"""Size of a huge page, in bytes. If the system supports huge pages, large arrays use them, which reduces TLB misses and
clears memory faster.
"""
_ADVICE = getattr(mmap, "MADV_HUGEPAGE", None)

_lock = threading.Lock()
_loaded: "WeakValueDictionary[str, Library]" = WeakValueDictionary()


def _forget() -> None:
    """Reset the locks after a fork, because the threads that held them do not exist in the new process."""
    global _lock  # noqa: PLW0603 (of this process)
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget)


def is_kept(unit: Unit | Lowered, level: int = LEVEL) -> bool:
    name = digest(unit, level=level)
    return name in _loaded or file_of(cache_folder(), name).exists()


def take(unit: Unit | Lowered, level: int, made: Object) -> "Library":
    name = digest(unit, level=level)
    write(cache_folder(), name, made)
    with _lock:
        found = _loaded.get(name)
        if found is None:
            found = _loaded[name] = Library(made)
        return found


def library(unit: Unit | Lowered, level: int = LEVEL) -> "tuple[Library, bool]":
    name, folder = digest(unit, level=level), cache_folder()
    with _lock:
        found = _loaded.get(name)
        if found is not None:
            return found, False
        made = read(folder, name)
        fresh = made is None
        if made is None:
            made = compiled(unit, level=level)
            write(folder, name, made)
        found = _loaded[name] = Library(made)
        return found, fresh


def file_of(folder: Path, digest: str) -> Path:
    return folder / "objects" / f"{digest}.o"


def read(folder: Path, digest: str) -> Object | None:
    path = file_of(folder, digest)
    try:
        head, _, code = read_cached(path).partition(b"\n")
    except OSError:
        return None
    try:
        found = json.loads(head)
        exports: dict[str, Export] = {
            name: (tuple(given), result) for name, (given, result) in found["exports"].items()
        }
        whole = found["format"] == _FORMAT and found["sum"] == _sum(exports, code)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        whole = False
    if whole:
        return Object(exports, code)
    logging.getLogger("fencepost").warning("note: %s is damaged, so its content is recompiled.", path)
    return None


def write(folder: Path, digest: str, made: Object) -> None:
    head = {"format": _FORMAT, "exports": made.exports, "sum": _sum(made.exports, made.code)}
    write_cached(file_of(folder, digest), json.dumps(head).encode() + b"\n" + made.code)


def _sum(exports: dict[str, Export], code: bytes) -> str:
    return hashlib.sha256(json.dumps(exports, sort_keys=True).encode() + b"\n" + code).hexdigest()


def address_of(array: Any) -> int:
    """Return the address of an array in a quarter of the time that `array.ctypes.data` takes."""
    if array.dtype.names is None and array.size and array.flags.writeable:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    return int(array.ctypes.data)


def reserved(count: int, dtype: np.dtype[Any] | type[Any], *, huge: bool = True) -> np.ndarray[Any, Any]:
    """Return an array whose memory the system allocates on the first write. Use small pages unless `huge` is true."""
    size = count * np.dtype(dtype).itemsize
    if size < 2 * HUGE or _ADVICE is None:
        return np.empty(count, dtype)
    memory = mmap.mmap(-1, size + HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if huge:
        with contextlib.suppress(OSError):  # the kernel may not support huge pages
            memory.madvise(_ADVICE)
    skipped = -ctypes.addressof(ctypes.c_char.from_buffer(memory)) % HUGE
    return np.frombuffer(memory, dtype, count, skipped)


def spilled(count: int, dtype: np.dtype[Any] | type[Any], folder: Path) -> np.memmap[Any, Any]:
    """Return an array in an unnamed file, which is deleted with the array. Raise OSError if the disk is full."""
    size = count * np.dtype(dtype).itemsize
    with tempfile.TemporaryFile(dir=folder) as file:
        # On Linux, a full disk then causes an error here, not a signal during a later write.
        getattr(os, "posix_fallocate", lambda number, _, size: os.truncate(number, size))(file.fileno(), 0, size)
        return np.memmap(file, dtype, "r+", shape=(count,))


def unload(array: np.ndarray[Any, Any]) -> None:
    if isinstance(array, np.memmap):  # other arrays have no file from which to reload their pages
        mapping = getattr(array, "_mmap")  # noqa: B009 (numpy has no other way to it)
        mapping.madvise(mmap.MADV_DONTNEED)


class Library:
    def __init__(self, made: Object) -> None:
        self.seconds, self.memory = made.seconds, made.memory
        machine = machine_of(native(), 0)
        empty = llvm.parse_assembly(f'target triple = "{machine.triple}"', llvm.create_context())
        # One block of memory for all sections: in a process of several GB, LLVM would abort if they were too far apart.
        engine = llvm.create_mcjit_compiler(empty, machine, use_lmm=True)
        engine.add_object_file(llvm.ObjectFileRef.from_data(made.code))
        engine.finalize_object()
        self._exports = {
            name: (int(engine.get_function_address(name)), export) for name, export in made.exports.items()
        }
        # Nothing here refers to the engine, so the garbage collector cannot free its context first.
        weakref.finalize(self, engine.close).atexit = False

    def kernels(self) -> "dict[str, Kernel]":
        return {name: Kernel(self, name, address, export) for name, (address, export) in self._exports.items()}


class Kernel:
    """A compiled function. Array arguments must be contiguous and have the declared types; values are not checked."""

    def __init__(self, library: Library, name: str, address: int, export: Export) -> None:
        assert address, f"the object has no {name}"
        self.library, self.name, self.address = library, name, address
        parameters, result = export
        self._takes = tuple(_taken(item) for item in parameters)
        types: list[Any] = []
        for item, taken in zip(parameters, self._takes, strict=True):
            types.append(_NUMBERS.get(item, ctypes.c_void_p))
            if isinstance(taken, tuple):
                types += [ctypes.c_int64] * taken[1]
        self._call = ctypes.CFUNCTYPE(_RESULTS[result], *types)(self.address)

    def __call__(self, *arguments: Any) -> Any:
        return self._call(*self._given(arguments))

    def bound(self, *arguments: Any) -> Callable[[], Any]:
        """Return a call with these arguments, which are checked only once. The call keeps the arrays alive."""
        return partial(_call_kept, self, self._call, arguments, tuple(self._given(arguments)))

    def _given(self, arguments: tuple[Any, ...]) -> list[Any]:
        given: list[Any] = []
        for taken, value in zip(self._takes, arguments, strict=True):
            if taken is None:
                given.append(value.address if isinstance(value, Kernel) else int(value))
                continue
            kind, lengths = taken
            if (
                not value.flags.c_contiguous
                or (kind is not None and value.dtype != kind)
                or (lengths and value.ndim != lengths)
            ):
                raise TypeError(
                    f"{self.name} got an array of {value.dtype} ({value.ndim} dimensions), but takes {kind} ({lengths})"
                )
            given.append(address_of(value))
            if lengths:
                given += value.shape
        return given


def _call_kept(_kernel: Kernel, call: Callable[..., Any], _kept: tuple[Any, ...], given: tuple[Any, ...]) -> Any:
    return call(*given)


def _taken(annotation: str) -> tuple[Any, int] | None:
    """Return an array's element type (None for records) and number of dimensions, or None for numbers and functions."""
    if annotation in _NUMBERS:
        return None
    known = {"Checks": np.int64, "Constants": np.int64, "Rows": None}
    if annotation in known:
        return (None if known[annotation] is None else np.dtype(known[annotation])), 0
    bits = annotation.strip("IUps")
    if annotation[0] in _KINDS and bits.isdigit():
        return np.dtype(f"{_KINDS[annotation[0]]}{int(bits) // 8}"), annotation.count("s")
    return None
