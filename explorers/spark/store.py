"""The folder of a distributed search: the new states of every partition and level, each with its parent.

A block is one file, written once and never changed, so everything else can be rebuilt from the blocks. The manifest
records the progress of the search and is replaced atomically after each level. Folders are local paths, or URLs that
PyArrow supports (hdfs://, s3://, gs://, abfss://).
"""

from __future__ import annotations

import json
import os
import re
import struct
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
from fencepost.explorers.native.checkpoint import question, refuse_other_question
from fencepost.explorers.native.search import Search
from fencepost.explorers.running import sealed
from fencepost.explorers.running.files import LEFTOVER, MOST, open_regular, write_file
from fencepost.explorers.running.sealed import DamagedError, damaged
from fencepost.explorers.verdict import refuse_replacing
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

FORMAT = 3
MANIFEST = "spark.json"
MAGIC = b"FPB2"
HEAD = struct.Struct("<4sII")
"""Magic number, length of the JSON header, and CRC-32 of the remaining bytes."""
NO_ANCESTOR = (1 << 64) - 1
ANCESTOR = 8
"""Bytes per ancestor."""
CODEC = "zstd"
"""Codec for a block's words, which are written column by column, and for its ancestors."""
OURS = re.compile(rf"\d{{5,}}\.block|{LEFTOVER.pattern}")
"""Names of the files in a level's folder that may be removed."""
SOURCE_SHIFT = 32
"""An ancestor is encoded as partition << 32 | number, where number = owner + OWNERS * (number within the owner)."""


@dataclass(frozen=True)
class Block:
    """New states of a partition and a level: `rows` (n,), sorted by owner, and `ancestors` (n,), of type uint64."""

    level: int
    partition: int
    firsts: tuple[int, ...]
    """The number of each owner's first state in the block."""
    shares: tuple[int, ...]
    rows: np.ndarray[Any, Any]
    ancestors: np.ndarray[Any, Any]

    @property
    def ends(self) -> list[int]:
        return [first + share for first, share in zip(self.firsts, self.shares, strict=True)]

    def place(self, number: int) -> int:
        owner, local = number % len(self.shares), number // len(self.shares)
        return sum(self.shares[:owner]) + local - self.firsts[owner]


@dataclass(frozen=True)
class Head:
    level: int
    partition: int
    firsts: list[int]
    shares: list[int]
    itemsize: int
    packed: int
    size: int
    checksum: int


State = list[int]
"""A level, a partition, and a number inside the partition."""


@dataclass
class Manifest:
    partitions: int
    base: int
    """The first level that has blocks. These contain the states of this level and of all earlier levels."""
    level: int
    levels: list[int]
    """Number of states of each level, starting with the first."""
    initial: int
    fired: list[int]
    refused: list[int]
    blocks: list[list[list[int]]]
    """Size and checksum of each partition's block, for each level from `base` on."""
    deadlocks: int = 0
    deadlock: State | None = None
    found: dict[str, State] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def distinct(self) -> int:
        return sum(self.levels)

    @property
    def generated(self) -> int:
        return self.initial + sum(self.fired)

    @property
    def depth(self) -> int:
        return sum(1 for count in self.levels if count)


def folder_of(url: str) -> tuple[FileSystem, str]:
    from pyarrow import ArrowInvalid
    from pyarrow.fs import FileSystem, LocalFileSystem

    if "://" not in url:
        return LocalFileSystem(), str(Path(url).absolute())
    try:
        system, path = FileSystem.from_uri(url)
    except (ArrowInvalid, OSError, ImportError) as error:
        raise UsageError(
            f"the folder {url} cannot be used: {error}. Name a local folder or a URL that PyArrow can read."
        ) from error
    return system, path


class Store:
    def __init__(self, url: str) -> None:
        self.url = url
        self.system, self.path = folder_of(url)

    def write_block(self, block: Block) -> tuple[int, int]:
        """Write a block completely or not at all; return the block's size and checksum."""
        from pyarrow import compress

        named = {name: getattr(block, name) for name in ("level", "partition", "firsts", "shares")}
        words = np.ascontiguousarray(block.rows).view(np.uint64).reshape(-1, block.rows.dtype.itemsize // 8)
        body = compress(words.T.tobytes() + block.ancestors.tobytes(), CODEC, asbytes=True)
        head = json.dumps({**named, "itemsize": block.rows.dtype.itemsize, "packed": len(body)}).encode()
        checksum = zlib.crc32(body, zlib.crc32(head))
        text = b"".join((HEAD.pack(MAGIC, len(head), checksum), head, body))
        self.write(self.name(block.level, block.partition), text)
        return len(text), checksum

    def read_block(self, level: int, partition: int, dtype: np.dtype[Any]) -> Block:
        from pyarrow import decompress

        text = self.read(self.name(level, partition))
        try:
            head, body = _head_of(text, len(text)), memoryview(text)[HEAD.size :]
            fits = (head.level, head.partition, head.itemsize) == (level, partition, dtype.itemsize)
            if not fits or zlib.crc32(body) != head.checksum:
                raise self.damaged(level, partition)
            count = sum(head.shares)
            given = decompress(body[-head.packed :], count * (dtype.itemsize + ANCESTOR), CODEC, asbytes=True)
            numbers = np.frombuffer(given, np.uint64)
            words = numbers[: len(numbers) - count].reshape(dtype.itemsize // 8, count)
            rows = np.ascontiguousarray(words.T).view(dtype).reshape(count)
            return Block(level, partition, tuple(head.firsts), tuple(head.shares), rows, numbers[words.size :])
        except (ValueError, KeyError, TypeError, OSError, OverflowError, MemoryError, struct.error, RecursionError):
            raise self.damaged(level, partition) from None

    def read_head(self, level: int, partition: int) -> Head:
        name = self.name(level, partition)
        try:
            with self._opened(name) as file:
                size = file.seek(0, os.SEEK_END) if self.local else file.size()
                file.seek(0)
                start = file.read(HEAD.size)
                return _head_of(start + file.read(min(HEAD.unpack(start)[1], size)), size)
        except (OSError, ValueError, KeyError, TypeError, struct.error, RecursionError):
            raise self.damaged(level, partition) from None

    def damaged(self, level: int, partition: int) -> DamagedError:
        return damaged(f"{self.path}/{self.name(level, partition)}")

    @staticmethod
    def name(level: int, partition: int) -> str:
        return f"level-{level:04}/{partition:05}.block"

    @property
    def local(self) -> bool:
        """Return whether the folder is on this computer's file system, where folders can be links."""
        return bool(self.system.type_name == "local")

    def write(self, name: str, text: bytes) -> None:
        path = f"{self.path}/{name}"
        try:
            self.system.create_dir(path.rpartition("/")[0], recursive=True)
            if self.local:
                self._refuse_link(name)
                write_file(Path(path), text)
                return
            aside = f"{path.rpartition('/')[0]}/.{uuid4().hex}.new"
            with self.system.open_output_stream(aside) as file:
                file.write(text)
            self.system.move(aside, path)
        except OSError as error:
            raise UsageError(f"{path} could not be written: {error}. Choose a folder with free space.") from error

    def read(self, name: str, most: int | None = None) -> bytes:
        try:
            with self._opened(name) as file:
                text = bytes(file.read(None if most is None else most + 1))
        except OSError:
            raise damaged(f"{self.path}/{name}") from None
        if most is not None and len(text) > most:
            raise damaged(f"{self.path}/{name}")
        return text

    def _opened(self, name: str) -> Any:
        if not self.local:
            return self.system.open_input_file(f"{self.path}/{name}")
        return open_regular(Path(self.path, name))

    def _refuse_link(self, name: str) -> None:
        """Raise UsageError if a level's folder is a link, because blocks must stay in the checkpoint's folder."""
        folder = Path(self.path, name).parent
        if folder != Path(self.path) and folder.is_symlink():
            raise UsageError(
                f"{folder} is a symbolic link, but a checkpoint must stay inside its folder: remove the link."
            )

    def exists(self, name: str) -> bool:
        return bool(self.system.get_file_info(f"{self.path}/{name}").is_file)

    def remove(self, levels: Sequence[int]) -> None:
        """Remove the blocks of `levels`, which are not in the manifest, and folders that become empty."""
        from pyarrow.fs import FileSelector

        for level in levels:
            name = self.name(level, 0)
            path = f"{self.path}/{name}".rpartition("/")[0]
            if self.system.get_file_info(path).type.name != "Directory":
                continue
            if self.local:
                self._refuse_link(name)
            for entry in self.system.get_file_info(FileSelector(path)):
                if entry.is_file and OURS.fullmatch(entry.base_name):
                    self.system.delete_file(entry.path)
            if self.local:
                with suppress(OSError):
                    Path(path).rmdir()


def save_manifest(store: Store, manifest: Manifest, native: Search) -> None:
    data = {"format": FORMAT, "question": question(native), "manifest": asdict(manifest)}
    store.write(MANIFEST, sealed.seal(data))


def refuse_another(store: Store) -> None:
    if store.exists(MANIFEST):
        refuse_replacing(store.url)


def load_manifest(store: Store, native: Search) -> Manifest:
    if not store.exists(MANIFEST):
        raise UsageError(
            f"there is no checkpoint of the spark engine in {store.url}: run once with `checkpoint={store.url!r}`."
        )
    stored = sealed.read_sealed(store.read(MANIFEST, MOST), f"{store.url}/{MANIFEST}", FORMAT)
    refuse_other_question(store.url, stored["question"], question(native))
    manifest = Manifest(**stored["manifest"])
    for level, blocks in enumerate(manifest.blocks, manifest.base):
        for partition, written in enumerate(blocks):
            head = store.read_head(level, partition)
            if [head.level, head.partition, head.size, head.checksum] != [level, partition, *written]:
                raise store.damaged(level, partition)
    store.remove(range(manifest.level + 1, manifest.level + 2))
    return manifest


def _head_of(text: bytes, size: int) -> Head:
    """Return a block's header. Raise ValueError, KeyError or TypeError if the file is not a block of `size` bytes."""
    magic, length, checksum = HEAD.unpack_from(text)
    if magic != MAGIC or length > len(text) - HEAD.size:
        raise ValueError(magic)
    data = json.loads(text[HEAD.size : HEAD.size + length])
    named = {name: data[name] for name in ("level", "partition", "firsts", "shares", "itemsize", "packed")}
    head = Head(**named, size=size, checksum=checksum)
    if size != HEAD.size + length + head.packed:
        raise ValueError(size)
    return head
