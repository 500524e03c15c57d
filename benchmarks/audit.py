"""Measurement of the audit on generated logs: time, memory, and whether planted violations are found.

`python -m benchmarks.audit [--records N ...]`.

Each log is written to `--folder` once and kept; with `--only-write`, the program then stops. The audit runs in a
separate process, whose memory (including its children's) is sampled twice a second. The program writes
invariants/figures/audit.json, with a row per size.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil
from fencepost.invariants.figures.store import load, save
from fencepost.kafka.audit.findings import SORTS
from pandas.util import hash_pandas_object
from pyarrow.parquet import read_table
from rich.console import Console

from benchmarks.metadata_log import write

SIZES = (1_000_000, 10_000_000)
HOT = 1_000_000
SEED = 1
CONSOLE = Console(width=120, highlight=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, action="append", help="numbers of records (default: 1 and 10 million)")
    parser.add_argument("--hot", type=int, default=0, help=f"number of changes to one of the partitions, such as {HOT}")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "fencepost-audit-benchmark")
    parser.add_argument("--only-write", action="store_true")
    parser.add_argument("--master", default="local[2]")
    given = parser.parse_args()
    for records in given.records or SIZES:
        log = given.folder / f"{records}-{given.hot}"
        if not log.is_dir():
            log.with_suffix(".json").parent.mkdir(parents=True, exist_ok=True)
            began = time.perf_counter()
            written = asdict(write(log, records=records, seed=SEED, hot=given.hot))
            log.with_suffix(".json").write_text(json.dumps({**written, "written_in": time.perf_counter() - began}))
        if not given.only_write:
            row = audited(log, json.loads(log.with_suffix(".json").read_text()), given.hot, given.master)
            CONSOLE.print(row)
            kept = [item for item in load("audit").get("rows", []) if _key(item) != _key(row)]
            save("audit", {"rows": sorted([*kept, row], key=_key)})


def _key(row: dict[str, Any]) -> tuple[int, int, str]:
    return row["asked"], row["hot"], row["master"]


def audited(log: Path, written: dict[str, Any], hot: int, master: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="fencepost-audit-") as folder:
        command = [sys.executable, "-m", "fencepost", "audit", str(log), "--master", master, "--json", "--quiet"]
        began = time.perf_counter()
        peak = 0
        with (Path(folder) / "out.json").open("w") as out:
            process = subprocess.Popen([*command, "--output", f"{folder}/kept"], stdout=out)
            while process.poll() is None:
                peak = max(peak, _memory(process.pid))
                time.sleep(0.5)
        seconds = time.perf_counter() - began
        data = json.loads((Path(folder) / "out.json").read_text())
        violations = [name for name, sort in SORTS.items() if sort.violation]
        found = read_table(f"{folder}/kept/findings").drop_columns(["topic_id", "brokers"]).to_pandas()
    digest = f"{int(hash_pandas_object(found, index=False).sum()):016x}"  # independent of the order of rows
    names = found["topic"] + "-" + found["partition"].astype(str)
    blamed = set(names[found["sort"].isin(violations)])
    rare = found["sort"].isin(set(written["exposed"].values()))
    exposed = set(zip(names[rare], found["sort"][rare], strict=True))
    planted = set(written["planted"])
    return {
        "asked": int(log.name.split("-", 1)[0]),
        "records": data["records"],
        "partitions": data["partitions"],
        "hot": hot,
        "master": master,
        "seconds": round(seconds, 1),
        "reading_seconds": data["reading_seconds"],
        "peak_gb": round(peak / 1e9, 2),
        "planted": len(planted),
        "found": len(planted & blamed),
        "false": len(blamed - planted),
        "exposed": len(written["exposed"]),
        "exposed_found": len(exposed & set(written["exposed"].items())),
        "findings": len(found),
        "digest": digest,
        "load": round(os.getloadavg()[0], 1),
    }


def _memory(pid: int) -> int:
    """Return the memory of a process and its children; shared pages count once for each process."""
    total = 0
    try:
        top = psutil.Process(pid)
        processes = [top, *top.children(recursive=True)]
    except psutil.Error:
        return 0
    for process in processes:
        try:
            total += process.memory_info().rss
        except psutil.Error:
            continue
    return total


if __name__ == "__main__":
    main()
