"""The replication protocol, but the controller may elect any eligible replica, not only the first in the list.

It covers every order of the list at once, and brokers are interchangeable. It can also elect leaders that no single
order allows: first one of two eligible replicas, and later the other. A property that holds here holds for every order.
"""

import sys
from dataclasses import replace

import fencepost
from fencepost.explorers.verdict import Verdict
from fencepost.invariants import replication
from fencepost.model.cluster import machine
from fencepost.model.cluster.constants import C, Checkpoint, refuse
from fencepost.model.cluster.controller import epoch_without, has_room, remove_from_isr
from fencepost.model.cluster.deletion import write_log_start
from fencepost.model.cluster.lifecycle import halt, is_known_to_leave, is_unclean
from fencepost.model.cluster.metadata import go_on_from, start_from
from fencepost.model.cluster.network import drop_moot_messages, is_read_alike, leave_fetch_behind
from fencepost.model.cluster.partition_change import (
    active,
    append_image,
    change_isr,
    electable,
    elr_after,
    epoch_for,
    may_elect_last_known,
)
from fencepost.model.cluster.state import (
    Broker,
    Life,
    Offset,
    State,
    has_process,
    heeds_elr,
    is_running,
    leads,
    local,
    newest,
)
from fencepost.model.language import NONE, action, always, bits, require, sometimes
from fencepost.model.language.errors import UsageError


def eligible(s: State, c: C, isr: int, elr: int, acceptable: int) -> int:
    """Return the replicas that may lead (`cleanly_elected` in `partition_change.py`)."""
    return (isr if isr != 0 else elr if heeds_elr(s, c) else 0) & acceptable


def is_choice(s: State, able: int, first: int, broker: int) -> bool:
    """Return whether `first` may be listed first of these replicas; without an election, it must be `broker`."""
    return bits.contains(able, first) if able != 0 and not bits.contains(able, newest(s).leader) else first == broker


def elected(s: State, c: C, isr: int, elr: int, acceptable: int, first: int) -> int:
    """Return the leader after a change to this ISR and ELR, if `first` is the first eligible replica in the list."""
    able = eligible(s, c, isr, elr, acceptable)
    if bits.contains(able, newest(s).leader):
        return newest(s).leader
    if able != 0:
        return first
    return s.last_known_leader if may_elect_last_known(s, c, isr, elr, acceptable) else NONE


def able_without(s: State, c: C, broker: int) -> int:
    """Return the replicas that may lead once the broker has left the ISR, or 0 if the broker is not a member."""
    isr = bits.without(newest(s).isr, broker)
    if isr == newest(s).isr:
        return 0
    return eligible(s, c, isr, elr_after(s, c, isr, 0), bits.without(electable(s, c), broker))


def leader_without(s: State, c: C, broker: int, first: int) -> int:
    """Return the leader once the broker has left the ISR."""
    isr = bits.without(newest(s).isr, broker)
    if isr == newest(s).isr:
        return newest(s).leader
    return elected(s, c, isr, elr_after(s, c, isr, 0), bits.without(electable(s, c), broker), first)


@action(broker=Broker, first=Broker)
def controller_fences_broker(s: State, c: C, broker: int, first: int) -> None:
    """The controller fences a broker whose heartbeats stop, and elects any eligible replica."""
    require(has_room(s, c), bound=C.metadata_lag)
    require(s.budget.fences > 0, bound=C.fences)
    require(not bits.contains(newest(s).fenced, broker))
    require(is_choice(s, able_without(s, c, broker), first, broker))
    leader = leader_without(s, c, broker, first)
    require(epoch_without(s, c, broker, leader) <= c.max_leader_epoch, bound=C.max_leader_epoch)
    append_image(s)
    remove_from_isr(s, c, broker, leader)
    newest(s).fenced = bits.with_member(newest(s).fenced, broker)
    s.budget.fences -= 1


@action(broker=Broker, first=Broker)
def controller_unfences_broker(s: State, c: C, broker: int, first: int) -> None:
    """The controller unfences a running broker; if the partition has no leader, any eligible replica is elected."""
    image = newest(s)
    require(has_room(s, c), bound=C.metadata_lag)
    require(is_running(s, broker))
    require(bits.contains(image.fenced, broker))
    require(not bits.contains(image.stopping, broker))
    acceptable = bits.with_member(electable(s, c), broker)
    elr = elr_after(s, c, image.isr, 0)
    able = eligible(s, c, image.isr, elr, acceptable) if image.leader == NONE else 0
    require(is_choice(s, able, first, broker))
    leader = elected(s, c, image.isr, elr, acceptable, first) if image.leader == NONE else image.leader
    leader_epoch = image.leader_epoch if leader == image.leader else epoch_for(s, c, image.isr, leader)
    require(leader_epoch <= c.max_leader_epoch, bound=C.max_leader_epoch)
    if bits.contains(image.isr, broker) or not c.unfencing_needs_isr:
        append_image(s)
        now = newest(s)
        now.fenced = bits.without(now.fenced, broker)
        if leader != now.leader:
            change_isr(s, c, now.isr, elr, leader)


@action(broker=Broker, first=Broker)
def controller_begins_shutdown(s: State, c: C, broker: int, first: int) -> None:
    """A broker asks to shut down: the controller moves its leadership to any eligible replica."""
    require(has_room(s, c), bound=C.metadata_lag)
    require(s.budget.clean_stops > 0, bound=C.clean_stops)
    require(is_running(s, broker))
    require(bits.contains(active(c, newest(s)), broker))
    require(is_choice(s, able_without(s, c, broker), first, broker))
    leader = leader_without(s, c, broker, first)
    require(epoch_without(s, c, broker, leader) <= c.max_leader_epoch, bound=C.max_leader_epoch)
    append_image(s)
    remove_from_isr(s, c, broker, leader)
    newest(s).stopping = bits.with_member(newest(s).stopping, broker)
    s.budget.clean_stops -= 1


@action(broker=Broker, first=Broker)
def broker_stops(s: State, c: C, broker: int, first: int) -> None:
    """A broker that leads no partition is allowed to shut down, which fences it."""
    image = newest(s)
    asked = bits.contains(image.stopping, broker)
    waits = asked and not bits.contains(image.fenced, broker)
    require(has_room(s, c), bound=C.metadata_lag)
    require(is_running(s, broker))
    require(image.leader != broker)
    require(asked or s.budget.clean_stops > 0, bound=C.clean_stops)
    require(not waits or is_known_to_leave(s, c, broker))
    require(is_choice(s, able_without(s, c, broker), first, broker))
    leader = leader_without(s, c, broker, first)
    require(epoch_without(s, c, broker, leader) <= c.max_leader_epoch, bound=C.max_leader_epoch)
    append_image(s)
    remove_from_isr(s, c, broker, leader)
    newest(s).fenced = bits.with_member(newest(s).fenced, broker)
    s.budget.clean_stops -= 0 if asked else 1
    leave_fetch_behind(s, c, broker)
    if not c.log_start_flushed:
        write_log_start(s.replica[broker])
    halt(s, c, broker, Life.STOPPED)


@action(broker=Broker, checkpoint=Offset, first=Broker)
def broker_registers(s: State, c: C, broker: int, checkpoint: int, first: int) -> None:
    """A broker registers a new incarnation; if the old one was the leader, any eligible replica is elected."""
    r, image = s.replica[broker], newest(s)
    require(has_room(s, c), bound=C.metadata_lag)
    require(not is_running(s, broker))
    require(bits.contains(image.fenced, broker) or not c.fenced_before_registration)
    unclean = is_unclean(s, c, broker)
    isr = bits.without(image.isr, broker) if unclean or c.registration_leaves_isr else image.isr
    changes = isr != image.isr or (unclean and bits.contains(s.elr, broker))
    elr = elr_after(s, c, isr, bits.only(broker) if unclean else 0)
    acceptable = bits.without(electable(s, c), broker)
    require(is_choice(s, eligible(s, c, isr, elr, acceptable) if changes else 0, first, broker))
    leader = elected(s, c, isr, elr, acceptable, first) if changes else image.leader
    leader_epoch = epoch_for(s, c, isr, leader) if changes else image.leader_epoch
    opens = c.registration_opens_epoch and leader_epoch == image.leader_epoch
    partition_epoch = image.partition_epoch + 1
    require(leader_epoch <= c.max_leader_epoch, bound=C.max_leader_epoch)
    require(not opens or image.leader_epoch < c.max_leader_epoch, bound=C.max_leader_epoch)
    require(checkpoint <= r.high_watermark)
    require(checkpoint == r.high_watermark or c.restart_high_watermark != Checkpoint.LAST)
    require(checkpoint == 0 or c.restart_high_watermark != Checkpoint.LOG_START)
    require(checkpoint == r.high_watermark or r.early == 0)
    stays = bits.contains(isr, broker) and bits.size(isr) > 1
    append_image(s)
    now = newest(s)
    if changes:
        change_isr(s, c, isr, elr, leader)
    if opens:
        now.leader_epoch += 1
        now.partition_epoch = partition_epoch
    now.broker_epoch[broker] += 1
    now.fenced = bits.with_member(now.fenced, broker)
    now.stopping = bits.without(now.stopping, broker)
    if stays:
        s.ghost_stale = bits.with_member(s.ghost_stale, broker)
    r.life = Life.RUNNING
    r.high_watermark = max(checkpoint, r.start)
    if r.early != 0:
        r.early = 0
        go_on_from(s, c, broker)
    else:
        start_from(s, c, broker)


def normalize(s: State, c: C) -> None:
    """Forget what cannot be observed, as the model does; slots without an image get NONE as leader, not broker 0."""
    for broker in range(c.brokers):
        for index in range(c.metadata_lag):
            held = s.replica[broker]
            is_alike = index == held.applied and index < s.newest and is_read_alike(s, broker, index, index + 1)
            if has_process(s, broker) and is_alike:
                held.applied = index + 1
    drop_moot_messages(s, c)
    oldest = s.newest
    for broker in range(c.brokers):
        if has_process(s, broker):
            oldest = min(oldest, s.replica[broker].applied)
    base = s.image[oldest].partition_epoch
    for m in s.alter_partitions:
        base = min(base, m.partition_epoch)
    s.newest -= oldest
    for index in range(c.metadata_lag + 1):
        if index <= s.newest:
            s.image[index] = s.image[index + oldest]
            s.image[index].partition_epoch -= base
        else:
            image = s.image[index]
            image.leader = NONE
            image.leader_epoch = 0
            image.partition_epoch = 0
            image.isr = 0
            image.fenced = 0
            image.stopping = 0
            image.raised = 0
            for broker in range(c.brokers):
                image.broker_epoch[broker] = 0
    for broker in range(c.brokers):
        r = s.replica[broker]
        if has_process(s, broker):
            r.applied -= oldest
        if r.isr != 0:
            r.partition_epoch -= base
    for m in s.alter_partitions:
        m.partition_epoch -= base


@always
def one_leader_per_epoch(s: State, c: C) -> bool:
    """Part of G-S5: no two brokers lead in the same leader epoch."""
    return all(
        not leads(s, one) or not leads(s, other) or local(s, one).leader_epoch != local(s, other).leader_epoch
        for one in range(c.brokers)
        for other in range(c.brokers)
        if other != one
    )


@sometimes
def two_brokers_lead(s: State, c: C) -> bool:
    """Two brokers lead at the same time."""
    return any(
        leads(s, one) and leads(s, other) for one in range(c.brokers) for other in range(c.brokers) if other != one
    )


def refuse_more(c: C) -> str | None:
    """Return the reason why these constants cannot be combined, or None if they can."""
    if c.movable + c.directories > 0:
        return "reassignments and log directories are not modelled here: write movable=0 and directories=0."
    if c.unclean_election or not (c.atomic_expansion and c.isr_from_metadata):
        return "this model needs unclean_election=off, atomic_expansion=on and isr_from_metadata=on."
    if c.elections > 0 and not c.any_preferred:
        return f"elections={c.elections} elects the first replica of the list: write any_preferred=on."
    return refuse(c)


EXACT = machine.MACHINE
MACHINE = replace(
    EXACT.replacing(
        name="replication-any-leader",
        sentence="data replication where any eligible replica may lead, which covers every order of the replica list",
        controller_fences_broker=controller_fences_broker,
        controller_unfences_broker=controller_unfences_broker,
        controller_begins_shutdown=controller_begins_shutdown,
        broker_stops=broker_stops,
        broker_registers=broker_registers,
        leader_requests_expansion=None,
        operator_reassigns_replicas=None,
        operator_cancels_reassignment=None,
        controller_marks_directory_offline=None,
        controller_assigns_directory=None,
        normalize=normalize,
    ),
    refuse=refuse_more,
    interchangeable=Broker,
)
PROPERTIES = tuple(
    {item.name: item for item in (one_leader_per_epoch, two_brokers_lead)}.get(item.name, item)
    for item in replication.PROPERTIES
)


def verdicts_by_order(constants: dict[str, object], *, version: str = "", only: tuple[str, ...] = ()) -> dict[str, str]:
    """Return each property's verdict with any leader, and the orders that violate it.

    Brokers are numbered in the order of the list, so the position of the first leader determines the order. The other
    brokers are alike, because all are in the ISR. Raise UsageError if `initial_isr` excludes a broker.
    """
    found = fencepost.check(MACHINE, PROPERTIES, constants=constants, version=version, only=only, symmetry=True)
    if found.constants["initial_isr"] < found.constants["brokers"]:
        raise UsageError("orders can be compared only if all brokers are in the ISR: write initial_isr=5.")
    verdicts = {item.name: item.verdict.name.lower() for item in found.properties}
    violated = tuple(name for name, verdict in verdicts.items() if verdict == "violated")
    if violated:
        orders: dict[str, list[str]] = {name: [] for name in violated}
        for first in range(found.constants["brokers"]):
            exact = fencepost.check(
                EXACT,
                replication.PROPERTIES,
                constants={**constants, "initial_leader": first},
                version=version,
                only=violated,
            )
            for item in exact.properties:
                if item.verdict is Verdict.VIOLATED:
                    orders[item.name].append(str(first + 1))
        for name, places in orders.items():
            which = f"if the first leader is number {' or '.join(places)} of the list" if places else "in no order"
            verdicts[name] = f"violated {which}"
    return verdicts


if __name__ == "__main__":
    given: dict[str, object] = dict(word.split("=", 1) for word in sys.argv[1:])
    of = str(given.pop("version", ""))
    try:
        for name, verdict in verdicts_by_order(given, version=of).items():
            sys.stdout.write(f"{name:45} {verdict}\n")
    except UsageError as error:
        sys.stderr.write(f"any_leader: {error}\n")
        sys.exit(2)
