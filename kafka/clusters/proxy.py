"""A TCP proxy that forwards messages unchanged, but holds selected requests or answers until they are released.

A message of Kafka's protocol starts with its length; a request continues with the API key, the version, a correlation
id and the client id. A server answers the requests on a connection in order.
"""

import contextlib
import socket
import struct
import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

PRODUCE, FETCH, ALTER_PARTITION, HEARTBEAT, ASSIGN = 0, 1, 56, 63, 73
MOST = 1 << 27
"""Maximum length of a message in bytes. A longer message does not follow Kafka's protocol."""


@dataclass(frozen=True)
class Flow:
    """Requests for one API to `server` from clients whose ids start with `client`, or the answers to these requests."""

    server: int
    client: str
    api: int
    way: Literal["requests", "answers"] = "requests"

    def has(self, other: "Flow") -> bool:
        same = (self.server, self.api, self.way) == (other.server, other.api, other.way)
        return same and other.client.startswith(self.client)


@dataclass
class Link:
    """A connection: the client's id, once it is known, and the APIs of unanswered requests."""

    server: int
    client: str = ""
    waiting: deque[int] = field(default_factory=deque)


class Proxy:
    """A proxy that listens in place of servers, with a thread for each direction of a connection."""

    def __init__(self) -> None:
        self._change = threading.Condition()
        self._held: list[Flow] = []
        self._stopped: Counter[Flow] = Counter()
        self._passed: Counter[Flow] = Counter()
        self._sockets: set[socket.socket] = set()
        self._closed = False

    def listen(self, server: int, port: int, target: int) -> None:
        listener = socket.create_server(("127.0.0.1", port), backlog=64)
        self._sockets.add(listener)
        threading.Thread(target=self._accept, args=(listener, server, target), daemon=True).start()

    def hold(self, flow: Flow) -> None:
        with self._change:
            self._held.append(flow)

    def release(self, flow: Flow) -> None:
        with self._change:
            self._held = [found for found in self._held if found != flow]
            self._change.notify_all()

    def release_all(self) -> None:
        with self._change:
            self._held.clear()
            self._change.notify_all()

    def holds(self, flow: Flow, seconds: float) -> bool:
        return self._until(lambda: self._count(self._stopped, flow) > 0, seconds)

    def passes(self, flow: Flow, messages: int, seconds: float) -> bool:
        with self._change:
            wanted = self._count(self._passed, flow) + messages
        return self._until(lambda: self._count(self._passed, flow) >= wanted, seconds)

    def close(self) -> None:
        with self._change:
            self._closed = True
            self._change.notify_all()
            sockets = list(self._sockets)
        for found in sockets:
            _end(found)

    def _until(self, come: Callable[[], bool], seconds: float) -> bool:
        with self._change:
            self._change.wait_for(lambda: come() or self._closed, seconds)
            return come()

    @staticmethod
    def _count(counter: Counter[Flow], flow: Flow) -> int:
        return sum(number for found, number in counter.items() if flow.has(found))

    def _accept(self, listener: socket.socket, server: int, target: int) -> None:
        while True:
            try:
                client = listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client, server, target), daemon=True).start()

    def _serve(self, client: socket.socket, server: int, target: int) -> None:
        try:
            other = socket.create_connection(("127.0.0.1", target))
        except OSError:
            _end(client)
            return
        with self._change:
            self._sockets |= {client, other}
        for found in (client, other):
            found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link = Link(server)
        back = threading.Thread(target=self._pass_on, args=(link, other, client, "answers"), daemon=True)
        back.start()
        self._pass_on(link, client, other, "requests")
        back.join()
        with self._change:
            self._sockets -= {client, other}

    def _pass_on(
        self, link: Link, source: socket.socket, target: socket.socket, way: Literal["requests", "answers"]
    ) -> None:
        with contextlib.suppress(OSError):
            while (message := _message(source)) is not None:
                if way == "requests":
                    api, name = _request(message)
                    link.client = link.client or name
                    link.waiting.append(api)
                else:
                    api = link.waiting.popleft()
                if not self._let(Flow(link.server, link.client, api, way)):
                    break
                target.sendall(message)
        _end(source)
        _end(target)

    def _let(self, message: Flow) -> bool:
        with self._change:
            self._stopped[message] += 1
            self._change.notify_all()
            self._change.wait_for(lambda: self._closed or not any(flow.has(message) for flow in self._held))
            self._stopped[message] -= 1
            self._passed[message] += 1
            self._change.notify_all()
            return not self._closed


def _message(source: socket.socket) -> bytes | None:
    head = _exactly(source, 4)
    if head is None:
        return None
    length = struct.unpack(">i", head)[0]
    if not 0 <= length <= MOST:
        raise OSError(f"a message of {length} bytes cannot be from Kafka")
    body = _exactly(source, length)
    return None if body is None else head + body


def _exactly(source: socket.socket, length: int) -> bytes | None:
    found = bytearray()
    while len(found) < length:
        more = source.recv(min(length - len(found), 1 << 16))
        if not more:
            return None
        found += more
    return bytes(found)


def _request(message: bytes) -> tuple[int, str]:
    if len(message) < 14:
        raise OSError("a Kafka request has at least 14 bytes")
    api, _, _, length = struct.unpack(">hhih", message[4:14])
    return api, message[14 : 14 + max(length, 0)].decode("utf-8", "replace")


def _end(found: socket.socket) -> None:
    with contextlib.suppress(OSError):
        found.shutdown(socket.SHUT_RDWR)
    found.close()
