"""Idempotence: the log contains each batch at most once and in order, and contains every acknowledged batch."""

from fencepost.model.idempotence.machine import (
    Answer,
    C,
    Number,
    Stage,
    State,
    broker_handles_request,
    high_watermark_advances,
    producer_learns_leader,
    producer_receives_answer,
    producer_sends_batch,
)
from fencepost.model.language import always, leads_to, sometimes, weak
from fencepost.model.language.actions import properties_in


def is_before(s: State, place: int, number: int) -> bool:
    """Return whether the log contains a batch below an offset."""
    return any(s.log[other].batch == number for other in range(place))


@always
def no_batch_is_written_twice(s: State, c: C) -> bool:
    """IP-S1: no batch is committed twice."""
    return all(
        not (place < s.high_watermark and is_before(s, place, s.log[place].batch)) for place in range(c.log_size)
    )


@always
def acknowledged_batches_are_written(s: State, c: C) -> bool:
    """IP-S2: a batch that is acknowledged is committed."""
    return all(
        s.batch[number].stage != Stage.WRITTEN
        or any(place < s.high_watermark and s.log[place].batch == number for place in range(c.log_size))
        for number in range(c.batches)
    )


@always
def batches_are_written_in_order(s: State, c: C) -> bool:
    """IP-S3: batches are first committed in the order in which the application wrote them."""
    return all(
        place >= s.high_watermark
        or is_before(s, place, s.log[place].batch)
        or all(s.log[other].batch <= s.log[place].batch for other in range(place))
        for place in range(c.log_size)
    )


@sometimes
def retry_is_recognized(s: State, c: C) -> bool:
    """A batch whose response was lost is resent, recognized as a duplicate, and acknowledged."""
    return s.budget.disconnects < c.disconnects and s.batch[0].stage == Stage.WRITTEN and s.end == 1


@sometimes
def batches_are_in_flight_to_both_brokers(s: State, c: C) -> bool:
    """After a leader change, batches are in flight to both the old and the new leader."""
    return len(s.connection[0]) > 0 and len(s.connection[1]) > 0


@sometimes
def batch_is_out_of_order(s: State, c: C) -> bool:
    """A leader rejects a batch because its sequence number does not follow the previous batch's."""
    return any(s.batch[number].answer == Answer.OUT_OF_ORDER for number in range(c.batches))


PROPERTIES = properties_in(globals())


def is_due(s: State, c: C, number: int) -> bool:
    """Return whether a batch is neither acknowledged nor failed yet."""
    return s.batch[number].stage not in (Stage.WRITTEN, Stage.FAILED)


def is_written(s: State, c: C, number: int) -> bool:
    """Return whether a batch is acknowledged."""
    return s.batch[number].stage == Stage.WRITTEN


batches_are_written = leads_to(
    "batches-are-written",
    "IP-L1: each batch is eventually acknowledged, if no batch expires.",
    when=is_due,
    then=is_written,
    fair=(
        weak(producer_sends_batch, each="number"),
        weak(broker_handles_request, each="broker"),
        weak(high_watermark_advances),
        weak(producer_receives_answer, each="broker"),
        weak(producer_learns_leader),
    ),
    number=Number,
)

LIVENESS = (batches_are_written,)
