"""What a distributed search keeps for good: for every partition and level the new states, and where each came from.

A block is one file, written once and never changed, so that whoever lost everything else can build it again. Folders
are local, or anything that PyArrow reads by its URL (hdfs://, s3://, gs://, abfss://).
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyarrow.fs import FileSystem

MAGIC = b"FPB1"
HEAD = struct.Struct("<4sII")
"""Magic, length of the JSON header, CRC-32 of what follows it."""
NO_ANCESTOR = (1 << 64) - 1
SOURCE_SHIFT = 32
"""An ancestor is its partition << 32 | its number inside: owner + number of the owner * OWNERS."""


@dataclass(frozen=True)
class Block:
    """New states of one partition and level: `rows` (n,) in the order of owners, `ancestors` (n,) of uint64."""

    level: int
    partition: int
    firsts: tuple[int, ...]
    """For each owner the number of its first state in the block."""
    shares: tuple[int, ...]
    rows: np.ndarray[Any, Any]
    ancestors: np.ndarray[Any, Any]

    @property
    def ends(self) -> list[int]:
        """For each owner how many states there are after this level."""
        return [first + share for first, share in zip(self.firsts, self.shares, strict=True)]

    def place(self, number: int) -> int:
        """Return where in the block a state is, given its number inside the partition."""
        owner, local = number % len(self.shares), number // len(self.shares)
        return sum(self.shares[:owner]) + local - self.firsts[owner]


class DamagedError(UsageError):
    """A block cannot be read; the message names the file."""


def folder_of(url: str) -> tuple[FileSystem, str]:
    """Return the file system of a folder and its path there; raise UsageError if there is none."""
    from pathlib import Path

    from pyarrow import ArrowInvalid
    from pyarrow.fs import FileSystem, LocalFileSystem

    if "://" not in url:
        return LocalFileSystem(), str(Path(url).absolute())
    try:
        system, path = FileSystem.from_uri(url)
    except (ArrowInvalid, OSError, ImportError) as error:
        raise UsageError(
            f"the folder {url} cannot be used: {error}. Name a local folder or a URL that PyArrow reads."
        ) from error
    return system, path


class Store:
    """The blocks of one search, in a folder."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.system, self.path = folder_of(url)

    def write_block(self, block: Block) -> int:
        """Keep a block; return its bytes. Written aside first, so that a block is whole or absent."""
        head = json.dumps(
            {
                "level": block.level,
                "partition": block.partition,
                "firsts": block.firsts,
                "shares": block.shares,
                "itemsize": block.rows.dtype.itemsize,
            }
        ).encode()
        rows, ancestors = np.ascontiguousarray(block.rows).view(np.uint8), block.ancestors.view(np.uint8)
        checksum = zlib.crc32(ancestors.data, zlib.crc32(rows.data, zlib.crc32(head)))
        text = b"".join((HEAD.pack(MAGIC, len(head), checksum), head, rows.data, ancestors.data))
        self.write(self.name(block.level, block.partition), text)
        return len(text)

    def read_block(self, level: int, partition: int, dtype: np.dtype[Any]) -> Block:
        """Return a block; raise DamagedError if it is missing or not what was written."""
        name = self.name(level, partition)
        text = self.read(name)
        try:
            head, rows, ancestors = _parts(text, dtype)
            return Block(level, partition, tuple(head["firsts"]), tuple(head["shares"]), rows, ancestors)
        except (ValueError, KeyError, TypeError, struct.error):
            raise DamagedError(
                f"{self.path}/{name}: this block of the checkpoint is damaged. Start afresh without --resume."
            ) from None

    @staticmethod
    def name(level: int, partition: int) -> str:
        """Return the name of a block's file."""
        return f"level-{level:04}/{partition:05}.block"

    def write(self, name: str, text: bytes) -> None:
        """Write a file aside and move it to its place."""
        from uuid import uuid4

        path = f"{self.path}/{name}"
        try:
            self.system.create_dir(path.rpartition("/")[0], recursive=True)
            aside = f"{path}.{uuid4().hex}"
            with self.system.open_output_stream(aside) as file:
                file.write(text)
            self.system.move(aside, path)
        except OSError as error:
            raise UsageError(f"{path} could not be written: {error}. Name a folder with room.") from error

    def read(self, name: str) -> bytes:
        """Return a file's content; raise DamagedError if it is not there."""
        try:
            with self.system.open_input_file(f"{self.path}/{name}") as file:
                return bytes(file.read())
        except OSError:
            raise DamagedError(
                f"{self.path}/{name}: this file of the checkpoint is missing. Start afresh without --resume."
            ) from None

    def exists(self, name: str) -> bool:
        """Say whether a file is there."""
        return bool(self.system.get_file_info(f"{self.path}/{name}").is_file)

    def remove(self, levels: Sequence[int]) -> None:
        """Remove the blocks of these levels, which no manifest names."""
        for level in levels:
            path = f"{self.path}/level-{level:04}"
            if self.system.get_file_info(path).type.name == "Directory":
                self.system.delete_dir(path)


def _parts(text: bytes, dtype: np.dtype[Any]) -> tuple[dict[str, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return a block's header, rows and ancestors; raise ValueError if it is not what was written."""
    magic, length, checksum = HEAD.unpack_from(text)
    body = memoryview(text)[HEAD.size :]
    if magic != MAGIC or zlib.crc32(body) != checksum:
        raise ValueError(magic)
    head = json.loads(bytes(body[:length]))
    count = sum(head["shares"])
    rows = np.frombuffer(body, dtype, count, length)
    return head, rows, np.frombuffer(body, np.uint64, count, length + rows.nbytes)
