"""Hostile input in one process: invalid and edited files, and Fencepost's reaction. `tox -e fuzz` runs it for long.

Each input is a file of ours with edits, or a text in some known format. It must be accepted or refused with one
message: a traceback, more than five seconds, more than a gigabyte, or a file outside the folder is a failure.
"""

import argparse
import contextlib
import errno
import hashlib
import io
import json
import logging
import os
import random
import re
import resource
import shutil
import socket
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fencepost.api.asking.constants import parse_setting
from fencepost.api.asking.targets import find_protocol
from fencepost.counterexamples.browser.links import Link
from fencepost.counterexamples.browser.serving import HOST, Handler, Server
from fencepost.counterexamples.browser.session import Session, described
from fencepost.counterexamples.lines import Lines
from fencepost.counterexamples.reader import read_lines
from fencepost.counterexamples.replay import replay, replay_text
from fencepost.explorers.native.llvm import libraries
from fencepost.explorers.running import sealed
from fencepost.explorers.running.sealed import BrokenSealError, parse_object, unseal
from fencepost.explorers.search import search
from fencepost.explorers.spark import sweep as sweeping
from fencepost.explorers.symbolic import cache
from fencepost.explorers.verdict import Options
from fencepost.invariants.figures.store import load, save
from fencepost.kafka.audit.reading import read
from fencepost.kafka.formatting import when
from fencepost.model.language.errors import FencepostError

from tests.helpers.audits import followed, table
from tests.helpers.places import ROOT
from tests.machines import grid

LONGEST, MOST = 5.0, 1 << 30
"""Limits of an input, in seconds and bytes."""
WORDS = [
    "", "0", "-1", "NONE", "1e9", "0x10", "1_000", "+1", "²", "\u0663", "9" * 400, "-" + "9" * 400, "9" * 5000,
    "[" * 3000, "{" * 3000, "\x00", "\x1b[31m", "\u2028", "\ud7ff", "\r", "loop:", "=", "==", "----", "/etc/passwd",
    "../../x", "$(id)", "null", "NaN", "1e999", "true", '"', "\\", "cos\nsystem\n(S'id'\ntR.", "\x80\x04N.",
    "x" * 50_000,
]  # fmt: skip


def edited(draw: random.Random, content: bytes) -> bytes:
    """Return a file with a few edits: bits flipped; parts removed, doubled, moved, or replaced by a word."""
    made = bytearray(content)
    for _ in range(draw.choice((1, 1, 1, 2, 3, 8))):
        size = len(made)
        at = draw.randrange(size + 1)
        upto = min(size, at + draw.choice((0, 1, 4, 16, 64, size)))
        what = draw.randrange(6)
        if what == 0 and at < size:
            made[at] ^= 1 << draw.randrange(8)
        elif what == 1:
            del made[at:upto]
        elif what == 2:
            made[at:at] = made[at:upto][:100_000]
        elif what == 3:
            word = draw.choice(WORDS)
            made[at:upto] = os.fsencode(word) if draw.random() < 0.5 else word.encode("utf-8", "replace")
        elif what == 4:
            made = made[:at]
        else:
            lines = made.split(b"\n")
            lines.insert(draw.randrange(len(lines) + 1), draw.choice(lines))
            made = bytearray(b"\n".join(lines))
    return bytes(made)


ODD: list[Any] = [
    *(None, True, -1, 0, 1 << 31, 1 << 62, 1 << 70, -1 << 70, 1.5, "", "x", "\ud800", "\x00", "../../x", "9" * 50),
    *([], {}, [None], [[1]], {"a": 1}, [0] * 1000, [-1], list(range(1000))),
]


def otherwise(draw: random.Random, data: Any) -> Any:
    """Return JSON with one part removed, added, or changed."""
    made = json.loads(json.dumps(data))
    at, key = draw.choice(list(places(made)))
    if draw.random() < 0.2:
        del at[key]
    elif draw.random() < 0.1 and isinstance(at, dict):
        at["more"] = draw.choice(ODD)
    else:
        at[key] = draw.choice(ODD)
    return made


def places(data: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(data, dict | list):
        for key in data if isinstance(data, dict) else range(len(data)):
            yield data, key
            yield from places(data[key])


BATCH = "baseOffset: 0 lastOffset: 9 count: 10 partitionLeaderEpoch: 1 isControl: false isvalid: true\n"
PARTITION = {
    "partitionId": 0, "topicId": "id", "replicas": [1, 2], "isr": [1, 2], "leader": 1, "leaderEpoch": 0,
    "partitionEpoch": 0,
}  # fmt: skip
RECORDS = (
    ("FEATURE_LEVEL_RECORD", {"name": "metadata.version", "featureLevel": 7}),
    ("REGISTER_BROKER_RECORD", {"brokerId": 1, "brokerEpoch": 1, "fenced": True, "inControlledShutdown": False}),
    ("BROKER_REGISTRATION_CHANGE_RECORD", {"brokerId": 1, "brokerEpoch": 1, "fenced": -1, "inControlledShutdown": 1}),
    ("TOPIC_RECORD", {"name": "t", "topicId": "id"}),
    ("CONFIG_RECORD", {"resourceType": 2, "resourceName": "t", "name": "min.insync.replicas", "value": "2"}),
    ("PARTITION_RECORD", PARTITION),
    ("PARTITION_CHANGE_RECORD", {"partitionId": 0, "topicId": "id", "isr": [2], "leader": 2, "lastKnownElr": [1]}),
    ("FENCE_BROKER_RECORD", {"id": 1, "epoch": 1}),
    ("CLEAR_ELR_RECORD", {"topicName": "t"}),
    ("REMOVE_TOPIC_RECORD", {"topicId": "id"}),
)
DUMP = BATCH + "".join(
    f"| offset: {offset} CreateTime: 1 keySize: -1 payload: {json.dumps({'type': kind, 'version': 0, 'data': data})}\n"
    for offset, (kind, data) in enumerate(RECORDS)
)


class Hostile:
    """Every reader of files, with a file for each."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.draw = folder, random.Random(seed)  # noqa: S311 (no secret)
        archive = sorted((ROOT / "counterexamples/archive").glob("*.trace"))
        self.traces = [path.read_bytes() for path in archive if path.stat().st_size < 2_500]
        self.machine = grid.MACHINE
        self.constants = self.machine.set_constants({"width": 6, "starts": 2})
        self.kept = folder / "kept"
        self.ask(Options(workers=1, max_states=8, checkpoint=str(self.kept)))
        self.protocol = find_protocol("kip320")
        self.readers: dict[str, Callable[[], Any]] = {
            "trace": self.trace, "trace with states": self.trace_file, "checkpoint": self.checkpoint,
            "object of the cache": self.cached_object, "proof of the cache": self.proof, "constants": self.settings,
            "sealed rows": self.rows, "link": self.link, "request": self.request,
        }  # fmt: skip
        self.links = [Link("kip320", "", {"replicas": "2"}, (), "", ()).text]
        for text in self.traces:
            with contextlib.suppress(FencepostError):
                self.links.append(described(read_lines(Lines("trace", text.decode())).trace)["link"])
        (folder / "page").mkdir()
        (folder / "page/index.html").write_text("page")
        self.server = Server((HOST, 0), partial(Handler, directory=str(folder / "page")))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        if find_spec("pyarrow"):
            self.readers |= {"dump of a log": self.dump, "audit": self.audit, "sweep": self.sweep}
            self.dumped = DUMP.encode()
            (folder / "dump.txt").write_bytes(self.dumped)
            read([folder / "dump.txt"], folder / "audit", None, None, resume=False)
            question = {"seed": 0, "weights": {}}
            self.swept = {"format": sweeping.FORMAT, "question": question, "models": {"{}": {"model": "x"}}}

    def ask(self, options: Options) -> None:
        search(self.machine, self.constants, grid.PROPERTIES, options)

    def edited(self, content: bytes) -> bytes:
        return edited(self.draw, content)

    def text(self, content: bytes) -> str:
        return self.edited(content).decode("utf-8", "replace")

    def copied(self, kept: Path) -> Path:
        copy = self.folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(kept, copy)
        return copy

    def trace(self) -> None:
        replay_text(self.text(self.draw.choice(self.traces)))

    def trace_file(self) -> None:
        path = self.folder / "a.trace"
        path.write_bytes(self.edited(self.draw.choice(self.traces)))
        replay(str(path))

    def checkpoint(self) -> None:
        copy = self.copied(self.kept)
        files = sorted(path for path in copy.rglob("*") if path.is_file())
        path = copy / "manifest.json" if self.draw.random() < 0.5 else self.draw.choice(files)
        path.write_bytes(self.edited(path.read_bytes()))
        self.ask(Options(workers=1, checkpoint=str(copy), resume=True))

    def link(self) -> None:
        """Open a link in the explorer, and import a trace."""
        Session().answer(json.dumps({"ask": "open", "link": self.text(self.draw.choice(self.links).encode())}))

    def request(self) -> None:
        whole = b"GET /index.html HTTP/1.1\r\nHost: 127.0.0.1\r\nRange: bytes=0-9\r\n\r\n"
        asked = self.edited(whole if self.draw.random() < 0.5 else whole.replace(b"index.html", b"../a.trace"))
        said = io.StringIO()
        with (
            contextlib.redirect_stderr(said),
            socket.create_connection((HOST, self.server.server_port), LONGEST) as asking,
            contextlib.suppress(ConnectionError),
        ):
            asking.sendall(asked)
            ended(asking)
            assert b"protocol:" not in asking.makefile("rb").read(), "a file outside of the page was sent"
        assert not said.getvalue(), said.getvalue()

    def dump(self) -> None:
        """Read the output of Kafka's tool for a metadata log, and follow its partitions."""
        path, into = self.folder / "dump.txt", self.folder / "read"
        shutil.rmtree(into, ignore_errors=True)
        path.write_bytes(self.edited(self.dumped) if self.draw.random() < 0.5 else self.records())
        found = read([path], into, None, None, resume=False)
        rows = table(found)
        for row in followed(found, rows) if rows else ():
            when(row.time)

    def records(self) -> bytes:
        lines = DUMP.splitlines(keepends=True)
        at = self.draw.randrange(1, len(lines))
        start, _, payload = lines[at].partition("payload: ")
        lines[at] = f"{start}payload: {json.dumps(otherwise(self.draw, json.loads(payload)))}\n"
        return "".join(lines).encode()

    def audit(self) -> None:
        """Resume an audit with an edited manifest."""
        copy = self.copied(self.folder / "audit")
        manifest = copy / "records.json"
        manifest.write_bytes(self.edited(manifest.read_bytes()))
        (self.folder / "dump.txt").write_bytes(self.dumped)
        read([self.folder / "dump.txt"], copy, None, None, resume=True)

    def sweep(self) -> None:
        folder = self.folder / "sweep"
        folder.mkdir(exist_ok=True)
        (folder / sweeping.MANIFEST).write_bytes(self.edited(sealed.seal(self.swept)))
        sweeping._manifest(str(folder))

    def cached_object(self) -> None:
        made = libraries.Object({"f": (("Checks",), "I64")}, b"\x7fELF" + bytes(200))
        folder = self.folder / "objects"
        libraries.write(folder, "ab" * 32, made)
        path = libraries.file_of(folder, "ab" * 32)
        whole = path.read_bytes()
        path.write_bytes(changed := self.edited(whole))
        found = libraries.read(folder, "ab" * 32)
        assert found is None or changed == whole or found == made, "a damaged object was believed"

    def proof(self) -> None:
        """Read a proof of the cache, which is unpickled only if it is whole."""
        path = self.folder / "a.proof"
        path.write_bytes(self.edited(hashlib.sha256(b"\x80\x04N.").digest() + b"\x80\x04N."))
        with contextlib.redirect_stderr(io.StringIO()):
            assert cache._kept(path) is None, "a damaged proof was believed"

    def settings(self) -> None:
        names = [*self.protocol.machine.constants.declared(), *WORDS]
        text = self.text(f"{self.draw.choice(names)}={self.draw.choice(WORDS)}".encode())
        parse_setting(self.protocol.machine, "--set", text)

    def rows(self) -> None:
        """Read finished rows, manifests, sweeps: JSON with a checksum."""
        text = json.dumps({"format": 1, "rows": [1, 2.5, None, {"a": "b"}], "checksum": "0" * 64}).encode()
        with contextlib.suppress(BrokenSealError):
            unseal(parse_object(self.edited(text)))


def ended(asking: socket.socket) -> None:
    """Close the connection to a server that may have refused and gone already."""
    try:
        asking.shutdown(socket.SHUT_WR)
    except OSError as error:
        if error.errno != errno.ENOTCONN:
            raise


def peak() -> int:
    """Return the peak memory of this process, from VmHWM; Linux passes `ru_maxrss` on from the parent process."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return 1024 * (int(found[1]) if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def run(seed: int, count: int, seconds: float, folder: Path) -> dict[str, Any]:
    hostile, began, seen = Hostile(folder, seed), time.monotonic(), Counter[str]()
    failures: list[str] = []
    longest, names = 0.0, list(hostile.readers)
    around = set(folder.parent.iterdir())
    for number in range(count):
        if time.monotonic() - began > seconds:
            break
        name, start = names[number % len(names)], time.monotonic()
        try:
            hostile.readers[name]()
        except FencepostError:
            seen["refused"] += 1
        except Exception:  # noqa: BLE001 (what is looked for)
            failures.append(f"{name} {seed} {number}: {traceback.format_exc()[-700:]}")
        seen[name] += 1
        longest = max(longest, time.monotonic() - start)
    memory, outside = peak(), set(folder.parent.iterdir()) - around
    if longest > LONGEST or memory > MOST or outside:
        failures.append(f"{longest:.1f} s, {memory:,} bytes, files outside: {outside}")
    sizes = {"longest seconds": round(longest, 2), "megabytes": memory >> 20}
    return {"inputs": sum(seen[name] for name in names), **seen, **sizes, "failures": failures}


def main() -> int:
    """Run; return 1 if something failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak.hostile", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--write", action="store_true", help="write what was seen to invariants/figures/trust.json")
    given = parser.parse_args()
    logging.getLogger("fencepost").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        inside = Path(folder) / "inside"
        inside.mkdir()
        found = run(given.seed, given.count, given.seconds, inside)
    for text in found["failures"]:
        print(text, file=sys.stderr)  # noqa: T201 (what it is for)
    found["failures"] = len(found["failures"])
    print(json.dumps(found))  # noqa: T201 (what it is for)
    if given.write:
        others = [run for run in load("trust")["hostile inputs"] if run["seed"] != given.seed]
        save("trust", {**load("trust"), "hostile inputs": [*others, {"seed": given.seed, **found}]})
    return 1 if found["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
