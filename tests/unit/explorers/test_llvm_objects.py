"""Objects: compiled for other processors, cached on disk, loaded and freed."""

import ctypes
import gc
import itertools
import logging
import mmap
import os
import struct
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import psutil
import pytest
from fencepost.explorers.native.compile import Source, generate
from fencepost.explorers.native.llvm import libraries, objects
from fencepost.explorers.native.llvm.libraries import Library, file_of
from fencepost.explorers.native.llvm.types import Unit
from fencepost.explorers.running.cache import cache_folder
from fencepost.invariants.protocols import PROTOCOLS

from tests.helpers.parameters import few
from tests.helpers.places import ROOT
from tests.random_machines.engines import load as load_machine
from tests.random_machines.machines import numbered

TEXT = "@kernel\ndef more(a: I64) -> I64:\n    return a + {}\n"
FLAT = 4 << 20  # bytes by which memory may vary


def source_of(name: str) -> Source:
    found = PROTOCOLS[name]
    return generate(found.machine, found.machine.set_constants({}), found.properties, normalize=True)


def undefined(code: bytes) -> list[str]:
    """Return the undefined symbols of an ELF file for 64 bits."""
    (sections,) = struct.unpack_from("<Q", code, 0x28)
    size, count = struct.unpack_from("<HH", code, 0x3A)
    heads = [struct.unpack_from("<IIQQQQIIQQ", code, sections + number * size) for number in range(count)]
    found = []
    for kind, at, length, link in ((head[1], head[4], head[5], head[6]) for head in heads):
        if kind == 2:  # a table of symbols
            names = heads[link][4]
            for place in range(at + 24, at + length, 24):
                name, _, _, section, *_ = struct.unpack_from("<IBBHQQ", code, place)
                if section == 0:
                    found.append(code[names + name :].split(b"\0", 1)[0].decode())
    return found


OTHER_MACHINES = ("aarch64-unknown-linux-gnu", "arm64-apple-macosx13.0.0", "x86_64-unknown-linux-gnu")


@pytest.mark.long
@pytest.mark.parametrize("triple", few(OTHER_MACHINES, 3))
def test_code_is_made_for_plain_processors_of_other_machines(triple: str, tmp_path: Path) -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    drawn, properties = load_machine(numbered(11), tmp_path)
    unit = generate(drawn, drawn.set_constants({}), properties, normalize=True).unit
    code = objects.compiled(unit, objects.Target(triple)).code
    if "apple" in triple:
        assert code[:4] == b"\xcf\xfa\xed\xfe"
    else:
        processor = {"aarch64": 183, "x86_64": 62}[triple.partition("-")[0]]
        assert struct.unpack_from("<H", code, 0x12)[0] == processor
        assert undefined(code) == []


def test_objects_of_other_content_have_other_names() -> None:
    unit = Unit(TEXT.format(1))
    names = {
        objects.digest(unit),
        objects.digest(unit, objects.Target(OTHER_MACHINES[0])),
        objects.digest(unit, level=objects.LEVEL + 1),
        objects.digest(Unit(TEXT.format(2))),
        objects.digest(Unit(TEXT.format(1), library="X = 1")),
        objects.digest(Unit(TEXT.format(1), codes=(("F", ("I64",), "I64"),))),
    }
    assert len(names) == 6
    assert objects.digest(Unit(TEXT.format(1))) == objects.digest(unit)


def answer(unit: Unit) -> tuple[int, bool]:
    """Return the result of a unit's kernel, and whether it was compiled for that."""
    found, fresh = libraries.library(unit)
    return found.kernels()["more"](1), fresh


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    return cache_folder()


@pytest.mark.parametrize("damage", ["empty", "half", "one bit", "head", "other exports", "text"])
def test_a_damaged_object_is_compiled_again_with_a_note(
    damage: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    unit = Unit(TEXT.format(20))
    answer(unit)
    path = file_of(folder, objects.digest(unit))
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 4
    damaged = {
        "empty": b"", "half": whole[: len(whole) // 2], "one bit": bytes(flipped), "head": b"[]\n" + whole,
        "other exports": whole.replace(b'"I64"', b'"U64"', 1), "text": b"\xff not an object",
    }[damage]  # fmt: skip
    path.write_bytes(damaged)
    with caplog.at_level(logging.WARNING):
        assert answer(unit) == (21, True)
    assert caplog.messages == [f"note: {path} is damaged, so its content is recompiled."]
    assert path.read_bytes() == whole


def test_a_cache_that_cannot_be_written_keeps_nothing_and_stops_nobody(folder: Path) -> None:
    folder.joinpath("objects").write_text("no folder")
    assert [answer(Unit(TEXT.format(30))) for _ in range(2)] == [(31, True), (31, True)]


def test_what_cannot_be_translated_is_an_error_of_the_compiler() -> None:
    with pytest.raises(objects.CompileError, match=r"^KeyError: 'nowhere'$"):
        objects.compiled(Unit("@kernel\ndef lost() -> I64:\n    return nowhere\n"))


def resident() -> int:
    gc.collect()
    return psutil.Process(os.getpid()).memory_info().rss


def grows(warm: int, count: int, work: Callable[[int], object], most: int) -> bool:
    """Return whether memory grows in each of three rounds: the system alone makes it grow only once."""
    numbers, kept = itertools.count(), deque[object](maxlen=most)
    kept.extend(work(next(numbers)) for _ in range(warm))
    for _ in range(3):
        before = resident()
        kept.extend(work(next(numbers)) for _ in range(count))
        if resident() - before < FLAT:
            return False
    return True


def python(code: str, **own: str) -> subprocess.CompletedProcess[str]:
    asked = [sys.executable, "-c", code]
    return subprocess.run(asked, cwd=ROOT, env={**os.environ, **own}, capture_output=True, text=True, check=False)


SPIN = """
@kernel
def spin(rounds: I64p, stop: I64p) -> I64:
    while stop[0] == 0:
        rounds[0] += 1
    return stop[0] + {}
"""


def test_code_stays_in_memory_as_long_as_a_call_of_it_runs() -> None:
    """The call ends only after its code was released and other code was loaded where it could lie."""
    made, *others = (objects.compiled(Unit(text)) for text in (SPIN.format(7), *map(TEXT.format, range(5))))
    rounds, stop = np.zeros(1, np.int64), np.zeros(1, np.int64)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(Library(made).kernels()["spin"], rounds, stop)
        try:
            while not rounds[0] and not future.done():
                time.sleep(0.001)
            gc.collect()
            for other in others:
                Library(other)
            assert not future.done()
        finally:
            stop[0] = 1
        assert future.result(timeout=60) == 8


def load_scattered(made: objects.Object) -> None:
    """Load an object if one page is free near other code, and the next free memory is 3 GB away."""
    libc = ctypes.CDLL(None)
    reserve = libc.mmap
    address, size = ctypes.c_void_p, ctypes.c_size_t
    reserve.restype, reserve.argtypes = address, [address, size, *[ctypes.c_int] * 3, ctypes.c_long]
    far, private, exactly_there = 3 << 30, 0x4022, 0x10_0000
    top = reserve(None, far, 0, private, -1, 0) + far
    lines = Path("/proc/self/maps").read_text().splitlines()
    ranges = [tuple(int(end, 16) for end in line.split()[0].split("-")) for line in lines]
    page = mmap.PAGESIZE
    for (_, end), (start, _) in itertools.pairwise(ranges):
        if top <= end < start < 1 << 47:
            reserve(end, start - end, 0, private | exactly_there, -1, 0)
    hole = libc.munmap(ctypes.c_void_p(top - page), ctypes.c_size_t(page))
    assert hole == 0
    Library(made)


@pytest.mark.skipif(sys.platform != "linux", reason="the map of memory is read from /proc")
def test_an_object_is_loaded_in_one_piece_where_memory_is_scattered() -> None:
    load = "load_scattered(objects.compiled(source_of('kip320').unit, level=0))"
    done = python(f"from tests.unit.explorers.test_llvm_objects import *; {load}")
    assert done.returncode == 0, done.stderr
