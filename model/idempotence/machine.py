"""An idempotent producer without transactions, which has several requests in flight across leader changes.

Modelled on Sender, RecordAccumulator, TransactionManager, TxnPartitionEntry, ProducerAppendInfo and
ProducerStateManager. Simplifications: There is one partition, and two brokers take turns as its leader. Every batch has
one record. The model has only the leader's log; the next leader has all committed records, and possibly more. A broker
handles the requests on a connection one after the other, and responds when the batch is committed. A batch expires only
while it waits to be resent. A broker recognizes the last two batches instead of Kafka's five, and `in_flight` stands
for Kafka's five requests in flight.
"""

from enum import IntEnum
from typing import Annotated

from fencepost.model.language import (
    NONE,
    Array,
    Channel,
    Constants,
    Index,
    Machine,
    Per,
    Range,
    Record,
    Size,
    Version,
    action,
    bound,
    require,
    shape,
    switch,
)

BROKERS = 2


class Stage(IntEnum):
    """The stage of a batch: without a sequence, on a connection, handled by the broker, to be resent, or finished."""

    WAITING = 0
    SENT = 1
    HANDLED = 2
    RETRYING = 3
    WRITTEN = 4
    FAILED = 5


class Answer(IntEnum):
    """The broker's response to a batch."""

    NONE = 0
    NOT_LEADER = 1
    OUT_OF_ORDER = 2
    UNKNOWN_PRODUCER = 3
    FENCED = 4
    DUPLICATE = 5


class C(Constants):
    """Constants of a run."""

    batches = shape(3, low=2, high=4, meaning="batches that the application writes")
    log_size = shape(4, low=2, high=8, meaning="batches that the log can hold, including duplicates")
    in_flight = bound(2, low=1, high=4, meaning="max.in.flight.requests.per.connection")
    retained = bound(2, low=1, high=4, meaning="how many of a producer's batches a broker remembers (Kafka: five)")
    epochs = bound(1, low=0, high=3, meaning="producer epochs after the first")
    elections = bound(1, low=0, high=3, meaning="changes of the leader")
    disconnects = bound(1, low=0, high=3, meaning="connections that break before their responses arrive")
    restarts = bound(0, low=0, high=2, meaning="clean restarts of the broker that does not lead")
    deletions = bound(0, low=0, high=2, meaning="deletions of all committed records (retention, KIP-107)")
    expiries = bound(0, low=0, high=2, meaning="batches that reach delivery.timeout.ms")
    other_bumps = bound(0, low=0, high=2, meaning="producer epochs that start because of another partition")

    retries_keep_sequence = switch(default=True, meaning="a batch is resent with the same sequence number (KIP-98)")
    checks_sequences = switch(default=True, meaning="leaders refuse a batch that leaves a gap (KIP-98)")
    leaders_know_followers_batches = switch(
        default=True, meaning="a replica also remembers the batches that it copies (KIP-98)"
    )
    older_are_duplicates = switch(
        default=False,
        meaning="a leader treats a sequence number below all known numbers as a duplicate (1.0, KAFKA-9199)",
    )
    unknown_producers_begin_at_0 = switch(
        default=False, meaning="a leader that knows nothing about a producer refuses sequence numbers above 0"
    )
    deletion_keeps_state = switch(default=True, meaning="leaders remember producers that have no records (KAFKA-7190)")
    bumps_epoch = switch(default=True, meaning="a gap starts a new producer epoch; the batch is resent (KIP-360)")
    only_the_first_opens_epoch = switch(
        default=False, meaning="a gap starts a new producer epoch only once all earlier batches are completed"
    )
    others_renumber = switch(
        default=False,
        meaning="when another partition causes a new epoch, batches that were sent are renumbered too (librdkafka)",
    )


Broker = Annotated[int, Index(BROKERS)]
Number = Annotated[int, Index(C.batches)]
Sequence = Annotated[int, Range(0, C.batches + C.log_size)]
Epoch = Annotated[int, Range(0, C.epochs)]
Offset = Annotated[int, Range(0, C.log_size)]


class Batch(Record):
    """An application's batch, which gets a producer epoch and a sequence when it is first sent. `reset` means that the
    batch was renumbered. `offset` is the batch's offset at the broker that handled it.
    """

    stage: Stage
    epoch: Epoch
    sequence: Sequence
    reset: bool
    answer: Answer
    offset: Offset


class Entry(Record):
    """A batch in the log, with the producer epoch and the sequence with which it was appended."""

    batch: Number
    epoch: Epoch
    sequence: Sequence


class Request(Record):
    """A produce request on a connection, with the batch's epoch and sequence at the time of sending."""

    batch: Number
    epoch: Epoch
    sequence: Sequence


class Budget(Record):
    """The remaining budget of events."""

    elections: Annotated[int, Range(0, C.elections)]
    disconnects: Annotated[int, Range(0, C.disconnects)]
    restarts: Annotated[int, Range(0, C.restarts)]
    deletions: Annotated[int, Range(0, C.deletions)]
    expiries: Annotated[int, Range(0, C.expiries)]
    other_bumps: Annotated[int, Range(0, C.other_bumps)]


class State(Record):
    """The leader, the producer's view of the leader, the log, and the producer.

    A broker knows the last batch before its `snapshot` and all later batches, but no batch below `forgotten`. The
    producer has its `epoch`, the epoch to which its sequences belong, the next sequence, and the last acknowledged
    sequence. `unresolved` is the sequence after an expired batch that may have been written (otherwise 0).
    """

    leader: Broker
    believed: Broker
    log: Annotated[Array[Entry], Size(C.log_size)]
    end: Offset
    high_watermark: Offset
    snapshot: Annotated[Array[Offset], Per(Broker)]
    forgotten: Offset
    deleted: Offset
    batch: Annotated[Array[Batch], Per(Number)]
    connection: Annotated[Array[Annotated[Channel[Request], Size(C.batches)]], Per(Broker)]
    epoch: Epoch
    sequences_epoch: Epoch
    next_sequence: Sequence
    acknowledged: Annotated[int, Range(NONE, C.batches + C.log_size)]
    unresolved: Sequence
    budget: Budget


@action()
def initial(s: State, c: C) -> None:
    """Broker 0 leads, and the producer has its id."""
    s.acknowledged = NONE
    s.budget.elections = c.elections
    s.budget.disconnects = c.disconnects
    s.budget.restarts = c.restarts
    s.budget.deletions = c.deletions
    s.budget.expiries = c.expiries
    s.budget.other_bumps = c.other_bumps


# -- the brokers


def first_known(s: State, broker: int) -> int:
    """Return the first offset whose batch a broker may recognize (ProducerStateManager.loadFromSnapshot)."""
    return max(s.snapshot[broker] - 1, s.forgotten)


def knows_producer(s: State, broker: int) -> bool:
    """Return whether a leader has an entry for the producer."""
    return first_known(s, broker) < s.end


def duplicate_of(s: State, c: C, broker: int, epoch: int, sequence: int) -> int:
    """Return the offset of a duplicate among the last known batches, or NONE (findDuplicateBatch).

    In a new producer epoch, the batches of the previous epoch are no longer recognized.
    """
    found = NONE
    for place in range(c.log_size):
        is_known = max(first_known(s, broker), s.end - c.retained) <= place < s.end
        if is_known and s.log[place].epoch == epoch and s.log[place].sequence == sequence:
            found = place
    return found if s.log[s.end - 1].epoch == epoch else NONE


def answer_to(s: State, c: C, broker: int, epoch: int, sequence: int) -> Answer:
    """Return a leader's response to a batch that is not a duplicate (ProducerAppendInfo.checkSequence)."""
    if not c.checks_sequences:
        return Answer.NONE
    if not knows_producer(s, broker):
        if sequence == 0:
            return Answer.NONE
        if c.unknown_producers_begin_at_0 and s.forgotten == 0:
            return Answer.OUT_OF_ORDER
        return Answer.NONE if c.bumps_epoch else Answer.UNKNOWN_PRODUCER
    last = s.log[s.end - 1]
    if c.older_are_duplicates and epoch == last.epoch and sequence <= last.sequence:
        return Answer.DUPLICATE
    if epoch < last.epoch:
        return Answer.FENCED
    expected = last.sequence + 1 if epoch == last.epoch else 0
    return Answer.NONE if sequence == expected else Answer.OUT_OF_ORDER


def next_request(s: State, c: C, broker: int) -> int:
    """Return the index of the first unhandled request on a connection, or NONE.

    The broker handles no request while the batch of the previous request waits to be committed.
    """
    place = 0
    for request in s.connection[broker]:
        batch = s.batch[request.batch]
        if batch.stage == Stage.SENT:
            return place
        if batch.answer == Answer.NONE and not is_there(s, c, s.high_watermark, request) and s.leader == broker:
            return NONE
        place += 1
    return NONE


def is_there(s: State, c: C, end: int, request: Request) -> bool:
    """Return whether the log contains a request's batch below an offset."""
    offset = s.batch[request.batch].offset
    entry = s.log[min(offset, c.log_size - 1)]
    return offset < end and entry.epoch == request.epoch and entry.sequence == request.sequence


@action(broker=Broker)
def broker_handles_request(s: State, c: C, broker: int) -> None:
    """A broker handles the next batch on a connection, and appends it if it leads and the batch is in sequence."""
    place = next_request(s, c, broker)
    require(place != NONE)
    request = s.connection[broker][place]
    number, epoch, sequence = request.batch, request.epoch, request.sequence
    batch = s.batch[number]
    answer = Answer.NOT_LEADER
    offset = s.end
    if broker == s.leader:
        duplicate = NONE
        if c.checks_sequences and knows_producer(s, broker):
            duplicate = duplicate_of(s, c, broker, epoch, sequence)
        offset = s.end if duplicate == NONE else duplicate
        answer = answer_to(s, c, broker, epoch, sequence) if duplicate == NONE else Answer.NONE
    appends = answer == Answer.NONE and offset == s.end
    require(not appends or s.end < c.log_size, bound=C.log_size)
    if appends:
        s.log[s.end].batch = number
        s.log[s.end].epoch = epoch
        s.log[s.end].sequence = sequence
        s.end += 1
    batch.offset = offset if answer == Answer.NONE else 0
    batch.stage = Stage.HANDLED
    batch.answer = answer


@action()
def high_watermark_advances(s: State, c: C) -> None:
    """The other broker has replicated the next record, which is then committed."""
    require(s.high_watermark < s.end)
    s.high_watermark += 1


@action(end=Offset)
def controller_elects_leader(s: State, c: C, end: int) -> None:
    """The other broker becomes the leader. The new leader's log contains all committed records, and possibly more."""
    require(s.budget.elections > 0, bound=C.elections)
    require(s.high_watermark <= end <= s.end)
    s.budget.elections -= 1
    s.leader = 1 - s.leader
    for place in range(c.log_size):
        if place >= end:
            s.log[place] = Entry()
    s.end = end
    for broker in range(BROKERS):
        s.snapshot[broker] = min(s.snapshot[broker], end)
    if not c.leaders_know_followers_batches:
        s.forgotten = end


@action()
def broker_restarts(s: State, c: C) -> None:
    """The broker that does not lead stops cleanly, writes a snapshot, restarts from it, and is in sync again."""
    require(s.budget.restarts > 0, bound=C.restarts)
    s.budget.restarts -= 1
    s.snapshot[1 - s.leader] = s.high_watermark


@action()
def records_are_deleted(s: State, c: C) -> None:
    """All committed records are deleted. Until 2.3, brokers forgot producers that had no other records."""
    require(s.budget.deletions > 0, bound=C.deletions)
    require(s.deleted < s.high_watermark)
    s.budget.deletions -= 1
    s.deleted = s.high_watermark
    if not c.deletion_keeps_state:
        s.forgotten = s.high_watermark


# -- the producer


def is_unfinished(batch: Batch) -> bool:
    """Return whether a batch has a sequence and is not completed (TxnPartitionEntry.inflightBatchesBySequence)."""
    return batch.stage in (Stage.SENT, Stage.HANDLED, Stage.RETRYING)


def first_unfinished(s: State, c: C) -> int:
    """Return the unfinished batch with the lowest sequence, or NONE; batches are numbered in order."""
    for number in range(c.batches):
        if is_unfinished(s.batch[number]):
            return number
    return NONE


def number_anew(s: State, c: C, epoch: int) -> None:
    """Renumber all unfinished batches from 0 in an epoch (TxnPartitionEntry.startSequencesAtBeginning)."""
    sequence = 0
    for number in range(c.batches):
        batch = s.batch[number]
        if is_unfinished(batch):
            batch.epoch = epoch
            batch.sequence = sequence
            batch.reset = True
            sequence += 1
    s.sequences_epoch = epoch
    s.next_sequence = sequence
    s.acknowledged = NONE
    s.unresolved = 0


def open_epoch(s: State, c: C) -> None:
    """Start a producer epoch at sequence 0 (TransactionManager.bumpIdempotentProducerEpoch)."""
    s.epoch += 1
    number_anew(s, c, s.epoch)


def fail_all(s: State, c: C, number: int) -> None:
    """Fail a batch and all batches that wait to be resent, and get a new producer id (before KIP-360)."""
    for other in range(c.batches):
        if other == number or s.batch[other].stage == Stage.RETRYING:
            s.batch[other].stage = Stage.FAILED
    s.epoch += 1


def retry(s: State, c: C, number: int) -> None:
    """Return a batch to the queue; before KIP-360, the batch fails if the producer has a new id."""
    is_of_another = not c.bumps_epoch and s.batch[number].epoch != s.epoch
    s.batch[number].stage = Stage.FAILED if is_of_another else Stage.RETRYING


@action(number=Number)
def producer_sends_batch(s: State, c: C, number: int) -> None:
    """The producer sends the first batch of its queue to the broker that it believes to be the leader.

    A batch that was sent before keeps its sequence. A new batch gets the next sequence, after waiting until all batches
    of an older epoch are finished and all expired batches are resolved
    (RecordAccumulator.shouldStopDrainBatchesForPartition).
    """
    batch = s.batch[number]
    first = first_unfinished(s, c)
    is_new = batch.stage == Stage.WAITING
    require(is_new or batch.stage == Stage.RETRYING)
    require(len(s.connection[s.believed]) < c.in_flight)
    require(is_new or first == number)
    require(c.in_flight > 1 or first in (NONE, number))
    require(not is_new or all(other >= number or s.batch[other].stage != Stage.WAITING for other in range(c.batches)))
    require(not is_new or all(s.batch[other].stage != Stage.RETRYING for other in range(c.batches)))
    require(not is_new or first == NONE or s.sequences_epoch == s.epoch)
    require(not is_new or s.unresolved == 0)
    require(c.retries_keep_sequence or s.next_sequence < c.log_size, bound=C.log_size)
    if is_new and s.sequences_epoch != s.epoch:
        number_anew(s, c, s.epoch)
    if is_new or not c.retries_keep_sequence:
        batch.epoch = s.epoch
        batch.sequence = s.next_sequence
        batch.reset = False
        s.next_sequence += 1
    batch.stage = Stage.SENT
    batch.answer = Answer.NONE
    s.connection[s.believed].add(batch=number, epoch=batch.epoch, sequence=batch.sequence)


@action(broker=Broker)
def producer_receives_answer(s: State, c: C, broker: int) -> None:
    """The producer receives a connection's first response (Sender.completeBatch, TransactionManager.canRetry).

    A leader responds once the record is committed or the leader is deposed. A batch that is out of order is resent.
    However, if the batch is the next one in sequence, there is a gap, and a new epoch starts.
    """
    require(len(s.connection[broker]) > 0)
    request = s.connection[broker][0]
    number = request.batch
    batch = s.batch[number]
    is_older = batch.answer == Answer.DUPLICATE
    is_written = (
        s.high_watermark == s.end and s.leader == broker if is_older else is_there(s, c, s.high_watermark, request)
    )
    is_waiting = (is_older or is_there(s, c, s.end, request)) and s.leader == broker
    is_next = batch.sequence == s.acknowledged + 1 and not batch.reset
    is_gap = batch.answer == Answer.OUT_OF_ORDER and (
        s.unresolved == batch.sequence if s.unresolved > 0 else is_next and batch.epoch == s.sequences_epoch
    )
    is_first = first_unfinished(s, c) == number or not c.only_the_first_opens_epoch
    opens = (
        (is_gap and is_first)
        or (batch.answer == Answer.UNKNOWN_PRODUCER and s.deleted == 0)
        or batch.answer == Answer.FENCED
    )
    require(batch.stage == Stage.HANDLED)
    require(batch.answer not in (Answer.NONE, Answer.DUPLICATE) or is_written or not is_waiting)
    require(not opens or s.epoch < c.epochs, bound=C.epochs)
    s.connection[broker].popleft()
    if batch.answer in (Answer.NONE, Answer.DUPLICATE) and is_written:
        batch.stage = Stage.WRITTEN
        if batch.epoch == s.sequences_epoch:
            s.acknowledged = max(s.acknowledged, batch.sequence)
    else:
        retry(s, c, number)
        if opens and c.bumps_epoch:
            open_epoch(s, c)
        elif opens:
            fail_all(s, c, number)
        elif batch.answer == Answer.UNKNOWN_PRODUCER and not batch.reset:
            number_anew(s, c, s.epoch)


@action(broker=Broker)
def connection_ends(s: State, c: C, broker: int) -> None:
    """A connection breaks before its responses arrive: the producer retries, although batches may have been written."""
    require(s.budget.disconnects > 0, bound=C.disconnects)
    require(len(s.connection[broker]) > 0)
    s.budget.disconnects -= 1
    for request in s.connection[broker]:
        retry(s, c, request.batch)
    s.connection[broker].clear()


@action()
def producer_learns_leader(s: State, c: C) -> None:
    """The producer learns the current leader from metadata or a hint."""
    require(s.believed != s.leader)
    s.believed = s.leader


@action(number=Number)
def batch_expires(s: State, c: C, number: int) -> None:
    """A batch that waits to be resent reaches its delivery timeout, and it is unknown whether the batch was written."""
    batch = s.batch[number]
    require(s.budget.expiries > 0, bound=C.expiries)
    require(batch.stage == Stage.RETRYING)
    s.budget.expiries -= 1
    batch.stage = Stage.FAILED
    if batch.epoch == s.sequences_epoch:
        s.unresolved = max(s.unresolved, batch.sequence + 1)


@action()
def producer_resolves_expiry(s: State, c: C) -> None:
    """Once all batches are finished, the producer compares the next sequence with the last acknowledged sequence. If
    they are not consecutive, a new epoch starts (TransactionManager.maybeResolveSequences).
    """
    is_resolved = s.next_sequence == s.acknowledged + 1
    require(s.unresolved > 0)
    require(first_unfinished(s, c) == NONE)
    require(is_resolved or s.epoch < c.epochs, bound=C.epochs)
    if is_resolved:
        s.unresolved = 0
    else:
        open_epoch(s, c)


@action()
def another_partition_opens_epoch(s: State, c: C) -> None:
    """The producer starts a new epoch because of another partition. Unfinished batches keep their epoch. librdkafka
    waits for the responses in flight, and then renumbers the remaining batches.
    """
    require(s.budget.other_bumps > 0, bound=C.other_bumps)
    require(s.epoch < c.epochs, bound=C.epochs)
    require(not c.others_renumber or all(len(s.connection[broker]) == 0 for broker in range(BROKERS)))
    s.budget.other_bumps -= 1
    if c.others_renumber:
        open_epoch(s, c)
    else:
        s.epoch += 1


_REPAIRED = {"unknown_producers_begin_at_0": 1, "older_are_duplicates": 1, "only_the_first_opens_epoch": 1}
VERSIONS = (
    Version(
        "kafka-2.4",
        "without KIP-360: a gap fails a batch",
        {"bumps_epoch": 0},
        (Version("kafka-2.3", "1.1 to 2.3, without KAFKA-7190", {"deletion_keeps_state": 0}),),
    ),
    Version("kafka-2.5", "2.5 to 4.4: a gap starts a new producer epoch; the batch is resent (KIP-360)", {}),
    Version("repaired", "2.5 with the fixes that the runs of this model showed to be necessary", _REPAIRED),
)

MACHINE = Machine(
    name="idempotent-producer",
    sentence="how retries of an idempotent producer are recognized across leader changes (KIP-98, KIP-360)",
    state=State,
    constants=C,
    initial=initial,
    actions=(
        *(producer_sends_batch, broker_handles_request, high_watermark_advances, producer_receives_answer),
        *(connection_ends, controller_elects_leader, producer_learns_leader, broker_restarts, records_are_deleted),
        *(batch_expires, producer_resolves_expiry, another_partition_opens_epoch),
    ),
    versions=VERSIONS,
    source="KIP-98, KIP-360; apache/kafka: TransactionManager, RecordAccumulator, ProducerAppendInfo, trunk of 2024-10",
)
