"""The proxy that delays Kafka's messages, on servers that only echo them."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from fencepost.kafka.clusters.proxy import FETCH, PRODUCE, Flow, Proxy

pytestmark = pytest.mark.xdist_group("clusters")  # they search for free ports
SERVER = 7
FETCHES = Flow(SERVER, "broker-2-fetcher", FETCH)
SECONDS = 10.0


def request(api: int, client: str, number: int = 0) -> bytes:
    body = struct.pack(">hhih", api, 0, number, len(client)) + client.encode()
    return struct.pack(">i", len(body)) + body


def echo(listener: socket.socket) -> None:
    while True:
        try:
            client = listener.accept()[0]
        except OSError:
            return
        threading.Thread(target=echo_one, args=(client,), daemon=True).start()


def echo_one(client: socket.socket) -> None:
    with client:
        while data := client.recv(1 << 16):
            client.sendall(data)


@contextmanager
def proxied() -> Iterator[tuple[Proxy, int]]:
    """Run an echo server with a proxy before it; the port is the proxy's."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
        probe.close()
        threading.Thread(target=echo, args=(listener,), daemon=True).start()
        proxy = Proxy()
        proxy.listen(SERVER, port, listener.getsockname()[1])
        try:
            yield proxy, port
        finally:
            proxy.close()
            listener.shutdown(socket.SHUT_RDWR)


def connected(port: int) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port))
    client.settimeout(SECONDS)
    return client


def received(client: socket.socket, length: int) -> bytes:
    found = b""
    while len(found) < length:
        more = client.recv(length - len(found))
        assert more, "the connection has ended"
        found += more
    return found


def silent(client: socket.socket) -> bool:
    client.settimeout(0.2)
    try:
        return not client.recv(1)
    except TimeoutError:
        return True
    finally:
        client.settimeout(SECONDS)


def test_messages_pass_unchanged_in_both_directions_in_one_piece_or_in_many() -> None:
    with proxied() as (_, port), connected(port) as client:
        message = request(PRODUCE, "producer-1") + request(FETCH, "producer-1", 2)
        client.sendall(message)
        assert received(client, len(message)) == message
        for at in range(len(message)):
            client.sendall(message[at : at + 1])
        assert received(client, len(message)) == message


def test_only_the_named_requests_of_the_named_client_are_held() -> None:
    with proxied() as (proxy, port), connected(port) as slow, connected(port) as other:
        proxy.hold(FETCHES)
        slow.sendall(request(FETCH, "broker-2-fetcher-0"))
        assert proxy.holds(FETCHES, SECONDS)
        for message in (request(FETCH, "broker-1-fetcher-0"), request(PRODUCE, "broker-2-fetcher-0")):
            other.sendall(message)
            assert received(other, len(message)) == message
        assert silent(slow)
        proxy.release(FETCHES)
        assert received(slow, 1)


def test_what_was_held_goes_on_in_its_order() -> None:
    with proxied() as (proxy, port), connected(port) as client:
        proxy.hold(FETCHES)
        messages = b"".join(request(FETCH, "broker-2-fetcher-0", number) for number in range(5))
        client.sendall(messages)
        assert proxy.holds(FETCHES, SECONDS)
        proxy.release_all()
        assert received(client, len(messages)) == messages


def test_answers_are_held_by_the_request_that_they_answer() -> None:
    answers = Flow(SERVER, "broker-2-fetcher", FETCH, "answers")
    with proxied() as (proxy, port), connected(port) as client:
        proxy.hold(answers)
        first = request(PRODUCE, "broker-2-fetcher-0")
        client.sendall(first + request(FETCH, "broker-2-fetcher-0", 2))
        assert received(client, len(first)) == first
        assert proxy.holds(answers, SECONDS)
        assert silent(client)
        proxy.release(answers)
        assert received(client, 4)


def test_passing_counts_only_what_comes_after_the_question() -> None:
    with proxied() as (proxy, port), connected(port) as client:
        message = request(FETCH, "broker-2-fetcher-0")
        client.sendall(message)
        received(client, len(message))
        assert not proxy.passes(FETCHES, 1, 0.1)
        threading.Timer(0.1, client.sendall, (message,)).start()
        assert proxy.passes(FETCHES, 1, SECONDS)


@pytest.mark.parametrize("garbage", [b"GET / HTTP/1.1\r\n\r\n", struct.pack(">i", 3) + b"abc", struct.pack(">i", -1)])
def test_what_is_not_kafkas_protocol_ends_the_connection(garbage: bytes) -> None:
    with proxied() as (_, port), connected(port) as client:
        client.sendall(garbage)
        assert client.recv(1) == b""


def test_a_server_that_is_down_ends_the_connection() -> None:
    with proxied() as (proxy, port), socket.create_server(("127.0.0.1", 0)) as nobody:
        dead = nobody.getsockname()[1]
        nobody.close()
        with socket.create_server(("127.0.0.1", 0)) as probe:
            free = probe.getsockname()[1]
        proxy.listen(8, free, dead)
        assert free != port
        with connected(free) as client:
            assert client.recv(1) == b""


def test_closing_ends_connections_that_are_held() -> None:
    with proxied() as (proxy, port), connected(port) as client:
        proxy.hold(FETCHES)
        client.sendall(request(FETCH, "broker-2-fetcher-0"))
        assert proxy.holds(FETCHES, SECONDS)
        proxy.close()
        assert client.recv(1) == b""
        with pytest.raises(OSError, match=r".*"):
            connected(port).recv(1)
