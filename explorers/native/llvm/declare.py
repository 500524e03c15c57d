"""Marks for the translator in modules of kernels, which do nothing when these run as plain Python."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


def kernel(function: F) -> F:
    """Mark a function that is called from outside; its parameters and its result are annotated as `unit.Unit` says."""
    return function


def helper(function: F) -> F:
    return function


def prefetch(array: Any, *index: Any) -> None:
    """Ask for the cache line of an element before it is needed."""
    del array, index


def take(tasks: Any) -> int:
    """Return a counter, and add one to it, in one step that no other thread can come between."""
    tasks[0] += 1
    return int(tasks[0]) - 1


def u8s(address: int, length: int) -> Any:
    return _array(ctypes.c_uint8, address, length)


def i32s(address: int, length: int) -> Any:
    return _array(ctypes.c_int32, address, length)


def i64s(address: int, length: int) -> Any:
    return _array(ctypes.c_int64, address, length)


def u32s(address: int, length: int) -> Any:
    return _array(ctypes.c_uint32, address, length)


def u64s(address: int, length: int) -> Any:
    return _array(ctypes.c_uint64, address, length)


def u64ss(address: int, length: int, width: int) -> Any:
    return _array(ctypes.c_uint64, address, length * width).reshape(length, width)


def _array(kind: Any, address: int, length: int) -> Any:
    return np.ctypeslib.as_array((kind * int(length)).from_address(int(address)))
