"""A run over many random machines that can be interrupted and resumed: a file with a line per machine."""

import fcntl
import gc
import hashlib
import itertools
import json
import multiprocessing
import re
import statistics
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from fencepost.model.language.errors import ModelError, UsageError

from tests.helpers.places import ROOT
from tests.random_machines.case import Case
from tests.random_machines.comparisons import ALWAYS, SOMETIMES
from tests.random_machines.engines import load
from tests.random_machines.machines import numbered

Look = Callable[[int], dict[str, Any]]  # returns the row of a seed's machine

LIFE = 250  # number of machines per process
ENGINES = ("model/language", "explorers/native", "explorers/liveness", "explorers/symbolic", "explorers/walk")
KINDS = {
    "index": r"is outside the array", "NONE as an index": r"NONE used as an index", "value": r"is out of its domain",
    "shift by a negative number": r"negative shift count",
    "number too long": r"too many digits|too large|too many|Exceeds the limit", "full bag": r"the bag is full",
    "no such message": r"in flight to remove", "full channel": r"the channel is full",
    "empty channel": r"the channel is empty", "no such message in a channel": r"there is no message \S+ the channel",
    "negative cost": r"a cost must be 0 or more",
}  # fmt: skip
"""Every kind of runtime error, as named in its message."""


def sources() -> str:
    made = hashlib.sha256()
    for room in ENGINES:
        for path in sorted((ROOT / room).rglob("*.py")):
            made.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return made.hexdigest()[:16]


def kind_of(error: str) -> str:
    return next((kind for kind, pattern in KINDS.items() if re.search(pattern, error)), error)


def asked(seed: int) -> dict[str, Any]:
    return ALWAYS | {name: ask for name, (every, ask) in SOMETIMES.items() if seed % every == 0}


def look_at(seed: int, folder: Path) -> dict[str, Any]:
    """Return the row of one machine: the comparisons and the differences."""
    began = time.process_time()
    try:
        machine, properties = load(numbered(seed), folder)
    except ModelError:
        return {"seed": seed, "refused": True}
    try:
        case = Case(machine, properties, machine.set_constants({}), seed)
        error = case.expected.get("error", "")
        differs = {name: how[:600] for name, ask in asked(seed).items() if (how := _attempt(ask, case))}
        row: dict[str, Any] = {
            "seed": seed, "states": len(case.plain.parents), "differs": differs,
            "acts": sum(map(bool, case.plain.fired.values())), "compared": case.compared,
        }  # fmt: skip
        row |= {"error": kind_of(error)} if error else {}
        row |= {"unfit": True} if "unfit" in case.notes else {}
        return row | {"seconds": round(time.process_time() - began, 3)}
    finally:
        del sys.modules[machine.state.__module__]


def _attempt(ask: Any, case: Case) -> str:
    try:
        return str(ask(case))
    except MemoryError:
        raise  # it is not about an engine
    except Exception as error:
        if isinstance(error.__context__, MemoryError | OSError):
            raise
        return traceback.format_exc()[-500:]


def rows_in(files: Iterable[Path]) -> list[dict[str, Any]]:
    """Return the saved rows, without an incomplete last one."""
    found = []
    for path in files:
        for number, line in enumerate(path.read_bytes().split(b"\n")[:-1] if path.is_file() else [], 1):
            try:
                found.append(json.loads(line))
            except ValueError:
                raise UsageError(f"{path}:{number}: this is no row. Remove it, or name another file.") from None
    return found


@contextmanager
def added_to(file: Path) -> Iterator[TextIO]:
    """Open a file to add rows, after removing an incomplete row of a killed process; other processes are locked out."""
    try:
        opened = file.open("a+")
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}. Name another file.") from None
    with opened as out:
        try:
            fcntl.flock(out, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{file} is in use: another process adds rows to it. Name another file.") from None
        out.truncate(file.read_bytes().rfind(b"\n") + 1)
        yield out


def run(first: int, count: int, seconds: float, file: Path, workers: int = 0, look: Look | None = None) -> Any:
    """Process machines until all are done or time is up; return all rows, including those known before."""
    look = look or _looked_at
    with added_to(file) as out:
        done = {row["seed"] for row in rows_in([file])}
        seeds = (seed for seed in range(first, first + count) if seed not in done)
        began = time.monotonic()
        in_time = itertools.takewhile(lambda _: time.monotonic() - began <= seconds, seeds)
        for row in _elsewhere(in_time, workers, look) if workers else map(look, in_time):
            out.write(json.dumps(row) + "\n")
            out.flush()
    return rows_in([file])


def _looked_at(seed: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return look_at(seed, Path(folder))


def _elsewhere(seeds: Iterator[int], workers: int, look: Look) -> Iterator[dict[str, Any]]:
    """Yield the rows of machines from other processes, each of which ends after some machines to free its memory."""
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, spawned, _own_process, max_tasks_per_child=LIFE) as pool:
        waiting: dict[Future[dict[str, Any]], int] = {}
        while True:
            waiting |= {pool.submit(look, seed): seed for seed in itertools.islice(seeds, 2 * workers - len(waiting))}
            if not waiting:
                return
            for ended in wait(waiting, return_when=FIRST_COMPLETED).done:
                try:
                    yield ended.result()
                except BrokenProcessPool:
                    sys.exit(f"One of the machines {sorted(waiting.values())} ended its process.")
                del waiting[ended]


def _own_process() -> None:
    gc.set_threshold(100_000, 20, 20)  # a machine makes many objects, few of them in cycles


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    drawn = [row for row in rows if not row.get("refused")]
    seconds = sum(row["seconds"] for row in drawn)
    counted = Counter(name for row in drawn for name in asked(row["seed"]))
    return {
        "machines": len(drawn),
        "refused by the language": len(rows) - len(drawn),
        "differences": sum(bool(row["differs"]) for row in drawn),
        "compared successors": sum(row["compared"] for row in drawn),
        "states of the median machine": statistics.median(row["states"] for row in drawn),
        "actions that fire in the median machine": statistics.median(row["acts"] for row in drawn),
        "machines with a runtime error": sum("error" in row for row in drawn),
        "machines whose numbers leave 64 bits": sum("unfit" in row for row in drawn),
        "machines a minute of a processor": round(60 * len(drawn) / seconds),
        "errors": dict(Counter(kind_of(row["error"]) for row in drawn if "error" in row).most_common()),
        "comparisons": dict(sorted(counted.items())),
    }
