"""Long-running jobs with injected faults: a full disk, or another process in the same folder.

They must end with the right answer or with one message; and, once the fault is gone, continue to the right answer.
`python -m tests.soak.troubles` runs it for long.
"""

import builtins
import errno
import inspect
import io
import json
import os
import random
import resource
import shutil
import signal
import stat
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from itertools import count, cycle, islice
from pathlib import Path
from typing import Any

from fencepost.invariants.figures.store import load, save

from tests.soak import long_work
from tests.soak.kills import answered, asked


def full_disk(draw: random.Random) -> Callable[[], None]:
    """Limit the size of files to a few bytes, as on a nearly full disk."""
    most = draw.choice((0, 1, 100, 1_000, 5_000, 20_000))

    def wrong() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    return wrong


def no_room(draw: random.Random) -> Callable[[], None]:
    """Make one write fail, and sometimes all later ones."""
    number, always = int(10 ** draw.uniform(0, 2.5)), draw.random() < 0.5
    true = {name: getattr(os, name) for name in ("write", "fsync", "replace", "rename", "mkdir")}
    opened, left, signature = io.open, count(number, -1), inspect.signature(io.open)

    def spend() -> None:
        now = next(left)
        if now == 1 or (now < 1 and always):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    class Counted(io.FileIO):
        def write(self, content: Any, /) -> int:
            if stat.S_ISREG(os.fstat(self.fileno()).st_mode):
                spend()
            return super().write(content)

    def counting(name: str) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            spend()
            return true[name](*given, **named)

        return call

    def opened_counting(*given: Any, **named: Any) -> Any:
        asked = signature.bind(*given, **named)
        asked.apply_defaults()
        file, mode, buffering, *text, closed, opener = asked.arguments.values()
        if not set(mode) & set("wax+"):
            return opened(*given, **named)
        raw = Counted(file, mode.replace("b", "").replace("t", ""), closed, opener)
        if buffering == 0:
            return raw
        held = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return held if "b" in mode else io.TextIOWrapper(held, *text)

    def wrong() -> None:
        for name in true:
            setattr(os, name, counting(name))
        builtins.open = io.open = opened_counting

    return wrong


def nothing(_: random.Random) -> None:
    """Inject no fault, but let two processes work in one folder."""


TROUBLES: dict[str, Callable[[random.Random], Callable[[], None] | None]] = {
    "full disk": full_disk,
    "no room for one write": no_room,
    "two in one folder": nothing,
}


def tried(kind: str, trouble: str, draw: random.Random, folder: Path) -> list[dict[str, Any]]:
    """Work with a fault, then without; return the result of each process."""
    outs = [folder / f"{number}.json" for number in range(2 if trouble == "two in one folder" else 1)]
    children = [long_work.begun(kind, folder / "kept", out, TROUBLES[trouble](draw)) for out in outs]
    statuses = [os.waitpid(child, 0)[1] for child in children]
    for child in children:
        long_work.ended(child)
    last = folder / "last.json"
    os.waitpid(long_work.begun(kind, folder / "kept", last), 0)
    pairs = [*zip(outs, statuses, strict=True), (last, 0)]
    return [
        json.loads(out.read_text()) if out.exists() else {"broke": f"no answer, status {status}"}
        for out, status in pairs
    ]


def run(seed: int, times: int, seconds: float, folder: Path, kinds: list[str]) -> dict[str, Any]:
    draw, began = random.Random(seed), time.monotonic()  # noqa: S311 (no secret)
    wanted: dict[str, Any] = {}
    seen: dict[str, Counter[str]] = {name: Counter() for name in TROUBLES}
    failures = []
    pairs = [(kind, trouble) for kind in kinds for trouble in TROUBLES]
    for number, (kind, trouble) in enumerate(islice(cycle(pairs), times)):
        if time.monotonic() - began > seconds:
            break
        wanted[kind] = wanted.get(kind) or answered(kind, folder)
        folder.mkdir()
        *inside, last = tried(kind, trouble, draw, folder)
        shutil.rmtree(folder)
        for found in inside:
            how = "answered" if found == wanted[kind] else "refused" if "refused" in found else "failed"
            seen[trouble][how] += 1
            if how == "failed":
                failures.append(f"{kind}, {trouble}, {number}: {found}")
        if last != wanted[kind]:
            failures.append(f"{kind}, after {trouble}, {number}: {last}")
    return {
        "tried": sum(map(Counter.total, seen.values())),
        "troubles": {name: dict(item) for name, item in seen.items()},
        "failures": failures,
    }


def main() -> int:
    given = asked("troubles", __doc__, count=480, more=30, seconds=1200.0)
    with tempfile.TemporaryDirectory() as folder:
        place, usual = Path(folder) / "trouble", given.count - given.more
        found = run(given.seed, usual, given.seconds, place, list(long_work.KINDS))
        if given.more:
            more = run(given.seed, given.more, given.seconds, place, list(long_work.MORE))
            pairs = [(name, item, more["troubles"][name]) for name, item in found["troubles"].items()]
            both = {name: dict(Counter(item) + Counter(other)) for name, item, other in pairs}
            found = {name: found[name] + more[name] for name in ("tried", "failures")} | {"troubles": both}
    print("\n".join(found["failures"]))  # noqa: T201 (what it is for)
    found["failures"] = len(found["failures"])
    print(json.dumps(found))  # noqa: T201 (what it is for)
    if given.write:
        save("trust", {**load("trust"), "troubles": found})
    return 1 if found["failures"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
