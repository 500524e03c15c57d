"""The explorer as files: the page, Pyodide, our sources as one archive, and what is computed beforehand. Any file server can serve them."""

from __future__ import annotations

import json
import shutil
import zipfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.counterexamples.browser import pyodide
from fencepost.counterexamples.browser.book import Book
from fencepost.counterexamples.browser.links import Link
from fencepost.counterexamples.browser.session import described
from fencepost.counterexamples.browser.setting import set_up
from fencepost.counterexamples.browser.stories import stories
from fencepost.counterexamples.browser.view import mark_of
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.explorers.program.removal import guards
from fencepost.invariants.protocols import PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.invariants.protocols import Protocol

STATIC = Path(__file__).parent / "static"
ARCHIVED = "fencepost.zip"
MODULES = {
    "model": None,
    "invariants": None,
    "counterexamples": (
        *("__init__", "folding", "history", "lines", "reader", "states", "trace", "values", "violating_binding"),
        *("render/__init__", "render/markup", "render/parties", "render/pictures"),
    ),
    "counterexamples.browser": ("__init__", "links", "opened", "refusals", "session", "setting", "view"),
    "explorers": ("__init__", "running/__init__", "running/files"),
    "explorers.program": None,
}
"""What the browser loads, by package: all of it, or these modules."""
BEGINNING = (1980, 1, 1, 0, 0, 0)
"""The time of every file in the archive: the same sources give the same bytes."""


def write(folder: Path, site: dict[str, Any] | None = None) -> None:
    """Write the complete explorer into a folder; raise UsageError if Pyodide cannot be had.

    `site` says where the first page and those of protocols and properties are, seen from here, where the explorer is part of a site.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pyodide.copy(folder / "pyodide")
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
    """Write the sources that the browser loads as one archive."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for package, modules in MODULES.items():
            root = _folder(package)
            files = sorted(root.rglob("*.py")) if modules is None else [root / f"{name}.py" for name in modules]
            for source in files:
                name = f"fencepost/{package.replace('.', '/')}/{source.relative_to(root).as_posix()}"
                made.writestr(zipfile.ZipInfo(name, BEGINNING), source.read_bytes(), zipfile.ZIP_DEFLATED)


def first(name: str) -> dict[str, Any]:
    """Return a protocol's first states at its default constants, and where their steps lead: answered before the engine is there."""
    setting = set_up(Link(name))
    book = Book(setting)
    book.history(setting.initial(), ())
    return book.data() | {"starts": setting.starts()}


def _protocol(found: Protocol) -> dict[str, Any]:
    """Return what can be chosen of a protocol."""
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
    """Copy every archived trace, and yield what the page lists of it."""
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
