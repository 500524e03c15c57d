"""Long-running jobs that are killed at random points, again and again, and end with the result of undisturbed ones.

Each process is killed at once or later: between two rounds, while it saves, while it reads what the previous one has
saved. `python -m tests.soak.kills` runs it for long.
"""

import argparse
import json
import os
import random
import shutil
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from fencepost.invariants.figures.store import load, save

from tests.soak import long_work


def killed(kind: str, draw: random.Random, folder: Path, longest: float) -> tuple[int, Any]:
    """Work in processes that are killed until one finishes; return the number of killed ones, and the answer."""
    out, count = folder / "answer.json", 0
    while True:
        child = long_work.begun(kind, folder / "kept", out)
        time.sleep(draw.random() * longest)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        long_work.ended(child)
        if os.WIFSIGNALED(status):
            count, longest = count + 1, longest * 1.2  # so that it ends even on a slow machine
            continue
        return count, json.loads(out.read_text())


def run(seed: int, kills: int, seconds: float, folder: Path, kinds: list[str]) -> dict[str, Any]:
    draw, began = random.Random(seed), time.monotonic()  # noqa: S311 (no secret)
    found, counts, wanted, took = Counter[str](), Counter[str](), {}, {}
    while sum(counts.values()) < kills and time.monotonic() - began < seconds:
        kind = kinds[found["works"] % len(kinds)]
        if kind not in wanted:
            start = time.monotonic()
            wanted[kind] = answered(kind, folder)
            took[kind] = time.monotonic() - start
        folder.mkdir()
        count, answer = killed(kind, draw, folder, took[kind] * draw.choice((0.3, 1, 2)))
        shutil.rmtree(folder)
        counts[kind] += count
        found["works"] += 1
        found["differ"] += answer != wanted[kind]
    return {"kills": sum(counts.values()), "works": found["works"], "differ": found["differ"], "by kind": dict(counts)}


def answered(kind: str, folder: Path) -> Any:
    folder.mkdir()
    child = long_work.begun(kind, folder / "kept", folder / "answer.json")
    os.waitpid(child, 0)
    found = json.loads((folder / "answer.json").read_text())
    shutil.rmtree(folder)
    assert "answer" in found, found
    return found


def asked(name: str, doc: str | None, **defaults: float) -> argparse.Namespace:
    """Read the options: `--count` tries, `--more` of them of work that needs Java (Spark, Kafka's classes)."""
    parser = argparse.ArgumentParser(prog=f"python -m tests.soak.{name}", description=doc)
    for option, default in {"seed": 0, **defaults}.items():
        parser.add_argument(f"--{option}", type=type(default), default=default)
    parser.add_argument("--write", action="store_true", help="write what was seen to invariants/figures/trust.json")
    return parser.parse_args()


def main() -> int:
    given = asked("kills", __doc__, count=500, more=20, seconds=3600.0)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "killed"
        found = run(given.seed, given.count - given.more, given.seconds, place, list(long_work.KINDS))
        if given.more:
            more = run(given.seed, given.more, given.seconds, place, list(long_work.MORE))
            found = {name: found[name] + more[name] for name in ("kills", "works", "differ")} | {
                "by kind": found["by kind"] | more["by kind"]
            }
    print(json.dumps(found))  # noqa: T201 (what it is for)
    if given.write:
        others = [run for run in load("trust")["kills"] if run["seed"] != given.seed]
        save("trust", {**load("trust"), "kills": [*others, {"seed": given.seed, **found}]})
    return 1 if found["differ"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
