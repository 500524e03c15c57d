"""Properties of broker sessions: live brokers stay unfenced, crashed ones are fenced, and new processes register."""

from fencepost.model.language import always, at_most, sometimes, weak
from fencepost.model.language.actions import properties_in
from fencepost.model.sessions.machine import (
    C,
    State,
    controller_becomes_active,
    controller_fences_broker,
    has_session,
    time_passes,
)


@always
def live_brokers_stay_unfenced(s: State, c: C) -> bool:
    """BS-S1: a running, registered broker is not fenced."""
    return not (s.broker.running and s.controller.fenced)


@always
def processes_know_their_broker_epoch(s: State, c: C) -> bool:
    """BS-S2: a registered process knows its broker epoch, which it must include in its requests."""
    return not s.broker.running or s.broker.epoch == s.controller.epoch


def is_refused(s: State, c: C) -> bool:
    """Return whether a new process would be rejected because of its predecessor's session."""
    return not s.broker.running and s.controller.active and has_session(s, c)


@always
def clean_restarts_are_not_refused(s: State, c: C) -> bool:
    """BS-S3: a new process is not rejected because of a predecessor that has completed a controlled shutdown."""
    return not (s.ghost_clean and is_refused(s, c))


@always
def new_controllers_refuse_no_clean_restart(s: State, c: C) -> bool:
    """BS-S4: a controller that became active after a controlled shutdown does not reject the broker's next process."""
    return not (s.ghost_new and is_refused(s, c))


@sometimes
def registration_is_refused(s: State, c: C) -> bool:
    """A new process is rejected because the session of its crashed predecessor has not expired."""
    return is_refused(s, c) and not s.ghost_clean


@sometimes
def dead_broker_is_fenced(s: State, c: C) -> bool:
    """A broker that has crashed is fenced."""
    return not s.broker.running and s.controller.fenced and not s.ghost_clean


PROPERTIES = properties_in(globals())


def is_dead(s: State, c: C) -> bool:
    """Return whether the broker's process has died and the broker is not yet fenced."""
    return not s.broker.running and not s.controller.fenced


def is_not_dead(s: State, c: C) -> bool:
    """Return whether the broker is fenced, or a running process is registered."""
    return not is_dead(s, c)


dead_brokers_are_fenced = at_most(
    "dead-brokers-are-fenced",
    "BS-L1: a crashed broker is fenced or registers again within a bounded time. Until the crashed broker is fenced, "
    "a partition may have a leader that serves no requests.",
    costs={time_passes: 1},
    unit="ticks",
    when=is_dead,
    then=is_not_dead,
    fair=(weak(time_passes), weak(controller_fences_broker), weak(controller_becomes_active)),
)

LIVENESS = (dead_brokers_are_fenced,)
