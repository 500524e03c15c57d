"""Searches that are killed at random points, again and again, and end with the answer of one that was left alone.

A process saves its search every few rounds. Each is killed, at once or later: between two rounds, while it saves, while it reads what
the one before it has saved. `python -m tests.kills` runs it for long.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from fencepost.explorers.native.search import search
from fencepost.explorers.verdict import Options, Result
from fencepost.figures.store import load, save

from tests.machines import grid

SIZES = {"width": 60, "starts": 4, "resting": 1}
KINDS = {
    "one worker": Options(workers=1, deadlock=True),
    "two workers": Options(workers=2, deadlock=True),
    "compact": Options(workers=1, compact=True, deadlock=True),
}
"""Searches that are killed."""
SLICE = 0.1
"""Seconds after which a search is saved."""


def ask(options: Options) -> Result:
    """Search."""
    return search(grid.MACHINE, grid.MACHINE.set_constants(SIZES), grid.PROPERTIES, options)


def shown(found: Result) -> dict[str, Any]:
    """Return what must be the same, however often a search was killed."""
    return {
        "distinct": found.distinct,
        "generated": found.generated,
        "levels": list(found.levels),
        "fired": dict(found.fired),
        "refused": [item.refused for item in found.guards],
        "properties": [[item.name, str(item.verdict), item.path.length if item.path else None] for item in found.properties],
    }


def slices(folder: Path, options: Options, out: Path) -> None:
    """Search on from where a checkpoint is, saving often; write the answer to a file."""
    while True:
        begun = (folder / "manifest.json").exists()
        found = ask(replace(options, checkpoint=str(folder), resume=begun, budget=SLICE))
        if found.complete:
            out.write_text(json.dumps(shown(found)))
            return


def killed(kind: str, draw: random.Random, folder: Path, longest: float) -> tuple[int, dict[str, Any]]:
    """Run a search in processes that are killed until one ends by itself; return how many were killed, and the answer."""
    out, count = folder / "answer.json", 0
    while True:
        child = os.fork()
        if not child:
            try:
                slices(folder / "kept", KINDS[kind], out)
            finally:
                os._exit(0 if out.exists() else 1)
        time.sleep(draw.random() * longest)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            count, longest = count + 1, longest * 1.2  # so that it ends, however slow the machine is
            continue
        answer: dict[str, Any] = json.loads(out.read_text())
        return count, answer


def run(seed: int, kills: int, seconds: float, folder: Path) -> dict[str, Any]:
    """Kill so many processes, and return what happened."""
    draw, began = random.Random(seed), time.monotonic()  # noqa: S311 (no secret)
    wanted = {kind: shown(ask(options)) for kind, options in KINDS.items()}
    found = {"kills": 0, "searches": 0, "differ": 0}
    folder.mkdir(exist_ok=True)
    while found["kills"] < kills and time.monotonic() - began < seconds:
        kind = list(KINDS)[found["searches"] % len(KINDS)]
        count, answer = killed(kind, draw, folder, draw.choice((0.05, 0.2, 0.5)))
        shutil.rmtree(folder)
        folder.mkdir()
        found["kills"] += count
        found["searches"] += 1
        found["differ"] += answer != wanted[kind]
    return found


def main() -> int:
    """Run; return 1 if an answer is another one."""
    parser = argparse.ArgumentParser(prog="python -m tests.kills", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--write", action="store_true", help="write what was seen to figures/trust.json")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = run(given.seed, given.count, given.seconds, Path(folder) / "killed")
    print(json.dumps(found))  # noqa: T201 (what it is for)
    if given.write:
        save("trust", {**load("trust"), "kills": found})
    return 1 if found["differ"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
