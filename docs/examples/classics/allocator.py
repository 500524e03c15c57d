"""A resource allocator: clients request sets of resources, receive some at a time, and return some at any time.

This is Merz's `SimpleAllocator`. The actions take a set of resources as a parameter. Returning everything is a separate
action, because only that action is declared fair.
"""

from typing import Annotated

from fencepost.model.language import (
    Array,
    BitSet,
    Constants,
    Index,
    Machine,
    Per,
    Record,
    action,
    always,
    bits,
    leads_to,
    require,
    shape,
    sometimes,
    strong,
    weak,
)


class C(Constants):
    clients = shape(3, low=1, high=4, meaning="clients")
    resources = shape(2, low=1, high=3, meaning="resources")


Client = Annotated[int, Index(C.clients)]
Resource = Annotated[int, Index(C.resources)]
Resources = Annotated[int, BitSet(C.resources)]


class State(Record):
    wants: Annotated[Array[Resources], Per(Client)]
    has: Annotated[Array[Resources], Per(Client)]


@action()
def initial(s: State, c: C) -> None:
    """All resources are free."""


@action(client=Client, resources=Resources)
def ask(s: State, c: C, client: int, resources: int) -> None:
    """A client that has no resources and no pending request requests resources."""
    require(s.wants[client] == 0)
    require(s.has[client] == 0)
    require(resources != 0)
    s.wants[client] = resources


@action(client=Client, resources=Resources)
def allocate(s: State, c: C, client: int, resources: int) -> None:
    """A client receives some or all of the free resources that it requested."""
    require(resources != 0)
    require(bits.is_subset(resources, s.wants[client]))
    require(all(has & resources == 0 for has in s.has))
    s.has[client] |= resources
    s.wants[client] &= ~resources


@action(client=Client)
def return_all(s: State, c: C, client: int) -> None:
    """A client returns all of its resources."""
    require(s.has[client] != 0)
    s.has[client] = 0


@action(client=Client, resources=Resources)
def return_some(s: State, c: C, client: int, resources: int) -> None:
    """A client returns some of its resources."""
    require(resources != 0)
    require(resources != s.has[client])
    require(bits.is_subset(resources, s.has[client]))
    s.has[client] &= ~resources


@always
def no_resource_is_shared(s: State, c: C) -> bool:
    """Each resource belongs to at most one client."""
    return all(s.has[one] & s.has[other] == 0 for one in range(c.clients) for other in range(one))


@sometimes
def two_have_resources(s: State, c: C) -> bool:
    """Two clients have resources, and one of them waits for more."""
    return any(
        s.has[one] != 0 and s.wants[one] != 0 and s.has[other] != 0 for one in range(c.clients) for other in range(one)
    )


def wants_nothing(s: State, c: C, client: int) -> bool:
    return s.wants[client] == 0


def has_nothing(s: State, c: C, client: int) -> bool:
    return s.has[client] == 0


def is_wanted(s: State, c: C, client: int, resource: int) -> bool:
    return bits.contains(s.wants[client], resource)


def is_had(s: State, c: C, client: int, resource: int) -> bool:
    return bits.contains(s.has[client], resource)


clients_return = leads_to(
    "clients-return",
    "A client that has everything that it requested eventually returns it.",
    when=wants_nothing,
    then=has_nothing,
    fair=(weak(return_all, each="client"),),
    client=Client,
)

clients_obtain = leads_to(
    "clients-obtain",
    "If clients return what they have and no client is passed over forever, a client eventually gets each resource "
    "that it wants.",
    when=is_wanted,
    then=is_had,
    fair=(weak(return_all, each="client"), strong(allocate, each="client")),
    client=Client,
    resource=Resource,
)

MACHINE = Machine(
    "allocator", "Clients that share resources", State, C, initial, (ask, allocate, return_all, return_some)
)
PROPERTIES = (no_resource_is_shared, two_have_resources, clients_return, clients_obtain)
