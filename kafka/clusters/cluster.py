"""A cluster on this machine: controllers and brokers, one process each, on 127.0.0.1 and in one directory. Each
process has its own process group, and all processes end when Fencepost ends.
"""

import base64
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from fencepost.kafka.clusters.kit import Kit
from fencepost.kafka.clusters.proxy import Proxy
from fencepost.kafka.driver.releases import run
from fencepost.model.language.errors import UsageError


class Process:
    """A process in its own process group, so that Ctrl-C reaches only Fencepost, which can end the group. The process's
    standard input is a pipe from Fencepost. If Fencepost ends, even by SIGKILL, the pipe closes, and the process ends.
    """

    def __init__(self, command: Sequence[str], log: Path, *, answers: bool = False) -> None:
        with log.open("ab") as written:
            self._process = subprocess.Popen(  # noqa: S603 (our own command)
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if answers else written,
                stderr=written,
                start_new_session=True,
                env={**os.environ, "LC_ALL": "C.UTF-8"},
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    @property
    def status(self) -> int | None:
        return self._process.poll()

    @property
    def asked(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def answers(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def signal(self, number: signal.Signals) -> None:
        if self.running:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    def wait(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def close(self) -> None:
        self.signal(signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()


CONTROLLER = 100
CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
ADVERTISED = 50
"""Difference between a node's port and its advertised port, on which the proxy listens."""
BEYOND = 1 << 16
START_SECONDS = 90
FORMAT_SECONDS = 60
STARTED = "Kafka Server started"
PROPERTIES = """\
node.id={node}
process.roles={role}
controller.quorum.{quorum}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
listeners={name}://127.0.0.1:{port}
advertised.listeners={name}://127.0.0.1:{advertised}
log.dirs={data}
metadata.log.dir={metadata}
auto.create.topics.enable=false
"""


class ClusterError(UsageError):
    """Error for a node that did not start or has crashed."""


@dataclass(frozen=True)
class Shape:
    """A cluster's brokers and settings, and whether messages go through the proxy."""

    brokers: tuple[int, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    delays: bool = False
    elr: bool | None = None
    """Whether eligible leader replicas are on; None uses the release's default."""
    disks: tuple[int, ...] = ()
    """Brokers with a second disk, on which new logs are created first."""
    voters: tuple[int, ...] = ()
    """Controllers whose quorum can change (KIP-853), in place of the one controller of a static quorum."""
    joining: tuple[int, ...] = ()
    """Controllers without a vote, which are not started with the others."""


class Log:
    def __init__(self, path: Path) -> None:
        self._path, self._since = path, path.stat().st_size if path.exists() else 0

    def lines(self, pattern: str) -> list[str]:
        with self._path.open("rb") as file:
            file.seek(self._since)
            text = file.read().decode("utf-8", "replace")
        return [line for line in text.splitlines() if re.search(pattern, line)]


class Cluster(AbstractContextManager["Cluster"]):
    def __init__(self, kit: Kit, shape: Shape, folder: Path, base: int, keep: Path | None = None) -> None:
        self.kit, self.shape, self.folder, self.base, self._keep = kit, shape, folder, base, keep
        self.proxy = Proxy()
        self._running: dict[int, Process] = {}
        self._places = {node: place for place, node in enumerate((*self.controllers, *shape.brokers))}
        self._disks = {node: self._folders(node) for node in self._places}

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def controllers(self) -> tuple[int, ...]:
        return (*(self.shape.voters or (CONTROLLER,)), *self.shape.joining)

    @property
    def servers(self) -> str:
        """The addresses for clients: those of the brokers or, if only controllers run, those of the controllers."""
        return ",".join(f"127.0.0.1:{self.port(node)}" for node in self.shape.brokers or self.controllers)

    def begin(self) -> None:
        self._look_at_ports()
        if self.shape.delays:
            for node in self._places:
                self.proxy.listen(node, self.port(node), self._own_port(node))
        for node in self._places:
            self._write(node)
        first = [node for node in self._places if node not in self.shape.joining]
        self._format(*first)
        if self.shape.joining:
            self._format(*self.shape.joining)
        logs = {node: self.log(node) for node in first}
        for node in first:
            self.start(node)
        for node, log in logs.items():
            self.wait_started(node, log)

    def start(self, node: int) -> Log:
        log = self.log(node)
        if node in self._running:
            self._running[node].close()
            self._keep_disks(node, "before-start-")
        self._running[node] = Process(
            self.kit.java("fencepost.clusters.Node", str(self._file(node))), self._log_file(node)
        )
        return log

    def wait_started(self, node: int, log: Log) -> None:
        end = time.monotonic() + START_SECONDS
        while not log.lines(STARTED):
            if not self._running[node].running or time.monotonic() > end:
                why = (
                    f"did not start within {START_SECONDS} s" if self._running[node].running else "ended while starting"
                )
                told = "\n".join(log.lines(r"ERROR|FATAL|Exception")[:6])
                raise ClusterError(f"node {node} of Kafka {self.kit.version} {why}; its log ends:\n{told or 'nothing'}")
            time.sleep(0.05)

    def signal(self, node: int, number: signal.Signals) -> None:
        self._running[node].signal(number)

    def wait_stopped(self, node: int, seconds: float) -> bool:
        return node not in self._running or self._running[node].wait(seconds)

    def running(self, node: int) -> bool:
        return node in self._running and self._running[node].running

    def log(self, node: int) -> Log:
        return Log(self._log_file(node))

    def bytes_of(self, node: int, topic: str) -> int | None:
        for folder in (disk / f"{topic}-0" for disk in self._disks[node]):
            with suppress(FileNotFoundError):
                if folder.is_dir():
                    return sum(path.stat().st_size for path in folder.glob("*.log"))
        return None

    def checkpoint(self, node: int, name: str) -> list[str]:
        """Return a checkpoint's entries, which follow two lines: the format's version and the number of entries."""
        return [line for disk in self._disks[node] for line in (disk / name).read_text("utf-8").splitlines()[2:]]

    def fail_disk(self, node: int, *, stays: bool = False) -> None:
        """Delete the disk that gets a node's new logs first. If `stays` is set, its path remains, but is unreadable."""
        shutil.rmtree(self._disks[node][0], ignore_errors=True)
        if stays:
            self._disks[node][0].touch()

    def replace_disk(self, node: int) -> None:
        self._disks[node][0].mkdir()
        self._format(node)

    def take_disk_out(self, node: int) -> None:
        self._disks[node] = self._disks[node][1:]
        self._write(node)

    def put_disk_back(self, node: int) -> None:
        self._disks[node] = self._folders(node)
        self._write(node)

    def obstruct(self, node: int, log: str) -> Path:
        """Create a directory with the name of a file that the recovery of a stopped node's log writes: the snapshot of
        the producers at the end of the log.
        """
        folder = self._disks[node][-1] / log
        obstacle = folder / f"{log_end(max(folder.glob('*.log')).read_bytes()):020d}.snapshot"
        obstacle.mkdir()
        return obstacle

    def close(self) -> None:
        for process in self._running.values():
            process.close()
        self.proxy.close()
        for node in self._places:
            self._keep_disks(node)

    def _keep_disks(self, node: int, mark: str = "") -> None:
        """Copy a node's disks to the output directory, except Kafka's index and lock files."""
        if self._keep is None:
            return
        for disk in filter(Path.is_dir, self._disks[node]):
            kept = self._keep / f"{mark}{disk.name}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(disk, kept, ignore=shutil.ignore_patterns("*index", ".lock"))

    def _look_at_ports(self) -> None:
        ports = [self._own_port(node) for node in self._places]
        ports += [self.port(node) for node in self._places] if self.shape.delays else []
        for port in ports:
            if port >= BEYOND:
                raise UsageError(
                    f"the cluster needs ports {min(ports)} to {max(ports)}, but {BEYOND - 1} is the last port."
                )
            try:
                socket.create_server(("127.0.0.1", port)).close()
            except OSError as error:
                raise UsageError(
                    f"port {port} of 127.0.0.1 is used by another program. The cluster needs ports {min(ports)} to "
                    f"{max(ports)}: set `port=` to the first port of a free range."
                ) from error

    def _format(self, *nodes: int) -> None:
        words = "" if self.shape.elr is None else f"--feature eligible.leader.replicas.version={int(self.shape.elr)}"
        if nodes == self.shape.joining:
            words = "--no-initial-controllers"
        elif self.shape.voters:
            ids = {node: base64.urlsafe_b64encode(node.to_bytes(16)).decode().rstrip("=") for node in self.shape.voters}
            named = (f"{node}@127.0.0.1:{self.port(node)}:{directory}" for node, directory in ids.items())
            words = f"--initial-controllers {','.join(named)}"
        command = self.kit.java(
            "fencepost.clusters.Format", CLUSTER_ID, words, *(str(self._file(node)) for node in nodes)
        )
        done = run(command, FORMAT_SECONDS, "kafka-storage format")
        if done.returncode != 0:
            raise ClusterError(
                f"the nodes' directories could not be formatted:\n{(done.stdout + done.stderr).strip()[-1500:]}"
            )

    def _write(self, node: int) -> None:
        controls = node in self.controllers
        servers = ",".join(f"127.0.0.1:{self.port(voter)}" for voter in self.shape.voters or (CONTROLLER,))
        quorum = f"bootstrap.servers={servers}" if self.shape.voters else f"voters={CONTROLLER}@{servers}"
        text = PROPERTIES.format(
            node=node,
            role="controller" if controls else "broker",
            quorum=quorum,
            name="CONTROLLER" if controls else "PLAINTEXT",
            port=self._own_port(node),
            advertised=self.port(node),
            data=",".join(map(str, self._disks[node])),
            metadata=self._disks[node][-1],
        )
        more = "".join(f"{name}={value}\n" for name, value in self.shape.settings.items())
        self._file(node).write_text(text + more, encoding="utf-8")

    def _folders(self, node: int) -> list[Path]:
        """Return a node's log directories, the one for metadata last. New logs go to the one with the fewest logs."""
        names = (f"disk-{node}", f"data-{node}") if node in self.shape.disks else (f"data-{node}",)
        return [self.folder / name for name in names]

    def _own_port(self, node: int) -> int:
        return self.base + self._places[node]

    def port(self, node: int) -> int:
        return self._own_port(node) + (ADVERTISED if self.shape.delays else 0)

    def directory(self, node: int) -> str:
        """Return the id of the directory that contains a node's metadata log."""
        return (self._disks[node][-1] / "meta.properties").read_text("utf-8").partition("directory.id=")[2].split()[0]

    def _file(self, node: int) -> Path:
        return self.folder / f"{node}.properties"

    def _log_file(self, node: int) -> Path:
        return self.folder / f"{node}.log"


BATCH_HEADER, LAST_OFFSET_DELTA = 61, 23
"""Size of a record batch without records, and the position of its lastOffsetDelta, in bytes (DefaultRecordBatch)."""


def log_end(segment: bytes) -> int:
    """Return the offset after the last complete batch of a segment."""
    end = at = 0
    while at + BATCH_HEADER <= len(segment):
        base, size = struct.unpack_from(">qi", segment, at)
        (delta,) = struct.unpack_from(">i", segment, at + LAST_OFFSET_DELTA)
        at += 12 + size
        if at <= len(segment):
            end = base + delta + 1
    return int(end)


PATIENCE = 40.0
"""Timeout, in seconds, for an answer from the client process. The timeouts of Kafka's clients are shorter."""


class Client(AbstractContextManager["Client"]):
    """An admin client, producers and a consumer in one process, which is controlled by lines of JSON."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self.topic = topic
        self.sent: list[str] = []
        self.acknowledged: dict[str, int] = {}
        self.failed: dict[str, str] = {}
        self._answers: dict[int, dict[str, Any]] = {}
        self._garbage = b""
        self._number = 0
        self._change = threading.Condition()
        kind = "bootstrap.servers" if cluster.shape.brokers else "bootstrap.controllers"
        command = cluster.kit.java("fencepost.clusters.Client", kind, cluster.servers)
        self._process = Process(command, cluster.folder / "client.log", answers=True)
        threading.Thread(target=self._listen, daemon=True).start()

    def __exit__(self, *error: object) -> None:
        self._process.close()

    def ask(self, do: str, **more: Any) -> dict[str, Any]:
        self._number += 1
        number = self._number
        line = json.dumps({"number": number, "do": do, "topic": self.topic, **more})
        try:
            self._process.asked.write(line.encode("ascii") + b"\n")
            self._process.asked.flush()
        except OSError as error:
            raise ClusterError(f"the client process ended with status {self._process.status}.") from error
        with self._change:
            self._change.wait_for(
                lambda: number in self._answers or self._garbage or not self._process.running, PATIENCE
            )
            if number in self._answers:
                return self._answers.pop(number)
        if self._garbage:
            raise ClusterError(f"the client answered {do!r} with invalid JSON: {self._garbage[:200]!r}.")
        if self._process.running:
            raise ClusterError(f"the client did not answer {do!r} within {PATIENCE:g} s.")
        raise ClusterError(f"the client process ended with status {self._process.status} during {do!r}.")

    def send(self, keys: Sequence[str], size: int, seconds: int) -> None:
        self.sent += keys
        self.ask("send", keys=list(keys), size=size, milliseconds=seconds * 1000)

    def settled(self, keys: Sequence[str], seconds: float) -> bool:
        with self._change:
            return self._change.wait_for(
                lambda: all(key in self.acknowledged or key in self.failed for key in keys), seconds
            )

    def _listen(self) -> None:
        for line in self._process.answers:
            with self._change:
                try:
                    told = json.loads(line)
                except ValueError:
                    self._garbage = self._garbage or line
                    self._change.notify_all()
                    continue
                if "answers" in told:
                    self._answers[told["answers"]] = told
                elif "failed" in told:
                    self.failed[told["key"]] = told["failed"]
                else:
                    self.acknowledged[told["key"]] = told["offset"]
                self._change.notify_all()
        self._process.wait(PATIENCE)  # its output ends first, but waiting threads must see that it has ended
        with self._change:
            self._change.notify_all()
