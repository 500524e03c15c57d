"""Names of functions in loaded code, for `perf`, which finds them in a file in /tmp by the process's number."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMED = "FENCEPOST_PERF"
"""The variable of the environment that asks for them."""
MAP = "/tmp/perf-{}.map"  # noqa: S108 (perf looks there and nowhere else)
_ELF64 = b"\x7fELF\x02\x01"
_FUNCTION, _TABLE = 2, 2


class Symbol(NamedTuple):
    """A function in an object: the number of its section, its place there and its bytes."""

    name: str
    section: int
    place: int
    size: int


def symbols(code: bytes) -> Iterator[Symbol]:
    """Yield the functions of an ELF file for 64 bits; none of another file."""
    if not code.startswith(_ELF64):
        return
    (heads,) = struct.unpack_from("<Q", code, 0x28)
    size, count = struct.unpack_from("<HH", code, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, heads + number * size) for number in range(count)]
    for _, kind, _, _, at, length, link, *_ in sections:
        if kind == _TABLE:
            names = sections[link][4]
            for entry in range(at, at + length, 24):
                name, info, _, section, place, many = struct.unpack_from("<IBBHQQ", code, entry)
                if info & 15 == _FUNCTION and section:
                    start = names + name
                    yield Symbol(code[start : code.index(b"\0", start)].decode(), section, place, many)


def write_map(code: bytes, kernel: str, address: int) -> None:
    """Add the functions of an object to the file that perf reads; a kernel of it is at an address.

    Only functions in the section of that kernel are named, since LLVM says where no other section is.
    """
    found = list(symbols(code))
    base = next((item for item in found if item.name == kernel), None)
    if base is None:
        return
    lines = [
        f"{address - base.place + item.place:x} {item.size:x} fencepost:{item.name}\n"
        for item in found
        if item.section == base.section
    ]
    file = os.open(
        MAP.format(os.getpid()), os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
    )
    with os.fdopen(file, "w") as out:
        if os.fstat(out.fileno()).st_uid == os.getuid():  # nobody else's file is written
            out.writelines(lines)
