"""The files of the explorer: the page, Fencepost's sources as one archive, precomputed states, and Pyodide. Pyodide, a
Python interpreter for browsers, is installed from npm, verified, and cached by version.
"""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from fencepost.counterexamples.browser.book import Book, stories
from fencepost.counterexamples.browser.links import Link
from fencepost.counterexamples.browser.session import described
from fencepost.counterexamples.browser.setting import set_up
from fencepost.counterexamples.browser.view import mark_of
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.explorers.program.removal import guards
from fencepost.explorers.running.cache import cache_folder
from fencepost.explorers.running.files import write_file
from fencepost.invariants.protocols import PROTOCOLS, Protocol
from fencepost.model.language.errors import UsageError

VERSION = "314.0.7"
FILES = {
    "pyodide.mjs": "6f1d60f7bf529beb300f0f47983c921d3982363640ba20af0e38efdddbc66109",
    "pyodide.asm.mjs": "f7cdc8ece80678ceb712f8e65ebe6d3a83203a180c399865f49612a051693635",
    "pyodide.asm.wasm": "cc36e3cab04fdfc9a63ff13eb52eae2b911bf46c025cc7b281f394bd3de1d5e6",
    "python_stdlib.zip": "fa1957e5777068fc4f7437f96d860ae2fbe9c19732ba06c84e004ec16dd7dd7a",
    "pyodide-lock.json": "5dc2fc119108bc148c7457dc86e7675b5c87e1cafd420b9c34c1eaef7b36c010",
}
NAMED = "FENCEPOST_PYODIDE"
WAIT = 300


def copy_pyodide(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    source = find_pyodide()
    for name in FILES:
        shutil.copyfile(source / name, folder / name)


def find_pyodide() -> Path:
    named = os.environ.get(NAMED)
    if named:
        _require_pyodide(Path(named), f"set {NAMED} to a folder with the npm package pyodide {VERSION}, or unset it")
        return Path(named)
    kept = cache_folder() / f"pyodide-{VERSION}"
    if not all(_is_right(kept / name) for name in FILES):
        _install(kept)
    return kept


def _install(kept: Path) -> None:
    otherwise = (
        f"Install Node.js with npm and access to its registry, or name a folder with the package: {NAMED}=FOLDER."
    )
    npm = shutil.which("npm")
    if npm is None:
        raise UsageError(
            f"the explorer needs Pyodide {VERSION}, which is not in the cache, and npm is not installed. {otherwise}"
        )
    with tempfile.TemporaryDirectory() as aside:
        options = "--no-save --no-audit --no-fund --ignore-scripts --prefix"
        command = [npm, "install", *options.split(), aside, f"pyodide@{VERSION}"]
        try:
            done = subprocess.run(  # noqa: S603 (our own command)
                command, capture_output=True, text=True, check=False, timeout=WAIT
            )
            failed = ""
            if done.returncode:
                failed = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "no message")
        except (OSError, subprocess.TimeoutExpired) as error:
            failed = str(error)
        if failed:
            raise UsageError(
                f"the explorer needs Pyodide {VERSION}, but npm could not install it: {failed}. {otherwise}"
            )
        source = Path(aside) / "node_modules" / "pyodide"
        _require_pyodide(source, "npm's registry returned a different package for this version: please report this")
        kept.mkdir(mode=0o700, exist_ok=True)
        for name in FILES:
            write_file(kept / name, (source / name).read_bytes())


def _require_pyodide(folder: Path, otherwise: str) -> None:
    wrong = next((name for name in FILES if not _is_right(folder / name)), None)
    if wrong:
        raise UsageError(f"{folder / wrong} does not belong to Pyodide {VERSION}: {otherwise}.")


def _is_right(file: Path) -> bool:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest() == FILES[file.name]
    except OSError:
        return False


STATIC = Path(__file__).parent / "static"
ARCHIVED = "fencepost.zip"
MODULES = {
    "model": None,
    "invariants": None,
    "counterexamples": (
        *("__init__", "folding", "history", "lines", "reader", "states", "trace", "values", "violating_binding"),
        *("render/__init__", "render/parties", "render/pictures"),
    ),
    "counterexamples.browser": ("__init__", "links", "refusals", "session", "setting", "view"),
    "explorers": ("__init__", "running/__init__", "running/files"),
    "explorers.program": None,
}
"""Modules that the browser loads, by package; None means all modules."""
BEGINNING = (1980, 1, 1, 0, 0, 0)
"""The same modification time for every file in the archive, so that equal sources produce equal bytes."""


def write(folder: Path, site: dict[str, Any] | None = None) -> None:
    """Write the complete explorer to a folder; raise UsageError if Pyodide is not available. If the explorer is part of
    a site, `site` contains the relative addresses of the home page, protocols and properties.
    """
    folder.mkdir(parents=True, exist_ok=True)
    copy_pyodide(folder / "pyodide")
    for file in sorted(STATIC.iterdir()):
        shutil.copyfile(file, folder / file.name)
    shutil.copyfile(_folder("counterexamples") / "render" / "state.css", folder / "state.css")
    archive(folder / ARCHIVED)
    told = [story.page() for story in stories()]
    for item in told:
        _write(folder / "stories" / f"{item['name']}.json", item)
    catalog = {
        "site": site,
        "protocols": list(map(_protocol, PROTOCOLS.values())),
        "traces": list(_traces(folder)),
        "stories": [{"name": item["name"], "title": item["title"]} for item in told],
    }
    _write(folder / "catalog.json", catalog)
    for name in PROTOCOLS:
        _write(folder / "first" / f"{name}.json", first(name))


def archive(file: Path) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for package, modules in MODULES.items():
            root = _folder(package)
            files = sorted(root.rglob("*.py")) if modules is None else [root / f"{name}.py" for name in modules]
            for source in files:
                name = f"fencepost/{package.replace('.', '/')}/{source.relative_to(root).as_posix()}"
                made.writestr(zipfile.ZipInfo(name, BEGINNING), source.read_bytes(), zipfile.ZIP_DEFLATED)


def first(name: str) -> dict[str, Any]:
    """Return a protocol's initial states under its default constants, to be shown until the engine is loaded."""
    setting = set_up(Link(name))
    book = Book(setting)
    book.history(setting.initial(), ())
    return book.data() | {"starts": setting.starts()}


def _protocol(found: Protocol) -> dict[str, Any]:
    machine = found.machine
    declared = machine.constants.declared()
    return {
        "name": found.name,
        "sentence": machine.sentence,
        "versions": [
            {
                "name": version.name,
                "sentence": version.sentence,
                "values": {key: str(declared[key].show(value)).lower() for key, value in version.values.items()},
            }
            for version in machine.versions
        ],
        "constants": [
            {
                "name": key,
                "meaning": item.meaning,
                "default": str(item.show(item.default)).lower(),
                "words": ["true", "false"] if item.kind is bool else list(item.spellings()),
                "low": item.low,
                "high": item.high,
            }
            for key, item in declared.items()
        ],
        "guards": [
            {"name": item.name, "condition": item.condition, "sentence": item.sentence} for item in guards(machine)
        ],
    }


def _traces(folder: Path) -> Iterator[dict[str, Any]]:
    (folder / "traces").mkdir(exist_ok=True)
    for file in sorted(ARCHIVE.glob("*.trace")):
        shutil.copyfile(file, folder / "traces" / file.name)
        trace = read(file).trace
        told = described(trace)
        del told["link"]
        yield {
            "name": file.stem,
            "protocol": trace.protocol.name,
            "steps": len(trace.steps),
            **told,
            "mark": mark_of(trace.constants),
        }


def _folder(package: str) -> Path:
    return Path(import_module(f"fencepost.{package}").__path__[0])


def _write(file: Path, data: object) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(data, separators=(",", ":")), encoding="utf-8")
