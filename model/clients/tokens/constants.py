"""Sizes, budgets and switches of metadata reads with consistency tokens. The defaults follow the draft literally. Where
the draft is ambiguous, a constant selects the interpretation.
"""

from enum import IntEnum

from fencepost.model.language import Constants, bound, capacity, choice, switch


class TokenRead(IntEnum):
    """The time at which a server reads the offset for the response header."""

    AFTER = 0
    BEFORE = 1
    PINNED = 2


class WriteToken(IntEnum):
    """How a broker handles the token of a write that it has forwarded to the controller."""

    CACHE = 0
    INNER = 1
    WAIT = 2


class OnLag(IntEnum):
    """How a server handles a request whose token is ahead of the server's metadata."""

    ERROR = 0
    WAIT = 1


class NodeChoice(IntEnum):
    """The server to which a client sends a request."""

    ANY = 0
    CONNECTED = 1
    ANOTHER = 2


class C(Constants):
    """Constants of a run."""

    # sizes
    clients = capacity(2, low=1, high=3, room=2, meaning="clients, each with one call at a time")
    nodes = capacity(
        3, low=2, high=4, room=3, meaning="servers: node 0 is the active controller, the others are brokers"
    )
    offsets = bound(3, low=1, high=6, meaning="last offset of the metadata log; the first state is offset 0")

    # what clients and servers do
    one_store = switch(default=True, meaning="all clients come from one factory and share its store")
    in_order = switch(
        default=False,
        meaning="calls with the same store share a connection to each server, and the server handles them in order",
    )
    controller_serves_reads = switch(
        default=False, meaning="clients read from the controller too (bootstrap.controllers)"
    )
    cache_reads = switch(default=True, meaning="operations that read the metadata cache")
    component_reads = switch(
        default=False, meaning="operations that read a component updated after the cache, such as the authorizer"
    )
    unlisted_requests = switch(
        default=False, meaning="requests that the draft does not list, such as Produce, use the cache too"
    )
    forwarded_writes = switch(default=False, meaning="clients write through brokers, which forward to the controller")
    direct_writes = switch(default=False, meaning="clients write to the controller (bootstrap.controllers)")
    exports = switch(default=False, meaning="users carry contexts from one store to another")
    eventually_consistent = switch(default=False, meaning="the store is the legacy one: its context is always unknown")

    # faults
    restarts = bound(0, low=0, high=2, meaning="restarts of a server")
    old_nodes = bound(0, low=0, high=3, meaning="servers that do not support tokens at first (the highest-numbered)")
    foreign_contexts = bound(0, low=0, high=2, meaning="contexts of another cluster that users put into a store")
    wrong_contexts = bound(
        0, low=0, high=2, meaning="contexts of this cluster, with any offset, that users put into a store"
    )
    rebuilds = bound(0, low=0, high=1, meaning="times that the metadata log is lost and starts again, empty")
    cut_off = bound(0, low=0, high=2, meaning="servers that get no metadata (the highest-numbered)")

    # the server
    restart_catches_up = switch(
        default=True,
        meaning="a restarted server first applies everything committed by then, and serves nothing from an older "
        "snapshot",
    )
    check_first = switch(
        default=False, meaning="the cluster ID and the token are checked before the request is handled, not afterwards"
    )
    token_read = choice(
        TokenRead.AFTER, meaning="the header's offset is read: after (the body), before (the body), pinned (one image)"
    )
    torn_reads = switch(
        default=True, meaning="a body is built from two reads of the cache, as the Metadata handler does"
    )
    component_offsets = switch(default=False, meaning="reads of a component compare and return the component's offset")
    cache_last = switch(default=False, meaning="a server publishes to its components first, and then to its cache")
    unlisted_checked = switch(default=False, meaning="requests that the draft does not list are checked like reads")
    unlisted_tokens = switch(
        default=True, meaning="answers to requests that the draft does not list also carry a token"
    )
    on_lag = choice(OnLag.ERROR, meaning="reaction of a server that is behind the token: error, wait")
    write_token = choice(
        WriteToken.CACHE, meaning="token of a forwarded write: cache, inner (the controller's if larger), wait"
    )
    committed_token = switch(
        default=False, meaning="the controller's token for a write is the commit offset, not that of its cache"
    )
    half_headers = switch(
        default=False, meaning="headers of answers lack a cluster ID or token, so their context is unknown"
    )
    controller_lags = switch(
        default=True, meaning="the controller's node answers a write before the node's cache shows the write"
    )

    # the client
    atomic_store = switch(default=True, meaning="storeLatest compares and stores in one step")
    stores_errors = switch(default=True, meaning="the context of an error response is stored like any other")
    rejects_late = switch(
        default=False, meaning="a response whose token is below the store's is dropped, and the read is repeated"
    )
    refuses_untokened = switch(default=False, meaning="a response without a token is dropped, and the read is repeated")
    node_choice = choice(
        NodeChoice.ANY, meaning="requests go to: any, connected (one with an idle connection), another (after an error)"
    )
    resets = switch(default=False, meaning="users may reset a store to unknown")
    backoff = switch(
        default=False, meaning="after STALE_METADATA, a client waits until each lagging server has advanced"
    )


def refuse(c: C) -> str | None:
    """Return the reason why these constants cannot be combined, or None if they can."""
    if c.old_nodes >= c.nodes:
        return (
            f"old_nodes={c.old_nodes} leaves no server that supports tokens: with nodes={c.nodes}, write at most "
            f"{c.nodes - 1}."
        )
    if c.cut_off >= c.nodes:
        return f"cut_off={c.cut_off} lets no server get metadata: with nodes={c.nodes}, write at most {c.nodes - 1}."
    if not c.cache_reads and not c.component_reads and not c.unlisted_requests:
        return "clients have nothing to read: set cache_reads=on, component_reads=on or unlisted_requests=on."
    if c.cache_last and not c.component_reads:
        return "cache_last needs a component to update before the cache: set component_reads=on as well."
    if c.eventually_consistent and (c.exports or c.foreign_contexts or c.wrong_contexts):
        return (
            "an eventually consistent store ignores contexts: leave exports, foreign_contexts and wrong_contexts at 0."
        )
    if not c.atomic_store and (c.foreign_contexts or c.eventually_consistent):
        return (
            "atomic_store=off is for stores that compare offsets within one cluster: "
            "leave foreign_contexts and eventually_consistent off."
        )
    return None
