"""Objects in memory, loaded by LLVM itself, and their kernels, called with numbers and arrays of numpy.

Code stays as long as a kernel of it is referred to, which every call does. The call gives Python's lock free.
"""

from __future__ import annotations

import ctypes
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

import llvmlite.binding as llvm
import numpy as np
from fencepost.explorers.native.llvm.objects import machine_of, native
from fencepost.explorers.native.llvm.symbols import write_map

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.explorers.native.llvm.objects import Object
    from fencepost.explorers.native.llvm.unit import Export

_RESULTS = {"None": None, "I64": ctypes.c_int64, "U64": ctypes.c_uint64}
_NUMBERS = {"I64": ctypes.c_int64, "U64": ctypes.c_uint64}
_KINDS = {"I": "i", "U": "u"}


def address_of(array: Any) -> int:
    """Return where an array begins, as `array.ctypes.data` does, in a quarter of the time where it can be had otherwise."""
    if array.dtype.names is None and array.size and array.flags.writeable:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    return int(array.ctypes.data)


class Library:
    """A loaded object."""

    def __init__(self, made: Object) -> None:
        self.seconds, self.memory = made.seconds, made.memory
        """What compiling it took, if that was not done by an earlier process."""
        machine = machine_of(native(), 0)
        empty = llvm.parse_assembly(f'target triple = "{machine.triple}"', llvm.create_context())
        engine = llvm.create_mcjit_compiler(empty, machine)
        engine.add_object_file(llvm.ObjectFileRef.from_data(made.code))
        engine.finalize_object()
        self._exports = {name: (int(engine.get_function_address(name)), export) for name, export in made.exports.items()}
        for name, (address, _) in list(self._exports.items())[:1]:
            write_map(made.code, name, address)
        # The engine is not reached from here, so that the garbage collector never takes its context away before it.
        weakref.finalize(self, engine.close).atexit = False

    def kernels(self) -> dict[str, Kernel]:
        """Return the kernels, each of which keeps the library in memory."""
        return {name: Kernel(self, name, address, export) for name, (address, export) in self._exports.items()}


class Kernel:
    """A compiled function. Arrays must be contiguous and of the declared type: what they hold is not examined."""

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
        """Call the function."""
        return self._call(*self._given(arguments))

    def bound(self, *arguments: Any) -> Callable[[], Any]:
        """Return a call with these arguments that examines them once only; arrays stay where they are as long as it is kept."""
        return partial(_call_kept, self, self._call, arguments, tuple(self._given(arguments)))

    def _given(self, arguments: tuple[Any, ...]) -> list[Any]:
        """Return arguments as the function takes them."""
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
                    f"{self.name} got an array of {value.dtype}, {value.ndim} lengths, where it takes {kind}, {lengths}"
                )
            given.append(address_of(value))
            if lengths:
                given += value.shape
        return given


def _call_kept(_kernel: Kernel, call: Callable[..., Any], _kept: tuple[Any, ...], given: tuple[Any, ...]) -> Any:
    return call(*given)


def _taken(annotation: str) -> tuple[Any, int] | None:
    """Return None for a number or a function, else the type of an array's elements, None for records, and how many lengths it is passed with."""
    if annotation in _NUMBERS:
        return None
    known = {"Checks": np.int64, "Constants": np.int64, "Words": np.uint64, "Rows": None}
    if annotation in known:
        return (None if known[annotation] is None else np.dtype(known[annotation])), 0
    bits = annotation.strip("IUps")
    if annotation[0] in _KINDS and bits.isdigit():
        return np.dtype(f"{_KINDS[annotation[0]]}{int(bits) // 8}"), annotation.count("s")
    return None
