"""Properties of topic images: images agree with the metadata log, and replicas' directories are eventually assigned."""

from fencepost.model.language import NONE, always, bits, leads_to, sometimes, weak
from fencepost.model.language.actions import properties_in
from fencepost.model.topics.machine import C, State, Topic, broker_assigns_directory, broker_publishes


@always
def images_follow_the_log(s: State, c: C) -> bool:
    """TD-S1: applying the broker's delta to its image results in exactly the topic that the metadata log contains."""
    applied = s.image if s.delta.broken else (s.image & ~s.delta.deleted) | s.delta.changed
    return applied == (0 if s.topic == NONE else bits.only(s.topic))


@always
def created_topics_exist(s: State, c: C) -> bool:
    """TD-S2: a topic that a delta lists as created exists in the metadata log."""
    return s.delta.created & ~(0 if s.topic == NONE else bits.only(s.topic)) == 0


@sometimes
def topic_is_created_again_in_one_delta(s: State, c: C) -> bool:
    """A delta deletes a topic and creates the next topic of the same name."""
    return s.delta.deleted != 0 and s.delta.created != 0


@sometimes
def topic_is_unassigned_when_deleted(s: State, c: C) -> bool:
    """A topic is deleted before its replica's directory is assigned."""
    return s.unassigned != 0 and s.topic == NONE


PROPERTIES = properties_in(globals())


def is_unassigned(s: State, c: C, topic: int) -> bool:
    """Return whether the broker has not yet reported the directory of the topic's replica."""
    return bits.contains(s.unassigned, topic)


def is_not_unassigned(s: State, c: C, topic: int) -> bool:
    """Return whether the broker has reported the directory of the topic's replica, or need not report it."""
    return not is_unassigned(s, c, topic)


assignments_end = leads_to(
    "assignments-end",
    "TD-L1: each replica's directory is eventually assigned, or the replica is dropped with its topic.",
    when=is_unassigned,
    then=is_not_unassigned,
    fair=(weak(broker_publishes), weak(broker_assigns_directory, each="topic")),
    topic=Topic,
)

LIVENESS = (assignments_end,)
