"""Pyodide, the Python of browsers: from npm, checked, and kept in the cache by its version."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from fencepost.explorers.running.cache import cache_folder
from fencepost.explorers.running.files import write_file
from fencepost.model.language.errors import UsageError

VERSION = "314.0.7"
FILES = {
    "pyodide.mjs": "6f1d60f7bf529beb300f0f47983c921d3982363640ba20af0e38efdddbc66109",
    "pyodide.asm.mjs": "f7cdc8ece80678ceb712f8e65ebe6d3a83203a180c399865f49612a051693635",
    "pyodide.asm.wasm": "cc36e3cab04fdfc9a63ff13eb52eae2b911bf46c025cc7b281f394bd3de1d5e6",
    "python_stdlib.zip": "fa1957e5777068fc4f7437f96d860ae2fbe9c19732ba06c84e004ec16dd7dd7a",
    "pyodide-lock.json": "5dc2fc119108bc148c7457dc86e7675b5c87e1cafd420b9c34c1eaef7b36c010",
}
"""What a browser needs of the package, with its SHA-256."""
NAMED = "FENCEPOST_PYODIDE"
WAIT = 300


def copy(folder: Path) -> None:
    """Copy Pyodide into a folder; raise UsageError in one sentence if it cannot be had."""
    folder.mkdir(parents=True, exist_ok=True)
    source = located()
    for name in FILES:
        shutil.copyfile(source / name, folder / name)


def located() -> Path:
    """Return a folder with these files: what FENCEPOST_PYODIDE names, what was kept, or what npm installs."""
    named = os.environ.get(NAMED)
    if named:
        _look(Path(named), f"{NAMED} names another folder with the npm package pyodide {VERSION}, or none")
        return Path(named)
    kept = cache_folder() / f"pyodide-{VERSION}"
    if not all(_is_right(kept / name) for name in FILES):
        _install(kept)
    return kept


def _install(kept: Path) -> None:
    """Install the package by npm aside, and keep what is needed of it."""
    otherwise = (
        f"Install Node.js with npm and a way to its registry, or name a folder with the package: {NAMED}=FOLDER."
    )
    npm = shutil.which("npm")
    if npm is None:
        raise UsageError(
            f"the explorer needs Pyodide {VERSION}, which is not in the cache, and npm is missing. {otherwise}"
        )
    with tempfile.TemporaryDirectory() as aside:
        command = [
            npm,
            "install",
            "--no-save",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--prefix",
            aside,
            f"pyodide@{VERSION}",
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WAIT)  # noqa: S603 (our own command)
            failed = (
                next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "no message")
                if done.returncode
                else ""
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            failed = str(error)
        if failed:
            raise UsageError(
                f"the explorer needs Pyodide {VERSION}, and npm could not install it: {failed}. {otherwise}"
            )
        source = Path(aside) / "node_modules" / "pyodide"
        _look(source, "npm's registry gives another package under this version: report it")
        kept.mkdir(mode=0o700, exist_ok=True)
        for name in FILES:
            write_file(kept / name, (source / name).read_bytes())


def _look(folder: Path, otherwise: str) -> None:
    wrong = next((name for name in FILES if not _is_right(folder / name)), None)
    if wrong:
        raise UsageError(f"{folder / wrong} is not that of Pyodide {VERSION}: {otherwise}.")


def _is_right(file: Path) -> bool:
    """Say whether a file is there, whole and the one that is meant."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest() == FILES[file.name]
    except OSError:
        return False
