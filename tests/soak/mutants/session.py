"""A pytest session whose tests are run one by one, or a few of them in a forked process for each mutant."""

import importlib
import json
import os
import resource
import shutil
import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import coverage
import pytest
from fencepost.explorers.running.files import write_file

from tests.random_machines import comparisons
from tests.random_machines.case import Case
from tests.random_machines.engines import load as load_machine
from tests.random_machines.machines import numbered
from tests.random_machines.run import look_at
from tests.soak.mutants.changes import FILES, ROOT, Mutant, put

Runs = dict[str, dict[str, Any]]  # by test: its seconds, and by file the lines of ours that it runs
MACHINES = (7, 26, 39, 30, 48, 80, 21, 11, 25, 14, 34)
"""Random machines for mutants: some are searched without guards, some with optimized code."""
APART = {
    "masks": (comparisons.masks, (7, 26, 39, 30, 11, 25, 14)),
    "walks": (comparisons.walks, (7, 29)),
    "symbolic": (comparisons.symbolic, (26, 39, 30, 11, 25, 14)),
    "constants": (comparisons.constants, (7, 26, 14)),
    "proof": (comparisons.proof, (4, 25, 50)),
}
"""Comparisons that few other machines get, under names of their own."""
LONGEST = 20.0
SLOWER = 3
"""Limits after which a mutant counts as one that does not end: CPU seconds, and a multiple of its tests' time."""
LONGEST_TEST = 6.0  # most processor seconds, with coverage, of a test for mutants
MOST_MEMORY = 8 << 30  # address space of a mutant in bytes: one that allocates more and more is killed too


class Session:
    """A pytest plugin that works with the collected tests."""

    def __init__(self, work: "Callable[[Session], None]") -> None:
        self.work, self.failed = work, ""
        self.items: dict[str, pytest.Item] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        self.work(self)
        return True

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = report.nodeid

    def fails(self, name: str) -> bool:
        """Run one test, or the comparisons of one machine; return whether it fails."""
        if name.startswith("machine "):
            return machine_differs(*name.split()[1:])
        self.failed, item = "", self.items[name]
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        return bool(self.failed)


def machine_differs(seed: str, name: str = "") -> bool:
    """Return whether a random machine shows that something is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        if not name:
            row = look_at(int(seed), Path(folder))
            return "refused" in row or bool(row["differs"])
        try:
            machine, properties = load_machine(numbered(int(seed)), Path(folder))
            return bool(APART[name][0](Case(machine, properties, machine.set_constants({}), int(seed))))
        except Exception:  # noqa: BLE001 (an engine that breaks is noticed)
            return True


def machines() -> list[str]:
    apart = [f"machine {seed} {name}" for name, (_, seeds) in APART.items() for seed in seeds]
    return [*(f"machine {seed}" for seed in MACHINES), *apart]


def collected(files: list[str], work: Callable[[Session], None], *, long: bool = False) -> None:
    """Collect tests, and work with them; `long`: those that `./test` leaves out too."""
    for names in FILES.values():
        for name in names:
            importlib.import_module(f"fencepost.{name.removesuffix('.py').replace('/', '.')}")
    options = ["-n0", "-q", "-pno:cacheprovider", "--no-header", "--no-summary", "--tb=native", f"--rootdir={ROOT}"]
    options += ["-m", "long or not long"] if long else []
    pytest.main([*options, *files], plugins=[Session(work)])


def measured(files: list[str], out: Path, *, begun: Runs | None = None, long: bool = False) -> None:
    """Run every test with coverage; after all have run, write the lines and the time of each to a file."""
    beside = out.with_name(f"{out.name}.begun")
    runs: Runs = json.loads(beside.read_text()) if beside.exists() else begun or {}
    sources = sorted({str(ROOT / name) for names in FILES.values() for name in names})
    signal.signal(signal.SIGPROF, _too_long)
    watch = coverage.Coverage(data_file=None, config_file=False, include=sources, messages=False)

    def work(session: Session) -> None:
        for name in [*machines(), *session.items]:
            if name in runs:
                continue
            watch.start()
            began = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, LONGEST_TEST)
            try:
                failed = session.fails(name)
            except TimeoutError:
                failed = True
            signal.setitimer(signal.ITIMER_PROF, 0)
            seconds = time.process_time() - began
            with warnings.catch_warnings(action="ignore"):  # most tests run none of the measured lines
                watch.stop()
                runs[name] = {"seconds": round(seconds, 2), "lines": {} if failed else dict(_lines(watch))}
                watch.erase()
            if seconds > 1 or len(runs) % 20 == 0:
                write_file(beside, json.dumps(runs).encode())
        write_file(out, json.dumps(runs).encode())
        beside.unlink(missing_ok=True)

    collected(files, work, long=long)


def _too_long(*_: object) -> NoReturn:
    raise TimeoutError


def _lines(watch: coverage.Coverage) -> Iterator[tuple[str, list[int]]]:
    data = watch.get_data()
    for path in data.measured_files():
        lines = sorted(data.lines(path) or ())
        if lines:
            yield Path(path).relative_to(ROOT).as_posix(), lines


def tests_of(mutant: Mutant, runs: Runs, most: float) -> list[str]:
    """Return the tests that run the changed line, the quickest first, as many as fit the time."""
    row, spent = mutant.row, 0.0
    found = sorted(
        (run["seconds"], name) for name, run in runs.items() if row["line"] in run["lines"].get(row["file"], ())
    )
    names = []
    for seconds, name in found:
        spent += seconds
        if spent > most:
            break
        names.append(name)
    return names


def tried(session: Session, mutant: Mutant | None, names: list[str], seconds: float = 0.0) -> str:
    """Try a mutant, or its original, in a separate process; return the killing test, or an empty string."""
    if not names:
        return ""
    most = LONGEST + SLOWER * seconds
    reading, writing = os.pipe()
    with tempfile.TemporaryDirectory() as folder:
        child = os.fork()
        if not child:
            os.setsid()
            with suppress(BaseException):
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                signal.setitimer(signal.ITIMER_PROF, most)
                signal.alarm(int(10 * most))
                resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
                os.environ["TMPDIR"] = tempfile.tempdir = folder
                if mutant is not None:
                    put(mutant)
                os.write(writing, next((name for name in names if session.fails(name)), "nobody").encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as answer:
            os.waitpid(child, 0)
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child, signal.SIGKILL)
            who = answer.read().decode()
    return "" if who == "nobody" else who or "it does not end, or ends the process"


def forget_proofs() -> None:
    """Remove what a mutant may have proved wrongly; objects are named by the code that they were compiled from."""
    from fencepost.explorers.running.cache import cache_folder

    shutil.rmtree(cache_folder() / "proofs", ignore_errors=True)
