"""Ports for clusters in tests."""

import random
import socket

from fencepost.kafka.clusters.cluster import ADVERTISED

NODES = 6
"""Most nodes of a cluster in tests."""


def first_of_free_ports() -> int:
    """Return the first of enough free ports for a cluster and its proxy, below those of outgoing connections."""
    places = [*range(20_000, 32_000, 200)]
    random.shuffle(places)
    for first in places:
        try:
            for port in (*range(first, first + NODES), *range(first + ADVERTISED, first + ADVERTISED + NODES)):
                socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return first
    raise AssertionError("no ports are free")
