"""The token store: contexts, their order, and what a client accepts. Pure functions of numbers and one record.

A context is a cluster id and an offset. If the cluster is NONE, the context is unknown, whatever the offset. The same
functions run on plain and on symbolic numbers.
"""

from typing import Annotated

from fencepost.model.clients.tokens.constants import C
from fencepost.model.language import NONE, Index, Range, Record

CLUSTERS = 2
"""Cluster ids: 0 is the current cluster, and 1 is another cluster or a rebuilt one."""

Cluster = Annotated[int, Index(CLUSTERS)]
MaybeCluster = Annotated[int, Index(CLUSTERS, none=True)]
Offset = Annotated[int, Range(0, C.offsets)]
MaybeOffset = Annotated[int, Range(NONE, C.offsets)]


class Context(Record):
    """ConsistencyContext: the cluster, and the offset up to which its metadata was seen."""

    cluster: MaybeCluster
    token: MaybeOffset


def is_unknown(cluster: int) -> bool:
    """ConsistencyContext.isUnknown: return whether a context with this cluster id is unknown."""
    return cluster == NONE


def clashes(one: int, other: int) -> bool:
    """Return whether two cluster ids make `later` and `storeLatest` throw IllegalArgumentException."""
    return not is_unknown(one) and not is_unknown(other) and one != other


def later(one: int, other: int) -> int:
    """ConsistencyContext.later: return the greater of two offsets, whose contexts must not conflict."""
    return max(one, other)


def is_more_up_to_date(cluster: int, token: int, stored_cluster: int, stored_token: int) -> bool:
    """Return whether a context replaces the stored one: it is known, and the stored one is unknown or lower."""
    return not is_unknown(cluster) and (is_unknown(stored_cluster) or token > stored_token)


def store_latest(stored: Context, cluster: int, token: int) -> None:
    """ConsistencyContextStore.storeLatest: keep the later context; a context that conflicts changes nothing."""
    if not clashes(cluster, stored.cluster) and is_more_up_to_date(cluster, token, stored.cluster, stored.token):
        stored.cluster = cluster
        stored.token = token


def is_accepted(token: int, stored_token: int, rejects_late: int, refuses_untokened: int) -> bool:
    """Return whether a client delivers a response with this token (NONE if it is missing), given its store's token."""
    if token == NONE:
        return refuses_untokened == 0
    return rejects_late == 0 or token >= stored_token
