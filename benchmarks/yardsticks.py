"""A hand-written search of Kip320 in C, and its memory accesses alone, compiled and run.

If there is no C compiler, or if a state does not fit into 128 bits under these constants, the functions return None,
and `reason` says why.
"""

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

SOURCE = Path(__file__).with_name("handwritten.c")
FLAGS = ("-O3", "-march=native")

Measured = dict[str, float | bool]


def c_search(replicas: int, log_size: int, max_records: int, max_leader_epoch: int) -> Measured | None:
    """Search Kip320 in C on one thread.

    The result has `distinct`, `generated` and `depth` as in the Python search, `weak_isr_holds` and `strong_isr_holds`,
    `seconds` of wall time, `processor_seconds`, and `bytes_per_state`, which counts the table and the two levels in
    memory. Returns None without a program; see `reason`.
    """
    return _run((replicas, log_size, max_records, max_leader_epoch))


def c_latency_bound(replicas: int, log_size: int, max_records: int, max_leader_epoch: int) -> Measured | None:
    """Measure only that search's table accesses: `accesses` in total, `inserts` of them insertions.

    Random rows of a table with the search's final size, `table_bytes`, are accessed. For `seconds`, each access waits
    for the previous one; for `overlapped_seconds`, cache misses overlap, as in a search that prefetches. Returns None
    without a program; see `reason`.
    """
    return _run((replicas, log_size, max_records, max_leader_epoch), "latency")


def reason(replicas: int, log_size: int, max_records: int, max_leader_epoch: int) -> str | None:
    program = _compile((replicas, log_size, max_records, max_leader_epoch))
    return program if isinstance(program, str) else None


@cache
def _directory() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="fencepost-yardsticks-")


@cache
def _compile(constants: tuple[int, int, int, int]) -> Path | str:
    compiler = shutil.which("cc")
    if compiler is None:
        return "no C compiler: there is no `cc` on the PATH"
    names = ("REPLICAS", "LOG_SIZE", "MAX_RECORDS", "MAX_LEADER_EPOCH")
    defines = [f"-D{name}={value}" for name, value in zip(names, constants, strict=True)]
    program = Path(_directory().name, "-".join(map(str, constants)))
    command = [compiler, *FLAGS, *defines, "-o", str(program), str(SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return program
    errors = [line for line in done.stderr.splitlines() if "error" in line]
    return f"{compiler} cannot compile {SOURCE.name}: {(errors or ['no message'])[0]}"


def _run(constants: tuple[int, int, int, int], *mode: str) -> Measured | None:
    program = _compile(constants)
    if isinstance(program, str):
        return None
    command = [str(program), *map(str, constants), *mode]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        msg = f"the C search of {constants} stopped with status {done.returncode}: {done.stderr}"
        raise RuntimeError(msg)
    measured: Measured = json.loads(done.stdout)
    return measured
