"""State records and initial state of the leader discovery model.

The model simplifies Kafka to keep states small:

* The controller's log is a list of images, one per change. Brokers, responses and hints refer to images by index.
* There is one client, with one request in flight for its partitions and one for metadata. An endpoint (host, port and
  rack) is represented by the number of the broker's restarts. A connection to an old endpoint fails.
* A broker that stops leads no partition, because its partitions have been moved away (controlled shutdown). The broker
  returns with the newest metadata.
* A topic is deleted and recreated in one change; its leader epochs start again at 0.
"""

from enum import IntEnum
from typing import Annotated

from fencepost.model.clients.discovery.constants import C
from fencepost.model.language import NONE, Array, BitSet, Index, Per, Range, Record, Size, action

UNLIMITED = 7
"""Value of `lagging` that allows any number of answers with old metadata from any broker."""


class Work(IntEnum):
    """The client's next task for a partition: send now, send after the backoff, wait for the response, or nothing."""

    READY = 0
    BACKOFF = 1
    SENT = 2
    DONE = 3


class Stage(IntEnum):
    """The progress of a request."""

    NONE = 0
    SENT = 1
    ANSWERED = 2


class Outcome(IntEnum):
    """The result for one partition in a broker's response."""

    SUCCESS = 0
    NOT_LEADER = 1
    FENCED_EPOCH = 2
    UNKNOWN_EPOCH = 3


Broker = Annotated[int, Index(C.brokers)]
Partition = Annotated[int, Index(C.partitions)]
Partitions = Annotated[int, BitSet(C.partitions)]
Epoch = Annotated[int, Range(0, C.elections)]
MaybeEpoch = Annotated[int, Range(NONE, C.elections)]
Topic = Annotated[int, Range(0, C.recreations)]
Endpoint = Annotated[int, Range(0, C.restarts)]
MaybeEndpoint = Annotated[int, Range(NONE, C.restarts)]
ImageIndex = Annotated[int, Index(C.changes + 1)]


class Leader(Record):
    """A partition's topic incarnation, its leader, and the leader's epoch."""

    topic: Topic
    leader: Broker
    epoch: Epoch


class Image(Record):
    """The cluster's metadata after one change: leaders, and the endpoints of live brokers."""

    partition: Annotated[Array[Leader], Per(Partition)]
    endpoint: Annotated[Array[MaybeEndpoint], Per(Broker)]


class BrokerState(Record):
    """A broker: the images that its metadata cache and its replicas use, and whether the broker has answered from
    outdated metadata (recorded only if lagging brokers are counted).
    """

    is_up: bool
    cache: ImageIndex
    replica: ImageIndex
    has_lagged: bool


class Known(Record):
    """The client's view of a partition, and its next task for the partition.

    `attempt` is the leader epoch of the last attempt since the last success, or NONE before the first attempt.
    `is_validated` means that the consumer's position was compared with the leader's log. The ghosts record the newest
    epoch used for this topic, and whether the backoff has passed since the last attempt.
    """

    topic: Topic
    leader: Broker
    epoch: MaybeEpoch
    work: Work
    attempt: MaybeEpoch
    is_validated: bool
    ghost_epoch: Epoch
    ghost_waited: bool


class Request(Record):
    """A produce or fetch request, which later becomes its response.

    `outcome` is the result for each partition; `hinted` contains the partitions with a hint. The leaders in hints come
    from image `from_leader`, their epochs from image `from_epoch`, and their endpoints from image `cache`.
    """

    stage: Stage
    broker: Broker
    partitions: Partitions
    epoch: Annotated[Array[MaybeEpoch], Per(Partition)]
    outcome: Annotated[Array[Outcome], Per(Partition)]
    hinted: Partitions
    from_leader: ImageIndex
    from_epoch: ImageIndex
    cache: ImageIndex


class Refresh(Record):
    """A metadata request, which later becomes the response that carries `image`. If `is_old` is set, the response's
    leader epochs are unreliable.
    """

    stage: Stage
    broker: Broker
    partitions: Partitions
    image: ImageIndex
    is_old: bool


class Budget(Record):
    """The remaining changes, and the brokers that may still lag."""

    elections: Epoch
    restarts: Endpoint
    recreations: Topic
    lagging_brokers: Annotated[int, Range(0, UNLIMITED)]


class State(Record):
    """The cluster, its brokers, and the client."""

    image: Annotated[Array[Image], Size(C.changes + 1)]
    newest: ImageIndex
    broker: Annotated[Array[BrokerState], Per(Broker)]
    known: Annotated[Array[Known], Per(Partition)]
    endpoint: Annotated[Array[MaybeEndpoint], Per(Broker)]
    wants_refresh: bool
    request: Request
    refresh: Refresh
    budget: Budget


@action()
def initial(s: State, c: C) -> None:
    """Broker 0 leads every partition in epoch 0; the client and the brokers know the whole cluster."""
    for broker in range(c.brokers):
        is_up = not c.late_broker or broker < c.brokers - 1
        s.broker[broker].is_up = is_up
        s.image[0].endpoint[broker] = 0 if is_up else NONE
        s.endpoint[broker] = 0 if is_up else NONE
    for known in s.known:
        known.attempt = NONE
        known.is_validated = c.consumer
    s.budget.elections = c.elections
    s.budget.restarts = c.restarts
    s.budget.recreations = c.recreations
    s.budget.lagging_brokers = c.lagging_brokers
    if c.history:
        tell_history(s)


def tell_history(s: State) -> None:
    """Initially, partition 0 has moved to broker 2, partition 1 to broker 1 and back, and broker 1 has restarted.

    Brokers 0 and 2 do not know these changes yet, and may learn of them in any order.
    """
    for change in range(1, 6):
        s.image[change] = s.image[0]
        s.image[change].partition[0].leader = 2
        s.image[change].partition[0].epoch = 1
        if change >= 2:
            s.image[change].partition[1].leader = 1 if change == 2 else 0
            s.image[change].partition[1].epoch = 1 if change == 2 else 2
        if change >= 4:
            s.image[change].endpoint[1] = NONE if change == 4 else 1
    s.newest = 5
    s.broker[1].cache = 5
    s.broker[1].replica = 5
    s.budget.elections = 0
    s.budget.restarts = 0
    s.budget.recreations = 0


def newest(s: State) -> Image:
    """Return the controller's image."""
    return s.image[s.newest]


def clear_request(c: C, request: Request) -> None:
    """Clear a completed request."""
    request.stage = Stage.NONE
    request.broker = 0
    request.partitions = 0
    request.hinted = 0
    request.from_leader = 0
    request.from_epoch = 0
    request.cache = 0
    for partition in range(c.partitions):
        request.epoch[partition] = 0
        request.outcome[partition] = Outcome.SUCCESS


def clear_refresh(refresh: Refresh) -> None:
    """Clear a completed metadata request."""
    refresh.stage = Stage.NONE
    refresh.broker = 0
    refresh.partitions = 0
    refresh.image = 0
    refresh.is_old = False


def may_answer(s: State, broker: int) -> bool:
    """Return whether the broker may answer: it is up and, if lagging brokers are counted, it is current or may lag."""
    b, left = s.broker[broker], s.budget.lagging_brokers
    return b.is_up and (left == UNLIMITED or b.replica == s.newest or (left > 0 and not b.has_lagged))


def takes_old_answer(s: State, broker: int) -> None:
    """If lagging brokers are counted, count this broker, because its response uses outdated metadata."""
    if s.budget.lagging_brokers < UNLIMITED:
        s.budget.lagging_brokers -= 1
        s.broker[broker].has_lagged = True
