"""Topics that are created, deleted and recreated. A broker replays these changes and applies deltas to an image.

Modelled on TopicsDelta and TopicsImage, and AssignmentsManager (KIP-858). A record is replayed into the broker's delta
when the controller writes the record. Like MetadataLoader, the broker publishes the delta after any number of records.
Simplifications: All topics have the same name; each topic has its own id and one replica, on the broker. ELRs are
always empty, because only the effect of a ClearElrRecord on the delta matters. A directory request has one replica.
"""

from typing import Annotated

from fencepost.model.language import (
    NONE,
    BitSet,
    Constants,
    Index,
    Machine,
    Range,
    Record,
    Version,
    action,
    bits,
    bound,
    require,
    shape,
    switch,
)


class C(Constants):
    """Constants of a run."""

    topics = shape(3, low=2, high=5, meaning="topics that are created one after another with the same name")
    clears = bound(1, low=0, high=3, meaning="times that all ELRs are cleared (ClearElrRecord)")
    deleted_stay_deleted = switch(
        default=True, meaning="clearing ELRs skips topics that the delta has deleted (KAFKA-19383)"
    )
    deletion_undoes_creation = switch(
        default=True, meaning="a topic that a delta creates and deletes is not listed as created (KAFKA-19497)"
    )
    created_by_name = switch(
        default=True, meaning="a delta that creates several topics with one name lists only the last (since 4.0)"
    )
    assignments_need_topics = switch(
        default=True, meaning="no directory is reported for a topic that left the image (KAFKA-17190)"
    )


Topic = Annotated[int, Index(C.topics)]
MaybeTopic = Annotated[int, Index(C.topics, none=True)]
Topics = Annotated[int, BitSet(C.topics)]


class Delta(Record):
    """The changes made by the records since the last image.

    A delta contains the topics that it changes, including new topics; the topics that it deletes from the image; and
    the topics that it lists as created. Kafka cannot apply a `broken` delta, which changes no topic.
    """

    changed: Topics
    deleted: Topics
    created: Topics
    broken: bool


class State(Record):
    """The current topic in the metadata log, the number of topics created so far, and the broker's image and delta.
    `replicas` contains the topic whose replica the broker has. There is at most one, because all topics have the same
    name. `unassigned` contains replicas whose directories the broker has not yet reported to the controller.
    """

    topic: MaybeTopic
    number: Annotated[int, Range(0, C.topics)]
    image: Topics
    delta: Delta
    replicas: Topics
    unassigned: Topics
    clears: Annotated[int, Range(0, C.clears)]


@action()
def initial(s: State, c: C) -> None:
    """There is no topic in the metadata log or in the broker's image."""
    s.topic = NONE
    s.clears = c.clears


@action()
def controller_creates_topic(s: State, c: C) -> None:
    """The controller creates the topic, with an id that was never used (TopicRecord)."""
    require(s.number < c.topics, bound=C.topics)
    require(s.topic == NONE)
    s.topic = s.number
    s.delta.changed |= bits.only(s.number)
    s.delta.created = bits.only(s.number) | (0 if c.created_by_name else s.delta.created)
    s.number += 1


@action()
def controller_deletes_topic(s: State, c: C) -> None:
    """The controller deletes the topic (RemoveTopicRecord).

    If the delta created the topic, it no longer contains the topic. Before KAFKA-19497, it listed the topic as created.
    """
    require(s.topic != NONE)
    s.delta.changed = bits.without(s.delta.changed, s.topic)
    s.delta.deleted |= s.image & bits.only(s.topic)
    if c.deletion_undoes_creation:
        s.delta.created = bits.without(s.delta.created, s.topic)
    s.topic = NONE


@action()
def controller_clears_elrs(s: State, c: C) -> None:
    """The cluster's min ISR changes, which clears all ELRs, so the delta changes every topic of the image.

    Before KAFKA-19383, the delta also changed the topics that it had deleted. Since KAFKA-19383, the delta also changes
    the topics that it lists as created. A created topic that was deleted again has no partitions to change, which
    causes a NullPointerException, both immediately and when the delta is applied.
    """
    d = s.delta
    is_gone = d.created & ~d.changed != 0
    require(s.clears > 0, bound=C.clears)
    s.clears -= 1
    if c.deleted_stay_deleted:
        d.changed |= s.image & ~d.deleted
        d.broken = d.broken or is_gone
    else:
        d.changed |= s.image


@action()
def broker_publishes(s: State, c: C) -> None:
    """The broker applies the delta to its image, and creates replicas of topics that are new to it.

    TopicsDelta.apply: first deletions, then changes. The directory of each new replica is unassigned. If a delta cannot
    be applied, the image stays (MetadataBatchLoader.applyDeltaAndUpdate), but ReplicaManager.applyDelta deletes and
    creates replicas. A replica is not created if the broker still has the replica of another topic with that name
    (getOrCreatePartition). This happens if the other topic was not in the broker's image when it was deleted.
    """
    d = s.delta
    kept = 0 if d.deleted != 0 else s.replicas
    new = 0 if kept != 0 else d.changed & ~s.image
    require(d.changed != 0 or d.deleted != 0 or d.created != 0)
    s.replicas = kept | new
    s.unassigned |= new
    if not d.broken:
        s.image = (s.image & ~d.deleted) | d.changed
    d.changed = 0
    d.deleted = 0
    d.created = 0
    d.broken = False


@action(topic=Topic)
def broker_assigns_directory(s: State, c: C, topic: int) -> None:
    """The broker reports the directory of a replica, or drops the replica of a topic that is no longer in its image.

    The controller answers with a record that changes the topic (PartitionChangeRecord), and rejects a report for a
    topic that does not exist. Until 3.8.0, the broker then repeats the report forever.
    """
    require(bits.contains(s.unassigned, topic))
    require(topic == s.topic or (c.assignments_need_topics and not bits.contains(s.image, topic)))
    s.unassigned = bits.without(s.unassigned, topic)
    if topic == s.topic and bits.contains(s.image, topic):
        s.delta.changed |= bits.only(topic)


_WITHOUT_19497 = {"deletion_undoes_creation": 0}
VERSIONS = (
    Version(
        "kafka-3.8",
        "3.7.2, 3.8.1 and 3.9, with KAFKA-17190; no ELR",
        {**_WITHOUT_19497, "created_by_name": 0, "clears": 0},
        (Version("kafka-3.8.0", "3.7.0 to 3.8.0, without KAFKA-17190", {"assignments_need_topics": 0}),),
    ),
    Version(
        "kafka-4.1",
        "4.0.1 to 4.1.2, without KAFKA-19497",
        _WITHOUT_19497,
        (Version("kafka-4.0.0", "without KAFKA-19383", {"deleted_stay_deleted": 0}),),
    ),
    Version("kafka-4.2", "4.2 to 4.4, with KAFKA-19497", {}),
)

MACHINE = Machine(
    name="topic-deltas",
    sentence="topics that are created, deleted and recreated, in one delta of a broker or in several deltas (KIP-516)",
    state=State,
    constants=C,
    initial=initial,
    actions=(
        *(controller_creates_topic, controller_deletes_topic, controller_clears_elrs),
        *(broker_publishes, broker_assigns_directory),
    ),
    versions=VERSIONS,
    source="KIP-516, KIP-858; apache/kafka: TopicsDelta, AssignmentsManager, 4.3.1",
)
