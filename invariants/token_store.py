"""The token store by itself: three contexts, stored one after the other in any order.

The functions are those of the model of metadata reads. The machine has no steps: its initial states are all there is, one
for each choice of contexts and of an order.
"""

from dataclasses import replace
from typing import Annotated

from fencepost.model.clients.tokens.store import CLUSTERS, Context, clashes, is_unknown, later, store_latest
from fencepost.model.language import (
    NONE,
    Array,
    Constants,
    Index,
    Machine,
    Range,
    Record,
    Size,
    action,
    always,
    bound,
)
from fencepost.model.language.actions import properties_in

ORDERS = 6


class C(Constants):
    """How far offsets go."""

    offsets = bound(3, low=1, high=6, meaning="last offset of the metadata log")


Cluster = Annotated[int, Index(CLUSTERS + 1)]
"""One more than the cluster id: 0 makes an unknown context."""
Offset = Annotated[int, Range(0, C.offsets)]


class State(Record):
    """The contexts that are given, a store that got them in order, one that got them in another, one that got each twice."""

    given: Annotated[Array[Context], Size(3)]
    in_order: Context
    in_other_order: Context
    twice: Context


def store(target: Context, source: Context) -> None:
    """Store a context."""
    store_latest(target, source.cluster, source.token)


def give(context: Context, cluster: int, token: int) -> None:
    """Make a context."""
    context.cluster = cluster - 1
    context.token = token


def make_unknown(context: Context) -> None:
    """Empty a store."""
    context.cluster = NONE
    context.token = NONE


def is_same(one: Context, other: Context) -> bool:
    """Say whether two contexts are equal: unknown both, or of one cluster and offset."""
    return one.cluster == other.cluster and (is_unknown(one.cluster) or one.token == other.token)


def agree(s: State) -> bool:
    """Say whether no two of the given contexts clash."""
    return not any(clashes(one.cluster, other.cluster) for one in s.given for other in s.given)


@action(order=Index(ORDERS), a=Cluster, b=Cluster, d=Cluster, at=Offset, bt=Offset, dt=Offset)
def initial(s: State, c: C, order: int, a: int, b: int, d: int, at: int, bt: int, dt: int) -> None:
    """Three contexts are stored: a, b, d; then the same in another order; then each twice."""
    first = 0 if order < 2 else 1 if order < 4 else 2
    second = (1 if order == 0 else 2) if first == 0 else (0 if order % 2 == 0 else 3 - first)
    make_unknown(s.in_order)
    make_unknown(s.in_other_order)
    make_unknown(s.twice)
    give(s.given[0], a, at)
    give(s.given[1], b, bt)
    give(s.given[2], d, dt)
    for target in range(3):
        store(s.in_order, s.given[target])
    store(s.in_other_order, s.given[first])
    store(s.in_other_order, s.given[second])
    store(s.in_other_order, s.given[3 - first - second])
    for target in range(3):
        store(s.twice, s.given[target])
        store(s.twice, s.given[target])


def keep_last(stored: Context, cluster: int, token: int) -> None:
    """A store that keeps whatever it got last."""
    if not clashes(cluster, stored.cluster) and not is_unknown(cluster):
        stored.cluster = cluster
        stored.token = token


@action(order=Index(2), a=Cluster, b=Cluster, at=Offset, bt=Offset)
def initial_of_last(s: State, c: C, order: int, a: int, b: int, at: int, bt: int) -> None:
    """Two contexts are stored in a store that keeps the last, in one order and in another."""
    make_unknown(s.in_order)
    make_unknown(s.in_other_order)
    make_unknown(s.twice)
    make_unknown(s.given[2])
    give(s.given[0], a, at)
    give(s.given[1], b, bt)
    for target in range(2):
        keep_last(s.in_order, s.given[target].cluster, s.given[target].token)
        keep_last(s.twice, s.given[target].cluster, s.given[target].token)
    keep_last(s.in_other_order, s.given[order].cluster, s.given[order].token)
    keep_last(s.in_other_order, s.given[1 - order].cluster, s.given[1 - order].token)


@always
def order_means_nothing(s: State, c: C) -> bool:
    """Contexts that do not clash give the same store in any order: `later` is associative and commutative."""
    return not agree(s) or is_same(s.in_order, s.in_other_order)


@always
def repetition_means_nothing(s: State, c: C) -> bool:
    """Storing a context twice is storing it once: `later` is idempotent."""
    return is_same(s.in_order, s.twice)


@always
def store_is_the_latest(s: State, c: C) -> bool:
    """The store holds one of the contexts that are known, and none of its cluster with a greater offset was given."""
    return all(
        is_unknown(one.cluster)
        or (s.in_order.cluster != NONE and (clashes(one.cluster, s.in_order.cluster) or s.in_order.token >= one.token))
        for one in s.given
    )


@always
def unknown_is_the_unit(s: State, c: C) -> bool:
    """Unknown contexts change nothing, and an unknown store takes the first known one: so is it with `later` of offsets."""
    only_first = is_unknown(s.given[1].cluster) and is_unknown(s.given[2].cluster)
    return not only_first or is_same(s.in_order, s.given[0])


@always
def cluster_is_that_of_the_first(s: State, c: C) -> bool:
    """The cluster id of a store is that of the first known context, whatever comes after."""
    return is_unknown(s.given[0].cluster) or s.in_order.cluster == s.given[0].cluster


@always
def later_is_a_semilattice(s: State, c: C) -> bool:
    """`later` of offsets is associative, commutative and idempotent, and NONE, the offset of an unknown context, is its unit."""
    a, b, d = s.given[0].token, s.given[1].token, s.given[2].token
    return (
        later(later(a, b), d) == later(a, later(b, d))
        and later(a, b) == later(b, a)
        and later(a, a) == a
        and later(a, NONE) == a
        and later(NONE, a) == a
    )


MACHINE = Machine(
    name="token-store",
    sentence="three contexts are stored, in one order and in another",
    state=State,
    constants=C,
    initial=initial,
    actions=(),
    source="Consistency token draft, ConsistencyContextStore",
)
LAST_WINS = replace(MACHINE, sentence="contexts are stored where the last one wins", initial=initial_of_last)
"""The broken twin: a store that does not look at offsets."""
PROPERTIES = properties_in(globals())
