"""Everything that this machine can run, part after part; an interrupted run continues on the same commit."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tests.checks.parts import PARTS, Part, missing
from tests.checks.quick import KEPT, ROOT, environment, install_packages

PASSED, FAILED, LEFT_OUT, STOPPED = "passed", "failed", "left out", "stopped"
LAST = 60
"""The number of lines of a failed part's log that are printed."""


class Outcome(NamedTuple):
    """How a part ended, why, and pytest's closing line, if any."""

    part: str
    word: str
    why: str = ""
    seconds: int = 0
    closing: str = ""

    @property
    def line(self) -> str:
        took = f" ({self.seconds} s)" if self.seconds else ""
        return f"{self.part}: {self.word}{took}" + (f": {self.why}" if self.why else "")


def git(*words: str) -> str:
    return subprocess.run(["/usr/bin/env", "git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def state_of_sources() -> str:
    """Return the commit and the uncommitted changes as one word."""
    changed = git("diff", "HEAD") + git("ls-files", "--others", "--exclude-standard")
    return git("rev-parse", "--short=12", "HEAD").strip() + (
        "-" + hashlib.sha256(changed.encode()).hexdigest()[:8] if changed else ""
    )


def changed_paths() -> list[str]:
    """Return the paths that differ from the main branch, or on it from the last commit."""
    head, base = git("rev-parse", "HEAD").strip(), ""
    for branch in ("origin/main", "main"):
        with suppress(subprocess.CalledProcessError):
            base = git("merge-base", "HEAD", branch).strip()
            break
    if base in ("", head):
        base = "HEAD~1"
    try:
        return git("diff", "--name-only", base).split()
    except subprocess.CalledProcessError:  # the first commit, or a shallow clone
        return git("ls-files").split()


def run_part(part: Part, seconds: float, log: Path) -> Outcome:
    """Run one environment of tox for at most this long."""
    began = time.monotonic()
    with log.open("wb") as out:
        command = [sys.executable, "-m", "tox", "run", "-e", part.name]
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            start_new_session=True,
        )  # fmt: skip
        try:
            status = process.wait(seconds)
            word, why = (FAILED, f"see {log.relative_to(ROOT)}") if status else (PASSED, "")
        except subprocess.TimeoutExpired:
            word, why = STOPPED, f"it took longer than {seconds / 60:.0f} minutes"
        finally:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)
                    time.sleep(5)
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    lines = re.findall(
        r"^=*\s?(\d+ (?:passed|failed).* in [\d.]+s.*?)\s?=*$", log.read_text(errors="replace"), re.MULTILINE
    )
    return Outcome(part.name, word, why, round(time.monotonic() - began), lines[-1] if lines else "")


def run(parts: Iterable[Part], *, until: float = float("inf"), named: bool = False) -> list[Outcome]:
    """Run parts until a time of the monotonic clock, write the summary after each, and return all outcomes."""
    folder = KEPT / state_of_sources()
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "outcomes.json"
    before = {row[0]: Outcome(*row) for row in json.loads(kept.read_text())} if kept.exists() else {}
    outcomes: dict[str, Outcome] = {}
    install_packages("tox>=4.22", "tox-uv>=1.20")
    try:
        for part in parts:
            seconds = min(part.minutes * 60, until - time.monotonic())
            lacks = missing(part)
            if part.name in before and before[part.name].word == PASSED:
                outcome = before[part.name]
            elif part.asked and not named:
                outcome = Outcome(part.name, LEFT_OUT, f"it takes up to {part.minutes} minutes: ./test all {part.name}")
            elif lacks:
                outcome = Outcome(part.name, LEFT_OUT, f"this machine has no {' and no '.join(lacks)}")
            elif seconds < 60:
                outcome = Outcome(part.name, LEFT_OUT, "no time was left")
            else:
                print(f"{part.name}: at most {seconds / 60:.0f} minutes", flush=True)  # noqa: T201
                outcome = run_part(part, seconds, folder / f"{part.name}.txt")
            outcomes[part.name] = outcome
            kept.write_text(json.dumps([*{**before, **outcomes}.values()]))
            print(outcome.line, flush=True)  # noqa: T201
            if outcome.word == FAILED:
                log = (folder / f"{part.name}.txt").read_text(errors="replace")
                print(*log.splitlines()[-LAST:], sep="\n")  # noqa: T201
    finally:
        summary = [(outcomes.get(part.name) or Outcome(part.name, "not run")).line for part in PARTS]
        (folder / "summary.txt").write_text("\n".join([f"commit {folder.name}", *summary, ""]))
        print(f"the summary is in {(folder / 'summary.txt').relative_to(ROOT)}")  # noqa: T201
    return list(outcomes.values())
