"""A broker's registration, heartbeats, and session at the active controller, in a model with time.

Time is counted in ticks, each of which is an eighth of broker.session.timeout.ms. A heartbeat that reaches an active
controller takes at most one tick. Modelled on BrokerLifecycleManager, BrokerHeartbeatManager, ClusterControlManager and
ReplicationControlManager. Simplifications: There is one broker, because each broker has its own session. One controller
represents the quorum; it may be inactive, and its writes are committed immediately. A registration includes the
heartbeat that unfences the broker. A controlled shutdown is one step. The controller looks for expired sessions in
every tick; Kafka does so eight times per session (maybeFenceStaleBrokerPeriodNs).
"""

from enum import IntEnum
from typing import Annotated

from fencepost.model.language import (
    NONE,
    Constants,
    Machine,
    Range,
    Record,
    Version,
    action,
    bound,
    choice,
    require,
    switch,
)


class Sessions(IntEnum):
    """The fenced brokers that have a session: until 3.9, none; in 4.0, those that were in contact and, under a new
    controller, all; since 4.1, those that were in contact with this controller (KAFKA-19130).
    """

    UNFENCED = 0
    ALL = 1
    IN_CONTACT = 2


class C(Constants):
    """Constants of a run."""

    session = bound(8, low=1, high=16, meaning="broker.session.timeout.ms, in ticks")
    interval = bound(2, low=1, high=8, meaning="broker.heartbeat.interval.ms, in ticks")
    request_timeout = bound(2, low=1, high=8, meaning="ticks after which a heartbeat times out (KAFKA-19294)")
    longest_backoff = bound(
        0,
        low=0,
        high=16,
        meaning="maximum number of ticks between failed heartbeats; 0 means the heartbeat interval (KAFKA-19294)",
    )
    outage = bound(4, low=0, high=16, meaning="maximum number of ticks without an active controller during a failover")
    overload = bound(8, low=0, high=16, meaning="ticks during which a controller is overloaded")
    freeze = bound(9, low=0, high=16, meaning="ticks during which a frozen broker sends no heartbeat (KAFKA-19586)")

    failovers = bound(1, low=0, high=2, meaning="failovers of the active controller")
    overloads = bound(0, low=0, high=2, meaning="times that the controller is overloaded")
    crashes = bound(1, low=0, high=2, meaning="crashes of the broker")
    stops = bound(0, low=0, high=2, meaning="controlled shutdowns of the broker")
    freezes = bound(0, low=0, high=2, meaning="times that the broker freezes")
    amendments = bound(0, low=0, high=2, meaning="repeated registrations of the same incarnation (KIP-858)")

    expired_heartbeats_count = switch(default=True, meaning="an expired heartbeat counts as contact (KAFKA-15019)")
    fenced_sessions = choice(
        Sessions.IN_CONTACT, meaning="brokers that have a session: unfenced, all, in-contact (KAFKA-19130)"
    )
    activation_opens_sessions = switch(
        default=True, meaning="a new controller opens a session for each unfenced broker"
    )
    amendment_opens_epoch = switch(
        default=False, meaning="a broker that registers again gets a new broker epoch (KAFKA-16952)"
    )


Ticks = Annotated[int, Range(0, 16)]
Epoch = Annotated[int, Range(0, C.crashes + C.stops + C.amendments + 1)]


class Broker(Record):
    """A broker's process, and the broker epoch that it knows.

    `waiting` means that the broker has sent a heartbeat, which is `lost` if it was sent to an inactive controller.
    `remaining` counts the ticks until the heartbeat times out or the next one is sent. `failures` counts failed
    heartbeats since the last response, up to the largest number that affects the backoff.
    """

    running: bool
    epoch: Epoch
    waiting: bool
    lost: bool
    remaining: Ticks
    failures: Annotated[int, Range(0, 4)]


class Controller(Record):
    """The active controller, and the metadata log: the broker's epoch, and whether it is fenced. `contact` counts the
    ticks since the broker's last contact, or is NONE without a session; the log does not contain it.
    """

    active: bool
    without: Ticks
    overloaded: Ticks
    epoch: Epoch
    fenced: bool
    contact: Annotated[int, Range(NONE, C.session + 1)]


class Budget(Record):
    """The remaining budget of events."""

    failovers: Annotated[int, Range(0, C.failovers)]
    overloads: Annotated[int, Range(0, C.overloads)]
    crashes: Annotated[int, Range(0, C.crashes)]
    stops: Annotated[int, Range(0, C.stops)]
    freezes: Annotated[int, Range(0, C.freezes)]
    amendments: Annotated[int, Range(0, C.amendments)]


class State(Record):
    """One broker and the active controller. `ghost_clean` means that the registered process has completed a controlled
    shutdown; `ghost_new` means that a controller has become active since that shutdown.
    """

    broker: Broker
    controller: Controller
    budget: Budget
    ghost_clean: bool
    ghost_new: bool


@action()
def initial(s: State, c: C) -> None:
    """The broker is running, registered and unfenced, and has just been in contact."""
    s.broker.running = True
    s.broker.epoch = 1
    s.broker.remaining = c.interval
    s.controller.active = True
    s.controller.epoch = 1
    s.budget.failovers = c.failovers
    s.budget.overloads = c.overloads
    s.budget.crashes = c.crashes
    s.budget.stops = c.stops
    s.budget.freezes = c.freezes
    s.budget.amendments = c.amendments


def handles(s: State) -> bool:
    """Return whether a controller is active and handles requests in time."""
    return s.controller.active and s.controller.overloaded == 0


def has_session(s: State, c: C) -> bool:
    """Return whether a session exists and has not expired (BrokerHeartbeatTracker.hasValidSession)."""
    return 0 <= s.controller.contact <= c.session


def is_tracked(s: State, c: C) -> bool:
    """Return whether a contact by the broker opens a session. Until 3.9, contacts by a fenced broker open none.

    BrokerHeartbeatManager.touch; since 4.0, BrokerHeartbeatTracker.
    """
    return c.fenced_sessions != Sessions.UNFENCED or not s.controller.fenced


def fail(s: State, c: C) -> None:
    """Schedule the next heartbeat after a failure, with or without exponential backoff.

    Modelled on BrokerLifecycleManager.scheduleNextCommunicationAfterFailure.
    """
    b = s.broker
    b.waiting = False
    b.lost = False
    b.remaining = c.interval if c.longest_backoff == 0 else min(1 << b.failures, c.longest_backoff)
    b.failures = 0 if c.longest_backoff == 0 else min(b.failures + 1, 4)


def end_process(s: State) -> None:
    """End the broker's process; a heartbeat in flight is lost."""
    s.broker.running = False
    s.broker.waiting = False
    s.broker.lost = False
    s.broker.failures = 0


@action()
def broker_sends_heartbeat(s: State, c: C) -> None:
    """A broker sends its next heartbeat, which goes to an inactive controller if no controller is active.

    A broker that waits for the response to a registration sends no heartbeat.
    """
    b = s.broker
    require(b.running)
    require(not b.waiting)
    require(b.remaining == 0)
    require(b.epoch == s.controller.epoch)
    b.waiting = True
    b.lost = not s.controller.active
    b.remaining = c.request_timeout


@action()
def controller_gets_heartbeat(s: State, c: C) -> None:
    """The active controller records the contact, and unfences the broker if it is fenced; the broker gets a response.

    In an overloaded controller's queue, the heartbeat expires and fails, but since 3.5, processExpiredBrokerHeartbeat
    records the contact. Since 4.0, the contact is recorded on arrival (ClusterControlManager.trackBrokerHeartbeat).
    """
    b, k = s.broker, s.controller
    is_handled = handles(s)
    require(b.waiting)
    require(not b.lost)
    if is_handled or (c.expired_heartbeats_count and is_tracked(s, c)):
        k.contact = 0
    if is_handled:
        k.fenced = False
        b.waiting = False
        b.failures = 0
        b.remaining = c.interval
    else:
        fail(s, c)


@action()
def heartbeat_fails(s: State, c: C) -> None:
    """A heartbeat to an inactive controller is rejected, or its request times out."""
    require(s.broker.lost)
    fail(s, c)


@action()
def controller_fences_broker(s: State, c: C) -> None:
    """The session expires: the broker is fenced and loses leadership (maybeFenceOneStaleBroker)."""
    require(s.controller.contact > c.session)
    s.controller.contact = NONE
    s.controller.fenced = True


@action()
def controller_fails(s: State, c: C) -> None:
    """The active controller fails; the times of contacts and a heartbeat in flight are lost."""
    require(s.budget.failovers > 0, bound=C.failovers)
    require(s.controller.active)
    s.budget.failovers -= 1
    s.controller.active = False
    s.controller.overloaded = 0
    s.controller.contact = NONE
    s.broker.lost = s.broker.waiting


@action()
def controller_becomes_active(s: State, c: C) -> None:
    """A new controller is active. This controller has received no heartbeats, and opens sessions for unfenced brokers.

    ClusterControlManager.activate. In 4.0, the controller also opens sessions for fenced brokers (KAFKA-19130).
    """
    k = s.controller
    require(not k.active)
    k.active = True
    k.without = 0
    k.contact = 0 if c.activation_opens_sessions and (not k.fenced or c.fenced_sessions == Sessions.ALL) else NONE
    s.ghost_new = s.ghost_clean


@action()
def controller_is_overloaded(s: State, c: C) -> None:
    """For some time, events wait in the active controller's queue longer than a heartbeat's timeout."""
    require(s.budget.overloads > 0, bound=C.overloads)
    require(handles(s))
    s.budget.overloads -= 1
    s.controller.overloaded = c.overload


@action()
def broker_freezes(s: State, c: C) -> None:
    """A running broker sends nothing for some time, for example while it loads metadata (KAFKA-19586)."""
    require(s.budget.freezes > 0, bound=C.freezes)
    require(s.broker.running)
    require(not s.broker.waiting)
    s.budget.freezes -= 1
    s.broker.remaining = max(s.broker.remaining, c.freeze)


@action()
def broker_crashes(s: State, c: C) -> None:
    """A running broker crashes, and the controller does not notice."""
    require(s.budget.crashes > 0, bound=C.crashes)
    require(s.broker.running)
    s.budget.crashes -= 1
    end_process(s)


@action()
def broker_stops(s: State, c: C) -> None:
    """A broker requests its controlled shutdown in a heartbeat. The controller fences the broker, which then stops.

    The heartbeat counts as a contact. Until 3.9, a fenced broker has no session
    (BrokerHeartbeatManager.hasValidSession). A lost heartbeat must fail before the request is sent.
    """
    require(s.budget.stops > 0, bound=C.stops)
    require(handles(s))
    require(s.broker.running)
    require(not s.broker.lost)
    require(s.broker.epoch == s.controller.epoch)
    s.budget.stops -= 1
    s.controller.fenced = True
    s.controller.contact = NONE if c.fenced_sessions == Sessions.UNFENCED else 0
    s.ghost_clean = True
    end_process(s)


@action()
def controller_registers_broker(s: State, c: C) -> None:
    """The controller registers a new process in a new broker epoch (ClusterControlManager.registerBroker).

    Until the previous process's session expires, the answer is DUPLICATE_BROKER_REGISTRATION, and the broker retries.
    """
    b, k = s.broker, s.controller
    require(handles(s))
    require(not b.running)
    require(not has_session(s, c))
    k.fenced = False
    k.contact = 0
    k.epoch += 1
    b.running = True
    b.epoch = k.epoch
    b.remaining = c.interval
    s.ghost_clean = False
    s.ghost_new = False


@action()
def controller_amends_registration(s: State, c: C) -> None:
    """A process registers again, for example when its directories become known after an upgrade (KAFKA-16757). Until
    3.8, the registration starts a new broker epoch, which the process does not know before the response (KAFKA-16952).

    Until 3.9, the registration counts as a contact; in every release, the process sends a heartbeat after the response.
    """
    b, k = s.broker, s.controller
    require(s.budget.amendments > 0, bound=C.amendments)
    require(handles(s))
    require(b.running)
    require(not b.waiting)
    require(b.epoch == k.epoch)
    s.budget.amendments -= 1
    k.epoch += c.amendment_opens_epoch
    if c.fenced_sessions == Sessions.UNFENCED and is_tracked(s, c):
        k.contact = 0
    b.remaining = 0


@action()
def broker_learns_epoch(s: State, c: C) -> None:
    """A re-registered process receives the response, and adopts the broker epoch in it."""
    require(s.broker.running)
    require(s.broker.epoch != s.controller.epoch)
    s.broker.epoch = s.controller.epoch


@action()
def time_passes(s: State, c: C) -> None:
    """A tick passes, unless another event must happen first, such as the end of an outage."""
    b, k = s.broker, s.controller
    require(not b.running or (b.remaining > 0 and b.epoch == k.epoch))
    require(not b.waiting or b.lost or b.remaining == c.request_timeout)
    require(k.contact <= c.session)
    require(k.active or k.without < c.outage)
    b.remaining = max(b.remaining - 1, 0)
    k.overloaded = max(k.overloaded - 1, 0)
    k.without = k.without if k.active else k.without + 1
    k.contact = k.contact if k.contact == NONE else k.contact + 1


_OLD = {"request_timeout": 4, "longest_backoff": 8, "fenced_sessions": Sessions.UNFENCED}
_WITHOUT_19294 = {"request_timeout": 4, "longest_backoff": 4}
VERSIONS = (
    Version("kafka-3.4", "without KAFKA-15019", {**_OLD, "expired_heartbeats_count": 0}),
    Version("kafka-3.8", "3.7 and 3.8, without KAFKA-16952", {**_OLD, "amendment_opens_epoch": 1}),
    Version(
        "kafka-3.9",
        "as 3.9.2, with KAFKA-19294",
        {"fenced_sessions": Sessions.UNFENCED},
        (Version("kafka-3.9.1", "without KAFKA-19294", _OLD),),
    ),
    Version(
        "kafka-4.0",
        "the rules of 4.0.1: a session outlives a controlled shutdown",
        {"fenced_sessions": Sessions.ALL},
        (Version("kafka-4.0.0", "without KAFKA-19294", _WITHOUT_19294),),
    ),
    Version("kafka-4.1", "4.1 to 4.4, with KAFKA-19130: a new controller has no session for fenced brokers", {}),
)

MACHINE = Machine(
    name="broker-sessions",
    sentence="registrations, heartbeats and sessions of a broker: how long a crashed broker remains leader (KIP-631)",
    state=State,
    constants=C,
    initial=initial,
    actions=(
        *(broker_sends_heartbeat, controller_gets_heartbeat, heartbeat_fails, controller_fences_broker),
        *(controller_fails, controller_becomes_active, controller_is_overloaded, broker_freezes, broker_crashes),
        *(broker_stops, controller_registers_broker, controller_amends_registration, broker_learns_epoch, time_passes),
    ),
    versions=VERSIONS,
    source="KIP-631, KIP-841; apache/kafka: BrokerLifecycleManager, ClusterControlManager, BrokerHeartbeatTracker",
)
