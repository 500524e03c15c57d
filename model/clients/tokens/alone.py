"""The token store in isolation: three contexts, stored one after the other in any order. The functions are shared with
the model of metadata reads. The machine has no steps, only initial states: one for each choice of contexts and order.
"""

from dataclasses import replace
from typing import Annotated

from fencepost.model.clients.tokens.store import CLUSTERS, Context, clashes, is_unknown, store_latest
from fencepost.model.language import NONE, Array, Constants, Index, Machine, Range, Record, Size, action, bound

ORDERS = 6


class C(Constants):
    """The range of offsets."""

    offsets = bound(3, low=1, high=6, meaning="last offset of the metadata log")


Cluster = Annotated[int, Index(CLUSTERS + 1)]
"""The cluster id plus one; 0 means an unknown context."""
Offset = Annotated[int, Range(0, C.offsets)]


class State(Record):
    """Three contexts, and three stores that received them: in order, in another order, and each context twice."""

    given: Annotated[Array[Context], Size(3)]
    in_order: Context
    in_other_order: Context
    twice: Context


def store(target: Context, source: Context) -> None:
    """Store a context."""
    store_latest(target, source.cluster, source.token)


def give(context: Context, cluster: int, token: int) -> None:
    """Initialize a context."""
    context.cluster = cluster - 1
    context.token = token


def make_unknown(context: Context) -> None:
    """Reset a store, so that its context is unknown."""
    context.cluster = NONE
    context.token = NONE


def is_same(one: Context, other: Context) -> bool:
    """Return whether two contexts are equal: both unknown, or with the same cluster and offset."""
    return one.cluster == other.cluster and (is_unknown(one.cluster) or one.token == other.token)


def agree(s: State) -> bool:
    """Return whether no two of the given contexts conflict."""
    return not any(clashes(one.cluster, other.cluster) for one in s.given for other in s.given)


@action(order=Index(ORDERS), a=Cluster, b=Cluster, d=Cluster, at=Offset, bt=Offset, dt=Offset)
def initial(s: State, c: C, order: int, a: int, b: int, d: int, at: int, bt: int, dt: int) -> None:
    """Three stores receive contexts a, b and d: one in this order, one in another, and one gets each context twice."""
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
    """Store a context in a store that always keeps the last one."""
    if not clashes(cluster, stored.cluster) and not is_unknown(cluster):
        stored.cluster = cluster
        stored.token = token


@action(order=Index(2), a=Cluster, b=Cluster, at=Offset, bt=Offset)
def initial_of_last(s: State, c: C, order: int, a: int, b: int, at: int, bt: int) -> None:
    """Two contexts are stored in a store that always keeps the last one, in one order and in the other."""
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


MACHINE = Machine(
    name="token-store",
    sentence="three contexts are stored, in one order and in another",
    state=State,
    constants=C,
    initial=initial,
    actions=(),
    source="Consistency token draft, ConsistencyContextStore",
)
LAST_WINS = replace(MACHINE, sentence="contexts are stored, and the last one wins", initial=initial_of_last)
"""The broken twin: a store that ignores offsets."""
