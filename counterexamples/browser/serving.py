"""A local server for the explorer. It answers only requests from this machine, and caches the page."""

import hashlib
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any

from fencepost.counterexamples.browser import links, page
from fencepost.counterexamples.browser.session import described
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.explorers.running.cache import cache_folder
from fencepost.explorers.running.files import lock_folder
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language.errors import UsageError, nearest

HOST = "127.0.0.1"
PREFIX = "explorer-"
LOCAL = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?", re.ASCII | re.IGNORECASE)
"""Host headers that refer to this machine, directly or through a tunnel."""


class Handler(SimpleHTTPRequestHandler):
    """A handler that serves files with the types that browsers require for modules and WebAssembly, without logging."""

    extensions_map = SimpleHTTPRequestHandler.extensions_map | {
        ".mjs": "text/javascript",
        ".js": "text/javascript",
        ".wasm": "application/wasm",
    }

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (as its base has it)
        """Suppress the log of requests."""

    def send_head(self) -> Any:
        """Start the response. Invalid file names are reported as not found. Requests to other host names are rejected,
        because a foreign site could make its name resolve to this machine (DNS rebinding).
        """
        if not all(LOCAL.fullmatch(asked) for asked in self.headers.get_all("Host", [])):
            self.send_error(HTTPStatus.FORBIDDEN, explain=f"The explorer answers only requests to {HOST} and localhost")
            return None
        try:
            return super().send_head()
        except ValueError:
            self.send_error(HTTPStatus.NOT_FOUND)
            return None

    def list_directory(self, path: Any) -> None:  # noqa: ARG002 (as its base has it)
        self.send_error(HTTPStatus.NOT_FOUND)


class Server(ThreadingHTTPServer):
    """A multithreaded file server that ignores browser disconnects."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


@contextmanager
def server(folder: Path, port: int = 0) -> Iterator[ThreadingHTTPServer]:
    try:
        made = Server((HOST, port), partial(Handler, directory=str(folder)))
    except OSError as error:
        raise UsageError(
            f"port {port} of {HOST} cannot be used: {error.strerror}. Choose another `port=`, or omit it to use "
            "any free port."
        ) from None
    with made:
        yield made


def address(what: str | None) -> str:
    if what is None:
        return ""
    if what in PROTOCOLS:
        return links.link(what)
    name = Path(what).name.removesuffix(".trace")
    file = Path(what)
    if file.is_file():
        archived = ARCHIVE / file.name
        if archived.is_file() and archived.read_bytes() == file.read_bytes():
            return links.link_of_trace(name)
        if file.suffix == ".py":
            raise UsageError(
                f"{what} is a Python file, but the explorer supports only the protocols of `fencepost list`. For your "
                f"own model, `fencepost check {what}` finds a history, and `fencepost show` makes a page of its trace."
            )
        return str(described(read(file).trace)["link"])
    if (ARCHIVE / f"{name}.trace").is_file() and what == Path(what).name:
        return links.link_of_trace(name)
    known = [*PROTOCOLS, *(item.stem for item in ARCHIVE.glob("*.trace"))]
    raise UsageError(
        f"there is no protocol, archived trace or file {what!r}.{nearest(what, known)} Choose a protocol of "
        "`fencepost list`, or the path of a trace file."
    )


@contextmanager
def prepared() -> Iterator[Path]:
    """Yield the folder with the page, rebuilt if its sources changed. No process removes a folder in use."""
    kept = cache_folder()
    folder = kept / f"{PREFIX}{_digest()}"
    while (held := lock_folder(folder, shared=True)) is None:
        _make(folder)
    with held:
        yield folder


def _make(folder: Path) -> None:
    """Write the page to a temporary folder, and rename that folder unless the target exists. Remove old folders."""
    aside = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        page.write(aside)
        for old in folder.parent.glob(f"{PREFIX}*"):
            held = lock_folder(old, patience=0)
            if held is not None:
                with held:
                    shutil.rmtree(old, ignore_errors=True)
        if not folder.is_dir():
            aside.replace(folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _digest() -> str:
    found = hashlib.sha256()
    for package in page.MODULES:
        for root in import_module(f"fencepost.{package}").__path__:
            for file in sorted(Path(root).rglob("*")):
                if file.is_file() and file.suffix != ".pyc":
                    found.update(f"{file.relative_to(root)}".encode() + b"\0" + file.read_bytes())
    return found.hexdigest()[:16]
