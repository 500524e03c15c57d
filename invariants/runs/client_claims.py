"""What the runs of the client models say of single sentences of the two KIPs.

A sentence that is a rule, which the model follows and does not judge, is a known gap, with the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.invariants.catalogue import RULE, Case, Evidence
from fencepost.invariants.runs import discovery, tokens_evidence

if TYPE_CHECKING:
    from fencepost.invariants.catalogue import Run

_ALL = {run.name: run for run in (*tokens_evidence.RUNS, *discovery.RUNS)}
_WIRE = "Header formats are not modelled: a context is there or not."


def _of(title: str, *props: str) -> tuple[Case, ...]:
    return tuple(Case(_ALL[title], prop) for prop in props)


_LEGACY = _of("metadata-reads draft-check-first 1 client, legacy store", "reads-are-monotonic")
_STORE = _of("metadata-reads draft-check-first 2 clients", "stores-only-grow")
_BEFORE = "leader-discovery before-kip-951 3 brokers, {}"
_AFTER = "leader-discovery kip-951 3 brokers, {}"

TOKENS: tuple[Evidence, ...] = (
    Evidence(
        "SEED-TOKEN-13",
        _of("metadata-reads draft-check-first 2 clients", "token-is-shared", "reads-are-monotonic")
        + _of("metadata-reads draft-check-first 2 processes, to offset 1", "token-is-shared", "context-is-imported"),
        answer="They can: with one store the answer to one client raises the token that another one sends, with a store each it does not.",
    ),
    Evidence(
        "SEED-TOKEN-21",
        _of("metadata-reads draft-check-first 1 client, one read", "tokens-never-fall")
        + _of("metadata-reads draft-check-first 1 client, forwarded writes", "tokens-never-fall")
        + _of("metadata-reads draft-check-first 1 client, Produce", "tokens-never-fall")
        + _of("metadata-reads draft-check-first 2 clients", "tokens-never-fall")
        + _of("metadata-reads repaired 2 clients", "tokens-never-fall"),
        answer="Of reads that are checked, with one call at a time. A server that does not compare the token of a request, of a write or of "
        "Produce, may return a lower one, and so may the answer that comes last of two, of writes in the repaired draft too. The description is that of the request's "
        "field: the response's is the server's offset.",
        verdict="broken",
    ),
    Evidence(
        "SEED-TOKEN-26",
        _of("metadata-reads draft-check-first 1 client", "body-is-one-snapshot")
        + _of("metadata-reads draft-check-first 1 client, one image", "body-is-one-snapshot"),
        answer="As it says: an image never changes, and nothing keeps two reads of the cache on one image. So a body that is built from one image "
        "is one snapshot, and one that is built from two reads may not be.",
    ),
    Evidence(
        "SEED-TOKEN-34",
        _STORE,
        answer="Made from a context is an empty store that stores it, and that holds exactly this context: proved on the store's functions, for all "
        "offsets.",
    ),
    Evidence(
        "SEED-TOKEN-40",
        (),
        gap="No behaviour to judge: the interface refuses such contexts, and the model has none. What a client makes of a header that has "
        "half of one is Q17.",
    ),
    Evidence("SEED-TOKEN-5", _LEGACY, answer="Without tokens it happens: the property fails as the draft says."),
    Evidence("SEED-TOKEN-7", (), gap=RULE + " What it gives is TOK-S1; that it comes after the handling is Q10."),
    Evidence("SEED-TOKEN-8", (), gap=RULE + " What either way comes to is Q14."),
    Evidence("SEED-TOKEN-9", (), gap=RULE),
    Evidence("SEED-TOKEN-10", (), gap=RULE),
    Evidence(
        "SEED-TOKEN-11",
        _of("metadata-reads draft-check-first 1 client, forwarded writes and a foreign context", "storing-errors-never-throws")
        + _of(
            "metadata-reads draft-check-first 1 client, forwarded writes and a foreign context, errors not stored",
            "storing-errors-never-throws",
        ),
        answer="Not from every one: the context of INCONSISTENT_CLUSTER_ID cannot be stored.",
        verdict="broken",
    ),
    Evidence(
        "SEED-TOKEN-12",
        _of("metadata-reads draft-check-first 1 client, in the end", "reads-end")
        + _of("metadata-reads draft-check-first 1 client, a broker cut off, in the end", "reads-end"),
        answer="With a server that gets metadata it comes to an end; which server to ask next the draft leaves open.",
    ),
    Evidence(
        "SEED-TOKEN-14",
        _STORE + _of("metadata-reads draft-check-first 2 clients, store in two steps, to offset 2", "stores-only-grow"),
        answer="If storeLatest is atomic.",
    ),
    *(Evidence(f"SEED-TOKEN-{number}", (), gap=_WIRE) for number in (18, 19, 20, 41)),
    Evidence(
        "SEED-TOKEN-22",
        _of("metadata-reads draft 1 client, one read", "reads-are-monotonic")
        + _of("metadata-reads draft 1 client, forwarded writes and a foreign context", "foreign-requests-change-nothing")
        + _of("metadata-reads draft-check-first 1 client, one read", "reads-are-monotonic"),
        answer="The order that breaks the draft's own promises (Q10).",
        verdict="broken",
    ),
    Evidence(
        "SEED-TOKEN-23",
        _of("metadata-reads draft 1 client, forwarded writes and a foreign context", "foreign-requests-change-nothing")
        + _of(
            "metadata-reads draft-check-first 1 client, forwarded writes and a foreign context",
            "foreign-requests-change-nothing",
        ),
        answer="It fails, but only with the checks first does it fail before it has taken effect.",
    ),
    Evidence(
        "SEED-TOKEN-24",
        _of("metadata-reads draft-check-first 1 client, one read", "stale-servers-lag", "reads-are-monotonic"),
    ),
    Evidence(
        "SEED-TOKEN-27",
        _of("metadata-reads draft-check-first 1 client, component only", "reads-are-monotonic")
        + _of("metadata-reads draft-check-first 1 client, component only, component offsets", "reads-are-monotonic"),
        answer="Five of them do not, by the code that was read.",
        verdict="broken",
    ),
    Evidence(
        "SEED-TOKEN-28",
        _of("metadata-reads draft-check-first 1 client, Produce", "unlisted-requests-agree")
        + _of("metadata-reads draft-check-first 1 client, Produce checked", "unlisted-requests-agree"),
        answer="Others do: Produce and Fetch resolve topics with it.",
        verdict="broken",
    ),
    Evidence("SEED-TOKEN-33", _STORE),
    Evidence("SEED-TOKEN-35", (), gap=RULE + " Every run begins with it."),
    Evidence("SEED-TOKEN-36", _LEGACY, answer="It does, and so reads go back as they do today."),
    *(
        Evidence(f"SEED-TOKEN-{number}", _STORE, answer="Tested on the store's functions, for all small contexts.")
        for number in (37, 38, 39)
    ),
)

DISCOVERY: tuple[Evidence, ...] = (
    Evidence(
        "SEED-951-1",
        _of(_BEFORE.format("1 lagging broker"), "round-trips-to-success", "backoffs-to-success", "refreshes-to-success"),
        answer="By a backoff, a refresh and a round trip, once more for each lagging broker that is asked. How long these are is not modelled.",
    ),
    Evidence(
        "SEED-951-7",
        _of(_AFTER.format("consumer, hints by epoch"), "leader-epochs-never-fall", "immediate-retries-go-to-newer-epochs"),
        answer="For Fetch, whose requests carry a leader epoch: there it is the same as the two error codes. Produce carries none (Q23).",
    ),
    Evidence(
        "SEED-951-18",
        _of("leader-discovery kip-951 2 brokers, 2 partitions, nobody lags", "refresh-spares-an-error")
        + _of(
            "leader-discovery kip-951 2 brokers, 2 partitions, nobody lags, no refresh after a hint", "refresh-spares-an-error"
        ),
        answer="The refresh can spare them an error, and nothing else does: without it every partition learns by an error of its own.",
    ),
    Evidence(
        "SEED-951-23",
        _of(
            "leader-discovery kip-951 3 brokers, the new leader joins late, 0 lagging brokers",
            "refreshes-to-success",
            "clients-find-the-leader",
        )
        + _of(
            "leader-discovery kip-951 3 brokers, the new leader joins late, no endpoints in hints, 0 lagging brokers",
            "refreshes-to-success",
        )
        + _of("leader-discovery kip-951 3 brokers, one joins late", "hint-brings-an-endpoint")
        + _of("leader-discovery kip-951 3 brokers, restart", "hint-brings-an-endpoint"),
        answer="It can, and needs no refresh for it; without endpoints in hints it waits for one.",
    ),
    Evidence("SEED-951-2", _of(_BEFORE.format("0 lagging brokers"), "backoffs-to-success", "refreshes-to-success")),
    Evidence(
        "SEED-951-3",
        _of(_BEFORE.format("2 lagging brokers"), "refreshes-to-success"),
        answer="One more for each lagging broker that is asked.",
    ),
    Evidence("SEED-951-4", _of(_BEFORE.format("0 lagging brokers"), "immediate-retries", "backoffs-to-success")),
    Evidence(
        "SEED-951-6",
        _of(_AFTER.format("0 lagging brokers"), "backoffs-to-success")
        + _of("leader-discovery kip-951 3 brokers, restart, in the end", "clients-find-the-leader")
        + _of("leader-discovery kip-951 3 brokers, reassigned", "hints-are-true"),
        answer="Moves of the leader are one action in the model, whatever the reason; the old leader may stop afterwards, or lose its replica.",
    ),
    Evidence(
        "SEED-951-8",
        _of(_AFTER.format("0 lagging brokers"), "refreshes-to-success")
        + _of(_AFTER.format("1 lagging broker"), "refreshes-to-success"),
        answer="Where nobody lags. After an answer from old metadata the batch waits for a refresh as before.",
    ),
    Evidence("SEED-951-9", _of("leader-discovery kip-951 3 brokers", "hint-is-accepted", "hints-are-true")),
    Evidence("SEED-951-10", (), gap=RULE),
    Evidence(
        "SEED-951-11",
        _of("leader-discovery kip-951 3 brokers, replicas behind their caches", "hints-are-true")
        + _of("leader-discovery kip-951 3 brokers, hints from the cache", "hints-are-true")
        + _of("leader-discovery kip-951 3 brokers, reassigned", "hints-are-true", "leader-epochs-never-fall"),
        answer="Either source is safe, and so are both in turn, as brokers lose their replicas.",
    ),
    Evidence(
        "SEED-951-12",
        _of("leader-discovery kip-951 3 brokers", "leader-epochs-never-fall")
        + _of("leader-discovery kip-951 3 brokers, any hint accepted", "leader-epochs-never-fall"),
    ),
    Evidence("SEED-951-13", _of("leader-discovery kip-951 3 brokers", "retry-succeeds")),
    Evidence(
        "SEED-951-14", _of("leader-discovery kip-951 3 brokers", "metadata-is-stale"), answer="It may: the witness is reached."
    ),
    Evidence(
        "SEED-951-16",
        _of("leader-discovery kip-951 3 brokers", "stale-metadata-leaves-the-leader")
        + _of("leader-discovery kip-951 3 brokers, metadata of any epoch", "stale-metadata-leaves-the-leader")
        + _of("leader-discovery kip-951 3 brokers, one joins late", "stale-metadata-leaves-the-endpoint"),
        answer="For leader and epoch; not for the leader's endpoint (K951-S2b).",
    ),
    Evidence("SEED-951-17", (), gap=RULE + " What it is needed for is Q30."),
    Evidence(
        "SEED-951-19",
        _of("leader-discovery kip-951 3 brokers", "immediate-retries-go-to-newer-epochs")
        + _of(_AFTER.format("0 lagging brokers"), "immediate-retries", "backoffs-to-success"),
    ),
    Evidence(
        "SEED-951-20",
        _of("leader-discovery kip-951 3 brokers, replicas behind their caches", "immediate-retries-go-to-newer-epochs"),
        answer="A newer leader, yes; that it is another broker does not follow where a broker is elected again.",
    ),
    Evidence("SEED-951-22", (), gap=RULE),
    Evidence(
        "SEED-951-24",
        _of("leader-discovery kip-951 3 brokers, restart", "stale-metadata-leaves-the-endpoint"),
        answer="It does, and so does a refresh that is answered from metadata of before the broker was there.",
    ),
    Evidence("SEED-951-25", (), gap="Host, port and rack are one number in the model: what holds of endpoints holds of racks."),
    Evidence(
        "SEED-951-26",
        _of("leader-discovery kip-951 3 brokers, 2 partitions after a restart", "hints-bring-newer-endpoints"),
        answer="It does, an older one over a newer one too (K951-S3).",
    ),
)

EVIDENCE: tuple[Evidence, ...] = (*TOKENS, *DISCOVERY)
RUNS: tuple[Run, ...] = ()
"""The runs are those of the two models."""
