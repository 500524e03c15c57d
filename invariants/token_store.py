"""Properties of a client's token store, independent of the rest of the protocol."""

from fencepost.model.clients.tokens.alone import C, State, agree, is_same
from fencepost.model.clients.tokens.store import clashes, is_unknown, later
from fencepost.model.language import NONE, always
from fencepost.model.language.actions import properties_in


@always
def order_means_nothing(s: State, c: C) -> bool:
    """The order in which contexts are stored does not matter, unless they are from different clusters."""
    return not agree(s) or is_same(s.in_order, s.in_other_order)


@always
def repetition_means_nothing(s: State, c: C) -> bool:
    """Storing a context twice has the same result as storing it once, because `later` is idempotent."""
    return is_same(s.in_order, s.twice)


@always
def store_is_the_latest(s: State, c: C) -> bool:
    """The store contains one of the known contexts, and no given context of its cluster has a greater offset."""
    return all(
        is_unknown(one.cluster)
        or (s.in_order.cluster != NONE and (clashes(one.cluster, s.in_order.cluster) or s.in_order.token >= one.token))
        for one in s.given
    )


@always
def unknown_is_the_unit(s: State, c: C) -> bool:
    """An unknown context does not change the store, and an empty store adopts the first known context."""
    only_first = is_unknown(s.given[1].cluster) and is_unknown(s.given[2].cluster)
    return not only_first or is_same(s.in_order, s.given[0])


@always
def cluster_is_that_of_the_first(s: State, c: C) -> bool:
    """A store keeps the cluster id of the first known context."""
    return is_unknown(s.given[0].cluster) or s.in_order.cluster == s.given[0].cluster


@always
def later_is_a_semilattice(s: State, c: C) -> bool:
    """On offsets, `later` is associative, commutative and idempotent; its unit is NONE, an unknown context's offset."""
    a, b, d = s.given[0].token, s.given[1].token, s.given[2].token
    return (
        later(later(a, b), d) == later(a, later(b, d))
        and later(a, b) == later(b, a)
        and later(a, a) == a
        and later(a, NONE) == a
        and later(NONE, a) == a
    )


PROPERTIES = properties_in(globals())
