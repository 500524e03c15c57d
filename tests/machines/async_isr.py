"""A leader that asks the controller for ISR changes and counts with what it asked for until it hears of them.

After hachikuji/kafka-specification, AsyncIsr, where offsets and versions are unbounded: here both actions that
raise them stop at a bound. Replica 0 leads for good. Both sets of messages only grow: the controller makes one
update per version, so an array holds them; requests are, per version, a set of ISRs, each a bit mask itself.
"""

from typing import Annotated

from fencepost.model.language import *

LEADER = 0
MASKS = 16
"""How many ISRs there are with four replicas, the most that are allowed."""


class C(Constants):
    replicas = shape(2, low=1, high=4, meaning="replicas; the first leads")
    max_offset = bound(2, low=1, high=20, meaning="records that the leader writes")
    max_version = capacity(2, low=0, high=8, meaning="ISR changes that the controller makes")


Replica = Annotated[int, Index(C.replicas)]
Replicas = Annotated[int, BitSet(C.replicas)]
Version = Annotated[int, Range(0, C.max_version)]
MaybeVersion = Annotated[int, Range(NONE, C.max_version)]
Offset = Annotated[int, Range(0, C.max_offset)]
Isrs = Annotated[int, BitSet(MASKS)]


class Controller(Record):
    isr: Replicas
    version: Version


class Leader(Record):
    """What the leader knows of the ISR, what it asked for since, and how far each replica is."""

    isr: Replicas
    version: Version
    pending_isr: Replicas
    pending_version: MaybeVersion
    offset: Annotated[Array[Offset], Per(Replica)]


class State(Record):
    """`requests[v]` are the ISRs asked for against version v, `update[v]` is the ISR that version v brought."""

    controller: Controller
    leader: Leader
    requests: Annotated[Array[Isrs], Size(C.max_version + 1)]
    update: Annotated[Array[Replicas], Size(C.max_version + 1)]


def high_watermark(l: Leader) -> int:
    """Return the least offset among the ISR and all that the leader has asked for; the leader is always among them."""
    least = l.offset[LEADER]
    for replica in range(len(l.offset)):
        if bits.contains(l.isr | l.pending_isr, replica):
            least = min(least, l.offset[replica])
    return least


def change_isr(s: State, isr: int) -> None:
    """The controller makes a new version of the ISR and tells of it."""
    version = s.controller.version + 1
    s.controller.isr = isr
    s.controller.version = version
    s.update[version] = isr


def request_isr(s: State, isr: int) -> None:
    """The leader asks for an ISR and from now on counts with its members too."""
    l = s.leader
    s.requests[l.version] = bits.with_member(s.requests[l.version], isr)
    l.pending_isr = l.pending_isr | isr
    l.pending_version = l.version


@action()
def initial(s: State, c: C) -> None:
    """Every replica is in the ISR, all logs are empty, nothing was asked for."""
    s.controller.isr = bits.everyone(c.replicas)
    s.leader.isr = bits.everyone(c.replicas)
    s.leader.pending_version = NONE


@action(replica=Replica)
def controller_shrink_isr(s: State, c: C, replica: int) -> None:
    require(s.controller.version < c.max_version)
    require(replica != LEADER)
    require(bits.contains(s.controller.isr, replica))
    change_isr(s, bits.without(s.controller.isr, replica))


@action(isr=Replicas)
def controller_handle_request(s: State, c: C, isr: int) -> None:
    """The controller grants a request that was made against its current version."""
    require(s.controller.version < c.max_version)
    require(bits.contains(s.requests[s.controller.version], isr))
    change_isr(s, isr)


@action(replica=Replica)
def leader_request_shrink_isr(s: State, c: C, replica: int) -> None:
    require(replica != LEADER)
    require(bits.contains(s.leader.isr, replica))
    request_isr(s, bits.without(s.leader.isr, replica))


@action(replica=Replica)
def leader_request_expand_isr(s: State, c: C, replica: int) -> None:
    """The leader asks to add a follower that has reached the high watermark."""
    require(not bits.contains(s.leader.isr, replica))
    require(s.leader.offset[replica] >= high_watermark(s.leader))
    request_isr(s, bits.with_member(s.leader.isr, replica))


@action()
def leader_write(s: State, c: C) -> None:
    require(s.leader.offset[LEADER] < c.max_offset)
    s.leader.offset[LEADER] += 1


@action(version=Version)
def leader_handle_update(s: State, c: C, version: int) -> None:
    """The leader hears of a later ISR and forgets what it asked for."""
    require(version <= s.controller.version)
    require(version > s.leader.version)
    s.leader.isr = s.update[version]
    s.leader.version = version
    s.leader.pending_isr = 0
    s.leader.pending_version = NONE


@action(replica=Replica)
def follower_replicate(s: State, c: C, replica: int) -> None:
    require(replica != LEADER)
    require(s.leader.offset[replica] < s.leader.offset[LEADER])
    s.leader.offset[replica] += 1


@always
def valid_high_watermark(s: State, c: C) -> bool:
    """Every member of the controller's ISR has all records below the leader's high watermark."""
    return all(
        s.leader.offset[replica] >= high_watermark(s.leader)
        for replica in range(c.replicas)
        if bits.contains(s.controller.isr, replica)
    )


@always
def leader_is_in_isr(s: State, c: C) -> bool:
    """The leader is in the ISR, the controller's and its own."""
    return bits.contains(s.controller.isr, LEADER) and bits.contains(s.leader.isr, LEADER)


@sometimes
def isr_known_is_stale(s: State, c: C) -> bool:
    """The leader still counts with a follower that the controller has removed."""
    return not bits.is_subset(s.leader.isr, s.controller.isr)


@sometimes
def isr_grows_back(before: State, after: State, c: C) -> bool:
    """The controller adds a follower on request; this needs two versions."""
    return not bits.is_subset(after.controller.isr, before.controller.isr)


MACHINE = Machine(
    name="async-isr",
    sentence="a leader asks the controller for ISR changes and counts with them before they are granted",
    state=State,
    constants=C,
    initial=initial,
    actions=(
        controller_shrink_isr,
        controller_handle_request,
        leader_request_shrink_isr,
        leader_request_expand_isr,
        leader_write,
        leader_handle_update,
        follower_replicate,
    ),
    source="hachikuji/kafka-specification, AsyncIsr",
)

PROPERTIES = (valid_high_watermark, leader_is_in_isr, isr_known_is_stale, isr_grows_back)
