"""Liveness of the replication protocol, provided that messages arrive and crashed brokers restart.

Fairness: every broker applies metadata, fetches, and acts on the responses that it gets. The controller answers every
leader, and unfences brokers that may be unfenced. A broker whose process is down is started again, and a controlled
shutdown ends. Fencing, crashes, ISR shrinks, elections and operators' actions need not happen, and a failed directory
need not recover. Only `normalize` removes a response that the leader no longer waits for. Without `normalize`, such a
response would stay in flight forever, and the leader, which has one request in flight, would never send another.
"""

from fencepost.invariants.replication import has_record
from fencepost.model.cluster import controller, directories, follower, leader, lifecycle, metadata, producer
from fencepost.model.cluster.constants import C
from fencepost.model.cluster.leader import serves
from fencepost.model.cluster.state import Broker, RecordId, State, is_running, leads, local, newest
from fencepost.model.language import NONE, at_most, bits, leads_to, weak
from fencepost.model.language.actions import properties_in

PROGRESS = (
    weak(metadata.broker_applies_metadata, each="broker"),
    weak(metadata.broker_applies_configs, each="broker"),
    weak(
        leader.leader_handles_fetch,
        leader.leader_reports_divergence,
        leader.leader_tells_epoch_end,
        each=("leader", "follower"),
    ),
    weak(follower.follower_appends, follower.follower_truncates, each="follower"),
    weak(leader.leader_requests_expansion, each="leader"),
    weak(
        controller.controller_applies_alter_partition,
        controller.controller_finds_replica_ineligible,
        controller.controller_refuses_alter_partition,
        each="m.leader",
    ),
    weak(leader.leader_learns_change_applied, leader.leader_learns_change_refused, each="m.leader"),
    weak(controller.controller_unfences_broker, each="broker"),
    weak(lifecycle.broker_stops, each="broker"),
)
"""Actions of running brokers and of the controller."""
RESTARTS = weak(lifecycle.broker_registers, each="broker")
"""A broker that is down is restarted."""
FAIR = (*PROGRESS, RESTARTS)
DIRECTORIES = (
    weak(directories.controller_marks_directory_offline, each="broker"),
    weak(directories.controller_assigns_directory, each="broker"),
)
"""Brokers' reports to the controller about log directories."""


def is_active(s: State, broker: int) -> bool:
    """Return whether the broker is running and the controller considers it active."""
    image = newest(s)
    return is_running(s, broker) and not bits.contains(image.fenced | image.stopping, broker)


def is_down(s: State, c: C, broker: int) -> bool:
    """The broker's process is down."""
    return not is_running(s, broker)


def runs_unfenced(s: State, c: C, broker: int) -> bool:
    """The broker runs and is not fenced."""
    return is_running(s, broker) and not bits.contains(newest(s).fenced, broker)


broker_returns = leads_to(
    "broker-returns",
    "G-L1: a broker that was down eventually runs again and is unfenced.",
    when=is_down,
    then=runs_unfenced,
    fair=FAIR,
    broker=Broker,
)


def is_fenced(s: State, c: C, broker: int) -> bool:
    """The broker runs and is fenced."""
    return is_running(s, broker) and bits.contains(newest(s).fenced, broker)


def is_unfenced(s: State, c: C, broker: int) -> bool:
    """The broker is not fenced."""
    return not bits.contains(newest(s).fenced, broker)


fenced_broker_is_unfenced = leads_to(
    "fenced-broker-is-unfenced",
    "G-L2: a running broker that is fenced is eventually unfenced.",
    when=is_fenced,
    then=is_unfenced,
    fair=FAIR,
    broker=Broker,
)


def waits(s: State, c: C, leader: int, record: int) -> bool:
    """A producer waits for the acknowledgement of the write."""
    return record != 0 and any(s.replica[leader].waiting[offset] == record for offset in range(c.max_records))


def waits_no_more(s: State, c: C, leader: int, record: int) -> bool:
    """No producer waits for the acknowledgement of the write."""
    return not waits(s, c, leader, record)


writes_are_answered = leads_to(
    "writes-are-answered",
    "G-L3: every write that a leader has appended is eventually answered, with success or with an error.",
    when=waits,
    then=waits_no_more,
    fair=FAIR,
    leader=Broker,
    record=RecordId,
)
writes_wait_for_nobody_who_left = leads_to(
    "writes-wait-for-nobody-who-left",
    "G-L3 without restarts, fencing and ISR shrinks: a write is answered even if another broker has shut down.",
    when=waits,
    then=waits_no_more,
    fair=PROGRESS,
    without=(
        lifecycle.broker_registers,
        controller.controller_fences_broker,
        leader.leader_requests_shrink,
        leader.follower_lags_too_long,
    ),
    leader=Broker,
    record=RecordId,
)


def is_acknowledged(s: State, c: C, broker: int, record: int) -> bool:
    """The record was acknowledged to its producer."""
    return record != 0 and bits.contains(s.ghost_acknowledged, record)


def is_replicated(s: State, c: C, broker: int, record: int) -> bool:
    """The broker has the record or no longer has a replica, or its log directory has failed."""
    r = s.replica[broker]
    return has_record(r, record) or bits.contains(newest(s).missing, broker) or r.offline != 0


acknowledged_reaches_all = leads_to(
    "acknowledged-reaches-all",
    "G-L4: every acknowledged record eventually reaches every replica.",
    when=is_acknowledged,
    then=is_replicated,
    fair=FAIR,
    broker=Broker,
    record=RecordId,
)


def has_pending_change(s: State, c: C, leader: int) -> bool:
    """The leader waits for the outcome of an ISR change."""
    return leads(s, leader) and s.replica[leader].proposed_isr != 0


def has_no_pending_change(s: State, c: C, leader: int) -> bool:
    """The broker does not wait for an ISR change, or no longer leads."""
    return not has_pending_change(s, c, leader)


pending_change_is_settled = leads_to(
    "pending-change-is-settled",
    "G-L5: a leader eventually learns the outcome of each ISR change that it has requested, or stops leading.",
    when=has_pending_change,
    then=has_no_pending_change,
    fair=FAIR,
    leader=Broker,
)


def is_offline(s: State, c: C) -> bool:
    """There is no leader, although a member of the ISR or ELR is unfenced and its log directory is online."""
    image = newest(s)
    return image.leader == NONE and (image.isr | s.elr) & ~image.fenced & ~s.offline != 0


def has_no_leader(s: State, c: C) -> bool:
    """There is no leader in the metadata."""
    return newest(s).leader == NONE


def has_leader(s: State, c: C) -> bool:
    """There is a leader in the metadata."""
    return newest(s).leader != NONE


offline_partition_is_led = leads_to(
    "offline-partition-is-led",
    "G-L6: a partition without a leader eventually gets a leader, if the ISR or the ELR has an unfenced member.",
    when=is_offline,
    then=has_leader,
    fair=FAIR,
)
partition_is_led_although_a_directory_failed = leads_to(
    "partition-is-led-although-a-directory-failed",
    "G-L6c: a partition without a leader eventually gets a leader, if brokers restart and report their directories.",
    when=has_no_leader,
    then=has_leader,
    fair=(*FAIR, *DIRECTORIES),
)
partition_is_led_again = leads_to(
    "partition-is-led-again",
    "G-L6b: a partition without a leader eventually gets a leader, if all brokers restart.",
    when=has_no_leader,
    then=has_leader,
    fair=FAIR,
)


def leader_is_offline(s: State, c: C) -> bool:
    """The log directory of the controller's leader has failed."""
    return newest(s).leader != NONE and s.replica[newest(s).leader].offline != 0


def leader_is_online(s: State, c: C) -> bool:
    """There is no leader, or the leader's log directory is online."""
    return not leader_is_offline(s, c)


offline_leader_is_replaced = leads_to(
    "offline-leader-is-replaced",
    "G-L9: a leader whose log directory has failed eventually stops leading.",
    when=leader_is_offline,
    then=leader_is_online,
    fair=(*FAIR, *DIRECTORIES),
)


def is_behind(s: State, c: C, broker: int) -> bool:
    """A running broker has not applied all metadata."""
    return is_running(s, broker) and s.replica[broker].applied != s.newest


def is_up_to_date(s: State, c: C, broker: int) -> bool:
    """The broker has applied all metadata, or its process is down."""
    return not is_behind(s, c, broker)


metadata_converges = leads_to(
    "metadata-converges",
    "G-L7: a running broker eventually applies all metadata or crashes, even without a controlled shutdown.",
    when=is_behind,
    then=is_up_to_date,
    fair=FAIR,
    without=(lifecycle.broker_stops,),
    broker=Broker,
)


def leads_no_more(s: State, c: C, broker: int) -> bool:
    """A broker believes that it leads, but the controller's metadata has another leader or no leader."""
    return leads(s, broker) and newest(s).leader != broker


def knows_who_leads(s: State, c: C, broker: int) -> bool:
    """The controller's leader is this broker, or the broker does not believe that it leads."""
    return not leads_no_more(s, c, broker)


deposed_leader_steps_down = leads_to(
    "deposed-leader-steps-down",
    "B18: a deposed leader eventually stops leading, even without a shutdown, so that clients are redirected.",
    when=leads_no_more,
    then=knows_who_leads,
    fair=FAIR,
    without=(lifecycle.broker_stops,),
    broker=Broker,
)


def is_unaware(s: State, c: C, leader: int, follower: int) -> bool:
    """The leader serves the follower, which does not know that some of its records are committed."""
    r, f = s.replica[leader], s.replica[follower]
    return serves(s, c, leader, follower) and f.high_watermark < min(r.high_watermark, f.end)


def is_aware(s: State, c: C, leader: int, follower: int) -> bool:
    """The follower knows which of its records are committed, or follows another leader."""
    return not is_unaware(s, c, leader, follower)


followers_learn_the_high_watermark = leads_to(
    "followers-learn-the-high-watermark",
    "K1166-S4: a follower eventually learns its leader's high watermark, up to its log end, without another write.",
    when=is_unaware,
    then=is_aware,
    fair=FAIR,
    without=(producer.leader_appends,),
    leader=Broker,
    follower=Broker,
)


def is_left_out(s: State, c: C, broker: int) -> bool:
    """An active broker with an online replica is outside the ISR, although the partition has a leader."""
    image = newest(s)
    out = image.isr | image.missing | s.offline
    return is_active(s, broker) and image.leader != NONE and not bits.contains(out, broker)


def is_not_left_out(s: State, c: C, broker: int) -> bool:
    """The broker is in the ISR, inactive or without an online replica, or the partition has no leader."""
    return not is_left_out(s, c, broker)


follower_rejoins = leads_to(
    "follower-rejoins",
    "G-L8: an active broker outside the ISR eventually joins it, unless the broker becomes inactive or there is no "
    "leader.",
    when=is_left_out,
    then=is_not_left_out,
    fair=FAIR,
    broker=Broker,
)


def is_caught_up_again(s: State, c: C, broker: int) -> bool:
    """A restarted broker has caught up but is not in the ISR.

    The broker has every record that the leader has committed, and the leader knows the broker's new broker epoch.
    """
    image = newest(s)
    if not is_left_out(s, c, broker) or image.broker_epoch[broker] == 0 or not leads(s, image.leader):
        return False
    known = local(s, image.leader)
    return (
        known.broker_epoch[broker] == image.broker_epoch[broker]
        and not bits.contains(known.fenced | known.stopping, broker)
        and s.replica[broker].end >= s.replica[image.leader].high_watermark
    )


restarted_broker_rejoins = leads_to(
    "restarted-broker-rejoins",
    "KIP903-L1: a restarted broker that has caught up eventually joins the ISR, once the leader knows its new broker "
    "epoch.",
    when=is_caught_up_again,
    then=is_not_left_out,
    fair=FAIR,
    broker=Broker,
)


def is_settled(s: State, c: C, broker: int) -> bool:
    """The broker is in the ISR with all of the leader's records, is inactive, or has no leader or no online replica."""
    image = newest(s)
    if not is_active(s, broker) or image.leader == NONE or bits.contains(image.missing | s.offline, broker):
        return True
    return bits.contains(image.isr, broker) and s.replica[broker].end == s.replica[image.leader].end


drops_until_settled = at_most(
    "drops-until-settled",
    "The number of requests to shrink the ISR until a removed follower has rejoined with all records.",
    costs={leader.leader_requests_shrink: 1},
    unit="requests to drop followers",
    when=is_left_out,
    then=is_settled,
    fair=FAIR,
    broker=Broker,
)

PROPERTIES = properties_in(globals())
