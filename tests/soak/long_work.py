"""Small jobs of each long-running kind, which save and resume: for a process that is killed or made to fail."""

import io
import json
import os
import resource
import signal
import time
import traceback
from argparse import Namespace
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from fencepost import api
from fencepost.cli.failures import explain
from fencepost.cli.status import Exit
from fencepost.invariants.protocols import Protocol, protocol
from fencepost.model.language.errors import UsageError

from benchmarks.figures import conformance as measuring
from benchmarks.figures import matrices
from tests.helpers.audits import unpack
from tests.helpers.commands import VARIABLE, fencepost
from tests.helpers.parameters import words
from tests.machines import grid, lamps, vault
from tests.random_machines.run import run as look_at_machines

for name in words(
    "llvmlite.binding numpy z3 fencepost.api.calls.ablate fencepost.explorers.evidence.ablation "
    "fencepost.explorers.evidence.faults fencepost.explorers.native.masked fencepost.explorers.native.search "
    "fencepost.explorers.symbolic.cache"
):
    import_module(name)  # all work needs them, and they take long
SIZES = {"width": 60, "starts": 4, "resting": 1}
SLICE = 0.1  # seconds between two checkpoints
KAFKA = "4.1.2"
OVER = ("seconds", "reading_seconds", "read_now", "solver_seconds", "walking_seconds", "steps_per_second",
"walked_now", "cached", "notes", *VARIABLE)  # fmt: skip
"""Parts that may differ between runs."""


def searched(**options: Any) -> Callable[[Path], Any]:
    def work(folder: Path) -> Any:
        while True:
            kept = {"checkpoint": folder, "resume": (folder / "manifest.json").exists(), "budget": SLICE}
            found = api.check(grid.MACHINE, grid.PROPERTIES, constants=SIZES, deadlock=True, **kept, **options)
            if found.complete:
                return fixed(found.to_dict())

    return work


def catalogue(folder: Path) -> Any:
    """Run part of the catalogue, some runs in several parts."""
    command = words(f"check kip101 kip279 --profile ci --checkpoint {folder} --workers 1 --budget")
    while True:
        found = said(*command, f"{5 * SLICE}s", *resuming(folder.rglob("*.json")))
        if found["as_expected"]:
            return found


def resuming(files: Iterable[Path]) -> list[str]:
    """Return the option by which a command goes on from what an earlier one has left."""
    return ["--resume"] if any(files) else []


def matrix(folder: Path) -> Any:
    kept = {"checkpoint": folder, "resume": any(folder.glob("*.json"))}
    found = api.ablate(Protocol(grid.MACHINE, grid.PROPERTIES), constants=SIZES, workers=1, **kept)
    return fixed(found.to_dict())


def fault_table(folder: Path) -> Any:
    kept = {"checkpoint": folder, "resume": any(folder.glob("*.json"))}
    grid_of = {"copies": (1, 2, 3), "floods": (0, 1, 2)}
    of_vault = Protocol(vault.MACHINE, vault.PROPERTIES)
    found = api.faults(of_vault, prop=vault.a_copy_is_left.name, grid=grid_of, workers=1, **kept)
    return fixed(found.to_dict())


def proof(folder: Path) -> Any:
    os.environ["FENCEPOST_CACHE"] = str(folder)
    folder.chmod(0o700)
    return fixed(api.prove(Protocol(lamps.MACHINE, lamps.PROPERTIES), depth=2, workers=1).to_dict())


def walks(folder: Path) -> Any:
    """Walk at random, and replace the trace of a violation."""
    file = folder / "a.trace"
    if file.exists():
        said("replay", str(file), plain=True)  # the trace is whole
    found = said(*words(f"simulate kip101 --walks 3000 --trace {file} --workers 1"))
    return {**found, "trace": file.read_text()}


def machines(folder: Path) -> Any:
    rows = look_at_machines(1, 4, 600, folder / "machines.jsonl")
    return sorted((fixed(row) for row in rows), key=lambda row: row["seed"])


def measured_matrix(folder: Path) -> Any:
    return fixed(matrices._base(protocol("kip320"), "2/2/2/1", str(folder), 1))


def searched_on_spark(folder: Path) -> Any:
    where = words("--set replicas=2 --engine spark --master local[2] --handover 50 --partitions 4")
    return said("check", "kip320", *where, "--checkpoint", str(folder), *resuming(folder.glob("spark.json")))


def sweep(folder: Path) -> Any:
    walks = folder / "walks"
    asked = words(f"sweep kip320 --set replicas=2 --walks 3000 --output {walks}")
    return said(*asked, *resuming(walks.glob("*")))


def audit(folder: Path) -> Any:
    log, into = folder / "log", folder / "audit"
    if not (folder / "unpacked").exists():
        unpack("hyp-10-4.1.2", log)
        (folder / "unpacked").touch()
    return said("audit", str(log / "hyp-10-4.1.2"), "--output", str(into), *resuming(into.glob("*")))


def conformance(_: Path) -> Any:
    """Walk on Kafka's classes; nothing is saved but the final output."""
    return said(*words(f"conform replication --kafka {KAFKA} --walks 20 --depth 20 --workers 1"))


def measured_walks(folder: Path) -> Any:
    """Walk on Kafka's classes in batches, as for the figures."""
    measuring.BATCH = 20
    return measuring._walked(KAFKA, folder, Namespace(steps=2500, batches=100, workers=1))


def said(*command: str, plain: bool = False) -> Any:
    """Return the JSON output of a command; raise UsageError with its message if it refuses, or without a result."""
    done = fencepost(*command, *(() if plain else ("--json", "--quiet")))
    without = done.exit_code == Exit.BAD_INPUT or (done.exit_code == Exit.UNDETERMINED and not done.stdout)
    if without and done.stderr.count("\n") == 1:
        raise UsageError(done.stderr)
    assert done.exit_code in (Exit.AS_EXPECTED, Exit.FAILED, Exit.UNDETERMINED), done.stderr
    return None if plain else fixed(json.loads(done.stdout))


def fixed(data: Any) -> Any:
    """Return data without the parts that differ between runs."""
    if isinstance(data, dict):
        return {name: fixed(item) for name, item in data.items() if name not in OVER}
    return [fixed(item) for item in data] if isinstance(data, list | tuple) else data


KINDS: dict[str, Callable[[Path], Any]] = {
    "search": searched(workers=1), "search by two workers": searched(workers=2),
    "compact search": searched(workers=1, compact=True), "catalogue": catalogue, "matrix of guards": matrix,
    "table of faults": fault_table, "proof": proof, "random walks": walks, "random machines": machines,
    "matrix for the figures": measured_matrix,
}  # fmt: skip
"""Jobs that every machine can run."""
MORE: dict[str, Callable[[Path], Any]] = {
    "search on Spark": searched_on_spark, "sweep on Spark": sweep, "audit": audit, "conformance": conformance,
    "conformance for the figures": measured_walks,
}  # fmt: skip
"""Jobs that need Java, and Maven or a network."""


def begun(kind: str, folder: Path, out: Path, wrong: Callable[[], None] | None = None) -> int:
    """Start work in a process group of its own, with an optional fault; its answer is written to a file."""
    child = os.fork()
    if child:
        return child
    with suppress(BaseException):
        os.setsid()
        silent = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(silent, number)
        write = os.write
        made = done(kind, folder, wrong)
        for limit in (resource.RLIMIT_FSIZE, resource.RLIMIT_AS):
            most = resource.getrlimit(limit)[1]
            resource.setrlimit(limit, (most, most))
        write(os.open(out, os.O_WRONLY | os.O_CREAT), json.dumps(made).encode())
    os._exit(0)


def done(kind: str, folder: Path, wrong: Callable[[], None] | None) -> dict[str, Any]:
    """Work; return the answer, or the message with which the command line would end, or how it crashed."""
    folder.mkdir(exist_ok=True)
    with redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()):
        try:
            if wrong is not None:
                wrong()
            return {"answer": json.loads(json.dumps((KINDS | MORE)[kind](folder)))}
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 (what is looked at)
            status, message = explain(error)
            return {"broke": traceback.format_exc()[-900:]} if status is Exit.WRONG else {"refused": message}


def ended(child: int) -> None:
    """Check that no child of a finished process is left."""
    for _ in range(200):
        try:
            os.killpg(child, 0)
        except ProcessLookupError:
            return
        except PermissionError:
            pass
        time.sleep(0.1)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    raise AssertionError("somebody works on for a process that was killed")
