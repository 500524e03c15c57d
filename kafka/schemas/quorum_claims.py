"""Claims of KIP-1166 about the high watermark in fetch requests: its schema, its writers and its readers."""

from fencepost.kafka.schemas.classes import (
    MESSAGES,
    RAFT,
    ClaimCheck,
    Classes,
    Observation,
    Trip,
    holds_if,
    in_order,
    not_built,
    span,
)

FIELD = "topics[].partitions[].high_watermark"
RESPONSE_FIELD = "responses[].partitions[].high_watermark"
PARTITION = f"{MESSAGES}.FetchRequestData$FetchPartition"
FIRST = 18
"""The first version of Fetch that contains HighWatermark."""
LARGEST = str(2**63 - 1)


def newest(kafka: Classes) -> int:
    return max(kafka.fields("FetchRequestData"))


def if_built(check: ClaimCheck) -> ClaimCheck:
    """Run a check only on releases whose fetch request contains HighWatermark."""

    def asked(kafka: Classes) -> Observation:
        last = newest(kafka)
        if FIELD not in kafka.fields("FetchRequestData")[last]:
            return not_built(f"the latest version of the fetch request is {last}, which contains no high watermark")
        return check(kafka)

    return asked


def sent(kafka: Classes, version: int, mark: int | None) -> Trip:
    partition = {"partition": 0} if mark is None else {"partition": 0, "highWatermark": mark}
    return kafka.trip("FetchRequestData", version, topics=[{"partitions": [partition]}])


def reads_uncommitted(kafka: Classes) -> Observation:
    refers = kafka.code(RAFT, "tryCompleteFetchRequest")
    return holds_if(
        "Isolation.UNCOMMITTED" in refers and "Isolation.COMMITTED" not in refers,
        "KafkaRaftClient.tryCompleteFetchRequest reads only with Isolation.UNCOMMITTED",
        "KafkaRaftClient.tryCompleteFetchRequest does not read only with Isolation.UNCOMMITTED",
    )


def appending_completes(kafka: Classes) -> Observation:
    parked = kafka.tell("parked")
    refers = kafka.code(RAFT, "updateLeaderEndOffsetAndTimestamp")
    what = f"appending completes {parked['before'] - parked['after']} of 2 fetches that wait at the end of the log"
    called = in_order(refers, "fetchPurgatory", "FuturePurgatory.maybeComplete")
    return holds_if(called and parked == {"before": 3, "after": 1}, f"{what}, but not one that waits further on", what)


def parked_for(kafka: Classes) -> Observation:
    most = kafka.constant(RAFT, "MAX_FETCH_WAIT_MS")
    asks = in_order(kafka.code(RAFT, "buildFetchRequest"), "fetchMaxWaitMs", "FetchRequestData.setMaxWaitMs")
    takes = in_order(kafka.code(RAFT, "handleFetchRequest"), "FetchRequestData.maxWaitMs", "FuturePurgatory.await")
    what = f"MAX_FETCH_WAIT_MS is {most}; a fetch contains a wait time, and the leader parks it for that time"
    return holds_if(most == 500 and asks and takes, what, what)


@if_built
def carried_value(kafka: Classes) -> Observation:
    """Find out which value is sent for an unknown high watermark, and which value is read if the field is unset."""
    refers = kafka.code(RAFT, "buildFetchRequest")
    sends = in_order(
        refers, "QuorumState.highWatermark", "long -1l", "FetchRequestData$FetchPartition.setHighWatermark"
    )
    unset = sent(kafka, FIRST, None).value("highWatermark")
    what = (
        f"KafkaRaftClient sends QuorumState's high watermark, or -1 if it is unknown; an unset field is read as {unset}"
    )
    return holds_if(sends and unset == LARGEST, what, what)


@if_built
def three_states(kafka: Classes) -> Observation:
    """Find the values that serialization does not change, including values that are never sent."""
    read = {mark: sent(kafka, FIRST, mark).value("highWatermark") for mark in (-1, 0, 7, 2**63 - 1, -2)}
    what = (
        "-1, 0, 7 and the largest int64 are read as sent; so is -2, which the schema allows but KafkaRaftClient does "
        "not send"
    )
    return holds_if(all(value == str(mark) for mark, value in read.items()), what, f"the values read are {read}")


@if_built
def tagged_and_ignorable(kafka: Classes) -> Observation:
    """Check that HighWatermark is tagged, and that older versions omit it."""
    fields = kafka.fields("FetchRequestData")
    tagged = [version for version, found in fields.items() if " tag " in found.get(FIELD, "")]
    older = sent(kafka, FIRST - 1, 7)
    dropped = not older.refused and older.value("highWatermark") == LARGEST
    return holds_if(
        tagged == [version for version in fields if version >= FIRST] and dropped,
        f"{fields[FIRST][FIELD]} from version {FIRST} on; version {FIRST - 1} omits 7 without an error",
        older.refused or f"tagged in version {span(tagged)}; version {FIRST - 1} {'drops' if dropped else 'keeps'} 7",
    )


@if_built
def response_stays(kafka: Classes) -> Observation:
    """Check that the response has the new version, with the fields of the previous version."""
    fields = kafka.fields("FetchResponseData")
    same = fields[FIRST] == fields[FIRST - 1] and max(fields) == FIRST
    what = "the response has the same fields in versions 17 and 18"
    return holds_if(same, what, "the response's fields differ in versions 17 and 18")


def in_every_response(kafka: Classes) -> Observation:
    fields = kafka.fields("FetchResponseData")
    have = [version for version, found in fields.items() if RESPONSE_FIELD in found]
    sets = "FetchResponseData$PartitionData.setHighWatermark" in kafka.code(RAFT, "buildFetchResponse")
    what = f"versions {span(have)} of {span(list(fields))} contain it; KafkaRaftClient.buildFetchResponse sets it"
    return holds_if(sets and len(have) == len(fields), what, what)


@if_built
def in_every_request(kafka: Classes) -> Observation:
    """Check that the only method that builds the quorum's fetches sets HighWatermark."""
    makers = kafka.callers("org.apache.kafka.raft.RaftUtil", "singletonFetchRequest")
    setters = _setters(kafka)
    what = f"{', '.join(makers)} build fetches; {', '.join(setters)} set the field"
    return holds_if(makers == setters == ["KafkaRaftClient.buildFetchRequest"], what, what)


@if_built
def written_if_supported(kafka: Classes) -> Observation:
    """Check that version 18 contains HighWatermark, and version 17 does not."""
    newer, older = sent(kafka, FIRST, 7), sent(kafka, FIRST - 1, 7)
    read = [trip.value("highWatermark") for trip in (newer, older)]
    what = f"7 is read as {read[0]} in version 18 and as {read[1]} in version 17, without an error"
    carried = read == ["7", LARGEST]
    return holds_if(carried and not older.refused, what, what)


@if_built
def not_by_others(kafka: Classes) -> Observation:
    """Check that only the Raft client sets HighWatermark, not the builders of other fetch requests."""
    read = {what: kafka.built(what, FIRST).value("highWatermark") for what in ("consumer-fetch", "replica-fetch")}
    only = _setters(kafka) == ["KafkaRaftClient.buildFetchRequest"]
    what = "FetchRequest.Builder never sets the field for consumers and replicas; only KafkaRaftClient does"
    return holds_if(
        only and set(read.values()) == {LARGEST}, what, f"read as {read}; {', '.join(_setters(kafka))} set it"
    )


def older_replica(kafka: Classes) -> Observation:
    """Check that version 17 of Fetch is the latest, or that its missing HighWatermark is read as the largest number."""
    if newest(kafka) < FIRST:
        return holds_if(newest(kafka) == FIRST - 1, "its latest fetch version is 17", f"it is {newest(kafka)}")
    read = sent(kafka, FIRST - 1, None).value("highWatermark")
    return holds_if(read == LARGEST, "a fetch of version 17 reads as the largest int64", f"it reads as {read}")


def _setters(kafka: Classes) -> list[str]:
    return [name for name in kafka.callers(PARTITION, "setHighWatermark") if not name.startswith("FetchRequestData")]


CLAIMS: tuple[tuple[str, ClaimCheck], ...] = (
    ("SEED-1166-4", reads_uncommitted),
    ("SEED-1166-6", appending_completes),
    ("SEED-1166-9", parked_for),
    ("SEED-1166-12", carried_value),
    ("SEED-1166-13", three_states),
    ("SEED-1166-17", tagged_and_ignorable),
    ("SEED-1166-18", response_stays),
    ("SEED-1166-19", in_every_response),
    ("SEED-1166-23", in_every_request),
    ("SEED-1166-24", written_if_supported),
    ("SEED-1166-25", not_by_others),
    ("SEED-1166-27", older_replica),
)
